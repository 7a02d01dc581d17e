"""BPE-dropout: the same text in other tokens each epoch, by merges left out at random.

`tokenizers` has it too, but takes no seed. Here the tokens are a function of seed, epoch, window
and place. It begins with the tokens on disk: they tell where words begin, and what characters they
are made of. A word has eight ways to be split, drawn anew each epoch; each occurrence takes one of
them. All words are split at once, in flat arrays: a merge is one pass over those not done.

Reference: Provilkov et al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization",
section 3 (arXiv:1910.13267).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.text.batches import Ids, Indices, ranges, scramble
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.special_tokens import (
    BYTE_TOKENS,
    CONTROL_TOKENS,
    PLACEHOLDERS,
    TERM_MARKS,
    WORD_MARKER,
)
from nmt_cli.text.tokenizer import Subwords

_KEY = 3  # keeps these draws apart from those of the order (see `batches.py`)
_WAYS = 8  # segmentations of a word in a window
_BLOCK = 50_000  # examples split at a time
_NO_MERGE = np.iinfo(np.int64).max

Hashes = npt.NDArray[np.uint64]


class _Words(NamedTuple):
    """Words as flat arrays: [all tokens] ids of one after the other, [W] tokens of each."""

    ids: Indices
    lengths: Indices


class MergeDropout:
    """Splits the words of a corpus anew; `probability` is that of leaving out a possible merge.

    A side that would be too long for the model keeps its tokens.
    """

    def __init__(self, encoder: Encoder, probability: float, seed: int) -> None:
        source = WordSplitter(encoder.source)
        joint = encoder.target is encoder.source
        self._splitters = (source, source if joint else WordSplitter(encoder.target))
        self._probability = probability
        self._seed = seed
        self._longest = encoder.max_length

    def change(self, corpus: EncodedCorpus, epoch: int, window: int) -> EncodedCorpus:
        """Return a window's examples, in memory, in the tokens of this epoch."""
        source = self._split_side(0, corpus.source, corpus.source_offsets, epoch, window)
        target = corpus.target, corpus.target_offsets
        if not corpus.has_labels:
            target = self._split_side(1, *target, epoch, window)
        return EncodedCorpus(*source, *target, has_labels=corpus.has_labels)

    def _split_side(
        self, number: int, ids: Ids, offsets: Indices, epoch: int, window: int
    ) -> tuple[Ids, Indices]:
        random = np.random.default_rng([self._seed, epoch, window, number, _KEY])
        seed_of_ways, seed_of_choices = random.integers(1 << 63, size=2, dtype=np.uint64)
        new_ids, lengths = [], [np.zeros(1, np.int64)]
        for first in range(0, len(offsets) - 1, _BLOCK):
            bounds = offsets[first : first + _BLOCK + 1]
            before = ids[bounds[0] : bounds[-1]], np.diff(bounds)
            found = self._splitters[number].split_again(
                *before, self._probability, seed_of_ways, seed_of_choices + np.uint64(first)
            )
            kept = _without_longer(_Words(*found), *before, self._longest)
            new_ids.append(kept.ids.astype(ids.dtype))
            lengths.append(kept.lengths)
        return np.concatenate(new_ids or [ids[:0]]), np.cumsum(np.concatenate(lengths))


class WordSplitter:
    """Byte-pair encoding with dropout by the merges of a vocabulary."""

    def __init__(self, subwords: Subwords) -> None:
        tokens = subwords.all_tokens()
        numbers = {token: number for number, token in enumerate(tokens)}
        # No characters: they stand alone.
        fixed = {*CONTROL_TOKENS, *subwords.tags, *PLACEHOLDERS, *TERM_MARKS, *BYTE_TOKENS}
        characters = [
            [number] if token in fixed else [numbers[character] for character in token]
            for number, token in enumerate(tokens)
        ]
        self._size = len(tokens)
        self._first_text = len(CONTROL_TOKENS) + len(subwords.tags)
        self._num_characters = np.array(list(map(len, characters)))
        self._first_character = np.cumsum(self._num_characters) - self._num_characters
        self._characters = np.array([number for found in characters for number in found])
        is_letter = np.array([len(token) == 1 and subwords.is_letter(token) for token in tokens])
        is_marker = np.array([token == WORD_MARKER for token in tokens])
        ends = self._first_character + self._num_characters - 1
        self._begins_with_letter = is_letter[self._characters[self._first_character]]
        self._ends_with_letter = is_letter[self._characters[ends]]
        self._begins_with_marker = is_marker[self._characters[self._first_character]]
        self._ends_with_marker = is_marker[self._characters[ends]]
        merges = np.array(
            [(numbers[a], numbers[b], numbers[a + b]) for a, b in subwords.merges()], np.int64
        ).reshape(-1, 3)
        pairs = merges[:, 0] * self._size + merges[:, 1]
        self._ranks = np.argsort(pairs)  # of the pairs below
        self._pairs = pairs[self._ranks]
        self._merged = merges[:, 2]  # by rank

    def split_again(
        self,
        ids: Ids,
        lengths: Indices,
        probability: float,
        seed_of_ways: np.uint64,
        seed_of_choices: np.uint64,
    ) -> tuple[Indices, Indices]:
        """Return the new ids of some examples, one after the other, and how many each has.

        Args:
            ids: [all tokens] of the examples.
            lengths: [N] tokens of each, at least one.
            probability: Of leaving a merge out.
            seed_of_ways: Of the ways to split each word.
            seed_of_choices: Of which one each occurrence takes.
        """
        words = self._words(ids.astype(np.int64), lengths)
        places = np.arange(len(words.lengths), dtype=np.uint64)
        ways = scramble(scramble(places) ^ seed_of_choices) % np.uint64(_WAYS)
        # Each word in each way once. Two that share a 64-bit hash would be taken for one; among
        # a million that happens once in 40 million corpora.
        keys = scramble(scramble(_hashes(words) ^ seed_of_ways) + ways)
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        starts = np.cumsum(words.lengths) - words.lengths
        chosen = words.ids[ranges(starts[first], words.lengths[first])]
        split = self._split(
            self._as_characters(chosen, words.lengths[first]), probability, distinct
        )
        split_starts = np.cumsum(split.lengths) - split.lengths
        new_ids = split.ids[ranges(split_starts[which], split.lengths[which])]
        example = np.searchsorted(np.cumsum(lengths), starts, side="right")  # of each word
        new_lengths = np.bincount(example, split.lengths[which], len(lengths))
        return new_ids, new_lengths.astype(np.int64)

    def _words(self, ids: Indices, lengths: Indices) -> _Words:
        """Find the words: where the vocabulary's pattern splits a text before it merges."""
        before, after = ids[:-1], ids[1:]
        joined = self._ends_with_letter[before] & self._begins_with_letter[after]
        joined |= self._ends_with_marker[before] & ~self._begins_with_marker[after]
        joined &= (after >= self._first_text) & (before >= self._first_text)
        is_start = np.concatenate(([True], ~joined))
        is_start[(np.cumsum(lengths) - lengths)] = True
        starts = np.flatnonzero(is_start)
        return _Words(ids, np.diff(starts, append=len(ids)))

    def _as_characters(self, ids: Indices, lengths: Indices) -> _Words:
        """Take tokens apart into the tokens of single characters."""
        flat = self._characters[ranges(self._first_character[ids], self._num_characters[ids])]
        ends = np.cumsum(self._num_characters[ids])[np.cumsum(lengths) - 1]
        return _Words(flat, np.diff(ends, prepend=0))

    def _split(self, words: _Words, probability: float, seeds: Hashes) -> _Words:
        """Merge characters again: the best merge that was not left out, until there is none."""
        done: list[tuple[Indices, _Words]] = []
        numbers = np.arange(len(words.lengths))
        ids, lengths = words.ids.copy(), words.lengths
        ranks = np.append(self._ranks_of(ids[:-1], ids[1:]), _NO_MERGE)
        while len(numbers):
            ends = np.cumsum(lengths)
            starts, row = ends - lengths, np.repeat(np.arange(len(numbers)), lengths)
            ranks[ends - 1] = _NO_MERGE
            allowed = self._not_left_out(ranks, starts, row, lengths, probability, seeds[numbers])
            best = np.minimum.reduceat(allowed, starts)
            goes_on = best < _NO_MERGE
            is_done = ~goes_on[row]
            done.append((numbers[~goes_on], _Words(ids[is_done], lengths[~goes_on])))
            at = np.flatnonzero((allowed == best[row]) & ~is_done)
            at = at[np.diff(row[at], prepend=-1) > 0]  # the leftmost in each word
            ids[at] = self._merged[best[goes_on]]
            keep = ~is_done
            keep[at + 1] = False
            ids, ranks, at = ids[keep], ranks[keep], (np.cumsum(keep) - 1)[at]
            numbers, lengths = numbers[goes_on], lengths[goes_on] - 1
            changed = np.concatenate((at, np.maximum(at - 1, 0)))
            ranks[changed] = self._ranks_of(
                ids[changed], ids[np.minimum(changed + 1, len(ids) - 1)]
            )
        return _in_order(done)

    def _not_left_out(
        self,
        ranks: Indices,
        starts: Indices,
        row: Indices,
        lengths: Indices,
        probability: float,
        seeds: Hashes,
    ) -> Indices:
        """Return the ranks with those of merges that are left out this time taken away."""
        if not probability:
            return ranks
        allowed = ranks.copy()
        possible = np.flatnonzero(ranks < _NO_MERGE)
        rows = row[possible]
        # Each merge makes a word one token shorter: with the length, every draw is another one.
        draw = scramble(
            lengths[rows].astype(np.uint64) << np.uint64(32)
            | (possible - starts[rows]).astype(np.uint64)
        )
        draws = scramble(draw ^ seeds[rows]) >> np.uint64(11)
        allowed[possible[draws < int(probability * (1 << 53))]] = _NO_MERGE
        return allowed

    def _ranks_of(self, left: Indices, right: Indices) -> Indices:
        """Return the rank of each pair's merge, `_NO_MERGE` where there is none."""
        if not len(self._pairs):
            return np.full(len(left), _NO_MERGE)
        pairs = left * self._size + right
        found = np.minimum(np.searchsorted(self._pairs, pairs), len(self._pairs) - 1)
        return np.where(self._pairs[found] == pairs, self._ranks[found], _NO_MERGE)


def _without_longer(rows: _Words, ids_before: Ids, lengths_before: Indices, longest: int) -> _Words:
    """Return rows with what stood before in place of those of more than `longest` tokens."""
    is_longer = rows.lengths > longest
    if not is_longer.any():
        return rows
    lengths = np.where(is_longer, lengths_before, rows.lengths)
    starts = np.cumsum(rows.lengths) - rows.lengths
    starts_before = len(rows.ids) + np.cumsum(lengths_before) - lengths_before
    ids = np.concatenate((rows.ids, ids_before.astype(np.int64)))
    return _Words(ids[ranges(np.where(is_longer, starts_before, starts), lengths)], lengths)


def _hashes(words: _Words) -> Hashes:
    """Return a hash of each word's tokens."""
    starts = np.cumsum(words.lengths) - words.lengths
    place = np.arange(len(words.ids)) - np.repeat(starts, words.lengths)
    mixed = scramble((place << 32 | words.ids).astype(np.uint64))
    return np.add.reduceat(mixed, starts)


def _in_order(parts: list[tuple[Indices, _Words]]) -> _Words:
    """Put words, given with their numbers in several parts, into the order of their numbers."""
    ids = np.concatenate([words.ids for _, words in parts])
    lengths = np.concatenate([words.lengths for _, words in parts])
    order = np.argsort(np.concatenate([numbers for numbers, _ in parts]))
    starts = np.cumsum(lengths) - lengths
    return _Words(ids[ranges(starts[order], lengths[order])], lengths[order])
