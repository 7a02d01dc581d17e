"""The page of `nmt translate --html` in Chromium: read, edited, saved, and learnt from."""

import json
from pathlib import Path

import pytest
from browser import faults_on, needs_browser

from nmt_cli.config.schema import Config
from nmt_cli.text.corpus import Corpora

pytestmark = needs_browser
playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
HOSTILE = "<script>document.title = 'owned'</script> & {rows}"


@pytest.fixture(scope="module")
def files(run_nmt, toy_bundle, tmp_path_factory) -> Path:
    """A page of lines, with all that it can tell, and one of a document."""
    folder = tmp_path_factory.mktemp("review")
    (folder / "in.txt").write_text(
        f"red cat\n{HOSTILE}\nbig dog eats {{x}}\nold cat\n12 old bird\n"
    )
    (folder / "in.md").write_text("# red *cat*\n\nbig `dog` eats\n")
    (folder / "m.tsv").write_text("old cat\tKatze, alt\nbig dog eats {y}\tnah\n")
    (folder / "terms.tsv").write_text("bird\tvogel\n")
    with_all = ("--memory", "m.tsv", "--glossary", "terms.tsv", "--protect", "numbers")
    for arguments in (
        ("-i", "in.txt", "-o", "out.txt", "--html", "lines.html", *with_all),
        ("in.md", "-o", "out.md", "--html", "document.html"),
    ):
        done = run_nmt("translate", "-m", str(toy_bundle), *arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "the page to review is in " in done.stderr
    return folder


@pytest.fixture
def page(chromium):
    """A page, whose errors and requests to elsewhere fail the test."""
    page, problems, asked = chromium.new_page(), [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    page.close()
    assert problems == []
    assert all(url.startswith(("file:", "blob:")) for url in asked)


def test_what_a_line_shows(page, files):
    page.goto((files / "lines.html").as_uri())
    expect(page).to_have_title("Review of in.txt")
    rows = page.locator("#texts > li")
    assert rows.locator(".source").all_text_contents()[1] == HOSTILE
    outputs = (files / "out.txt").read_text().splitlines()
    assert rows.locator(".target").all_text_contents() == outputs
    notes = rows.locator(".notes").all_text_contents()
    assert notes[0].endswith(" %")
    assert "kept: {x}" in notes[2]
    assert "%: big dog eats {y} → nah" in notes[2]
    assert notes[3] == "from the memory"
    assert "kept: 12" in notes[4]
    assert "term: bird → vogel" in notes[4]


def test_only_unsure_ones(page, files):
    page.goto((files / "lines.html").as_uri())
    page.get_by_label("Only unsure ones").check()
    expect(page.get_by_label("Translation 1", exact=True)).to_be_hidden()
    expect(page.get_by_label("Translation 5", exact=True)).to_be_visible()
    expect(page.get_by_label("Translation 4", exact=True)).to_be_hidden()


@pytest.mark.parametrize("name", ["lines.html", "document.html"])
def test_edits_are_saved_and_learnt(page, files, name):
    page.goto((files / name).as_uri())
    save = page.get_by_role("button", name="Save edits")
    expect(save).to_be_disabled()
    source = page.locator(".source").first.text_content()
    page.get_by_label("Translation 1", exact=True).fill("eine «rote» Katze")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Translation 2", exact=True)).to_be_focused()
    page.keyboard.type("x")
    page.keyboard.press("Backspace")  # as it was
    expect(page.get_by_role("status")).to_have_text("1 edited")
    with page.expect_download() as waiting:
        page.keyboard.press("Control+s")
    expect(page.get_by_role("status")).to_have_text("1 saved as edits.jsonl")
    waiting.value.save_as(files / "edits.jsonl")
    saved = (files / "edits.jsonl").read_text(encoding="utf-8")
    assert json.loads(saved) == {"source": "red cat", "target": "eine «rote» Katze"}
    assert source == "red cat"
    corpus = [{"file": "edits.jsonl", "columns": ["source", "target"]}]
    config = Config.model_validate({"name": "x", "data": {"train": corpus, "dev": corpus}})
    (example,) = Corpora(config, files).iter_split("train")
    assert (example.source, example.target) == (("red cat",), "eine «rote» Katze")


def test_it_fits_and_can_be_read(screen, files):
    screen.goto((files / "lines.html").as_uri())
    assert [*faults_on(screen)] == []
