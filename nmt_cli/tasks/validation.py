"""A model in training, scored on dev and test with the weights that it has just now."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nmt_cli.distributed.peers import OUT_OF_MEMORY
from nmt_cli.evaluation.label_scores import LabelScore
from nmt_cli.evaluation.outputs import Sample
from nmt_cli.evaluation.scores import Score
from nmt_cli.text.batches import assemble, batches_by_length

if TYPE_CHECKING:
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


@dataclass(frozen=True)
class DevScores:
    """What one evaluation found.

    Attributes:
        loss: Cross-entropy in nats per target token.
        score: What the best model is chosen by; higher is better.
        scores: To show.
        samples: To look at.
        warning: What is odd about the outputs, or None.
        search_seconds: How long the search for one output took.
        by_label: Of a classifier.
    """

    loss: float
    score: float
    scores: dict[str, Score]
    samples: list[Sample]
    warning: str | None
    search_seconds: float
    by_label: list[LabelScore] = field(default_factory=list)


class Validator:
    """Scores a model on the run's development and test examples.

    Args:
        prepared: Configuration, corpora, text encoder.
        model: The model; its weights are read anew at every call.
        stepper: Computes its loss.
        should_stop: Asked now and then; when True, `StopRequested` is raised.
    """

    def __init__(
        self,
        prepared: "Prepared",
        model: Any,
        stepper: "Stepper",
        should_stop: Callable[[], bool],
    ) -> None:
        self._prepared = prepared
        self._config = prepared.config
        self._stepper = stepper
        self._should_stop = should_stop
        self._model = model
        self.dev_examples = prepared.dev_examples
        self.test_examples = list(prepared.corpora.iter_split("test"))

    def score_dev(self) -> DevScores:
        """Score the model on dev."""
        raise NotImplementedError

    def score_test(self) -> dict[str, Score]:
        """Score the model on test; nothing without test corpora."""
        raise NotImplementedError

    def _dev_loss(self) -> float:
        config, dev = self._config, self._prepared.dev
        tokens = config.train.tokens_per_batch // config.train.accumulate_steps
        while True:
            indices = batches_by_length(dev, config.model.max_length, tokens)
            with contextlib.suppress(*OUT_OF_MEMORY):
                return self._stepper.evaluate([assemble(dev, i) for i in indices])
            if tokens <= config.model.max_length:
                raise MemoryError
            tokens //= 2
