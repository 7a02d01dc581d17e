"""Tests of nmt_cli/errors.py."""

import pytest

from nmt_cli.errors import (
    ConfigError,
    DataError,
    ModelFileError,
    NmtError,
    TrainingError,
    did_you_mean,
)


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [(NmtError, 5), (ConfigError, 2), (DataError, 3), (ModelFileError, 4), (TrainingError, 5)],
)
def test_each_kind_of_problem_has_its_exit_code(kind, exit_code):
    error = kind("train.de:3: wrong", hint="mend it")
    assert isinstance(error, NmtError)
    assert error.exit_code == exit_code
    assert (str(error), error.hint) == ("train.de:3: wrong", "mend it")


def test_a_hint_is_optional():
    assert DataError("x").hint is None


@pytest.mark.parametrize(
    ("word", "choices", "answer"),
    [
        ("d_modle", ["d_ff", "d_model", "dropout"], " Did you mean 'd_model'?"),
        ("trian", iter(["train", "test"]), " Did you mean 'train'?"),
        ("set-de-en", ["set-en-fr", "set-en-de", "set-de-fr"], " Did you mean 'set-en-de'?"),
        ("beem", ["top_k", "beam_size", "beam_depth"], " Did you mean 'beam_size'?"),
        ("banana", ["d_ff", "d_model"], ""),
        ("x", [], ""),
    ],
)
def test_did_you_mean_names_the_closest_choice_or_nothing(word, choices, answer):
    assert did_you_mean(word, choices) == answer
