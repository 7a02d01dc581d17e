"""What a run is told to take, and what is said of a time limit."""

import pytest

from nmt_cli.config.pace import USUAL_MACHINE, Lengths, Machine, spoken, step_seconds
from nmt_cli.config.schema import Config
from nmt_cli.training.time_box import (
    expected_end,
    run_seconds,
    run_time,
    too_short,
    training_seconds,
)

CONFIG = Config.model_validate(
    {"name": "x", "data": {"train": [{"file": "a"}], "dev": [{"file": "b"}]}}
)
LENGTHS = Lengths(15.0, 15.0)


def config(max_steps: int) -> Config:
    train = CONFIG.train.model_copy(update={"max_steps": max_steps})
    return CONFIG.model_copy(update={"train": train})


def test_a_limit_leaves_the_time_that_a_run_of_these_steps_takes():
    left = training_seconds(600, 30_000)
    assert run_seconds(left / 0.1, 0.1, 30_000) == pytest.approx(600)
    assert training_seconds(5, 30_000) == 1


def test_a_long_run_is_told_with_a_limit_that_is_enough():
    step = step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    sizes, auto = (LENGTHS, 30_000, USUAL_MACHINE), {"train.max_steps"}
    told = run_time(config(round(3600 / step)), auto, *sizes)
    assert "steps take about 64m here" in told
    assert "--time 30m is enough" in told
    assert "--time" not in run_time(config(round(100 / step)), auto, *sizes)


def test_what_consistency_costs_is_told():
    step = step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    plain = config(round(3600 / step))
    train = plain.train.model_copy(update={"consistency": "simcut"})
    double = plain.model_copy(update={"train": train})
    told = run_time(double, {"train.max_steps"}, LENGTHS, 30_000, USUAL_MACHINE)
    assert " here, and about 64m without train.consistency; --time " in told


def test_a_recipe_with_steps_of_its_own_is_not_said_to_need_fewer():
    step = step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    told = run_time(config(round(3600 / step)), (), LENGTHS, 30_000, USUAL_MACHINE)
    assert told.endswith("steps take about 64m here")


def test_a_limit_that_is_too_short_is_told_with_one_that_is_not():
    step = step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    warning = too_short(30, CONFIG, LENGTHS, 30_000, USUAL_MACHINE)
    assert warning is not None
    assert f"about {training_seconds(30, 30_000) / step:,.0f} steps" in warning
    limit = 60 * int(warning.rsplit("--time ", 1)[1].split("m ")[0])
    assert too_short(limit, CONFIG, LENGTHS, 30_000, USUAL_MACHINE) is None
    assert too_short(30, config(10), LENGTHS, 30_000, USUAL_MACHINE) is None


def test_a_limit_that_leaves_no_time_for_steps_is_too_short_for_any_number_of_them():
    warning = too_short(5, config(10), LENGTHS, 30_000, USUAL_MACHINE)
    assert warning == (
        "--time 5s is too short to learn from 30,000 pairs here: it is over before the first "
        "step; --time 1m gives first results"
    )


def test_a_limited_run_is_told_when_it_will_end_and_why():
    sizes, auto = (LENGTHS, 30_000, USUAL_MACHINE), {"train.max_steps"}
    step = step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    assert expected_end(600, config(10**6), auto, *sizes) == (
        f"--time 10m is enough for about {round(training_seconds(600, 30_000) / step, -2):,.0f} "
        "steps here"
    )
    few = config(round(240 / step))
    told = f"the run is expected to end after about 5m of --time 10m, with {few.train.max_steps:,}"
    why = " steps: more would make the model worse on new text"
    assert expected_end(600, few, auto, *sizes) == told + why
    mine = told.replace("with ", "with the ") + " steps of train.max_steps"
    assert expected_end(600, few, (), *sizes) == mine


def test_a_machine_half_as_fast_takes_twice_as_long():
    half = Machine(USUAL_MACHINE.products / 2, USUAL_MACHINE.elements / 2)
    expected = 2 * step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    assert step_seconds(CONFIG, LENGTHS, half) == pytest.approx(expected)


def test_a_step_that_reads_its_batch_twice_takes_nearly_twice_as_long():
    train = CONFIG.train.model_copy(update={"consistency": "simcut"})
    once = step_seconds(CONFIG, LENGTHS, USUAL_MACHINE)
    twice = step_seconds(CONFIG.model_copy(update={"train": train}), LENGTHS, USUAL_MACHINE)
    assert 1.5 < twice / once < 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (30, "30s"),
        (0, "0s"),
        (60, "1m"),
        (100, "100s"),
        (120, "2m"),
        (3600, "1h"),
        (5400, "90m"),
        (9e4, "25h"),
    ],
)
def test_a_time_is_said_as_the_option_takes_it(seconds, text):
    assert spoken(seconds) == text
