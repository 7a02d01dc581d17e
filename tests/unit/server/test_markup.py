"""Tests of nmt_cli/server/markup.py: tags stay, whatever the text is."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.server.markup import lines, parse


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("<p>Hello <b>you</b> &amp; me</p>", ["Hello", "you", "& me"]),
        ("a < b and c > d", ["a < b and c > d"]),
        ('<a title="x > y">z</a>', ["z"]),
        ("<script>var x = '<p>';</script>Hi<style>p {}</style>", ["Hi"]),
        ("<!-- no --><?php no ?><![CDATA[no]]><!doctype html>yes", ["yes"]),
        ("<code>x = 1</code> is code", ["is code"]),
        ("İ<SCRIPT>no</Script>x", ["İ", "x"]),
        ("<!-- not closed", []),
        ("<p>\n  A long\n  line, 5\u00a0m.\n</p>", ["A long line, 5\u00a0m."]),
        ("  \n ", []),
        ("<b>" + "&#" + 5000 * "9" + ";</b>", ["&#" + 5000 * "9" + ";"]),
    ],
)
def test_texts_between_tags(text, texts):
    assert parse(text).texts == texts


TAGS = st.sampled_from(
    ["<b>", "</b>", "<br/>", '<a href="x">', "<!-- c -->", "<", ">", "&lt;", "&"]
)


@given(st.lists(st.one_of(TAGS, st.text(max_size=8)), max_size=12))
def test_filled_with_its_own_texts_it_shows_the_same(parts):
    text = "".join(parts)
    marked = parse(text)
    assert len(marked.frame) == len(marked.texts) + 1
    again = parse(marked.filled(marked.texts))
    assert again.texts == [html.unescape(html.escape(t, quote=False)).strip() for t in marked.texts]
    assert again.frame == marked.frame


@pytest.mark.parametrize("text", ["<a ", "<script>", "<!--", "<a \"'", '<a x="', "<![CDATA["])
def test_markup_that_is_never_closed_is_read_in_one_pass(text):
    marked = parse(text * 500_000)  # anything but one pass would take hours
    assert len(marked.texts) <= 1


@given(st.text(st.sampled_from("ab \t\r\n\u2028\x85"), max_size=30))
def test_lines_end_where_lines_of_files_do(text):
    found = lines(text)
    assert found.filled(found.texts) == text
    assert found.texts == [line.strip() for line in text.split("\n") if line.strip()]


def test_a_line_with_much_space_is_read_in_one_pass():
    assert lines("a" + " " * 1_000_000).texts == ["a"]
