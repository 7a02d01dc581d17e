"""A classifier in training, scored on dev and test by the labels that it gives."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from nmt_cli.decoding.evaluation import samples_of
from nmt_cli.decoding.labelling import Flags, given_labels, label_flags, probabilities
from nmt_cli.decoding.native import padded
from nmt_cli.metrics.classification import corpus_label_scores, label_scores
from nmt_cli.metrics.scores import Score
from nmt_cli.text.corpus import Example
from nmt_cli.text.labels import Labels
from nmt_cli.training.run import Prepared
from nmt_cli.training.step import Stepper
from nmt_cli.training.validation import DevScores, Validator

_BATCH = 256  # texts


class LabelValidator(Validator):
    """See `Validator`."""

    def __init__(
        self, prepared: Prepared, model: Any, stepper: Stepper, should_stop: Callable[[], bool]
    ) -> None:
        super().__init__(prepared, model, stepper, should_stop)
        labels = Labels.of(prepared.config)
        if labels is None:
            raise TypeError("a classifier has labels")
        self._labels = labels
        ids = tf.TensorSpec([None, None], tf.int32)
        self._logits = tf.function(model, autograph=False, input_signature=[ids])

    def score_dev(self, step: int) -> DevScores:
        """See `Validator`; the best model is chosen by `classification.best_by`."""
        settings, examples, loss = self._config.classification, self.dev_examples, self._dev_loss()
        started = time.perf_counter()
        wanted, given = self._wanted_and_given(examples)
        seconds = (time.perf_counter() - started) / max(1, len(examples))
        scores = corpus_label_scores(wanted, given, multi_label=settings.multi_label)
        outputs = [self._labels.join(np.flatnonzero(flags)) for flags in given]
        return DevScores(
            loss=loss,
            score=-loss if settings.best_by == "loss" else scores[settings.best_by].score,
            scores=scores,
            samples=samples_of(outputs, examples, step),
            warning=_warning(wanted, outputs),
            search_seconds=seconds,
            by_label=label_scores(wanted, given, self._labels.names),
        )

    def score_test(self) -> dict[str, Score]:
        """See `Validator`."""
        if not self.test_examples:
            return {}
        wanted, given = self._wanted_and_given(self.test_examples)
        return corpus_label_scores(
            wanted, given, multi_label=self._config.classification.multi_label
        )

    def _wanted_and_given(self, examples: list[Example]) -> tuple[Flags, Flags]:
        """Return which labels each example has, and which the model gives it, [N, Y]."""
        settings, encoder = self._config.classification, self._prepared.encoder
        logits = []
        for some in self._parts(examples):
            sources = encoder.encode_sources([example.source for example in some])
            logits += [
                self._logits(padded(sources[first : first + _BATCH])).numpy()
                for first in range(0, len(sources), _BATCH)
            ]
        found = probabilities(np.concatenate(logits), multi_label=settings.multi_label)
        given = given_labels(found, multi_label=settings.multi_label, threshold=settings.threshold)
        return label_flags([e.target for e in examples], self._labels), given


def _warning(wanted: Flags, outputs: list[str]) -> str | None:
    """Return what shows that a model has learned nothing: the same answer for every text."""
    if len(set(outputs)) > 1 or (wanted == wanted[0]).all():
        return None
    return f"every text gets the same answer: '{outputs[0]}'"
