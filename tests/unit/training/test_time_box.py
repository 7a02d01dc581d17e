"""A time limit under a clock that the test turns."""

import itertools
import math

import pytest

from nmt_cli.config.schema import TrainConfig
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.time_box import Evaluation, TimeBox, TimeLeft

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
    assert box.look(46).last_step == math.inf  # too few steps, in too short a time
    clock.now += 1
    box.took_step()
    # 21 seconds are gone, 10 put aside as long as nothing was evaluated.
    assert box.look(47).last_step == pytest.approx(48 + 69 * 6 / 11)


def test_quick_steps_need_not_take_long_to_tell_the_pace(clock):
    box = TimeBox(1000.0, clock)
    for _ in range(11):
        clock.now += 1
        box.took_step()
    assert box.look(11).last_step == pytest.approx(12 + 1000 - 11 - 100)


def test_the_end_of_the_run_gets_its_time(clock):
    box = TimeBox(100.0, clock)
    for _ in range(100):
        clock.now += 0.49
        box.took_step()
    assert not box.look(9).wants_evaluation
    clock.now += 2
    assert box.look(9).wants_evaluation
    box.took_evaluation(EVALUATION)
    assert not box.look(9).wants_evaluation
    # Needed: dev once more, 2 s, and test with a beam, whose five hypotheses cost what three greedy
    # ones do, and a tenth more: 0.33 s. If they fit: dev for three averages, 6 s, and four times
    # with a beam, 2.4 s; of these 10.08 s at most a fiftieth of the limit.
    put_aside = 1.2 * 2.33 + 2.0
    clock.now = 1000 + 100 - put_aside - 0.1
    assert not box.look(9).is_over
    clock.now += 0.2
    assert box.look(9).is_over


def test_a_model_is_not_evaluated_for_the_time_before_half_of_it(clock):
    box = TimeBox(100.0, clock)
    clock.now += 49
    assert not box.look(9).wants_evaluation
    clock.now += 2
    assert box.look(9).wants_evaluation


def test_an_early_evaluation_is_followed_by_a_late_one(clock):
    box = TimeBox(100.0, clock)
    clock.now += 49
    box.took_evaluation(EVALUATION)
    clock.now += 25
    assert not box.look(9).wants_evaluation
    clock.now += 2
    assert box.look(9).wants_evaluation
    box.took_evaluation(EVALUATION)
    assert not box.look(9).wants_evaluation


def test_a_test_set_that_does_not_fit_is_left_out_rather_than_the_training(clock):
    box = TimeBox(100.0, clock)
    box.took_evaluation(EVALUATION._replace(test_pairs=100_000))
    assert not box.has_time_for_test()
    clock.now += 100 - 1.2 * 2 - 12 - 2 - 0.1
    assert not box.look(9).is_over
    box.took_evaluation(EVALUATION)
    assert box.has_time_for_test()


def test_outputs_without_end_do_not_end_the_run(clock):
    box = TimeBox(240.0, clock)
    box.took_step()
    clock.now += 36
    # A young model, every output at its limit; all that could be done at the end would take 90 s.
    box.took_evaluation(Evaluation(5.0, 0.004, test_pairs=1000, format_pairs=1000, beam_size=5))
    left = box.look(80)
    assert not left.is_over
    for _ in range(80):
        box.took_step()
    assert box.look(80).last_step == pytest.approx(
        81 + (240 - 36 - 1.2 * (5 + 13.2) - 4.8) * 80 / 36
    )


def test_what_does_not_fit_at_the_end_is_left_out(clock):
    box = TimeBox(100.0, clock)
    clock.now += 1000
    assert box.has_time_for_average()
    assert box.has_time_for_formats()
    box.took_evaluation(EVALUATION)
    clock.now = 1000 + 100 - 1.2 * 2.4 - 0.1
    assert box.has_time_for_formats()
    assert box.has_time_for_average()
    clock.now += 0.2
    assert not box.has_time_for_formats()
    clock.now = 1000 + 100 - 1.2 * 2.33 + 0.1
    assert not box.has_time_for_average()


def test_a_short_run_has_checkpoints_to_average():
    left = TimeLeft(last_step=400.0)
    assert not left.wants_checkpoint(9, 0)
    assert left.wants_checkpoint(10, 0)
    assert not left.wants_checkpoint(19, 10)
    assert not TimeLeft().wants_checkpoint(10**9, 0)


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
