"""The report of a run: kept up to date by `nmt train`, never in its way."""

import re
import shutil

import pytest
from html_page import Page

SMALL = ["train.max_steps=20", "train.eval_steps=5", "train.checkpoint_steps=5"]


@pytest.fixture
def follow(toy_corpus, tmp_path, monkeypatch):
    """A function that trains the toy run and shows its report every event, as `nmt train` does."""
    from nmt_cli.config.reading import load_config
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.terminal.training_view import TrainingReport
    from nmt_cli.training.run import prepare

    quiet_tensorflow()
    from nmt_cli.training.loop import train

    (tmp_path / "toy").mkdir()
    for file in toy_corpus.iterdir():
        shutil.copy(file, tmp_path / "toy" / file.name)
    for side in ("en", "de"):
        with (tmp_path / "toy" / f"train.{side}").open("a") as stream:
            stream.write("\n" if side == "en" else "hund\n")
            stream.write("dog " * 60 + "\n" if side == "en" else "hund " * 60 + "\n")
    monkeypatch.chdir(tmp_path)

    def run(should_stop=lambda: False):
        loaded = load_config("toy/toy.yaml", SMALL)
        prepared = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)
        report = TrainingReport(prepared)
        for event in train(prepared, should_stop):
            report.follow(event)
            yield event, report

    return run


def _steps_of_samples(page: Page) -> set[int]:
    """The evaluations that outputs stand beside; the same output may do for several."""
    steps = set()
    for when in page.of("dt"):
        if found := re.match(r"step (\d+)(?: to (\d+))?", when):
            first, last = int(found[1]), int(found[2] or found[1])
            steps |= set(range(first, last + 1, 5))
    return steps


def test_it_is_written_at_each_evaluation_and_goes_on_with_the_run(follow):
    seen: list[int] = []
    for event, report in follow(lambda: len(seen) == 2):
        if type(event).__name__ == "Evaluated":
            page = Page(report.path.read_text())
            seen.append(event.step)
            assert _steps_of_samples(page) == set(seen)
            assert event.samples[0].output in page.of("dd")
    assert seen == [5, 10]
    assert "stopped at step 11" in " ".join(Page(report.path.read_text()).of("body", "p"))
    _, report = list(follow())[-1]
    page = Page(report.path.read_text())
    assert _steps_of_samples(page) >= {5, 10, 15, 20}
    assert "From step 0, step 11 on" in page.of("h3")
    assert "finished at step 20" in " ".join(page.of("body", "p"))
    card = page.of("section", "dd")
    assert "1 pair without text on a side; 1 pair longer than model.max_length (24 tokens)" in card
    cells = page.of("section", "td")
    assert "train.en + train.de" in cells
    assert "1,501" in cells
    assert any(text.startswith("nrefs:1|case:mixed") for text in cells)
    assert "\n  max_steps: 20 " in page.of("pre")[0]


def test_a_report_that_cannot_be_written_is_a_warning(follow, capsys):
    for event, report in follow():
        if type(event).__name__ == "Started":
            report.path.mkdir()
    assert type(event).__name__ == "Finished"
    assert not report.is_written
    said = capsys.readouterr().err.splitlines()
    assert len(said) > 1
    assert all(
        "warning: runs/toy/report.html: cannot be written: Is a directory" in line for line in said
    )


def test_the_terminal_tells_where_it_is(run_nmt, toy_corpus, tmp_path):
    settings = [part for pair in SMALL for part in ("--set", pair)]
    command = ["train", str(toy_corpus / "toy.yaml"), *settings, "--set", f"data.dir={toy_corpus}"]
    done = run_nmt(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the report is in runs/toy/report.html" in done.stderr.splitlines()[-4:]
    assert Page((tmp_path / "runs/toy/report.html").read_text()).of("h1") == ["toy"]
