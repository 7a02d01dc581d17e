"""Marks of a text: where they stand in a translation, whatever the model made of their words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.documents.html import Page
from nmt_cli.documents.inline import Alignment, Builder, Inline, Mark
from nmt_cli.documents.protected import protected, protector
from nmt_cli.documents.subtitles import Page as SubtitlesPage


def _mark(text, words, before="<b>", after="</b>", *, is_kept=False):
    start = text.index(words)
    return Mark(start, start + len(words), before, after, is_kept)


def _kept(text, words):
    return _mark(text, words, "", "", is_kept=True)


@pytest.mark.parametrize(
    ("text", "marked", "output", "pairs", "expected"),
    [
        ("a small dog", "small", "ein kleiner Hund", "0-0 1-1 2-2", "ein <b>kleiner</b> Hund"),
        # words that change places
        ("a red car", "red", "une voiture rouge", "0-0 2-1 1-2", "une voiture <b>rouge</b>"),
        # punctuation that is not the mark's stays outside, and what is the mark's inside
        ("(see docs).", "docs", "(siehe Doku).", "0-0 1-1", "(siehe <b>Doku</b>)."),
        ("see (docs).", "(docs)", "siehe (Doku).", "0-0 1-1", "siehe <b>(Doku)</b>."),
        # of words that the model took apart, those that stand together
        ("we have seen it", "have seen", "wir sahen es , haben", "0-0 1-4 2-1 3-2", None),
        # a word that the output has nothing for: behind the words before it
        ("it is so", "is", "so es", "0-1 2-0", "so es<b></b>"),
    ],
)
def test_markup_follows_its_words(text, marked, output, pairs, expected):
    pairs = [tuple(map(int, pair.split("-"))) for pair in pairs.split()]
    filled = Inline(text, [_mark(text, marked)]).filled(output, Alignment(pairs))
    assert re.sub("</?b>", "", filled.text) == output
    assert expected in (None, filled.text)
    assert (filled.text.count("<b>"), filled.text.count("</b>")) == (1, 1)


def test_markup_goes_to_the_word_that_looks_at_it_most_where_none_was_made_of_it():
    inline = Inline("it is so", [_mark("it is so", "is")])
    filled = inline.filled("so es", Alignment([(0, 1), (2, 0)], {0: 1, 1: 1, 2: 0}))
    assert (filled.text, filled.guessed) == ("so <b>es</b>", [])


def test_words_that_stay_are_there_once_whatever_the_model_wrote():
    text = "Hello {name}, you have %d messages at https://x.org/a."
    marks = [_kept(text, words) for words in ("{name}", "%d", "https://x.org/a")]
    pairs = [(0, 0), (1, 1), (2, 2), (3, 3), (5, 4), (6, 5), (7, 6)]
    filled = Inline(text, marks).filled("Hallo {Name}, du hast Briefe auf xorg.", Alignment(pairs))
    assert filled.text == "Hallo {name}, du hast %d Briefe auf https://x.org/a."
    assert filled.guessed == ["%d"]


@pytest.mark.parametrize(
    ("text", "kept", "output", "expected"),
    [
        ("{n}dogs run", "{n}", "Hunde laufen", "{n} Hunde laufen"),
        ("the dogs{n} run", "{n}", "die Hunde laufen", "die Hunde {n} laufen"),
        ("see v{x y}a now", "{x y}", "sieh Version an jetzt", "sieh Version an {x y} jetzt"),
        ("is it ({n})?", "{n}", "ist es (Zahl)?", "ist es ({n})?"),  # no letters beside it
    ],
)
def test_words_in_a_word_take_no_place_of_it(text, kept, output, expected):
    pairs = [(word, word) for word in range(len(text.split()))]
    assert Inline(text, [_kept(text, kept)]).filled(output, Alignment(pairs)).text == expected


def test_the_same_words_twice_are_there_twice():
    text = "%s and %s"
    marks = [Mark(0, 2, is_kept=True), Mark(7, 9, is_kept=True)]
    filled = Inline(text, marks).filled("%s und", Alignment([(0, 0), (1, 1)]))
    assert filled.text.split() == ["%s", "und", "%s"]


def test_marks_in_marks_stay_in_them():
    text = "one two three four"
    outer, inner = _mark(text, "one two three", "<a>", "</a>"), Mark(4, 7, "<b>", "</b>", depth=1)
    filled = Inline(text, [outer, inner]).filled(
        "vier zwei drei eins", Alignment([(3, 0), (1, 1), (2, 2), (0, 3)])
    )
    assert filled.text == "vier <a><b>zwei</b> drei eins</a>"


def test_what_is_no_text_is_escaped_and_markup_is_not():
    text = "a < b"
    inline = Inline(text, [Mark(0, 1, "<i>", "</i>")], lambda t: t.replace("<", "&lt;"))
    assert inline.unchanged().text == "<i>a</i> &lt; b"


@st.composite
def _built(draw):
    """A text with marks, and what it is written as."""
    made, written, names = Builder(), "", []
    for _ in range(draw(st.integers(0, 8))):
        match draw(st.integers(0, 4)):
            case 0:
                word = draw(st.text("abc", min_size=1, max_size=3)) + " "
                made.text += word
                written += word
            case 1:
                names.append("b")
                made.open("b", "<b>")
                written += "<b>"
            case 2 if names:
                names.pop()
                made.close("b", "</b>")
                written += "</b>"
            case 3:
                made.point("<br/>")
                written += "<br/>"
            case 4:
                made.keep("{x}", "`{x}`")
                made.text += " "
                written += "`{x}` "
    return made.inline(), written


@given(_built())
def test_a_text_that_does_not_change_is_as_it_was(built):
    inline, written = built
    tags = re.compile(r"<[^>]*>")
    assert tags.sub("", inline.unchanged().text) == tags.sub("", written)
    assert sorted(tags.findall(inline.unchanged().text)) == sorted(tags.findall(written))


@given(
    st.text("ab {}%s", max_size=30),
    st.text("xy {}%s", max_size=30),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12),
)
def test_nothing_is_lost_in_any_output(text, output, pairs):
    inline = protected(text, protector())
    filled = inline.filled(output, Alignment(pairs))
    for mark in inline.marks:
        words = text[mark.start : mark.end]
        assert filled.text.count(words) >= sum(text[m.start : m.end] == words for m in inline.marks)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://x.org/a?b=1, or a.b@c.org.", ["https://x.org/a?b=1", "a.b@c.org"]),
        ("%s of %(n)d, %1$s, 100% sure", ["%s", "%(n)d", "%1$s"]),
        ("{name} ${home} {{ x }} {0}", ["{name}", "${home}", "{{ x }}", "{0}"]),
        ("use ``x = 1`` or :ref:`that <y>`", ["``x = 1``", ":ref:`that <y>`"]),
        ("a <word> &amp; more", ["<word>", "&amp;"]),
        ("no word stays", []),
        ("ACME-12 too", ["ACME-12"]),
    ],
)
def test_words_of_programs_are_found(text, found):
    inline = protected(text, protector([r"[A-Z]+-\d+"]))
    assert [text[mark.start : mark.end] for mark in inline.marks] == found


@pytest.mark.parametrize(
    ("text", "mark", "output", "expected"),
    [
        ("a note1.", (6, 7), "eine Fußnote1.", "eine Fußnote<1>."),  # a part of a word
        ("a note1.", (6, 7), "eine Fußnote.", "eine Fußnote.<>"),  # the model lost it
        ("big words.", (9, 10), "große Wörter.", "große Wörter<.>"),
        ("big words.", (9, 10), "große Wörter!", "große Wörter!<>"),
        ("an unseen word", (5, 9), "ein ungesehenes Wort", "ein <ungesehenes> Wort"),
    ],
)
def test_a_mark_of_a_part_of_a_word(text, mark, output, expected):
    inline = Inline(text, [Mark(*mark, "<", ">")])
    pairs = [(word, word) for word in range(len(text.split()))]
    assert inline.filled(output, Alignment(pairs)).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "<b>" * 5000 + "x" + "</b>" * 5000,
        "<b>x</b> " * 20_000,
        "<b>x " * 20_000,
        "x<br> " * 20_000,
        "<code>x</code> y " * 20_000,
        "<code></code>" * 20_000 + "x",
    ],
)
@pytest.mark.timeout(60)  # anything that looks at all marks for each mark takes minutes
def test_many_marks_are_placed_in_one_pass(text):
    page = Page(text)
    assert page.filled([inline.unchanged().text for inline in page.texts]) == text


@pytest.mark.parametrize("text", [":a" * 150_000, "a." * 150_000, "%" + "0" * 300_000])
@pytest.mark.timeout(60)
def test_what_stays_is_found_in_one_pass(text):
    assert protected(text, protector()).text == text


@pytest.mark.timeout(60)
def test_subtitles_without_blank_lines_are_read_in_one_pass():
    text = "1\n-->\n" * 60_000
    page = SubtitlesPage(text)
    assert page.filled([inline.text for inline in page.texts]) == text


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("The formula <img/> is known", "Die Formel ist bekannt", "Die Formel <img/> ist bekannt"),
        ("The note<img/> is known", "Die Formel ist bekannt", "Die Formel<img/> ist bekannt"),
        ("a <img/> <img> b", "c d", "c <img/> <img> d"),
    ],
)
def test_what_stands_alone_keeps_its_distance(source, output, expected):
    (text,) = Page(source).texts
    pairs = [(word, min(word, 3)) for word in range(len(text.text.split()))]
    assert text.filled(output, Alignment(pairs)).text == expected
