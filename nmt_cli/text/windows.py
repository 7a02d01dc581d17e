"""Which examples an epoch holds and in which window: a pure function of (seed, epoch, window).

An epoch of a large corpus is walked in windows, so that neither its order nor its text is ever held
whole. A pseudo-random permutation that is computed index by index says which examples a window has:
each is drawn from the whole corpus. Within a window `batches.py` orders them by length.

A corpus of weight 2 is seen twice in an epoch. One of weight 0.5 goes on where the epoch before
left off: it is dealt out pass after pass, each pass in an order of its own.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.text.shards import EncodedCorpus

_WINDOW = 500_000  # examples; half a second to order, some 100 MB
_BLOCK = 50_000  # examples copied at a time
_ROUNDS = 6
_ORDER_OF_EPOCH, _ORDER_OF_PASS = 1, 2  # what a permutation is for: the end of its key

Indices = npt.NDArray[np.int64]
Ids = npt.NDArray[np.unsignedinteger[Any]]


class _Share(NamedTuple):
    """What an epoch sees of one corpus, at least one example.

    Attributes:
        number: Which corpus, from 0.
        base: Where the corpus begins among all examples.
        size: Its examples.
        first: Examples of it that were dealt out in all epochs before.
        end: The same with this epoch.
    """

    number: int
    base: int
    size: int
    first: int
    end: int


@dataclass(frozen=True)
class EpochWindows:
    """The windows of one epoch.

    Attributes:
        sizes: Examples of each corpus.
        weights: How often each example of a corpus is seen in an epoch, by corpus.
        seed: The run's seed.
        epoch: From 0.
    """

    sizes: Sequence[int]
    weights: Sequence[float]
    seed: int
    epoch: int

    def __len__(self) -> int:
        return max(1, -(-self._total // _WINDOW))

    def examples(self, window: int) -> Indices:
        """Return the indices of a window's examples (from 0), ascending."""
        first, end = (self._total * w // len(self) for w in (window, window + 1))
        dealt = np.arange(first, end)
        if len(self) > 1:
            dealt = permute(dealt, self._total, [self.seed, self.epoch, 0, 0, _ORDER_OF_EPOCH])
        parts, before = [dealt[:0]], 0
        for share in self._shares():
            count = share.end - share.first
            mine = dealt[(dealt >= before) & (dealt < before + count)] - before
            parts.append(share.base + self._positions(share, share.first + mine))
            before += count
        return np.sort(np.concatenate(parts))

    @property
    def _total(self) -> int:
        return sum(share.end - share.first for share in self._shares())

    def _shares(self) -> Iterator[_Share]:
        bases = itertools.accumulate(self.sizes, initial=0)
        for number, (base, size, weight) in enumerate(
            zip(bases, self.sizes, self.weights, strict=False)  # bases has the end, too
        ):
            in_an_epoch = Fraction(str(weight)) * size
            first, end = (int(in_an_epoch * epoch) for epoch in (self.epoch, self.epoch + 1))
            if first < end:
                yield _Share(number, base, size, first, end)

    def _positions(self, share: _Share, dealt: Indices) -> Indices:
        """Return which examples of a corpus were dealt out as the n-th ones of all epochs."""
        passes, positions = np.divmod(dealt, share.size)
        # Of a pass that lies within this epoch all are seen, whatever their order.
        shared = {bound // share.size for bound in (share.first, share.end) if bound % share.size}
        for one_pass in shared:
            key = [self.seed, one_pass, share.number, 0, _ORDER_OF_PASS]
            chosen = passes == one_pass
            positions[chosen] = permute(positions[chosen], share.size, key)
        return positions


def permute(indices: Indices, size: int, key: Sequence[int]) -> Indices:
    """Return where a pseudo-random permutation of `range(size)` puts each index.

    A Feistel network permutes the powers of two; what lands beyond `size` is sent through again
    until it lands within ("cycle walking", Black and Rogaway 2002, section 3).

    Args:
        indices: Numbers below `size`.
        size: How many there are.
        key: Integers; each list of them is another permutation.
    """
    keys = np.random.default_rng(key).integers(1 << 63, size=_ROUNDS, dtype=np.uint64)
    bits = max(2, (size - 1).bit_length())
    found = _feistel(indices.astype(np.uint64), bits, keys)
    outside = np.flatnonzero(found >= size)
    while len(outside):
        found[outside] = _feistel(found[outside], bits, keys)
        outside = outside[found[outside] >= size]
    return found.astype(np.int64)


def _feistel(
    numbers: npt.NDArray[np.uint64], bits: int, keys: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Permute the numbers of `bits` bits: each round changes one half by a hash of the other."""
    low_bits = np.uint64(bits // 2)
    low_mask = np.uint64((1 << (bits // 2)) - 1)
    high_mask = np.uint64((1 << (bits - bits // 2)) - 1)
    high, low = numbers >> low_bits, numbers & low_mask
    for key_of_high, key_of_low in keys.reshape(-1, 2):
        high ^= scramble(low + key_of_high) & high_mask
        low ^= scramble(high + key_of_low) & low_mask
    return high << low_bits | low


def scramble(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a hash of each number (the finaliser of SplitMix64, Steele et al. 2014)."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ numbers >> np.uint64(31)


def take(corpus: EncodedCorpus, indices: Indices) -> EncodedCorpus:
    """Return some examples as a corpus in memory; read in their order, a block at a time."""
    source = _take_side(corpus, corpus.source, corpus.source_offsets, indices)
    target = _take_side(corpus, corpus.target, corpus.target_offsets, indices)
    return EncodedCorpus(*source, *target, has_labels=corpus.has_labels)


def _take_side(
    corpus: EncodedCorpus, ids: Ids, offsets: Indices, indices: Indices
) -> tuple[Ids, Indices]:
    starts = offsets[indices]
    new_offsets = np.concatenate(([0], np.cumsum(offsets[indices + 1] - starts)))
    taken = np.empty(new_offsets[-1], ids.dtype)
    for first in range(0, len(indices), _BLOCK):
        bounds = new_offsets[first : first + _BLOCK + 1]
        taken[bounds[0] : bounds[-1]] = ids[ranges(starts[first : first + _BLOCK], np.diff(bounds))]
        corpus.release()
    return taken, new_offsets


def ranges(starts: Indices, lengths: Indices) -> Indices:
    """Return `[*range(s, s + n), ...]` for each start s and length n."""
    ends = np.cumsum(lengths)
    shifts: Indices = np.repeat(starts - (ends - lengths), lengths)
    return np.arange(len(shifts)) + shifts
