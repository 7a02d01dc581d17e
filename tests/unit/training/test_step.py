"""One optimizer step: gradients of micro-batches, one update, one trace."""

import numpy as np
import pytest
import tensorflow as tf
from schedules_by_hand import label_smoothed_cross_entropy

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.model.layers import RandomStream
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.model.weights import assign_weights, named_variables, read_weights
from nmt_cli.tasks.losses import loss_sums
from nmt_cli.text.batches import Batch
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID
from nmt_cli.training.optimizer import Optimizer
from nmt_cli.training.step import Stepper

SOURCES = [[7, 8, 9, 2], [6, 2], [10, 10, 2], [8, 7, 6, 9, 2]]
TARGETS = [[9, 7, 2], [8, 6, 6, 10, 2], [6, 2], [7, 2]]
NUM_TOKENS = sum(map(len, TARGETS))
ADAM = TrainConfig(optimizer="adam", clip_norm=0.0)


def padded(rows, extra=0) -> np.ndarray:
    array = np.zeros((len(rows), max(map(len, rows)) + extra), np.int32)
    for index, row in enumerate(rows):
        array[index, : len(row)] = row
    return array


def batch(*indices: int, extra: int = 0) -> Batch:
    return Batch(
        padded([SOURCES[i] for i in indices], extra), padded([TARGETS[i] for i in indices], extra)
    )


def config(seed: int = 1, **train) -> Config:
    return Config.model_validate(
        {
            "name": "x",
            "seed": seed,
            "data": {"train": [{"file": "a.tsv"}], "dev": [{"file": "b.tsv"}]},
            "train": {"clip_norm": 0.0, "lanes": 1, **train},
        }
    )


@pytest.fixture(scope="module")
def make_stepper(make_model):
    """A function that builds a new model with its stepper: (stepper, model, optimizer)."""

    def make(seed=1, dropout=0.0, **train):
        model = make_model(dropout=dropout, attention_dropout=dropout, activation_dropout=dropout)
        optimizer = Optimizer(named_variables(model), ADAM)
        return Stepper(model, optimizer, config(seed, **train)), model, optimizer

    return make


@pytest.fixture(scope="module")
def shared(make_stepper):
    """One stepper without dropout for the whole file, traced once, and its first state."""
    stepper, model, optimizer = make_stepper()
    return stepper, model, optimizer, read_weights(model), optimizer.read_state()


@pytest.fixture
def plain(shared):
    """The shared stepper as if it were new: (stepper, model, optimizer)."""
    stepper, model, optimizer, weights, state = shared
    assign_weights(model, weights)
    optimizer.assign_state(state)
    return stepper, model, optimizer


def gradient_of(optimizer) -> dict[str, np.ndarray]:
    """Return the gradient of the one step taken: Adam's m is a tenth of it."""
    return {name: 10 * m for name, m in optimizer.read_state().items() if name.startswith("m.")}


def test_micro_batches_equal_one_batch(plain):
    """Summed and divided once by all target tokens, however they are shared out and padded."""
    splits = ([batch(0, 1, 2, 3)], [batch(0, 1), batch(2, 3)], [batch(3), batch(0, 2, 1, extra=2)])
    stepper, model, optimizer = plain
    weights, state = read_weights(model), optimizer.read_state()
    results = []
    for micro_batches in splits:
        assign_weights(model, weights)
        optimizer.assign_state(state)
        result = stepper.step(micro_batches, 1, 1e-3)
        results.append((result, gradient_of(optimizer)))

    (first, gradient), *others = results
    assert first.num_tokens == NUM_TOKENS
    for result, other in others:
        assert result.num_tokens == NUM_TOKENS
        assert result.loss == pytest.approx(first.loss, rel=1e-6)
        assert result.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-5)
        for name, array in gradient.items():
            # Float32 sums of a dozen terms in another order.
            np.testing.assert_allclose(other[name], array, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("lanes", [2, 3, 7])
def test_lanes_equal_one_batch(plain, make_stepper, lanes):
    """Also when there are more of them than rows."""
    stepper, _, optimizer = plain
    whole = [batch(0, 1, 2, 3, extra=1)]
    first, gradient = stepper.step(whole, 1, 1e-3), gradient_of(optimizer)

    side_by_side, _, optimizer = make_stepper(lanes=lanes)
    result = side_by_side.step(whole, 1, 1e-3)

    assert result.num_tokens == NUM_TOKENS
    assert result.loss == pytest.approx(first.loss, rel=1e-6)
    assert result.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-5)
    for name, array in gradient_of(optimizer).items():
        # Float32 sums of a dozen terms in another order.
        np.testing.assert_allclose(array, gradient[name], atol=1e-6, err_msg=name)


def test_the_gradient_is_that_of_the_loss_per_target_token(plain):
    stepper, model, optimizer = plain
    whole = batch(0, 1, 2, 3)
    variables = named_variables(model)
    with tf.GradientTape() as tape:
        sums = loss_sums(model, tf.constant(whole.source), tf.constant(whole.target), 0.1, None)
        loss = sums.smoothed / NUM_TOKENS
    expected = tape.gradient(loss, [variable.value for variable in variables.values()])

    stepper.step([batch(0, 1), batch(2, 3)], 1, 1e-3)

    found = gradient_of(optimizer)
    for name, gradient in zip(variables, expected, strict=True):
        # Float32 sums of a dozen terms in another order.
        np.testing.assert_allclose(found[f"m.{name}"], tf.convert_to_tensor(gradient), atol=1e-6)


def test_the_loss_is_per_target_token(make_pair):
    model, reference = make_pair()
    stepper = Stepper(
        model,
        Optimizer(named_variables(model), ADAM),
        config(label_smoothing=0.1),
    )
    plain = smoothed = 0.0
    for source, target in zip(SOURCES, TARGETS, strict=True):
        logits = reference.decode_logits([1, *target[:-1]], reference.encode(source), source)
        plain += label_smoothed_cross_entropy(logits, np.array(target), 0.0)
        support = [EOS_ID, *range(len(CONTROL_TOKENS), logits.shape[1])]
        smoothed += label_smoothed_cross_entropy(logits, np.array(target), 0.1, support)

    evaluated = stepper.evaluate([batch(0, 1), batch(2, 3)])
    result = stepper.step([batch(0, 1), batch(2, 3)], 1, 1e-3)

    assert evaluated == pytest.approx(plain / NUM_TOKENS, rel=1e-6)
    assert result.loss == pytest.approx(smoothed / NUM_TOKENS, rel=1e-6)


@pytest.mark.parametrize("consistency", ["none", "rdrop", "simcut"])
@pytest.mark.parametrize("lanes", [1, 2])
def test_a_step_repeats_bit_for_bit(make_stepper, lanes, consistency):
    """Losses, norms and weights of three steps with dropout, twice from new objects."""
    runs = []
    for _ in range(2):
        stepper, model, _ = make_stepper(dropout=0.3, lanes=lanes, consistency=consistency)
        results = [stepper.step([batch(0, 1), batch(2, 3)], n, 1e-2) for n in (1, 2, 3)]
        runs.append((results, read_weights(model)))
    (results, weights), (results_again, weights_again) = runs
    assert results == results_again
    for name, array in weights.items():
        np.testing.assert_array_equal(array, weights_again[name])


def test_dropout_differs_by_seed_step_and_micro_batch(make_stepper, monkeypatch):
    stepper, model, _ = make_stepper(dropout=0.3)
    start = read_weights(model)

    def loss(number, micro_batches):
        assign_weights(model, start)
        return stepper.step(micro_batches, number, 1e-9).loss

    one = [batch(0, 1)]
    first = loss(1, one)
    assert loss(1, one) == first
    assert loss(2, one) != first
    # Were both halves dropped alike, the mean of the two would be that of one.
    assert loss(1, one * 2) != first
    monkeypatch.setattr(stepper, "_seed", 2)
    assert loss(1, one) != first


def test_dropout_differs_by_lane(make_stepper):
    stepper, _, _ = make_stepper(dropout=0.3, lanes=2)
    other, _, _ = make_stepper(dropout=0.3)
    # Were both lanes dropped alike, the mean of the two would be that of one.
    assert stepper.step([batch(1, 1)], 1, 1e-9).loss != other.step([batch(1)], 1, 1e-9).loss


@pytest.mark.parametrize("consistency", ["none", "rdrop", "simcut"])
def test_no_batch_retraces(make_stepper, consistency):
    stepper, _, _ = make_stepper(consistency=consistency)
    for number, indices in enumerate(([0], [0, 1, 2], [3, 1], [2], [0, 1, 2, 3]), start=1):
        stepper.step([batch(*indices, extra=number), batch(*indices)], number, 1e-3)
        stepper.evaluate([batch(*indices, extra=number)])
    for function in (stepper._gradients, stepper._update, stepper._evaluate):
        assert function.experimental_get_tracing_count() == 1


def test_steps_lower_the_loss_and_evaluating_changes_nothing(plain):
    stepper, model, _ = plain
    whole = [batch(0, 1, 2, 3)]
    before = stepper.evaluate(whole)
    weights = read_weights(model)
    assert stepper.evaluate(whole) == before
    for name, array in read_weights(model).items():
        np.testing.assert_array_equal(array, weights[name])
    for number in range(1, 31):
        stepper.step(whole, number, 1e-2)
    assert stepper.evaluate(whole) < before / 2


def test_the_gradients_of_a_large_table_are_the_same_each_time(make_model):
    """TensorFlow's graph optimizer would add what a tied table gets in the order of arrival."""
    quiet_tensorflow()
    size = 10_000
    sizes = {"source_vocab_size": size, "target_vocab_size": size}
    model = make_model(d_model=512, d_ff=512, num_heads=8, dropout=0.1, max_length=32, **sizes)
    weights = [*named_variables(model).values()]
    generator = np.random.default_rng(1)
    source, target = (
        tf.constant(generator.integers(4, size, (25, 20)), tf.int32) for _ in range(2)
    )

    @tf.function
    def gradients():
        random = RandomStream(tf.constant([1, 2]))
        with tf.GradientTape() as tape:
            loss = loss_sums(model, source, target, 0.1, random).smoothed
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, weights)]

    first = gradients()
    for _ in range(8):
        for one, other in zip(first, gradients(), strict=True):
            np.testing.assert_array_equal(one, other)
