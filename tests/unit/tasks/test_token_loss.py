"""The label-smoothed loss against its definition, on logits of the NumPy reference."""

import numpy as np
import pytest
import tensorflow as tf
from schedules_by_hand import label_smoothed_cross_entropy

from nmt_cli.tasks.losses import loss_sums
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID

SOURCES = [[7, 8, 9, 2], [6, 2]]
TARGETS = [[9, 7, 2], [8, 6, 6, 10, 2]]
# Sums of a dozen float32 terms of size ten.
SUMS = {"rel": 2e-6}


def padded(rows, width=5):
    return tf.constant([row + [0] * (width - len(row)) for row in rows])


def by_hand(reference, epsilon) -> float:
    total = 0.0
    for source, target in zip(SOURCES, TARGETS, strict=True):
        memory = reference.encode(source)
        logits = reference.decode_logits([1, *target[:-1]], memory, source)
        support = [EOS_ID, *range(len(CONTROL_TOKENS), logits.shape[1])]
        total += label_smoothed_cross_entropy(logits, np.array(target), epsilon, support)
    return total


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("tie", [True, False])
def test_the_smoothed_loss_is_that_of_the_definition(make_pair, epsilon, tie):
    model, reference = make_pair(tie_embeddings=tie)
    sums = loss_sums(model, padded(SOURCES), padded(TARGETS), epsilon, None)
    assert float(sums.smoothed) == pytest.approx(by_hand(reference, epsilon), **SUMS)
    assert float(sums.plain) == pytest.approx(by_hand(reference, 0.0), **SUMS)
    assert float(sums.num_tokens) == sum(map(len, TARGETS))


def test_padding_adds_nothing(make_pair):
    model, _ = make_pair()
    narrow = loss_sums(model, padded(SOURCES, 4), padded(TARGETS, 5), 0.1, None)
    wide = loss_sums(model, padded(SOURCES, 9), padded(TARGETS, 11), 0.1, None)
    for one, other in zip(narrow, wide, strict=True):
        assert float(one) == pytest.approx(float(other), **SUMS)


def test_the_loss_of_a_batch_is_the_sum_over_its_sentences(make_pair):
    model, _ = make_pair()
    together = loss_sums(model, padded(SOURCES), padded(TARGETS), 0.1, None)
    alone = [
        loss_sums(model, padded([source]), padded([target]), 0.1, None)
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    assert float(together.smoothed) == pytest.approx(sum(float(a.smoothed) for a in alone), **SUMS)


def test_in_bfloat16_the_loss_is_a_float32_close_to_the_exact_one(make_pair):
    model, reference = make_pair(compute_dtype="bfloat16")
    sums = loss_sums(model, padded(SOURCES), padded(TARGETS), 0.1, None)
    assert sums.smoothed.dtype == sums.plain.dtype == tf.float32
    # Eight bits in each of a dozen roundings.
    assert float(sums.smoothed) == pytest.approx(by_hand(reference, 0.1), rel=0.05)
