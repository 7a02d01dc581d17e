"""Markdown: headings, paragraphs, lists, quotations and tables; code and what is above it stay."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from nmt_cli.documents.inline import Inline
from nmt_cli.documents.markdown_inline import HARD_SPACE, marked

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---(?:\n|\Z)", re.DOTALL)
# What begins another block where it begins a line.
_BLOCK = re.compile(
    r"(?:[-+*]|#{1,6}|\d{1,9}[.)])(?=\s|$)|>|```|~~~|(?:=+|-+|(?P<rule>[-*_])(?:\s*(?P=rule)){2,})\s*$"
)


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
            laid_out = _laid_out(text, stretch.lines, self._lines).replace(HARD_SPACE, " ")
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
    known: dict[str, Any] = {}
    tokens = parser.parse("\n".join(lines), known)
    references = known.get("references", {})
    searched: dict[int, int] = {}  # line -> the character up to which it is known
    first, last = 0, 0
    for token in tokens:
        if token.map is not None:
            first, last = token.map
        if token.type == "inline" and token.content.strip():
            found = _places(token, lines, (first, last), searched)
            if found:
                yield _Stretch(marked(token.content, references), found)


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
    """Return a text in lines as long as those that it replaces, none of which begins a block."""
    if begin := _BLOCK.match(text):
        text = f"{begin[0][:-1]}\\{text[begin.end() - 1 :]}"
    if len(places) == 1:
        return text
    number, start, _ = places[1]
    head = lines[number][:start]
    width = max(end for _, _, end in places)
    rows = [line for row in text.split("\n") for line in _wrapped(row, max(20, width - start))]
    return f"\n{head}".join(rows)


def _wrapped(row: str, width: int) -> list[str]:
    """Return the lines of a row, which may end in two spaces: it then ends for readers, too."""
    lines: list[str] = []
    for line in textwrap.wrap(row, width, break_long_words=False, break_on_hyphens=False):
        begins_block = _BLOCK.match(line) or line.startswith("<!--")
        if lines and (begins_block or lines[-1].startswith("<")):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    lines = lines or [""]
    lines[-1] += "  " if row.endswith("  ") else ""
    return lines
