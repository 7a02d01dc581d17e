"""What a model in training writes, scored on dev and test: translations, or replies.

On a processor CTranslate2 decodes, converted weights and all in a fraction of the time of graphs
that are not compiled; and compiled ones would not give the same bits in a run that was resumed.
"""

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Iterator

from nmt_cli.bundle.folder import PLAIN_FORMAT, conversion_of
from nmt_cli.evaluation.outputs import (
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
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import TensorFlowEngine
from nmt_cli.tasks.validation import DevScores, Validator
from nmt_cli.text.corpus import Example

_DECODED_AT_A_TIME = 1000  # examples between two looks at whether to stop
_NUM_CHAT_SAMPLES = 64  # dev examples decoded in an evaluation where only samples are shown


class OutputValidator(Validator):
    """Scores what a model writes."""

    def score_test(self) -> dict[str, Score]:
        """See `Validator`."""
        if not self.test_examples:
            return {}
        outputs = self._decode(self.test_examples, self._options)
        return score_outputs(outputs, self.test_examples, self._prepared.encoder, self._config)

    @functools.cached_property
    def _options(self) -> SearchOptions:
        return scoring_options(self._config.decode.model_dump())

    def _greedy(self, examples: list[Example]) -> tuple[list[str], float]:
        """Return greedy outputs for examples, and the seconds that the search for one took."""
        greedy = dataclasses.replace(bounded(self._options), beam_size=1)
        started = time.perf_counter()
        outputs = self._decode(examples, greedy)
        return outputs, (time.perf_counter() - started) / max(1, len(examples))

    def _decode(self, examples: list[Example], options: SearchOptions) -> list[str]:
        encoder, outputs = self._prepared.encoder, list[str]()
        with self._engine() as engine:
            for first in range(0, len(examples), _DECODED_AT_A_TIME):
                if self._should_stop():
                    raise StopRequested
                some = examples[first : first + _DECODED_AT_A_TIME]
                outputs += decode_examples(engine, encoder, some, options)
        return outputs

    @contextlib.contextmanager
    def _engine(self) -> Iterator[Searcher]:
        """Give an engine with the model's current weights."""
        if find_device() == "gpu":
            yield TensorFlowEngine(self._model, compile_after=math.inf)
            return
        model, vocabularies = self._config.model, self._prepared.vocabularies
        weights = read_weights(self._model)
        with temporary_folder() as temporary:
            folder = temporary / PLAIN_FORMAT
            conversion_of(model.model_dump(mode="json"), weights, vocabularies).write(folder)
            yield CTranslate2Engine(folder, vocabularies, max_length=model.max_length)


class TranslationValidator(OutputValidator):
    """Translations are chosen by BLEU of greedy output."""

    def score_dev(self) -> DevScores:
        """See `Validator`."""
        config, examples, loss = self._config, self.dev_examples, self._dev_loss()
        outputs, seconds = self._greedy(examples)
        samples, warning = samples_of(outputs, examples), collapse_warning(outputs)
        scores = score_outputs(outputs, examples, self._prepared.encoder, config)
        return DevScores(loss, scores["bleu"].score, scores, samples, warning, seconds)


class ReplyValidator(OutputValidator):
    """Replies have no single reference: the loss chooses, and only a few are looked at."""

    def score_dev(self) -> DevScores:
        """See `Validator`."""
        loss = self._dev_loss()
        examples = self.dev_examples[:: max(1, len(self.dev_examples) // _NUM_CHAT_SAMPLES)]
        outputs, seconds = self._greedy(examples)
        samples, warning = samples_of(outputs, examples), collapse_warning(outputs)
        return DevScores(loss, -loss, {}, samples, warning, seconds)
