"""The TensorFlow engine: batches of source ids -> hypotheses, by the searches of `search.py`.

Graphs are traced once for each set of features, with all sizes dynamic, so no sentence retraces.
The code says `tf.while_loop` and `tf.where` where it means them, so AutoGraph, which would rewrite
every Python `if` and take most of the tracing time, is off.
The room for output starts small and doubles while some sentence still goes on.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from nmt_cli.bundle import Bundle
from nmt_cli.config import ModelConfig
from nmt_cli.decoding.options import Hypothesis, SearchOptions
from nmt_cli.decoding.search import (
    BeamState,
    Features,
    GreedyState,
    Parameters,
    advance_beam,
    advance_greedy,
    grow,
    start_beam,
    start_greedy,
)
from nmt_cli.model.layers import SelfCache
from nmt_cli.model.transformer import DecoderCache, Transformer
from nmt_cli.model.weights import assign_weights
from nmt_cli.text.tokenizer import BOS_ID, PAD_ID

Tensor = Any
_FIRST_CAPACITY = 32


class NativeEngine:
    """Searches with a Transformer in this process.

    Args:
        model: The model; its weights are read anew at every call.
    """

    def __init__(self, model: Transformer) -> None:
        self._model = model
        self._graphs: dict[tuple[bool, Features], _Graph] = {}
        self.max_length = model.config.max_length

    def search(
        self, sources: Sequence[Sequence[int]], options: SearchOptions, *, first_index: int = 0
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses, best first, for each source.

        Args:
            sources: Source ids with `</s>`, none longer than the model's maximum.
            options: The search options.
            first_index: Running number of the first source; with the seed it decides the samples.

        Returns:
            For each source a list of `options.n_best` hypotheses (fewer if no more exist).
        """
        limits = [options.output_limit(len(source), self.max_length) for source in sources]
        features = Features(
            options.sample, options.repetition_penalty != 1.0, options.no_repeat_ngram_size
        )
        graph = self._graph(options.beam_size > 1 and not options.sample, features)
        noise = _noise(options, first_index, len(sources), max(limits))
        beam_size = tf.constant(options.beam_size)
        capacity = min(_FIRST_CAPACITY, max(limits))
        state = graph.start(
            _padded(sources), tf.constant(limits), noise, beam_size, tf.constant(capacity)
        )
        while True:
            state = graph.advance(state, _parameters(options))
            if capacity >= max(limits) or bool(tf.reduce_all(state.done)):
                break
            capacity = min(2 * capacity, max(limits))
            state = graph.grow(state, tf.constant(capacity))
        return _hypotheses(state, options)

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Return the log-probability of each target id given its source and the ids before it.

        Args:
            sources: Source ids with `</s>`.
            targets: Target ids, with `</s>` where its probability shall count.
        """
        scores = self._score_graph(_padded(sources), _padded(targets)).numpy()
        return [row[: len(target)].tolist() for row, target in zip(scores, targets, strict=True)]

    @functools.cached_property
    def _score_graph(self) -> Callable[..., Any]:
        ids = tf.TensorSpec([None, None], tf.int32)

        @tf.function(autograph=False, input_signature=[ids, ids])
        def score(source: Tensor, target: Tensor) -> Tensor:
            inputs = tf.pad(target[:, :-1], [[0, 0], [1, 0]], constant_values=BOS_ID)
            cache = self._model.start_cache(self._model.encode(source))
            states, _ = self._model.decode(inputs, cache)
            log_probs = tf.nn.log_softmax(self._model.logits(states))
            return tf.gather(log_probs, target, batch_dims=2)

        return score  # type: ignore[no-any-return]

    def _graph(self, is_beam: bool, features: Features) -> "_Graph":
        key = (is_beam, features)
        if key not in self._graphs:
            self._graphs[key] = _Graph(self._model, is_beam, features)
        return self._graphs[key]


def load_engine(bundle: Bundle) -> NativeEngine:
    """Return an engine with a bundle's model.

    Raises:
        ModelFileError: The weights are damaged or do not fit the architecture.
    """
    manifest = bundle.manifest
    model = Transformer(
        ModelConfig(**manifest.model),
        source_vocab_size=manifest.vocabulary["source"],
        target_vocab_size=manifest.vocabulary["target"],
        joint=manifest.vocabulary["joint"],
    )
    assign_weights(model, bundle.load_weights())
    return NativeEngine(model)


class _Graph:
    """The traced functions of one kind of search: start, advance, grow."""

    def __init__(self, model: Transformer, is_beam: bool, features: Features) -> None:
        self._model = model
        scalar, vector = tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)
        source, noise = (
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None, None], tf.float32),
        )
        start = self._start_beam if is_beam else self._start_greedy
        self.start = tf.function(
            start, autograph=False, input_signature=[source, vector, noise, scalar, scalar]
        )
        state = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype),
            self.start.get_concrete_function().structured_outputs,
        )
        parameters = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype), _parameters(SearchOptions())
        )

        @tf.function(autograph=False, input_signature=[state, parameters])
        def advance(state: Any, parameters: Parameters) -> Any:
            if is_beam:
                return advance_beam(state, self._step, _reorder, parameters, features)
            return advance_greedy(state, self._step, parameters, features)

        self.advance = advance
        self.grow = tf.function(_grow, autograph=False, input_signature=[state, scalar])

    def _start_greedy(
        self, source: Tensor, limits: Tensor, noise: Tensor, beam_size: Tensor, capacity: Tensor
    ) -> GreedyState:
        del beam_size  # one signature for both kinds of search
        memory = self._model.encode(source)
        return start_greedy(
            self._model.start_step_cache(memory, 1, capacity), limits, noise, capacity
        )

    def _start_beam(
        self, source: Tensor, limits: Tensor, noise: Tensor, beam_size: Tensor, capacity: Tensor
    ) -> BeamState:
        del noise
        memory = self._model.encode(source)
        cache = self._model.start_step_cache(memory, beam_size, capacity)
        return start_beam(cache, limits, beam_size, capacity)

    def _step(
        self, ids: Tensor, cache: DecoderCache, position: Tensor
    ) -> tuple[Tensor, DecoderCache]:
        states, cache = self._model.decode(ids[:, None], cache, position)
        return self._model.logits(states[:, 0]), cache


def _reorder(cache: DecoderCache, rows: Tensor) -> DecoderCache:
    """Let each row of the decoder continue from another row; the encoder's side is shared."""
    own = tuple(SelfCache(*(tf.gather(x, rows) for x in layer)) for layer in cache.own)
    return cache._replace(own=own, own_mask=tf.gather(cache.own_mask, rows))


def _grow(state: Any, capacity: Tensor) -> Any:
    cache: DecoderCache = state.cache
    more = capacity - tf.shape(cache.own_mask)[1]
    own = tuple(
        SelfCache(*(tf.pad(x, [[0, 0], [0, 0], [0, more], [0, 0]]) for x in layer))
        for layer in cache.own
    )
    mask = tf.pad(cache.own_mask, [[0, 0], [0, more]])
    return grow(state, cache._replace(own=own, own_mask=mask), capacity)


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return tf.constant(padded)


def _noise(options: SearchOptions, first_index: int, count: int, length: int) -> Tensor:
    """Return [count, length] uniform numbers: a function of seed and running number only."""
    if not options.sample:
        return tf.zeros([count, 1])
    indices = range(first_index, first_index + count)
    rows = [np.random.default_rng([options.seed, index]).random(length) for index in indices]
    return tf.constant(np.stack(rows), tf.float32)


def _parameters(options: SearchOptions) -> Parameters:
    return Parameters(
        length_penalty=tf.constant(options.length_penalty, tf.float32),
        min_length=tf.constant(options.min_length, tf.int32),
        n_best=tf.constant(options.n_best, tf.int32),
        repetition_penalty=tf.constant(options.repetition_penalty, tf.float32),
        temperature=tf.constant(options.temperature, tf.float32),
        top_k=tf.constant(options.top_k, tf.int32),
        top_p=tf.constant(options.top_p, tf.float32),
    )


def _hypotheses(state: GreedyState | BeamState, options: SearchOptions) -> list[list[Hypothesis]]:
    if isinstance(state, BeamState):
        sequences, scores = state.ended_sequences.numpy(), state.ended_scores.numpy()
        taken = state.num_ended.numpy()
    else:
        sequences = state.sequences.numpy()[:, None]
        lengths = np.count_nonzero(sequences[:, 0], axis=1)
        scores = (state.log_probs.numpy() / lengths**options.length_penalty)[:, None]
        taken = np.ones(len(sequences), int)
    return [
        [
            Hypothesis(_trimmed(sequences[row, place]), float(scores[row, place]))
            for place in range(min(options.n_best, taken[row], sequences.shape[1]))
        ]
        for row in range(len(sequences))
    ]


def _trimmed(sequence: Any) -> list[int]:
    return [int(piece) for piece in sequence[: np.count_nonzero(sequence)]]
