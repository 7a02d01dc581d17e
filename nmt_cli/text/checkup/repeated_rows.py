"""Rows that repeat others, over all corpora of a split and between splits."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nmt_cli.text.checkup.findings import BIT, Finding
from nmt_cli.text.checkup.lines import Keys, Mark
from nmt_cli.text.checkup.repeats import Repeats, duplicates, in_both, pair_keys, stock
from nmt_cli.text.checkup.report import KEPT_FINDINGS, CorpusRows

LEAKAGE = 0.05  # share of dev or test in another split: its scores mean nothing
STOCK_SHARE = 0.1  # of the texts of a side: worth a line
_SIDES = ("source", "target")


class SplitRows:
    """All rows of a split, one corpus behind the other.

    Args:
        name: "train", "dev" or "test".
        corpora: Its corpora.
    """

    def __init__(self, name: str, corpora: Sequence[CorpusRows]) -> None:
        self.name = name
        self.corpora = corpora
        self._ends = np.cumsum([len(corpus) for corpus in corpora])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def keys(self, side: int) -> Keys:
        """Return [N] the keys of one side."""
        return np.concatenate([np.zeros(0, np.uint64), *(c.keys[side] for c in self.corpora)])

    def pair_keys(self) -> Keys:
        """Return [N] the keys of both sides together; none for single exchanges of dialogues."""
        keys = [
            pair_keys(*corpus.keys) * np.uint64(not corpus.is_dialogue) for corpus in self.corpora
        ]
        return np.concatenate([np.zeros(0, np.uint64), *keys])

    def place(self, row: int) -> str:
        """Return `file:line` of a row."""
        number, within = self._locate(row)
        return self.corpora[number].place(within)

    def mark(self, check: str, found: Repeats, describe: Callable[[int], str]) -> None:
        """Note a finding at rows that repeat others.

        Args:
            check: Its name.
            found: The rows, rising.
            describe: The row that is repeated -> a message; called for the first rows only.
        """
        bit = BIT[check]
        ends = np.searchsorted(found.rows, self._ends)
        for corpus, first, last, end in zip(
            self.corpora, (0, *ends), ends, self._ends, strict=False
        ):
            rows = found.rows[first:last] - (end - len(corpus))
            corpus.found[rows] |= np.uint32(1 << bit)
            for row, other in zip(rows[:KEPT_FINDINGS], found.firsts[first:last], strict=False):
                corpus.note(Mark(bit, 1.0, int(corpus.lines[row]), 0, describe(int(other)), ""))

    def _locate(self, row: int) -> tuple[int, int]:
        number = int(np.searchsorted(self._ends, row, side="right"))
        return number, row - (int(self._ends[number - 1]) if number else 0)


def note_duplicates(split: SplitRows) -> None:
    """Mark the pairs of a split that an earlier row has."""
    split.mark("duplicate", duplicates(split.pair_keys()), lambda row: f"as {split.place(row)}")


def note_leakage(split: SplitRows, held_out: SplitRows, *, pairs: bool) -> Iterator[Finding]:
    """Mark the rows of a split that `held_out` has, too; yield an error when these are many.

    Args:
        split: Where rows are marked: the split that should lose them.
        held_out: The split that is for judging.
        pairs: Whether only equal pairs count, not equal sources.
    """
    ours, theirs = (s.pair_keys() if pairs else s.keys(0) for s in (split, held_out))
    found = in_both(ours, theirs)
    what = "the pair" if pairs else "the source"
    split.mark("leakage", found, lambda row: f"{what} is also {held_out.place(row)}")
    lost = np.isin(theirs, ours[found.rows]) & (theirs != 0)
    share = float(lost.mean()) if len(lost) else 0.0
    if share > LEAKAGE:
        yield Finding(
            "leakage",
            "error",
            None,
            None,
            f"{share:.0%} of {held_out.name} is in {split.name}, too: its scores will mislead",
        )


def stock_findings(split: SplitRows) -> Iterator[Finding]:
    """Yield a line for each side of a split of which much is repeated."""
    for number, side in enumerate(_SIDES):
        found = stock(split.keys(number))
        if found and found.share >= STOCK_SHARE:
            yield Finding(
                f"repeated-{side}s",
                "info",
                None,
                None,
                f"{split.name}: {found.share:.0%} of the {side}s stand more than once, the "
                f"commonest {found.times:,} times ({split.place(found.row)})",
            )
