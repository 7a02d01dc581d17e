"""Adam and clipping against the paper's algorithm; what holds for every rule."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from schedules_by_hand import adam_step

from nmt_cli.config.schema import TrainConfig
from nmt_cli.training.optimizer import Optimizer

START = {"x.layer1.a": np.array([[1.0, -2.0], [0.5, 4.0]]), "b": np.array([3.0, -1.0, 0.0])}
EVERY_RULE = pytest.mark.parametrize("rule", ["adam", "muon"])
FLOAT32 = {"rtol": 2e-6, "atol": 1e-7}  # a dozen roundings


def make(clip_norm=0.0, weight_decay=0.0, average_decay=0.0, rule="adam"):
    """Return an optimizer and its weights as tf variables."""
    weights = {name: tf.Variable(value, dtype=tf.float32) for name, value in START.items()}
    variables = {name: SimpleNamespace(value=weight) for name, weight in weights.items()}
    config = TrainConfig(
        precision="float32",
        optimizer=rule,
        clip_norm=clip_norm,
        weight_decay=weight_decay,
        average_decay=average_decay,
        muon_rms=0.2,
    )
    return Optimizer(variables, config), weights


def gradients(step: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(step)
    return {name: random.normal(size=value.shape) for name, value in START.items()}


def apply(optimizer, step, rate=0.01, loss=1.0, scale=1.0):
    """Take a step as training does: inside a graph."""
    values = [tf.constant(scale * g, tf.float32) for g in gradients(step).values()]
    norm = tf.function(optimizer.apply, autograph=False)(
        values, tf.constant(loss), tf.constant(rate), tf.constant(float(step))
    )
    return float(norm)


def by_hand(steps, clip_norm=0.0, weight_decay=0.0, rate=0.01):
    weights = {name: value.copy() for name, value in START.items()}
    m = {name: np.zeros_like(value) for name, value in START.items()}
    v = {name: np.zeros_like(value) for name, value in START.items()}
    for step in range(1, steps + 1):
        found = gradients(step)
        norm = np.sqrt(sum(np.sum(g**2) for g in found.values()))
        scale = min(1.0, clip_norm / norm) if clip_norm else 1.0
        for name, gradient in found.items():
            weights[name] -= rate * weight_decay * weights[name]
            weights[name], m[name], v[name] = adam_step(
                weights[name], scale * gradient, m[name], v[name], step, rate, 0.9, 0.98, 1e-9
            )
    return weights, m, v


@pytest.mark.parametrize(("clip_norm", "weight_decay"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.1)])
def test_five_steps_equal_the_algorithm(clip_norm, weight_decay):
    optimizer, weights = make(clip_norm, weight_decay)
    for step in range(1, 6):
        apply(optimizer, step)
    expected, m, v = by_hand(5, clip_norm, weight_decay)
    state = optimizer.read_state()
    for name in START:
        np.testing.assert_allclose(weights[name], expected[name], **FLOAT32)
        np.testing.assert_allclose(state[f"m.{name}"], m[name], **FLOAT32)
        np.testing.assert_allclose(state[f"v.{name}"], v[name], **FLOAT32)


def test_the_first_step_is_as_long_as_the_rate():
    """Without history, m / sqrt(v) is the gradient's sign."""
    optimizer, weights = make()
    apply(optimizer, 1, rate=0.01)
    for name, gradient in gradients(1).items():
        moved = weights[name].numpy() - START[name]
        np.testing.assert_allclose(moved, -0.01 * np.sign(gradient), rtol=1e-4)


def test_the_norm_is_that_before_clipping():
    expected = np.sqrt(sum(np.sum(g**2) for g in gradients(1).values()))
    for clip_norm in (0.0, 0.5):
        optimizer, _ = make(clip_norm)
        assert apply(optimizer, 1) == pytest.approx(expected, rel=1e-6)


def test_a_gradient_below_the_limit_is_not_clipped():
    optimizer, _ = make(clip_norm=100.0)
    apply(optimizer, 1)
    state = optimizer.read_state()
    for name, gradient in gradients(1).items():
        np.testing.assert_allclose(state[f"m.{name}"], 0.1 * gradient, **FLOAT32)


def test_a_gradient_above_the_limit_keeps_its_direction():
    optimizer, _ = make(clip_norm=0.5)
    norm = apply(optimizer, 1)
    state = optimizer.read_state()
    for name, gradient in gradients(1).items():
        np.testing.assert_allclose(state[f"m.{name}"], 0.1 * gradient * 0.5 / norm, **FLOAT32)


@EVERY_RULE
def test_what_is_read_can_be_assigned_and_goes_on_equally(rule):
    """Steps 1 to 4 at once, and 2 + 2 with a new optimizer, bit for bit."""
    whole, whole_weights = make(clip_norm=1.0, rule=rule)
    for step in range(1, 5):
        apply(whole, step)
    first, first_weights = make(clip_norm=1.0, rule=rule)
    for step in (1, 2):
        apply(first, step)

    second, second_weights = make(clip_norm=1.0, rule=rule)
    second.assign_state(first.read_state())
    for name, weight in second_weights.items():
        weight.assign(first_weights[name])
    for step in (3, 4):
        apply(second, step)

    for name in START:
        np.testing.assert_array_equal(second_weights[name], whole_weights[name])
    for name, array in second.read_state().items():
        np.testing.assert_array_equal(array, whole.read_state()[name])


def test_what_is_read_is_a_copy():
    optimizer, _ = make()
    before = optimizer.read_state()
    apply(optimizer, 1)
    assert all(np.all(array == 0) for array in before.values())


@EVERY_RULE
@pytest.mark.parametrize("loss", [1.0, np.inf, np.nan])
@pytest.mark.parametrize("scale", [1.0, np.inf, np.nan, 1e30])
def test_a_step_that_is_not_finite_changes_nothing(loss, scale, rule):
    """A gradient of 1e30 is finite, its squared norm is not."""
    optimizer, weights = make(1.0, weight_decay=0.1, average_decay=0.9, rule=rule)
    apply(optimizer, 1)
    before = {name: weight.numpy() for name, weight in weights.items()}
    state = optimizer.read_state()
    is_taken = np.isfinite(apply(optimizer, 2, loss=loss, scale=scale) + loss)
    assert is_taken == (loss == scale == 1.0)
    for name, weight in weights.items():
        assert np.array_equal(weight, before[name]) != is_taken
    for name, array in optimizer.read_state().items():
        assert np.array_equal(array, state[name]) != is_taken


@EVERY_RULE
def test_a_reset_forgets_all_steps(rule):
    optimizer, weights = make(average_decay=0.9, rule=rule)
    first = optimizer.read_state()
    apply(optimizer, 1)
    for name, weight in weights.items():
        weight.assign(START[name])
    optimizer.reset()
    for name, array in optimizer.read_state().items():
        np.testing.assert_array_equal(array, first[name])


def test_the_moving_average_is_that_of_numpy():
    """And training is the same with it as without."""
    optimizer, weights = make(average_decay=0.4)
    plain, plain_weights = make()
    expected = {name: value.copy() for name, value in START.items()}
    for step in range(1, 8):
        apply(optimizer, step)
        apply(plain, step)
        decay = min(0.4, (1 + step) / (10 + step))  # 0.4 from step 5 on
        for name, weight in weights.items():
            expected[name] = decay * expected[name] + (1 - decay) * weight.numpy()
            np.testing.assert_array_equal(weight, plain_weights[name])
    for name, array in optimizer.read_average().items():
        np.testing.assert_allclose(array, expected[name], **FLOAT32)
    assert plain.read_average() == {}
