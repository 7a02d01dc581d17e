"""`nmt translate` of documents as a process, with a model that translates without fault."""

import os
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


@pytest.fixture
def tree(folder):
    """A folder of documents with others in it, something else, and what cannot be read."""
    for name, text in (
        ("deep/er/c.md", MARKDOWN), ("deep/d.txt", "red cat\n\nbird\n"), (".git/e.md", "dog"),
        ("f.css", "p {}"), ("bad.po", "msgid"),
    ):  # fmt: skip
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_text(text)
    return folder


def _written(folder):
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def test_a_folder_with_folders_in_it(run_nmt, toy_bundle, tree):
    done = _translate(run_nmt, toy_bundle, tree, "-i", "in", "-o", "in/out")
    assert done.returncode == 3
    told = done.stderr.splitlines()
    assert told[0] == "warning: in: left out, no documents: f.css"
    assert told[3].startswith("error: in/bad.po: cannot be read as .po: ")
    assert told[-1] == "error: 1 of 5 documents could not be translated"
    made = ["a.html", "b.md", "deep/d.txt", "deep/er/c.md"]
    assert _written(tree / "in" / "out") == made
    assert (tree / "in" / "out" / "deep" / "d.txt").read_text() == "rot katze\n\nvogel\n"


def test_a_folder_is_continued(run_nmt, toy_bundle, tree):
    (tree / "in" / "bad.po").unlink()
    (tree / "terms.tsv").write_text("dog\tvogel\n")
    arguments = ("-i", "in/", "-o", "out/", "--glossary", "terms.tsv")
    assert _translate(run_nmt, toy_bundle, tree, *arguments).returncode == 0
    (tree / "out" / "b.md").unlink()
    later = (tree / "out" / "a.html").stat().st_mtime + 9
    os.utime(tree / "in" / "a.html", (later, later))
    done = _translate(run_nmt, toy_bundle, tree, *arguments)
    assert (done.returncode, done.stderr.count("wrote ")) == (0, 2)
    assert "\n2 documents not translated again: newer than the original" in done.stderr
    os.utime(tree / "in" / "a.html", (1, 1))
    os.utime(tree / "terms.tsv", (later + 9, later + 9))
    done = _translate(run_nmt, toy_bundle, tree, *arguments)
    assert (done.returncode, done.stderr.count("wrote ")) == (0, 4)


def test_a_text_before_its_translation(run_nmt, toy_bundle, folder):
    (folder / "s.srt").write_text(
        "1\n00:00:01,000 --> 00:00:02,000\n<i>red cat</i>\nsees\n\n"
        "2\n00:00:02,000 --> 00:00:03,000\nbird.\n"
    )
    (folder / "t.md").write_text("# red *cat*\n\nbig\ndog\n\n`x` 12\n")
    (folder / "u.html").write_text("<p>red <b>cat</b><p>12")
    for name, wanted in (
        ("c.txt", "big dog\tdick hund\n"),
        ("t.md", "# red *cat*<br>rot *katze*\n\nbig dog<br>dick hund\n\n`x` 12\n"),
        ("u.html", "<p>red <b>cat</b><br/>rot <b>katze</b><p>12"),
    ):
        done = _translate(run_nmt, toy_bundle, folder, "-i", name, "-o", "out", "--bilingual")
        assert done.returncode == 0, done.stderr
        assert (folder / "out").read_text() == wanted
    arguments = ("-i", "s.srt", "-o", "out.srt", "--bilingual")
    assert _translate(run_nmt, toy_bundle, folder, *arguments).returncode == 0
    made = (folder / "out.srt").read_text().splitlines()
    assert made[2:4] == ["<i>red cat</i>", "sees"]
    assert " ".join(made[4:6]).startswith("<i>rot katze</i>")  # where the line breaks may differ
    assert (made[-3], made[-2]) == ("00:00:02,000 --> 00:00:03,000", "bird.")


def test_a_pdf_file_becomes_another_kind(run_nmt, toy_bundle, folder):
    done = _translate(run_nmt, toy_bundle, folder, "e.pdf", "-o", "e.md")
    assert (folder / "e.md").read_text() == "# dick hund\n\nrot katze\n\nrot katze\n", done.stderr
    done = _translate(run_nmt, toy_bundle, folder, "-i", "e.*f", "-o", "out/")
    assert done.stderr.endswith("wrote out/e.docx: 3 texts\n")


@pytest.mark.parametrize("files", ["in", "in/*"])
def test_a_pdf_file_does_not_take_the_place_of_a_word_document(run_nmt, toy_bundle, folder, files):
    (folder / "in" / "e.docx").write_bytes(b"")
    (folder / "e.pdf").rename(folder / "in" / "e.pdf")
    done = _translate(run_nmt, toy_bundle, folder, "-i", files, "-o", "out/")
    told = ": several inputs are called e.docx there: in/e.docx, in/e.pdf\n"
    assert (done.returncode, told in done.stderr) == (2, True)
    assert not (folder / "out").exists()


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
        (("in/c.md", "-o", "x.md"), 3, "in/c.md: no such file"),
        (("in/c.doc", "-o", "x.doc"), 3, "in/c.doc: no such file"),
        (("in/a.html", "in/b.md", "-o", "x/"), 2,
         "in/a.html, in/b.md: name one document, or several by a pattern"),
        (("in/b.md", "-o", "x.txt"), 2, "x.txt: the format does not change; name it *.md"),
        (("-i", "a.doc", "-o", "x.doc"), 3, "a.doc: .doc files are not read"),
        (("in/b.md", "-o", "in/b.md"), 2, "in/b.md: the output is the input"),
        (("in/b.md", "-o", "x", "--protect", "("), 2, "a pattern of words to protect: "),
        (("-i", "in/b.md", "-o", "x", "--json", "--shard", "1/2"), 2,
         "--json, --shard: no effect on in/b.md, which is a document"),
        (("-i", "c.txt", "-o", "x", "--all"), 2, "--all: no effect on lines of text"),
        (("-i", "in/b.md", "-o", "x", "--from-format", "doc"), 2, "--from-format must be"),
        (("in/b.md", "-o", "x.docx"), 2, "x.docx: the format does not change; name it *.md"),
        (("e.pdf", "-o", "x.pdf"), 2, "translation of a PDF file is named .docx or .md"),
        (("-i", "in", "-o", "in"), 2, "in is a folder: name another folder to write with --output"),
        (("-i", "in"), 2, "in is a folder: name another folder to write with --output"),
        (("-i", "in", "-o", "x", "--html", "y"), 2, "--html shows one document; in is a folder"),
        (("-i", "in", "-o", "x", "--json"), 2, "--json: no effect on in, which is a folder"),
        (("-i", "in/b.md", "-o", "x", "--from-format", "word", "--bilingual"), 2,
         "in/b.md: cannot have both languages; html, markdown, subtitles, lines can"),
        (("-i", "c.txt", "-o", "x", "--json", "--bilingual"), 2,
         "--json: no effect with --bilingual"),
        (("-i", "c.txt", "-o", "x", "--shard", "1/2", "--html", "y"), 2,
         "--shard: no effect with --html"),
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
    line = "red <b>cat</b> X-3"
    done = _translate(run_nmt, toy_bundle, folder, line, "--protect", r"X-\d+", "--json")
    assert f'"source": "{line}"' in done.stdout
    assert re.search(r'"text": "[^"]*<b>katze</b>', done.stdout), done.stdout
