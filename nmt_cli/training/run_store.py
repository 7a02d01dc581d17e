"""A run that is also kept in an object store, so that another machine can resume it.

    URL/NAME/objects/3f2a...     the files of the run folder, each called by the hash of its bytes
    URL/NAME/nmt-run.json        which of them are which files; the step; put when all are there
    URL/NAME/lock.json           which machine trains; it changes while that machine is there

After each checkpoint the files of the run folder are linked to other names, where nothing changes
them, and a thread puts those into the store that it has not. If that fails, training continues, and
it is tried again. What is read, a model too, is what one index lists, so it belongs together.
"""

import contextlib
import json
import os
import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from nmt_cli.errors import ConfigError, NmtError, TrainingError
from nmt_cli.events import Event, Saved, Started
from nmt_cli.files import os_errors_as, remove_dir, sha256_of
from nmt_cli.stores import INDEX, OBJECTS, Store
from nmt_cli.training.checkpoint import changed_shared, saved_settings, step_of
from nmt_cli.training.run_folder import RunFolder

_LOCK = "lock.json"
_SIGN_S = 20.0  # seconds between signs of life of the machine that has a run
_SILENCE_S = 90.0  # without one for so long, it is taken for dead
_PATIENCE_S = 2.0  # for the end, before it is said what takes so long
# Not kept: what can be made again, and what means something on this machine only.
_LEFT_OUT = ("shards", "tensorboard", "elastic", "worker-", "lock", "hashes.json", ".", "damaged-")


class RunStore:
    """Keeps a run folder in a store while its context lasts.

    Args:
        url: Where runs are kept.
        run: The run folder, which no other process uses.
        tell: Called with a line about what is going on.
        warn: Called with a line about what failed, while training continues.
        is_fresh: The run starts over.
    """

    def __init__(
        self,
        url: str,
        run: RunFolder,
        *,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
        is_fresh: bool = False,
    ) -> None:
        self._run, self._tell, self._warn, self._is_fresh = run, tell, warn, is_fresh
        self._store = Store(f"{url.rstrip('/')}/{run.path.name}", TrainingError)
        self._lock = _Lock(self._store, run)
        self._hashes: dict[tuple[int, int], str] = {}  # of files, by inode and time
        self._objects: dict[str, int] = {}  # in the store: hash, bytes
        self._listed: set[str] = set()  # hashes in the index
        self._waiting: list[Path] = []  # folders of links to files; the last one is to be put
        self._news, self._is_over = threading.Event(), False
        self._problem: TrainingError | None = None
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)

    def __enter__(self) -> Self:
        """Take the run, and bring what the store has of it, if that is further than the folder.

        Raises:
            ConfigError: Another machine trains it, or the store has another run of this name.
            TrainingError: The store cannot be read or written, or what it has is damaged.
        """
        self._lock.take(self._tell)
        try:
            if (index := self._store.index()) and not self._is_fresh:
                self._bring(index)
            there = self._store.list(f"{OBJECTS}/*")
        except BaseException:
            self._lock.release()
            raise
        self._objects = {name.rpartition("/")[2]: found.size for name, found in there.items()}
        self._listed = {digest for digest, _ in index.get("files", {}).values()}
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until all is in the store, but after an error only tell the thread to end.

        TrainingError: the store cannot be written, or another machine has taken the run.
        """
        if kind is None and self._run.has_begun:
            self._hand_over()
        self._is_over = True
        self._news.set()
        if kind is None:
            self._thread.join(_PATIENCE_S)
            if self._thread.is_alive():
                self._tell(f"{self._store.url}: waiting until all is there")
                self._thread.join()
            if self._problem is not None:
                again = f"{self._run.path} has all; to store it, run the same command again"
                self._problem.hint = None if self._lock.is_lost else again
                raise self._problem

    def follow(self, event: Event) -> None:
        """Hand over a checkpoint; tell of problems.

        TrainingError: another machine has taken the run.
        """
        if isinstance(event, Started) and self._is_fresh:
            self._store.delete(INDEX)  # as the old checkpoints in the folder were
        if isinstance(event, Saved):
            self._hand_over()
        if self._lock.is_lost:
            self._lock.check()
        if self._problem is not None:
            self._warn(f"{self._problem}; it is tried again with the next checkpoint")
            self._problem = None

    def _hand_over(self) -> None:
        """Link the files as they are; nothing writes any of them now. No copy, so no wait."""
        hint = "free some space and run the same command again"
        with os_errors_as(TrainingError, f"{self._run.path}: cannot be written", hint=hint):
            links = Path(tempfile.mkdtemp(prefix=".stored.writing-", dir=self._run.path))
            for name, file in _kept(self._run.path):
                (links / name).parent.mkdir(parents=True, exist_ok=True)
                if file == self._run.events:  # it grows
                    shutil.copyfile(file, links / name)
                else:
                    os.link(file, links / name)
        self._waiting.append(links)
        self._news.set()

    def _work(self) -> None:
        """Put the newest of what was handed over, again and again."""
        is_last = False
        while not is_last:
            self._news.wait()
            self._news.clear()
            is_last = self._is_over or self._lock.is_lost
            *outdated, newest = [None, *(self._waiting.pop(0) for _ in self._waiting[:])]
            try:
                if newest is not None:
                    self._put(newest)
                    self._problem = None
            except Exception as error:  # noqa: BLE001 - whatever it is, training goes on
                self._problem = TrainingError(str(error))
            for links in filter(None, (*outdated, newest)):
                shutil.rmtree(links)
        self._lock.release()

    def _put(self, links: Path) -> None:
        """Put the files that the store has not, then the index; then delete what no index lists."""
        files = {name: (self._hash_of(file), file) for name, file in _kept(links)}
        sizes = {digest: file.stat().st_size for digest, file in files.values()}
        new = {f"{OBJECTS}/{d}": f for d, f in files.values() if self._objects.get(d) != sizes[d]}
        self._store.put(new)
        self._objects |= sizes
        index = {
            "step": _newest_step(links / "checkpoints"),
            "settings": saved_settings(links / "checkpoints"),
            "files": {name: [digest, sizes[digest]] for name, (digest, _) in files.items()},
        }
        self._lock.check()
        self._store.write(INDEX, json.dumps(index, indent=1).encode())
        before, self._listed = self._listed, set(sizes)  # somebody may still read by the old one
        for digest in self._objects.keys() - before - self._listed:
            self._store.delete(f"{OBJECTS}/{digest}")
            del self._objects[digest]

    def _hash_of(self, file: Path) -> str:
        state = file.stat()
        key = state.st_ino, state.st_mtime_ns
        if key not in self._hashes:
            self._hashes[key] = sha256_of(file)
        return self._hashes[key]

    def _bring(self, index: dict[str, Any]) -> None:
        """Make the run folder what the store has of the run, unless it is as far or further."""
        here = saved_settings(self._run.checkpoints)
        if changed := changed_shared(here, index["settings"]):
            raise ConfigError(
                f"{self._run.path} has other settings than {self._store.url}: {', '.join(changed)}",
                hint="give the run another name (--set name=NAME), or start over with --fresh",
            )
        if _newest_step(self._run.checkpoints) >= index["step"]:
            return
        self._tell(f"{self._store.url}: bringing step {index['step']:,}")
        problem = os_errors_as(TrainingError, f"{self._run.path}: cannot be written")
        beside = tempfile.TemporaryDirectory(prefix=".brought.writing-", dir=self._run.path)
        with problem, beside as name:
            folder = Path(name)
            wanted = {folder / name: one for name, one in self._store.indexed(index).items()}
            self._store.get(wanted)
            for file, found in wanted.items():
                if sha256_of(file) != found.state:
                    raise TrainingError(f"{self._store.url}: {found.path} is damaged")
            shutil.rmtree(self._run.checkpoints, ignore_errors=True)
            checkpoints = sorted(folder.glob("checkpoints/*"))  # the newest last
            self._run.checkpoints.mkdir()
            others = (path for path in folder.iterdir() if path.name != "checkpoints")
            for path in (*others, *checkpoints):
                target = self._run.path / path.relative_to(folder)
                if target.is_dir():
                    remove_dir(target)
                path.replace(target)


@contextlib.contextmanager
def kept(
    url: str | None,
    run: RunFolder,
    *,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    is_fresh: bool,
) -> Iterator[Callable[[Event], None]]:
    """Keep a run in a store, if there is one; give what follows its events. See `RunStore`."""
    if url is None:
        yield lambda _: None
        return
    with RunStore(url, run, tell=tell, warn=warn, is_fresh=is_fresh) as store:
        yield store.follow


class _Lock:
    """The object that says which machine trains a run.

    Who has it writes it anew again and again. A machine that finds it watches whether that happens,
    so no clocks are compared. Only one machine can create it, as far as the store promises that.
    Two that take it from a dead one at the same moment may both believe to have it until they look
    again, before the next index or sign of life.
    """

    def __init__(self, store: Store, run: RunFolder) -> None:
        host = socket.gethostname()
        self._store, self._id = store, uuid.uuid4().hex
        self._facts = {"owner": f"process {os.getpid()} on {host}", "id": self._id}
        self._facts["folder"] = f"{host}:{run.path.resolve()}"
        self._released, self.is_lost = threading.Event(), False

    def take(self, tell: Callable[[str], None]) -> None:
        """Take the lock; wait to see whether who has it is there. ConfigError: it is."""
        if not self._store.create(_LOCK, self._sign()):
            there = self._read()
            # What used this very folder is dead, since we have the lock of that.
            if there.get("folder") != self._facts["folder"]:
                self._watch(there, tell)
            self._store.write(_LOCK, self._sign())
        threading.Thread(target=self._show, name="store-lock", daemon=True).start()

    def _watch(self, there: dict[str, Any], tell: Callable[[str], None]) -> None:
        owner = f"{self._store.url}: {there.get('owner', 'another machine')}"
        tell(f"{owner} had this run; waiting for a sign of life")
        end = time.monotonic() + _SILENCE_S
        while time.monotonic() < end and (now := self._read()):
            if now != there:
                hint = "wait for it or stop it, or give the run another name: --set name=NAME"
                raise ConfigError(f"{owner} is training this run", hint=hint)
            time.sleep(_SILENCE_S / 30)

    def _show(self) -> None:
        """Give signs of life until the lock is released or lost; what fails is tried again."""
        while not self._released.wait(_SIGN_S) and not self.is_lost:
            with contextlib.suppress(NmtError):
                self.check()
                self._store.write(_LOCK, self._sign())

    def check(self) -> None:
        """Raise TrainingError if another machine has taken the lock."""
        self.is_lost = self.is_lost or self._read().get("id", self._id) != self._id
        if self.is_lost:
            raise TrainingError(f"{self._store.url}: another machine has taken this run")

    def release(self) -> None:
        """Delete the lock, unless it is another machine's by now."""
        self._released.set()
        with contextlib.suppress(NmtError):
            self.check()
            self._store.delete(_LOCK)

    def _sign(self) -> bytes:
        return json.dumps(self._facts | {"time": time.time()}).encode()

    def _read(self) -> dict[str, Any]:
        """Return what the lock says; nothing if there is none, or half of one."""
        with contextlib.suppress(ValueError):
            return dict(json.loads(self._store.read(_LOCK) or b"{}"))
        return {}


def _kept(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a run folder that are kept, by their names in it."""
    top = [path for path in folder.iterdir() if not path.name.startswith(_LEFT_OUT)]
    for file in (*top, *(inner for path in top for inner in path.rglob("*"))):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(_LEFT_OUT) for part in name.parts):
            yield str(name), file


def _newest_step(checkpoints: Path) -> int:
    return max(map(step_of, checkpoints.glob("step-*")), default=0)
