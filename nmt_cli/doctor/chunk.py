"""Rows as arrays: the text of each side as one array of code points, so that tests are array work.

`N` rows, `C` code points of one side, each line followed by its line feed.
"""

import functools
import sys
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nmt_cli.text.scripts import script_table

Ints = npt.NDArray[np.int64]

# What a character is, as bits of one number.
SPACE, LETTER, DIGIT, MARKUP, LATIN_1, LINK, QUESTION = (1 << bit for bit in range(7))
CONTROL, INVISIBLE, PRIVATE, LOST, NOT_UTF8 = (1 << bit for bit in range(7, 12))

_MARKUP_SIGNS = "<&{[\\`*~%"
_LINK_SIGNS = "@/:"
# Zero-width space and marks of direction, soft hyphen, line and paragraph separator, byte order
# mark, the old Mongolian separator; joiners and variation selectors have their uses.
_INVISIBLE = [0xAD, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF]
_INVISIBLE += [*range(0x202A, 0x202F), *range(0x2060, 0x2070)]
_ASTRAL = 0x20000  # behind it, blocks as a whole are one kind
LINE_FEED = 10
_HASH_BASE = 0x9E3779B97F4A7C15  # odd, from the golden ratio


@functools.cache
def kind_table() -> npt.NDArray[np.uint16]:
    """Return [0x110000] the kinds of each code point."""
    table = np.zeros(sys.maxunicode + 1, np.uint16)
    by_category = {"Lo": LETTER, "Ll": LETTER, "Lu": LETTER, "Lt": LETTER, "Lm": LETTER}
    by_category |= {"Nd": DIGIT, "Nl": DIGIT, "No": DIGIT, "Zs": SPACE}
    by_category |= {"Cc": CONTROL, "Co": PRIVATE, "Cs": NOT_UTF8}
    for code in range(_ASTRAL):
        table[code] = by_category.get(unicodedata.category(chr(code)), 0)
    table[_ASTRAL:0x40000] = LETTER
    table[0xF0000:] = PRIVATE
    table[0xFDD0:0xFDF0] = PRIVATE
    table[[0xFFFE, 0xFFFF]] = PRIVATE
    table[_INVISIBLE] = INVISIBLE
    table[0xFFFD] = LOST
    table[[ord("\t"), LINE_FEED]] = SPACE
    for signs, kind in ((_MARKUP_SIGNS, MARKUP), (_LINK_SIGNS, LINK), ("?", QUESTION)):
        table[[ord(sign) for sign in signs]] |= kind
    table[0x80:0x100] |= LATIN_1
    return table


@functools.cache
def lower_table() -> npt.NDArray[np.uint32]:
    """Return [0x110000] the lower-case form of each code point that has a single one."""
    table = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    for code in np.flatnonzero(kind_table()[:_ASTRAL] & LETTER):
        lower = chr(code).lower()
        table[code] = ord(lower) if len(lower) == 1 else code
    return table


@functools.cache
def _fold_table() -> npt.NDArray[np.uint64]:
    """Return [0x110000] a random number for each letter or digit, 0 for other characters.

    Letters that differ by case or width only have the same.
    """
    folded = np.zeros(sys.maxunicode + 1, np.uint64)
    for code in np.flatnonzero(kind_table() & (LETTER | DIGIT)):
        if code > _ASTRAL:
            folded[code] = code
        else:
            same = unicodedata.normalize("NFKC", chr(code)).casefold()
            folded[code] = ord(same) if len(same) == 1 else code
    mixed = folded * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    return np.where(folded == 0, np.uint64(0), mixed ^ (mixed >> np.uint64(32)))


class Side:
    """One side of some rows; line breaks in its N texts count as spaces."""

    def __init__(self, lines: Sequence[str]) -> None:
        text = "\n".join(lines)
        if text.count("\n") != len(lines) - 1:
            lines = [" ".join(line.split("\n")) for line in lines]
            text = "\n".join(lines)
        self.lines = list(lines)  # [N]
        self.codes = _codes(text)  # [C] code points
        self.kinds = kind_table()[self.codes]  # [C] bits, see above
        ends = np.flatnonzero(self.codes == LINE_FEED)
        self.starts = np.concatenate(([0], ends[:-1] + 1))  # [N] where lines begin
        self.seen = np.bitwise_or.reduceat(self.kinds, self.starts)  # [N] all kinds of a line
        is_letter = (self.kinds & LETTER) != 0
        self.scripts = script_table()[self.codes] * is_letter  # [C] of letters; 0 for others
        self.letters = self.count(is_letter)  # [N]
        self.visible = self.count((self.kinds & SPACE) == 0)  # [N]

    def count(self, mask: npt.NDArray[np.bool_]) -> Ints:
        """Return [N] how many characters of each line are in a [C] mask."""
        return np.add.reduceat(mask, self.starts, dtype=np.int64)

    def rows_at(self, positions: Ints) -> Ints:
        """Return the row of each position in `codes`."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def rows_with(self, kind: int) -> Ints:
        """Return the rows in which a kind of character occurs."""
        return np.flatnonzero(self.seen & kind)

    def keys(self) -> npt.NDArray[np.uint64]:
        """Return [N] a hash of the letters and digits of each line, without their case; 0 for none.

        A polynomial modulo 2^64 over random numbers for the characters.
        """
        text = "\n".join(self.lines)
        is_nfc = unicodedata.is_normalized("NFC", text)
        codes = self.codes if is_nfc else _codes(unicodedata.normalize("NFC", text))
        values = _fold_table()[codes]
        kept = np.flatnonzero((values != 0) | (codes == LINE_FEED))
        ends = np.flatnonzero(codes[kept] == LINE_FEED)
        starts = np.concatenate(([0], ends[:-1] + 1))
        lengths = np.diff(np.append(starts, len(kept)))
        places = np.arange(len(kept)) - np.repeat(starts, lengths)
        powers = np.cumprod(np.full(lengths.max(), _HASH_BASE, np.uint64), dtype=np.uint64)
        sums: npt.NDArray[np.uint64] = np.add.reduceat(values[kept] * powers[places], starts)
        return sums


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(f"{text}\n".encode("utf-32-le", "surrogatepass"), np.uint32)


class Chunk:
    """Some rows that follow each other in a corpus, by their N source and N target texts."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        self.sides = (Side(source), Side(target))

    def __len__(self) -> int:
        return len(self.sides[0].lines)
