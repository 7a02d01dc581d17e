"""A time limit: where the run will end at the pace of its steps, and when it has to.

What comes after the last step takes time, too: a last evaluation, those of the averages, the test
set, other number formats. It is put aside in units of the last evaluation, so there must be one
early.
"""

import math
import time
from collections.abc import Callable

_FIRST_EVALUATION = 0.15  # share of the limit after which there should be one
_UNKNOWN_FINISH = 0.3  # share put aside before there was one
_MARGIN = 1.2  # evaluations do not all take the same time


class TimeBox:
    """What is left of a time limit.

    Args:
        seconds: The limit, from now on; infinity for none.
        finish_in_evaluations: How many evaluations of dev the end of the run takes as much time as.
        clock: Seconds since some moment.
    """

    def __init__(
        self,
        seconds: float,
        finish_in_evaluations: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._finish_in_evaluations = finish_in_evaluations
        self._clock = clock
        self._started = clock()
        self._num_steps = 0
        self._paced_from = 0.0
        self._evaluation_seconds: float | None = None

    def took_step(self) -> None:
        """Note that a step was taken. The first one builds graphs and says nothing of the pace."""
        self._num_steps += 1
        if self._num_steps == 1:
            self._paced_from = self._clock()

    def took_evaluation(self, seconds: float) -> None:
        """Note how long an evaluation took."""
        self._evaluation_seconds = seconds

    def last_step(self, step: int) -> float:
        """Return the number of steps at which the time will be up, `step` of them taken so far.

        Infinity while nothing is known.
        """
        if self._num_steps < 2:
            return math.inf
        now = self._clock()
        pace = (self._num_steps - 1) / (now - self._paced_from)
        return step + max(0.0, self._left(now)) * pace

    def wants_evaluation(self) -> bool:
        """Return whether it is time for the first evaluation."""
        spent = self._clock() - self._started
        return self._evaluation_seconds is None and spent > _FIRST_EVALUATION * self._seconds

    def is_over(self) -> bool:
        """Return whether all that is left is needed for the end of the run."""
        return self._left(self._clock()) <= 0.0

    def _left(self, now: float) -> float:
        if math.isinf(self._seconds):
            return math.inf
        finish = _UNKNOWN_FINISH * self._seconds
        if self._evaluation_seconds is not None:
            finish = _MARGIN * self._finish_in_evaluations * self._evaluation_seconds
        return self._seconds - (now - self._started) - finish
