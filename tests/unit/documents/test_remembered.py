"""Which texts with marks a translation memory has, and that the marks stay those of the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.documents.html import Page as Html
from nmt_cli.documents.inline import HARD_SPACE, Inline
from nmt_cli.documents.markdown import Page as Markdown
from nmt_cli.documents.protected import protected, protector
from nmt_cli.documents.remembered import _cut, _joined, remembered
from nmt_cli.documents.subtitles import Page as Subtitles
from nmt_cli.search.memory import Memory
from nmt_cli.search.tmx import CODE

WORDS = protector()


def _html(text: str) -> Inline:
    return Html(f"<p>{text}</p>").texts[0]


@pytest.mark.parametrize(
    ("text", "source", "target", "plain", "filled"),
    [
        (_html("a &amp; b"), "a & b", "b < a", "b < a", "b &lt; a"),
        (_html("a <b>red</b> car"), "a <b>red</b> car", "ein <b>rotes</b> Auto",
         "ein rotes Auto", "ein <b>rotes</b> Auto"),
        (_html('a <a href="/x">red</a> car'), f"a {CODE}red{CODE} car",
         f"ein {CODE}rotes{CODE} Auto", "ein rotes Auto", 'ein <a href="/x">rotes</a> Auto'),
        (_html("one <img> two<br>three"), f"one {CODE} two{CODE} three",
         f"eins {CODE} zwei {CODE}drei", "eins  zwei drei", "eins <img> zwei <br>drei"),
        (Markdown("see **this** `x`").texts[0], "see **this** `x`", "siehe **dies** `x`!",
         "siehe dies `x`!", "siehe **dies** `x`!"),
        (Subtitles('-->\n<font size="2">red</font> car').texts[0], '<font size="2">red</font> car',
         '<font size="2">rotes</font> Auto', "rotes Auto",
         f'<font{HARD_SPACE}size="2">rotes</font> Auto'),
        (protected(" room %s ", WORDS), "room %s", "Raum %s", " Raum %s ", " Raum %s "),
        (protected("room %s", WORDS), f"room {CODE}", f"Raum {CODE}", "Raum %s", "Raum %s"),
    ],
)  # fmt: skip
def test_the_same_words_with_the_same_marks(text, source, target, plain, filled):
    assert remembered(Memory({source: target}), text) == (plain, filled)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("a red car", "ein rotes Auto"),  # without the mark
        ("a <b>red</b> car", "ein rotes Auto"),  # lost in the translation
        ("a <b>red</b> car", "ein </b>rotes<b> Auto"),  # in another order
        (f"a {CODE}red{CODE} car", f"ein {CODE}rotes Auto"),
        (f"a {CODE}red{CODE} car", f"ein {CODE}rotes{CODE} Auto{CODE}"),
    ],
)
def test_other_marks_are_not_the_same(source, target):
    assert remembered(Memory({source: target}), _html("a <b>red</b> car")) is None


_pieces = st.sampled_from(
    ["<b>", "</b>", "<i>", "</i>", "<br>", "<code>x</code>", "<!-- c -->", " ", "wo", "é.", "&amp;"]
)


@given(st.lists(_pieces, min_size=1, max_size=12).map("".join))
def test_the_marks_of_any_text_are_found(text):
    for inline in Html(f"<p>{text}</p>").texts:
        texts, codes = _cut(inline)
        whole = _joined([*map(inline.escape, texts)], [code.raw for code in codes])
        assert whole == inline.unchanged().text
