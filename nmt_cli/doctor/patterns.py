"""Patterns within a pair: numbers that differ between its sides, markup, and addresses.

`1,000` and `1.000`, `3.5` and `3,5`, `2024-01-05` and `5.1.2024`, `3 p.m.` and `15 Uhr`, `30,000`
and `3만` count as the same number. Digits on one side only may be words or the name of a month on
the other, so they count only when the number is too large for that.
"""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from nmt_cli.doctor.chunk import DIGIT, LINK, MARKUP, Chunk, Ints, Side
from nmt_cli.doctor.findings import Marks

SPELT_OUT = 100  # smaller numbers are often words on the other side
MOST_DIGITS = 100  # of a number that are compared; Python reads no more than 4,300
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u202f\u2009]\d{3}(?!\d))+|\d+")
_SEPARATORS = re.compile(r"\D")
_COUNTING_WORD = re.compile(
    r"\d\s?(?:[십백천만억조十百千万萬億亿兆]|hundred|thousand|million|billion|trillion|dozen|score"
    r"|hundert|tausend|tsd|mio|mrd|milli|cent|mille|mil\b|k\b|m\b|bn\b)",
    re.IGNORECASE,
)
_HALF_DAY = 12


def numbers_differ(source: str, target: str) -> str | None:
    """Return which numbers are on one side only, in words, or None where nothing is wrong."""
    left, right = _numbers(source), _numbers(target)
    if left == right:
        return None
    ours, theirs = left - right, right - left
    _take_out_variants(ours, theirs)
    if not ours and not theirs:
        return None
    if _COUNTING_WORD.search(source) or _COUNTING_WORD.search(target):
        if _significant(source) == _significant(target) or not ours or not theirs:
            return None
    elif "".join(_SEPARATORS.split(source)) == "".join(_SEPARATORS.split(target)):
        return None
    if ours and theirs:
        return f"{_listed(ours)} in the source, {_listed(theirs)} in the target"
    large = [n for n in (*ours, *theirs) if n >= SPELT_OUT]
    return f"{large[0]} only in the {'source' if ours else 'target'}" if large else None


def _significant(text: str) -> str:
    """Return the digits of all numbers but their zeros: 3만 5천 and 35,000 have the same."""
    return "".join(_SEPARATORS.split(text)).replace("0", "")


def _numbers(text: str) -> Counter[int]:
    digits = (_SEPARATORS.sub("", number)[:MOST_DIGITS] for number in _NUMBER.findall(text))
    return Counter(map(int, digits))


def _take_out_variants(ours: Counter[int], theirs: Counter[int]) -> None:
    """Remove pairs that mean the same: hours of the afternoon, decades, zeros behind a comma."""
    for left in list(ours):
        for right in list(theirs):
            if ours[left] and theirs[right] and _may_be_same(left, right):
                ours[left] -= 1
                theirs[right] -= 1
    for counter in (ours, theirs):
        for number in [n for n in counter if not n or counter[n] <= 0]:
            del counter[number]


def _may_be_same(left: int, right: int) -> bool:
    small, large = sorted((left, right))
    if large <= 2 * _HALF_DAY and large - small == _HALF_DAY:
        return True
    return 1000 <= large < 2100 and small < 100 and large % 100 == small


def _listed(numbers: Counter[int]) -> str:
    return ", ".join(map(str, sorted(numbers.elements())[:5]))


def numbers(chunk: Chunk) -> Iterator[Marks]:
    """Find rows whose sides have different numbers."""
    source, target = chunk.sides
    found: dict[int, str] = {}
    for row in np.flatnonzero((source.seen | target.seen) & DIGIT):
        if message := numbers_differ(source.lines[row], target.lines[row]):
            found[int(row)] = message
    yield Marks.of("numbers", 0, found)


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
            int(row): match[0][:40]
            for row in side.rows_with(MARKUP)
            if (match := _MARKUP.search(side.lines[row]))
        }
        yield Marks.of("markup", number, found)


def links(chunk: Chunk) -> Iterator[Marks]:
    """Find web and mail addresses that only one side has."""
    source, target = chunk.sides
    found: dict[int, str] = {}
    may_have = np.flatnonzero((source.seen | target.seen) & LINK)
    for row in np.union1d(may_have, np.union1d(_rows_with_www(source), _rows_with_www(target))):
        ours, theirs = _addresses(source, row), _addresses(target, row)
        if ours != theirs and (only := sorted(ours ^ theirs)):
            side = "source" if ours - theirs else "target"
            found[int(row)] = f"{only[0][:50]} only in the {side}"
    yield Marks.of("links", 0, found)


def _rows_with_www(side: Side) -> Ints:
    is_w = side.codes == ord("w")
    return side.rows_at(np.flatnonzero(is_w[2:] & is_w[1:-1] & is_w[:-2]))


def _addresses(side: Side, row: int) -> set[str]:
    return {address.rstrip(".,;:!?") for address in _ADDRESS.findall(side.lines[row])}
