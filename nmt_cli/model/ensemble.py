"""An ensemble: several Transformers of one vocabulary that choose every token together.

To a search it is one model whose probabilities are the mean of theirs. It encodes, decodes and
steps with each of them; their caches lie side by side in one, layer after layer.

Reference: Sutskever et al. 2014, arXiv 1409.3215, section 3.6.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from nmt_cli.model.layers import AttentionMaps
from nmt_cli.model.packing import Tensor
from nmt_cli.model.transformer import DecoderCache, Transformer

Memories = Any  # a `Memory` of each model


class Ensemble:
    """Two or more models, with the same vocabulary and tags; their sizes may differ.

    See `Transformer`, whose methods for a search these are.
    """

    def __init__(self, models: Sequence[Transformer]) -> None:
        self._models = models
        self.config = min((model.config for model in models), key=lambda c: c.max_length)
        self.num_tags = models[0].num_tags
        self.activation_dtype = f"{models[0].activation_dtype}, {len(models)} models"

    @property
    def trainable_weights(self) -> list[Tensor]:
        """The weights of all models."""
        return [weight for model in self._models for weight in model.trainable_weights]

    def encode(self, source_ids: Tensor, *, maps: AttentionMaps | None = None) -> Memories:
        """Read source ids [B, S] with each model; of the encoders there are no `maps`."""
        del maps
        return [model.encode(source_ids) for model in self._models]

    def start_cache(self, memories: Memories) -> DecoderCache:
        """Return a cache for `decode`, with the layers of all models."""
        pairs = zip(self._models, memories, strict=True)
        return _together([model.start_cache(memory) for model, memory in pairs])

    def make_room(self, cache: DecoderCache, beams: int | Tensor, capacity: Tensor) -> DecoderCache:
        """Return a cache for `step`; see `Transformer.make_room`."""
        pairs = zip(self._models, self._apart(cache), strict=True)
        return _together([model.make_room(part, beams, capacity) for model, part in pairs])

    def decode(
        self, target_ids: Tensor, cache: DecoderCache, *, maps: AttentionMaps | None = None
    ) -> list[Tensor]:
        """Return each model's states [N, D].

        `maps` gets `cross` [B, M, T, S]: each model's mean of its last layer, as if it were a head.
        """
        states, seen = [], []
        for model, part in zip(self._models, self._apart(cache), strict=True):
            seen.append(AttentionMaps())
            states.append(model.decode(target_ids, part, maps=seen[-1]))
        _note_attention(seen, maps)
        return states

    def step(
        self,
        ids: Tensor,
        cache: DecoderCache,
        position: Tensor,
        *,
        maps: AttentionMaps | None = None,
    ) -> tuple[list[Tensor], DecoderCache]:
        """Read one more id of each beam; see `Transformer.step`, and `decode` for the states."""
        found, seen = [], []
        for model, part in zip(self._models, self._apart(cache), strict=True):
            seen.append(AttentionMaps())
            found.append(model.step(ids, part, position, maps=seen[-1]))
        _note_attention(seen, maps)
        states, parts = zip(*found, strict=True)
        return list(states), _together(parts)

    def logits(self, states: Sequence[Tensor]) -> Tensor:
        """Return the logarithms [N, V] of the mean of the models' probabilities."""
        pairs = zip(self._models, states, strict=True)
        log_probs = [tf.nn.log_softmax(model.logits(of_model)) for model, of_model in pairs]
        return tf.reduce_logsumexp(tf.stack(log_probs), axis=0) - math.log(len(log_probs))  # [N, V]

    def _apart(self, cache: DecoderCache) -> list[DecoderCache]:
        """Return each model's share of a cache."""
        ends = [0, *itertools.accumulate(len(model.decoder_layers) for model in self._models)]
        return [
            cache._replace(memory=cache.memory[first:end], own=cache.own[first:end])
            for first, end in itertools.pairwise(ends)
        ]


def _together(parts: Sequence[DecoderCache]) -> DecoderCache:
    """Return one cache with the layers of all; masks are the same in each."""
    memory = tuple(layer for part in parts for layer in part.memory)
    own = tuple(layer for part in parts for layer in part.own)
    return parts[0]._replace(memory=memory, own=own)


def _note_attention(seen: Sequence[AttentionMaps], maps: AttentionMaps | None) -> None:
    """Put the mean over the heads of each model's last attention to the encoder into `maps`."""
    if maps is not None:
        means = [tf.reduce_mean(own["cross"][-1], axis=1) for own in seen]  # each [B, T, S]
        maps["cross"] = [tf.stack(means, axis=1)]  # [B, M, T, S]
