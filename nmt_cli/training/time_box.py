"""A time limit: where the run will end at the pace of its steps, and which limit is enough.

What comes after the last step takes time, too. A last evaluation is always done; the test set,
averages and other number formats only if they fit, and no more than a share of the limit is put
aside for them. What is put aside follows from the last evaluation, so there must be one of a model
that has learned where an output ends: those of a young model run to their limit.

The time for starting (TensorFlow, reading the text, tracing the step), for the steps and for the
end is estimated before the first step, to about a third.
"""

import math
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from nmt_cli.config.pace import Lengths, Machine, spoken, step_seconds
from nmt_cli.config.reading import with_values
from nmt_cli.config.schema import Config
from nmt_cli.errors import number_of

_HALF = 0.5  # share of the limit after which there should be an evaluation: a young model's outputs
# run to their limit, and one early takes a third of a short run. If the last one was earlier:
_LAST_LOOK = 0.75  # share after which there is another
_UNKNOWN_FINISH = 0.1  # share put aside before there was one
_TEST = 0.12  # share put aside, at most, for the test set
_EXTRAS = 0.02  # and for what is less missed
_CHECKPOINTS = 40  # from the first step to the last, for the averages, and this far apart:
_FEWEST_STEPS = 10  # at least; so many also tell the pace, or
_PACE_SHARE = 0.1  # fewer that took this share of the limit
_MARGIN = 1.2  # evaluations do not all take the same time
_AVERAGES = 3  # at most
_BEAM_COST = 0.6  # of a hypothesis in a beam, beside that of greedy search
_TEST_COST = 1.1  # of an output, beside one of dev
_FORMAT_PASSES = 4  # over dev, at the most over so many pairs, to measure number formats:
_FORMAT_PAIRS = 1000


class Evaluation(NamedTuple):
    """What the time for the end of the run is judged by."""

    seconds: float  # how long an evaluation took, and of that one greedy search `search_seconds`
    search_seconds: float
    test_pairs: int  # searches of the test set, with `beam_size`
    format_pairs: int  # development pairs that number formats will be measured on
    beam_size: int

    @property
    def test_seconds(self) -> float:
        """How long the test set will take."""
        return _TEST_COST * self.test_pairs * self._beam_seconds

    @property
    def format_seconds(self) -> float:
        """How long measuring number formats will take."""
        pairs = _FORMAT_PASSES * min(self.format_pairs, _FORMAT_PAIRS)
        return pairs * self._beam_seconds

    @property
    def _beam_seconds(self) -> float:
        return max(1.0, _BEAM_COST * self.beam_size) * self.search_seconds


class TimeLeft(NamedTuple):
    """What follows from the clock at one step."""

    # the number of steps at which the time will be up; infinity while unknown
    last_step: float = math.inf
    wants_evaluation: bool = False  # whether one is needed to know how long the end will take
    is_over: bool = False  # whether all that is left is needed for the end of the run

    def wants_checkpoint(self, step: int, saved_step: int) -> bool:
        """Return whether it is time for one; the usual distance may be longer than the run."""
        return step - saved_step >= max(_FEWEST_STEPS, self.last_step / _CHECKPOINTS)


class TimeBox:
    """What is left of a time limit, in seconds from now on."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._started = clock()
        self._num_steps = 0
        self._paced_from = 0.0
        self._evaluation: Evaluation | None = None
        self._evaluated_at = 0.0  # share of the limit

    def took_step(self) -> None:
        """Note that a step was taken. The first one builds graphs and says nothing of the pace."""
        self._num_steps += 1
        if self._num_steps == 1:
            self._paced_from = self._clock()

    def took_evaluation(self, evaluation: Evaluation) -> None:
        """Note how long an evaluation took."""
        self._evaluation = evaluation
        self._evaluated_at = self._gone(self._clock())

    def look(self, step: int) -> TimeLeft:
        """Look at the clock, `step` steps of the run taken so far."""
        now = self._clock()
        left, last_step = self._left(now), math.inf
        num_steps, seconds = self._num_steps - 1, now - self._paced_from
        if num_steps >= _FEWEST_STEPS or (num_steps > 0 and seconds > _PACE_SHARE * self._seconds):
            # One more: the last step's rate is zero, and there may be a next one.
            last_step = step + 1 + max(0.0, left) * num_steps / seconds
        return TimeLeft(last_step, self._wants_evaluation(self._gone(now)), left <= 0.0)

    def _gone(self, now: float) -> float:
        """Return the share of the limit that is gone."""
        return (now - self._started) / self._seconds

    def _wants_evaluation(self, gone: float) -> bool:
        if self._evaluation is None:
            return gone > _HALF
        return self._evaluated_at < _HALF and gone > _LAST_LOOK

    def has_time_for_average(self) -> bool:
        """Return whether one more evaluation fits in before the test set."""
        last = self._evaluation
        return last is None or self._fits(last.seconds + last.test_seconds)

    def has_time_for_test(self) -> bool:
        """Return whether the test set can be scored."""
        return self._evaluation is None or self._fits(self._evaluation.test_seconds)

    def has_time_for_formats(self) -> bool:
        """Return whether number formats can still be measured."""
        return self._evaluation is None or self._fits(self._evaluation.format_seconds)

    def _fits(self, seconds: float) -> bool:
        return self._clock() - self._started + _MARGIN * seconds <= self._seconds

    def _left(self, now: float) -> float:
        finish, last = _UNKNOWN_FINISH * self._seconds, self._evaluation
        if last is not None:
            extras = _MARGIN * (_AVERAGES * last.seconds + last.format_seconds)
            finish = _MARGIN * last.seconds
            finish += min(_MARGIN * last.test_seconds, _TEST * self._seconds)
            finish += min(extras, _EXTRAS * self._seconds)
        return self._seconds - (now - self._started) - finish


_START_S, _PAIRS_A_SECOND = 15.0, 50_000
_END_SHARE = 0.06  # of the time: evaluations, and what comes after the last step
_STEPS_TO_LEARN, _FIRST_RESULTS = 500, 1500
_ENOUGH = 3  # a third of the steps leads to nearly the same quality
_WORTH_TELLING_S = 300
_LIMITS_S = [60 * m for m in (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720)]


def training_seconds(limit: float, pairs: int) -> float:
    """Return what a time limit (or infinity) leaves for steps of `pairs` of text, in seconds.

    It is never less than one, so that sizes can be chosen; `too_short` tells when there is less.
    """
    return max(1.0, _left_for_steps(limit, pairs))


def _left_for_steps(limit: float, pairs: int) -> float:
    return max(0.0, (limit - _started(pairs)) * (1 - _END_SHARE))


def run_seconds(steps: float, step: float, pairs: int) -> float:
    """Return how long a run of so many steps takes, of `step` seconds each."""
    return _started(pairs) + steps * step / (1 - _END_SHARE)


def run_time(
    config: Config, chosen: Collection[str], lengths: Lengths, pairs: int, machine: Machine
) -> str:
    """Return, for people, how long a run takes here, and which limit would be enough.

    Steps that were not among the keys `chosen` by `auto` belong to a recipe, which may need all.
    """
    steps, step = config.train.max_steps, step_seconds(config, lengths, machine)
    seconds = run_seconds(steps, step, pairs)
    takes = "takes" if steps == 1 else "take"
    told = f"{number_of(steps, 'step')} {takes} about {spoken(seconds)} here"
    if config.train.consistency != "none":
        plain = with_values(config, {"train.consistency": "none"}, "train.consistency")
        less = run_seconds(steps, step_seconds(plain, lengths, machine), pairs)
        told += f", and about {spoken(less)} without train.consistency"
    enough = _as_limit(run_seconds(steps / _ENOUGH, step, pairs))
    if "train.max_steps" not in chosen or seconds < max(_WORTH_TELLING_S, 1.5 * enough):
        return told
    return f"{told}; --time {spoken(enough)} is enough for nearly as good a model"


def too_short(
    limit: float, config: Config, lengths: Lengths, pairs: int, machine: Machine
) -> str | None:
    """Return a warning when a time limit is too short to learn anything, with what would do."""
    step, most = step_seconds(config, lengths, machine), config.train.max_steps
    steps = _left_for_steps(limit, pairs) / step
    if steps >= min(_STEPS_TO_LEARN, most):
        return None
    first = _as_limit(run_seconds(min(_FIRST_RESULTS, most), step, pairs))
    allowed = f"it allows only about {number_of(round(steps), 'step')}"
    return (
        f"--time {spoken(limit)} is too short to learn from {pairs:,} {config.facts.examples} "
        f"here: {allowed if steps else 'it is over before the first step'}; "
        f"--time {spoken(first)} gives first results"
    )


def expected_end(
    limit: float,
    config: Config,
    chosen: Collection[str],
    lengths: Lengths,
    pairs: int,
    machine: Machine,
) -> str:
    """Return, for people, when a run with a time limit will end: with the time, or before.

    `chosen` are the keys for which `auto` chose a value.
    """
    most, step = config.train.max_steps, step_seconds(config, lengths, machine)
    steps = _left_for_steps(limit, pairs) / step
    if steps < most:
        return f"--time {spoken(limit)} is enough for about {float(f'{steps:.2g}'):,.0f} steps here"
    told = f"the run is expected to end after about {spoken(run_seconds(most, step, pairs))} of "
    if "train.max_steps" not in chosen:
        return f"{told}--time {spoken(limit)}, with the {most:,} steps of train.max_steps"
    why = "more would make the model worse on new text"
    return f"{told}--time {spoken(limit)}, with {most:,} steps: {why}"


def _started(pairs: int) -> float:
    return _START_S + pairs / _PAIRS_A_SECOND


def _as_limit(seconds: float) -> float:
    """Return the next time that a person would name."""
    hours = math.ceil(seconds / 3600) * 3600
    return next((limit for limit in _LIMITS_S if limit >= seconds), hours)
