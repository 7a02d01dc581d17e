"""A run's report, made of events as `events.jsonl` has them."""

import subprocess
import sys

import pytest
from html_page import Page

from nmt_cli.bundle.manifest import Manifest
from nmt_cli.config.reading import to_yaml
from nmt_cli.config.schema import Config
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
        ([finished(30, "stopped")], "stopped at step 30; the same command resumes"),
        ([finished(30, "the time is up")], "finished at step 30: the time is up"),
        ([finished(30, "stopped"), started(30, "cpu")], "at step 30 of 900"),
    ],
)
def test_it_says_how_far_the_run_is(last, state):
    page = report([started(0, "cpu"), done(30), *last])
    assert page.of("body", "p")[1].startswith(f"{state} (written 20")


def samples(step: int, *sources: str) -> list[dict]:
    return [{"source": s, "output": f"{s} by {step}", "reference": f"{s} & co"} for s in sources]


def test_the_same_sentences_are_followed_the_newest_output_first():
    page = report([evaluated(n, 3.0, samples=samples(n, "a", "b")) for n in range(1, 7)])
    assert page.of("article", "dt") == [
        *["source", "reference", "step 6", "step 5", "step 4", "step 3", "step 2", "step 1"] * 2
    ]
    assert page.of("article", "dd")[:4] == ["a", "a & co", "a by 6", "a by 5"]
    assert page.of("article", "summary") == ["earlier"] * 2
    assert page.of("details", "dd")[:2] == ["a by 2", "a by 1"]
    outputs = [a["lang"] for name, a in page.elements if name == "dd" and a.get("lang")]
    assert outputs[:4] == ["en", "ko", "ko", "ko"]


def test_an_output_that_stays_the_same_is_shown_once():
    same = [{"source": "a", "output": "b", "reference": "c"}]
    page = report([evaluated(n, 3.0, samples=same) for n in (100, 1200, 1300)])
    assert page.of("article", "dt") == ["source", "reference", "step 100 to 1,300"]


def test_other_sentences_of_an_older_log_are_folded_up():
    page = report([evaluated(n, 3.0, samples=samples(n, f"s{n}")) for n in range(1, 4)])
    assert page.of("section", "summary") == ["The numbers", "2 other sentences"]
    assert "s1 by 1" in page.of("details", "dd")
    assert "s3 by 3" not in page.of("details", "dd")


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
    assert page.of("article", "dt") == ["source", "reference", "step 9"]
    better = samples(10, "source 9 </dd>")
    better[0]["reference"] = "너 & 나"
    best = report([evaluated(9, 2.0), evaluated(9, 1.5, average, samples=better)])
    assert best.of("article", "dt")[2] == "step 9, average of the last 3 checkpoints"


def manifest(bleu: float | None = 30.04, test: float | None = None, **changes) -> Manifest:
    scores = {"dev": {} if bleu is None else {"bleu": {"score": bleu, "signature": SIGNATURE}}}
    if test is not None:
        scores["test"] = {"bleu": {"score": test, "signature": SIGNATURE}}
    values = {
        "name": "a-run", "task": "translation", "source_lang": "en", "target_lang": "ko",
        "parameters": 1234567, "model": {"d_model": 64, "encoder_layers": 2, "decoder_layers": 3},
        "decode": {}, "chat": {}, "vocabulary": {}, "scores": scores, "versions": {},
        "training": {"step": 1200, "pairs": 5000, "dev_loss": 2.0, "fingerprint": "a"},
    }  # fmt: skip
    return Manifest(**{**values, **changes})


def first_lines(now: Manifest, before: Manifest | None = None) -> list[str]:
    return Page(training_page(CONFIG, "", [], now, before)).of("body", "p")[:3]


def test_a_headline_says_what_came_out_and_of_what():
    assert first_lines(manifest(test=31.0))[:2] == [
        "BLEU 30.0 on dev, 31.0 on test",
        "A model that translates en to ko: 1,234,567 weights, 2+3 layers of width 64, trained on "
        "5,000 pairs; it was best at step 1,200.",
    ]
    chat = manifest(None, task="chat", source_lang="", target_lang="")
    assert first_lines(chat)[0] == "perplexity 7.4 on dev"
    assert first_lines(chat)[1].startswith("A model that chats: 1,234,567 weights")


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (manifest(28.0), "BLEU is 2.0 higher than in the last run of this name (28.0)."),
        (manifest(33.0), "BLEU is 3.0 lower than in the last run of this name (33.0)."),
        (manifest(30.0), "Equal to the last run of this name."),
        (
            manifest(28.0, training={"step": 1, "dev_loss": 1.0, "fingerprint": "b"}),
            "BLEU is 2.0 higher than in the last run of this name "
            "(28.0, with another text, vocabulary or seed).",
        ),
        (manifest(None), "The last run of this name was scored by perplexity."),
    ],
)
def test_a_headline_compares_with_the_last_run_of_the_name(before, told):
    assert first_lines(manifest(), before)[2] == told


def test_what_differs_from_the_last_run_is_named():
    origin = {"text": "t", "dev_text": "d", "vocabulary": "v", "seed": 1}

    def trained(fingerprint: str, **changes) -> Manifest:
        training = {"step": 1, "pairs": 2, "dev_loss": 1.0, "fingerprint": fingerprint}
        return manifest(30.0, training=training | origin | changes)

    told = "Equal to the last run of this name"
    assert first_lines(trained("a"), trained("a"))[2] == f"{told}."
    assert first_lines(trained("a"), trained("b", seed=2))[2] == f"{told}, with another seed."
    both = first_lines(trained("a"), trained("b", seed=2, text="u"))[2]
    assert both == f"{told}, with another text and seed."


def test_of_perplexities_the_lower_is_better():
    loss = {"step": 1, "pairs": 2, "dev_loss": 3.0, "fingerprint": "a"}
    told = first_lines(manifest(None), manifest(None, training=loss))[2]
    assert told == "Perplexity is 12.7 lower (better) than in the last run of this name (20.1)."


def test_words_are_explained_where_they_stand():
    page = report([evaluated(9, 2.0)])
    explained = page.of("section", "dt")
    assert {"loss", "perplexity", "bleu"} <= set(explained)
    assert any("averaged over the tokens" in text for text in page.of("section", "dd"))


def test_a_classifier_has_a_loss_per_example_and_no_perplexity():
    labels = {
        "name": "a-run", "task": "classification",
        "data": {"source_lang": "en", "train": [{"file": "t.tsv"}], "dev": [{"rows": 1}]},
    }  # fmt: skip
    scores = {"accuracy": {"score": 80.0, "signature": SIGNATURE}}
    events = [evaluated(9, 2.0, scores=scores)]
    page = Page(training_page(Config.model_validate(labels), "", events, None))
    assert {"loss", "accuracy"} <= set(page.of("section", "dt"))
    assert "perplexity" not in page.of("section", "dt")
    assert any("averaged over the examples" in text for text in page.of("section", "dd"))
    assert "perplexity" not in page.of("thead", "th")


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


def test_no_drawing_library_is_imported_before_a_report_is_drawn():
    code = (
        "import sys, nmt_cli.report.training_page; "
        "print({'matplotlib', 'rich', 'PIL', 'tensorflow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
