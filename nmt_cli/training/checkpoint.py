"""Checkpoints: everything that a run needs to resume as if it had never stopped.

    checkpoints/step-00012000/
        weights.safetensors, optimizer.safetensors
        state.json      step, data cursor, best score, patience, hashes of the two files and its own

A folder is written under a temporary name, flushed, and renamed. Loading checks the hashes; a
damaged folder is set aside as `damaged-step-...` and the one before is used. What a stopped run
writes between two regular checkpoints is called `step-...-stopped` and goes when the next is
written.
"""

import contextlib
import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from nmt_cli.errors import TrainingError
from nmt_cli.files import atomic_dir, os_errors_as, remove_dir, remove_leftovers, sha256_of
from nmt_cli.model.weights import Arrays
from nmt_cli.training.dataset import Cursor

_WEIGHTS, _OPTIMIZER, _STATE = "weights.safetensors", "optimizer.safetensors", "state.json"
_STOPPED = "-stopped"
_DAMAGED = "damaged-"
MAX_SKIPPED = 3  # steps in a row that are not finite; then training goes back
_MAX_ROLLBACKS = 2
# Not every OSError: what cannot be read now may be whole.
_DAMAGES = (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, SafetensorError)


@dataclass
class Progress:
    """How far a run is, and what follows from it when the loss is not finite.

    A step is skipped (Micikevicius et al. 2018, arXiv 1710.03740, section 3.2). Several in a row
    are no accident: training goes back to a checkpoint and past the batches that failed (Chowdhery
    et al. 2022, arXiv 2204.02311, section 5.1), here with half the rate, too.
    """

    step: int = 0  # optimizer steps done
    cursor: Cursor = field(default_factory=Cursor)  # the next effective batch
    best_score: float | None = None  # on dev, so far; higher is better
    best_step: int = 0
    evaluations_since_best: int = 0
    evaluated_step: int = 0  # the last step that was evaluated; `score` is its development score
    score: float | None = None
    skipped: int = 0  # steps whose loss or gradient was not finite; `skipped_in_a_row` just now
    skipped_in_a_row: int = 0
    # the step, each time that training went back; each halved the rate
    rolled_back_to: tuple[int, ...] = ()
    halvings: int = 0  # how often micro-batches were cut in half because memory was too small
    seconds: float = 0.0  # time spent training, all sessions together
    log_bytes: int = 0  # length of `events.jsonl` when all this was true

    @property
    def rate_factor(self) -> float:
        """What the scheduled learning rate is multiplied by: halved at each rollback."""
        return float(0.5 ** len(self.rolled_back_to))

    def limit_of_rollback(self) -> int:
        """Return the step before which to look for a checkpoint to go back to.

        That is the newest one, unless going back there helped nothing: no step was taken since.
        TrainingError: enough was tried.
        """
        tried, last_update = self.rolled_back_to, self.step - self.skipped_in_a_row
        if len(tried) == _MAX_ROLLBACKS:
            steps = ", then ".join(
                f"back to step {step:,} at {0.5**n:g} of the learning rate"
                for n, step in enumerate(tried, start=1)
            )
            raise TrainingError(
                f"the loss is not finite at step {self.step:,}, {MAX_SKIPPED} times in a row, "
                f"though this was tried: {steps}",
                hint="lower train.learning_rate or raise train.warmup_steps, and start over with "
                "--fresh",
            )
        return last_update if last_update in tried else last_update + 1

    def roll_back(self, to: "Progress") -> None:
        """Take the step of `to`, but the batches that come now.

        The best score stays, since the bundle that has it does.
        """
        self.step, self.skipped_in_a_row = to.step, 0
        self.evaluated_step, self.score = to.evaluated_step, to.score
        self.rolled_back_to += (to.step,)


@dataclass(frozen=True)
class Checkpoint:
    """All state of a run at one step: its progress, weights and optimizer state by name."""

    progress: Progress
    weights: Arrays
    optimizer: Arrays
    settings: dict[str, Any]  # what must not change when the run resumes
    # False for one that is written only because the run stops here. Neither it nor its disk space
    # takes the place of a regular one, so the average at the end is that of a run which never
    # stopped.
    is_regular: bool = True


class Checkpoints:
    """The checkpoints of one run, in `runs/NAME/checkpoints`.

    Of the regular ones the newest stay, `keep` of them, and the best, `keep_best` of them.
    """

    def __init__(self, folder: Path, keep: int, keep_best: int = 0) -> None:
        self._folder = folder
        self._keep = keep
        self._keep_best = keep_best

    def paths(self) -> list[Path]:
        """Return the checkpoint folders, oldest first."""
        return sorted(self._folder.glob("step-*"))

    def last(self, count: int) -> list[Path]:
        """Return the newest regular ones, oldest first."""
        return [path for path in self.paths() if _is_regular(path)][-count:]

    def best(self, count: int) -> list[Path]:
        """Return the evaluated ones with the best development scores, oldest first.

        Of equal ones the later is better.
        """
        scored = [(_score(path), path) for path in self.paths() if _is_regular(path)]
        ranked = sorted((score, path) for score, path in scored if score is not None)
        return sorted(path for _, path in ranked[len(ranked) - min(count, len(ranked)) :])

    def save(self, checkpoint: Checkpoint, *, after: Callable[[], None] = lambda: None) -> Path:
        """Write a checkpoint, then delete what need not be kept, and all earlier irregular ones.

        `after` is called before anything is written: it makes durable what the state relies on.
        TrainingError: the disk is full or the folder is not writable; older ones are whole.
        """
        suffix = "" if checkpoint.is_regular else _STOPPED
        path = self._folder / f"step-{checkpoint.progress.step:08d}{suffix}"
        hint = "the last checkpoint is intact; free some space and run the same command again"
        with (
            os_errors_as(TrainingError, f"{path}: the checkpoint cannot be written", hint=hint),
            atomic_dir(path) as folder,
        ):
            after()
            try:
                save_file(checkpoint.weights, folder / _WEIGHTS)
                save_file(checkpoint.optimizer, folder / _OPTIMIZER)
            except SafetensorError as error:
                raise OSError(None, str(error)) from error
            state: dict[str, Any] = {
                "progress": asdict(checkpoint.progress),
                "settings": checkpoint.settings,
                "sha256": {name: sha256_of(folder / name) for name in (_WEIGHTS, _OPTIMIZER)},
            }
            state["own_sha256"] = _digest(state)
            (folder / _STATE).write_text(json.dumps(state, indent=2), encoding="utf-8")
        self._prune(path)
        return path

    def _prune(self, newest: Path) -> None:
        kept = {newest, *self.last(self._keep), *self.best(self._keep_best)}
        for old in self.paths():
            if old not in kept:
                remove_dir(old)

    def load_latest(self) -> tuple[Checkpoint | None, list[str]]:
        """Return the newest checkpoint that is whole, and a warning for each damaged one.

        TrainingError: there were some, and none is whole or can be read.
        """
        if self._folder.is_dir():
            remove_leftovers(self._folder)
        checkpoint, warnings = _first_whole(reversed(self.paths()))
        if checkpoint is None and any(self._folder.glob(f"{_DAMAGED}*")):
            raise TrainingError(
                f"{self._folder}: all checkpoints are damaged; they are set aside there",
                hint="--fresh starts over; copy the model first if you want to keep it",
            )
        return checkpoint, warnings

    def load_regular(self, *, before: int) -> tuple[Checkpoint | None, list[str]]:
        """Return the newest regular one of a step before `before`, and warnings likewise.

        Those after it are deleted: a resumed run writes others.
        """
        paths = [path for path in self.paths() if _is_regular(path) and step_of(path) < before]
        checkpoint, warnings = _first_whole(reversed(paths))
        step = checkpoint.progress.step if checkpoint else 0
        for path in self.paths():
            if step_of(path) > step:
                remove_dir(path)
        return checkpoint, warnings


def average(paths: Sequence[Path]) -> Arrays:
    """Return the mean of some checkpoints' weights, summed in float64.

    TrainingError: one is damaged; it is set aside, so that the next session does without it.
    """
    total: dict[str, Any] = {}
    for path in paths:
        try:
            _verified_state(path)
            weights = load_file(path / _WEIGHTS)
        except _DAMAGES as error:
            raise TrainingError(
                _set_aside(path, error),
                hint="run the same command again: it averages the other checkpoints",
            ) from error
        for name, array in weights.items():
            total[name] = total.get(name, 0.0) + array.astype(np.float64)
    return {name: (array / len(paths)).astype(np.float32) for name, array in total.items()}


def _first_whole(paths: Iterable[Path]) -> tuple[Checkpoint | None, list[str]]:
    warnings: list[str] = []
    for path in paths:
        with os_errors_as(TrainingError, f"{path}: cannot be read"):
            try:
                return _load(path), warnings
            except _DAMAGES as error:
                warnings.append(_set_aside(path, error))
    return None, warnings


def _load(path: Path) -> Checkpoint:
    state = _verified_state(path)
    return Checkpoint(
        progress=progress_of(state["progress"]),
        weights=load_file(path / _WEIGHTS),
        optimizer=load_file(path / _OPTIMIZER),
        settings=state["settings"],
        is_regular=_is_regular(path),
    )


def progress_of(values: dict[str, Any]) -> Progress:
    """Return the progress whose fields were read from JSON."""
    tuples = {
        "cursor": Cursor(*values["cursor"]),
        "rolled_back_to": tuple(values["rolled_back_to"]),
    }
    return Progress(**{**values, **tuples})


def _read_state(path: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((path / _STATE).read_text(encoding="utf-8"))
    if state.pop("own_sha256", "") != _digest(state):
        raise ValueError(f"the sha256 of {_STATE} is wrong")
    return state


def _verified_state(path: Path) -> dict[str, Any]:
    state = _read_state(path)
    for name, known in state["sha256"].items():
        if sha256_of(path / name) != known:
            raise ValueError(f"the sha256 of {name} is wrong")
    return state


def _score(path: Path) -> float | None:
    """Return a checkpoint's own development score, or None."""
    try:
        progress = _read_state(path)["progress"]
        score = progress["score"]
        is_own = progress["evaluated_step"] == progress["step"] and math.isfinite(score)
    except (OSError, *_DAMAGES):
        return None
    return float(score) if is_own else None


def _digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _is_regular(path: Path) -> bool:
    return not path.name.endswith(_STOPPED)


def step_of(path: Path) -> int:
    """Return the step that a checkpoint's folder is named after."""
    return int(path.name.split("-")[1])


def _set_aside(path: Path, error: Exception) -> str:
    """Take a damaged checkpoint out of the way and return what to tell about it."""
    aside = path.with_name(f"{_DAMAGED}{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)
    return f"{path}: damaged ({error}); set aside as {aside.name}"


def saved_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of the newest checkpoint that tells them; none without checkpoints.

    All of a run have the same. TrainingError: one cannot be read, though it may be whole.
    """
    for path in sorted(folder.glob("step-*"), reverse=True):
        unreadable = os_errors_as(TrainingError, f"{path}: cannot be read")
        with unreadable, contextlib.suppress(*_DAMAGES):
            settings: dict[str, Any] = _read_state(path)["settings"]
            return settings
    return {}


def changed_settings(before: dict[str, Any], now: dict[str, Any]) -> Sequence[str]:
    """Return the dotted names of settings that differ."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def changed_shared(before: Mapping[str, Any], now: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of settings that differ, of those that both have.

    An earlier version may have kept less.
    """
    return sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
