"""What a person sees of training, and how they stop it: a live line, the report, Ctrl-C.

Events become a live line on a terminal and plain lines elsewhere. `runs/NAME/report.html` is
rewritten at each evaluation. Ctrl-C, SIGTERM and a closed terminal finish the step and save.
"""

import math
import shlex
import signal
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from nmt_cli.bundle.manifest import MANIFEST, read_manifest
from nmt_cli.errors import ModelFileError
from nmt_cli.events import (
    Evaluated,
    Event,
    Exported,
    Finished,
    MicroBatchesHalved,
    RolledBack,
    Skipped,
    Started,
    StepDone,
    Waiting,
)
from nmt_cli.terminal import console
from nmt_cli.terminal.number_formats import describe

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest
    from nmt_cli.config.schema import Config
    from nmt_cli.evaluation.label_judging import LabelScore
    from nmt_cli.training.run import Prepared


_PLAIN_EVERY = 100  # steps between lines where there is no live display, or
_PLAIN_SECONDS = 60  # between them
_PACE_STEPS = 10  # that tell how long the others will take
_NUM_SAMPLES = 2  # shown here; the report follows all
_SAMPLE_WIDTH = 200  # characters of a sample that are shown
_SMOOTHING = 0.95
_NUM_LOWEST = 3


class TrainingView:
    """Shows the events of one run; `signal` is the one that stopped it, on any machine, or 0.

    `news` returns what to tell when training has gone on after a step, or nothing. `ends_at` is
    when a time limit is over, on the clock of `time.monotonic`.
    """

    def __init__(
        self,
        config: "Config",
        report: "TrainingReport",
        news: Callable[[int], str] = lambda _: "",
        ends_at: float = math.inf,
    ) -> None:
        self._config, self._news, self._ends_at = config, news, ends_at
        self._report = report
        self.signal = 0
        self._best_by = _best_by(config)
        self._best = ""
        self._rate = 0.0
        self._loss = 0.0
        self._sentence = "..."
        self._unit = config.facts.unit

    def __enter__(self) -> "TrainingView":
        columns = ["{task.completed:,}/{task.total:,}"]
        columns += ["{task.fields[facts]}", "{task.fields[left]}"]
        total = self._config.train.max_steps
        self._context = console.live_progress(
            "training", *columns, total=total, tells_left=False, facts="", left=""
        )
        self._update = self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(None, None, None)

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Waiting():
                console.note(event.text)
            case Started():
                self._started(event)
            case StepDone():
                self._step_done(event)
            case Skipped():
                console.warn(f"step {event.step:,} is skipped: its {event.what} is not finite")
            case RolledBack():
                self._rolled_back(event)
            case MicroBatchesHalved():
                self._halved(event)
            case Evaluated():
                self._evaluated(event)
            case Exported():
                form = event.measured
                facts = describe(asdict(form), self._config.decode.beam_size)
                console.note(f"exported {form.number_format:<13} {facts}")
            case Finished():
                self._finished(event)

    def _started(self, event: Started) -> None:
        for warning in event.warnings:
            console.warn(warning)
        console.note(f"model: {event.parameters:,} parameters, {event.precision}")
        if event.step:
            console.note(f"resuming from step {event.step:,}")
        self._begin, self._begin_step = time.monotonic(), event.step
        self._told = self._begin

    def _step_done(self, event: StepDone) -> None:
        if event.step == self._begin_step + 1 and (news := self._news(self._begin_step)):
            console.note(news)
        rate = event.num_tokens / event.seconds
        self._rate = _smooth(self._rate, rate)
        self._loss = _smooth(self._loss, event.loss)
        facts = (
            f"epoch {event.epoch + 1} loss {self._loss:.2f} rate {event.learning_rate:.1e} "
            f"{self._rate:,.0f} {self._unit}/s pad {event.padding:.0%}{self._best}"
        )
        left = self._left(event)
        if console.is_live():
            is_next = event.step % self._config.train.eval_steps == 0
            doing = "evaluating" if is_next else "training"
            done, total = event.step, event.last_step
            self._update(completed=done, total=total, facts=facts, left=left, description=doing)
        elif event.step % _PLAIN_EVERY == 0 or time.monotonic() - self._told > _PLAIN_SECONDS:
            self._told = time.monotonic()
            console.note(f"step {event.step:,}/{event.last_step:,} {facts} {left}".rstrip())

    def _left(self, event: StepDone) -> str:
        steps = event.step - self._begin_step
        if steps < _PACE_STEPS:  # the first ones build graphs
            return ""
        now = time.monotonic()
        pace = (now - self._begin) / steps
        seconds = int(max(0.0, min(pace * (event.last_step - event.step), self._ends_at - now)))
        return f"{seconds // 60}:{seconds % 60:02d} left"

    def _rolled_back(self, event: RolledBack) -> None:
        for warning in event.warnings:
            console.warn(warning)
        console.warn(
            f"going back from step {event.from_step:,} to {event.step:,}, with other batches and "
            f"{event.rate_factor:g} of the learning rate"
        )

    def _halved(self, event: MicroBatchesHalved) -> None:
        console.warn(
            f"out of memory: {event.tokens_per_micro_batch:,} tokens per micro-batch and "
            f"{event.accumulate_steps:,} of them a step from now on; the batch stays the same"
        )

    def _evaluated(self, event: Evaluated) -> None:
        scores = "".join(f" {name} {s.score:.2f}" for name, s in event.scores.items())
        mark = " (best)" if event.is_best else ""
        if event.is_best:
            by = self._best_by
            score = event.dev_loss if by == "loss" else event.scores[by].score
            self._best = f" best {by} {score:.2f}"
        when = f"at step {event.step:,}" if event.step else "before step 1"
        console.note(f"{event.label} {when}: loss {event.dev_loss:.3f}{scores}{mark}")
        if event.by_label:
            console.note(f"    lowest f1  {_lowest(event.by_label)}")
        if event.warning is not None:
            console.warn(textwrap.shorten(event.warning, _SAMPLE_WIDTH, placeholder=" ..."))
        for sample in event.samples[:_NUM_SAMPLES]:
            self._sentence = sample.source
            for name in ("source", "output", "reference"):
                text = textwrap.shorten(getattr(sample, name), _SAMPLE_WIDTH, placeholder=" ...")
                console.note(f"    {name:<10} {text}")

    def _finished(self, event: Finished) -> None:
        if event.is_stopped:
            self.signal = event.signal
            if event.stopped_by:
                console.note(f"{event.stopped_by} was asked to stop")
            console.note(f"saved at step {event.step:,}; the same command resumes from there")
            self._tell_report()
            return
        console.note(f"finished: {event.reason}")
        if event.bundle is None:
            console.note("worker 0 evaluates and writes the model")
            return
        for name, score in event.scores.items():
            console.note(f"test {name} {score.score:.2f}  {score.signature}")
        console.note(f"the model is in {event.bundle}")
        self._tell_report()
        if self._config.data.test:
            console.note(f"next: nmt evaluate -m {shlex.quote(event.bundle)}")
        facts, data = self._config.facts, self._config.data
        languages = read_manifest(Path(event.bundle) / MANIFEST).known_languages
        options = languages.options(data.way_of(data.train[0]))
        dashed = ["--"] if self._sentence.startswith("-") else []  # it would be an option
        text = [] if facts.has_turns else [*dashed, self._sentence]
        console.note(f"next: {shlex.join(['nmt', facts.command, *options, *text])}")

    def _tell_report(self) -> None:
        if self._report.is_written:
            console.note(f"the report is in {self._report.path}")


def _best_by(config: "Config") -> str:
    """Return the name of what the best model is chosen by (see `tasks/`)."""
    return config.classification.best_by if config.facts.has_labels else config.facts.best_by


def _lowest(scores: "list[LabelScore]") -> str:
    """Return the labels that are found worst, of those that some text has."""
    order = sorted((score for score in scores if score.support), key=lambda score: score.f1)
    return ", ".join(f"{score.label} {score.f1:.1f}" for score in order[:_NUM_LOWEST])


def _smooth(average: float, value: float) -> float:
    return value if average == 0.0 else _SMOOTHING * average + (1 - _SMOOTHING) * value


_SIGNAL_BASE = 128
_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """While the block runs, a signal ends it with 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).

    At once, until `wait_for_step` says that there is something to save; from then on a first signal
    asks for a stop and a second one ends at once. One that is ignored (`nohup`) stays so.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._waits = False

    def __enter__(self) -> "StopRequest":
        watched = [n for n in _WATCHED if signal.getsignal(n) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._receive) for number in watched}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is KeyboardInterrupt and self._received is not None:
            # Only now: while TensorFlow is imported nothing reaches the terminal.
            console.note("stopped at once; the same command starts again or resumes")
            self.exit_if_set()

    def wait_for_step(self) -> None:
        """From now on a signal only asks for a stop."""
        self._waits = True

    def number(self) -> int:
        """Return the number of the signal that came, or 0."""
        return self._received or 0

    def exit_if_set(self, elsewhere: int = 0) -> None:
        """Raise typer.Exit with 128 and the signal's number if one came, here or elsewhere."""
        if number := self._received or elsewhere:
            raise typer.Exit(_SIGNAL_BASE + number)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        is_first, self._received = self._received is None, number
        if not (is_first and self._waits):
            raise KeyboardInterrupt
        console.note("stopping after this step, then saving (press again to stop at once)")


class TrainingReport:
    """Keeps a run's report, the page at `path`, up to date. If that fails, training continues."""

    def __init__(self, prepared: "Prepared") -> None:
        self._prepared = prepared
        self.path = prepared.folder.report
        self._card: str | None = None
        self.is_written = False

    def follow(self, event: Event) -> None:
        """Rewrite the report after an event that changes it."""
        is_news = isinstance(event, Evaluated | Finished)
        if not is_news or not self._prepared.cluster.is_chief:
            return

        try:
            self._write()
            self.is_written = True
        except Exception as error:  # noqa: BLE001 - it is no reason to lose hours of training
            self.is_written = False
            reason = getattr(error, "strerror", None) or error
            console.warn(f"{self.path}: cannot be written: {reason}")

    def _write(self) -> None:
        from nmt_cli.files import write_text
        from nmt_cli.report.training_page import data_card, training_page
        from nmt_cli.training.run_folder import read_events

        prepared, folder = self._prepared, self._prepared.folder
        if self._card is None:
            self._card = data_card(prepared)
        manifests: list[Manifest | None] = []
        for path in (folder.model / MANIFEST, folder.previous):
            try:
                manifests.append(read_manifest(path))
            except ModelFileError:  # there is none
                manifests.append(None)
        events = read_events(folder.events)
        write_text(self.path, training_page(prepared.config, self._card, events, *manifests))
