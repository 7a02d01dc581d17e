"""The TensorFlow engine: batches of source ids -> hypotheses, by the searches of `search.py`.

Graphs are traced once for each set of features, with all sizes dynamic, so no sentence retraces.
The code says `tf.while_loop` and `tf.where` where it means them, so AutoGraph, which would rewrite
every Python `if` and take most of the tracing time, is off.
The room for output starts small and doubles while some sentence still goes on.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from nmt_cli.bundle import Bundle
from nmt_cli.config import ModelConfig
from nmt_cli.decoding.engine import Hypothesis
from nmt_cli.decoding.options import SearchOptions
from nmt_cli.decoding.scoring import coverage_score
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
from nmt_cli.model.layers import AttentionMaps, SelfCache
from nmt_cli.model.transformer import DecoderCache, Transformer
from nmt_cli.model.weights import assign_weights
from nmt_cli.text.tokenizer import BOS_ID, PAD_ID

Tensor = Any
_FIRST_CAPACITY = 32
BATCH_PIECES = 2048
_MAX_BATCH = 128


class NativeEngine:
    """Searches with a Transformer in this process.

    Args:
        model: The model; its weights are read anew at every call.
        batch_pieces: Source pieces, padding counted, in one search.
    """

    def __init__(self, model: Transformer, *, batch_pieces: int = BATCH_PIECES) -> None:
        self._batch_pieces = batch_pieces
        self._model = model
        self._graphs: dict[tuple[bool, Features], _Graph] = {}
        self.max_length = model.config.max_length

    def search(
        self, sources: Sequence[Sequence[int]], options: SearchOptions, *, first_index: int = 0
    ) -> list[list[Hypothesis]]:
        """See `Engine.search`. A sample is a function of the seed and the source's number."""
        results: list[list[Hypothesis]] = [[] for _ in sources]
        for batch in self._batches(sources, by_length=not options.sample):
            found = self._search_batch([sources[i] for i in batch], options, first_index + batch[0])
            for i, hypotheses in zip(batch, found, strict=True):
                results[i] = hypotheses
        return results

    def _search_batch(
        self, sources: Sequence[Sequence[int]], options: SearchOptions, first_index: int
    ) -> list[list[Hypothesis]]:
        limits = [options.output_limit(len(source), self.max_length) for source in sources]
        floors = [options.output_floor(len(source)) for source in sources]
        features = Features(
            sample=options.sample,
            penalise_repetition=options.repetition_penalty != 1.0,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            suppressed=options.suppressed,
            force_prefix=bool(options.prefix),
            cover=options.coverage_penalty > 0,
        )
        graph = self._graph(options.beam_size > 1 and not options.sample, features)
        noise = _noise(options, first_index, len(sources), max(limits))
        capacity = min(_FIRST_CAPACITY, max(limits))
        state = graph.start(
            _padded(sources),
            tf.constant(limits),
            tf.constant(floors),
            noise,
            tf.constant(options.beam_size),
            tf.constant(capacity),
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
        """See `Engine.score`."""
        results: list[list[float]] = [[] for _ in sources]
        for batch in self._batches(sources):
            rows = [targets[i] for i in batch]
            log_probs, _ = self._forced(_padded([sources[i] for i in batch]), _padded(rows))
            for i, row in zip(batch, log_probs.numpy(), strict=True):
                results[i] = row[: len(targets[i])].tolist()
        return results

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[list[list[float]]]:
        """See `Engine.attention`."""
        results: list[list[list[float]]] = [[] for _ in sources]
        for batch in self._batches(sources):
            rows = [targets[i] for i in batch]
            _, weights = self._forced(_padded([sources[i] for i in batch]), _padded(rows))
            for i, matrix in zip(batch, weights.numpy(), strict=True):
                results[i] = matrix[: len(targets[i]), : len(sources[i])].tolist()
        return results

    @functools.cached_property
    def _forced(self) -> Callable[..., Any]:
        """Return log-probabilities [B, T] of given target ids and what they look at, [B, T, S]."""
        ids = tf.TensorSpec([None, None], tf.int32)

        @tf.function(autograph=False, input_signature=[ids, ids])
        def forced(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
            inputs = tf.pad(target[:, :-1], [[0, 0], [1, 0]], constant_values=BOS_ID)
            cache = self._model.start_cache(self._model.encode(source))
            maps: AttentionMaps = {}
            states, _ = self._model.decode(inputs, cache, maps=maps)
            log_probs = tf.nn.log_softmax(self._model.logits(states))
            return (
                tf.gather(log_probs, target, batch_dims=2),
                tf.reduce_mean(self._model.last_cross_attention(maps), axis=1),
            )

        return forced  # type: ignore[no-any-return]

    def _batches(
        self, sources: Sequence[Sequence[int]], *, by_length: bool = True
    ) -> Iterator[list[int]]:
        """Yield the indices of sources of similar length, or of one source each, in batches."""
        order = list(range(len(sources)))
        if not by_length:  # samples depend on a source's running number, which sorting would change
            yield from ([i] for i in order)
            return
        order.sort(key=lambda i: len(sources[i]), reverse=True)
        while order:
            size = max(1, min(_MAX_BATCH, self._batch_pieces // len(sources[order[0]])))
            batch, order = order[:size], order[size:]
            yield batch

    def _graph(self, is_beam: bool, features: Features) -> "_Graph":
        key = (is_beam, features)
        if key not in self._graphs:
            self._graphs[key] = _Graph(self._model, is_beam, features)
        return self._graphs[key]


def load_engine(bundle: Bundle, *, batch_pieces: int = BATCH_PIECES) -> NativeEngine:
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
    return NativeEngine(model, batch_pieces=batch_pieces)


class _Cache(NamedTuple):
    """What a step hands to the next one.

    Attributes:
        decoder: The model's.
        coverage: [N, S] attention that each source piece got so far; [N, 0] when not asked for.
    """

    decoder: DecoderCache
    coverage: Tensor


class _Graph:
    """The traced functions of one kind of search: start, advance, grow."""

    def __init__(self, model: Transformer, is_beam: bool, features: Features) -> None:
        self._model = model
        self._is_beam = is_beam
        self._features = features
        scalar, vector = tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)
        source, noise = (
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None, None], tf.float32),
        )
        self.start = tf.function(
            self._start,
            autograph=False,
            input_signature=[source, vector, vector, noise, scalar, scalar],
        )
        state = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype),
            self.start.get_concrete_function().structured_outputs,
        )
        parameters = tf.nest.map_structure(
            lambda t: tf.TensorSpec([None] * t.shape.rank, t.dtype), _parameters(SearchOptions())
        )

        @tf.function(autograph=False, input_signature=[state, parameters])
        def advance(state: Any, parameters: Parameters) -> Any:
            if not is_beam:
                return advance_greedy(state, self._step, parameters, features)

            def bonus(cache: _Cache) -> Tensor:
                mask = _repeated(cache.decoder.memory_mask, cache.coverage)
                return parameters.coverage_penalty * coverage_score(cache.coverage, mask)

            return advance_beam(
                state, self._step, _reorder, bonus if features.cover else None, parameters, features
            )

        self.advance = advance
        self.grow = tf.function(_grow, autograph=False, input_signature=[state, scalar])

    def _start(
        self,
        source: Tensor,
        limits: Tensor,
        floors: Tensor,
        noise: Tensor,
        beam_size: Tensor,
        capacity: Tensor,
    ) -> GreedyState | BeamState:
        if self._is_beam:
            cache = self._start_cache(source, beam_size, capacity)
            return start_beam(cache, limits, floors, beam_size, capacity)
        cache = self._start_cache(source, 1, capacity)
        return start_greedy(cache, limits, floors, noise, capacity)

    def _start_cache(self, source: Tensor, beams: int | Tensor, capacity: Tensor) -> _Cache:
        decoder = self._model.start_step_cache(self._model.encode(source), beams, capacity)
        rows = tf.shape(source)[0] * beams
        width = tf.shape(source)[1] if self._features.cover else 0
        return _Cache(decoder, tf.zeros([rows, width]))

    def _step(self, ids: Tensor, cache: _Cache, position: Tensor) -> tuple[Tensor, _Cache]:
        maps: AttentionMaps | None = {} if self._features.cover else None
        states, decoder = self._model.decode(ids[:, None], cache.decoder, position, maps=maps)
        coverage = cache.coverage
        if maps is not None:
            weights = tf.reduce_mean(self._model.last_cross_attention(maps), axis=1)  # [B, K, S]
            coverage += tf.reshape(weights, tf.shape(coverage))
        return self._model.logits(states[:, 0]), _Cache(decoder, coverage)


def _reorder(cache: _Cache, rows: Tensor) -> _Cache:
    """Let each row of the decoder continue from another row; the encoder's side is shared."""
    decoder = cache.decoder
    own = tuple(SelfCache(*(tf.gather(x, rows) for x in layer)) for layer in decoder.own)
    mask = tf.gather(decoder.own_mask, rows)
    return _Cache(decoder._replace(own=own, own_mask=mask), tf.gather(cache.coverage, rows))


def _grow(state: Any, capacity: Tensor) -> Any:
    decoder: DecoderCache = state.cache.decoder
    more = capacity - tf.shape(decoder.own_mask)[1]
    own = tuple(
        SelfCache(*(tf.pad(x, [[0, 0], [0, 0], [0, more], [0, 0]]) for x in layer))
        for layer in decoder.own
    )
    mask = tf.pad(decoder.own_mask, [[0, 0], [0, more]])
    decoder = decoder._replace(own=own, own_mask=mask)
    return grow(state, state.cache._replace(decoder=decoder), capacity)


def _repeated(x: Tensor, rows: Tensor) -> Tensor:
    """Return x [B, ...] with each of its rows repeated as often as `rows` [N, ...] has beams."""
    return tf.repeat(x, tf.shape(rows)[0] // tf.shape(x)[0], axis=0)


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
        coverage_penalty=tf.constant(options.coverage_penalty, tf.float32),
        prefix=tf.constant(options.prefix, tf.int32, shape=[len(options.prefix)]),
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
