"""`nmt translate` of documents as a process, with a model that translates without fault."""

import re

import pytest
from pdf_files import pdf

PAGE = """<html><body><h1>dog <b>big</b> cat</h1>
<p>cat sees <i>bird</i> and &amp; eats</p></body></html>
"""
MARKDOWN = "# dog *big* cat\n\n- cat sees `code`\n- bird\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text(PAGE)
    (tmp_path / "in" / "b.md").write_text(MARKDOWN)
    (tmp_path / "c.txt").write_text("big dog\n")
    lines = [(60, 700, 20, "big dog"), (60, 600, 10, "red cat"), (60, 500, 10, "red cat")]
    (tmp_path / "e.pdf").write_bytes(pdf([lines]))
    return tmp_path


def _translate(run_nmt, bundle, folder, *arguments):
    return run_nmt("translate", "-m", str(bundle), *arguments, cwd=folder)


def test_a_document_is_named_like_a_sentence(run_nmt, toy_bundle, folder):
    done = _translate(run_nmt, toy_bundle, folder, "in/b.md", "-o", "out.md")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.endswith("wrote out.md: 3 texts\n")
    made = (folder / "out.md").read_text()
    assert re.sub(r"[a-z]+", "w", made) == re.sub(r"[a-z]+", "w", MARKDOWN)
    assert {"dick", "hund", "code"} <= set(re.findall("[a-z]+", made))


def test_a_folder_of_documents(run_nmt, toy_bundle, folder):
    done = _translate(run_nmt, toy_bundle, folder, "-i", "in/*", "-o", "out/")
    assert done.returncode == 0, done.stderr
    made = (folder / "out" / "a.html").read_text()
    assert re.findall(r"<[^>]*>", made) == re.findall(r"<[^>]*>", PAGE)
    assert "<b>dick</b>" in made
    assert (folder / "out" / "b.md").exists()
    (folder / "d.md").write_text(MARKDOWN)
    done = _translate(run_nmt, toy_bundle, folder, "-i", "[cd].*", "-o", "out/")
    assert (done.returncode, "some are documents, some are not" in done.stderr) == (2, True)


def test_a_pdf_file_becomes_another_kind(run_nmt, toy_bundle, folder):
    done = _translate(run_nmt, toy_bundle, folder, "e.pdf", "-o", "e.md")
    assert (folder / "e.md").read_text() == "# dick hund\n\nrot katze\n\nrot katze\n", done.stderr
    done = _translate(run_nmt, toy_bundle, folder, "-i", "e.*f", "-o", "out/")
    assert done.stderr.endswith("wrote out/e.docx: 3 texts\n")


def test_the_kind_can_be_said(run_nmt, toy_bundle, folder):
    as_lines = ("-i", "in/b.md", "--from-format", "lines", "-o", "out")
    assert _translate(run_nmt, toy_bundle, folder, *as_lines).returncode == 0
    assert (folder / "out").read_text().count("\n") == MARKDOWN.count("\n")
    as_document = ("-i", "c.txt", "--from-format", "markdown", "-o", "out.md")
    assert _translate(run_nmt, toy_bundle, folder, *as_document).returncode == 0
    assert "dick" in (folder / "out.md").read_text()


def test_own_patterns_stay(run_nmt, toy_bundle, folder):
    (folder / "a.po").write_text('msgid "big dog X-12"\nmsgstr ""\n')
    options = ("a.po", "--protect", r"X-\d+", "-o", "b.po")
    assert _translate(run_nmt, toy_bundle, folder, *options).returncode == 0
    assert (folder / "b.po").read_text().count("X-12") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("in/b.md",), 2, "in/b.md is a document: name the file to write with --output"),
        (("in/b.md", "-o", "in/b.md"), 2, "in/b.md: the output is the input"),
        (("in/b.md", "-o", "x", "--protect", "("), 2, "a pattern of words to protect: "),
        (("-i", "in/b.md", "-o", "x", "--json", "--shard", "1/2"), 2,
         "--json, --shard: no effect on in/b.md, which is a document"),
        (("-i", "c.txt", "-o", "x", "--all"), 2, "--all: no effect on lines of text"),
        (("-i", "in/b.md", "-o", "x", "--from-format", "doc"), 2, "--from-format must be"),
        (("e.pdf", "-o", "x.pdf"), 2, "translation of a PDF file is named .docx or .md"),
        (("-i", "no.md", "-o", "x"), 3, "no.md: cannot be read: No such file"),
        (("-i", "in/b.md", "-o", "x", "--from-format", "word"), 3, "is not a Word document"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told(run_nmt, toy_bundle, folder, arguments, code, told):
    done = _translate(run_nmt, toy_bundle, folder, *arguments)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert not (folder / "x").exists()
    assert (folder / "in" / "b.md").read_text() == MARKDOWN


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
def test_words_of_lines_stay_too(run_nmt, toy_bundle, folder, engine):
    lines = ("big dog 12 {name} X-3", "", "%s", "red cat")
    (folder / "d.txt").write_text("\n".join(lines) + "\n")
    options = ("-i", "d.txt", "--engine", engine, "--protect", r"X-\d+", "--protect", "numbers")
    done = _translate(run_nmt, toy_bundle, folder, *options)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.split("\n")
    assert [first.count(one) for one in ("12", "{name}", "X-3")] == [1, 1, 1]
    assert others == ["", "%s", "rot katze", ""]
    done = _translate(run_nmt, toy_bundle, folder, "red cat", "--protect", "auto", "--align")
    assert (done.returncode, "--align: no effect with --protect" in done.stderr) == (2, True)
    done = _translate(run_nmt, toy_bundle, folder, "red cat", "--protect", "(")
    assert (done.returncode, "a pattern of words to protect: " in done.stderr) == (2, True)
    done = _translate(run_nmt, toy_bundle, folder, "red X-3", "--protect", r"X-\d+", "--json")
    assert '"source": "red X-3"' in done.stdout
