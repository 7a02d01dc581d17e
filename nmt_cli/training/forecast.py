"""How long a run will take on this machine, whether a time limit is enough, and which one would be.

What goes by: starting (TensorFlow, reading the text, tracing the step), the steps, and what is put
aside for the end. All of it is an estimate, good to about a third.
"""

import math

from nmt_cli.config.pace import Lengths, Machine, spoken, step_seconds
from nmt_cli.config.schema import Config

_START_S, _PAIRS_A_SECOND = 15.0, 50_000
_END_SHARE = 0.06  # of the time: evaluations, and what comes after the last step
_FEWEST_STEPS, _FIRST_RESULTS = 500, 1500
_ENOUGH = 3  # a third of the steps leads to nearly the same quality
_WORTH_TELLING_S = 300
_LIMITS_S = [60 * m for m in (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720)]


def training_seconds(limit: float, pairs: int) -> float:
    """Return what a time limit leaves for steps, in seconds.

    Args:
        limit: The limit; infinity is none.
        pairs: Of the training text.
    """
    return max(1.0, (limit - _started(pairs)) * (1 - _END_SHARE))


def run_seconds(steps: float, step: float, pairs: int) -> float:
    """Return how long a run of so many steps takes, of `step` seconds each."""
    return _started(pairs) + steps * step / (1 - _END_SHARE)


def run_time(config: Config, lengths: Lengths, pairs: int, machine: Machine) -> str:
    """Return, for people, how long a run takes here, and which limit would be enough.

    Args:
        config: With a value for every key that the pace depends on.
        lengths: Of the training text.
        pairs: Likewise.
        machine: Where it runs.
    """
    steps, step = config.train.max_steps, step_seconds(config, lengths, machine)
    seconds = run_seconds(steps, step, pairs)
    told = f"{steps:,} steps take about {spoken(seconds)} here"
    enough = _as_limit(run_seconds(steps / _ENOUGH, step, pairs))
    if seconds < max(_WORTH_TELLING_S, 1.5 * enough):
        return told
    return f"{told}; --time {spoken(enough)} is enough for nearly as good a model"


def too_short(
    limit: float, config: Config, lengths: Lengths, pairs: int, machine: Machine
) -> str | None:
    """Return a warning when a time limit is too short to learn anything, with what would do.

    Args:
        limit: The limit in seconds.
        config: As chosen for this limit.
        lengths: Of the training text.
        pairs: Likewise.
        machine: Where it runs.
    """
    step = step_seconds(config, lengths, machine)
    steps = training_seconds(limit, pairs) / step
    if steps >= min(_FEWEST_STEPS, config.train.max_steps):
        return None
    first = _as_limit(run_seconds(_FIRST_RESULTS, step, pairs))
    return (
        f"--time {spoken(limit)} is too short to learn from {pairs:,} pairs here: it is enough for "
        f"about {steps:,.0f} steps; --time {spoken(first)} gives first results"
    )


def _started(pairs: int) -> float:
    return _START_S + pairs / _PAIRS_A_SECOND


def _as_limit(seconds: float) -> float:
    """Return the next time that a person would name."""
    hours = math.ceil(seconds / 3600) * 3600
    return next((limit for limit in _LIMITS_S if limit >= seconds), hours)
