"""The Transformer's parts: masks, attention, dropout, normalisation, feed-forward, weights."""

import math

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.model.layers import (
    CrossAttention,
    Dense,
    FeedForward,
    KeysValues,
    LayerNorm,
    RandomStream,
    SelfAttention,
    causal_padding_mask,
    dropout,
    masked_softmax,
    scaled_dot_product_attention,
)
from nmt_cli.model.packing import Packing, padding_mask

EXACT_FLOAT32 = 1e-6  # a few roundings of numbers near one


def stream(*seed: int) -> RandomStream:
    """Return a stream of dropout seeds."""
    return RandomStream(tf.constant(seed or (1, 2), tf.int32))


def normal(*shape: int, seed: int = 0) -> tf.Tensor:
    """Return float32 numbers from N(0, 1)."""
    return tf.constant(np.random.default_rng(seed).normal(size=shape), tf.float32)


def packed(x: tf.Tensor) -> tuple[tf.Tensor, Packing]:
    """Return x [B, T, D] without padding as rows [B*T, D], and where they lie."""
    packing = Packing(tf.shape(x)[:2])
    return packing.pack(x), packing


# --- packing --------------------------------------------------------------------------------------


def test_packing_leaves_padding_out_and_puts_rows_back():
    ids = tf.constant([[7, 8, 0], [9, 0, 0], [0, 0, 0], [5, 0, 6]])
    packing = Packing.of(ids)
    assert packing.pack(ids).numpy().tolist() == [7, 8, 9, 5, 6]
    assert packing.positions().numpy().tolist() == [0, 1, 0, 0, 2]
    x = normal(4, 3, 2)
    rows = packing.pack(x)
    assert rows.shape == (5, 2)
    np.testing.assert_array_equal(packing.unpack(rows), tf.where((ids > 0)[:, :, None], x, 0.0))


def test_packing_of_a_batch_without_padding_is_a_reshape():
    x = normal(2, 3, 4)
    rows, packing = packed(x)
    np.testing.assert_array_equal(rows, tf.reshape(x, [6, 4]))
    np.testing.assert_array_equal(packing.unpack(rows), x)
    assert packing.positions().numpy().tolist() == [0, 1, 2, 0, 1, 2]


def test_gradients_come_through_the_packing():
    packing, x = Packing.of(tf.constant([[1, 1], [1, 0]])), normal(2, 2, 3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(packing.unpack(packing.pack(x) ** 2) * 3.0)
    real = np.array([[[1], [1]], [[1], [0]]])
    np.testing.assert_allclose(tape.gradient(loss, x), 6 * x.numpy() * real, rtol=1e-6)


# --- masks and attention ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "weights", "output"),
    [
        ([0, 10, 0], [0, 1, 0, 0], [10, 0]),
        ([0, 0, 10], [0, 0, 0.5, 0.5], [550, 5.5]),
        ([10, 10, 0], [0.5, 0.5, 0, 0], [5.5, 0]),
    ],
)
def test_attention_gives_the_known_values(query, weights, output):
    """Issue A; from TensorFlow's Transformer tutorial."""
    keys = tf.constant([[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]], tf.float32)
    values = tf.constant([[1, 0], [10, 0], [100, 5], [1000, 6]], tf.float32)

    found, found_weights = scaled_dot_product_attention(
        tf.constant([query], tf.float32), keys, values, tf.constant([[True] * 4])
    )

    # The other keys keep exp(-100 / sqrt(3)) = 8e-26 of the weight.
    np.testing.assert_allclose(found_weights, [weights], atol=1e-7)
    np.testing.assert_allclose(found, [output], rtol=1e-6, atol=1e-4)


def test_attention_gives_a_masked_key_exactly_nothing():
    keys = tf.constant([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    _, weights = scaled_dot_product_attention(
        tf.constant([[5.0, 6.0]]), keys, keys, tf.constant([[True, False, True]])
    )
    assert weights.numpy().tolist() == [[0.5, 0.0, 0.5]]


def test_padding_is_masked():
    assert padding_mask(tf.constant([[1, 21, 777, 0, 0]])).numpy().tolist() == [
        [True, True, True, False, False]
    ]


def test_decoder_positions_see_real_keys_up_to_themselves():
    """Ids [1, 2, 0, 4, 5]: position t sees keys up to t except key 2."""
    mask = causal_padding_mask(tf.constant([[1, 2, 0, 4, 5]])).numpy()
    assert mask.astype(int).tolist() == [
        [
            [1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 0, 1, 0],
            [1, 1, 0, 1, 1],
        ]
    ]


def test_masked_softmax_gives_the_known_values():
    """Issue A: the scores are read as ids too, and row 0's padding mask is used for all rows."""
    scores = tf.constant([[7, 6, 0, 0, 1], [1, 2, 3, 0, 0], [0, 0, 0, 4, 5]], tf.float32)
    mask = padding_mask(tf.cast(scores, tf.int32))[0]

    found = masked_softmax(scores, mask[None, :])

    expected = [
        [0.72973627, 0.26845497, 0, 0, 0.00180884],
        [0.24472848, 0.66524094, 0, 0, 0.09003057],
        [0.00664835, 0.00664835, 0, 0, 0.98670328],
    ]
    np.testing.assert_allclose(found, expected, atol=5e-8)  # printed with eight digits
    assert np.all(found.numpy()[:, 2:4] == 0)


def test_masked_softmax_of_a_wholly_masked_row_is_finite():
    found = masked_softmax(tf.constant([[1.0, 2.0]]), tf.constant([[False, False]]))
    assert np.isfinite(found).all()


def test_masked_softmax_is_float32_for_bfloat16_scores():
    found = masked_softmax(tf.constant([[1.0, 2.0]], tf.bfloat16), tf.constant([[True, True]]))
    assert found.dtype == tf.float32


def test_self_attention_step_by_step_equals_all_at_once():
    attention = SelfAttention("a", 1, d_model=8, num_heads=2, attention_dropout=0.0)
    x = normal(2, 4, 8)
    ids = tf.constant([[1, 5, 6, 7], [1, 5, 0, 7]])
    whole, whole_weights = attention(*packed(x), causal_padding_mask(ids), None)
    whole = tf.reshape(whole, x.shape)

    empty = tf.zeros([2, 2, 4, 4])
    cache = KeysValues(empty, empty)
    for position in range(4):
        seen = padding_mask(ids) & (tf.range(4) <= position)
        output, weights, cache = attention.step(
            x[:, position], seen[:, None], cache, tf.constant(position)
        )
        np.testing.assert_allclose(output, whole[:, position], atol=EXACT_FLOAT32)
        np.testing.assert_allclose(
            weights[:, :, 0], whole_weights[:, :, position], atol=EXACT_FLOAT32
        )


@pytest.mark.parametrize("is_compiled", [False, True])
def test_beams_change_places_by_their_mask_alone(is_compiled):
    """Two sentences with three beams: each sees its own history, whoever wrote it."""
    attention = SelfAttention("a", 1, d_model=8, num_heads=2, attention_dropout=0.0)
    x = normal(6, 4, 8)
    parents = [[0, 1, 2], [2, 0, 0], [1, 1, 0]]  # of each beam, at the second position and later
    histories = [[[k] for k in range(3)]]  # which beam wrote each position of each beam's history
    for choice in parents:
        histories.append([[*histories[-1][parent], k] for k, parent in enumerate(choice)])

    @tf.function(jit_compile=is_compiled)
    def step(x, mask, keys, values, position):
        return attention.step(x, mask, KeysValues(keys, values), position)

    cache = KeysValues(tf.zeros([2, 2, 12, 4]), tf.zeros([2, 2, 12, 4]))
    for position, history in enumerate(histories):
        seen = np.zeros((2, 3, 4, 3), bool)
        for beam, writers in enumerate(history):
            seen[:, beam, range(len(writers)), writers] = True
        output, _, cache = step(
            x[:, position], seen.reshape(2, 3, 12), *cache, tf.constant(position)
        )
        for row in range(6):
            rows = [row - row % 3 + writer for writer in history[row % 3]]
            own = tf.stack([x[r, place] for place, r in enumerate(rows)])[None]
            mask = causal_padding_mask(tf.ones(own.shape[:2], tf.int32))
            whole, _ = attention(*packed(own), mask, None)
            np.testing.assert_allclose(output[row], whole[-1], atol=EXACT_FLOAT32)


def test_beams_share_the_memory_of_their_sentence():
    """Beams side by side give what each would give with its own copy of the memory."""
    attention = CrossAttention("a", 1, d_model=8, num_heads=2, attention_dropout=0.0)
    states, mask = normal(2, 5, 8), tf.constant([[True] * 5, [True] * 3 + [False] * 2])
    x = normal(6, 8, seed=1)  # three beams a sentence
    copies = tf.repeat(states, 3, axis=0)

    memory = attention.project_memory(*packed(states))
    shared, weights = attention(x, Packing(tf.constant([2, 3])), memory, mask, None)

    repeated = attention.project_memory(*packed(copies))
    one_each = Packing(tf.constant([6, 1]))
    own, _ = attention(x, one_each, repeated, tf.repeat(mask, 3, axis=0), None)
    np.testing.assert_allclose(shared, own, atol=EXACT_FLOAT32)
    assert weights.shape == (2, 2, 3, 5)
    assert np.all(weights.numpy()[1, :, :, 3:] == 0)


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_attention_dropout_changes_the_output_but_not_the_weights_returned(kind):
    attention = kind("a", 1, d_model=8, num_heads=2, attention_dropout=0.5)
    x = normal(1, 3, 8)
    if kind is SelfAttention:
        inputs = (*packed(x), tf.fill([1, 3, 3], True))
    else:
        inputs = (*packed(x), attention.project_memory(*packed(x)), tf.fill([1, 3], True))
    still, still_weights = attention(*inputs, None)
    dropped, dropped_weights = attention(*inputs, stream())
    assert np.abs(still - dropped).max() > 0.01
    np.testing.assert_array_equal(still_weights, dropped_weights)


# --- dropout --------------------------------------------------------------------------------------


def test_dropout_keeps_the_expectation():
    rate, size = 0.3, 100_001  # odd: sixteen-bit numbers come in pairs
    dropped = dropout(tf.ones([size]), rate, stream()).numpy()

    share = np.mean(dropped == 0)
    # Five standard deviations of a binomial share; a right dropout fails once in two million seeds.
    assert abs(share - rate) < 5 * math.sqrt(rate * (1 - rate) / size)
    np.testing.assert_allclose(dropped[dropped != 0], 1 / (1 - rate), rtol=2e-5)  # rate in 1/65536


def test_dropout_is_a_function_of_the_seed():
    x = tf.ones([1000])
    first = dropout(x, 0.5, stream(3, 4))
    np.testing.assert_array_equal(first, dropout(x, 0.5, stream(3, 4)))
    assert np.any(first != dropout(x, 0.5, stream(3, 5)))
    assert np.any(first != dropout(x, 0.5, stream(4, 4)))


def test_dropouts_of_one_pass_differ():
    random, x = stream(), tf.ones([1000])
    assert np.any(dropout(x, 0.5, random) != dropout(x, 0.5, random))


@pytest.mark.parametrize(("rate", "random"), [(0.5, None), (0.0, "stream")])
def test_no_dropout_without_a_rate_or_a_stream(rate, random):
    x = tf.ones([10])
    assert dropout(x, rate, stream() if random else None) is x


def test_a_rate_just_below_one_keeps_next_to_nothing():
    assert np.isfinite(dropout(tf.ones([1000]), 0.9999999, stream())).all()


def test_dropout_keeps_shape_and_number_format():
    found = dropout(tf.ones([2, 3, 5], tf.bfloat16), 0.5, stream())
    assert (found.shape, found.dtype) == ((2, 3, 5), tf.bfloat16)


def test_dropout_hits_all_elements_alike():
    """Over many seeds no position is spared: neither the first, the last nor an odd one."""
    kept = sum(dropout(tf.ones([7]), 0.5, stream(0, i)).numpy() > 0 for i in range(100))
    # Five standard deviations of Binomial(100, 1/2) are 25.
    assert np.all(np.abs(kept - 50) <= 25)


# --- normalisation and feed-forward ---------------------------------------------------------------


def test_layer_norm_divides_by_the_biased_deviation():
    norm = LayerNorm("n", 1, 2, 1e-6)
    norm.scale.assign([2.0, 4.0])
    norm.bias.assign([0.0, 5.0])
    # [100, 300]: mean 200, deviation 100 (divided by two, not by one).
    np.testing.assert_allclose(norm(tf.constant([[100.0, 300.0]])), [[-2.0, 9.0]], rtol=1e-6)


def test_layer_norm_adds_epsilon_to_the_variance():
    norm = LayerNorm("n", 1, 2, 1e-6)
    found = norm(tf.constant([[1e-3, 3e-3]]))  # variance 1e-6, as large as epsilon
    np.testing.assert_allclose(found, [[-math.sqrt(0.5), math.sqrt(0.5)]], rtol=1e-5)


def test_layer_norm_takes_statistics_in_float32():
    """Mean and variance of 256 bfloat16 numbers around 100 would be lost in bfloat16."""
    x = 100 + normal(1, 256)
    rounded = tf.cast(x, tf.bfloat16)
    found = LayerNorm("n", 1, 256, 1e-6)(rounded)
    exact = LayerNorm("n", 1, 256, 1e-6)(tf.cast(rounded, tf.float32))
    assert found.dtype == tf.bfloat16
    # One rounding to bfloat16's eight bits, at the end.
    np.testing.assert_allclose(tf.cast(found, tf.float32), exact, rtol=2**-8, atol=1e-6)


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("relu", max(0.0, 0.5)),
        ("gelu", 0.5 * 0.5 * (1 + math.erf(0.5 / math.sqrt(2)))),
        ("silu", 0.5 / (1 + math.exp(-0.5))),
        ("swiglu", 0.5 * (2.0 / (1 + math.exp(-2.0)))),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_feed_forward_by_hand(activation, expected, sign):
    """One feature: inner = 0.5 x, gate = 2 x, output = 3 hidden + 1."""
    feed = FeedForward("f", 1, 1, 1, activation, 0.0)
    feed.inner.kernel.assign([[0.5]])
    feed.outer.kernel.assign([[3.0]])
    feed.outer.bias.assign([1.0])
    if activation == "swiglu":
        feed.gate.kernel.assign([[2.0]])
    negative = {
        "relu": 0.0,
        "gelu": -0.5 * 0.5 * (1 - math.erf(0.5 / math.sqrt(2))),
        "silu": -0.5 / (1 + math.exp(0.5)),
        "swiglu": -0.5 * (-2.0 / (1 + math.exp(2.0))),
    }
    hidden = expected if sign > 0 else negative[activation]

    found = feed(tf.constant([[float(sign)]]), None)

    np.testing.assert_allclose(found, [[3 * hidden + 1]], rtol=1e-6)


def test_feed_forward_drops_activations():
    feed = FeedForward("f", 1, 4, 64, "relu", 0.5)
    x = normal(2, 4)
    assert np.abs(feed(x, None) - feed(x, stream())).max() > 0.01


# --- first weights --------------------------------------------------------------------------------


def test_first_weights_follow_from_seed_and_name():
    def kernel(name: str, seed: int) -> np.ndarray:
        return Dense(name, seed, 5, 7).kernel.numpy()

    np.testing.assert_array_equal(kernel("a", 1), kernel("a", 1))
    assert np.any(kernel("a", 1) != kernel("a", 2))
    assert np.any(kernel("a", 1) != kernel("b", 1))


def test_fused_matrices_are_glorot_uniform_each():
    """A fused [D, 3D] matrix has the limit of a [D, D] one: sqrt(6 / 2D)."""
    fused = SelfAttention("a", 1, 64, 2, 0.0).query_key_value.numpy()
    limit = math.sqrt(6 / 128)
    assert fused.shape == (64, 192)
    assert 0.98 * limit < np.abs(fused).max() <= limit
    # A uniform distribution's deviation is limit / sqrt(3); 12,288 draws know it to a per cent.
    np.testing.assert_allclose(fused.std(), limit / math.sqrt(3), rtol=0.02)


def test_a_dropout_stream_does_not_repeat_over_its_seeds():
    random = stream()
    seeds = {tuple(random.next_seed().numpy()) for _ in range(100)}
    assert len(seeds) == 100
