"""Muon against NumPy's singular value decomposition and against the algorithm written out."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.config.schema import ModelConfig, TrainConfig
from nmt_cli.model.layers import num_fused
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.weights import named_variables
from nmt_cli.training import optimizer
from nmt_cli.training.optimizer import Optimizer

KERNEL, FUSED = "encoder.layer1.feed_forward.kernel", "decoder.layer2.self_att.query_key_value"
TABLE, SCALE = "embedding", "encoder.layer1.norm.scale"
SHAPES = {KERNEL: (6, 10), FUSED: (6, 18), TABLE: (7, 6), SCALE: (6,)}
RMS = 0.3
FLOAT32 = {"rtol": 2e-3, "atol": 2e-5}  # three rounds of products
# Amsel et al. 2025, algorithm 1: three rounds for singular values between 0.01 and 1.
COEFFICIENTS = [(8.0934, -23.6204, 17.4462), (3.6366, -2.7219, 0.5365), (2.6613, -1.9772, 0.4526)]


def random_arrays(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {name: random.normal(size=shape) for name, shape in SHAPES.items()}


def make(rule="muon"):
    """Return an optimizer and its weights as tf variables."""
    weights = {n: tf.Variable(value, dtype=tf.float32) for n, value in random_arrays(0).items()}
    variables = {name: SimpleNamespace(value=weight) for name, weight in weights.items()}
    config = TrainConfig(
        precision="float32", optimizer=rule, clip_norm=0.0, weight_decay=0.0, muon_rms=RMS
    )
    return Optimizer(variables, config), weights


def apply(optimizer, step, rate=0.01, scale=1.0):
    """Take a step as training does: inside a graph."""
    values = [tf.constant(scale * g, tf.float32) for g in random_arrays(step).values()]
    arguments = (tf.constant(1.0), tf.constant(rate), tf.constant(float(step)))
    tf.function(optimizer.apply, autograph=False)(values, *arguments)


def newton_schulz(x: np.ndarray) -> np.ndarray:
    """Return the iteration of one matrix, in float64, from its singular values alone."""
    u, values, v = np.linalg.svd(x, full_matrices=False)
    values = values / np.linalg.norm(x)
    for a, b, c in COEFFICIENTS:
        values = a * values + b * values**3 + c * values**5
    return (u * values) @ v


@pytest.mark.parametrize("shape", [(8, 8), (4, 9), (9, 4), (1, 5), (128, 256)])
def test_the_polar_factor_has_the_directions_and_no_lengths(shape):
    for matrix in np.random.default_rng(1).normal(size=(3, *shape)):
        result = optimizer.polar(tf.constant(matrix, tf.float32)).numpy()
        u, values, v = np.linalg.svd(matrix, full_matrices=False)
        within = np.diag(u.T @ result @ v.T)
        asked = values / np.linalg.norm(matrix) > 0.01
        assert np.all((within[asked] > 0.73) & (within[asked] < 1.27))
        np.testing.assert_allclose(result, newton_schulz(matrix), **FLOAT32)


@pytest.mark.parametrize("shape", [(32, 96), (96, 32)])
def test_bfloat16_finds_nearly_the_same(shape):
    matrix = np.random.default_rng(2).normal(size=shape)
    result = optimizer.polar(tf.constant(matrix, tf.float32), "bfloat16").numpy()
    expected = newton_schulz(matrix)
    assert result.dtype == np.float32
    assert 1e-4 < np.linalg.norm(result - expected) / np.linalg.norm(expected) < 0.05


def test_each_round_ends_as_far_above_one_as_below():
    """So it is with the polynomial that comes nearest to one: its extremes are equally far off."""
    values = np.linspace(0.01, 1.0, 100_001)
    for a, b, c in COEFFICIENTS:
        values = a * values + b * values**3 + c * values**5
        assert values.min() + values.max() == pytest.approx(2.0, abs=2e-3)


def test_a_matrix_of_nothing_moves_nothing():
    assert not np.any(optimizer.polar(tf.zeros([4, 6])))


def test_five_steps_equal_the_algorithm():
    optimizer, weights = make()
    expected = {name: random_arrays(0)[name] for name in (KERNEL, FUSED)}
    m = {name: np.zeros(SHAPES[name]) for name in expected}
    for step in range(1, 6):
        apply(optimizer, step)
        for name in expected:
            gradient = random_arrays(step)[name]
            m[name] = 0.95 * m[name] + 0.05 * gradient
            ahead = 0.95 * m[name] + 0.05 * gradient
            for part in np.split(np.arange(SHAPES[name][1]), 3 if name == FUSED else 1):
                length = RMS * max(6, len(part)) ** 0.5
                expected[name][:, part] -= 0.01 * length * newton_schulz(ahead[:, part])
    for name, value in expected.items():
        np.testing.assert_allclose(weights[name], value, **FLOAT32)


def test_the_length_of_the_gradient_does_not_matter():
    optimizer, weights = make()
    other, other_weights = make()
    apply(optimizer, 1)
    apply(other, 1, scale=1000.0)
    for name in (KERNEL, FUSED):
        np.testing.assert_allclose(weights[name], other_weights[name], **FLOAT32)


def test_tables_and_vectors_stay_with_adam():
    optimizer, weights = make()
    adam, adam_weights = make("adam")
    for step in (1, 2, 3):
        apply(optimizer, step)
        apply(adam, step)
    for name in (TABLE, SCALE):
        np.testing.assert_array_equal(weights[name], adam_weights[name])
    for name in (KERNEL, FUSED):
        assert np.any(weights[name].numpy() != adam_weights[name].numpy())
    assert set(adam.read_state()) - set(optimizer.read_state()) == {f"v.{KERNEL}", f"v.{FUSED}"}


def test_the_matrices_of_a_model_are_those_of_its_layers():
    sizes = {"d_model": 8, "d_ff": 12, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    config = ModelConfig(**sizes, positions="learned", max_length=16)
    model = Transformer(config, source_vocab_size=300, target_vocab_size=310, joint=False, seed=1)
    weights = {name: variable.value for name, variable in named_variables(model).items()}
    hidden = {name for name in weights if optimizer.is_hidden_matrix(name, weights[name])}
    others = {name for name, w in weights.items() if len(w.shape) == 2} - hidden
    assert len(hidden) == 4 + 7  # attention 2 and 5 (query_key_value is one), feed-forward 2 each
    assert all(max(weights[name].shape) in (16, 300, 310) for name in others)
    for name in hidden:
        for matrix in tf.split(weights[name], num_fused(name), axis=1):
            assert set(matrix.shape) <= {8, 12}
