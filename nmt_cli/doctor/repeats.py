"""Pairs that stand more than once, within a split or in two of them, by hashes in arrays.

Texts count as the same when their letters and digits are, whatever their case and punctuation;
labels when they are exactly the same.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor.chunk import Ints
from nmt_cli.doctor.findings import BIT, CHECKS, Finding
from nmt_cli.doctor.result import KEPT_FINDINGS, CorpusRows

Keys = npt.NDArray[np.uint64]

_ODD = np.uint64(0xD6E8FEB86659FD93)
_TURN = np.uint64(31)
_WIDTH = np.uint64(64)
_SIDES = ("source", "target")

STOCK_TIMES = 3  # a text in more rows of a split is a stock phrase, which gives nothing away
LEAKAGE = 0.05  # share of dev or test in another split: its scores mean nothing
STOCK_SHARE = 0.1  # of the texts of a side: worth a line


class Repeats(NamedTuple):
    """Rows that repeat others."""

    rows: Ints  # [M] the rows that do
    firsts: Ints  # [M] the first row with the same text, of each


def pair_keys(source: Keys, target: Keys) -> Keys:
    """Return [N] one hash of both sides; 0 where one of them has none."""
    mixed = source * _ODD
    mixed = ((mixed << _TURN) | (mixed >> (_WIDTH - _TURN))) + target
    mixed[(source == 0) | (target == 0)] = 0
    return mixed


def duplicates(keys: Keys) -> Repeats:
    """Return the rows whose key an earlier row has; 0 is no key."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    firsts = first[which]
    rows = np.flatnonzero((firsts < np.arange(len(keys))) & (keys != 0))
    return Repeats(rows, firsts[rows])


def in_both(keys: Keys, held_out: Keys) -> Repeats:
    """Return the rows of `keys` whose key is in `held_out` too, and which row has it there."""
    order = np.argsort(held_out, kind="stable")
    ordered = held_out[order]
    if not len(ordered):
        return Repeats(np.zeros(0, np.int64), np.zeros(0, np.int64))
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    rows = np.flatnonzero((ordered[places] == keys) & (keys != 0))
    return Repeats(rows, order[places[rows]])


def without_stock(keys: Keys) -> Keys:
    """Return [N] the keys, 0 for those that more than `STOCK_TIMES` rows have."""
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return keys * (counts[which] <= STOCK_TIMES)


class Stock(NamedTuple):
    """Texts that many rows have."""

    share: float  # share of the rows whose text other rows have, too
    row: int  # a row with the commonest text
    times: int  # how many rows have that


def stock(keys: Keys) -> Stock | None:
    """Return how much of a side is repeated, or None for none of it."""
    valid = np.flatnonzero(keys)
    if not len(valid):
        return None
    _, first, counts = np.unique(keys[valid], return_index=True, return_counts=True)
    most = int(counts.argmax())
    if counts[most] == 1:
        return None
    share = float(counts[counts > 1].sum() / len(keys))
    return Stock(share, int(valid[first[most]]), int(counts[most]))


class SplitRows:
    """All rows of a split, one corpus behind the other."""

    def __init__(self, name: str, corpora: Sequence[CorpusRows]) -> None:
        self.name = name
        self._corpora = corpora
        self._ends = np.cumsum([0, *map(len, corpora)])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def _joined(self, parts: Iterable[Keys]) -> Keys:
        return np.concatenate([np.zeros(0, np.uint64), *parts])

    def keys(self, side: int) -> Keys:
        """Return [N] the keys of one side."""
        return self._joined(corpus.rows[_SIDES[side]] for corpus in self._corpora)

    def pair_keys(self) -> Keys:
        """Return [N] the keys of both sides together; none for single exchanges of dialogues."""
        return self._joined(
            pair_keys(corpus.rows["source"], corpus.rows["target"])
            * np.uint64(not corpus.is_dialogue)
            for corpus in self._corpora
        )

    def telling_keys(self) -> Keys:
        """Return [N] the keys of targets; 0 for short ones, stock phrases, rows marked as leaks."""
        return without_stock(
            self._joined(
                corpus.rows["target"] * (corpus.rows["is_telling"] & ~corpus.has("leakage"))
                for corpus in self._corpora
            )
        )

    def place(self, row: int, side: int = 0) -> str:
        """Return `file:line` of a side of a row, the file as the configuration has it."""
        number = int(np.searchsorted(self._ends, row, side="right")) - 1
        corpus = self._corpora[number]
        _, line = corpus.place(row - int(self._ends[number]), side)
        return f"{corpus.names[-side]}:{line}"

    def mark(
        self, check: str, found: Repeats, describe: Callable[[int], str], side: int = 0
    ) -> None:
        """Note a finding at rows, rising, that repeat others.

        `describe` makes a message of the row that is repeated, for the first ones only; the side is
        0 for the source or both, 1 for the target.
        """
        bit = BIT[check]
        places = np.searchsorted(found.rows, self._ends)
        for number, corpus in enumerate(self._corpora):
            first, last = places[number : number + 2]
            rows = found.rows[first:last] - self._ends[number]
            corpus.rows["found"][rows] |= np.uint32(1 << bit)
            for row, other in zip(rows[:KEPT_FINDINGS], found.firsts[first:last], strict=False):
                what = (describe(int(other)), *corpus.place(row, side), "", 1.0)
                corpus.note(side, Finding(check, CHECKS[bit].severity, *what))


def note_duplicates(split: SplitRows) -> None:
    """Mark the pairs of a split that an earlier row has."""
    split.mark("duplicate", duplicates(split.pair_keys()), lambda row: f"as {split.place(row)}")


def note_leakage(split: SplitRows, held_out: SplitRows, *, pairs: bool) -> Iterator[Finding]:
    """Mark the rows of a split that `held_out` has, too; yield an error when these are many.

    `pairs`: only equal pairs count, not equal sources or targets.
    """
    lost = np.zeros(len(held_out), np.bool_)
    if pairs:
        lost |= _mark_shared(split, held_out, "pair", SplitRows.pair_keys)
    else:
        lost |= _mark_shared(split, held_out, "source", lambda rows: rows.keys(0))
        lost |= _mark_shared(split, held_out, "target", SplitRows.telling_keys, side=1)
    share = float(lost.mean()) if len(lost) else 0.0
    if share > LEAKAGE:
        message = f"{share:.0%} of {held_out.name} is in {split.name}, too: its scores will mislead"
        yield Finding("leakage", "error", message)


def _mark_shared(
    split: SplitRows,
    held_out: SplitRows,
    what: str,
    keys: Callable[[SplitRows], Keys],
    side: int = 0,
) -> npt.NDArray[np.bool_]:
    """Mark the rows of a split whose key `held_out` has; return which rows of that they have."""
    ours, theirs = keys(split), keys(held_out)
    found = in_both(ours, theirs)

    def describe(row: int) -> str:
        return f"the {what} is also {held_out.place(row, side)}"

    split.mark("leakage", found, describe, side)
    lost: npt.NDArray[np.bool_] = np.isin(theirs, ours[found.rows]) & (theirs != 0)
    return lost


def stock_findings(split: SplitRows) -> Iterator[Finding]:
    """Yield a line for each side of a split of which much is repeated."""
    for number, side in enumerate(_SIDES):
        found = stock(split.keys(number))
        if found and found.share >= STOCK_SHARE:
            message = (
                f"{split.name}: {found.share:.0%} of the {side}s occur more than once, the "
                f"most frequent {found.times:,} times ({split.place(found.row)})"
            )
            yield Finding(f"repeated-{side}s", "info", message)


def contradiction_findings(split: SplitRows) -> Iterator[Finding]:
    """Yield a line where the same text stands with different labels."""
    texts, labels = split.keys(0), split.keys(1)
    order = np.lexsort((labels, texts))
    texts, labels = texts[order], labels[order]
    same = (texts[1:] == texts[:-1]) & (texts[1:] != 0)
    found = np.flatnonzero(same & (labels[1:] != labels[:-1]))
    if len(found):
        one, other = sorted(order[found[0] : found[0] + 2].tolist())
        places = f"{split.place(one)} and {split.place(other)}"
        count = len(np.unique(texts[found]))
        message = f"texts of {split.name} with different labels: {count:,}, such as {places}"
        yield Finding("labels", "warning", message)
