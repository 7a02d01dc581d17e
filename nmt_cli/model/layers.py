"""The Transformer's parts: masks, dropout, normalisation, attention with a KV cache, feed-forward.

Shapes are written with these letters: `B` batch, `S` source positions, `T` target positions, `C`
cache capacity, `K` beams of a sentence, `N` real positions of a batch (B times K in a search),
`V` vocabulary, `D` d_model, `H` heads, `P` width of a head (D/H), `F` d_ff.

Masks are boolean, True = may attend. Weights are float32; each layer computes in the number format
of its input, softmax and normalisation in float32.

Reference: Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762.
"""

import zlib
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla

from nmt_cli.model.packing import Packing, Tensor, padding_mask

_MASKED = -1e9  # far below any real score, yet finite, so that a fully masked row is no NaN
_UINT16_VALUES = 1 << 16
_FUSED = {"query_key_value": 3, "key_value": 2}  # matrices that lie side by side in one weight
_ACTIVATIONS = {"relu": tf.nn.relu, "silu": tf.nn.silu, "swiglu": tf.nn.silu, "gelu": tf.nn.gelu}

# kind of attention ("encoder", "decoder", "cross") -> its weights in each layer
AttentionMaps = dict[str, list[Tensor]]


def num_fused(name: str) -> int:
    """Return how many matrices lie side by side in a weight, by its name, dotted or not."""
    return _FUSED.get(name.rpartition(".")[2], 1)


class RandomStream:
    """Seeds for the dropouts of one forward pass: a function of their order and of a seed.

    That is [2] int32, different for each micro-batch of each step.
    """

    def __init__(self, seed: Tensor) -> None:
        self._seed = seed
        self._count = 0

    def next_seed(self) -> Tensor:
        """Return the seed of the next dropout, [2] int32."""
        self._count += 1
        return tf.random.experimental.stateless_fold_in(self._seed, self._count)


def dropout(x: Tensor, rate: float, random: RandomStream | None) -> Tensor:
    """Zero a share `rate` of x and scale the rest up; without a random stream return x.

    Sixteen random bits decide on an element: half the work of drawing a float for each.
    """
    if random is None or rate == 0.0:
        return x
    threshold = min(round(rate * _UINT16_VALUES), _UINT16_VALUES - 1)
    size = tf.size(x)
    whole_range = {"minval": None, "maxval": None, "dtype": tf.uint32, "alg": "philox"}
    words = tf.random.stateless_uniform([(size + 1) // 2], random.next_seed(), **whole_range)
    bits = tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:size]  # as many as x has
    kept = tf.constant(1.0 / (1.0 - threshold / _UINT16_VALUES), x.dtype)
    factors = tf.where(bits >= tf.constant(threshold, tf.uint16), kept, tf.zeros([], x.dtype))
    return x * tf.reshape(factors, tf.shape(x))


def causal_padding_mask(ids: Tensor) -> Tensor:
    """Return which keys each position may see: [B, T] int32 -> [B, T, T] bool.

    Position t sees the real keys at positions up to t.
    """
    positions = tf.range(tf.shape(ids)[1])
    causal = positions[:, None] >= positions[None, :]  # [T, T]
    return tf.logical_and(causal[None], padding_mask(ids)[:, None, :])  # [B, T, T]


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the float32 softmax over the last axis, with probability zero where mask is False."""
    bias = tf.where(mask, 0.0, _MASKED)
    return tf.nn.softmax(tf.cast(scores, tf.float32) + bias, axis=-1)


def scaled_dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    rate: float = 0.0,
    random: RandomStream | None = None,
) -> tuple[Tensor, Tensor]:
    """Return softmax(Q K^T / sqrt(P)) V and its weights (section 3.2.1, equation 1).

    Args:
        queries: [..., T, P].
        keys: [..., S, P].
        values: [..., S, P].
        mask: Broadcastable to [..., T, S].
        rate: Dropout on the weights; those returned are whole.
        random: Seeds of the dropout, or None for none.

    Returns:
        Output [..., T, P] and float32 weights [..., T, S].
    """
    scale = 1.0 / float(queries.shape[-1]) ** 0.5
    weights = masked_softmax(tf.matmul(queries * scale, keys, transpose_b=True), mask)
    return tf.matmul(dropout(tf.cast(weights, values.dtype), rate, random), values), weights


def linear(x: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W (+ b) in the number format of x [N, inputs]; W is [inputs, outputs]."""
    product = tf.matmul(x, tf.cast(kernel, x.dtype))  # [N, outputs]
    return product if bias is None else tf.nn.bias_add(product, tf.cast(bias, x.dtype))


class Layer(keras.layers.Layer):
    """A Keras layer whose float32 weights have dotted names and reproducible initial values.

    Keras tracks the variables; its call machinery (building on first use, casting arguments,
    implied masks) is passed by, since every layer here makes its weights at once and is explicit
    about types. The run's seed and a weight's dotted name, such as
    `encoder.layer1.self_att.output`, decide its first value.
    """

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name=name, dtype="float32", autocast=False)
        self.built = True  # no building on first use
        self.seed = seed

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer's `call` directly."""
        return self.call(*args, **kwargs)

    def _matrix(self, name: str, rows: int, columns: int) -> Tensor:
        """Add a Glorot-uniform matrix [rows, columns], or as many side by side as are fused."""
        limit = (6.0 / (rows + columns)) ** 0.5
        random = self._random(name)
        return self._weight(name, random.uniform(-limit, limit, (rows, num_fused(name) * columns)))

    def _normal(self, name: str, rows: int, columns: int) -> Tensor:
        """Add a matrix [rows, columns] drawn from N(0, 1/columns)."""
        return self._weight(name, self._random(name).normal(0.0, columns**-0.5, (rows, columns)))

    def _constant(self, name: str, size: int, value: float) -> Tensor:
        return self._weight(name, np.full(size, value))

    def _weight(self, name: str, value: Any) -> Tensor:
        array = np.asarray(value, np.float32)
        return self.add_weight(
            name=name, shape=array.shape, initializer=lambda *_, **__: tf.constant(array)
        )

    def _random(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(f"{self.name}.{name}".encode())])


class LayerNorm(Layer):
    """Layer normalisation (Ba et al. 2016, arXiv 1607.06450) over the last axis."""

    def __init__(self, name: str, seed: int, d_model: int, epsilon: float) -> None:
        super().__init__(name, seed)
        self.epsilon = epsilon
        self.scale = self._constant("scale", d_model, 1.0)
        self.bias = self._constant("bias", d_model, 0.0)

    def call(self, x: Tensor) -> Tensor:
        """Normalise [..., D]; statistics in float32."""
        wide = tf.cast(x, tf.float32)
        return tf.cast(_layer_norm(wide, self.scale.value, self.bias.value, self.epsilon), x.dtype)


def _layer_norm(x: Tensor, scale: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """Return (x - mean) / sqrt(variance + epsilon) * scale + bias, with its own gradient.

    With n the normalised x and g the gradient of n, that of x is
    (g - mean(g) - n * mean(g * n)) / sqrt(variance + epsilon): half the passes of a derivative
    taken operation by operation.
    """

    @tf.custom_gradient
    def norm(x: Tensor, scale: Tensor, bias: Tensor) -> tuple[Tensor, Any]:
        centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        inverse = tf.math.rsqrt(variance + epsilon)
        normalised = centred * inverse

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            products = upstream * normalised
            g = upstream * scale
            of_mean = tf.reduce_mean(g, axis=-1, keepdims=True)
            of_variance = tf.reduce_mean(products * scale, axis=-1, keepdims=True)
            others = list(range(len(x.shape) - 1))
            return (
                (g - of_mean - normalised * of_variance) * inverse,
                tf.reduce_sum(products, others),
                tf.reduce_sum(upstream, others),
            )

        return normalised * scale + bias, gradient

    return norm(x, scale, bias)


class KeysValues(NamedTuple):
    """What an attention looks at, in one layer.

    For the encoder's output, X is its S positions. For the decoder's own earlier positions it is
    C*K: what beam k wrote at position c lies at c*K + k, and all beams of a sentence share it. A
    mask says who descends from whom, so that beams change places without moving any of this.
    """

    keys: Tensor  # [B, H, X, P]
    values: Tensor  # [B, H, X, P]


class _Attention(Layer):
    """Multi-head attention (section 3.2.2), with biases only where they are asked for.

    A key bias has no gradient (it shifts all scores of a query alike); like tensor2tensor we leave
    out all four by default. `_inputs` names the matrices of the input, in the order of the weights.
    """

    _inputs: tuple[str, ...]

    def __init__(
        self,
        name: str,
        seed: int,
        d_model: int,
        num_heads: int,
        attention_dropout: float,
        *,
        has_bias: bool = False,
    ) -> None:
        super().__init__(name, seed)
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        for matrix in self._inputs:
            setattr(self, matrix, self._matrix(matrix, d_model, d_model))
        self.output_projection = self._matrix("output", d_model, d_model)
        self.biases = {
            matrix: self._constant(f"{matrix}_bias", num_fused(matrix) * d_model, 0.0)
            for matrix in (*self._inputs, "output")
            if has_bias
        }

    def _attend(
        self,
        queries: Tensor,
        memory: KeysValues,
        mask: Tensor,
        packing: Packing,
        random: RandomStream | None,
    ) -> tuple[Tensor, Tensor]:
        """Return the output [N, D] and the weights [B, H, T, X] of queries [B, H, T, P]."""
        output, weights = scaled_dot_product_attention(
            queries, *memory, mask, self.attention_dropout, random
        )
        joined = packing.join_heads(output)
        return linear(joined, self.output_projection, self.biases.get("output")), weights


class SelfAttention(_Attention):
    """Attention within each sentence, with one fused projection."""

    _inputs = ("query_key_value",)
    query_key_value: Tensor

    def call(
        self, x: Tensor, packing: Packing, mask: Tensor, random: RandomStream | None
    ) -> tuple[Tensor, Tensor]:
        """Return [N, D] and the weights [B, H, T, T] of x [N, D], which `packing` lays out.

        The mask is [B, T, T] or [B, 1, T] bool.
        """
        queries, memory = self._project(x, packing)
        return self._attend(queries, memory, mask[:, None], packing, random)

    def step(
        self, x: Tensor, mask: Tensor, cache: KeysValues, position: Tensor
    ) -> tuple[Tensor, Tensor, KeysValues]:
        """Attend from one new position of each beam to it and to all that the beam comes from.

        Args:
            x: [N, D] the new positions, beams of a sentence side by side.
            mask: [B, K, C*K] bool, True at what each beam comes from, the new position included.
            cache: What was written so far, [B, H, C*K, P].
            position: Scalar int32 index of the new position; below C.

        Returns:
            [N, D], the weights [B, H, K, C*K], and the cache with this position written.
        """
        packing = Packing(tf.shape(mask)[:2])
        queries, new = self._project(x, packing)
        cache = KeysValues(
            _written(cache.keys, new.keys, position), _written(cache.values, new.values, position)
        )
        return *self._attend(queries, cache, mask[:, None], packing, None), cache

    def _project(self, x: Tensor, packing: Packing) -> tuple[Tensor, KeysValues]:
        """Return queries, keys and values, each [B, H, T, P], of x [N, D]."""
        fused = linear(x, self.query_key_value, self.biases.get("query_key_value"))  # [N, 3*D]
        queries, *memory = packing.split_heads(fused, self.num_heads, fused=3)  # each [B, H, T, P]
        return queries, KeysValues(*memory)


def _written(cache: Tensor, new: Tensor, position: Tensor) -> Tensor:
    """Return the cache [B, H, C*K, P] with new [B, H, K, P] at a position."""
    beams = tf.shape(new)[2]
    if cache.shape.is_fully_defined():  # compiled, where this writes in place
        return xla.dynamic_update_slice(cache, new, tf.stack([0, 0, position * beams, 0]))
    batch, heads, room, width = tf.unstack(tf.shape(cache))
    by_position = tf.reshape(cache, [batch, heads, room // beams, beams, width])  # [B, H, C, K, P]
    here = (tf.range(room // beams) == position)[:, None, None]  # [C, 1, 1]
    by_position = tf.where(here, new[:, :, None], by_position)  # [B, H, C, K, P]
    return tf.reshape(by_position, tf.shape(cache))  # [B, H, C*K, P]


class CrossAttention(_Attention):
    """Attention from the decoder to the encoder's output.

    The rows of the decoder may be several beams of each sentence: beams of a sentence lie side by
    side and share its keys and values, one product for all of them.
    """

    _inputs = ("query", "key_value")
    query: Tensor
    key_value: Tensor

    def project_memory(self, states: Tensor, packing: Packing) -> KeysValues:
        """Return the keys and values [B, H, S, P] of the encoder's output [N, D]."""
        fused = linear(states, self.key_value, self.biases.get("key_value"))  # [N, 2*D]
        return KeysValues(*packing.split_heads(fused, self.num_heads, fused=2))

    def call(
        self,
        x: Tensor,
        packing: Packing,
        memory: KeysValues,
        mask: Tensor,
        random: RandomStream | None,
    ) -> tuple[Tensor, Tensor]:
        """Return [N, D] and the weights [B, H, T, S] of x [N, D]; T counts beams in a search.

        The mask is [B, S] bool, the memory's keys and values are [B, H, S, P].
        """
        projected = linear(x, self.query, self.biases.get("query"))  # [N, D]
        (queries,) = packing.split_heads(projected, self.num_heads)  # [B, H, T, P]
        return self._attend(queries, memory, mask[:, None, None, :], packing, random)


class Dense(Layer):
    """x W + b."""

    def __init__(self, name: str, seed: int, inputs: int, outputs: int) -> None:
        super().__init__(name, seed)
        self.kernel = self._matrix("kernel", inputs, outputs)
        self.bias = self._constant("bias", outputs, 0.0)

    def call(self, x: Tensor) -> Tensor:
        """Map [N, inputs] to [N, outputs]."""
        return linear(x, self.kernel, self.bias)


class FeedForward(Layer):
    """The position-wise network (section 3.3) with ReLU, GELU, SiLU, or SwiGLU (Shazeer 2020)."""

    def __init__(
        self,
        name: str,
        seed: int,
        d_model: int,
        d_ff: int,
        activation: str,
        activation_dropout: float,
    ) -> None:
        super().__init__(name, seed)
        self.activation = activation
        self.activation_dropout = activation_dropout
        self.inner = Dense(f"{name}.inner", seed, d_model, d_ff)
        self.gate = Dense(f"{name}.gate", seed, d_model, d_ff) if activation == "swiglu" else None
        self.outer = Dense(f"{name}.outer", seed, d_ff, d_model)

    def call(self, x: Tensor, random: RandomStream | None) -> Tensor:
        """Map [N, D] to [N, D]."""
        inner, activate = self.inner(x), _ACTIVATIONS[self.activation]
        inner = activate(inner) if self.gate is None else activate(self.gate(x)) * inner
        return self.outer(dropout(inner, self.activation_dropout, random))
