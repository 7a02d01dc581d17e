"""Pairs that stand more than once, within a split or in two of them, by hashes in arrays.

Texts count as the same when their letters and digits are, whatever their case and punctuation.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.doctor.chunk import Ints

Keys = npt.NDArray[np.uint64]

_ODD = np.uint64(0xD6E8FEB86659FD93)
_TURN = np.uint64(31)
_WIDTH = np.uint64(64)


STOCK_TIMES = 3  # a text in more rows of a split is a stock phrase, which gives nothing away


class Repeats(NamedTuple):
    """Rows that repeat others.

    Attributes:
        rows: [M] the rows that do.
        firsts: [M] the first row with the same text, of each.
    """

    rows: Ints
    firsts: Ints


def pair_keys(source: Keys, target: Keys) -> Keys:
    """Return [N] one hash of both sides; 0 where one of them has no letter or digit."""
    mixed = source * _ODD
    mixed = ((mixed << _TURN) | (mixed >> (_WIDTH - _TURN))) + target
    mixed[(source == 0) | (target == 0)] = 0
    return mixed


def duplicates(keys: Keys) -> Repeats:
    """Return the rows whose key an earlier row has; 0 is no key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    heads = np.maximum.accumulate(np.where(is_new, np.arange(len(keys)), 0))
    again = ~is_new & (ordered != 0)
    rows, firsts = order[again], order[heads[again]]
    back = np.argsort(rows)
    return Repeats(rows[back], firsts[back])


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
    """Texts that many rows have.

    Attributes:
        share: Share of the rows whose text other rows have, too.
        row: A row with the commonest text.
        times: How many rows have that.
    """

    share: float
    row: int
    times: int


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
