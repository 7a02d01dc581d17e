"""A classifier in TensorFlow: as it is in training, and what its heads look at."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.classifier import Classifier
from nmt_cli.model.layers import AttentionMaps
from nmt_cli.model.weights import assign_weights
from nmt_cli.search.labeller import Floats
from nmt_cli.search.tensorflow_engine import padded

_BATCH = 256  # texts


class TensorFlowScorer:
    """See `Scorer`.

    Args:
        model: The model; its weights are read anew at every call.
    """

    def __init__(self, model: Classifier) -> None:
        ids = tf.TensorSpec([None, None], tf.int32)
        self.description = "TensorFlow"
        self._model = model
        self._logits = tf.function(model, autograph=False, input_signature=[ids])

    def logits(self, sources: Sequence[Sequence[int]]) -> Floats:
        """See `Scorer.logits`."""
        starts = range(0, len(sources), _BATCH)
        found = [self._logits(padded(sources[first : first + _BATCH])).numpy() for first in starts]
        return np.concatenate(found)

    def attention_by_kind(self, source: Sequence[int]) -> dict[str, Floats]:
        """Return what every head of every layer looks at; see `TensorFlowEngine.attention_by_kind`.

        Args:
            source: S source ids with `</s>`.

        Returns:
            `encoder` [L, H, S, S]. Rows sum to one.
        """
        maps: AttentionMaps = {}
        self._model.encode(padded([source]), maps=maps)
        by_kind = self._model.attention_by_kind(maps)
        return {kind: weights[0].numpy() for kind, weights in by_kind.items()}


def load_scorer(bundle: Bundle) -> TensorFlowScorer:
    """Return the model of a classifier's bundle.

    Raises:
        ModelFileError: The weights are damaged or do not fit the architecture.
    """
    manifest = bundle.manifest
    model = Classifier(
        ModelConfig(**manifest.model),
        vocab_size=manifest.vocabulary["source"],
        num_labels=len(manifest.classification["labels"]),
        pooling=manifest.classification["pooling"],
    )
    assign_weights(model, bundle.load_weights())
    return TensorFlowScorer(model)
