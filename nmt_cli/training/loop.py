"""The training loop: a generator of events. It saves; it never prints.

One pass of the loop is one optimizer step. Every `eval_steps` the model is scored on dev and, when
it is the best so far, written as the run's bundle; every `checkpoint_steps` all state is saved. At
the end the last checkpoints are averaged, the better of average and best becomes the bundle, and
that bundle is scored on test.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from ctranslate2 import get_supported_compute_types

from nmt_cli.bundle import PLAIN_FORMAT, open_bundle, save_bundle
from nmt_cli.config import Config
from nmt_cli.config_io import fixed_keys, to_yaml
from nmt_cli.decoding.native import NativeEngine
from nmt_cli.decoding.options import SearchOptions
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.files import existing_dir, os_errors_as, write_text
from nmt_cli.metrics import Score
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.weights import assign_weights, named_variables, read_weights
from nmt_cli.text.batches import assemble, batches_by_length
from nmt_cli.text.corpus import Example
from nmt_cli.training.checkpoint import Checkpoint, Checkpoints, Progress, changed_settings
from nmt_cli.training.dataset import iter_steps
from nmt_cli.training.device import resolve_precision
from nmt_cli.training.evaluation import (
    Sample,
    decode_examples,
    samples_of,
    score_outputs,
    scoring_options,
)
from nmt_cli.training.export import Measured, measure_formats
from nmt_cli.training.optimizer import Adam
from nmt_cli.training.run import EventLog, Prepared
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.step import Stepper

_USUAL = 0.99  # share of the training sources that no splitting of long lines shall touch
_FINGERPRINT = "fingerprint"
_NUM_CHAT_SAMPLES = 64  # dev examples decoded in an evaluation where only samples are shown


@dataclass(frozen=True)
class Started:
    """Training begins, or goes on at `step`."""

    step: int
    parameters: int
    precision: str
    warnings: list[str]


@dataclass(frozen=True)
class StepDone:
    """One optimizer step; losses in nats per target piece, rates per second."""

    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    num_tokens: int
    padding: float
    seconds: float


@dataclass(frozen=True)
class Evaluated:
    """Scores on dev. `score` is what the best model is chosen by; higher is better."""

    step: int
    dev_loss: float
    score: float
    scores: dict[str, Score]
    samples: list[Sample]
    is_best: bool
    label: str = "dev"


@dataclass(frozen=True)
class Saved:
    """A checkpoint is on disk."""

    step: int
    path: str


@dataclass(frozen=True)
class Finished:
    """The run is over (or stopped on request, then `scores` is empty and it can go on)."""

    step: int
    reason: str
    scores: dict[str, Score]
    bundle: str | None


@dataclass(frozen=True)
class Exported:
    """The bundle has a form for the fast engine in one more number format."""

    step: int
    measured: Measured


Event = Started | StepDone | Evaluated | Saved | Exported | Finished


def train(prepared: Prepared, should_stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Train from the last checkpoint, or from the start, to the end.

    Args:
        prepared: Configuration, run folder, corpora.
        should_stop: Asked after every step; when True a checkpoint is saved and the loop ends.

    Yields:
        Everything that happens, also written to `events.jsonl`.

    Raises:
        ConfigError: The run was begun with other settings.
        TrainingError: The loss is not finite, or the disk is full.
    """
    trainer = _Trainer(prepared)
    for event in trainer.run(should_stop):
        if not isinstance(event, StepDone) or trainer.is_logged(event.step):
            with os_errors_as(TrainingError, f"{prepared.folder.events}: cannot be written"):
                trainer.log.append({"event": type(event).__name__, **_as_json(event)})
        yield event


def _as_json(event: Event) -> dict[str, Any]:
    return dataclasses.asdict(event)


class _Trainer:
    """The state of one run in memory."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._config: Config = prepared.config
        train_config = self._config.train
        vocabularies = prepared.vocabularies
        self._precision = resolve_precision(train_config.precision)
        self._model = Transformer(
            self._config.model,
            source_vocab_size=vocabularies.source.vocab_size,
            target_vocab_size=vocabularies.target.vocab_size,
            joint=vocabularies.joint,
            seed=self._config.seed,
            compute_dtype=self._precision,
        )
        self._optimizer = Adam(
            named_variables(self._model),
            clip_norm=train_config.clip_norm,
            weight_decay=train_config.weight_decay,
        )
        self._stepper = Stepper(self._model, self._optimizer, self._config)
        # Never compiled: a run that was resumed decodes to the last bit as one that was not.
        self._engine = NativeEngine(self._model, compile_after=math.inf)
        self._checkpoints = Checkpoints(prepared.folder.checkpoints, train_config.keep_checkpoints)
        self._settings = fixed_keys(self._config) | {_FINGERPRINT: prepared.fingerprint}
        self._dev = prepared.dev_examples
        self._progress, self._warnings = self._restore()
        with os_errors_as(TrainingError, f"{prepared.folder.path}: cannot be written"):
            write_text(prepared.folder.path / "config.yaml", to_yaml(self._config))
            self.log = EventLog(prepared.folder.events, self._progress.step)

    def is_logged(self, step: int) -> bool:
        """Return whether a step goes into `events.jsonl`: every tenth is enough for a curve."""
        return step % 10 == 0

    def run(self, should_stop: Callable[[], bool]) -> Iterator[Event]:
        """Yield the events of the whole run."""
        parameters = sum(math.prod(weight.shape) for weight in self._model.weights)
        yield Started(self._progress.step, parameters, self._precision, self._warnings)
        reason = self._ended()
        if reason is None:
            for event in self._steps(should_stop):
                yield event
                if isinstance(event, Finished):
                    return
            reason = self._ended() or ""
        yield from self._finish(reason)

    def _restore(self) -> tuple[Progress, list[str]]:
        checkpoint, warnings = self._checkpoints.load_latest()
        if checkpoint is None:
            return Progress(), warnings
        changed = [
            "the training text or its vocabulary" if name == _FINGERPRINT else name
            for name in changed_settings(checkpoint.settings, self._settings)
        ]
        if changed:
            raise ConfigError(
                f"{self._prepared.folder.path} was begun with other settings: {', '.join(changed)}",
                hint="set them back, give the run another name, or start over with --fresh",
            )
        assign_weights(self._model, checkpoint.weights)
        self._optimizer.assign_state(checkpoint.optimizer)
        return checkpoint.progress, warnings

    def _ended(self) -> str | None:
        """Return why training is over, or None."""
        progress, config = self._progress, self._config.train
        if progress.step >= config.max_steps:
            return f"train.max_steps ({config.max_steps}) reached"
        if config.patience and progress.evaluations_since_best >= config.patience:
            return f"no better score in {config.patience} evaluations"
        return None

    def _steps(self, should_stop: Callable[[], bool]) -> Iterator[Event]:
        config = self._config.train
        prepared = self._prepared
        cursor = self._progress.cursor
        batches = iter_steps(prepared.train, self._config, cursor, prepared.encoder)
        while self._ended() is None:
            event = self._one_step(batches)
            yield event
            stopping = should_stop()
            if event.step % config.eval_steps == 0 or event.step == config.max_steps:
                yield self._evaluate()
            is_due = event.step % config.checkpoint_steps == 0 or self._ended() is not None
            if is_due or stopping:
                yield self._save(is_regular=is_due)
            if stopping:
                yield Finished(event.step, "stopped", {}, None)

    def _one_step(self, batches: Iterator[Any]) -> StepDone:
        started = time.perf_counter()
        micro_batches, after = next(batches)
        step = self._progress.step + 1
        rate = learning_rate(step, self._config.train, self._config.model.d_model)
        result = self._stepper.step(micro_batches, step, rate)
        if not math.isfinite(result.loss + result.gradient_norm):
            raise TrainingError(
                f"the loss is not finite at step {step}",
                hint="lower train.learning_rate or raise train.warmup_steps, and start over with "
                "--fresh",
            )
        epoch, seconds = self._progress.cursor.epoch, time.perf_counter() - started
        self._progress = dataclasses.replace(
            self._progress, step=step, cursor=after, seconds=self._progress.seconds + seconds
        )
        return StepDone(
            step=step,
            epoch=epoch,
            loss=result.loss,
            learning_rate=rate,
            gradient_norm=result.gradient_norm,
            num_tokens=result.num_tokens,
            padding=sum(b.num_padding for b in micro_batches)
            / sum(b.num_positions for b in micro_batches),
            seconds=seconds,
        )

    def _save(self, *, is_regular: bool) -> Saved:
        path = self._checkpoints.save(
            Checkpoint(
                progress=self._progress,
                weights=read_weights(self._model),
                optimizer=self._optimizer.read_state(),
                settings=self._settings,
            ),
            is_regular=is_regular,
        )
        return Saved(self._progress.step, str(path))

    def _evaluate(self, label: str = "dev") -> Evaluated:
        """Score the model as it is on dev; write the bundle when it is the best so far."""
        dev_loss, score, scores, samples = self._score_dev()
        best = self._progress.best_score
        is_best = best is None or score > best
        if is_best:
            self._save_bundle(
                {"dev": _json_scores(scores)},
                {
                    "step": self._progress.step,
                    "pairs": len(self._prepared.train),
                    "dev_loss": dev_loss,
                    "fingerprint": self._prepared.fingerprint,
                    "long_source": int(np.quantile(self._prepared.train.source_lengths, _USUAL)),
                },
            )
            self._progress = dataclasses.replace(
                self._progress,
                best_score=score,
                best_step=self._progress.step,
                evaluations_since_best=0,
            )
        else:
            self._progress = dataclasses.replace(
                self._progress, evaluations_since_best=self._progress.evaluations_since_best + 1
            )
        return Evaluated(self._progress.step, dev_loss, score, scores, samples, is_best, label)

    def _score_dev(self) -> tuple[float, float, dict[str, Score], list[Sample]]:
        """Return loss, the score to choose by, the scores to show, and samples.

        Translations are chosen by BLEU of greedy output. Replies have no single reference, so chat
        models are chosen by loss and only a few replies are decoded, to look at.
        """
        config, dev = self._config, self._prepared.dev
        indices = batches_by_length(dev, config.model.max_length, config.train.tokens_per_batch)
        loss = self._stepper.evaluate([assemble(dev, i) for i in indices])
        is_chat = config.task == "chat"
        examples = (
            self._dev[:: max(1, len(self._dev) // _NUM_CHAT_SAMPLES)] if is_chat else self._dev
        )
        greedy = dataclasses.replace(self._search_options(), beam_size=1)
        outputs = decode_examples(self._engine, self._prepared.encoder, examples, greedy)
        samples = samples_of(outputs, examples, self._progress.step)
        if is_chat:
            return loss, -loss, {}, samples
        scores = score_outputs(outputs, examples, self._prepared.encoder, config)
        return loss, scores["bleu"].score, scores, samples

    def _finish(self, reason: str) -> Iterator[Event]:
        """Average, keep the better of average and best, score it on test; once a last step."""
        step, folder = self._progress.step, self._prepared.folder.model
        if self._progress.best_score is None and not existing_dir(folder).exists():
            yield self._evaluate()  # stopped before the first evaluation, then told to end there
        config = self._config.train
        most = min(config.average_checkpoints, config.keep_checkpoints)
        count = min(most, len(self._checkpoints.paths()))
        is_new = open_bundle(folder).manifest.training.get("finished_step") != step
        if is_new and count > 1:
            assign_weights(self._model, self._checkpoints.average(count))
            yield self._evaluate(f"dev, average of the last {count} checkpoints")
        bundle = open_bundle(folder)
        scores = {name: Score(**s) for name, s in bundle.manifest.scores.get("test", {}).items()}
        if is_new:
            assign_weights(self._model, bundle.load_weights())
            test = list(self._prepared.corpora.iter_split("test"))
            scores = self._score_test(test) if test else {}
            self._save_bundle(
                bundle.manifest.scores | ({"test": _json_scores(scores)} if scores else {}),
                bundle.manifest.training | {"finished_step": step},
            )
        if not open_bundle(folder).manifest.ctranslate2["formats"][PLAIN_FORMAT]:
            yield from self._export()
        yield Finished(step, reason, scores, str(folder))

    def _export(self) -> Iterator[Exported]:
        """Find out which number format translates fastest; replies have no score to go by."""
        if self._config.task == "chat":
            return
        formats = measure_formats(
            open_bundle(self._prepared.folder.model),
            self._prepared.encoder,
            self._config,
            self._dev,
            sorted({"int8"} & get_supported_compute_types("cpu")),
        )
        with os_errors_as(TrainingError, f"{self._prepared.folder.model}: cannot be written"):
            for measured in formats:
                yield Exported(self._progress.step, measured)

    def _score_test(self, test: list[Example]) -> dict[str, Score]:
        options = self._search_options()
        outputs = decode_examples(self._engine, self._prepared.encoder, test, options)
        return score_outputs(outputs, test, self._prepared.encoder, self._config)

    def _search_options(self) -> SearchOptions:
        return scoring_options(self._config.decode.model_dump())

    def _save_bundle(
        self, scores: dict[str, dict[str, dict[str, Any]]], training: dict[str, Any]
    ) -> None:
        """Write the model as it is as the run's bundle."""
        folder = self._prepared.folder.model
        hint = "free some space and run the same command again"
        with os_errors_as(TrainingError, f"{folder}: cannot be written", hint=hint):
            save_bundle(
                folder,
                config=self._config,
                vocabularies=self._prepared.vocabularies,
                weights=read_weights(self._model),
                scores=scores,
                training=training,
            )


def _json_scores(scores: dict[str, Score]) -> dict[str, dict[str, Any]]:
    return {name: score.as_json() for name, score in scores.items()}
