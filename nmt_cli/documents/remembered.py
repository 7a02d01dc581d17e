"""Texts with marks that a translation memory has: the same words, the same marks in their order.

A memory has marks as a file has them, such as `<b>`, or as markup of TMX, of any kind.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

from nmt_cli.documents.inline import HARD_SPACE, Inline, Mark
from nmt_cli.search.memory import Memory
from nmt_cli.search.tmx import CODE

_FIRST = 0xF0000  # of private characters, which stand for marks
_SIGN = re.compile("([\U000f0000-\U000ffffd])")


class _Code(NamedTuple):
    """What a mark is between two stretches of a text."""

    raw: str  # in the file
    words: str  # for readers; "" for markup


def remembered(memory: Memory, text: Inline) -> tuple[str, str] | None:
    """Return the translation that a memory has for a text: without markup, and for the file."""
    texts, codes = _cut(text)
    for signs in ([c.raw.replace(HARD_SPACE, " ") for c in codes], [CODE] * len(codes)):
        target = memory.exact(_joined(texts, signs))
        parts = None if target is None else _parts(target, signs)
        if parts is not None:
            head, tail = texts[0], texts[-1]
            parts[0] = head[: len(head) - len(head.lstrip())] + parts[0]
            parts[-1] += tail[len(tail.rstrip()) :]
            in_file = _joined([*map(text.escape, parts)], [code.raw for code in codes])
            return _joined(parts, [code.words for code in codes]), in_file
    return None


def _cut(text: Inline) -> tuple[list[str], list[_Code]]:
    """Return the stretches of a text between its marks, and what stands between these."""
    codes: list[_Code] = []

    def sign(raw: str, words: str = "") -> str:
        codes.append(_Code(raw, words))
        return chr(_FIRST + len(codes) - 1) if raw else ""

    marks = []
    for mark, following in pairwise([*text.marks, Mark(0, 0)]):
        words = text.text[mark.start : mark.end]
        if mark.is_kept:
            raw = mark.before + (mark.raw or text.escape(words)) + mark.after
            marks.append(replace(mark, before="", after="", raw=sign(raw, words)))
        elif words or following.depth > mark.depth:
            marks.append(replace(mark, before=sign(mark.before), after=sign(mark.after)))
        else:
            marks.append(replace(mark, before=sign(mark.before + mark.after), after=""))
    stretches = _SIGN.split(Inline(text.text, marks).unchanged().text)
    return stretches[::2], [codes[ord(one) - _FIRST] for one in stretches[1::2]]


def _joined(texts: Sequence[str], signs: Sequence[str]) -> str:
    return "".join(chain.from_iterable(zip(texts, [*signs, ""], strict=True)))


def _parts(target: str, signs: Sequence[str]) -> list[str] | None:
    """Return what is between the signs of a translation; None where it has not all, in order."""
    parts = []
    for sign in signs:
        before, found, target = target.partition(sign)
        if not found:
            return None
        parts.append(before)
    return None if CODE in target else [*parts, target]
