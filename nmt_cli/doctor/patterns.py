"""Markup and addresses, by regular expressions on the lines that can hold them."""

import re
from collections.abc import Callable, Iterator

import numpy as np

from nmt_cli.doctor.chunk import LINK, MARKUP, Chunk, Ints, Side
from nmt_cli.doctor.findings import Marks

_MARKUP = re.compile(
    r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>|<!--|<!\[CDATA\["  # HTML, XML
    r"|&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});"  # entities
    r"|\{\{[^{}]*\}\}|\[\[[^][]*\]\]|\[/?(?:b|i|u|url|img|quote|code)\b[^][]*\]"  # wikis, forums
    r"|``[^`]+``|:[a-z:]{2,20}:`|\*\*[^*\s][^*]*\*\*|!?\[[^][]+\]\([^()\s]+\)"  # reST, Markdown
    r"|\\(?:[nrt](?![a-z])|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[a-z]{2,}\{)"  # escapes, LaTeX
    r"|%(?:\(\w+\))?[sd]\b|\{\w*\}"  # places to be filled in
)
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'`)\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)


def markup(chunk: Chunk) -> Iterator[Marks]:
    """Find tags, entities, escapes and the signs of markup languages."""
    for number, side in enumerate(chunk.sides):
        found = {
            int(row): match[0]
            for row in side.rows_with(MARKUP)
            if (match := _MARKUP.search(side.lines[row]))
        }
        rows = np.array(list(found), np.int64)
        yield Marks("markup", number, rows, np.ones(len(rows)), _describe(found))


def _describe(found: dict[int, str]) -> Callable[[int], str]:
    return lambda row: f"{found[row][:40]}"


def links(chunk: Chunk) -> Iterator[Marks]:
    """Find web and mail addresses that only one side has."""
    source, target = chunk.sides
    found: dict[int, str] = {}
    may_have = np.flatnonzero((source.seen | target.seen) & LINK)
    for row in np.union1d(may_have, np.union1d(_rows_with_www(source), _rows_with_www(target))):
        ours, theirs = _addresses(source, row), _addresses(target, row)
        if ours != theirs and (only := sorted(ours ^ theirs)):
            found[int(row)] = (
                f"{only[0][:50]} only in the {'source' if ours - theirs else 'target'}"
            )
    rows = np.array(list(found), np.int64)
    yield Marks("links", 0, rows, np.ones(len(rows)), lambda row: found[row])


def _rows_with_www(side: Side) -> Ints:
    is_w = side.codes == ord("w")
    return side.rows_at(np.flatnonzero(is_w[2:] & is_w[1:-1] & is_w[:-2]))


def _addresses(side: Side, row: int) -> set[str]:
    return {address.rstrip(".,;:!?") for address in _ADDRESS.findall(side.lines[row])}
