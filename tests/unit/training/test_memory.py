"""Cutting micro-batches in half, and finding the largest ones."""

import numpy as np
import pytest

from nmt_cli.config.schema import Config
from nmt_cli.text.batches import Batch, cut
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.training.dataset import largest_batches

RANDOM = np.random.default_rng(5)


def random_batch(rows: int) -> Batch:
    """Rows of random lengths; no two are alike."""

    def side() -> np.ndarray:
        lengths = RANDOM.integers(1, 9, rows)
        padded = RANDOM.integers(1, 10_000, (rows, lengths.max())).astype(np.int32)
        padded[np.arange(padded.shape[1]) >= lengths[:, None]] = 0
        return padded

    return Batch(side(), side())


def pairs(batches) -> list[tuple[list[int], list[int]]]:
    """The rows of batches without padding."""
    return [
        tuple(row[row > 0].tolist() for row in sides)
        for batch in batches
        for sides in zip(batch.source, batch.target, strict=True)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("halvings", [0, 1, 2, 5])
def test_what_is_cut_is_the_same_pairs_in_order(rows, halvings):
    whole = [random_batch(rows), random_batch(2)]
    parts = cut(whole, halvings)
    assert pairs(parts) == pairs(whole)
    most = max(1, -(-rows // 2**halvings))
    assert max(len(part.source) for part in parts) == max(most, 2 if halvings == 0 else 1)
    for part in parts:
        if halvings:
            assert all(side[:, -1].any() for side in part)  # no column of padding alone


def test_nothing_is_cut_before_memory_was_too_small():
    batch = random_batch(4)
    assert cut([batch], 0)[0] is batch


def test_the_largest_by_positions_and_by_squares_of_lengths_are_found():
    """Many sources of twenty tokens beside targets of one; and one pair of 150 tokens."""
    lengths = [(3, 3)] * 60 + [(20, 1)] * 90 + [(150, 150)]

    def side(sizes) -> tuple[np.ndarray, np.ndarray]:
        return np.full(sum(sizes), 7, np.uint16), np.cumsum([0, *sizes])

    corpus = EncodedCorpus(*side([s for s, _ in lengths]), *side([t for _, t in lengths]))
    config = Config.model_validate(
        {
            "name": "x",
            "data": {"train": [{"file": "a.tsv"}], "dev": [{"rows": 1}]},
            "model": {"max_length": 150},
            "train": {"tokens_per_batch": 90},
        }
    )
    shapes = {(b.source.shape, b.target.shape[1]) for b in largest_batches(corpus, config)}
    assert ((1, 150), 150) in shapes
    assert any(rows > 50 and width == 20 for (rows, width), _ in shapes)


def test_a_window_without_a_pair_that_fits_is_passed_over():
    """Of a corpus of weight 0.5 and one pair, every other epoch has none."""
    lengths = np.array([3, 9, 9, 9])
    side = (np.full(lengths.sum(), 7, np.uint16), np.cumsum([0, *lengths]))
    corpus = EncodedCorpus(*side, *side, sizes=(1, 3))
    config = Config.model_validate(
        {
            "name": "x",
            "data": {
                "train": [{"file": "a.tsv", "weight": 0.5}, {"file": "b.tsv"}],
                "dev": [{"rows": 1}],
            },
            "model": {"max_length": 5},
        }
    )
    (batch,) = largest_batches(corpus, config)
    assert batch.source.shape == (1, 3)
