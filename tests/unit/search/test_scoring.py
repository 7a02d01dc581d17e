"""What changes the logits, and how log-probabilities become scores."""

import math

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.search.scoring import (
    IMPOSSIBLE,
    coverage_score,
    end_too_early,
    forced,
    is_control,
    ngram_blocked,
    normalised_score,
    repetition_penalised,
    sequences_blocked,
)


def test_control_tokens_are_all_but_the_end_token():
    assert is_control(tf.constant(8), 0).numpy().tolist() == [1, 1, 0, 1, 1, 1, 0, 0]


def test_so_are_the_tokens_of_languages():
    assert is_control(tf.constant(9), 2).numpy().tolist() == [1, 1, 0, 1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(("position", "early"), [(0, True), (1, True), (2, False)])
def test_the_end_token_comes_too_early_before_the_minimum(position, early):
    found = end_too_early(tf.constant(5), tf.constant(position), tf.constant([2, 0]))
    assert found.numpy().tolist() == [[False, False, early, False, False], [False] * 5]


def test_repetition_penalty_by_hand():
    """Written tokens: positive logits are divided, negative ones multiplied; others stay."""
    logits = tf.constant([[2.0, -2.0, 3.0, -3.0, 0.0], [2.0, -2.0, 3.0, -3.0, 0.0]])
    sequences = tf.constant([[2, 3, 2, 0], [4, 0, 0, 0]])
    found = repetition_penalised(logits, sequences, tf.constant(1.5))
    expected = [[2.0, -2.0, 2.0, -4.5, 0.0], [2.0, -2.0, 3.0, -3.0, 0.0]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_repetition_penalty_of_one_changes_nothing():
    logits = tf.constant([[2.0, -2.0, 3.0]])
    found = repetition_penalised(logits, tf.constant([[1, 2]]), tf.constant(1.0))
    np.testing.assert_array_equal(found, logits)


def banned_by_hand(written: list[int], size: int, vocab_size: int) -> list[bool]:
    """Return which tokens would complete an n-gram that is there already."""
    if len(written) < size:
        return [False] * vocab_size
    ngrams = {tuple(written[i : i + size]) for i in range(len(written) - size + 1)}
    recent = tuple(written[len(written) - size + 1 :])
    return [(*recent, token) in ngrams for token in range(vocab_size)]


@settings(max_examples=60)
@given(
    rows=st.integers(0, 7).flatmap(
        lambda length: st.lists(
            st.lists(st.integers(1, 3), min_size=length, max_size=length), min_size=1, max_size=3
        )
    ),
    room=st.integers(0, 3),
    size=st.integers(1, 5),
)
def test_blocked_are_exactly_the_tokens_that_complete_a_known_ngram(rows, room, size):
    """Also when there is more room than tokens, or fewer tokens than n."""
    position = len(rows[0])
    sequences = np.zeros((len(rows), max(1, position + room)), np.int32)
    sequences[:, :position] = rows
    logits = tf.zeros([len(rows), 4])

    found = ngram_blocked(logits, tf.constant(sequences), tf.constant(position), size).numpy()

    expected = [banned_by_hand(row, size, 4) for row in rows]
    np.testing.assert_array_equal(found == np.float32(IMPOSSIBLE), expected)
    assert np.all(found[~np.array(expected)] == 0)


@pytest.mark.parametrize(("penalty", "expected"), [(0.0, -6.0), (1.0, -2.0), (2.0, -6 / 9)])
def test_score_is_log_probability_over_a_power_of_the_length(penalty, expected):
    found = normalised_score(tf.constant(-6.0), tf.constant(3), tf.constant(penalty))
    assert float(found) == pytest.approx(expected, rel=1e-6)


def test_a_prefix_is_certain_while_there_is_some():
    log_probs = tf.math.log([[0.5, 0.3, 0.2]])
    prefix = tf.constant([[2, 1]])
    for position, token in enumerate([2, 1]):
        found = forced(log_probs, tf.constant(position), prefix).numpy()[0]
        assert found[token] == 0.0
        assert all(value == IMPOSSIBLE for i, value in enumerate(found) if i != token)
    for position in (2, 3):
        np.testing.assert_array_equal(forced(log_probs, tf.constant(position), prefix), log_probs)
    empty = tf.zeros([1, 0], tf.int32)
    np.testing.assert_array_equal(forced(log_probs, tf.constant(0), empty), log_probs)


def test_each_sentence_has_its_own_prefix():
    log_probs = tf.math.log([[0.5, 0.3, 0.2]] * 4)  # two sentences of two beams
    found = forced(log_probs, tf.constant(1), tf.constant([[2, 1], [2, 0]])).numpy()
    assert (found[:2].argmax(axis=1) == 1).all()
    np.testing.assert_array_equal(found[2:], log_probs[2:])


def test_a_suppressed_row_is_blocked_at_its_last_token_only():
    """Row one has written 3 and 1, row two 1 and 3; suppressed are 4, "3 1 2" and "1 3 1 5"."""
    logits, sequences = tf.zeros([2, 6]), tf.constant([[3, 1, 0, 0], [1, 3, 0, 0]])
    suppressed = ((4,), (3, 1, 2), (1, 3, 1, 5))
    found = sequences_blocked(logits, sequences, tf.constant(2), suppressed).numpy()
    assert [np.flatnonzero(row == IMPOSSIBLE).tolist() for row in found] == [[2, 4], [4]]


def test_coverage_by_hand():
    """0.5 and 2 count as 0.5 and 1; padding counts nothing (Wu et al. 2016, equation 14)."""
    coverage = tf.constant([[0.5, 2.0, 0.0], [0.25, 1.0, 0.1]])
    mask = tf.constant([[True, True, False], [True, True, True]])
    expected = [math.log(0.5), math.log(0.25) + math.log(0.1)]
    np.testing.assert_allclose(coverage_score(coverage, mask), expected, rtol=1e-6)
