"""The encoder-decoder Transformer: `encode`, `decode` and `step`; and what has an encoder alone.

`decode` runs over all target positions at once (training, forced scoring), `step` over one new
position of each beam (search); both are the same layers. Shape letters are those of `layers.py`.

Reference: Vaswani et al. 2017, arXiv 1706.03762; pre-norm: Xiong et al. 2020, arXiv 2002.04745;
turn embeddings, counted from the newest turn: Bao et al. 2020 (PLATO), arXiv 1910.07931.
"""

from typing import NamedTuple

import tensorflow as tf

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.layers import (
    AttentionMaps,
    CrossAttention,
    FeedForward,
    KeysValues,
    Layer,
    LayerNorm,
    RandomStream,
    SelfAttention,
    causal_padding_mask,
    dropout,
)
from nmt_cli.model.packing import Packing, Tensor, padding_mask
from nmt_cli.model.weights import never_written_bias, sinusoids
from nmt_cli.text.special_tokens import BOS_ID, BOT_ID, PAD_ID, USER_ID
from nmt_cli.text.template import EARLIEST_TURN


class Memory(NamedTuple):
    """What the encoder leaves for the decoder."""

    states: Tensor  # [N, D] at the real source tokens
    packing: Packing  # where these lie in the batch
    mask: Tensor  # [B, S] bool, True at real tokens


class DecoderCache(NamedTuple):
    """All that the decoder needs beside the ids of this call; `decode` has none of its own."""

    memory: tuple[KeysValues, ...]  # [B, H, S, P] of the encoder's output, for each layer
    memory_mask: Tensor  # [B, S] bool
    own: tuple[KeysValues, ...] = ()  # [B, H, C*K, P] of what was decoded so far, for each layer
    own_mask: Tensor = None  # [B, K, C*K] bool, True at what each beam comes from


class _Sublayer(Layer):
    """The residual connection around a sublayer, with pre- or post-normalisation."""

    def __init__(self, name: str, config: ModelConfig, seed: int) -> None:
        super().__init__(f"{name}.residual", seed)
        self.layer_norm = LayerNorm(f"{name}.norm", seed, config.d_model, config.norm_epsilon)
        self.is_pre = config.norm == "pre"
        self.rate = config.dropout

    def before(self, x: Tensor) -> Tensor:
        """Return the sublayer's input."""
        return self.layer_norm(x) if self.is_pre else x

    def after(self, x: Tensor, output: Tensor, random: RandomStream | None) -> Tensor:
        """Return the residual sum of the sublayer's output with what went in."""
        total = x + dropout(output, self.rate, random)
        return total if self.is_pre else self.layer_norm(total)


class TransformerLayer(Layer):
    """Self-attention (block 1), in the decoder attention to the encoder, then feed-forward."""

    def __init__(
        self, name: str, config: ModelConfig, seed: int, *, reads_memory: bool = False
    ) -> None:
        super().__init__(name, seed)
        heads = (config.d_model, config.num_heads, config.attention_dropout)
        has_bias = config.attention_bias
        feed = (config.d_model, config.d_ff, config.activation, config.activation_dropout)
        self.self_att_residual = _Sublayer(f"{name}.self_att", config, seed)
        self.self_att = SelfAttention(f"{name}.self_att", seed, *heads, has_bias=has_bias)
        if reads_memory:
            self.cross_att_residual = _Sublayer(f"{name}.cross_att", config, seed)
            self.cross_att = CrossAttention(f"{name}.cross_att", seed, *heads, has_bias=has_bias)
        self.feed_forward_residual = _Sublayer(f"{name}.feed_forward", config, seed)
        self.feed_forward = FeedForward(f"{name}.feed_forward", seed, *feed)

    def call(
        self,
        x: Tensor,
        packing: Packing,
        mask: Tensor,
        random: RandomStream | None,
        own: KeysValues | None = None,
        position: Tensor = None,
        memory: KeysValues | None = None,
        memory_mask: Tensor = None,
    ) -> tuple[Tensor, KeysValues | None, Tensor, Tensor]:
        """Return the output [N, D], the cache, and the weights of both attentions.

        In a search `own` is the cache, to which this writes at `position`. In the decoder `memory`
        is the encoder's output.
        """
        cross_weights = None
        inputs = self.self_att_residual.before(x)
        if own is None:
            output, self_weights = self.self_att(inputs, packing, mask, random)
        else:
            output, self_weights, own = self.self_att.step(inputs, mask, own, position)
        x = self.self_att_residual.after(x, output, random)
        if memory is not None:
            inputs = self.cross_att_residual.before(x)
            output, cross_weights = self.cross_att(inputs, packing, memory, memory_mask, random)
            x = self.cross_att_residual.after(x, output, random)
        output = self.feed_forward(self.feed_forward_residual.before(x), random)
        return self.feed_forward_residual.after(x, output, random), own, self_weights, cross_weights


class _Stack(Layer):
    """What encoder and decoder have in common: scaled embeddings with positions, a final norm."""

    def __init__(
        self, name: str, config: ModelConfig, seed: int, *, reads_turns: bool = False
    ) -> None:
        super().__init__(name, seed)
        self.config = config
        self.positions = self._position_table()
        self.turns = (
            self._normal("turns", EARLIEST_TURN + 1, config.d_model) if reads_turns else None
        )
        norm = (seed, config.d_model, config.norm_epsilon)
        is_normed = config.embedding_norm in (name, "both")
        self.embedding_norm = LayerNorm(f"{name}.embedding_norm", *norm) if is_normed else None
        self.norm = LayerNorm(f"{name}.norm", *norm) if config.norm == "pre" else None

    def _position_table(self) -> Tensor:
        """Return the encodings of all positions, [max_length, D]."""
        size = (self.config.max_length, self.config.d_model)
        if self.config.positions == "learned":
            return self._normal("positions", *size)
        if self.config.positions == "sinusoidal":
            return tf.constant(sinusoids(*size))
        table = self._weight("positions", sinusoids(*size))
        table.trainable = False
        return table

    def embed(
        self,
        table: Tensor,
        ids: Tensor,
        positions: Tensor,
        dtype: str,
        random: RandomStream | None,
        turns: Tensor = None,
        hidden: Tensor = None,
    ) -> Tensor:
        """Return sqrt(D) * embedding + position encoding (sections 3.4 and 3.5), [N, D].

        Of ids [N] with the table [V, D]; positions are [N], or one for all. A model with turn
        embeddings adds those of `turns` [N], how many turns ago each id was said. Some models
        normalise the sum. Of an id that is `hidden` [N] bool only the position is left.
        """
        vectors = tf.gather(table, ids) * self.config.d_model**0.5  # [N, D]
        if hidden is not None:
            vectors = tf.where(hidden[:, None], 0.0, vectors)  # [N, D]
        encodings = tf.gather(self.positions, positions)  # [N, D] or [D]
        if self.turns is not None:
            encodings += tf.gather(self.turns, turns)  # [N, D]
        x = tf.cast(vectors + encodings, dtype)
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        return dropout(x, self.config.dropout, random)

    def finish(self, x: Tensor) -> Tensor:
        """Normalise the last layer's output (pre-norm only)."""
        return x if self.norm is None else self.norm(x)


class EncoderModel(Layer):
    """A model that reads text with an encoder, whatever it makes of it.

    A model of this kind makes its own `source_table`. Activations are computed in `compute_dtype`,
    "float32" or "bfloat16".
    """

    source_table: Tensor  # [V, D]

    def __init__(self, name: str, config: ModelConfig, seed: int, compute_dtype: str) -> None:
        super().__init__(name, seed)
        self.config = config
        self.activation_dtype = compute_dtype
        self.encoder = _Stack("encoder", config, seed, reads_turns=config.turn_embeddings)
        self.encoder_layers = [
            TransformerLayer(f"encoder.layer{i + 1}", config, seed)
            for i in range(config.encoder_layers)
        ]

    def encode(
        self,
        source_ids: Tensor,
        *,
        random: RandomStream | None = None,
        maps: AttentionMaps | None = None,
        hidden: Tensor = None,
    ) -> Memory:
        """Read source ids [B, S] int32, padded with 0.

        Without `random` there is no dropout; `maps` gets `encoder` [B, H, S, S] of each layer; of
        ids that are `hidden` [B, S] bool only the positions are read.
        """
        packing, mask = Packing.of(source_ids), padding_mask(source_ids)
        ids, positions = packing.pack(source_ids), packing.positions()
        turns = None if self.encoder.turns is None else packing.pack(_turns_ago(source_ids))
        x = self.encoder.embed(
            self.source_table,
            ids,
            positions,
            self.activation_dtype,
            random,
            turns,
            None if hidden is None else packing.pack(hidden),
        )
        for layer in self.encoder_layers:
            x, _, weights, _ = layer(x, packing, mask[:, None, :], random)  # [N, D], [B, H, S, S]
            if maps is not None:
                maps.setdefault("encoder", []).append(weights)
        return Memory(self.encoder.finish(x), packing, mask)


class Transformer(EncoderModel):
    """The whole model.

    `joint` says whether both sides share one vocabulary, `num_tags` how many tokens of languages
    it has.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        source_vocab_size: int,
        target_vocab_size: int,
        joint: bool,
        num_tags: int = 0,
        seed: int = 1,
        compute_dtype: str = "float32",
    ) -> None:
        super().__init__("transformer", config, seed, compute_dtype)
        self.num_tags = num_tags
        tie, width = config.tie_embeddings, config.d_model
        if joint and tie:
            shared = self._normal("embedding", target_vocab_size, width)
            self.source_table = self.target_table = self.output_table = shared
        else:
            self.source_table = self._normal("source_embedding", source_vocab_size, width)
            self.target_table = self._normal("target_embedding", target_vocab_size, width)
            self.output_table = (
                self.target_table
                if tie
                else self._normal("output_embedding", target_vocab_size, width)
            )
        self.fixed_bias = None
        if config.output_bias:
            self.fixed_bias = self._constant("output_bias", target_vocab_size, 0.0)
            self.fixed_bias.trainable = False
        self.decoder = _Stack("decoder", config, seed)
        self.decoder_layers = [
            TransformerLayer(f"decoder.layer{i + 1}", config, seed, reads_memory=True)
            for i in range(config.decoder_layers)
        ]

    def start_cache(self, memory: Memory) -> DecoderCache:
        """Return a cache for running `decode` over whole target sequences."""
        projected = tuple(
            layer.cross_att.project_memory(memory.states, memory.packing)
            for layer in self.decoder_layers
        )
        return DecoderCache(projected, memory.mask)

    def make_room(self, cache: DecoderCache, beams: int | Tensor, capacity: Tensor) -> DecoderCache:
        """Return a cache from `start_cache` for `step`, with room for K beams and C positions."""
        batch, heads = tf.shape(cache.memory_mask)[0], self.config.num_heads
        shape = [batch, heads, capacity * beams, self.config.d_model // heads]
        empty = tf.zeros(shape, cache.memory[0].keys.dtype)
        own = tuple(KeysValues(empty, empty) for _ in self.decoder_layers)
        mask = tf.zeros([batch, beams, capacity * beams], tf.bool)
        return cache._replace(own=own, own_mask=mask)

    def decode(
        self,
        target_ids: Tensor,
        cache: DecoderCache,
        *,
        random: RandomStream | None = None,
        maps: AttentionMaps | None = None,
        hidden: Tensor = None,
    ) -> Tensor:
        """Return the states [N, D] that the ids after the target ids are predicted from.

        Target ids [B, T] int32 begin with `<s>` and are padded with 0, where there is no state. The
        cache is that of `start_cache`. Without `random` there is no dropout; `maps` gets `decoder`
        [B, H, T, T] and `cross` [B, H, T, S] of each layer; `hidden` is as for `encode`.
        """
        packing = Packing.of(target_ids)
        x = self.decoder.embed(
            self.target_table,
            packing.pack(target_ids),
            packing.positions(),
            self.activation_dtype,
            random,
            hidden=None if hidden is None else packing.pack(hidden),
        )
        mask = causal_padding_mask(target_ids)
        states, _ = self._decode(x, packing, mask, cache, 0, random, maps)
        return states

    def step(
        self,
        ids: Tensor,
        cache: DecoderCache,
        position: Tensor,
        *,
        maps: AttentionMaps | None = None,
    ) -> tuple[Tensor, DecoderCache]:
        """Read one more id of each beam; return states [N, D] and the cache for the next step.

        Args:
            ids: [N] int32, beams of a sentence side by side, `<s>` at first; 0 writes nothing.
            cache: From `make_room` or from the step before.
            position: Scalar int32 index of these ids.
            maps: As for `decode`, [B, H, K, C*K] and [B, H, K, S].
        """
        mask = _with_position(cache.own_mask, padding_mask(ids), position)
        x = self.decoder.embed(self.target_table, ids, position, self.activation_dtype, None)
        packing = Packing(tf.shape(mask)[:2])
        states, own = self._decode(x, packing, mask, cache, position, None, maps)
        return states, cache._replace(own=own, own_mask=mask)

    def _decode(
        self,
        x: Tensor,
        packing: Packing,
        own_mask: Tensor,
        cache: DecoderCache,
        position: Tensor,
        random: RandomStream | None,
        maps: AttentionMaps | None,
    ) -> tuple[Tensor, tuple[KeysValues, ...]]:
        """Run the layers; return their states and, in a search, their new keys and values."""
        own: list[KeysValues] = []
        for index, layer in enumerate(self.decoder_layers):
            layer_own = cache.own[index] if cache.own else None
            memory = cache.memory[index], cache.memory_mask
            x, layer_own, self_weights, cross_weights = layer(
                x, packing, own_mask, random, layer_own, position, *memory
            )
            own += [layer_own] if layer_own is not None else []
            if maps is not None:
                maps.setdefault("decoder", []).append(self_weights)
                maps.setdefault("cross", []).append(cross_weights)
        return self.decoder.finish(x), tuple(own)

    @property
    def output_bias(self) -> Tensor:
        """What is added to the logits, float32 [V]."""
        bias = tf.constant(never_written_bias(self.output_table.shape[0], self.num_tags))
        return bias if self.fixed_bias is None else bias + self.fixed_bias

    def logits(self, states: Tensor) -> Tensor:
        """Return float32 logits [N, V] of decoder states [N, D]."""
        return output_logits(states, self.output_table, self.output_bias)


def output_logits(states: Tensor, table: Tensor, bias: Tensor) -> Tensor:
    """Return float32 logits [N, V]: products of states [N, D] with the rows of a table [V, D].

    The bias is [V]. That of control tokens is so low that they have no probability: they are no
    output.
    """
    logits = tf.matmul(states, tf.cast(table, states.dtype), transpose_b=True)  # [N, V]
    return tf.cast(tf.nn.bias_add(logits, tf.cast(bias, states.dtype)), tf.float32)


def _turns_ago(source_ids: Tensor) -> Tensor:
    """Return `template.turns_ago` of each row of source ids [B, S]."""
    begins = (source_ids == USER_ID) | (source_ids == BOT_ID)
    return tf.clip_by_value(tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1, 0, EARLIEST_TURN)


def shifted_right(target_ids: Tensor) -> Tensor:
    """Return what the decoder reads to predict target ids [B, T]: `<s>`, then all but the last.

    It is padded where the target is, so that states and target pack alike.
    """
    before = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=BOS_ID)  # [B, T]
    return tf.where(padding_mask(target_ids), before, PAD_ID)


def _with_position(own_mask: Tensor, is_real: Tensor, position: Tensor) -> Tensor:
    """Return [B, K, C*K] with each beam's entry at a position where the id [N] is real."""
    shape = tf.shape(own_mask)
    beams = tf.range(shape[1])
    entries = tf.range(shape[2])[None, :] == (position * shape[1] + beams)[:, None]  # [K, C*K]
    is_real = tf.reshape(is_real, [shape[0], shape[1], 1])  # [B, K, 1]
    return own_mask | (entries & is_real)  # [B, K, C*K]
