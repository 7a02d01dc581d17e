"""A run's report, made of events as `events.jsonl` has them."""

import subprocess
import sys

import pytest
from html_page import Page

from nmt_cli.config import Config
from nmt_cli.config_io import to_yaml
from nmt_cli.report.training_page import training_page

SIGNATURE = "nrefs:1|case:mixed"
CONFIG = Config.model_validate(
    {
        "name": "a-run",
        "chat": {"persona": "<b> & </pre>"},
        "data": {
            "source_lang": "en", "target_lang": "ko",
            "train": [{"file": "t.tsv"}], "dev": [{"rows": 1}],
        },
    }
)  # fmt: skip


def started(step: int, device: str) -> dict:
    return {
        "event": "Started", "step": step, "parameters": 1234, "precision": "float32",
        "warnings": [], "environment": {"nmt": "1.2", "device": device, "threads": "2"},
    }  # fmt: skip


def done(step: int, loss: float = 3.0) -> dict:
    return {
        "event": "StepDone", "step": step, "last_step": 900, "loss": loss, "learning_rate": 1e-3,
        "num_tokens": 300, "seconds": 1.5,
    }  # fmt: skip


def evaluated(step: int, loss: float, label: str = "dev", **changes) -> dict:
    sample = {"source": f"source {step} </dd>", "output": f"나 {step}", "reference": "너 & 나"}
    return {
        "event": "Evaluated", "step": step, "dev_loss": loss, "score": 30 - loss, "label": label,
        "scores": {"bleu": {"score": 30 - loss, "signature": SIGNATURE}},
        "samples": [sample], "warning": None, "is_best": True, **changes,
    }  # fmt: skip


def finished(step: int, reason: str) -> dict:
    return {"event": "Finished", "step": step, "reason": reason, "scores": {}, "bundle": None}


def report(events: list[dict]) -> Page:
    return Page(training_page(CONFIG, "<p>the card</p>", events, None))


def test_every_part_is_there_and_linked():
    page = report([started(0, "gpu"), done(10), evaluated(10, 2.5), done(20)])
    parts = ["Curves", "Scores", "Samples", "Data", "Configuration", "Environment"]
    assert page.of("section", "h2") == parts
    assert page.of("nav", "a") == parts
    assert set(page.links) <= page.ids
    assert page.of("h1") == ["a-run"]
    assert page.of("pre") == [to_yaml(CONFIG).strip()]
    assert page.of("figcaption")[:3] == ["training loss", "dev loss", "dev bleu"]
    assert {"a", "summary", "pre"} <= set(page.in_tab_order)
    assert "the card" in page.of("section", "p")
    assert page.of("section", "dd")[-5:] == ["1,234", "float32", "1.2", "gpu", "2"]


@pytest.mark.parametrize(
    ("last", "state"),
    [
        ([], "at step 30 of 900"),
        ([finished(30, "stopped")], "stopped at step 30; the same command goes on"),
        ([finished(30, "the time is up")], "finished at step 30: the time is up"),
        ([finished(30, "stopped"), started(30, "cpu")], "at step 30 of 900"),
    ],
)
def test_it_says_how_far_the_run_is(last, state):
    page = report([started(0, "cpu"), done(30), *last])
    assert page.of("body", "p")[1].startswith(f"{state} (written 20")


def test_samples_are_the_newest_first_in_their_language():
    events = [evaluated(step, 3.0) for step in range(1, 8)]
    page = report(events)
    headings = [text for text in page.of("h3") if text.startswith("Step")]
    assert headings == [f"Step {n}: loss 3.000, bleu 27.00" for n in range(7, 0, -1)]
    assert page.of("section", "summary")[-1] == "3 earlier evaluations"
    assert page.of("details", "dd") == [
        text for n in (3, 2, 1) for text in (f"source {n} </dd>", f"나 {n}", "너 & 나")
    ]
    outputs = [a["lang"] for name, a in page.elements if name == "dd" and a.get("lang")]
    assert outputs[:3] == ["en", "ko", "ko"]


def test_an_evaluation_that_was_rolled_back_is_gone_and_told():
    back = {"event": "RolledBack", "step": 10, "from_step": 20, "rate_factor": 0.5, "warnings": []}
    skipped = {"event": "Skipped", "step": 21, "what": "loss"}
    odd = evaluated(20, 9.0, warning="half of the outputs are the same")
    page = report([evaluated(10, 2.0), odd, skipped, back, evaluated(20, 1.0)])
    losses = [row for row in page.of("tbody", "td") if row in ("2.000", "9.000", "1.000")]
    assert losses == ["2.000", "1.000"]
    told = page.of("section", "p")
    assert "step 20: half of the outputs are the same" in told
    assert "step 21 was skipped: its loss is not finite" in told
    assert "back from step 20 to 10" in told


def test_averages_are_scored_but_show_samples_only_when_they_are_best():
    average = "dev, average of the last 3 checkpoints"
    page = report([evaluated(9, 2.0), evaluated(9, 2.5, average, is_best=False)])
    assert "9, average of the last 3 checkpoints" in page.of("tbody", "td")
    assert [h for h in page.of("h3") if h.startswith("Step")] == ["Step 9: loss 2.000, bleu 28.00"]
    best = report([evaluated(9, 2.0), evaluated(9, 1.5, average)])
    assert "Step 9, average of the last 3 checkpoints: loss 1.500, bleu 28.50" in best.of("h3")


def test_sessions_on_other_machines_are_told_apart():
    page = report([started(0, "cpu"), started(5, "cpu"), started(9, "gpu")])
    sessions = [text for text in page.of("h3") if text.startswith("From")]
    assert sessions == ["From step 0, step 5 on", "From step 9 on"]


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), 1e9])
def test_a_run_that_failed_has_a_report_too(loss):
    page = report([started(0, "cpu"), done(1, loss), evaluated(1, loss)])
    assert page.of("h1") == ["a-run"]


def test_logs_of_older_runs_say_less():
    old_start = {"event": "Started", "step": 0, "parameters": 9, "precision": "float32"}
    old_step = {name: value for name, value in done(7).items() if name != "last_step"}
    page = report([old_start, old_step])
    assert page.of("body", "p")[1].startswith("at step 7 (")


def test_no_drawing_library_comes_into_the_memory_of_training():
    code = (
        "import sys, nmt_cli.report.training_page, nmt_cli.report.data_card; "
        "print({'matplotlib', 'rich', 'PIL', 'tensorflow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
