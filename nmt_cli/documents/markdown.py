"""Markdown: headings, paragraphs, lists, quotations and tables; code and what is above it stay."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from nmt_cli.documents.inline import Builder, Inline

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---(?:\n|\Z)", re.DOTALL)
_ESCAPED = tuple("\\`*_{}[]()#+-.!<>|~")
_LINK_BEGIN = re.compile(r"!?\[")
_LINK_END = re.compile(
    r"\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)|\]\[[^\]]*\]"
)
_KEPT = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"  # code
    r"|<(?:https?://|mailto:)[^<>\s]*>|https?://[^\s<>()\]]*[^\s<>()\].,;:!?]"
    r"|\[\^[^\]\s]+\]|:[a-z0-9_+-]+:(?!\w)|\$\$?[^$\s][^$]*\$\$?",
    re.DOTALL,
)
_POINT = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>|[ ]{2,}\n|\\\n", re.DOTALL)
_PAIR = re.compile(r"\*\*\*|\*\*|\*|~~|(?<!\w)__?(?=\S)|(?<=\S)__?(?!\w)")


@dataclass(frozen=True)
class _Stretch:
    """A text of the document: the lines where it stands, and the characters of each."""

    inline: Inline
    lines: list[tuple[int, int, int]]  # (number from 0, first character, the one behind the last)


class Page:
    """A Markdown document in parts."""

    def __init__(self, text: str) -> None:
        front = _FRONT_MATTER.match(text)
        self._front = front[0] if front else ""
        self._lines = text[len(self._front) :].split("\n")
        self._stretches = [*_stretches(self._lines)]
        self.texts = [stretch.inline for stretch in self._stretches]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the document with other texts, which are Markdown, in place of its own."""
        lines: list[str | None] = [*self._lines]
        shifts: dict[int, int] = {}  # of a line that has several texts: how much longer it is
        for stretch, text in zip(self._stretches, texts, strict=True):
            laid_out = _laid_out(text, stretch.lines, self._lines)
            number, start, end = stretch.lines[0]
            shift = shifts.get(number, 0)
            line = str(lines[number])
            head, tail = line[: start + shift], line[end + shift :]
            shifts[number] = shift + len(laid_out) - (end - start)
            lines[number] = head + laid_out + tail
            for number, _, _ in stretch.lines[1:]:
                lines[number] = None
        return self._front + "\n".join(line for line in lines if line is not None)


def _stretches(lines: list[str]) -> Iterator[_Stretch]:
    """Yield the texts of a document in their order."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    searched: dict[int, int] = {}  # line -> the character up to which it is known
    first, last = 0, 0
    for token in parser.parse("\n".join(lines)):
        if token.map is not None:
            first, last = token.map
        if token.type == "inline" and token.content.strip():
            found = _places(token, lines, (first, last), searched)
            if found:
                yield _Stretch(_inline(token.content), found)


def _places(
    token: Token, lines: list[str], within: tuple[int, int], searched: dict[int, int]
) -> list[tuple[int, int, int]]:
    """Return where the lines of a text stand; nothing if that is not clear."""
    found = []
    number = within[0]
    for wanted in token.content.split("\n"):
        wanted = wanted.rstrip()
        while number < within[1]:
            start = lines[number].find(wanted, searched.get(number, 0))
            if start >= 0:
                break
            number += 1
        else:
            return []
        searched[number] = start + len(wanted)
        found.append((number, start, start + len(wanted)))
        number += len(token.content.split("\n")) > 1
    return found


def _laid_out(text: str, places: list[tuple[int, int, int]], lines: list[str]) -> str:
    """Return a text in lines as long as those that it replaces."""
    if len(places) == 1:
        return text
    number, start, _ = places[1]
    head = lines[number][:start]
    width = max(end for _, _, end in places)
    kept = [
        textwrap.wrap(row, max(20, width - start), break_long_words=False, break_on_hyphens=False)
        for row in text.split("\n")
    ]
    return f"\n{head}".join(line for row in kept for line in row or [""])


def _inline(content: str) -> Inline:
    """Return a text without its markup, and the markup as marks."""
    made = Builder()
    _scan(content, made)
    return made.inline()


def _scan(content: str, made: Builder) -> None:
    at = 0
    while at < len(content):
        if content[at] == "\\" and content[at + 1 : at + 2] in _ESCAPED:
            made.point("\\")
            made.text += content[at + 1]
            at += 2
        elif found := _KEPT.match(content, at):
            made.keep(found[0])
            at = found.end()
        elif found := _POINT.match(content, at):
            made.point(found[0])
            at = found.end()
        elif (link := _link(content, at)) is not None:
            inner, end = link
            made.open("[", content[at : inner.start])
            _scan(content[inner.start : inner.stop], made)
            made.close("[", content[inner.stop : end])
            at = end
        elif found := _PAIR.match(content, at):
            at = found.end()
            _add_sign(made, found[0], content[at:])
        else:
            made.text += " " if content[at] == "\n" else content[at]
            at += 1


def _add_sign(made: Builder, sign: str, rest: str) -> None:
    """Add a sign of emphasis, which begins or ends it; one that has no other is a character."""
    if made.is_open(sign):
        made.close(sign, sign)
    elif sign in rest:
        made.open(sign, sign)
    else:
        made.text += sign


def _link(content: str, at: int) -> tuple[range, int] | None:
    """Return where the text of a link or image stands, and where the link ends; None if none is."""
    begin = _LINK_BEGIN.match(content, at)
    if begin is None:
        return None
    depth, place = 1, begin.end()
    while place < len(content) and depth:
        depth += {"[": 1, "]": -1}.get(content[place], 0)
        place += 1
    end = _LINK_END.match(content, place - 1) if not depth else None
    return (range(begin.end(), place - 1), end.end()) if end else None
