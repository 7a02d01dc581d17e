"""Learning rates against the formulas as their papers print them."""

import itertools

import pytest
import schedules_by_hand

from nmt_cli.config.schema import TrainConfig
from nmt_cli.training.schedule import learning_rate

STEPS = (1, 2, 99, 100, 101, 250, 999, 1000)
EXACT = {"rel": 1e-12}  # double arithmetic in another order


def config(schedule: str, peak: float, warmup: int, max_steps: int = 1000) -> TrainConfig:
    return TrainConfig(
        schedule=schedule, learning_rate=peak, warmup_steps=warmup, max_steps=max_steps
    )


def test_noam_gives_the_known_values():
    """Issue A: width 128, warm-up 4,000."""
    noam = config("noam", 1.0, 4000, 20000)
    rates = [learning_rate(step, noam, 128) for step in range(1, 20001)]
    assert max(rates) == rates[3999] == pytest.approx(1.39754e-3, abs=5e-9)
    assert rates[0] == pytest.approx(128**-0.5 * 4000**-1.5, **EXACT)
    assert rates[-1] == pytest.approx(128**-0.5 * 20000**-0.5, **EXACT)


@pytest.mark.parametrize("step", STEPS)
def test_noam_multiplies_by_its_factor(step):
    found = learning_rate(step, config("noam", 2.0, 100), 64)
    assert found == pytest.approx(schedules_by_hand.noam(step, 64, 100, 2.0), **EXACT)


@pytest.mark.parametrize("step", STEPS)
def test_inverse_square_root(step):
    found = learning_rate(step, config("inverse_sqrt", 3e-3, 100), 64)
    assert found == pytest.approx(schedules_by_hand.inverse_sqrt(step, 3e-3, 100), **EXACT)


@pytest.mark.parametrize("step", STEPS)
def test_cosine(step):
    found = learning_rate(step, config("cosine", 3e-3, 100), 64)
    expected = schedules_by_hand.cosine(step, 3e-3, 100, 1000)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-18)  # zero at the end


@pytest.mark.parametrize("step", STEPS)
def test_constant(step):
    found = learning_rate(step, config("constant", 3e-3, 100), 64)
    assert found == pytest.approx(schedules_by_hand.constant(step, 3e-3, 100), **EXACT)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_the_peak_is_where_the_warm_up_ends(schedule):
    rates = [learning_rate(step, config(schedule, 3e-3, 100), 64) for step in range(1, 1001)]
    assert rates[99] == max(rates) == 3e-3
    assert rates[0] == pytest.approx(3e-5)
    assert all(earlier < later for earlier, later in itertools.pairwise(rates[:100]))


@pytest.mark.parametrize("schedule", ["noam", "inverse_sqrt", "cosine", "constant"])
def test_a_warm_up_of_one_step_begins_at_the_peak(schedule):
    rates = [learning_rate(step, config(schedule, 1.0, 1), 1) for step in (1, 2)]
    assert rates[0] == 1.0
    assert rates[1] <= 1.0


def test_cosine_stays_down_and_bears_a_warm_up_as_long_as_the_run():
    assert learning_rate(1500, config("cosine", 1.0, 100), 64) == 0.0
    assert learning_rate(1000, config("cosine", 1.0, 1000), 64) == 1.0
    assert learning_rate(1001, config("cosine", 1.0, 1000), 64) == 0.0
