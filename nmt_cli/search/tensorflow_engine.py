"""The TensorFlow engine: batches of source ids -> hypotheses, by the search of `beam_search.py`.

Each kind of search has plain graphs and compiled ones. The plain ones are traced once, with all
sizes dynamic, so no sentence retraces. Once a shape has come up so often that compiling would have
paid, XLA compiles it, with batches, sources and room for output rounded up to a few sizes; the same
code then runs up to twice as fast. Several batches are searched at a time, on threads of their own:
what one of them does not keep busy, another does.

The code says `tf.while_loop` and `tf.where` where it means them, so AutoGraph, which would rewrite
every Python `if` and take most of the tracing time, is off.
The room for output starts small and doubles while some sentence has not ended.
"""

import collections
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.classifier import Classifier
from nmt_cli.model.ensemble import Ensemble
from nmt_cli.model.layers import AttentionMaps, KeysValues
from nmt_cli.model.packing import Packing
from nmt_cli.model.transformer import DecoderCache, Transformer, shifted_right
from nmt_cli.model.weights import assign_weights
from nmt_cli.resources import available_cores
from nmt_cli.search import beam_search
from nmt_cli.search.beam_search import Features, Parameters, State
from nmt_cli.search.engine import Found, Hypothesis, Rows, Searcher, TokenStream
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.scoring import IMPOSSIBLE, coverage_score
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID, PAD_ID

Tensor = Any
FIRST_CAPACITY = 32
COMPILE_AFTER = 1e11  # multiplications with weights; seconds of work, as compiling is
BATCH_TOKENS = 4096
_MAX_BATCH = 64
_SCORED = 256  # texts that get their labels together


@dataclass(eq=False)
class TensorFlowEngine(Searcher):
    """Searches with a Transformer in this process; its weights are read anew at every call."""

    model: Transformer | Ensemble
    _: KW_ONLY
    batch_tokens: int = BATCH_TOKENS  # source tokens, padding counted, in one search
    workers: int = 1  # searches at a time
    # Multiplications in one shape after which it is compiled; infinity for never, where a result
    # must repeat to the last bit whatever was searched before.
    compile_after: float = COMPILE_AFTER

    def __post_init__(self) -> None:
        self._graphs: dict[Features, SearchGraph] = {}
        self._work: collections.Counter[tuple[Any, ...]] = collections.Counter()
        self._num_weights = sum(int(np.prod(w.shape)) for w in self.model.trainable_weights)
        self.max_length = self.model.config.max_length
        at_a_time = f"{self.workers} search{'es' if self.workers > 1 else ''} at a time"
        self.description = f"TensorFlow {self.model.activation_dtype}, {at_a_time}"

    def search(
        self,
        sources: Rows,
        options: SearchOptions,
        *,
        first_index: int = 0,
        prefixes: Rows | None = None,
    ) -> Found:
        """See `Engine.search`. A sample is a function of the seed and the source's number.

        A search with prefixes of each source is not compiled: their lengths differ each time.
        """
        results: Found = [[] for _ in sources]
        batches = list(self._batches(sources, by_length=not options.sample))
        self._graph(options, has_prefix=prefixes is not None)  # traced once, before any thread
        # In this order and before any thread: what is compiled must not depend on which is faster.
        compiled = [
            prefixes is None and self._pays_to_compile([sources[i] for i in b], options)
            for b in batches
        ]

        def found(batch: list[int], is_compiled: bool) -> Found:
            rows = [sources[i] for i in batch]
            number = first_index + batch[0]
            own = None if prefixes is None else [prefixes[i] for i in batch]
            return self._search_batch(rows, options, number, is_compiled, own)

        pool = ThreadPoolExecutor(self.workers)
        try:
            for batch, hypotheses in zip(batches, pool.map(found, batches, compiled), strict=True):
                for i, best in zip(batch, hypotheses, strict=True):
                    results[i] = best
        finally:
            pool.shutdown(cancel_futures=True)
        return results

    def _search_batch(
        self,
        sources: Rows,
        options: SearchOptions,
        first_index: int,
        is_compiled: bool,
        prefixes: Rows | None,
    ) -> Found:
        graph = self._graph(options, has_prefix=prefixes is not None)
        parameters = parameters_of(options)
        if prefixes is not None:
            parameters = parameters._replace(prefix=padded(prefixes))
        advance = graph.compiled_advance if is_compiled else graph.advance
        longest = max(options.output_limit(len(source), self.max_length) for source in sources)
        longest = _rounded(longest) if is_compiled else longest
        capacity = min(FIRST_CAPACITY, longest)
        state = self._start(sources, options, first_index, capacity, is_compiled=is_compiled)
        while True:
            state = advance(state, parameters)
            if capacity >= longest or bool(tf.reduce_all(state.done)):
                break
            capacity = min(2 * capacity, longest)
            state = graph.grow(state, tf.constant(capacity))
        return hypotheses_of(
            state.ended_sequences.numpy()[: len(sources)], state.ended_scores.numpy(), options
        )

    def _start(
        self,
        sources: Rows,
        options: SearchOptions,
        first_index: int,
        capacity: int,
        *,
        is_compiled: bool = False,
    ) -> State:
        """Return the state before the first token; a compiled search gets one of few shapes."""
        limits = [options.output_limit(len(source), self.max_length) for source in sources]
        floors = [options.output_floor(len(source)) for source in sources]
        noise = _noise(options, first_index, len(sources), max(limits))
        width, more = max(map(len, sources)), 0
        if is_compiled:
            width = _rounded(width)
            more = self._batch_size(width) - len(sources)
        graph = self._graph(options)
        return graph.start(  # type: ignore[no-any-return]
            padded([*sources, *([[EOS_ID]] * more)]),
            tf.constant(width),
            tf.constant(limits + [1] * more),
            tf.constant(floors + [0] * more),
            noise,
            tf.constant(1 if options.sample else options.beam_size),
            tf.constant(capacity),
        )

    def stream(
        self, source: Sequence[int], options: SearchOptions, *, index: int = 0
    ) -> TokenStream:
        """See `Engine.stream`: the same search, with room for one token more at a time."""
        options = options.without_beam()
        graph, parameters = self._graph(options), parameters_of(options)
        state = self._start([source], options, index, 1)
        while True:
            state = graph.advance(state, parameters)
            position, is_done = int(state.position), bool(state.done[0])
            written = state.ended_sequences if is_done else state.sequences
            yield int(written[0, 0, position - 1])
            if is_done:
                return
            state = graph.grow(state, tf.constant(position + 1))

    def _pays_to_compile(self, sources: Rows, options: SearchOptions) -> bool:
        """Return whether the batch's shape has made enough work; counts the batch in."""
        width = _rounded(max(map(len, sources)))
        longest = max(options.output_limit(len(source), self.max_length) for source in sources)
        is_small = 2 * len(sources) < self._batch_size(width)  # the rest would be padding
        if is_small or options.sample:
            return False
        shape = (features_of(options, self.model), options.beam_size, width, _rounded(longest))
        work = self._work[shape] >= self.compile_after
        rows = len(sources) * options.beam_size
        self._work[shape] += rows * min(longest, FIRST_CAPACITY) * self._num_weights
        return work

    def score(self, sources: Rows, targets: Rows) -> list[list[float]]:
        """See `Engine.score`."""
        return [row.tolist() for row, _ in self._forced_rows(sources, targets)]

    def attention(self, sources: Rows, targets: Rows) -> list[list[list[float]]]:
        """See `Engine.attention`."""
        return [weights.tolist() for _, weights in self._forced_rows(sources, targets)]

    def _forced_rows(self, sources: Rows, targets: Rows) -> list[Any]:
        """Return log-probabilities [T] of each given target and what it looks at, [T, S]."""
        results: list[Any] = [None] * len(sources)
        for batch in self._batches(sources):
            sides = ([side[i] for i in batch] for side in (sources, targets))
            log_probs, weights = self._forced(*map(padded, sides))
            for i, row, matrix in zip(batch, log_probs.numpy(), weights.numpy(), strict=True):
                length = len(targets[i])
                tags = np.array(targets[i]) - len(CONTROL_TOKENS)
                row = np.where((tags < 0) | (tags >= self.model.num_tags), row[:length], 0.0)
                results[i] = row, matrix[:length, : len(sources[i])]
        return results

    def attention_by_kind(
        self, source: Sequence[int], target: Sequence[int]
    ) -> dict[str, npt.NDArray[np.float32]]:
        """Return what every head of every layer looks at, of one source and a given target.

        Row t of the target is the position that writes `target[t]`; in its own past it finds `<s>`
        and the target up to there.

        Returns:
            `cross` [L, H, T, S], `encoder` [L, H, S, S] and `decoder` [L, H, T, T], for as many
            layers as that side has. Rows sum to one.
        """
        _, maps = self._read_pairs(padded([source]), padded([target]))
        return _by_kind(maps)

    def _read_pairs(self, source: Tensor, target: Tensor) -> tuple[Tensor, AttentionMaps]:
        """Return the states [N, D] that given target ids are predicted from, and all attention."""
        maps: AttentionMaps = {}
        cache = self.model.start_cache(self.model.encode(source, maps=maps))
        return self.model.decode(shifted_right(target), cache, maps=maps), maps

    @functools.cached_property
    def _forced(self) -> Callable[..., Any]:
        """Return log-probabilities [B, T] of given target ids and what they look at, [B, T, S]."""
        ids = tf.TensorSpec([None, None], tf.int32)

        @tf.function(autograph=False, input_signature=[ids, ids])
        def forced(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
            states, maps = self._read_pairs(source, target)
            packing, log_probs = Packing.of(target), tf.nn.log_softmax(self.model.logits(states))
            chosen = tf.gather(log_probs, packing.pack(target)[:, None], batch_dims=1)  # [N, 1]
            return (
                packing.unpack(chosen)[:, :, 0],  # [B, T]
                tf.reduce_mean(maps["cross"][-1], axis=1),  # [B, T, S]
            )

        return forced  # type: ignore[no-any-return]

    def _batches(self, sources: Rows, *, by_length: bool = True) -> Iterator[list[int]]:
        """Yield the indices of sources of similar length, or of one source each, in batches.

        The batches are as even as can be: a small one at the end would leave all workers but one
        waiting for it.
        """
        if not by_length:  # samples depend on a source's running number, which sorting would change
            yield from ([i] for i in range(len(sources)))
            return
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]), reverse=True)
        while order:
            at_most = self._batch_size(_rounded(len(sources[order[0]])))
            size = math.ceil(len(order) / math.ceil(len(order) / at_most))
            batch, order = order[:size], order[size:]
            yield batch

    def _batch_size(self, width: int) -> int:
        return max(1, min(_MAX_BATCH, self.batch_tokens // width))

    def _graph(self, options: SearchOptions, *, has_prefix: bool = False) -> "SearchGraph":
        features = features_of(options, self.model)
        features = features._replace(force_prefix=has_prefix or features.force_prefix)
        if features not in self._graphs:
            self._graphs[features] = SearchGraph(self.model, features)
        return self._graphs[features]


def load_engine(
    bundle: Bundle,
    *,
    batch_tokens: int = BATCH_TOKENS,
    threads: int = 0,
    compile_after: float = COMPILE_AFTER,
) -> TensorFlowEngine:
    """Return an engine with a bundle's model, or with the ensemble that it is.

    Threads are searches at a time, 0 all cores.
    """
    models = [load_model(one) for one in (bundle, *bundle.partners)]
    return TensorFlowEngine(
        Ensemble(models) if bundle.partners else models[0],
        batch_tokens=batch_tokens,
        workers=1 if has_gpu() else threads or available_cores(),
        compile_after=compile_after,
    )


def has_gpu() -> bool:
    """Return whether TensorFlow may use a GPU."""
    return bool(tf.config.get_visible_devices("GPU"))


def load_model(bundle: Bundle) -> Any:
    """Return a bundle's model, a `Transformer` or a `Classifier`, with its weights."""
    manifest, config = bundle.manifest, ModelConfig(**bundle.manifest.model)
    model: Transformer | Classifier
    if manifest.facts.has_labels:
        model = Classifier(
            config,
            vocab_size=manifest.vocabulary["source"],
            num_labels=len(manifest.classification["labels"]),
            pooling=manifest.classification["pooling"],
        )
    else:
        model = Transformer(
            config,
            source_vocab_size=manifest.vocabulary["source"],
            target_vocab_size=manifest.vocabulary["target"],
            joint=manifest.vocabulary["joint"],
            num_tags=manifest.vocabulary.get("tags", 0),
        )
    assign_weights(model, bundle.load_weights())
    return model


class _Cache(NamedTuple):
    """What a step hands to the next one.

    `coverage` [N, S] is the attention that each source token got so far; [N, 0] when not asked for.
    """

    decoder: DecoderCache
    coverage: Tensor


class SearchGraph:
    """The traced functions of one kind of search; `compiled_advance` is compiled for each shape."""

    def __init__(self, model: Transformer | Ensemble, features: Features) -> None:
        self._model = model
        self._features = features
        scalar, vector = tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)
        source = tf.TensorSpec([None, None], tf.int32)
        noise = tf.TensorSpec([None, None], tf.float32)
        graph = functools.partial(tf.function, autograph=False)
        # Source ids, how many source positions there shall be, limits of sentences -> first state.
        inputs = [source, scalar, vector, vector, noise, scalar, scalar]
        self.start = graph(self._start, input_signature=inputs)
        state = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype),
            self.start.get_concrete_function().structured_outputs,
        )
        # State, capacity -> the state with more room.
        self.grow = graph(_grow, input_signature=[state, scalar])
        parameters = tf.nest.map_structure(
            lambda t: tf.TensorSpec([None] * t.shape.rank, t.dtype), parameters_of(SearchOptions())
        )
        # State, parameters -> the state when its room is full or all sentences are done.
        self.advance = graph(self._advance, input_signature=[state, parameters])
        self.compiled_advance = graph(self._advance, jit_compile=True)

    def _start(
        self,
        source: Tensor,
        width: Tensor,
        limits: Tensor,
        floors: Tensor,
        noise: Tensor,
        beam_size: Tensor,
        capacity: Tensor,
    ) -> State:
        decoder = self._model.start_cache(self._model.encode(source))
        batch, more = tf.shape(source)[0], width - tf.shape(source)[1]
        mask = tf.pad(decoder.memory_mask, [[0, 0], [0, more]])  # [B, S]
        decoder = DecoderCache(_with_more(decoder.memory, more), mask)
        coverage = tf.zeros([batch * beam_size, width if self._features.cover else 0])
        cache = _Cache(self._model.make_room(decoder, beam_size, capacity), coverage)
        return beam_search.start(cache, limits, floors, noise, beam_size, capacity)

    def _advance(self, state: State, parameters: Parameters) -> State:
        def bonus(cache: _Cache) -> Tensor:
            mask, rows = cache.decoder.memory_mask, tf.shape(cache.coverage)[0]
            mask = tf.repeat(mask, rows // tf.shape(mask)[0], axis=0)  # [B*K, S]
            return parameters.coverage_penalty * coverage_score(cache.coverage, mask)

        features = self._features
        return beam_search.advance(
            state, self._step, _reorder, bonus if features.cover else None, parameters, features
        )

    def _step(self, ids: Tensor, cache: _Cache, position: Tensor) -> tuple[Tensor, _Cache]:
        maps: AttentionMaps | None = {} if self._features.cover else None
        states, decoder = self._model.step(ids, cache.decoder, position, maps=maps)
        coverage = cache.coverage
        if maps is not None:
            weights = tf.reduce_mean(maps["cross"][-1], axis=1)  # [B, K, S]
            coverage += tf.reshape(weights, tf.shape(coverage))  # [N, S]
        return self._model.logits(states), _Cache(decoder, coverage)


def _with_more(layers: tuple[KeysValues, ...], more: Tensor) -> tuple[KeysValues, ...]:
    """Return keys and values [B, H, X, P] of each layer with so many more positions, all zero."""
    pad = [[0, 0], [0, 0], [0, more], [0, 0]]
    return tuple(KeysValues(tf.pad(keys, pad), tf.pad(values, pad)) for keys, values in layers)


def _reorder(cache: _Cache, rows: Tensor) -> _Cache:
    """Let each row of the decoder descend from another row; only the mask says so."""
    mask = cache.decoder.own_mask
    by_row = tf.gather(tf.reshape(mask, [-1, tf.shape(mask)[2]]), rows)  # [N, C*K]
    decoder = cache.decoder._replace(own_mask=tf.reshape(by_row, tf.shape(mask)))  # [B, K, C*K]
    return _Cache(decoder, tf.gather(cache.coverage, rows))  # [N, S]


def _grow(state: State, capacity: Tensor) -> State:
    decoder: DecoderCache = state.cache.decoder
    more = capacity * tf.shape(decoder.own_mask)[1] - tf.shape(decoder.own_mask)[2]
    mask = tf.pad(decoder.own_mask, [[0, 0], [0, 0], [0, more]])  # [B, K, C*K]
    decoder = decoder._replace(own=_with_more(decoder.own, more), own_mask=mask)
    return beam_search.grow(state, state.cache._replace(decoder=decoder), capacity)


def _rounded(length: int) -> int:
    """Return the length rounded up to one of few sizes: 16, 32, 64, 128, ..."""
    return max(16, 1 << (length - 1).bit_length())


def features_of(options: SearchOptions, model: Transformer | Ensemble) -> Features:
    """Return what the graph of a search must hold."""
    return Features(
        sample=options.sample,
        penalise_repetition=options.repetition_penalty != 1.0,
        no_repeat_ngram_size=options.no_repeat_ngram_size,
        suppressed=options.suppressed,
        force_prefix=bool(options.prefix),
        cover=options.coverage_penalty > 0,
        num_tags=model.num_tags,
        one_beam=options.sample or options.beam_size == 1,
    )


def padded(rows: Rows) -> Tensor:
    """Return the rows as one [B, S] tensor, padded with 0."""
    matrix = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return tf.constant(matrix)


def _noise(options: SearchOptions, first_index: int, count: int, length: int) -> Tensor:
    """Return [count, length] uniform numbers: a function of seed and running number only."""
    if not options.sample:
        return tf.zeros([1, 1])
    indices = range(first_index, first_index + count)
    seeds = [None if options.seed is None else [options.seed, index] for index in indices]
    rows = [np.random.default_rng(seed).random(length) for seed in seeds]
    return tf.constant(np.stack(rows), tf.float32)


def parameters_of(options: SearchOptions) -> Parameters:
    """Return a search's numbers."""
    values = {name: getattr(options, name) for name in Parameters._fields}
    values["prefix"] = [options.prefix]
    whole = ("prefix", "n_best", "top_k")
    kinds = {name: tf.int32 if name in whole else tf.float32 for name in values}
    return Parameters(*(tf.constant(value, kinds[name]) for name, value in values.items()))


def hypotheses_of(sequences: Any, scores: Any, options: SearchOptions) -> Found:
    """Return the best of ended hypotheses [B, K, T] with their scores [B, K]."""
    return [
        [
            Hypothesis([int(token) for token in ids if token], float(score))
            for ids, score in zip(row[: options.n_best], of_row, strict=False)
            if score > IMPOSSIBLE / 2
        ]
        for row, of_row in zip(sequences, scores, strict=False)
    ]


def _by_kind(maps: AttentionMaps) -> dict[str, npt.NDArray[np.float32]]:
    """Return each kind's weights [L, H, T, S] of the first text of a batch."""
    return {kind: np.stack([layer[0] for layer in layers]) for kind, layers in maps.items()}


class TensorFlowScorer:
    """See `Scorer`; the model's weights are read anew at every call."""

    def __init__(self, model: Classifier) -> None:
        ids = tf.TensorSpec([None, None], tf.int32)
        self.description = "TensorFlow"
        self._model = model
        self._logits = tf.function(model, autograph=False, input_signature=[ids])

    def logits(self, sources: Rows) -> npt.NDArray[np.float32]:
        """See `Scorer.logits`."""
        starts = range(0, len(sources), _SCORED)
        found = [self._logits(padded(sources[first : first + _SCORED])).numpy() for first in starts]
        return np.concatenate(found)

    def attention_by_kind(self, source: Sequence[int]) -> dict[str, npt.NDArray[np.float32]]:
        """Return what every head looks at in one source with `</s>`: `encoder` [L, H, S, S]."""
        maps: AttentionMaps = {}
        self._model.encode(padded([source]), maps=maps)
        return _by_kind(maps)
