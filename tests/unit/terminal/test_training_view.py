"""What `nmt train` says without a terminal, from events made by hand."""

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nmt_cli.config.reading import load_config
from nmt_cli.evaluation.outputs import Sample
from nmt_cli.evaluation.scores import Score
from nmt_cli.events import Evaluated, Finished, Started, StepDone
from nmt_cli.terminal import training_view
from nmt_cli.terminal.training_view import TrainingView
from nmt_cli.text.languages import Languages


@pytest.mark.parametrize(
    ("config", "overrides", "scores", "told"),
    [
        ("chat", [], {}, "best loss 0.24"),
        ("multi30k-en-de", [], {"bleu": 24.9, "chrf": 50.0}, "best bleu 24.90"),
        (
            "sentiment",
            ["classification.best_by=macro_f1"],
            {"accuracy": 91.0, "macro_f1": 88.5},
            "best macro_f1 88.50",
        ),
        ("sentiment", ["classification.best_by=loss"], {"accuracy": 91.0}, "best loss 0.24"),
    ],
)
def test_the_best_is_told_by_the_name_of_what_it_is_chosen_by(
    config, overrides, scores, told, capsys
):
    of_run = load_config(config, overrides).config
    found = {name: Score(value, name) for name, value in scores.items()}
    score = -0.24 if told.startswith("best loss") else float(told.split()[-1])
    with TrainingView(of_run, cast("Any", SimpleNamespace())) as view:
        view.show(Started(0, 1000, "float32", [], {}))
        view.show(StepDone(100, 300, 0, 2.0, 1e-3, 1.0, 500, 0.1, 0.05))
        assert "best" not in capsys.readouterr().err
        view.show(Evaluated(100, 0.24, score, found, [], None, is_best=True))
        view.show(Evaluated(200, 0.5, score - 1, found, [], None, is_best=False))
        view.show(StepDone(200, 300, 0, 2.0, 1e-3, 1.0, 500, 0.1, 0.05))
    assert f"pad 10% {told} " in capsys.readouterr().err


def test_the_next_command_takes_a_text_that_begins_with_a_dash(monkeypatch, capsys):
    loaded = load_config("multi30k-en-de", [])
    model = SimpleNamespace(known_languages=Languages.of(loaded.config))
    monkeypatch.setattr(training_view, "read_manifest", lambda path: model)
    report = SimpleNamespace(is_written=False)
    with TrainingView(loaded.config, cast("Any", report)) as view:
        sample = Sample("--help $(touch x)", "ein", "aus")
        view.show(Evaluated(100, 0.24, 1.0, {}, [sample], None, is_best=False))
        view.show(Finished(100, "the time is up", {}, "runs/x"))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "next: nmt translate -- '--help $(touch x)'"


@pytest.mark.parametrize(("seconds", "told"), [(30, " 0:29 left"), (1e6, " 59:59 left")])
def test_no_more_time_is_left_than_the_limit_allows(seconds, told, capsys, monkeypatch):
    of_run = load_config("chat").config
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    clock, begun = 1000.0, Started(0, 1000, "float32", [], {})
    with TrainingView(of_run, cast("Any", SimpleNamespace()), ends_at=clock + seconds) as view:
        view.show(begun)
        clock += 0.5
        view.show(StepDone(100, 720_000, 0, 2.0, 1e-3, 1.0, 500, 0.1, 0.05))
    assert capsys.readouterr().err.endswith(f"{told}\n")
