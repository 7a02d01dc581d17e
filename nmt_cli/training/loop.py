"""The training loop: a generator of events. It saves; it never prints.

One pass of the loop is one optimizer step. Every `eval_steps` the model is scored on dev and, when
it is the best so far, written as the run's bundle; every `checkpoint_steps` all state is saved, by
a thread. Several machines all run this loop, in step with each other; the chief alone evaluates,
saves and writes (`chief.py`), and sends the others the result.

Whatever happens is a function of the saved state, so a run that was stopped or killed anywhere
ends as if it never had been: what follows the last checkpoint is forgotten and done again.
"""

import contextlib
import json
import math
import time
from collections.abc import Callable, Generator, Iterator

from nmt_cli.distributed.connection import join
from nmt_cli.distributed.meeting import meet
from nmt_cli.distributed.peers import OUT_OF_MEMORY, Peers
from nmt_cli.distributed.replicas import Replicas, connect
from nmt_cli.errors import TrainingError
from nmt_cli.events import (
    STOPPED,
    Event,
    Finished,
    MicroBatchesHalved,
    RolledBack,
    Skipped,
    Started,
    StepDone,
    StopRequested,
)
from nmt_cli.tasks import task_of
from nmt_cli.text.batches import Batch, cut
from nmt_cli.training.checkpoint import MAX_SKIPPED, Progress
from nmt_cli.training.chief import Chief
from nmt_cli.training.dataset import StepBatches, changes_of, iter_steps, largest_batches
from nmt_cli.training.device import describe_environment, share_cores
from nmt_cli.training.run import Prepared
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.state import RunState
from nmt_cli.training.step import Gradients, Stepper, StepResult
from nmt_cli.training.time_box import TimeBox, TimeLeft


def train(
    prepared: Prepared,
    should_stop: Callable[[], int] = lambda: False,
    *,
    time_limit: float = math.inf,
) -> Iterator[Event]:
    """Train from the last checkpoint, or from the start, to the end; yield all that happens.

    Args:
        prepared: Configuration, run folder, corpora.
        should_stop: Asked after every step and between batches of an evaluation; when true a
            checkpoint is saved and the loop ends, on all machines. The number of a signal tells the
            others which it was.
        time_limit: Seconds after which the run shall be over: the learning rate falls so that it
            is low by then, and the end of the run begins early enough. Such a run does not repeat
            bit by bit.

    Raises:
        ConfigError: The first machine was given other settings.
        TrainingError: The loss is not finite again and again, memory or the disk is full, or
            another machine is lost.
    """
    share_cores(int(prepared.config.train.lanes))
    try:
        peers = Peers(prepared.cluster)
        callers = yield from meet(prepared.cluster, should_stop)
        with peers.blamed():
            replicas = connect(
                prepared.cluster,
                prepared.config.train.devices,
                lambda: join(prepared.cluster, peers, callers, should_stop),
            )
            session = _Session(prepared, replicas, peers, should_stop, time_limit)
            for event in session.run():
                if session.chief is not None:
                    session.chief.record(event)
                yield event
    except StopRequested:
        return  # before anything began
    except OUT_OF_MEMORY as error:
        raise TrainingError(
            "there is too little memory, even for one pair at a time",
            hint="make the model or model.max_length smaller; the last checkpoint is intact",
        ) from error


class _Session:
    """A run from its last checkpoint on; `chief` is None on all machines but the first."""

    def __init__(
        self,
        prepared: Prepared,
        replicas: Replicas,
        peers: Peers,
        should_stop: Callable[[], int],
        time_limit: float,
    ) -> None:
        self._prepared, self._config = prepared, prepared.config
        self._replicas, self._peers, self._should_stop = replicas, peers, should_stop
        self.state = state = RunState(prepared, replicas)
        loss = task_of(self._config.facts).loss(self._config, prepared.train)
        self._stepper = Stepper(state.model, state.optimizer, self._config, replicas, loss)
        self._time_box, self._has_limit = TimeBox(time_limit), math.isfinite(time_limit)
        self._time_left = TimeLeft()
        self.chief: Chief | None = None
        self._warnings: list[str] = []
        if prepared.cluster.is_chief:
            stepper, time_box = self._stepper, self._time_box
            self.chief = Chief(prepared, state, stepper, time_box, self._should_give_up)
            self._warnings = self.chief.begin()
        state.copy_from_chief()

    def run(self) -> Iterator[Event]:
        """Yield the events of the whole run."""
        parameters = sum(math.prod(weight.shape) for weight in self.state.model.weights)
        environment = describe_environment(self._replicas.count)
        precision, unit = self._config.train.precision, self._config.facts.unit
        yield Started(self._progress.step, parameters, precision, self._warnings, environment, unit)
        with self.chief or contextlib.nullcontext():
            try:
                yield from self._train()
                yield from self._finish()
            except StopRequested as stop:
                if self.chief is not None:
                    yield from self.chief.stop()
                yield self._stopped(stop)

    @property
    def _progress(self) -> Progress:
        return self.state.progress

    def _train(self) -> Iterator[Event]:
        """Step, evaluate and save until the end, or until somebody asked to stop."""
        yield from self._probe_memory()
        config, prepared = self._config, self._prepared
        changes = changes_of(config, prepared.encoder, prepared.glossary)
        batches = iter_steps(prepared.train, config, self._progress.cursor, changes)
        yield from self._evaluate_and_save_if_due()  # a session that was stopped left it undone
        self._stop_if_asked(self._should_stop())  # there is nothing to save yet
        while not self._end():
            yield from self.step(next(batches))
            self._look_at_clock()
            self._stop_if_asked(self._should_stop())
            yield from self._evaluate_and_save_if_due()
            if self.chief is not None:
                yield from self.chief.written()

    def step(self, batches: StepBatches) -> Iterator[Event]:
        """Take one optimizer step; skip it when loss or gradient is not finite."""
        started, progress = time.perf_counter(), self._progress
        micro_batches, after = batches
        step, epoch = progress.step + 1, progress.cursor.epoch
        train, last_step = self._config.train, self._time_left.last_step
        rate = learning_rate(step, train, self._config.model.d_model, last_step)
        rate *= progress.rate_factor
        gradients = yield from self._gradients(micro_batches, step)
        result = self._stepper.update(gradients, step, rate)
        seconds = time.perf_counter() - started
        self._time_box.took_step()
        progress.step, progress.cursor = step, after
        progress.seconds += seconds
        if not result.is_finite:
            yield from self._skip(result)
            return
        progress.skipped_in_a_row = 0
        yield StepDone(
            step=step,
            last_step=int(min(train.max_steps, last_step)),
            epoch=epoch,
            loss=result.loss,
            learning_rate=rate,
            gradient_norm=result.gradient_norm,
            num_tokens=result.num_tokens,
            padding=sum(b.num_padding for b in micro_batches)
            / sum(b.num_positions for b in micro_batches),
            seconds=seconds,
        )

    def _end(self) -> str:
        """Return why training is over; nothing while it is not."""
        progress, config = self._progress, self._config.train
        if progress.step >= config.max_steps:
            return f"train.max_steps ({config.max_steps}) reached"
        if config.patience and progress.evaluations_since_best >= config.patience:
            return f"no better score in {config.patience} evaluations"
        return "the time is up" if self._time_left.is_over else ""

    def _evaluate_and_save_if_due(self) -> Iterator[Event]:
        """Do what the settings ask for at this step, and always at the last; each only once."""
        step, config = self._progress.step, self._config.train
        is_due = step % config.eval_steps == 0 or self._time_left.wants_evaluation
        is_due = is_due or bool(self._end())
        is_done = self._progress.evaluated_step == step
        if step == 0:  # what a model to start from is worth; a new one is worth nothing
            is_done = not self._prepared.may_keep_start or self._progress.best_score is not None
        if is_due and not is_done:
            yield from self._evaluate()
            self._look_at_clock()
        if self.chief is None or step in (0, self.chief.saved_step):
            return
        is_due = step % config.checkpoint_steps == 0
        is_due = is_due or self._time_left.wants_checkpoint(step, self.chief.saved_step)
        # Not between steps that are skipped: a checkpoint is where they may have to go back to.
        if (is_due and not self._progress.skipped_in_a_row) or self._end():
            yield from self.chief.save()

    def _evaluate(self) -> Iterator[Event]:
        """Evaluate, or wait for what the chief finds; stop everywhere when it is told to."""
        number = 0
        if self.chief is not None:
            try:
                yield self.chief.evaluate()
            except StopRequested:
                number = self._should_stop()
        self._stop_if_asked(number)
        self.state.copy_progress_from_chief()

    def _finish(self) -> Iterator[Event]:
        if self.chief is None:
            yield Finished(self._progress.step, self._end(), {}, None)
            return
        yield from self.chief.written(wait=True)
        self._peers.dismiss()
        yield from self.chief.finish(self._end())

    def _stopped(self, stop: StopRequested) -> Finished:
        cluster, worker = self._prepared.cluster, stop.worker
        name = "" if worker is None or worker == cluster.index else cluster.name(worker)
        return Finished(self._progress.step, STOPPED, {}, None, stop.number, name)

    def _stop_if_asked(self, number: int) -> None:
        """Stop everywhere when any machine was asked to."""
        for worker, of_worker in enumerate(self._replicas.numbers(number)):
            if of_worker:
                raise StopRequested(of_worker, worker)

    def _should_give_up(self) -> bool:
        """Whether to end an evaluation, in which nothing else would tell that a machine died."""
        self._peers.check()
        return bool(self._should_stop())

    def _look_at_clock(self) -> None:
        """See what follows from the time; of several machines, the chief's clock counts."""
        if self._has_limit:
            text = json.dumps(self._time_box.look(self._progress.step))
            self._time_left = TimeLeft(*json.loads(self._replicas.from_chief(text)))

    def _probe_memory(self) -> Iterator[Event]:
        """Find out now, and not in an hour, whether the largest micro-batches fit."""
        if not self._end():
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
            self._progress.halvings += 1
            train = self._config.train
            accumulate_steps = train.accumulate_steps * 2**self._progress.halvings
            tokens = train.tokens_per_batch // accumulate_steps
            yield MicroBatchesHalved(self._progress.step, tokens, accumulate_steps)

    def _skip(self, result: StepResult) -> Iterator[Event]:
        """Leave out a step that is not finite; after a few in a row go back to a checkpoint."""
        progress, warnings = self._progress, list[str]()
        progress.skipped += 1
        progress.skipped_in_a_row += 1
        yield Skipped(progress.step, "gradient" if math.isfinite(result.loss) else "loss")
        if progress.skipped_in_a_row < MAX_SKIPPED:
            return
        if self.chief is not None:
            yield from self.chief.written(wait=True)
        before, from_step = progress.limit_of_rollback(), progress.step
        if self.chief is not None:
            warnings = self.chief.roll_back(before)
        self.state.copy_from_chief()
        back = self._progress
        yield RolledBack(back.step, from_step, back.rate_factor, warnings)
