"""Tests of single characters and of what a side is made of: each takes a chunk, yields marks."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor.chunk import (
    CONTROL,
    DIGIT,
    INVISIBLE,
    LETTER,
    LOST,
    NOT_UTF8,
    PRIVATE,
    SPACE,
    Chunk,
    Ints,
    Side,
)
from nmt_cli.doctor.findings import Marks
from nmt_cli.text.scripts import NAMES, script_table

MIN_IDENTICAL_LETTERS = 8  # below, and in one word, a name or a number may be the same in both
MIN_SCRIPT_LETTERS = 4  # of a line that is judged by its script
MAIN_SCRIPT_SHARE = 0.1  # less of the side's main script is the wrong one
FOREIGN_SCRIPT_SHARE = 0.3  # so much in scripts that the side does not use
RUN_LENGTH = 10  # the same character so many times in a row
LOOP_WORDS = 4  # so many words in a loop, at most
LOOP_TIMES = 4  # the same words so many times in a row
_RULES = frozenset("-_=.*~#^·…─━ 0123456789")  # drawn as lines, rows of dots; long fractions
_LOOP = re.compile(
    r"(?<!\S)((?=\S*[^\W\d_])\S++"
    rf"(?: \S++){{0,{LOOP_WORDS - 1}}}?)(?: \1){{{LOOP_TIMES - 1},}}(?!\S)"
)
_SEEN_AS = {
    CONTROL: "a control character",
    INVISIBLE: "an invisible character",
    PRIVATE: "a character without a meaning",
    LOST: "the sign for a lost character",
}
_STRANGE = (  # what kinds of characters a check finds
    ("encoding", NOT_UTF8),
    ("control-characters", CONTROL | INVISIBLE | PRIVATE),
    ("mojibake", LOST),
)
_NO_WORDS = "no letter or digit in the"
_LATIN, _CYRILLIC, _GREEK = (NAMES.index(name) for name in ("Latin", "Cyrillic", "Greek"))
# Greek letters: capitals from alpha to chi; omicron, nu, rho.
_LIKE_LATIN = "391 392 395 396 397 399 39A 39C 39D 39F 3A1 3A4 3A5 3A7 3BF 3BD 3C1"
_LIKE_LATIN_CODES = [int(code, 16) for code in _LIKE_LATIN.split()]


def strange_characters(chunk: Chunk) -> Iterator[Marks]:
    """Find bytes that were not UTF-8, control characters and the like, and lost characters."""
    for number, side in enumerate(chunk.sides):
        for check, kinds in _STRANGE:
            rows = side.rows_with(kinds)
            counts = side.count((side.kinds & kinds) != 0)[rows]
            yield Marks(check, number, rows, _describe_character(side, kinds), counts)


def _describe_character(side: Side, kinds: int) -> Callable[[int], str]:
    def describe(row: int) -> str:
        if kinds == NOT_UTF8:
            return "not valid UTF-8"
        start = side.starts[row]
        place = int(np.flatnonzero(side.kinds[start:] & kinds)[0])
        code = int(side.codes[start + place])
        kind = next(name for bit, name in _SEEN_AS.items() if side.kinds[start + place] & bit)
        name = unicodedata.name(chr(code), "")
        return f"U+{code:04X}{f' ({name.lower()})' if name else ''}, {kind}, at {place + 1}"

    return describe


def blank_sides(chunk: Chunk, names: Sequence[str]) -> Iterator[Marks]:
    """Find sides without text, and sides without a letter or digit beside one that has words.

    `names` are what to call the sides.
    """
    source, target = chunk.sides
    for number, (side, other) in enumerate(((source, target), (target, source))):
        blank = side.visible == 0
        bare = ~blank & ((side.seen & (LETTER | DIGIT)) == 0) & (other.letters >= 2)
        for check, is_found, what in (("empty", blank, "no"), ("no-words", bare, _NO_WORDS)):
            found = dict.fromkeys(map(int, np.flatnonzero(is_found)), f"{what} {names[number]}")
            yield Marks.of(check, number, found)


def white_space(chunk: Chunk) -> Iterator[Marks]:
    """Find spaces that carry nothing."""
    for number, side in enumerate(chunk.sides):
        space = (side.kinds & SPACE) != 0
        before = np.concatenate(([True], space[:-1]))
        needless = (space & before) | (side.codes == ord("\t"))
        rows = np.unique(side.rows_at(np.flatnonzero(needless)))
        rows = rows[side.visible[rows] > 0]
        yield Marks("white-space", number, rows, lambda _: "needless spaces")


def identical_sides(chunk: Chunk, same: npt.NDArray[np.bool_]) -> Iterator[Marks]:
    """Find sides that are the same but for case and punctuation, names and numbers left out.

    `same` [N] says whether both sides have the same key.
    """
    source, _ = chunk.sides
    same = same & (source.letters >= MIN_IDENTICAL_LETTERS)
    has_words = (row for row in map(int, np.flatnonzero(same)) if " " in source.lines[row].strip())
    found = dict.fromkeys(has_words, "the target is the same as the source")
    marks = Marks.of("identical", 1, found)
    yield marks._replace(ranks=source.letters[marks.rows])


def wrong_script(chunk: Chunk, scripts: Sequence[tuple[int, Ints]]) -> Iterator[Marks]:
    """Find lines that are hardly written in their side's main script.

    Of each side it goes by the number of that, 0 for none, and of all scripts that it uses.
    """
    for number, (side, (main, usual)) in enumerate(zip(chunk.sides, scripts, strict=True)):
        if not main:
            continue
        own = side.count(side.scripts == main)
        usual_table = np.zeros(len(NAMES), np.bool_)
        usual_table[[0, *usual]] = True
        foreign = side.count(~usual_table[side.scripts])
        judged = side.letters >= MIN_SCRIPT_LETTERS
        total = np.maximum(side.letters, 1)
        wrong = (own / total < MAIN_SCRIPT_SHARE) | (foreign / total >= FOREIGN_SCRIPT_SHARE)
        rows = np.flatnonzero(judged & wrong)
        ranks = (side.letters - own)[rows]
        yield Marks("script", number, rows, _describe_script(side, main), ranks)
        yield _mixed_words(number, side)


def _describe_script(side: Side, main: int) -> Callable[[int], str]:
    def describe(row: int) -> str:
        start, end = side.starts[row], side.starts[row] + len(side.lines[row])
        counts = np.bincount(side.scripts[start:end], minlength=len(NAMES))[1:]
        most = int(counts.argmax()) + 1
        share = counts[most - 1] / max(1, side.letters[row])
        own = counts[main - 1] / max(1, side.letters[row])
        named = "letters of another script" if not counts.any() else f"{share:.0%} {NAMES[most]}"
        return f"{named}, {own:.0%} {NAMES[main]}"

    return describe


def _mixed_words(number: int, side: Side) -> Marks:
    """Find words with letters that look like others: a Cyrillic one in a Latin word."""
    lookalike = side.scripts == _CYRILLIC
    greek = side.scripts == _GREEK
    if greek.any():
        lookalike |= greek & np.isin(side.codes, _LIKE_LATIN_CODES)
    latin = side.scripts == _LATIN
    mixed = (lookalike[1:] & latin[:-1]) | (lookalike[:-1] & latin[1:])
    rows = np.unique(side.rows_at(np.flatnonzero(mixed)))

    def describe(row: int) -> str:
        table = script_table()
        words = side.lines[row].split()
        found = (w for w in words if len({int(table[ord(c)]) for c in w if c.isalpha()}) > 1)
        return f"letters of two scripts in one word: {next(found, '')[:40]!r}"

    return Marks("script", number, rows, describe)


def repetition(chunk: Chunk) -> Iterator[Marks]:
    """Find a character, a word or a few words many times in a row."""
    for number, side in enumerate(chunk.sides):
        changes = np.flatnonzero(side.codes[1:] != side.codes[:-1]) + 1
        starts = np.concatenate(([0], changes))
        lengths = np.diff(np.append(starts, len(side.codes)))
        long = np.flatnonzero(lengths >= RUN_LENGTH)
        runs = {int(side.rows_at(starts[i : i + 1])[0]): chr(side.codes[starts[i]]) for i in long}
        found = {row: sign for row, sign in runs.items() if sign not in _RULES}
        for row in _rows_with_loops(side):
            line = " ".join(side.lines[row].split())
            if row not in found and (match := _LOOP.search(line)):
                found[row] = match[1]
        told = {row: f"{what[:40]!r} over and over" for row, what in found.items()}
        yield Marks.of("repetition", number, told)


def _rows_with_loops(side: Side) -> Ints:
    """Return the rows that may hold a loop: words alike in length, first and last character."""
    space = np.flatnonzero(side.kinds & SPACE)
    starts = np.concatenate(([0], space[:-1] + 1))
    is_word = space > starts
    starts, lasts = starts[is_word], space[is_word] - 1
    first, last = (side.codes[places].astype(np.int64) for places in (starts, lasts))
    words = ((lasts - starts) << 42) | (first << 21) | last
    found = [np.zeros(0, np.int64)]
    for lag in range(1, LOOP_WORDS + 1):
        needed = (LOOP_TIMES - 1) * lag
        alike = np.concatenate(([0], np.cumsum(words[lag:] == words[:-lag])))
        found.append(np.flatnonzero(alike[needed:] - alike[:-needed] == needed))
    return np.unique(side.rows_at(starts[np.concatenate(found)]))
