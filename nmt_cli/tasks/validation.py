"""A model in training, scored on dev and test with its present weights.

On a processor CTranslate2 decodes: conversion included, it takes a fraction of the time of graphs
that are not compiled; and compiled ones would not give the same bits in a resumed run.
"""

import contextlib
import dataclasses
import functools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.folder import PLAIN_FORMAT, classification_of, conversion_of
from nmt_cli.distributed.peers import OUT_OF_MEMORY
from nmt_cli.evaluation.label_judging import Judged, LabelScore, judge
from nmt_cli.evaluation.outputs import (
    Sample,
    bounded,
    collapse_warning,
    decode_examples,
    samples_of,
    score_outputs,
    scoring_options,
)
from nmt_cli.evaluation.scores import Score
from nmt_cli.events import StopRequested
from nmt_cli.files import temporary_folder
from nmt_cli.model.tensorflow_setup import find_device
from nmt_cli.model.weights import read_weights
from nmt_cli.search.ctranslate2_engine import CTranslate2Engine
from nmt_cli.search.engine import Searcher
from nmt_cli.search.labeller import Labeller
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import TensorFlowEngine, TensorFlowScorer
from nmt_cli.text.batches import assemble, batches_by_length
from nmt_cli.text.corpus import Example

if TYPE_CHECKING:
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


@dataclass(frozen=True)
class DevScores:
    """What one evaluation found."""

    loss: float  # cross-entropy in nats per target token
    score: float  # what the best model is chosen by; higher is better
    scores: dict[str, Score]  # to show
    samples: list[Sample]  # to look at
    warning: str | None  # what is odd about the outputs, or None
    search_seconds: float  # how long the search for one output took
    by_label: list[LabelScore] = field(default_factory=list)  # of a classifier


@dataclass(eq=False)
class Validator(ABC):
    """Scores a model, by its weights at the time, on the run's development and test examples."""

    prepared: "Prepared"
    model: Any
    stepper: "Stepper"
    should_stop: Callable[[], bool]  # asked now and then; when True, `StopRequested` is raised

    def __post_init__(self) -> None:
        self._config = self.prepared.config
        self.dev_examples = self.prepared.dev_examples
        self.test_examples = list(self.prepared.corpora.iter_split("test"))

    @abstractmethod
    def score_dev(self) -> DevScores:
        """Score the model on dev."""

    @abstractmethod
    def score_test(self) -> dict[str, Score]:
        """Score the model on test; nothing without test corpora."""

    def _stop_if_asked(self, _: int = 0) -> None:
        if self.should_stop():
            raise StopRequested

    def _dev_loss(self) -> float:
        config, dev = self._config, self.prepared.dev
        tokens = config.train.tokens_per_batch // config.train.accumulate_steps
        while True:
            indices = batches_by_length(dev, config.model.max_length, tokens)
            with contextlib.suppress(*OUT_OF_MEMORY):
                return self.stepper.evaluate([assemble(dev, i) for i in indices])
            if tokens <= config.model.max_length:
                raise MemoryError
            tokens //= 2


_DECODED_AT_A_TIME = 1000  # examples between two looks at whether to stop
_NUM_CHAT_SAMPLES = 64  # dev examples decoded in an evaluation where only samples are shown


class OutputValidator(Validator):
    """Scores what a model writes: by BLEU of greedy output.

    Replies have no single reference: the loss chooses, and only a few are looked at.
    """

    def score_dev(self) -> DevScores:
        loss, examples, scores = self._dev_loss(), self.dev_examples, dict[str, Score]()
        if not self._config.facts.has_score:
            examples = examples[:: max(1, len(examples) // _NUM_CHAT_SAMPLES)]
        greedy = dataclasses.replace(bounded(self._options), beam_size=1)
        started = time.perf_counter()
        outputs = self._decode(examples, greedy)
        seconds = (time.perf_counter() - started) / max(1, len(examples))
        if self._config.facts.has_score:
            scores = self._scores(outputs, examples)
        return DevScores(
            loss=loss,
            score=scores["bleu"].score if scores else -loss,
            scores=scores,
            samples=samples_of(outputs, examples),
            warning=collapse_warning(outputs),
            search_seconds=seconds,
        )

    def score_test(self) -> dict[str, Score]:
        if not self.test_examples:
            return {}
        return self._scores(self._decode(self.test_examples, self._options), self.test_examples)

    def _scores(self, outputs: list[str], examples: list[Example]) -> dict[str, Score]:
        target, language = self.prepared.encoder.target, self._config.data.target_lang
        return score_outputs(outputs, examples, target, language)

    @functools.cached_property
    def _options(self) -> SearchOptions:
        return scoring_options(self._config.decode.model_dump())

    def _decode(self, examples: list[Example], options: SearchOptions) -> list[str]:
        encoder, outputs = self.prepared.encoder, list[str]()
        with self._engine() as engine:
            for first in range(0, len(examples), _DECODED_AT_A_TIME):
                self._stop_if_asked()
                some = examples[first : first + _DECODED_AT_A_TIME]
                outputs += decode_examples(engine, encoder, some, options)
        return outputs

    @contextlib.contextmanager
    def _engine(self) -> Iterator[Searcher]:
        """Give an engine with the model's current weights."""
        if find_device() == "gpu":
            yield TensorFlowEngine(self.model, compile_after=math.inf)
            return
        model, vocabularies = self._config.model, self.prepared.vocabularies
        with temporary_folder() as temporary:
            folder = temporary / PLAIN_FORMAT
            settings, weights = model.model_dump(mode="json"), read_weights(self.model)
            conversion_of(settings, weights, vocabularies).write(folder)
            yield CTranslate2Engine(folder, vocabularies, max_length=model.max_length)


class LabelValidator(Validator):
    """Scores labels; the best model is chosen by `classification.best_by`."""

    @functools.cached_property
    def _labeller(self) -> Labeller:
        config, subwords = self._config, self.prepared.encoder.source
        settings, longest = classification_of(config), config.model.max_length
        return Labeller(TensorFlowScorer(self.model), subwords, settings, longest)

    def score_dev(self) -> DevScores:
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
        return self._judge(self.test_examples).scores() if self.test_examples else {}

    def _judge(self, examples: list[Example]) -> Judged:
        return judge(self._labeller, examples, self._stop_if_asked)


def _warning(outputs: list[str], examples: list[Example]) -> str | None:
    """Return what shows that a model has learned nothing: the same answer for every text."""
    if len(set(outputs)) > 1 or len({example.target for example in examples}) == 1:
        return None
    return f"every text gets the same label: '{outputs[0]}'"
