"""The text of a Markdown paragraph without its markup, which follows its words (CommonMark)."""

import functools
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline.balance_pairs import processDelimiters
from markdown_it.rules_inline.state_inline import Delimiter, StateInline

from nmt_cli.documents.html import ALONE
from nmt_cli.documents.inline import HARD_SPACE, Builder, Inline

_LINK_BEGIN = re.compile(r"!?\[(?!\^)")  # but no footnote
_NO_LINK = re.compile(r"`[^`]*`|!\[[^\[\]]*\](?:\([^()]*\))?")
_LINK_TARGET = re.compile(
    r"\(\s*(?:<[^<>\n]*>|(?:[^()\s<\\]|\\.|\((?:[^()\s\\]|\\.)*\))(?:[^()\s\\]|\\.|\((?:[^()\s\\]|\\.)*\))*)?"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_LINK_LABEL = re.compile(r"\[([^\[\]]*)\]")


class _Kind(Enum):
    ESCAPE = auto()  # a character that would be markup without its backslash
    KEPT = auto()  # code, an address, a footnote, an emoji, a formula
    BREAK = auto()
    TAG = auto()
    POINT = auto()
    SIGN = auto()  # of emphasis, if it has another that ends it
    LINK = auto()
    TEXT = auto()


_PATTERNS = {
    _Kind.ESCAPE: re.compile(r"\\[\\`*_{}\[\]()#+\-.!<>|~]"),
    _Kind.KEPT: re.compile(
        r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
        r"|<[a-zA-Z][a-zA-Z0-9+.-]+:[^<>\s]*>|<[\w.!#$%&'*+/=?^`{|}~-]+@[^<>\s]+>"
        r"|(?:https?://|www\.)[^\s<>()\[\]\\*`]*[^\s<>()\[\]\\*`.,;:!?_~]"
        r"|\[\^[^\]\s]+\]|!?\[\[[^\[\]\n]+\]\]|:[a-z0-9_+-]+:(?!\w)"
        r"|\$\$[^$]+\$\$|\$(?![\s$])[^$]*(?<!\s)\$(?!\d)",  # $5 and $10 are no formula
        re.DOTALL,
    ),
    _Kind.BREAK: re.compile(r"[ ]{2,}\n|\\\n|<br\s*/?>", re.IGNORECASE),
    _Kind.TAG: re.compile(
        r"</?[A-Za-z][A-Za-z0-9-]*"
        r"(?:\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*\s*/?>"
    ),
    _Kind.POINT: re.compile(r"<!--.*?-->", re.DOTALL),
    _Kind.SIGN: re.compile(r"\*+|_+|(?:~~)+"),
    _Kind.TEXT: re.compile(r"(?:(?!https?:|www\.)[^\W_])+"),
}


@dataclass(frozen=True)
class _Item:
    """A stretch of a paragraph; of a link also where its text stands, and its end in the file."""

    kind: _Kind
    start: int
    end: int
    inner: tuple[int, int] = (0, 0)
    close: str = ""


def marked(content: str, references: Container[str]) -> Inline:
    """Return a paragraph's text with its markup as marks.

    Args:
        content: The paragraph.
        references: The labels of the links that the document defines, as markdown-it has them.
    """
    made = Builder()
    escaped: set[str] = set()
    _add(content, made, references, escaped)
    return made.inline(functools.partial(_with_backslashes, escaped))


def _with_backslashes(escaped: set[str], text: str) -> str:
    """Return a text with a backslash before each character that had one in its paragraph."""
    return "".join(f"\\{char}" if char in escaped else char for char in text)


def _add(content: str, made: Builder, references: Container[str], escaped: set[str]) -> None:
    items = [*_items(content, references)]
    signs = _signs(content, items)
    for item in items:
        markup = content[item.start : item.end]
        match item.kind:
            case _Kind.ESCAPE:
                escaped.add(markup[1])
                made.text += markup[1]
            case _Kind.KEPT:
                made.keep(markup, markup)
            case _Kind.BREAK:  # ends a word, even without a space
                made.point(markup)
                made.text += " "
            case _Kind.TAG:
                _add_tag(made, markup)
            case _Kind.POINT:
                made.point(markup)
            case _Kind.SIGN:
                for at in range(item.start, item.end, _width(content[item.start])):
                    _add_sign(made, content[at : at + _width(content[at])], signs.get(at))
            case _Kind.LINK:
                made.open("[", content[item.start : item.inner[0]])
                _add(content[slice(*item.inner)], made, references, escaped)
                made.close("[", item.close.replace(" ", HARD_SPACE))
            case _Kind.TEXT:
                made.text += " " if markup == "\n" else markup


def _add_tag(made: Builder, tag: str) -> None:
    name = tag.strip("</>").split()[0].lower()
    if tag.startswith("</"):
        made.close(name, tag)
    elif name in ALONE or tag.endswith("/>"):
        made.point(tag)
    else:
        made.open(name, tag)


def _add_sign(made: Builder, sign: str, opens: bool | None) -> None:
    if opens is None:
        made.text += sign
    elif opens:
        made.open(sign, sign, needs_words=True)
    else:
        made.close(sign, sign)


def _items(content: str, references: Container[str]) -> Iterator[_Item]:
    at = 0
    closing = _closing_brackets(content)
    while at < len(content):
        item = _link(content, at, closing, references) or _item(content, at)
        yield item
        at = item.end


def _item(content: str, at: int) -> _Item:
    for kind, pattern in _PATTERNS.items():
        if found := pattern.match(content, at):
            return _Item(kind, at, found.end())
    return _Item(_Kind.TEXT, at, at + 1)


def _width(char: str) -> int:
    """Return how many of a sign's characters go together."""
    return 2 if char == "~" else 1


def _signs(content: str, items: list[_Item]) -> dict[int, bool]:
    """Return whether each sign begins emphasis or ends it, by its place; others are characters."""
    state = StateInline(content, _PARSER, {}, [])
    places: list[int] = []
    delimiters: list[Delimiter] = []
    for item in items:
        if item.kind is _Kind.SIGN:
            char = content[item.start]
            found = state.scanDelims(item.start, canSplitWord=char != "_")
            length = 0 if char == "~" else found.length
            for at in range(item.start, item.end, _width(char)):
                token = item.start + len(places)  # those of a run follow each other
                delimiters.append(
                    Delimiter(ord(char), length, token, -1, found.can_open, found.can_close)
                )
                places.append(at)
    processDelimiters(state, delimiters)
    signs: dict[int, bool] = {}
    for place, delimiter in zip(places, delimiters, strict=True):
        if delimiter.end >= 0:
            signs |= {place: True, places[delimiter.end]: False}
    return signs


_PARSER = MarkdownIt("commonmark")


def _link(
    content: str, at: int, closing: Mapping[int, int], references: Container[str]
) -> _Item | None:
    """Return the link or image that begins at a place; `closing` says where brackets are closed.

    One whose label is its own text gets the label as well, since the text changes.
    """
    begin = _LINK_BEGIN.match(content, at)
    if begin is None:
        return None
    end = closing.get(begin.end() - 1, len(content))
    inner = begin.end(), end
    text = content[slice(*inner)]
    if "](" in _NO_LINK.sub("", text):  # a link in it, which is the one that counts
        return None
    if target := _LINK_TARGET.match(content, end + 1):
        return _Item(_Kind.LINK, at, target.end(), inner, "]" + target[0])
    label = _LINK_LABEL.match(content, end + 1)
    named = (label[1].strip() if label else "") or text
    if end == len(content) or normalizeReference(named) not in references:
        return None
    return _Item(_Kind.LINK, at, label.end() if label else end + 1, inner, f"][{named}]")


def _closing_brackets(content: str) -> dict[int, int]:
    """Return the place of the bracket that closes each one that is closed, outside of code."""
    closing: dict[int, int] = {}
    open_: list[int] = []
    at = 0
    while at < len(content):
        if content[at] == "\\":
            at += 1
        elif code := _PATTERNS[_Kind.KEPT].match(content, at) if content[at] == "`" else None:
            at = code.end() - 1
        elif content[at] == "[":
            open_.append(at)
        elif content[at] == "]" and open_:
            closing[open_.pop()] = at
        at += 1
    return closing
