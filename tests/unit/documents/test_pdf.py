"""PDF files: the paragraphs that their lines make."""

import io
import re

import docx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pdf_files import laid_out, pdf

from nmt_cli.documents.opening import output_name
from nmt_cli.documents.pdf import Page
from nmt_cli.errors import ConfigError, DataError

LONG = "The old man sits on the bench before the house and reads a book about the sea. " * 3


def _page(tmp_path, pages, ending=".md", **options):
    (tmp_path / "a.pdf").write_bytes(pdf(pages, **options))
    return Page(tmp_path / "a.pdf", ending)


def _texts(page):
    return [text.text for text in page.texts]


def test_paragraphs_headings_and_lists(tmp_path):
    lines = [
        (60, 760, 20, "A title"),
        (60, 720, 14, "A heading"),
        *[(x, y - 60, size, text) for x, y, size, text in laid_out([LONG, LONG])],
        (60, 400, 10, "•"), (80, 400, 10, "one *item*"),
        (60, 388, 10, "• another"),
    ]  # fmt: skip
    page = _page(tmp_path, [lines])
    long = LONG.strip()
    assert _texts(page) == ["A title", "A heading", long, long, "one *item*", "another"]
    made = page.filled(["Titel", "Kapitel", "Text_1", "- 2", "ein *", "zwei"]).decode()
    assert made == "# Titel\n\n## Kapitel\n\nText\\_1\n\n\\- 2\n\n- ein \\*\n- zwei\n"
    page = _page(tmp_path, [lines], ".docx")
    made = docx.Document(io.BytesIO(page.filled([f"{i}" for i in range(6)])))
    assert [(one.style.name, one.text) for one in made.paragraphs] == [
        ("Heading 1", "0"), ("Heading 2", "1"), ("Normal", "2"), ("Normal", "3"),
        ("List Bullet", "4"), ("List Bullet", "5"),
    ]  # fmt: skip


def test_a_divided_word_is_whole_again(tmp_path):
    rows = ["a well-known trans-", "lation of the vor-", "und nach a the well-", "known text"]
    lines = [(60, 700 - 12 * i, 10, row) for i, row in enumerate(rows)]
    assert _texts(_page(tmp_path, [lines])) == [
        "a well-known translation of the vor- und nach a the well-known text"
    ]


def test_columns_are_read_one_after_the_other(tmp_path):
    words = [f"word{i}" for i in range(188)]
    left = laid_out([" ".join(words[:120])], width=36)
    right = laid_out([" ".join(words[120:])], left=320, width=36)
    lines = [(x, y - 30, size, text) for x, y, size, text in left]
    lines = [(60, 740, 12, "The title"), *lines, *right]
    assert _texts(_page(tmp_path, [lines])) == ["The title", " ".join(words)]


def test_a_paragraph_goes_on_in_the_next_column_and_on_the_next_page(tmp_path):
    words = [f"word{i}" for i in range(90)]
    left = laid_out([" ".join(words[:30])], width=30)
    right = laid_out([" ".join(words[30:60])], left=320, width=30)
    below = laid_out([" ".join(words[60:])], width=60)
    edges = [(60, 780, 8, "The book"), (300, 30, 8, "{}")]
    pages = [
        [(x, y, size, text.format(number)) for x, y, size, text in [*lines, *edges]]
        for number, lines in enumerate([[*left, *right], below], start=1)
    ]
    assert _texts(_page(tmp_path, pages)) == [" ".join(words)]


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.lists(
            st.sampled_from(["dog", "sees", "wonderful", "a", "12", "it's", "end.", "end."]),
            min_size=1,
            max_size=40,
        ).map(lambda words: " ".join(["The", *words])),
        min_size=1,
        max_size=5,
    )
)
def test_paragraphs_apart_from_each_other_stay_so(tmp_path, paragraphs):
    paragraphs.append(LONG.strip())  # which says how far lines are from each other
    assert _texts(_page(tmp_path, [laid_out(paragraphs)])) == paragraphs


_PASSWORD = f"/Encrypt<</Filter/Standard/V 1/R 2/P -1/O<{'00' * 32}>/U<{'00' * 32}>>>/ID[<00><00>]"


def test_what_has_no_text_is_told(tmp_path):
    with pytest.raises(DataError, match="has no text, only pictures"):
        _page(tmp_path, [[], [(10, 10, 10, "1")]])
    with pytest.raises(DataError, match="is protected by a password"):
        _page(tmp_path, [[]], trailer=_PASSWORD)
    (tmp_path / "b.pdf").write_bytes(b"no PDF")
    with pytest.raises(DataError, match="cannot be read as PDF: "):
        Page(tmp_path / "b.pdf", ".md")


def test_a_pdf_file_is_written_as_another_kind(tmp_path):
    told = "a.pdf: the translation of a PDF file is named .docx or .md"
    with pytest.raises(ConfigError, match=re.escape(told)):
        _page(tmp_path, [[(60, 700, 10, "text")]], ".pdf")
    assert [output_name(name) for name in ("a.PDF", "a.md")] == ["a.docx", "a.md"]
