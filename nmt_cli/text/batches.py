"""Which examples make up which batch, a pure function of (seed, epoch, window); padded arrays.

The examples of a window (see `windows.py`) are sorted by length and cut where the budget of target
tokens is full, so that little is padding; the batches are then shuffled. A small batch of one
length is a poor sample of the corpus, and learning takes more steps: `train.length_width` weighs
the two. Nothing here depends on what ran before: a resumed run asks for the same window and skips
to its step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import TrainingError
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.text.windows import Indices, ranges

_BLOCK = 1_000_000  # examples whose lengths are looked at together


class Batch(NamedTuple):
    """A padded micro-batch; id 0 is padding.

    Attributes:
        source: [B, S] int32 source ids, each row ending in `</s>`.
        target: [B, T] int32 target ids, each row ending in `</s>`; or the numbers of its labels.
    """

    source: npt.NDArray[np.int32]
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
    """The order of one window.

    Attributes:
        order: Indices of the usable examples, batch by batch.
        starts: [M + 1] where each micro-batch begins in `order`, plus the end.
        accumulate_steps: Micro-batches that make one effective batch.
    """

    order: Indices
    starts: Indices
    accumulate_steps: int

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
    """Check that a split has something to train on or to evaluate.

    Args:
        corpus: Its examples.
        max_length: Tokens that both sides of one must fit.
        split: "train" or "dev".

    Raises:
        TrainingError: No example fits `max_length`; says how long the shortest is.
    """
    shortest, longest = [], []
    for lengths in _longer_sides(corpus):
        shortest.append(lengths.min())
        longest.append(lengths.max())
    if min(shortest) > max_length:
        raise TrainingError(
            f"every pair of {split} is longer than model.max_length ({max_length} tokens); "
            f"the shortest has {min(shortest)}",
            hint=f"raise model.max_length or split the lines, e.g. "
            f"--set model.max_length={max(longest)}",
        )


def plan_window(
    corpus: EncodedCorpus,
    *,
    tokens_per_batch: int,
    accumulate_steps: int,
    length_width: int,
    max_length: int,
    seed: int,
    epoch: int,
    window: int = 0,
) -> WindowPlan:
    """Return the batches of a window; the same arguments always give the same plan.

    Args:
        corpus: The window's examples.
        tokens_per_batch: Target tokens in one effective batch, padding not counted; with labels for
            targets, source tokens.
        accumulate_steps: Micro-batches that share this budget.
        length_width: Counted lengths (of targets, of texts with labels) are grouped by this width,
            those of sources within a group by half of it: wider mixes more and pads more.
        max_length: Examples with a longer side are left out.
        seed: The run's seed.
        epoch: From 0.
        window: From 0.
    """
    random = np.random.default_rng([seed, epoch, window])
    order = random.permutation(usable_examples(corpus, max_length))
    counted_lengths = corpus.counted_lengths
    group = (counted_lengths[order] + random.integers(length_width)) // length_width
    order = order[np.lexsort((corpus.source_lengths[order] // (length_width // 2), group))]
    micro_budget = max(1, tokens_per_batch // accumulate_steps)
    batch_of = (np.cumsum(counted_lengths[order]) - 1) // micro_budget
    starts = np.append(np.flatnonzero(np.diff(batch_of, prepend=-1)), len(order))
    shuffled = random.permutation(len(starts) - 1)
    return WindowPlan(*_reorder(order, starts, shuffled), accumulate_steps)


def _reorder(order: Indices, starts: Indices, batches: Indices) -> tuple[Indices, Indices]:
    """Put whole batches into a new order without a loop over examples."""
    lengths = np.diff(starts)[batches]
    return order[ranges(starts[:-1][batches], lengths)], np.concatenate(([0], np.cumsum(lengths)))


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
