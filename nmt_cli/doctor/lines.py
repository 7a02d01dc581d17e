"""All tests of a row, run on chunks of rows; what goes back is small."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor import characters, mojibake, patterns
from nmt_cli.doctor.chunk import DIGIT, LETTER, Chunk
from nmt_cli.doctor.findings import BIT, Marks
from nmt_cli.doctor.languages import wrong_language
from nmt_cli.doctor.lengths import odd_lengths
from nmt_cli.doctor.profile import Profile
from nmt_cli.doctor.token_counts import TokenCounter, too_long
from nmt_cli.text.held_out import TELLING_LENGTH

KEPT = 1000  # rows of a chunk that are described for each test, the worst ones
EXCERPT = 160  # characters of a line that are kept to be shown

Keys = npt.NDArray[np.uint64]


class Rows(NamedTuple):
    """Some rows of a corpus on their way to the tests: lists of the same length.

    Attributes:
        corpus: Number of the corpus.
        lines: Line numbers.
        sources: Source texts.
        targets: Target texts.
    """

    corpus: int
    lines: list[int]
    sources: list[str]
    targets: list[str]


class Mark(NamedTuple):
    """One row that a test found.

    Attributes:
        check: Number of the test in `CHECKS`.
        rank: The worst row has the highest.
        line: The row's line in its file.
        side: 0 for the source, 1 for the target.
        message: What is wrong.
        text: The beginning of that side.
    """

    check: int
    rank: float
    line: int
    side: int
    message: str
    text: str


class Tested(NamedTuple):
    """What the tests found in some rows.

    Attributes:
        corpus: Number of the corpus.
        lines: [N] uint32 line numbers.
        keys: [N] uint64 by side: texts with the same letters and digits have the same; 0 for none.
        telling: [N] bool, whether a target is long enough to give a sentence away.
        found: [N] uint32, bit `i` set where test `i` of `CHECKS` found something.
        visible: Characters without spaces, by side.
        worst: The worst rows of each test.
    """

    corpus: int
    lines: npt.NDArray[np.uint32]
    keys: tuple[Keys, Keys]
    telling: npt.NDArray[np.bool_]
    found: npt.NDArray[np.uint32]
    visible: tuple[int, int]
    worst: list[Mark]


def build_tests(profile: Profile, counter: TokenCounter | None) -> Callable[[Rows], Tested]:
    """Return the function that tests rows (see `parallel.map_in_order`)."""

    def test(rows: Rows) -> Tested:
        chunk = Chunk(rows.sources, rows.targets)
        keys = (chunk.sides[0].keys(), chunk.sides[1].keys())
        found = np.zeros(len(chunk), np.uint32)
        worst: list[Mark] = []
        for marks in _all_marks(chunk, keys, profile, counter):
            found[marks.rows] |= np.uint32(1 << BIT[marks.check])
            worst += _described(marks, rows)
        source, target = chunk.sides
        telling = target.count((target.kinds & (LETTER | DIGIT)) != 0) >= TELLING_LENGTH
        visible = (int(source.visible.sum()), int(target.visible.sum()))
        lines = np.array(rows.lines, np.uint32)
        return Tested(rows.corpus, lines, keys, telling, found, visible, worst)

    return test


def _all_marks(
    chunk: Chunk, keys: tuple[Keys, Keys], profile: Profile, counter: TokenCounter | None
) -> Iterator[Marks]:
    yield from characters.broken_bytes(chunk)
    yield from characters.strange_characters(chunk)
    yield from characters.blank_sides(chunk)
    yield from characters.white_space(chunk)
    yield from characters.identical_sides(chunk, keys)
    yield from characters.wrong_script(chunk, profile.main_script, profile.usual_scripts)
    yield from characters.repetition(chunk)
    yield from mojibake.garbled(chunk)
    yield from patterns.markup(chunk)
    yield from wrong_language(chunk, profile.models, separable=profile.separable)
    if not profile.is_chat:
        yield from patterns.links(chunk)
        yield from patterns.numbers(chunk)
    if profile.lengths is not None:
        yield from odd_lengths(chunk, profile.lengths)
    if counter is not None:
        yield from too_long(chunk, counter)


def _described(marks: Marks, rows: Rows) -> list[Mark]:
    order = np.argsort(-marks.ranks, kind="stable")[:KEPT]
    texts = (rows.sources, rows.targets)[marks.side]
    return [
        Mark(
            BIT[marks.check],
            float(marks.ranks[i]),
            rows.lines[row],
            marks.side,
            marks.describe(row),
            texts[row][:EXCERPT],
        )
        for i in order
        for row in [int(marks.rows[i])]
    ]
