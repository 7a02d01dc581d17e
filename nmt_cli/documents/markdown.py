"""Markdown: headings, paragraphs, lists, quotations and tables; code and what is above it stay."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.token import Token

from nmt_cli.documents import html
from nmt_cli.documents.inline import HARD_SPACE, Inline
from nmt_cli.documents.markdown_inline import marked

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n.*?\n\1(?:\n|\Z)", re.DOTALL)
# What begins another block where it begins a line.
_BLOCK = re.compile(
    r"(?:[-+*]|#{1,6}|\d{1,9}[.)])(?=\s|$)|>|```|~~~|(?:=+|-+|(?P<rule>[-*_])(?:\s*(?P=rule)){2,})\s*$"
)
# Of what programs other than CommonMark know: lines without a text, ...
_NO_TEXT = re.compile(
    r"^(?:\$\$[^$]*\$\$|\\begin\{(\w+\*?)\}.{0,5000}?\\end\{\1\}|\{[%:#.][^{}]*\}|\{\{[<%][^{}]*\}\}"
    r"|\[\[?_?toc_?\]\]?)[ ]*$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_TITLE = re.compile(  # ... the beginning of a line with no more than a title, ...
    r"\[![\w-]+\][-+]?\s*|:{3,}\s*(?:\{[^{}]*\}|[\w-]+(?:\[[^\[\]]*\])?)?\s*"
    r"|[!?]{3}\+?\s+[\w-]+(?:\s+(?:inline|end))*(?:\s+\"|\s*\Z)"
)
# ... that of a task, a footnote or a definition, and the name of a heading.
_HEAD = re.compile(r"\[[ xX]\]\s+|\[\^[^\]\s]+\]:\s*|:\s+")
_NAME = re.compile(r"\s*\{[#.:][^{}]*\}\s*\Z")
_TAG = re.compile(r"\s*</?([A-Za-z][A-Za-z0-9]*)")
_Place = tuple[int, int, int]  # (line from 0, first character, the one behind the last)


@dataclass(frozen=True)
class _Stretch:
    """A text of the document, and the places of its lines."""

    texts: Sequence[Inline]
    places: Sequence[_Place]


@dataclass(frozen=True)
class _Html:
    """A block of HTML: lines `first` to `last`, and the page that they are."""

    texts: Sequence[Inline]
    first: int
    last: int
    page: html.Page


class Page:
    """A Markdown document in parts."""

    def __init__(self, text: str) -> None:
        front = _FRONT_MATTER.match(text)
        self._front = front[0] if front else ""
        self._lines = text[len(self._front) :].split("\n")
        self._parts = [*_parts(self._lines)]
        self.texts = [text for part in self._parts for text in part.texts]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the document with other texts, which are Markdown, in place of its own."""
        lines: list[str | None] = [*self._lines]
        shifts: dict[int, int] = {}  # of a line that has several texts: how much longer it is
        waiting = iter(texts)
        for part in self._parts:
            if isinstance(part, _Html):
                lines[part.first] = part.page.filled([next(waiting) for _ in part.texts])
                lines[part.first + 1 : part.last] = [None] * (part.last - part.first - 1)
                continue
            laid_out = _laid_out(next(waiting), part.places, self._lines).replace(HARD_SPACE, " ")
            number, start, end = part.places[0]
            shift = shifts.get(number, 0)
            line = str(lines[number])
            last, _, last_end = part.places[-1]
            tail = line[end + shift :] if last == number else self._lines[last][last_end:]
            shifts[number] = shift + len(laid_out) - (end - start)
            lines[number] = line[: start + shift] + laid_out + tail
            for number, _, _ in part.places[1:]:
                lines[number] = None
        return self._front + "\n".join(line for line in lines if line is not None)


def _parts(lines: list[str]) -> Iterator[_Stretch | _Html]:
    """Yield what has words in a document, in its order."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    known: dict[str, Any] = {}
    tokens = parser.parse("\n".join(lines), known)
    references = known.get("references", {})
    searched: dict[int, int] = {}  # line -> the character up to which it is known
    first, last = 0, 0
    for token in tokens:
        if token.map is not None:
            first, last = token.map
        if token.type == "html_block" and not token.level and _is_page(token.content):
            page = html.Page("\n".join(lines[first:last]))
            yield _Html(page.texts, first, last, page)
        if token.type == "inline":
            for places in _texts(_places(token, lines, (first, last), searched), lines):
                rows = (lines[n][a : None if n < places[-1][0] else b] for n, a, b in places)
                text = marked("\n".join(rows), references)
                if text.has_words:
                    yield _Stretch([text], places)


def _is_page(block: str) -> bool:
    """Return whether a block of HTML stays one without its line ends, and has no Markdown in it."""
    tag = _TAG.match(block)
    return tag is not None and tag[1].lower() in block_names and "markdown=" not in block


def _places(
    token: Token, lines: list[str], within: tuple[int, int], searched: dict[int, int]
) -> list[_Place]:
    """Return where the lines of a paragraph or cell stand; nothing if that is not clear."""
    found = []
    number = within[0]
    rows = token.content.split("\n")
    for row in map(str.strip, rows):
        escaped = row.replace("|", r"\|")  # in a cell
        while number < within[1]:
            begin = searched.get(number, 0)
            wanted = row if row in lines[number][begin:] else escaped
            start = lines[number].find(wanted, begin)
            if start >= 0:
                break
            number += 1
        else:
            return []
        searched[number] = start + len(wanted)
        found.append((number, start, start + len(wanted)))
        number += len(rows) > 1
    return found


def _texts(places: Sequence[_Place], lines: list[str]) -> Iterator[list[_Place]]:
    """Yield the places of each text of a paragraph, without what only some programs know."""
    content = "\n".join(lines[number][start:end] for number, start, end in places)
    rows = _NO_TEXT.sub(lambda found: "\0" + found[0].count("\n") * "\n\0", content).split("\n")
    text: list[_Place] = []
    for (number, start, end), row in zip(places, rows, strict=bool(places)):
        title, head = _TITLE.match(row), _HEAD.match(row)
        if row.startswith("\0") or title or head:
            yield text
            text = []
        if title:
            end -= len(row) - len(row.rstrip('"'))
            yield [(number, start + title.end(), end)]
        elif not row.startswith("\0"):
            text.append((number, start + (head.end() if head else 0), end))
    if text and (name := _NAME.search(rows[-1])):
        number, start, end = text[-1]
        text[-1] = number, start, end - len(name[0])
    yield text


def _laid_out(text: str, places: Sequence[_Place], lines: list[str]) -> str:
    """Return a text in lines as long as those that it replaces, none of which begins a block."""
    if begin := _BLOCK.match(text):
        text = f"{begin[0][:-1]}\\{text[begin.end() - 1 :]}"
    if len(places) == 1:
        return text
    number, start, _ = places[1]
    head = lines[number][:start]
    width = max(end for _, _, end in places)
    rows = [
        line for row in text.split("\n") for line in _wrapped(row.lstrip(), max(20, width - start))
    ]
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
