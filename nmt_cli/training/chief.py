"""What the chief alone does: it evaluates, saves, and writes the run's log and its bundle.

The bundle is the best model so far; at the end averages of the weights are tried, the best of all
stays, and it is scored on test and measured in other number formats.
"""

import functools
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2 import get_supported_compute_types

from nmt_cli.bundle.folder import PLAIN_FORMAT, WEIGHTS, open_bundle, save_bundle
from nmt_cli.config.reading import to_yaml
from nmt_cli.errors import ModelFileError, TrainingError
from nmt_cli.evaluation.number_formats import measure_formats
from nmt_cli.evaluation.scores import Score
from nmt_cli.events import Evaluated, Event, Exported, Finished, Saved, StepDone, as_json
from nmt_cli.files import os_errors_as, remove_leftovers, write_text
from nmt_cli.model.weights import Arrays, assign_weights, read_weights
from nmt_cli.tasks import task_of
from nmt_cli.text.sentences import usual_sentences
from nmt_cli.training.checkpoint import Checkpoints, Progress, average, step_of
from nmt_cli.training.run import Prepared
from nmt_cli.training.run_folder import EventLog, bytes_to_end, read_events
from nmt_cli.training.state import RunState
from nmt_cli.training.step import Stepper
from nmt_cli.training.tensorboard import Board
from nmt_cli.training.time_box import Evaluation, TimeBox

_LOGGED_STEPS = 10  # every tenth step is enough for a curve
_USUAL = 0.99  # share of the training sources that no splitting of long lines shall touch


class Chief:
    """Writes what a run leaves behind; its context ends when all of it is written.

    `saved_step` is that of the newest regular checkpoint, on disk or being written.
    """

    def __init__(
        self,
        prepared: Prepared,
        state: RunState,
        stepper: Stepper,
        time_box: TimeBox,
        should_stop: Callable[[], bool],
    ) -> None:
        self._prepared, self._state, self._time_box = prepared, state, time_box
        self._config, self._folder = prepared.config, prepared.folder
        task, train = task_of(self._config.facts), self._config.train
        self._measure = task.measure
        self._validator = task.validator(prepared, state.model, stepper, should_stop)
        keep = train.keep_checkpoints
        self._num_averaged = min(train.average_checkpoints, keep)
        keep_best = self._num_averaged if self._num_averaged > 1 else 0
        self._checkpoints = Checkpoints(self._folder.checkpoints, keep, keep_best)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[Path] | None = None  # a checkpoint that is being written
        self._board: Board | None = None
        self.saved_step = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._writer.shutdown(wait=True)
        if self._board is not None:
            self._board.close()

    def begin(self) -> list[str]:
        """Go to the newest checkpoint and open the logs; return warnings about damaged ones."""
        if self._prepared.is_fresh:
            self._folder.forget()
        remove_leftovers(self._folder.path)
        checkpoint, warnings = self._checkpoints.load_latest()
        if checkpoint is not None:
            self._state.assign(checkpoint)
            self._state.progress = checkpoint.progress
            self.saved_step = checkpoint.progress.step if checkpoint.is_regular else 0
        with os_errors_as(TrainingError, f"{self._folder.path}: cannot be written"):
            write_text(self._folder.config, to_yaml(self._config))
            self._log = EventLog(self._folder.events, self._recall())
        if self._config.train.tensorboard:
            self._board = Board(self._folder.tensorboard, read_events(self._folder.events))
        return [*warnings, *self._forget_lost_model()]

    def _forget_lost_model(self) -> list[str]:
        """Forget the best score if its model is gone or damaged; return warnings of that."""
        progress = self._state.progress
        if progress.best_score is None:
            return []
        try:
            open_bundle(self._folder.model).check_sum(WEIGHTS)
        except ModelFileError as error:
            progress.best_score, progress.best_step, progress.evaluated_step = None, 0, 0
            return [f"the best model so far is lost ({error}); the best from here on is kept"]
        return []

    def _recall(self) -> int | None:
        """Recall what happened since the checkpoint; return the bytes of the log that stay.

        The end of a run has no checkpoint of its own, but its bundle knows the best score.
        """
        progress = self._state.progress
        if not self._is_finished():
            return progress.log_bytes
        training = open_bundle(self._folder.model).manifest.training
        progress.best_score = training.get("score", progress.best_score)
        progress.best_step = training.get("step", progress.best_step)
        return bytes_to_end(self._folder.events, progress.step)

    def record(self, event: Event) -> None:
        """Log an event; of the steps only some."""
        if isinstance(event, StepDone) and event.step % _LOGGED_STEPS != 0:
            return
        line = as_json(event)
        with os_errors_as(TrainingError, f"{self._folder.events}: cannot be written"):
            self._log.append(line)
        if self._board is not None:
            self._board.write(line)

    def save(self, *, is_regular: bool = True) -> Iterator[Saved]:
        """Take a snapshot and let the writer thread write it."""
        yield from self.written(wait=True)
        snapshot = self._state.snapshot(log_bytes=self._log.size, is_regular=is_regular)
        if is_regular:
            self.saved_step = snapshot.progress.step
        self._pending = self._writer.submit(self._checkpoints.save, snapshot, after=self._log.flush)

    def written(self, *, wait: bool = False) -> Iterator[Saved]:
        """Tell of a checkpoint written since the last call, or `wait`; TrainingError: it fails."""
        if self._pending is not None and (wait or self._pending.done()):
            pending, self._pending = self._pending, None
            path = pending.result()
            yield Saved(step_of(path), str(path))

    def stop(self) -> Iterator[Saved]:
        """Save where the run was asked to stop."""
        if self._state.progress.step not in (0, self.saved_step):
            yield from self.save(is_regular=False)
        yield from self.written(wait=True)

    def roll_back(self, before: int) -> list[str]:
        """Go back to the newest checkpoint before a step; return warnings about damaged ones."""
        checkpoint, warnings = self._checkpoints.load_regular(before=before)
        self._state.assign(checkpoint)
        to = checkpoint.progress if checkpoint else Progress()
        self._state.progress.roll_back(to)
        self.saved_step = to.step
        return warnings

    @functools.cached_property
    def _sentences(self) -> int:
        """How many sentences a source text has, as dev tells."""
        sources = (example.source[-1] for example in self._validator.dev_examples)
        return usual_sentences(sources, self._config.data.source_lang)

    def evaluate(self, label: str = "dev") -> Evaluated:
        """Score the model as it is on dev; write the bundle when it is the best so far."""
        progress, started = self._state.progress, time.perf_counter()
        dev = self._validator.score_dev()
        best = progress.best_score
        is_best = best is None or math.isnan(best) or dev.score > best
        if is_best:
            sources = self._prepared.train.source_lengths
            training = {
                "step": progress.step,
                "pairs": len(sources),
                "dev_loss": dev.loss,
                "score": dev.score,
                "fingerprint": self._prepared.fingerprint,
                **self._prepared.origin,
                "long_source": int(np.quantile(sources, _USUAL)),
                "sentences": self._sentences,
            }
            weights = read_weights(self._state.model)
            self._write_bundle(weights, {"dev": _as_json(dev.scores)}, training)
            progress.best_score, progress.best_step = dev.score, progress.step
            progress.evaluations_since_best = 0
        else:
            progress.evaluations_since_best += 1
        progress.evaluated_step, progress.score = progress.step, dev.score
        self._time_box.took_evaluation(
            Evaluation(
                seconds=time.perf_counter() - started,
                search_seconds=dev.search_seconds,
                test_pairs=len(self._validator.test_examples),
                format_pairs=len(self._validator.dev_examples) if self._chooses_format else 0,
                beam_size=self._config.decode.beam_size,
            )
        )
        return Evaluated(
            step=progress.step,
            dev_loss=dev.loss,
            score=dev.score,
            scores=dev.scores,
            samples=dev.samples,
            warning=dev.warning,
            is_best=is_best,
            label=label,
            by_label=dev.by_label,
        )

    def finish(self, reason: str) -> Iterator[Event]:
        """Keep the best of averages and single steps, score it on test; once a last step."""
        step = self._state.progress.step
        if not self._is_finished():
            for label, candidate in self._averages():
                if not self._time_box.has_time_for_average():
                    break
                assign_weights(self._state.model, candidate)
                yield self.evaluate(f"dev, {label}")
            if self._prepared.start is not None and self._state.progress.best_step == 0:
                reason += "; no step was better on dev than the model to start from, which it keeps"
            has_time = self._time_box.has_time_for_test()
            self._score_test(has_time)
            reason += "" if has_time else "; test was not scored: `nmt evaluate` does it"
        if self._chooses_format and not self._time_box.has_time_for_formats():
            reason += "; int8 was not tried: `nmt export --format int8` does it"
        elif self._chooses_format:
            yield from self._measure_formats()
        scores = open_bundle(self._folder.model).manifest.scores.get("test", {})
        test = {name: Score(**score) for name, score in scores.items()}
        yield Finished(step, reason, test, str(self._folder.model))

    def _is_finished(self) -> bool:
        """Return whether the bundle is what a run that ended at this step left."""
        try:
            training = open_bundle(self._folder.model).manifest.training
        except ModelFileError:  # none yet, or damaged
            return False
        return training.get("finished_step") == self._state.progress.step

    def _averages(self) -> Iterator[tuple[str, Arrays]]:
        """Yield the averages that may be better than any single step, with what they are."""
        last = self._checkpoints.last(self._num_averaged)
        best = self._checkpoints.best(self._num_averaged)
        if len(last) > 1:
            yield f"average of the last {len(last)} checkpoints", average(last)
        if len(best) > 1 and best != last:
            yield f"average of the best {len(best)} checkpoints", average(best)
        if self._config.train.average_decay:
            averaged = self._state.optimizer.read_average()
            yield "moving average of the weights", read_weights(self._state.model) | averaged

    def _score_test(self, has_time: bool) -> None:
        """Write the best model again with its test scores: the run is over."""
        bundle = open_bundle(self._folder.model)
        weights = bundle.load_weights()
        assign_weights(self._state.model, weights)
        test = self._validator.score_test() if has_time else {}
        scores = bundle.manifest.scores | ({"test": _as_json(test)} if test else {})
        training = bundle.manifest.training | {"finished_step": self._state.progress.step}
        self._write_bundle(weights, scores, training)

    @property
    def _chooses_format(self) -> bool:
        """Whether number formats are measured at the end; replies have no score to choose by."""
        return self._config.facts.has_score

    def _measure_formats(self) -> Iterator[Exported]:
        """Find out which number format translates fastest, once."""
        bundle = open_bundle(self._folder.model)
        if bundle.manifest.ctranslate2["formats"][PLAIN_FORMAT]:
            return
        formats = sorted({"int8"} & get_supported_compute_types("cpu"))
        dev = self._validator.dev_examples
        with os_errors_as(TrainingError, f"{self._folder.model}: cannot be written"):
            for measured in measure_formats(bundle, dev, formats, self._measure):
                yield Exported(self._state.progress.step, measured)

    def _write_bundle(
        self, weights: Arrays, scores: dict[str, dict[str, Any]], training: dict[str, Any]
    ) -> None:
        hint = "free some space and run the same command again"
        with os_errors_as(TrainingError, f"{self._folder.model}: cannot be written", hint=hint):
            save_bundle(
                self._folder.model,
                config=self._config,
                vocabularies=self._prepared.vocabularies,
                weights=weights,
                scores=scores,
                training=training,
            )


def _as_json(scores: dict[str, Score]) -> dict[str, dict[str, Any]]:
    return {name: score.as_json() for name, score in scores.items()}
