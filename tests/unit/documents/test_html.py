"""HTML and XML in parts: what is translated together, and that the rest stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.documents.html import Page, unescaped


def texts_of(page: str, **options: bool) -> list[str]:
    return [inline.text for inline in Page(page, **options).texts]


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<p>Hello <b>you</b> &amp; me</p>", ["Hello you & me"]),
        ("<h1>One</h1>two<p>three", ["One", "two", "three"]),
        ("a < b and c > d", ["a < b and c > d"]),
        ('<a title="x > y">z</a>', ["z", "x > y"]),
        ("<script>var x = '<p>';</script>Hi<style>p {}</style>", ["Hi"]),
        ("<!-- no --><?php no ?><![CDATA[no]]><!doctype html>yes", ["yes"]),
        ("<code>x = 1</code> is code", ["x = 1 is code"]),
        ('a <code class="x"><span>b</span>()</code> c', ["a b() c"]),
        ("<kbd><kbd>Ctrl</kbd>+<kbd>C</kbd></kbd> copies", ["Ctrl+C copies"]),
        ("if <math><mi>x</mi><mo>=</mo><mn>2</mn></math> holds", ["if x=2 holds"]),
        ("you have <?= $count ?> or <% n > 1 %> dogs", ["you have  or  dogs"]),
        (
            '<div translate="no"><div>no</div>no</div>a <span class="x notranslate">B</span>',
            ["a B"],
        ),
        ('<p translate="no">no', ["no"]),  # never ends
        (
            '<img alt="a &amp; b" src="no"><input type="submit" value=\'c\'><input value="no">'
            '<meta name="description" content="d"><meta name="x" content="no"><p title=no>e',
            ["e", "a & b", "c", "d"],
        ),
        ('<p translate="no" title="no">no</p><img translate="no" alt="no">', []),
        ("İ<SCRIPT>no</Script>x", ["İ", "x"]),
        ("<!-- not closed", []),
        ("<p>\n  A long\n  line, 5\u00a0m.\n</p>", ["A long line, 5\u00a0m."]),
        ("  \n ", []),
        ("<b>" + "&#" + 5000 * "9" + ";</b>", ["&#" + 5000 * "9" + ";"]),
    ],
)
def test_texts_of_html(page, texts):
    assert texts_of(page) == texts


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("Press <x>F1</x> to get <n:y id='1'/> help", ["Press F1 to get  help"]),
        ("<doc><title>One</title>\n<p>two <x>three</x></p></doc>", ["One", "two three"]),
        ("<p>one</p><p>two</p>", ["one", "two"]),
        ("<a>one <b>two</a> three</b>", ["one two three"]),
        ("</a>one</b>", ["one"]),
    ],
)
def test_tags_of_xml_beside_text_are_in_a_sentence(page, texts):
    assert texts_of(page, is_xml=True) == texts


@pytest.mark.parametrize("page", ["<p><img> a <b>b</b> c</p>", "<li><br> a<li>b <img> </li>"])
def test_space_beside_pictures_stays(page):
    assert Page(page).filled([text.unchanged().text for text in Page(page).texts]) == page


def test_what_has_to_stay_stays():
    page = (
        'The <b translate="no">Red Dog</b> and <code><a href="#">bark</a>()</code> run'
        '<sup><a href="#2">[2]</a></sup> on <sup>up</sup>.'
    )
    (text,) = Page(page).texts
    assert [text.text[mark.start : mark.end] for mark in text.marks if mark.is_kept] == [
        "Red Dog",
        "bark()",
        "[2]",
    ]
    assert Page(page).filled([text.unchanged().text]) == page


@pytest.mark.parametrize("is_xml", [False, True])
def test_references_that_only_the_file_knows_stay(is_xml):
    page = "<p>one &foo; <b>two&a.b-c;</b> &amp;foo; &lt; three</p>"
    (text,) = Page(page, is_xml=is_xml).texts
    assert text.text == "one &foo; two&a.b-c; &foo; < three"
    assert Page(page, is_xml=is_xml).filled([text.unchanged().text]) == page


def test_attributes_are_written_where_they_were():
    page = Page("<img alt='one' title=\"1\"> two <a title='three'>four</a>")
    assert [text.text for text in page.texts] == [" two four", "one", "three"]
    texts = [text.unchanged().text + "<br/>" + text.escape("<'x'>") for text in page.texts]
    attribute = "&lt;&#x27;x&#x27;&gt;"
    assert page.filled(texts) == (
        f"<img alt='{attribute}' title=\"1\"> two <a title='{attribute}'>four</a><br/>&lt;'x'&gt;"
    )


def test_two_languages_in_what_has_no_tags():
    page = Page("<title>one</title><p>two")
    filled = page.filled(["one<br/>eins", "two<br/>zwei"])
    assert filled == "<title>one / eins</title><p>two<br/>zwei"


TAGS = st.sampled_from(
    [
        "<b>",
        "</b>",
        "<br/>",
        "<p>",
        '<a href="x">',
        "<!-- c -->",
        "<",
        ">",
        "&lt;",
        "&",
        "<code>",
        "</code>",
        '<i translate="no">',
        "</i>",
        '<img alt="one">',
    ]
)


@given(st.lists(st.one_of(TAGS, st.text(max_size=8)), max_size=12), st.booleans())
def test_nothing_is_lost(parts, is_xml):
    page = Page("".join(parts), is_xml=is_xml)
    filled = page.filled([inline.unchanged().text for inline in page.texts])
    before, after = (unescaped(text).split() for text in ("".join(parts), filled))
    assert sorted("".join(before)) == sorted("".join(after))  # a tag in a word is put behind it


@pytest.mark.parametrize(
    "text", ["<a ", "<script>", "<!--", "<a \"'", '<a x="', "<![CDATA[", "<code>", "<%"]
)
def test_markup_that_is_never_closed_is_read_in_one_pass(text):
    assert len(Page(text * 100_000).texts) <= 1  # anything but one pass would take minutes
