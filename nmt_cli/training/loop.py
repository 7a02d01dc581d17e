"""The training loop: a generator of events. It saves; it never prints.

One pass of the loop is one optimizer step. Every `eval_steps` the model is scored on dev and, when
it is the best so far, written as the run's bundle; every `checkpoint_steps` all state is saved, by
a thread. At the end averages of the weights are tried, the best of all becomes the bundle, and that
bundle is scored on test.

Of several machines all run this loop, in step with each other; the chief alone evaluates, saves and
writes, and tells the others what follows from it.

Whatever happens is a function of the saved state, so a run that was stopped or killed anywhere
ends as if it never had been: what follows the last checkpoint is forgotten and done again.
"""

import contextlib
import json
import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from nmt_cli.config.reading import to_yaml
from nmt_cli.distributed.connection import join
from nmt_cli.distributed.meeting import meet
from nmt_cli.distributed.peers import OUT_OF_MEMORY, Peers
from nmt_cli.distributed.replicas import Replicas, connect
from nmt_cli.errors import TrainingError
from nmt_cli.events import (
    STOPPED,
    Evaluated,
    Event,
    Exported,
    Finished,
    MicroBatchesHalved,
    RolledBack,
    Saved,
    Skipped,
    Started,
    StepDone,
    StopRequested,
    as_json,
)
from nmt_cli.files import os_errors_as, remove_leftovers, write_text
from nmt_cli.model.weights import Arrays, assign_weights, read_weights
from nmt_cli.tasks.task import task_of
from nmt_cli.text.batches import Batch
from nmt_cli.text.bpe_dropout import MergeDropout
from nmt_cli.training.checkpoint import (
    Checkpoints,
    Progress,
    Writer,
    average,
    step_of,
)
from nmt_cli.training.dataset import StepBatches, iter_steps
from nmt_cli.training.device import describe_environment
from nmt_cli.training.event_log import EventLog
from nmt_cli.training.recovery import (
    MAX_SKIPPED,
    cut,
    largest_batches,
    limit_of_rollback,
    rate_factor,
    rolled_back,
    skip,
)
from nmt_cli.training.result import Result
from nmt_cli.training.run import Prepared
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.state import RunState
from nmt_cli.training.step import Gradients, Stepper, StepResult
from nmt_cli.training.tensorboard import Board
from nmt_cli.training.time_box import Evaluation, TimeBox, TimeLeft

_LOGGED_STEPS = 10  # every tenth step is enough for a curve


def train(
    prepared: Prepared,
    should_stop: Callable[[], int] = lambda: False,
    *,
    time_limit: float = math.inf,
) -> Iterator[Event]:
    """Train from the last checkpoint, or from the start, to the end.

    Args:
        prepared: Configuration, run folder, corpora.
        should_stop: Asked after every step and between batches of an evaluation; when True a
            checkpoint is saved and the loop ends, on all machines. The number of a signal tells the
            others which it was.
        time_limit: Seconds after which the run shall be over: the learning rate falls so that it
            is low by then, and the end of the run begins early enough. Such a run does not repeat
            bit by bit.

    Yields:
        Everything that happens, also written to `events.jsonl`.

    Raises:
        ConfigError: The first machine was given other settings.
        TrainingError: The loss is not finite again and again, memory or the disk is full, or
            another machine is lost.
    """
    try:
        peers = Peers(prepared.cluster)
        callers = yield from meet(prepared.cluster, should_stop)
        with peers.blamed():
            replicas = connect(
                prepared.cluster,
                prepared.config.train.devices,
                lambda: join(prepared.cluster, peers, callers, should_stop),
            )
            trainer = _Trainer(prepared, replicas, peers, should_stop, time_limit)
            for event in trainer.run():
                trainer.record(event)
                yield event
    except StopRequested:
        return  # before anything began
    except OUT_OF_MEMORY as error:
        raise TrainingError(
            "there is not enough memory, even for one pair at a time",
            hint="make the model or model.max_length smaller; the last checkpoint is whole",
        ) from error


class _Trainer:
    """One session of a run."""

    def __init__(
        self,
        prepared: Prepared,
        replicas: Replicas,
        peers: Peers,
        should_stop: Callable[[], int],
        time_limit: float,
    ) -> None:
        self._prepared = prepared
        self._should_stop = should_stop
        self._config = prepared.config
        train_config = self._config.train
        self._replicas = replicas
        self._peers = peers
        self._is_chief = prepared.cluster.is_chief
        self._state = RunState(prepared, replicas)
        self._model = self._state.model
        task, optimizer = task_of(self._config.facts), self._state.optimizer
        loss = task.loss(self._config, prepared.train)
        self._stepper = Stepper(self._model, optimizer, self._config, replicas, loss)
        self._validator = task.validator(prepared, self._model, self._stepper, self._should_give_up)
        self._result = Result(prepared)
        self._time_limit = time_limit
        self._time_box = TimeBox(time_limit)
        self._time_left = TimeLeft()
        keep = train_config.keep_checkpoints
        self._num_averaged = min(train_config.average_checkpoints, keep)
        keep_best = self._num_averaged if self._num_averaged > 1 else 0
        self._checkpoints = Checkpoints(prepared.folder.checkpoints, keep, keep_best)
        self._writer = Writer()
        self._saved_step = 0  # the newest regular checkpoint, on disk or being written
        self._warnings = self._restore() if self._is_chief else []
        self._state.copy_from_chief()
        self._board: Board | None = None
        if self._is_chief:
            self._open_logs()

    def _should_give_up(self) -> bool:
        """Whether to end an evaluation, in which nothing else would tell that a machine died."""
        self._peers.check()
        return bool(self._should_stop())

    def _open_logs(self) -> None:
        folder = self._prepared.folder
        is_finished = self._result.is_finished(self._progress.step)
        with os_errors_as(TrainingError, f"{folder.path}: cannot be written"):
            write_text(folder.config, to_yaml(self._config))
            self._log = EventLog(folder.events, None if is_finished else self._progress.log_bytes)
        if self._config.train.tensorboard:
            self._board = Board(folder.tensorboard, self._log.events())

    def record(self, event: Event) -> None:
        """Log an event; of the steps only some."""
        is_seldom = isinstance(event, StepDone) and event.step % _LOGGED_STEPS != 0
        if is_seldom or not self._is_chief:
            return
        line = as_json(event)
        with os_errors_as(TrainingError, f"{self._prepared.folder.events}: cannot be written"):
            self._log.append(line)
        if self._board is not None:
            self._board.write(line)

    def run(self) -> Iterator[Event]:
        """Yield the events of the whole run."""
        parameters = sum(math.prod(weight.shape) for weight in self._model.weights)
        environment = describe_environment(self._replicas.count)
        precision = self._config.train.precision
        yield Started(self._progress.step, parameters, precision, self._warnings, environment)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._writer)
            if self._board is not None:
                stack.callback(self._board.close)
            try:
                yield from self._train()
                yield from self._written(wait=True)
                yield from self._finish()
            except StopRequested as stop:
                if self._is_chief and self._progress.step not in (0, self._saved_step):
                    yield from self._save(is_regular=False)
                yield from self._written(wait=True)
                yield self._stopped(stop)

    def _stopped(self, stop: StopRequested) -> Finished:
        cluster, worker = self._prepared.cluster, stop.worker
        name = "" if worker is None or worker == cluster.index else cluster.name(worker)
        return Finished(self._progress.step, STOPPED, {}, None, stop.number, name)

    def _stop_if_asked(self, number: int) -> None:
        """Stop everywhere when any machine was asked to."""
        for worker, of_worker in enumerate(self._replicas.numbers(number)):
            if of_worker:
                raise StopRequested(of_worker, worker)

    def _restore(self) -> list[str]:
        """Go to the newest checkpoint; return warnings about damaged ones."""
        if self._prepared.is_fresh:
            self._prepared.folder.forget()
        remove_leftovers(self._prepared.folder.path)
        checkpoint, warnings = self._checkpoints.load_latest()
        if checkpoint is not None:
            self._state.assign(checkpoint)
            self._progress = checkpoint.progress
            self._saved_step = checkpoint.progress.step if checkpoint.is_regular else 0
        return warnings

    @property
    def _progress(self) -> Progress:
        return self._state.progress

    @_progress.setter
    def _progress(self, progress: Progress) -> None:
        self._state.progress = progress

    def _ended(self) -> str | None:
        """Return why training is over, or None."""
        progress, config = self._progress, self._config.train
        if progress.step >= config.max_steps:
            return f"train.max_steps ({config.max_steps}) reached"
        if config.patience and progress.evaluations_since_best >= config.patience:
            return f"no better score in {config.patience} evaluations"
        if self._time_left.is_over:
            return "the time is up"
        return None

    def _train(self) -> Iterator[Event]:
        """Step, evaluate and save until the end.

        Raises:
            StopRequested: The user asked for it.
        """
        yield from self._probe_memory()
        config, prepared = self._config, self._prepared
        probability, dropout = config.tokenizer.dropout, None
        if probability:
            dropout = MergeDropout(prepared.encoder, probability, config.seed)
        batches = iter_steps(prepared.train, config, self._progress.cursor, dropout)
        yield from self._evaluate_and_save_if_due()  # a session that was stopped left it undone
        self._stop_if_asked(self._should_stop())  # there is nothing to save yet
        while self._ended() is None:
            yield from self._one_step(next(batches))
            self._look_at_clock()
            self._stop_if_asked(self._should_stop())
            yield from self._evaluate_and_save_if_due()
            yield from self._written()

    def _look_at_clock(self) -> None:
        """See what follows from the time; of several machines, the chief's clock counts."""
        if math.isfinite(self._time_limit):
            text = json.dumps(self._time_box.look(self._progress.step))
            self._time_left = TimeLeft(*json.loads(self._replicas.from_chief(text)))

    def _probe_memory(self) -> Iterator[Event]:
        """Find out now, and not in an hour, whether the largest micro-batches fit."""
        if self._ended() is None:
            for batch in largest_batches(self._prepared.train, self._config):
                yield from self._gradients([batch], step=0)

    def _gradients(
        self, batches: list[Batch], step: int
    ) -> Generator[Event, None, list[Gradients]]:
        """Return the gradients of micro-batches; cut them in half while memory is too small."""
        while True:
            parts = cut(batches, self._progress.halvings)
            gradients: list[Gradients] = []
            with contextlib.suppress(*OUT_OF_MEMORY):
                gradients = self._stepper.gradients(parts, step)
            if not self._replicas.any(not gradients):
                return gradients
            if max(len(part.source) for part in parts) == 1:
                raise MemoryError
            halvings = self._progress.halvings + 1
            self._progress = replace(self._progress, halvings=halvings)
            config = self._config.train
            accumulate_steps = config.accumulate_steps * 2**halvings
            tokens = config.tokens_per_batch // accumulate_steps
            yield MicroBatchesHalved(self._progress.step, tokens, accumulate_steps)

    def _one_step(self, batches: StepBatches) -> Iterator[Event]:
        started = time.perf_counter()
        micro_batches, after = batches
        step, epoch = self._progress.step + 1, self._progress.cursor.epoch
        train_config, last_step = self._config.train, self._time_left.last_step
        rate = learning_rate(step, train_config, self._config.model.d_model, last_step)
        rate *= rate_factor(self._progress)
        gradients = yield from self._gradients(micro_batches, step)
        result = self._stepper.update(gradients, step, rate)
        seconds = time.perf_counter() - started
        self._time_box.took_step()
        self._progress = replace(
            self._progress, step=step, cursor=after, seconds=self._progress.seconds + seconds
        )
        if not result.is_finite:
            yield from self._skip(result)
            return
        self._progress = replace(self._progress, skipped_in_a_row=0)
        yield StepDone(
            step=step,
            last_step=int(min(train_config.max_steps, last_step)),
            epoch=epoch,
            loss=result.loss,
            learning_rate=rate,
            gradient_norm=result.gradient_norm,
            num_tokens=result.num_tokens,
            padding=sum(b.num_padding for b in micro_batches)
            / sum(b.num_positions for b in micro_batches),
            seconds=seconds,
        )

    def _skip(self, result: StepResult) -> Iterator[Event]:
        """Leave out a step that is not finite; after a few in a row go back to a checkpoint."""
        self._progress = skip(self._progress)
        yield Skipped(self._progress.step, "gradient" if math.isfinite(result.loss) else "loss")
        if self._progress.skipped_in_a_row < MAX_SKIPPED:
            return
        yield from self._written(wait=True)
        before = limit_of_rollback(self._progress)
        from_step = self._progress.step
        warnings: list[str] = []
        if self._is_chief:
            checkpoint, warnings = self._checkpoints.load_regular(before=before)
            self._state.assign(checkpoint)
            to = checkpoint.progress if checkpoint else Progress()
            self._progress = rolled_back(self._progress, to)
            self._saved_step = to.step
        self._state.copy_from_chief()
        yield RolledBack(self._progress.step, from_step, rate_factor(self._progress), warnings)

    def _evaluate_and_save_if_due(self) -> Iterator[Event]:
        """Do what the settings ask for at this step, and always at the last; each only once."""
        step, config = self._progress.step, self._config.train
        is_due = step % config.eval_steps == 0 or self._time_left.wants_evaluation
        is_due = is_due or self._ended() is not None
        if step > 0 and is_due and self._progress.evaluated_step != step:
            yield from self._evaluate_on_chief()
            self._look_at_clock()
        # Not between steps that are skipped: a checkpoint is where they may have to go back to.
        is_due = step % config.checkpoint_steps == 0
        is_due = is_due or self._time_left.wants_checkpoint(step, self._saved_step)
        is_good = is_due and not self._progress.skipped_in_a_row
        is_due = is_good or self._ended() is not None
        if step > 0 and is_due and self._is_chief and self._saved_step != step:
            yield from self._save(is_regular=True)

    def _evaluate_on_chief(self) -> Iterator[Event]:
        """Evaluate, or wait for what the chief finds; stop everywhere when it is told to."""
        number = 0
        if self._is_chief:
            try:
                yield self._evaluate()
            except StopRequested:
                number = self._should_stop()
        self._stop_if_asked(number)
        self._state.copy_progress_from_chief()

    def _save(self, *, is_regular: bool) -> Iterator[Saved]:
        """Take a snapshot and let the writer thread write it."""
        yield from self._written(wait=True)
        snapshot = self._state.snapshot(log_bytes=self._log.size, is_regular=is_regular)
        if is_regular:
            self._saved_step = self._progress.step
        self._writer.start(lambda: self._checkpoints.save(snapshot, after=self._log.flush))

    def _written(self, *, wait: bool = False) -> Iterator[Saved]:
        path = self._writer.collect(wait=wait)
        if path is not None:
            yield Saved(step_of(path), str(path))

    def _evaluate(self, label: str = "dev") -> Evaluated:
        """Score the model as it is on dev; write the bundle when it is the best so far."""
        progress, step, started = self._progress, self._progress.step, time.perf_counter()
        dev = self._validator.score_dev()
        best = progress.best_score
        is_best = best is None or math.isnan(best) or dev.score > best
        if is_best:
            self._result.save_best(read_weights(self._model), dev, step)
            progress = replace(
                progress, best_score=dev.score, best_step=step, evaluations_since_best=0
            )
        else:
            since_best = progress.evaluations_since_best + 1
            progress = replace(progress, evaluations_since_best=since_best)
        self._progress = replace(progress, evaluated_step=step, score=dev.score)
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
            step=step,
            dev_loss=dev.loss,
            score=dev.score,
            scores=dev.scores,
            samples=dev.samples,
            warning=dev.warning,
            is_best=is_best,
            label=label,
            by_label=dev.by_label,
        )

    def _finish(self) -> Iterator[Event]:
        """Keep the best of averages and single steps, score it on test; once a last step."""
        step, reason = self._progress.step, self._ended() or ""
        if not self._is_chief:
            yield Finished(step, reason, {}, None)
            return
        self._peers.dismiss()
        if not self._result.is_finished(step):
            for label, candidate in self._averages():
                if not self._time_box.has_time_for_average():
                    break
                assign_weights(self._model, candidate)
                yield self._evaluate(f"dev, {label}")
            weights = self._result.open().load_weights()
            assign_weights(self._model, weights)
            has_time = self._time_box.has_time_for_test()
            scores = self._validator.score_test() if has_time else {}
            self._result.finish(weights, scores, step)
            reason += "" if has_time else "; test was not scored: `nmt evaluate` does it"
        if self._chooses_format and not self._time_box.has_time_for_formats():
            reason += "; int8 was not tried: `nmt export --format int8` does it"
        elif self._chooses_format:
            for measured in self._result.export(self._validator.dev_examples):
                yield Exported(step, measured)
        yield Finished(step, reason, self._result.test_scores(), str(self._result.folder))

    @property
    def _chooses_format(self) -> bool:
        """Whether number formats are measured at the end; replies have no score to choose by."""
        return self._config.facts.has_score

    def _averages(self) -> Iterator[tuple[str, Arrays]]:
        """Yield the averages that may be better than any single step, with what they are."""
        last = self._checkpoints.last(self._num_averaged)
        best = self._checkpoints.best(self._num_averaged)
        if len(last) > 1:
            yield f"average of the last {len(last)} checkpoints", average(last)
        if len(best) > 1 and best != last:
            yield f"average of the best {len(best)} checkpoints", average(best)
        if self._config.train.average_decay:
            yield "moving average of the weights", self._state.optimizer.read_average()
