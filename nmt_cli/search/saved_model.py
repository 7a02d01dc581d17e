"""The native engine as a SavedModel, for `tf.saved_model.load` and TensorFlow Serving.

Signatures `greedy` and `beam` (also the default) take source ids and give target ids with scores;
the bundle's search options are part of them. The search is that of `tensorflow_engine.py`.
"""

from pathlib import Path
from typing import Any

import tensorflow as tf

from nmt_cli.files import atomic_dir
from nmt_cli.model.packing import padding_mask
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.engine import Found, Rows, Searcher
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import (
    FIRST_CAPACITY,
    SearchGraph,
    features_of,
    hypotheses_of,
    padded,
    parameters_of,
)

Tensor = Any
_MAX_BATCH = 64


def save_serving_model(
    model: Transformer, options: SearchOptions, path: Path, *, has_prefix: bool = False
) -> None:
    """Write the SavedModel folder, atomically; one that is there is replaced.

    Its signatures take `ids` [B, S] int32, each row ending with `</s>` and padded with 0, and give

    - `greedy`: `ids` [B, T] int32, padded with 0, and `scores` [B] float32;
    - `beam`: `ids` [B, K, T] and `scores` [B, K], best first; -1e9 where there is no hypothesis.

    A model that `has_prefix` takes `prefix` [P] int32, too: what every output begins with, such as
    the token of its language. The options say how to search; sampling is switched off.
    """
    beam = options.override(sample=False, n_best=1, beam_size=max(2, options.beam_size))
    greedy = options.override(sample=False, n_best=1, beam_size=1)
    module = tf.Module()
    module.weights = [weight.value for weight in model.weights]
    kinds = {"beam": beam, "greedy": greedy}
    signatures = {name: _signature(model, kind, has_prefix) for name, kind in kinds.items()}
    with atomic_dir(path) as folder:
        tf.saved_model.save(
            module, str(folder), signatures=signatures | {"serving_default": signatures["beam"]}
        )


class SavedModelEngine(Searcher):
    """A SavedModel as an engine: what a client would do with it."""

    def __init__(self, path: Path, *, max_length: int) -> None:
        self._loaded = tf.saved_model.load(str(path))
        self.max_length = max_length

    def search(self, sources: Rows, options: SearchOptions, *, first_index: int = 0) -> Found:
        """See `Searcher.search`; of the options, greedy or beam, `n_best` and the prefix count."""
        del first_index
        name = "greedy" if options.beam_size == 1 else "beam"
        signature = self._loaded.signatures[name]
        has_prefix = "prefix" in signature.structured_input_signature[1]
        more = {"prefix": tf.constant(options.prefix, tf.int32)} if has_prefix else {}
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        results: Found = [[] for _ in sources]
        for start in range(0, len(order), _MAX_BATCH):
            batch = order[start : start + _MAX_BATCH]
            found = signature(ids=padded([sources[i] for i in batch]), **more)
            ids, scores = found["ids"].numpy(), found["scores"].numpy()
            if name == "greedy":
                ids, scores = ids[:, None], scores[:, None]  # [B, 1, T], [B, 1]
            for i, best in zip(batch, hypotheses_of(ids, scores, options), strict=True):
                results[i] = best
        return results


def _signature(model: Transformer, options: SearchOptions, has_prefix: bool) -> Any:
    """Return a search as one function of source ids, and of a prefix where there may be one."""
    graph = SearchGraph(model, features_of(options, model)._replace(force_prefix=has_prefix))
    capacities, longest = [FIRST_CAPACITY], min(options.max_length, model.config.max_length)
    while capacities[-1] < longest:
        capacities.append(2 * capacities[-1])

    def search(ids: Tensor, prefix: Tensor = None) -> dict[str, Tensor]:
        parameters = parameters_of(options)
        if prefix is not None:
            parameters = parameters._replace(prefix=prefix[None])
        lengths = tf.reduce_sum(tf.cast(padding_mask(ids), tf.int32), axis=1)  # [B]
        limits = tf.fill(tf.shape(lengths), longest)
        if options.max_length_ratio is not None:
            limits = tf.minimum(limits, _times(lengths, options.max_length_ratio) + 10)
        floors = tf.maximum(options.min_length, _times(lengths, options.min_length_ratio))
        state = graph.start(
            ids,
            tf.shape(ids)[1],
            limits,
            floors,
            tf.zeros([1, 1]),
            options.beam_size,
            capacities[0],
        )
        state = graph.advance(state, parameters)
        for capacity in capacities[1:]:  # which ends at once when every sentence is done
            state = graph.advance(graph.grow(state, capacity), parameters)
        ids, scores = state.ended_sequences[:, :, : state.position], state.ended_scores
        if options.beam_size == 1:
            ids, scores = ids[:, 0], scores[:, 0]  # [B, T], [B]
        return {"ids": ids, "scores": scores}

    specs = [tf.TensorSpec([None, None], tf.int32, name="ids")]
    specs += [tf.TensorSpec([None], tf.int32, name="prefix")] if has_prefix else []
    return tf.function(search, autograph=False, input_signature=specs)


def _times(lengths: Tensor, ratio: float) -> Tensor:
    return tf.cast(tf.cast(lengths, tf.float64) * ratio, tf.int32)
