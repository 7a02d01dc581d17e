"""The loss of two passes against its definition, and its gradient against finite differences."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.config.schema import TrainConfig
from nmt_cli.model.layers import RandomStream
from nmt_cli.tasks import output_layer
from nmt_cli.tasks.losses import loss_sums
from nmt_cli.tasks.output_layer import Agreement, agreement_of, output_loss

SOURCES = [[7, 8, 9, 2, 0], [6, 2, 0, 0, 0]]
TARGETS = [[9, 7, 2, 0, 0], [8, 6, 6, 10, 2]]
RDROP = Agreement(shares=(0.5, 0.5), forward=0.7, backward=0.7, cutoff=0.0)
SIMCUT = Agreement(shares=(1.0, 0.0), forward=3.0, backward=0.0, cutoff=0.05)
BOTH = Agreement(shares=(0.3, 0.9), forward=1.1, backward=0.4, cutoff=0.0)


def log_softmax(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def by_hand(arrays, bias, labels, agreement) -> float:
    """The loss in float64, with all logits at once."""
    table, *passes = arrays
    first, second = (log_softmax(states @ table.T + bias) for states in passes)
    rows = np.arange(len(labels))
    total = -agreement.shares[0] * first[rows, labels].sum()
    total -= agreement.shares[1] * second[rows, labels].sum()
    total += agreement.forward * (np.exp(first) * (first - second)).sum()
    return total + agreement.backward * (np.exp(second) * (second - first)).sum()


@pytest.fixture
def case(monkeypatch):
    """A table and the states of two passes, [11, 4] each, in several chunks; bias; labels."""
    monkeypatch.setattr(output_layer, "_CHUNK_LOGITS", 1)
    monkeypatch.setattr(output_layer, "_MIN_CHUNK", 4)
    random = np.random.default_rng(3)
    arrays = [random.normal(size=shape) for shape in ((7, 4), (11, 4), (11, 4))]
    return arrays, random.normal(size=7), random.integers(0, 7, 11)


@pytest.mark.parametrize("agreement", [RDROP, SIMCUT, BOTH], ids=["rdrop", "simcut", "both"])
def test_loss_and_gradient_are_those_of_the_definition(case, agreement):
    arrays, bias, labels = case
    tensors = [tf.constant(array, tf.float32) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        loss, plain = output_loss(
            tensors[1:], tensors[0], tf.constant(bias, tf.float32), tf.constant(labels), agreement
        )
    assert float(loss) == pytest.approx(by_hand(arrays, bias, labels, agreement), rel=1e-5)
    alone = dataclasses.replace(agreement, forward=0.0, backward=0.0)
    assert float(plain) == pytest.approx(by_hand(arrays, bias, labels, alone), rel=1e-5)
    for number, found in enumerate(tape.gradient(loss, tensors)):
        expected = np.zeros_like(arrays[number])
        for index in np.ndindex(expected.shape):
            moved = [[array.copy() for array in arrays] for _ in range(2)]
            moved[0][number][index] += 1e-5
            moved[1][number][index] -= 1e-5
            up, down = (by_hand(some, bias, labels, agreement) for some in moved)
            expected[index] = (up - down) / 2e-5
        # Sums of a dozen float32 terms of size one.
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def sums_of(model, agreement, seed=1, sources=SOURCES, targets=TARGETS):
    random = RandomStream(tf.constant([seed, 2]))
    ids = tf.constant(sources), tf.constant(targets)
    return loss_sums(model, *ids, 0.1, random, agreement)


def test_passes_without_dropout_agree_and_cost_nothing(make_pair):
    model, _ = make_pair()
    plain = sums_of(model, None)
    for agreement in (RDROP, dataclasses.replace(SIMCUT, cutoff=0.0)):
        found = sums_of(model, agreement)
        assert float(found.smoothed) == pytest.approx(float(plain.smoothed), rel=1e-6)
        assert float(found.num_tokens) == float(plain.num_tokens)


def test_what_is_hidden_costs_agreement_but_the_first_pass_sees_all(make_pair):
    model, _ = make_pair()
    plain = sums_of(model, None)
    found = sums_of(model, dataclasses.replace(SIMCUT, cutoff=0.5))
    assert float(found.plain) == pytest.approx(float(plain.plain), rel=1e-6)
    assert float(found.smoothed) > float(plain.smoothed) + 1e-3


def test_what_is_hidden_is_a_function_of_the_seed(make_pair):
    model, _ = make_pair()
    half = dataclasses.replace(SIMCUT, cutoff=0.5)
    first, again, other = (float(sums_of(model, half, seed).smoothed) for seed in (1, 1, 2))
    assert first == again != other


def test_dropout_makes_the_passes_of_rdrop_differ(make_pair):
    model, _ = make_pair(dropout=0.3)
    alone = dataclasses.replace(RDROP, forward=0.0, backward=0.0)
    both = float(sums_of(model, RDROP).smoothed)
    assert both > float(sums_of(model, alone).smoothed) + 1e-3


def test_hidden_tokens_leave_their_positions(make_pair):
    model, _ = make_pair()
    ids, hidden = tf.constant([[7, 8, 2], [7, 9, 2]]), tf.constant([[False, True, False]] * 2)
    states = model.encode(ids, hidden=hidden).states
    np.testing.assert_allclose(states[:3], states[3:], atol=1e-6)
    assert np.abs(states[:3] - model.encode(ids).states[:3]).max() > 1e-3


def test_evaluation_reads_once(make_pair):
    model, _ = make_pair(dropout=0.3)
    ids = tf.constant(SOURCES), tf.constant(TARGETS)
    for agreement in (RDROP, SIMCUT):
        found, plain = (loss_sums(model, *ids, 0.1, None, a) for a in (agreement, None))
        assert float(found.smoothed) == float(plain.smoothed)


def test_the_keys_say_how_passes_are_compared():
    assert agreement_of(TrainConfig()) is None
    rdrop = agreement_of(TrainConfig(consistency="rdrop", consistency_weight=5.0))
    # Half of the paper's: -log p - log q + alpha / 2 * (KL(p || q) + KL(q || p)).
    assert rdrop == Agreement(shares=(0.5, 0.5), forward=1.25, backward=1.25, cutoff=0.0)
    simcut = agreement_of(TrainConfig(consistency="simcut", cutoff=0.1))
    assert simcut == Agreement(shares=(1.0, 0.0), forward=3.0, backward=0.0, cutoff=0.1)
