"""The other machines of a run: notice that one is gone, and say which.

TensorFlow's heartbeats end whatever waits for a machine that died, but not an evaluation, in which
the chief waits for nobody: so it looks for itself now and then.
"""

import contextlib
import re
import socket
import time
from collections.abc import Collection, Iterator

import tensorflow as tf

from nmt_cli.distributed.cluster import Cluster, split_address
from nmt_cli.errors import TrainingError, WorkerLost

OUT_OF_MEMORY = (tf.errors.ResourceExhaustedError, MemoryError)
HEARTBEAT_S = 40  # a machine that is silent for so long is given up by worker 0, which counts

_INTERVAL_S = 10.0
_TIMEOUT_S = 3.0
_AGAIN = "start all machines again with the same commands: they resume from the last checkpoint"
_SERVICE = "/tensorflow.CoordinationService/"  # calls to worker 0, which counts heartbeats
_TASK = re.compile(r"/job:worker/(?:replica:0/)?task:([0-9]+)")


class Peers:
    """The other machines of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._others = [i for i in range(len(cluster.workers)) if i != cluster.index]
        self._missing: set[int] = set()
        self._next_look = time.monotonic() + _INTERVAL_S

    def dismiss(self) -> None:
        """Expect nothing of them any more: the run is over and they leave."""
        self._others = []

    def check(self) -> None:
        """Look for the others, if that was not done just now; TrainingError: one is gone."""
        if not self._others or time.monotonic() < self._next_look:
            return
        before, self._missing = self._missing, self._unreachable()
        self._next_look = time.monotonic() + _INTERVAL_S
        if before & self._missing:
            raise self._lost(before & self._missing)

    @contextlib.contextmanager
    def blamed(self) -> Iterator[None]:
        """Name, in a TrainingError, the machine that is gone when TensorFlow fails for it."""
        try:
            yield
        except tf.errors.OpError as error:
            if not self._others or isinstance(error, OUT_OF_MEMORY):
                raise
            named = {int(index) for index in _TASK.findall(str(error))}
            if self._cluster.index in named and "heartbeat" in str(error):
                raise self._given_up() from error
            if _SERVICE in str(error) and not named and not self._cluster.is_chief:
                raise self._lost({0}) from error  # the others may be gone for this reason, too
            if lost := self._unreachable() or named & {*self._others}:
                raise self._lost(lost) from error
            raise

    def late(self) -> TrainingError:
        """Return the error that says who did not connect in time."""
        late = [index for index in self._others if not self._greets(index)] or self._others
        return TrainingError(
            f"{self._names(late)} did not connect in time",
            hint="start all machines again; their ports must be open to each other",
        )

    def _greets(self, index: int) -> bool:
        """Return whether TensorFlow answers there: it speaks first."""
        try:
            with socket.create_connection(self._address(index), _TIMEOUT_S) as line:
                return bool(line.recv(1))
        except OSError:
            return False

    def _unreachable(self) -> set[int]:
        """Return who does not take a connection: the port is TensorFlow's own."""
        missing = set()
        for index in self._others:
            try:
                socket.create_connection(self._address(index), _TIMEOUT_S).close()
            except OSError:
                missing.add(index)
        return missing

    def _address(self, index: int) -> tuple[str, int]:
        return split_address(self._cluster.workers[index])

    def _names(self, indices: Collection[int]) -> str:
        return " and ".join(self._cluster.name(index) for index in sorted(indices))

    def _lost(self, indices: Collection[int]) -> WorkerLost:
        are = "is" if len(indices) == 1 else "are"
        return WorkerLost(f"{self._names(indices)} {are} lost", hint=_AGAIN)

    def _given_up(self) -> WorkerLost:
        by = "the others" if self._cluster.is_chief else self._cluster.name(0)
        return WorkerLost(
            f"{by} gave up this machine: it was silent for more than {HEARTBEAT_S} seconds",
            hint=_AGAIN,
        )
