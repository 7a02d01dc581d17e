"""The run's bundle: the best model so far, and at the end its test scores and number formats."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from ctranslate2 import get_supported_compute_types

from nmt_cli.bundle.folder import PLAIN_FORMAT, Bundle, open_bundle, save_bundle
from nmt_cli.errors import ModelFileError, TrainingError
from nmt_cli.evaluation.number_formats import Measured, measure_formats
from nmt_cli.evaluation.scores import Score
from nmt_cli.files import os_errors_as
from nmt_cli.model.weights import Arrays
from nmt_cli.tasks.task import task_of
from nmt_cli.tasks.validation import DevScores
from nmt_cli.text.corpus import Example
from nmt_cli.training.run import Prepared

_USUAL = 0.99  # share of the training sources that no splitting of long lines shall touch


class Result:
    """What a run leaves to its user."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.folder = prepared.folder.model

    def open(self) -> Bundle:
        """Read the bundle.

        Raises:
            ModelFileError: It is missing or damaged.
        """
        return open_bundle(self.folder)

    def is_finished(self, step: int) -> bool:
        """Return whether the bundle is what a run that ended at this step left."""
        try:
            return self.open().manifest.training.get("finished_step") == step
        except ModelFileError:  # none yet, or damaged: the end of the run writes it anew
            return False

    def save_best(self, weights: Arrays, dev: DevScores, step: int) -> None:
        """Write the best model so far."""
        corpus = self._prepared.train
        training = {
            "step": step,
            "pairs": len(corpus),
            "dev_loss": dev.loss,
            "fingerprint": self._prepared.fingerprint,
            "long_source": int(np.quantile(corpus.source_lengths, _USUAL)),
        }
        self._save(weights, {"dev": _as_json(dev.scores)}, training)

    def finish(self, weights: Arrays, test: dict[str, Score], step: int) -> None:
        """Write the same model again with its test scores: the run is over."""
        manifest = self.open().manifest
        scores = manifest.scores | ({"test": _as_json(test)} if test else {})
        self._save(weights, scores, manifest.training | {"finished_step": step})

    def test_scores(self) -> dict[str, Score]:
        """Return what `finish` wrote."""
        scores = self.open().manifest.scores.get("test", {})
        return {name: Score(**score) for name, score in scores.items()}

    def export(self, dev: list[Example]) -> Iterator[Measured]:
        """Find out which number format translates fastest, once."""
        bundle = self.open()
        if bundle.manifest.ctranslate2["formats"][PLAIN_FORMAT]:
            return
        with os_errors_as(TrainingError, f"{self.folder}: cannot be written"):
            yield from measure_formats(
                bundle,
                dev,
                sorted({"int8"} & get_supported_compute_types("cpu")),
                task_of(self._prepared.config.facts).measure,
            )

    def _save(
        self,
        weights: Arrays,
        scores: dict[str, dict[str, dict[str, Any]]],
        training: dict[str, Any],
    ) -> None:
        hint = "free some space and run the same command again"
        with os_errors_as(TrainingError, f"{self.folder}: cannot be written", hint=hint):
            save_bundle(
                self.folder,
                config=self._prepared.config,
                vocabularies=self._prepared.vocabularies,
                weights=weights,
                scores=scores,
                training=training,
            )


def _as_json(scores: dict[str, Score]) -> dict[str, dict[str, Any]]:
    return {name: score.as_json() for name, score in scores.items()}
