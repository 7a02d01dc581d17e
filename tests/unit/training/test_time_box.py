"""A time limit under a clock that the test turns."""

import itertools
import math

import pytest

from nmt_cli.config import TrainConfig
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.time_box import Evaluation, TimeBox

EVALUATION = Evaluation(
    seconds=2.0, search_seconds=0.002, test_pairs=50, format_pairs=100, beam_size=5
)


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_the_last_step_follows_from_the_pace_after_the_first(clock):
    box = TimeBox(100.0, clock)
    assert box.look(40).last_step == math.inf
    clock.now += 10  # building graphs
    box.took_step()
    assert box.look(41).last_step == math.inf
    for _ in range(5):
        clock.now += 2
        box.took_step()
    # 20 seconds are gone, 30 put aside as long as nothing was evaluated.
    assert box.look(46).last_step == pytest.approx(46 + 50 / 2)


def test_the_end_of_the_run_gets_its_time(clock):
    box = TimeBox(100.0, clock)
    clock.now += 14
    assert not box.look(9).wants_evaluation
    clock.now += 2
    assert box.look(9).wants_evaluation
    box.took_evaluation(EVALUATION)
    assert not box.look(9).wants_evaluation
    # Dev once more and for three averages: 8 s. Test, half of dev, and dev four times with a beam
    # whose five hypotheses cost what 3.5 greedy ones do: 4.5 * 3.5 * 0.2 = 3.15 s. A fifth more.
    clock.now = 1000 + 100 - 1.2 * 11.15 - 0.1
    assert not box.look(9).is_over
    clock.now += 0.2
    assert box.look(9).is_over


@pytest.mark.parametrize("schedule", ["noam", "inverse_sqrt", "cosine", "constant"])
def test_every_schedule_is_down_where_the_time_is_up(schedule):
    config = TrainConfig(schedule=schedule, learning_rate=1.0, warmup_steps=400, max_steps=10_000)
    rates = [learning_rate(step, config, 64, last_step=500.0) for step in range(1, 501)]
    peak = max(rates)
    assert rates.index(peak) + 1 in range(40, 60) or schedule == "constant"
    assert rates[-1] <= 1e-3 * peak
    assert all(a >= b for a, b in itertools.pairwise(rates[100:]))


def test_a_limit_beyond_the_last_step_changes_nothing():
    config = TrainConfig(schedule="cosine", learning_rate=1.0, warmup_steps=10, max_steps=100)
    for step in range(1, 101):
        assert learning_rate(step, config, 64, 100.0) == learning_rate(step, config, 64)
