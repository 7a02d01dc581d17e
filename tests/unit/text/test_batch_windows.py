"""Tests of nmt_cli/text/batches.py: permutations, what an epoch deals out, copies of examples."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.text import batches
from nmt_cli.text.batches import EpochWindows, permute, ranges, take
from nmt_cli.text.shards import EncodedCorpus


class TestPermute:
    @settings(max_examples=150)
    @given(size=st.integers(1, 5000), key=st.lists(st.integers(0, 2**31), min_size=1, max_size=4))
    def test_every_index_goes_to_a_place_of_its_own(self, size, key):
        assert np.sort(permute(np.arange(size), size, key)).tolist() == list(range(size))

    def test_each_index_is_computed_alone(self):
        whole = permute(np.arange(1000), 1000, [1, 2])
        assert permute(np.array([7, 999, 7]), 1000, [1, 2]).tolist() == whole[[7, 999, 7]].tolist()

    def test_keys_give_different_orders(self):
        orders = [permute(np.arange(100), 100, key).tolist() for key in ([1], [2], [1, 1], [1, 2])]
        assert len(set(map(tuple, orders))) == 4

    @pytest.mark.parametrize("size", [1000, 4096, 5000])
    def test_neighbours_are_scattered_evenly(self, size):
        """Each tenth of the indices goes to each tenth of the places about equally often."""
        counts = np.zeros((10, 10))
        for seed in range(20):
            places = permute(np.arange(size), size, [seed])
            np.add.at(counts, (np.arange(size) * 10 // size, places * 10 // size), 1)
        expected = 20 * size / 100
        chi_square = ((counts - expected) ** 2 / expected).sum()
        assert chi_square < 140  # 81 degrees of freedom: 1 in 10,000 is above that
        steps = np.diff(permute(np.arange(size), size, [1]))
        assert abs(np.corrcoef(steps[:-1], steps[1:])[0, 1] + 0.5) < 0.1  # as for random orders


corpora = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.7])),
    min_size=1,
    max_size=4,
)


class TestEpochWindows:
    @settings(max_examples=150)
    @given(corpora=corpora, seed=st.integers(0, 99), window=st.integers(1, 50))
    def test_ten_epochs_deal_out_each_corpus_by_its_weight(self, corpora, seed, window):
        sizes, weights = zip(*corpora, strict=True)
        bases = [0, *itertools.accumulate(sizes)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches, "_WINDOW", window)
            seen = np.zeros(sum(sizes), int)
            for epoch in range(10):
                this = EpochWindows(sizes, weights, seed, epoch)
                found = [this.examples(number) for number in range(len(this))]
                assert all((np.diff(indices) >= 0).all() for indices in found)
                assert max(map(len, found)) <= window
                counts = np.bincount(np.concatenate(found), minlength=sum(sizes))
                for weight, (first, end) in zip(weights, itertools.pairwise(bases), strict=True):
                    assert abs(counts[first:end].sum() - weight * (end - first)) < 1
                    if end > first:  # as evenly as possible
                        assert counts[first:end].max() <= np.ceil(weight) + (weight % 1 > 0)
                seen += counts
        for weight, (first, end) in zip(weights, itertools.pairwise(bases), strict=True):
            assert (seen[first:end] == round(10 * weight)).all()

    def test_one_corpus_in_one_window_is_all_of_it(self):
        for epoch in range(3):
            assert EpochWindows([7], [1.0], 1, epoch).examples(0).tolist() == list(range(7))

    def test_windows_are_of_equal_size(self, monkeypatch):
        monkeypatch.setattr(batches, "_WINDOW", 100)
        this = EpochWindows([201], [1.0], 1, 0)
        assert [len(this.examples(number)) for number in range(len(this))] == [67, 67, 67]

    def test_each_epoch_deals_out_its_windows_anew(self, monkeypatch):
        monkeypatch.setattr(batches, "_WINDOW", 100)
        first = [
            set(EpochWindows([200], [1.0], 1, epoch).examples(0).tolist()) for epoch in range(3)
        ]
        for one, other in itertools.combinations(first, 2):
            assert 25 < len(one & other) < 75  # half of a hundred, give or take five deviations


def test_take(monkeypatch):
    monkeypatch.setattr(batches, "_WINDOW_BLOCK", 2)
    sides = np.arange(1, 11, dtype=np.uint16), np.array([0, 1, 3, 6, 10])
    corpus = EncodedCorpus(*sides, sides[0] + np.uint16(10), sides[1])
    taken = take(corpus, np.array([0, 2, 2, 3, 1]))
    assert taken.source.tolist() == [1, 4, 5, 6, 4, 5, 6, 7, 8, 9, 10, 2, 3]
    assert (taken.source.dtype, taken.source_offsets.tolist()) == (np.uint16, [0, 1, 4, 7, 11, 13])
    assert taken.target.tolist() == [11, 14, 15, 16, 14, 15, 16, 17, 18, 19, 20, 12, 13]
    assert len(take(corpus, np.array([], int))) == 0


def test_ranges():
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert ranges(np.array([], int), np.array([], int)).tolist() == []
