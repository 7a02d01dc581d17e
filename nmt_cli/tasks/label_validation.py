"""A classifier in training, scored on dev and test by the labels that it gives."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.folder import classification_of
from nmt_cli.evaluation.label_judging import Judged, judge
from nmt_cli.evaluation.outputs import samples_of
from nmt_cli.evaluation.scores import Score
from nmt_cli.events import StopRequested
from nmt_cli.search.labeller import Labeller
from nmt_cli.search.tensorflow_labeller import TensorFlowScorer
from nmt_cli.tasks.validation import DevScores, Validator
from nmt_cli.text.corpus import Example

if TYPE_CHECKING:
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


class LabelValidator(Validator):
    """See `Validator`."""

    def __init__(
        self, prepared: "Prepared", model: Any, stepper: "Stepper", should_stop: Callable[[], bool]
    ) -> None:
        super().__init__(prepared, model, stepper, should_stop)
        config, subwords = prepared.config, prepared.encoder.source
        settings, longest = classification_of(config), config.model.max_length
        self._labeller = Labeller(TensorFlowScorer(model), subwords, settings, longest)

    def score_dev(self) -> DevScores:
        """See `Validator`; the best model is chosen by `classification.best_by`."""
        examples, loss = self.dev_examples, self._dev_loss()
        started = time.perf_counter()
        judged = self._judge(examples)
        seconds = (time.perf_counter() - started) / max(1, len(examples))
        scores, best_by = judged.scores(), self._config.classification.best_by
        outputs = judged.outputs()
        return DevScores(
            loss=loss,
            score=-loss if best_by == "loss" else scores[best_by].score,
            scores=scores,
            samples=samples_of(outputs, examples),
            warning=_warning(outputs, examples),
            search_seconds=seconds,
            by_label=judged.by_label(),
        )

    def score_test(self) -> dict[str, Score]:
        """See `Validator`."""
        return self._judge(self.test_examples).scores() if self.test_examples else {}

    def _judge(self, examples: list[Example]) -> Judged:
        return judge(self._labeller, examples, lambda _: self._stop_if_asked())

    def _stop_if_asked(self) -> None:
        if self._should_stop():
            raise StopRequested


def _warning(outputs: list[str], examples: list[Example]) -> str | None:
    """Return what shows that a model has learned nothing: the same answer for every text."""
    if len(set(outputs)) > 1 or len({example.target for example in examples}) == 1:
        return None
    return f"every text gets the same answer: '{outputs[0]}'"
