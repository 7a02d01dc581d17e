"""The folder of a run: where its parts lie, who may work in it, and its log of events."""

import contextlib
import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.config.reading import RUN_CONFIG
from nmt_cli.config.schema import Config
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.files import fsync, os_errors_as
from nmt_cli.resources import RUNS_DIR


class RunFolder:
    """Where the parts of a run lie."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shards = path / "shards"  # the encoded corpora
        self.checkpoints = path / "checkpoints"
        self.config = path / RUN_CONFIG  # with which the run was begun, and what `auto` became
        self.model = path / "model"  # the best bundle so far
        self.events = path / "events.jsonl"  # one JSON object a line: all that happened
        self.report = path / "report.html"  # the same for people, with what the run is made of
        self.tensorboard = path / "tensorboard"  # the same for TensorBoard, if asked for
        self.elastic = path / "elastic"  # which machines are there, for `--elastic`
        self.previous = path / "previous.json"  # manifest of the last run's model, forgotten

    @classmethod
    def of(cls, config: Config, cluster: Cluster = ALONE) -> "RunFolder":
        """Return the folder of a configuration's run, below the working folder.

        Of several machines each keeps its own vocabulary and shards, so it does not matter whether
        they share a disk; those that are not the chief have nothing else to keep.
        """
        path = RUNS_DIR / config.name
        own = f"worker-{cluster.number(cluster.index)}"
        return cls(path if cluster.is_chief else path / own)

    @property
    def has_begun(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return self.config.is_file() and any(self.checkpoints.glob("step-*"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out of this run while the block runs.

        The kernel lets go of the lock when its process ends, however that happens, so none is ever
        stale; the file stays, with a number in it that means nothing by then.

        Raises:
            ConfigError: Another process has it; names that.
            TrainingError: The run folder cannot be written.
        """
        with contextlib.ExitStack() as stack:
            with os_errors_as(TrainingError, f"{self.path}: cannot be written"):
                self.path.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context((self.path / "lock").open("a+", encoding="utf-8"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise self._taken(file) from error
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
                file.flush()
            yield

    def _taken(self, file: IO[str]) -> ConfigError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        return ConfigError(
            f"{self.path}: {holder} is using this run folder",
            hint="wait for it or stop it, or give the run another name: --set name=NAME",
        )

    def forget(self) -> None:
        """Delete what training made but the last scores; vocabulary and encoded corpora stay."""
        with contextlib.suppress(FileNotFoundError):
            (self.model / MANIFEST).replace(self.previous)
        for folder in (self.checkpoints, self.model, self.tensorboard):
            shutil.rmtree(folder, ignore_errors=True)
        self.events.unlink(missing_ok=True)
        self.report.unlink(missing_ok=True)


class EventLog:
    """`events.jsonl`: appended as things happen, cut back to the checkpoint on resume.

    What is beyond `kept_bytes` goes: it will happen again. None keeps it.
    """

    def __init__(self, path: Path, kept_bytes: int | None) -> None:
        self._path = path
        content = path.read_bytes()[:kept_bytes] if path.is_file() else b""
        self.size = content.rfind(b"\n") + 1  # a crash may have cut the last line short
        with path.open("ab") as stream:
            stream.truncate(self.size)

    def append(self, event: dict[str, Any]) -> None:
        """Write one event."""
        line = json.dumps(event, ensure_ascii=False).encode() + b"\n"
        with self._path.open("ab") as stream:
            stream.write(line)
        self.size += len(line)

    def flush(self) -> None:
        """Make sure that what was appended outlives a loss of power."""
        fsync(self._path)


def bytes_to_end(path: Path, step: int) -> int | None:
    """Return the size of a log up to the last `Finished` of a step; None if it has none."""
    size, found = 0, None
    for line in path.read_bytes().splitlines(keepends=True) if path.is_file() else []:
        size += len(line)
        if b'"Finished"' in line:
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                found = size if (event["event"], event["step"]) == ("Finished", step) else found
    return found


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a log; lines that are no events are left out."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        for line in stream:
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and {"event", "step"} <= event.keys():
                    yield event
