"""Which examples make up which batch, a pure function of (seed, epoch, window); padded arrays.

An epoch of a large corpus is walked in windows, so that neither its order nor its text is ever held
whole. A pseudo-random permutation, computed index by index, says which examples a window has: each
is drawn from the whole corpus. A corpus of weight 2 is seen twice in an epoch. One of weight 0.5
continues where the previous epoch left off: it is dealt out pass after pass, each in its own order.

The examples of a window are sorted by length and cut where the budget of target tokens is full, so
that little is padding; the batches are then shuffled. A small batch of one length is a poor sample
of the corpus, and learning takes more steps: `train.length_width` weighs the two.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.config.schema import Config
from nmt_cli.errors import TrainingError
from nmt_cli.text.shards import EncodedCorpus

_WINDOW = 500_000  # examples; half a second to order, some 100 MB
_WINDOW_BLOCK = 50_000  # examples copied at a time
_ROUNDS = 6
_ORDER_OF_EPOCH, _ORDER_OF_PASS = 1, 2  # what a permutation is for: the end of its key

Indices = npt.NDArray[np.int64]
Ids = npt.NDArray[np.unsignedinteger[Any]]


class _Share(NamedTuple):
    """What an epoch sees of one corpus, at least one example.

    `number` is its place; it begins at `base` among all examples and has `size`; of it `first` were
    dealt out in all epochs before, `end` with this one.
    """

    number: int
    base: int
    size: int
    first: int
    end: int


@dataclass(frozen=True)
class EpochWindows:
    """The windows of one epoch (from 0), by each corpus's size and weight.

    A weight says how often each example of a corpus is seen in an epoch.
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

    Each `key` is another permutation. A Feistel network permutes the powers of two; what lands
    beyond `size` is sent through again until it lands within ("cycle walking", Black and Rogaway
    2002, section 3).
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
    for first in range(0, len(indices), _WINDOW_BLOCK):
        bounds = new_offsets[first : first + _WINDOW_BLOCK + 1]
        places = ranges(starts[first : first + _WINDOW_BLOCK], np.diff(bounds))
        taken[bounds[0] : bounds[-1]] = ids[places]
        corpus.release()
    return taken, new_offsets


def ranges(starts: Indices, lengths: Indices) -> Indices:
    """Return `[*range(s, s + n), ...]` for each start s and length n."""
    ends = np.cumsum(lengths)
    shifts: Indices = np.repeat(starts - (ends - lengths), lengths)
    return np.arange(len(shifts)) + shifts


_BLOCK = 1_000_000  # examples whose lengths are looked at together


class Batch(NamedTuple):
    """A padded micro-batch; id 0 is padding."""

    source: npt.NDArray[np.int32]  # [B, S] int32 source ids, each row ending in `</s>`
    # [B, T] int32 target ids, each row ending in `</s>`; or the numbers of its labels
    target: npt.NDArray[np.int32]

    @property
    def num_tokens(self) -> int:
        """Target tokens, padding not counted."""
        return int(np.count_nonzero(self.target))

    @property
    def num_positions(self) -> int:
        """All positions of both sides, padding counted."""
        return self.source.size + self.target.size

    @property
    def num_padding(self) -> int:
        """Positions of both sides without a token."""
        return self.num_positions - int(np.count_nonzero(self.source)) - self.num_tokens


@dataclass(frozen=True)
class WindowPlan:
    """The order of one window."""

    order: Indices  # indices of the usable examples, batch by batch
    starts: Indices  # [M + 1] where each micro-batch begins in `order`, plus the end
    accumulate_steps: int  # micro-batches that make one effective batch

    @property
    def num_steps(self) -> int:
        """Optimizer steps in this window; the last may have fewer micro-batches."""
        return -(-(len(self.starts) - 1) // self.accumulate_steps)

    def micro_batches(self, step: int) -> list[Indices]:
        """Return the example indices of each micro-batch of one step (from 0)."""
        first = step * self.accumulate_steps
        last = min(first + self.accumulate_steps, len(self.starts) - 1)
        return [self.order[self.starts[i] : self.starts[i + 1]] for i in range(first, last)]


def usable_examples(corpus: EncodedCorpus, max_length: int) -> Indices:
    """Return the indices of examples whose sides both fit `max_length` tokens."""
    return np.flatnonzero(np.maximum(corpus.source_lengths, corpus.target_lengths) <= max_length)


def num_too_long(corpus: EncodedCorpus, max_length: int) -> int:
    """Return how many examples have a side of more than `max_length` tokens."""
    return sum(int(np.count_nonzero(lengths > max_length)) for lengths in _longer_sides(corpus))


def _longer_sides(corpus: EncodedCorpus) -> Iterator[Indices]:
    """Yield the tokens of each example's longer side, for some examples at a time."""
    for first in range(0, len(corpus), _BLOCK):
        within = slice(first, first + _BLOCK + 1)
        source, target = (o[within] for o in (corpus.source_offsets, corpus.target_offsets))
        yield np.maximum(np.diff(source), np.diff(target))


def check_usable(corpus: EncodedCorpus, max_length: int, split: str) -> None:
    """Raise TrainingError when no example of a split ("train", "dev") fits `max_length` tokens."""
    bounds = [(lengths.min(), lengths.max()) for lengths in _longer_sides(corpus)]
    shortest, longest = min(low for low, _ in bounds), max(high for _, high in bounds)
    if shortest > max_length:
        raise TrainingError(
            f"every pair of {split} is longer than model.max_length ({max_length} tokens); "
            f"the shortest has {shortest}",
            hint="raise model.max_length or split the lines, e.g. "
            f"--set model.max_length={longest}",
        )


def plan_window(
    corpus: EncodedCorpus, config: Config, epoch: int = 0, window: int = 0
) -> WindowPlan:
    """Return the batches of a window (both from 0); the same arguments always give the same plan.

    Examples with a side beyond `model.max_length` are left out. An effective batch has about
    `train.tokens_per_batch` counted tokens (of targets, or with labels for targets, of sources),
    padding apart; its `accumulate_steps` micro-batches share them. Counted lengths are grouped by
    `length_width`, those of sources within a group by half of it: wider mixes more and pads more.
    """
    train, length_width = config.train, config.train.length_width
    random = np.random.default_rng([config.seed, epoch, window])
    order = random.permutation(usable_examples(corpus, config.model.max_length))
    counted_lengths = corpus.counted_lengths
    group = (counted_lengths[order] + random.integers(length_width)) // length_width
    order = order[np.lexsort((corpus.source_lengths[order] // (length_width // 2), group))]
    micro_budget = max(1, train.tokens_per_batch // train.accumulate_steps)
    batch_of = (np.cumsum(counted_lengths[order]) - 1) // micro_budget
    starts = np.append(np.flatnonzero(np.diff(batch_of, prepend=-1)), len(order))
    shuffled = random.permutation(len(starts) - 1)
    lengths = np.diff(starts)[shuffled]
    order = order[ranges(starts[:-1][shuffled], lengths)]
    return WindowPlan(order, np.append(0, np.cumsum(lengths)), train.accumulate_steps)


def assemble(corpus: EncodedCorpus, indices: Indices) -> Batch:
    """Return the padded arrays of some examples; no Python per example."""
    return Batch(
        _pad(corpus.source, corpus.source_offsets, indices),
        _pad(corpus.target, corpus.target_offsets, indices),
    )


def _pad(
    ids: npt.NDArray[np.unsignedinteger[Any]], offsets: npt.NDArray[np.int64], indices: Indices
) -> npt.NDArray[np.int32]:
    starts, lengths = offsets[indices], offsets[indices + 1] - offsets[indices]
    positions = np.arange(lengths.max())
    real = positions < lengths[:, None]  # [B, T]
    padded = np.zeros(real.shape, np.int32)
    padded[real] = ids[(starts[:, None] + positions)[real]]
    return padded


def shares(batch: Batch, count: int) -> list[Batch]:
    """Return a batch cut by rows into `count` parts; with too few rows the last have none."""
    if count == 1:
        return [batch]
    sides = [np.array_split(side, count) for side in batch]
    return [Batch(*map(_trimmed, parts)) for parts in zip(*sides, strict=True)]


def cut(batches: Sequence[Batch], halvings: int) -> list[Batch]:
    """Return batches cut in half by rows `halvings` times; a single row cannot be cut."""
    parts = list(batches)
    for _ in range(halvings):
        parts = [half for batch in parts for half in shares(batch, 2) if len(half.source)]
    return parts


def _trimmed(ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Take off the columns in which no row has a token any more."""
    return ids[:, : np.count_nonzero(ids, axis=1).max(initial=1)]


def batches_by_length(
    corpus: EncodedCorpus, max_length: int, tokens_per_batch: int
) -> list[Indices]:
    """Return all usable examples in batches of similar length, for evaluation; not shuffled."""
    usable = usable_examples(corpus, max_length)
    counted_lengths = corpus.counted_lengths
    order = usable[np.argsort(counted_lengths[usable], kind="stable")]
    batch_of = (np.cumsum(counted_lengths[order]) - 1) // tokens_per_batch
    return np.split(order, np.flatnonzero(np.diff(batch_of)) + 1)
