"""Tests of nmt_cli/text/bpe_dropout.py: how often merges are left out, and what decides it."""

import itertools
from collections import Counter

import numpy as np
import pytest

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.text.bpe_dropout import MergeDropout
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords

LINES = ["abcd abcd dog cat", "abcd the dog sees a cat"]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train(LINES * 9, TokenizerConfig(vocab_size=400))


def corpus_of(subwords: Subwords, lines: list[str]) -> EncodedCorpus:
    rows = [[*ids, EOS_ID] for ids in subwords.encode_batch(lines)]
    flat = np.array(list(itertools.chain(*rows)), np.uint16)
    offsets = np.cumsum([0, *map(len, rows)])
    return EncodedCorpus(flat, offsets, flat.copy(), offsets)


def dropout(subwords: Subwords, probability: float, seed: int = 1) -> MergeDropout:
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=99)
    return MergeDropout(encoder, probability, seed)


def rows(corpus: EncodedCorpus) -> list[tuple[list[int], list[int]]]:
    source, target = corpus.source_offsets, corpus.target_offsets
    return [
        (
            corpus.source[source[i] : source[i + 1]].tolist(),
            corpus.target[target[i] : target[i + 1]].tolist(),
        )
        for i in range(len(corpus))
    ]


def test_nothing_left_out_is_the_same_corpus(subwords):
    corpus = corpus_of(subwords, LINES)
    again = dropout(subwords, 0.0).change(corpus, 0, 0)
    assert rows(again) == rows(corpus)
    assert again.source.dtype == np.uint16


@pytest.mark.parametrize("block", [50_000, 2])
def test_a_side_that_would_be_too_long_keeps_its_tokens(subwords, monkeypatch, block):
    monkeypatch.setattr("nmt_cli.text.bpe_dropout._BLOCK", block)
    corpus = corpus_of(subwords, LINES * 20)
    shorter, longer = sorted({len(source) for source, _ in rows(corpus)})
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=longer)
    again = MergeDropout(encoder, 0.1, 1).change(corpus, 0, 0)
    sides = [side for pair in rows(again) for side in pair]
    before = [side for pair in rows(corpus) for side in pair]
    assert max(map(len, sides)) <= longer
    assert [subwords.decode(ids) for ids in sides] == [subwords.decode(ids) for ids in before]
    assert {len(side) > len(old) for side, old in zip(sides, before, strict=True)} == {True, False}
    # What is too long already is left out of training, and may stay so.
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=shorter - 1)
    assert rows(MergeDropout(encoder, 0.5, 1).change(corpus, 0, 0)) == rows(corpus)


def test_blocks_do_not_lose_examples(subwords, monkeypatch):
    monkeypatch.setattr("nmt_cli.text.bpe_dropout._BLOCK", 3)
    corpus = corpus_of(subwords, LINES * 4)
    for probability in (0.0, 0.5):
        again = dropout(subwords, probability).change(corpus, 0, 0)
        texts = [[subwords.decode(ids) for ids in pair] for pair in rows(again)]
        assert texts == [[line, line] for line in LINES * 4]


def test_seed_epoch_window_and_side_decide(subwords):
    corpus = corpus_of(subwords, LINES * 20)
    found = rows(dropout(subwords, 0.5).change(corpus, 2, 3))
    assert found == rows(dropout(subwords, 0.5).change(corpus, 2, 3))
    for seed, epoch, window in ((2, 2, 3), (1, 3, 3), (1, 2, 4)):
        other = dropout(subwords, 0.5, seed).change(corpus, epoch, window)
        assert rows(other) != found
    assert any(source != target for source, target in found)


def test_a_words_ways_are_a_few_and_all_are_used(subwords):
    corpus = corpus_of(subwords, ["abcd"] * 4000)
    counts = Counter(
        tuple(source) for source, _ in rows(dropout(subwords, 0.5).change(corpus, 0, 0))
    )
    assert 2 <= len(counts) <= 8
    assert min(counts.values()) > 4000 / 8 * 0.7


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_merges_are_left_out_as_often_as_wanted(subwords, probability):
    """Of a word that is two characters, whose only merge is left out or not."""
    assert len(subwords.encode("a")) == 1  # marker and letter
    corpus = corpus_of(subwords, ["a"] * 400)
    drop = dropout(subwords, probability).change
    left_out = np.concatenate(
        [drop(corpus, epoch, 0).source_lengths - 2 for epoch in range(100)]  # the letter, the end
    )
    assert set(left_out.tolist()) == {0, 1}
    deviation = (probability * (1 - probability) / 800) ** 0.5  # 8 ways in each of 100 epochs
    assert np.mean(left_out) == pytest.approx(probability, abs=4 * deviation)
