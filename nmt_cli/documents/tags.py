"""Tags that a text has as words, such as `<b>` in a text of a program: they follow their words.

A page is read by `html.py`. Here `<` may also be a character, and a tag may stand for a word, as in
`open <file>`: nothing ends it, and it stays as such words do.
"""

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Container, Iterator, Sequence

from nmt_cli.documents.html import BREAK, Markup, add_markup, with_elements
from nmt_cli.documents.inline import Builder, Inline, Node, tree

_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*|\d{1,3})(?:\s[^<>]*)?/?>")
# Elements of HTML that end a word, even without a space; `un<b>seen</b>` is one word.
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt",
    "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr",
    "html", "li", "main", "nav", "ol", "p", "section", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul",
}  # fmt: skip


def keeping(texts: Sequence[Inline], words: re.Pattern[str]) -> list[Inline]:
    """Return texts with marks for tags, and for words that stay.

    Args:
        texts: Those of a document. Where one of them has `</x>`, `<x>` is no word in any of them.
        words: Finds the words that stay, and tags.
    """
    found = [[*_tags(text.text, words)] for text in texts]
    ended = {tag.name for tags in found for tag in tags if tag.is_end}
    return [
        _marked(text, [tag for tag in tags if not _is_word(text.text, tag, ended)]).keeping(words)
        for text, tags in zip(texts, found, strict=True)
    ]


def _tags(text: str, words: re.Pattern[str]) -> Iterator[Markup]:
    """Yield the tags of a text; what stands in other words that stay is a part of these."""
    for found in words.finditer(text) if "<" in text else ():
        if tag := _TAG.fullmatch(found[0]):
            yield Markup(found[0], found.start(), tag["name"].lower(), is_end=bool(tag["slash"]))


def _is_word(text: str, tag: Markup, ended: Container[str]) -> bool:
    """Return whether a tag stands for a word of a sentence, for all that can be seen."""
    has_name_only = tag.raw[1:-1].lower() == tag.name
    around = text[: tag.start][-1:] + text[tag.end :][:1]
    is_markup = tag.is_alone or tag.name in _BLOCKS or tag.name in ended
    return has_name_only and not is_markup and not any(map(str.isalnum, around))


def _marked(text: Inline, tags: Sequence[Markup]) -> Inline:
    """Return a text with marks for tags, but for what its own marks would cut."""
    edges = sorted(edge for mark in text.marks for edge in (mark.start, mark.end))
    whole = [
        tag
        for tag in with_elements(text.text, tags)
        if bisect_right(edges, tag.start) == bisect_left(edges, tag.end)
    ]
    return _Reader(text, whole).result() if whole else text


class _Reader:
    """Reads a text again, with its tags as marks beside those that it has."""

    def __init__(self, text: Inline, tags: Sequence[Markup]) -> None:
        self._text = text
        self._tags = deque(tags)
        self._made = Builder()
        self._at = 0  # what is read
        self._is_apart = False  # another word begins

    def result(self) -> Inline:
        """Return the text without the tags, and all marks."""
        self._read(tree(self._text.marks), len(self._text), "")
        return self._made.inline(self._text.escape)

    def _read(self, nodes: Sequence[Node], end: int, name: str) -> None:
        """Read what a mark of some name has in it; a tag in it ends there, or nowhere."""
        for node in nodes:
            mark = node.mark
            self._add_until(mark.start, name)
            if mark.is_kept:
                self._begin_word()
                self._keep(node)
            elif mark.start == mark.end and not node.inner:
                self._made.point(mark.before + mark.after)
            else:
                self._begin_word()
                inner = f"{name}."
                self._made.open(inner, mark.before, needs_words=mark.needs_words)
                self._read(node.inner, mark.end, inner)
                self._made.close(inner, mark.after)
        self._add_until(end, name)

    def _keep(self, node: Node) -> None:
        """Add words that stay; tags in them do, too."""
        mark = node.mark
        words = self._text.text[mark.start : mark.end]
        raw = mark.raw
        if mark.before or mark.after:
            raw = mark.before + (raw or self._text.escape(words)) + mark.after
        self._made.keep(words, raw)
        self._at = mark.end
        while self._tags and self._tags[0].start < self._at:
            self._tags.popleft()

    def _add_until(self, end: int, name: str) -> None:
        """Add the text up to a character, with its tags."""
        while self._tags and self._tags[0].start < end:
            tag = self._tags.popleft()
            self._add_words(tag.start)
            self._at = tag.end
            is_block = tag.name in _BLOCKS
            self._is_apart |= is_block
            if not tag.is_end:
                self._begin_word()
            add_markup(self._made, tag, self._text.escape(tag.raw), name + tag.name)
            self._is_apart |= is_block or bool(BREAK.match(tag.raw))
        self._add_words(end)

    def _add_words(self, end: int) -> None:
        words = self._text.text[self._at : end]
        if words and not words[0].isspace():
            self._begin_word()
        self._made.text += words
        self._is_apart &= not words
        self._at = max(self._at, end)

    def _begin_word(self) -> None:
        """Add a space if the word before it has none, and only a tag stood between both."""
        if self._is_apart and self._made.text and not self._made.text[-1].isspace():
            self._made.text += " "
        self._is_apart = False
