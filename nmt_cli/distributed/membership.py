"""Which machines are there, and which of them train together now: known from a shared folder.

A machine is there while it holds a lock. The system takes the lock from a process that ends,
however it ends, so nothing here depends on clocks or on messages that may be late:

    HOST:PORT         locked by that machine while it lives; two numbers, see `_say`
    leader            locked by the machine that says who trains, and that is their chief
    generation.json   what a leader said last; only its owner may read the folder
"""

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from nmt_cli.distributed.cluster import Cluster
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.files import os_errors_as, write_text

GRACE_S = 10.0  # so long a machine may take to come back; then the others go on without it
PATIENCE_S = 120.0  # so long one that is there may take to end its part of a generation
_SETTLE_S = 5.0  # for what held a lock to end


@dataclass(frozen=True)
class Generation:
    """Machines that train together until one is lost or another one comes."""

    number: int = 0  # from 1; 0 is before the first
    workers: tuple[str, ...] = ()  # their addresses, the chief's first
    token: str = ""  # the secret by which they know each other
    began: float = 0.0  # seconds since the epoch, as `since`
    since: float = 0.0  # what was computed after this is lost
    news: str = ""  # who was lost or joined; nothing where a run resumes
    num_machines: int = 0  # that the run has when all are there

    def told(self, step: int) -> str:
        """Return a line about how this generation goes on after a step; "" where nothing is new."""
        if not self.news:
            return ""
        lost = max(0.0, time.time() - self.since)
        return (
            f"{self.news}; continuing from step {step:,} with {len(self.workers)} of "
            f"{self.num_machines} workers; {lost:.0f} s lost"
        )


class Membership:
    """This machine among those of a run.

    Args:
        folder: Where all machines see the same files.
        checkpoints: The run's.
        cluster: All machines of the run.
        tell: Called with a line about whom this machine waits for.

    Raises:
        ConfigError: A process has this machine's address already.
        TrainingError: The folder cannot be written, or has no locks.
    """

    def __init__(
        self, folder: Path, checkpoints: Path, cluster: Cluster, tell: Callable[[str], None]
    ) -> None:
        self._folder, self._checkpoints, self._tell = folder, checkpoints, tell
        self._workers, self._own = cluster.workers, cluster.workers[cluster.index]
        self._names = {address: cluster.name(i) for i, address in enumerate(cluster.workers)}
        self._leader: int | None = None
        self._has_trained = False
        self._finished = 0
        with os_errors_as(TrainingError, f"{folder}: cannot be written"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            ends_at = time.monotonic() + _SETTLE_S
            while (file := self._lock(self._own)) is None:
                if time.monotonic() > ends_at:
                    raise ConfigError(
                        f"{self._names[self._own]} is running already",
                        hint="give each machine its own --worker-index",
                    )
                time.sleep(0.1)
            self._file = file
            self.end(self._last())

    def end(self, generation: Generation) -> None:
        """Say that a generation is over for this machine, and that it waits for the next one."""
        self._over, self._waits_since = generation.number, time.monotonic()
        self._told = ""
        self._say()

    def finish(self, generation: Generation) -> None:
        """Say that this machine did its part of a run that comes to its end."""
        self._finished = generation.number
        self._say()

    def look(self) -> Generation | None:
        """Return a new generation that this machine belongs to; the leader makes it in time."""
        last = self._last()
        if last.number > self._over and self._own not in last.workers:
            self.end(last)
        if last.number == self._over:
            last = self._form(last) if self._leads() else last
        if last.number == self._over:
            return None
        self._has_trained = True
        return last

    def is_over(self, generation: Generation) -> bool:
        """Return whether another machine is gone or has given the generation up."""
        return any(
            self._has_left(address, generation.number)
            for address in generation.workers
            if address != self._own
        )

    def is_finished(self, generation: Generation) -> bool:
        """Return whether the chief has come to the end of the run."""
        return self._numbers(generation.workers[0])[1] == generation.number

    def has_newcomer(self, generation: Generation) -> bool:
        """Return whether this is the leader and somebody else would like to train, too."""
        return self._leader is not None and any(
            self._is_waiting(address, generation.number)
            for address in self._workers
            if address not in generation.workers
        )

    def saved_at(self) -> float:
        """Return when the last checkpoint was written, in seconds since the epoch, or 0."""
        times = [0.0]
        for path in self._checkpoints.glob("step-*"):
            with contextlib.suppress(FileNotFoundError):  # it was pruned just now
                times.append(path.stat().st_mtime)
        return max(times)

    def _form(self, last: Generation) -> Generation:
        """Return the next generation if it is time for it, else the last one."""
        here = [address for address in self._workers if self._is_waiting(address, last.number)]
        missing = [address for address in self._workers if address not in here]
        waited = time.monotonic() - self._waits_since
        limit = PATIENCE_S if any(map(self._is_alive, missing)) else GRACE_S
        # That all were seen once proves that they share the folder and its locks.
        if missing and (not last.number or waited < limit):
            self._tell_missing(missing, is_first=not last.number)
            return last
        generation = Generation(
            number=last.number + 1,
            workers=(self._own, *(address for address in here if address != self._own)),
            token=secrets.token_hex(),
            began=time.time(),
            since=max(last.began, self.saved_at()),
            news=self._news(last.workers, here) if self._has_trained else "",
            num_machines=len(self._workers),
        )
        with os_errors_as(TrainingError, f"{self._folder}: cannot be written"):
            write_text(self._folder / "generation.json", json.dumps(asdict(generation)))
        return generation

    def _tell_missing(self, missing: list[str], *, is_first: bool) -> None:
        text = f"waiting for {' and '.join(self._names[address] for address in missing)}"
        if is_first:
            text += f"; {self._folder} must be the same on all machines"
        if text != self._told:
            self._tell(text)
        self._told = text

    def _news(self, before: tuple[str, ...], now: list[str]) -> str:
        lost = [f"{self._names[a]} was lost" for a in before if a not in now]
        joined = [f"{self._names[a]} joined" for a in now if a not in before]
        return " and ".join([*lost, *joined]) or "all workers began again"

    def _last(self) -> Generation:
        try:
            values = json.loads((self._folder / "generation.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Generation()
        return Generation(**{**values, "workers": tuple(values["workers"])})

    def _leads(self) -> bool:
        """Return whether this is the leader; where there is none, it is from now on."""
        if self._leader is None:
            self._leader = self._lock("leader")
        return self._leader is not None

    def _has_left(self, address: str, number: int) -> bool:
        is_alive = self._is_alive(address)  # before its last words are read
        over, finished = self._numbers(address)
        return finished < number and (over >= number or not is_alive)

    def _is_waiting(self, address: str, number: int) -> bool:
        return self._is_alive(address) and self._numbers(address)[0] == number

    def _is_alive(self, address: str) -> bool:
        with contextlib.suppress(FileNotFoundError), (self._folder / address).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def _lock(self, name: str) -> int | None:
        """Return a file that this process and its children keep until they end, or None."""
        file = os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        return file

    def _say(self) -> None:
        """Write the last generation that is over for this machine, and the last that it finished.

        In place, since the lock is on the file; always as many bytes, so none of older ones stay.
        """
        with os_errors_as(TrainingError, f"{self._folder}: cannot be written"):
            os.pwrite(self._file, f"{self._over:9} {self._finished:9}\n".encode(), 0)
            os.fsync(self._file)

    def _numbers(self, address: str) -> tuple[int, int]:
        """Return what a machine said last (see `_say`): nothing yet if it came just now."""
        said = (self._folder / address).read_text(encoding="utf-8").split()
        over, finished = map(int, said or (0, 0))
        return over, finished
