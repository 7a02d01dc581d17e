"""A model in training, scored on dev and test with the weights that it has just now."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

from nmt_cli.decoding.native import NativeEngine
from nmt_cli.metrics import Score
from nmt_cli.model.transformer import Transformer
from nmt_cli.text.batches import assemble, batches_by_length
from nmt_cli.text.corpus import Example
from nmt_cli.training.evaluation import (
    Sample,
    collapse_warning,
    decode_examples,
    samples_of,
    score_outputs,
    scoring_options,
)
from nmt_cli.training.run import Prepared
from nmt_cli.training.step import Stepper

_NUM_CHAT_SAMPLES = 64  # dev examples decoded in an evaluation where only samples are shown


class StopRequested(Exception):
    """Training shall save and end here."""


@dataclass(frozen=True)
class DevScores:
    """What one evaluation found.

    Attributes:
        loss: Cross-entropy in nats per target piece.
        score: What the best model is chosen by; higher is better.
        scores: To show.
        samples: To look at.
        warning: What is odd about the outputs, or None.
    """

    loss: float
    score: float
    scores: dict[str, Score]
    samples: list[Sample]
    warning: str | None


class Validator:
    """Scores a model on the run's development and test examples.

    Args:
        prepared: Configuration, corpora, text encoder.
        model: The model; its weights are read anew at every call.
        stepper: Computes its loss.
        should_stop: Asked before each batch that is decoded; when True, `StopRequested` is raised.
    """

    def __init__(
        self,
        prepared: Prepared,
        model: Transformer,
        stepper: Stepper,
        should_stop: Callable[[], bool],
    ) -> None:
        self._prepared = prepared
        self._config = prepared.config
        self._stepper = stepper
        self._should_stop = should_stop
        # Never compiled: a run that was resumed decodes to the last bit as one that was not.
        self._engine = NativeEngine(model, compile_after=math.inf, before_batch=self._stop_if_asked)
        self._options = scoring_options(self._config.decode.model_dump())
        self.dev_examples = prepared.dev_examples

    def score_dev(self, step: int) -> DevScores:
        """Score the model on dev; `step` chooses the samples.

        Translations are chosen by BLEU of greedy output. Replies have no single reference, so chat
        models are chosen by loss and only a few replies are decoded, to look at.
        """
        config, dev, examples = self._config, self._prepared.dev, self.dev_examples
        indices = batches_by_length(dev, config.model.max_length, config.train.tokens_per_batch)
        loss = self._stepper.evaluate([assemble(dev, i) for i in indices])
        is_chat = config.task == "chat"
        if is_chat:
            examples = examples[:: max(1, len(examples) // _NUM_CHAT_SAMPLES)]
        greedy = dataclasses.replace(self._options, beam_size=1)
        outputs = decode_examples(self._engine, self._prepared.encoder, examples, greedy)
        samples, warning = samples_of(outputs, examples, step), collapse_warning(outputs)
        if is_chat:
            return DevScores(loss, -loss, {}, samples, warning)
        scores = score_outputs(outputs, examples, self._prepared.encoder, config)
        return DevScores(loss, scores["bleu"].score, scores, samples, warning)

    def score_test(self) -> dict[str, Score]:
        """Score the model on test; nothing without test corpora."""
        test: list[Example] = list(self._prepared.corpora.iter_split("test"))
        if not test:
            return {}
        outputs = decode_examples(self._engine, self._prepared.encoder, test, self._options)
        return score_outputs(outputs, test, self._prepared.encoder, self._config)

    def _stop_if_asked(self) -> None:
        if self._should_stop():
            raise StopRequested
