"""The encoder-decoder Transformer, written from the papers in NumPy: the oracle for the product.

In: a dictionary of weights and an `Architecture`; token ids of one sentence pair. Out: states,
logits, log-probabilities and attention maps, all in float64. Nothing here is shared with
`nmt_cli`, nothing is batched, and masked keys are left out of the sum instead of being given a
very negative score, so that a mistake in the product has no way of being made again here.

Shapes: `S` source length, `T` target length, `V` vocabulary, `D` d_model, `F` d_ff, `H` heads,
`P` head dimension (D / H). Ids: 0 is `<pad>`, 1 `<s>`, 2 `</s>`. Kernels are stored `[in, out]`.

References:
    Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762 (sections quoted as §).
    Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", arXiv
    2002.04745: where the norms stand in "pre" and "post".
    Ba et al. 2016, "Layer Normalization", arXiv 1607.06450.
    Hendrycks & Gimpel 2016, "Gaussian Error Linear Units", arXiv 1606.08415.
    Shazeer 2020, "GLU Variants Improve Transformer", arXiv 2002.05202: SwiGLU.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Array = np.ndarray
Tied = Literal["all", "output", "none"]

PAD_ID = 0
START_ID = 1
SPEAKER_IDS = (3, 4)  # each begins a turn
NUM_TURNS = 4  # told apart: the newest, the two before it, and all that are earlier
NEVER = 1e4


@dataclass(frozen=True)
class Architecture:
    """The sizes and choices that make a Transformer.

    Attributes:
        d_model: Width of the states, D.
        d_ff: Inner width of the feed-forward sublayers, F.
        num_heads: Attention heads, H; divides `d_model`.
        encoder_layers: Depth of the encoder.
        decoder_layers: Depth of the decoder.
        norm: "pre": x + sublayer(norm(x)) and one last norm; "post": norm(x + sublayer(x)).
        activation: Non-linearity of the feed-forward sublayers.
        norm_epsilon: What layer normalisation adds to the variance.
        attention_bias: Whether the projections of attention have biases.
        output_bias: Whether the logits have one.
        embedding_norm: Of which side the embeddings, with positions, are normalised.
        positions: "sinusoidal" is computed, "learned" and "table" are among the weights.
        turn_embeddings: Whether the encoder adds a vector for how many turns ago a token was said.
    """

    d_model: int
    d_ff: int
    num_heads: int
    encoder_layers: int
    decoder_layers: int
    norm: Literal["pre", "post"] = "pre"
    activation: Literal["relu", "gelu", "silu", "swiglu"] = "relu"
    norm_epsilon: float = 1e-6
    attention_bias: bool = False
    output_bias: bool = False
    embedding_norm: Literal["none", "encoder", "both"] = "none"
    positions: Literal["sinusoidal", "learned", "table"] = "sinusoidal"
    turn_embeddings: bool = False


# --- the parts --------------------------------------------------------------------------------


def softmax(scores: Array) -> Array:
    """Turn scores into probabilities; subtracting the largest only keeps exp within range.

    Args:
        scores: Finite scores, [N] with N >= 1.

    Returns:
        Probabilities [N] that sum to one.
    """
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / np.sum(exponentials)


def log_softmax(logits: Array) -> Array:
    """Turn the logits [V] of one position into log-probabilities [V].

    Args:
        logits: Scores over the vocabulary, [V].

    Returns:
        Natural logarithms of `softmax(logits)`, [V].
    """
    shifted = logits - np.max(logits)
    return shifted - np.log(np.sum(np.exp(shifted)))


def layer_norm(states: Array, scale: Array, bias: Array, epsilon: float = 1e-6) -> Array:
    """Normalise each position over its D features (Ba et al. 2016, equation 3).

    Args:
        states: One row for each position, [T, D].
        scale: Gain, [D].
        bias: Shift, [D].
        epsilon: Added to the variance.

    Returns:
        The normalised rows, [T, D].
    """
    rows = []
    for state in states:
        mean = np.mean(state)
        variance = np.mean((state - mean) ** 2)  # biased: divided by D, not by D - 1
        rows.append((state - mean) / np.sqrt(variance + epsilon) * scale + bias)
    return np.array(rows)


def sinusoidal_positions(length: int, d_model: int) -> Array:
    """Make the position table of §3.5: even columns are sines, odd columns cosines.

    Args:
        length: Number of positions, from 0.
        d_model: Width, an even number.

    Returns:
        The table, [length, D].
    """
    table = np.zeros((length, d_model))
    for position in range(length):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            table[position, 2 * i] = math.sin(angle)
            table[position, 2 * i + 1] = math.cos(angle)
    return table


def relu(x: Array) -> Array:
    """Rectify: max(0, x), elementwise (§3.3)."""
    return np.where(x > 0, x, 0.0)


def gelu(x: Array) -> Array:
    """Apply x * Phi(x) elementwise, Phi the exact Gaussian distribution function, not tanh."""
    phi = 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    return x * phi


def silu(x: Array) -> Array:
    """Apply x * sigmoid(x) elementwise; called Swish with beta 1 in Shazeer 2020."""
    return x / (1 + np.exp(-x))


def scaled_dot_product_attention(
    queries: Array, keys: Array, values: Array, permitted: Array
) -> tuple[Array, Array]:
    """Attend with one head (§3.2.1, equation 1).

    Args:
        queries: [T, P].
        keys: [S, P].
        values: [S, P'].
        permitted: Boolean [T, S], True where a query may see a key; each row has a True.

    Returns:
        The attended values [T, P'] and the attention weights [T, S].
    """
    weights = np.zeros((len(queries), len(keys)))
    for t, query in enumerate(queries):
        seen = permitted[t]
        scores = keys[seen] @ query / math.sqrt(len(query))
        weights[t, seen] = softmax(scores)
    return weights @ values, weights


def multi_head_attention(
    queries: Array, keys: Array, values: Array, permitted: Array, num_heads: int
) -> tuple[Array, Array]:
    """Attend with each head on its own columns and put the results side by side (§3.2.2).

    Args:
        queries: Projected queries, [T, D]; head h owns columns h*P to (h+1)*P.
        keys: Projected keys, [S, D], divided likewise.
        values: Projected values, [S, D], divided likewise.
        permitted: Boolean [T, S], True where a query may see a key.
        num_heads: H.

    Returns:
        The concatenated heads before the output projection [T, D], and the weights [H, T, S].
    """
    head_dim = queries.shape[1] // num_heads
    outputs = []
    maps = []
    for head in range(num_heads):
        own = slice(head * head_dim, (head + 1) * head_dim)
        output, weights = scaled_dot_product_attention(
            queries[:, own], keys[:, own], values[:, own], permitted
        )
        outputs.append(output)
        maps.append(weights)
    return np.concatenate(outputs, axis=1), np.array(maps)


def padding_mask(num_queries: int, key_ids: Sequence[int]) -> Array:
    """Permit every query to see every key that is not padding.

    Args:
        num_queries: T.
        key_ids: Ids at the key positions, [S].

    Returns:
        Boolean [T, S].
    """
    return np.array([[key_id != PAD_ID for key_id in key_ids] for _ in range(num_queries)])


def causal_mask(ids: Sequence[int]) -> Array:
    """Permit position t to see positions 0 to t that are not padding (§3.2.3).

    Args:
        ids: The decoder's input ids, [T].

    Returns:
        Boolean [T, T].
    """
    length = len(ids)
    return np.array([[s <= t and ids[s] != PAD_ID for s in range(length)] for t in range(length)])


# --- the model --------------------------------------------------------------------------------


class NumpyTransformer:
    """One Transformer with its weights; sentences go in one at a time, without a batch axis."""

    def __init__(
        self,
        weights: Mapping[str, Array],
        architecture: Architecture,
        never: Sequence[int] = (),
    ) -> None:
        """Keep the weights as float64.

        Args:
            weights: Every array that `weight_shapes` names.
            architecture: What the weights are for.
            never: Target tokens that are no output; their logits are lowered by `NEVER`.
        """
        self.never = list(never)
        self.architecture = architecture
        self.weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}

    def encode(self, source_ids: Sequence[int]) -> Array:
        """Encode one source sentence (§3.1).

        Args:
            source_ids: [S]; padding may follow the sentence.

        Returns:
            The memory for the decoder, [S, D]. Rows at padding are meaningless.
        """
        memory, _ = self._run_encoder(source_ids)
        return memory

    def decode_logits(
        self, target_ids: Sequence[int], memory: Array, source_ids: Sequence[int]
    ) -> Array:
        """Score the next token after each prefix of the decoder's input (§3.1, §3.4).

        Args:
            target_ids: The decoder's input, `<s>` first, [T].
            memory: What `encode` gave for `source_ids`, [S, D].
            source_ids: [S]; says which rows of `memory` are padding.

        Returns:
            Logits, [T, V]: row t belongs to the token that follows `target_ids[: t + 1]`.
        """
        states, _ = self._run_decoder(target_ids, memory, source_ids)
        logits = states @ self._output_embedding().T
        if self.architecture.output_bias:
            logits += self.weights["output_bias"]
        logits[:, self.never] -= NEVER
        return logits

    def log_probs(
        self, target_ids: Sequence[int], memory: Array, source_ids: Sequence[int]
    ) -> Array:
        """Like `decode_logits`, but log-probabilities: each row is normalised, [T, V]."""
        logits = self.decode_logits(target_ids, memory, source_ids)
        return np.array([log_softmax(row) for row in logits])

    def forced_score(self, source_ids: Sequence[int], target_ids: Sequence[int]) -> float:
        """Sum the log-probabilities of given target tokens, each after the ones before it.

        Args:
            source_ids: [S].
            target_ids: The tokens to be scored, [T]: without `<s>`, and with `</s>` if its
                probability shall count.

        Returns:
            log P(target | source).
        """
        decoder_input = [START_ID, *target_ids[:-1]]
        log_probs = self.log_probs(decoder_input, self.encode(source_ids), source_ids)
        return float(sum(log_probs[t, token] for t, token in enumerate(target_ids)))

    def attention_maps(
        self, source_ids: Sequence[int], target_ids: Sequence[int]
    ) -> dict[str, Array]:
        """Collect the attention weights of every layer.

        Args:
            source_ids: [S].
            target_ids: The decoder's input, `<s>` first, [T].

        Returns:
            For each layer n, counted from 1: `encoder_layer{n}_self_att` [H, S, S],
            `decoder_layer{n}_block1_self_att` [H, T, T] and `decoder_layer{n}_block2_decenc_att`
            [H, T, S]; queries are rows, keys are columns.
        """
        memory, encoder_maps = self._run_encoder(source_ids)
        _, decoder_maps = self._run_decoder(target_ids, memory, source_ids)
        return encoder_maps | decoder_maps

    # --- encoder and decoder ------------------------------------------------------------------

    def _run_encoder(self, source_ids: Sequence[int]) -> tuple[Array, dict[str, Array]]:
        """Return the memory [S, D] and the encoder's attention maps."""
        permitted = padding_mask(len(source_ids), source_ids)
        maps = {}
        states = self._embed(source_ids, self._source_embedding(), "encoder")
        for n in range(1, self.architecture.encoder_layers + 1):
            layer = f"encoder.layer{n}"
            states, maps[f"encoder_layer{n}_self_att"] = self._self_attention(
                states, permitted, f"{layer}.self_att"
            )
            states = self._feed_forward(states, f"{layer}.feed_forward")
        return self._last_norm(states, "encoder.norm"), maps

    def _run_decoder(
        self, target_ids: Sequence[int], memory: Array, source_ids: Sequence[int]
    ) -> tuple[Array, dict[str, Array]]:
        """Return the last states [T, D] and the decoder's attention maps."""
        past = causal_mask(target_ids)
        source = padding_mask(len(target_ids), source_ids)
        maps = {}
        states = self._embed(target_ids, self._target_embedding(), "decoder")
        for n in range(1, self.architecture.decoder_layers + 1):
            layer = f"decoder.layer{n}"
            states, maps[f"decoder_layer{n}_block1_self_att"] = self._self_attention(
                states, past, f"{layer}.self_att"
            )
            states, maps[f"decoder_layer{n}_block2_decenc_att"] = self._cross_attention(
                states, memory, source, f"{layer}.cross_att"
            )
            states = self._feed_forward(states, f"{layer}.feed_forward")
        return self._last_norm(states, "decoder.norm"), maps

    # --- sublayers, each with its residual connection and norm ----------------------------------

    def _self_attention(self, states: Array, permitted: Array, name: str) -> tuple[Array, Array]:
        """Let the positions of one sequence look at each other: [T, D] -> [T, D], [H, T, T]."""
        projected = self._project(self._enter(states, name), f"{name}.query_key_value")  # [T, 3D]
        queries, keys, values = np.split(projected, 3, axis=1)
        return self._attend(states, queries, keys, values, permitted, name)

    def _cross_attention(
        self, states: Array, memory: Array, permitted: Array, name: str
    ) -> tuple[Array, Array]:
        """Let the decoder look at the source: [T, D], [S, D] -> [T, D], [H, T, S]."""
        queries = self._project(self._enter(states, name), f"{name}.query")
        keys, values = np.split(self._project(memory, f"{name}.key_value"), 2, axis=1)
        return self._attend(states, queries, keys, values, permitted, name)

    def _attend(
        self,
        states: Array,
        queries: Array,
        keys: Array,
        values: Array,
        permitted: Array,
        name: str,
    ) -> tuple[Array, Array]:
        """Attend, project the heads together, and leave the sublayer that `states` entered."""
        heads, weights = multi_head_attention(
            queries, keys, values, permitted, self.architecture.num_heads
        )
        return self._leave(states, self._project(heads, f"{name}.output"), name), weights

    def _feed_forward(self, states: Array, name: str) -> Array:
        """Transform each position by itself (§3.3, equation 2): [T, D] -> [T, D]."""
        x = self._enter(states, name)
        inner = self._affine(x, f"{name}.inner")  # [T, F]
        if self.architecture.activation == "swiglu":
            hidden = silu(self._affine(x, f"{name}.gate")) * inner
        elif self.architecture.activation == "gelu":
            hidden = gelu(inner)
        elif self.architecture.activation == "silu":
            hidden = silu(inner)
        else:
            hidden = relu(inner)
        return self._leave(states, self._affine(hidden, f"{name}.outer"), name)

    def _enter(self, states: Array, name: str) -> Array:
        """Give what a sublayer reads: the normalised states in pre-norm, else the states."""
        if self.architecture.norm == "pre":
            return self._norm(states, f"{name}.norm")
        return states

    def _leave(self, states: Array, update: Array, name: str) -> Array:
        """Add a sublayer's result to the states it read; post-norm normalises the sum."""
        if self.architecture.norm == "pre":
            return states + update
        return self._norm(states + update, f"{name}.norm")

    def _last_norm(self, states: Array, name: str) -> Array:
        """Normalise the sum that pre-norm layers leave; post-norm layers have done it already."""
        if self.architecture.norm == "pre":
            return self._norm(states, name)
        return states

    # --- weights by name ------------------------------------------------------------------------

    def _norm(self, states: Array, name: str) -> Array:
        """Apply the layer norm called `name`."""
        scale, bias = self.weights[f"{name}.scale"], self.weights[f"{name}.bias"]
        return layer_norm(states, scale, bias, self.architecture.norm_epsilon)

    def _project(self, x: Array, name: str) -> Array:
        """Apply a projection of attention: [T, in] -> [T, out]."""
        projected = x @ self.weights[name]
        if self.architecture.attention_bias:
            projected = projected + self.weights[f"{name}_bias"]
        return projected

    def _affine(self, x: Array, name: str) -> Array:
        """Apply the affine map called `name`: [T, in] -> [T, out]."""
        return x @ self.weights[f"{name}.kernel"] + self.weights[f"{name}.bias"]

    def _embed(self, ids: Sequence[int], embedding: Array, side: str) -> Array:
        """Look up, scale by sqrt(D) (§3.4), add positions (§3.5) and turns: [T] -> [T, D]."""
        d_model = self.architecture.d_model
        if self.architecture.positions != "sinusoidal":
            positions = self.weights[f"{side}.positions"]
        else:
            positions = sinusoidal_positions(len(ids), d_model)
        rows = [
            math.sqrt(d_model) * embedding[token] + positions[place]
            for place, token in enumerate(ids)
        ]
        if side == "encoder" and self.architecture.turn_embeddings:
            turns_begun = 0
            for row, token in zip(rows, ids, strict=True):
                turns_begun += token in SPEAKER_IDS
                row += self.weights["encoder.turns"][min(max(turns_begun, 1), NUM_TURNS) - 1]
        if self.architecture.embedding_norm in (side, "both"):
            return self._norm(np.array(rows), f"{side}.embedding_norm")
        return np.array(rows)

    def _source_embedding(self) -> Array:
        """Return the table of the encoder's input, [Vs, D]."""
        return self._first_present("embedding", "source_embedding")

    def _target_embedding(self) -> Array:
        """Return the table of the decoder's input, [Vt, D]."""
        return self._first_present("embedding", "target_embedding")

    def _output_embedding(self) -> Array:
        """Return the table that states are compared with to give logits, [Vt, D]."""
        return self._first_present("embedding", "output_embedding", "target_embedding")

    def _first_present(self, *names: str) -> Array:
        """Return the first of the named weights that the dictionary has."""
        return self.weights[next(name for name in names if name in self.weights)]


# --- the names and shapes of the weights ----------------------------------------------------------


def weight_shapes(
    architecture: Architecture, source_vocab: int, target_vocab: int, tied: Tied, max_length: int
) -> dict[str, tuple[int, ...]]:
    """List every weight that a model has.

    Args:
        architecture: The model.
        source_vocab: Vs.
        target_vocab: Vt; equal to `source_vocab` when `tied` is "all".
        tied: "all": one table for source, target and output; "output": the output uses the
            target's; "none": three tables.
        max_length: Rows of the position tables; unused by sinusoids.

    Returns:
        Weight name -> shape.

    Raises:
        ValueError: One table was asked for two vocabularies of different sizes.
    """
    if tied == "all" and source_vocab != target_vocab:
        raise ValueError(f"one table cannot serve {source_vocab} and {target_vocab} tokens")
    d_model = architecture.d_model
    shapes: dict[str, tuple[int, ...]] = {}
    if tied == "all":
        shapes["embedding"] = (source_vocab, d_model)
    else:
        shapes["source_embedding"] = (source_vocab, d_model)
        shapes["target_embedding"] = (target_vocab, d_model)
    if tied == "none":
        shapes["output_embedding"] = (target_vocab, d_model)
    if architecture.output_bias:
        shapes["output_bias"] = (target_vocab,)
    shapes |= _stack_shapes(architecture, "encoder", architecture.encoder_layers, max_length)
    shapes |= _stack_shapes(architecture, "decoder", architecture.decoder_layers, max_length)
    return shapes


def _stack_shapes(
    architecture: Architecture, side: str, layers: int, max_length: int
) -> dict[str, tuple[int, ...]]:
    """List the weights of the encoder or of the decoder, embeddings apart."""
    d_model = architecture.d_model
    shapes: dict[str, tuple[int, ...]] = {}
    if architecture.embedding_norm in (side, "both"):
        shapes |= _norm_shapes(f"{side}.embedding_norm", d_model)
    if architecture.positions != "sinusoidal":
        shapes[f"{side}.positions"] = (max_length, d_model)
    if architecture.turn_embeddings and side == "encoder":
        shapes["encoder.turns"] = (NUM_TURNS, d_model)
    for n in range(1, layers + 1):
        layer = f"{side}.layer{n}"
        shapes |= _norm_shapes(f"{layer}.self_att.norm", d_model)
        shapes[f"{layer}.self_att.query_key_value"] = (d_model, 3 * d_model)
        shapes[f"{layer}.self_att.output"] = (d_model, d_model)
        if side == "decoder":
            shapes |= _norm_shapes(f"{layer}.cross_att.norm", d_model)
            shapes[f"{layer}.cross_att.query"] = (d_model, d_model)
            shapes[f"{layer}.cross_att.key_value"] = (d_model, 2 * d_model)
            shapes[f"{layer}.cross_att.output"] = (d_model, d_model)
        shapes |= _feed_forward_shapes(architecture, f"{layer}.feed_forward")
    if architecture.attention_bias:
        projections = ("query_key_value", "query", "key_value", ".output")
        shapes |= {
            f"{name}_bias": shape[1:]
            for name, shape in shapes.items()
            if name.endswith(projections)
        }
    if architecture.norm == "pre":
        shapes |= _norm_shapes(f"{side}.norm", d_model)
    return shapes


def _norm_shapes(name: str, d_model: int) -> dict[str, tuple[int, ...]]:
    """List the weights of one layer norm."""
    return {f"{name}.scale": (d_model,), f"{name}.bias": (d_model,)}


def _feed_forward_shapes(architecture: Architecture, name: str) -> dict[str, tuple[int, ...]]:
    """List the weights of one feed-forward sublayer."""
    d_model, d_ff = architecture.d_model, architecture.d_ff
    shapes = _norm_shapes(f"{name}.norm", d_model)
    inner = ["inner", "gate"] if architecture.activation == "swiglu" else ["inner"]
    for part in inner:
        shapes[f"{name}.{part}.kernel"] = (d_model, d_ff)
        shapes[f"{name}.{part}.bias"] = (d_ff,)
    shapes[f"{name}.outer.kernel"] = (d_ff, d_model)
    shapes[f"{name}.outer.bias"] = (d_model,)
    return shapes


def random_weights(
    architecture: Architecture,
    source_vocab: int,
    target_vocab: int,
    tied: Tied,
    seed: int,
    max_length: int,
) -> dict[str, Array]:
    """Make a model in which every part matters.

    Sublayers answer with variance about one, norm scales are near but not at one, and no bias is
    zero, so that a part that is left out or exchanged shows in the logits.

    Args:
        architecture: The model.
        source_vocab: Vs.
        target_vocab: Vt.
        tied: Which embedding tables are one, as in `weight_shapes`.
        seed: Of the random numbers.
        max_length: Rows of the learned position tables.

    Returns:
        Weight name -> float32 array.
    """
    generator = np.random.default_rng(seed)
    shapes = weight_shapes(architecture, source_vocab, target_vocab, tied, max_length)
    return {
        name: _random_weight(name, shape, generator).astype(np.float32)
        for name, shape in shapes.items()
    }


def _random_weight(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Draw one weight on the scale that its role asks for."""
    noise = generator.standard_normal(shape)
    if name.endswith(".scale"):
        return 1 + 0.2 * noise
    if name.endswith("bias"):
        return 0.2 * noise
    if name.endswith((".positions", ".turns")):
        return noise  # as strong as the embeddings, which come scaled by sqrt(D)
    if name.endswith("embedding"):
        return noise / math.sqrt(shape[1])  # [V, D]
    return noise / math.sqrt(shape[0])  # kernels, [in, out]
