"""A time limit: where the run will end at the pace of its steps, and when it has to.

What comes after the last step takes time, too: a last evaluation, those of the averages, the test
set, other number formats. How much is put aside for it follows from the last evaluation, so there
must be one early.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

_FIRST_EVALUATION = 0.15  # share of the limit after which there should be one
_UNKNOWN_FINISH = 0.3  # share put aside before there was one
_MARGIN = 1.2  # evaluations do not all take the same time
_AVERAGES = 3  # at most
_BEAM_COST = 0.7  # of a hypothesis in a beam, beside that of greedy search
_FORMAT_PASSES = 4  # over dev, at the most over so many pairs, to measure number formats:
_FORMAT_PAIRS = 1000


class Evaluation(NamedTuple):
    """What the time for the end of the run is judged by.

    Attributes:
        seconds: How long an evaluation took.
        search_seconds: Of that, one greedy search.
        test_pairs: Searches of the test set.
        format_pairs: Development pairs that number formats will be measured on.
        beam_size: Of the search at the end.
    """

    seconds: float
    search_seconds: float
    test_pairs: int
    format_pairs: int
    beam_size: int

    def finish_seconds(self) -> float:
        """Return how long all that comes after the last step will take."""
        pairs = self.test_pairs + _FORMAT_PASSES * min(self.format_pairs, _FORMAT_PAIRS)
        searches = max(1.0, _BEAM_COST * self.beam_size) * pairs
        return _MARGIN * ((1 + _AVERAGES) * self.seconds + searches * self.search_seconds)


class TimeLeft(NamedTuple):
    """What follows from the clock at one step.

    Attributes:
        last_step: The number of steps at which the time will be up; infinity while unknown.
        wants_evaluation: Whether it is time for the first evaluation.
        is_over: Whether all that is left is needed for the end of the run.
    """

    last_step: float = math.inf
    wants_evaluation: bool = False
    is_over: bool = False


class TimeBox:
    """What is left of a time limit.

    Args:
        seconds: The limit, from now on.
        clock: Seconds since some moment.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._started = clock()
        self._num_steps = 0
        self._paced_from = 0.0
        self._evaluation: Evaluation | None = None

    def took_step(self) -> None:
        """Note that a step was taken. The first one builds graphs and says nothing of the pace."""
        self._num_steps += 1
        if self._num_steps == 1:
            self._paced_from = self._clock()

    def took_evaluation(self, evaluation: Evaluation) -> None:
        """Note how long an evaluation took."""
        self._evaluation = evaluation

    def look(self, step: int) -> TimeLeft:
        """Look at the clock, `step` steps of the run taken so far."""
        now = self._clock()
        left, last_step = self._left(now), math.inf
        if self._num_steps > 1:
            pace = (self._num_steps - 1) / (now - self._paced_from)
            last_step = step + max(0.0, left) * pace
        is_late = now - self._started > _FIRST_EVALUATION * self._seconds
        return TimeLeft(last_step, self._evaluation is None and is_late, left <= 0.0)

    def _left(self, now: float) -> float:
        finish = _UNKNOWN_FINISH * self._seconds
        if self._evaluation is not None:
            finish = self._evaluation.finish_seconds()
        return self._seconds - (now - self._started) - finish
