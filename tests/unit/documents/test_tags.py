"""Tags that texts have as words: which they are, that they follow words, that nothing is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.documents.html import Page
from nmt_cli.documents.inline import Alignment, Inline
from nmt_cli.documents.opening import KeepingPage
from nmt_cli.documents.protected import protected, protector
from nmt_cli.documents.tags import keeping

WORDS = protector()
TAG = re.compile("<[^<>]*>")


@pytest.mark.parametrize(
    ("text", "without", "kept"),
    [
        ("A <b>dog</b> runs.", "A dog runs.", []),
        ("<p>A man runs.</p>", "A man runs.", []),
        ("un<b>seen</b> <a href='/?a=1'>link</a>", "unseen link", []),
        ("see <x id='1'/> and <img src='a'>", "see  and ", []),
        ("<b>{name}</b> has %s", "{name} has %s", ["{name}", "%s"]),
        ("see <0>the <1>red</1> dog</0>.<2/>", "see the red dog.", []),
        # the end of a block, and a break, end a word
        ("<h1>One</h1><p>two<br>three</p>four", "One two three four", []),
        ("<li>one <li>two", "one two", []),
        # code stays as in HTML
        ("press <kbd>Enter</kbd> <i translate='no'>x</i>", "press Enter x", ["Enter", "x"]),
        ("if <code>x &lt; <b>1</b></code>", "if x < 1", ["x < 1"]),
        ("<script>a = 'b'</script> runs", "a = 'b' runs", ["a = 'b'"]),
        # no tags
        ("a < b and c>d", "a < b and c>d", []),
        ("I <3 you > me, <5> times", "I <3 you > me, <5> times", ["<5>"]),
        ("open <file> of <user>.", "open <file> of <user>.", ["<file>", "<user>"]),
        ("ask <a@b.org>, <http://b.org/>", "ask <a@b.org>, <http://b.org/>", None),
        ("use `<b>` and `</b>`", "use `<b>` and `</b>`", ["`<b>`", "`</b>`"]),
    ],
)
def test_which_tags_are_markup(text, without, kept):
    inline = protected(text, WORDS)
    assert inline.text == without
    found = [inline.text[mark.start : mark.end] for mark in inline.marks if mark.is_kept]
    assert found == (re.findall("<.*?>", text) if kept is None else kept)
    assert inline.unchanged().text.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("A <b>dog</b> runs.", "Ein Hund läuft.", "Ein <b>Hund</b> läuft."),
        ("<p>A dog runs.</p>", "Ein Hund läuft.", "<p>Ein Hund läuft.</p>"),
        ("A dog.<br>A cat", "Ein Hund. Eine Katze", "Ein Hund.<br> Eine Katze"),
        ("A <i>big <b>dog</b></i> {x}", "Ein großer Hund {x}", "Ein <i>großer <b>Hund</b></i> {x}"),
    ],
)
def test_tags_follow_their_words(text, output, expected):
    pairs = [(word, word) for word in range(len(output.split()))]
    assert protected(text, WORDS).filled(output, Alignment(pairs)).text == expected


def test_what_a_pattern_of_a_person_finds_is_no_tag():
    inline = protected("see <x>a <b>b</b></x> now", protector(["<x>.*?</x>"]))
    assert inline.text == "see <x>a <b>b</b></x> now"
    assert [inline.text[mark.start : mark.end] for mark in inline.marks] == ["<x>a <b>b</b></x>"]


def test_what_one_text_of_a_document_ends_is_a_tag_in_all():
    texts = keeping([Inline("You have <big>"), Inline("# dogs"), Inline("</big>.")], WORDS)
    assert [text.text for text in texts] == ["You have ", "# dogs", "."]


@pytest.mark.parametrize(
    "page",
    [
        "A <i>big &lt;b&gt;dog&lt;/b&gt;</i> &lt;br&gt;",
        "&lt;b&gt;A <i>big&lt;/b&gt; dog</i> runs",
        "A <i>&lt;b&gt;big</i> dog&lt;/b&gt; runs",
        "A <code>&lt;b&gt;</code> &lt;b&gt;<i>dog</i> <img>runs&lt;/b&gt;",
        "A &lt;co<i>de&gt;big&lt;/code&gt; &lt;co</i>de&gt;",
        "A &lt;code&gt;big <i>dog&lt;/code&gt; runs</i>",
    ],
)
def test_tags_beside_the_marks_of_a_page(page):
    kept = KeepingPage(Page(page), WORDS)
    assert kept.filled([text.unchanged().text for text in kept.texts]) == page


_inner = st.sampled_from(["wo", "é.", "(", " ", " ", "<br>", "<img src='a b'/>", "</i>", "<li>"])
_parts = st.recursive(
    _inner,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.tuples(st.sampled_from(["b", "p", "a", "x:y"]), inner).map(
            lambda two: f"<{two[0]}>{two[1]}</{two[0]}>"
        ),
    ),
    max_leaves=12,
)
_pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=10)


@given(_parts, st.text("xy .", max_size=20), _pairs)
def test_no_tag_and_no_word_is_lost_in_any_output(text, output, pairs):
    filled = protected(text, WORDS).filled(output, Alignment(pairs)).text
    assert sorted(TAG.findall(filled)) == sorted(TAG.findall(text))
    assert TAG.sub("", filled).replace(" ", "") == output.replace(" ", "")


@given(_parts)
def test_a_text_that_does_not_change_is_as_it_was(text):
    filled = protected(text, WORDS).unchanged().text
    assert TAG.sub("", filled).replace(" ", "") == TAG.sub("", text).replace(" ", "")
    assert sorted(TAG.findall(filled)) == sorted(TAG.findall(text))


@pytest.mark.parametrize("text", ["<b>x</b> ", "<b>x ", "x<br>", "<a ", "<code>x</code> ", "</b>"])
@pytest.mark.timeout(60)
def test_many_tags_are_read_in_one_pass(text):
    inline = protected(text * 20_000, WORDS)
    assert inline.unchanged().text.replace(" ", "") == (text * 20_000).replace(" ", "")
