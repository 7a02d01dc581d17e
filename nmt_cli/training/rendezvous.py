"""Where the machines of a run meet: each waits here until the last one has come.

TensorFlow would wait, too, but in native code: deaf to signals and without a word about who is
missing. So the chief listens at its port until all others have called, and tells each of them
whom it still misses. When that is nobody, all go on and TensorFlow takes the ports over.
"""

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator

from nmt_cli.errors import TrainingError
from nmt_cli.training.cluster import Cluster, split_address
from nmt_cli.training.validation import StopRequested

_LOOK_S = 0.3
_FIRST_REMINDER_S = 30.0  # each next one after twice the time
_LIMIT_S = 3600.0  # one machine may have to encode what the others have already
_CALL_TIMEOUT_S = 3.0
_LARGEST_MESSAGE = 65536  # bytes
_MISSING = "missing"  # what the chief sends: the numbers of those


def meet(cluster: Cluster, should_stop: Callable[[], int]) -> Iterator[list[str]]:
    """Return when all machines are here.

    Args:
        cluster: The machines; one alone does not wait.
        should_stop: Asked all the time.

    Yields:
        Now and then the names of those who are missing.

    Raises:
        StopRequested: `should_stop` said so.
        TrainingError: Some did not come within an hour, or the chief's port is taken.
    """
    if cluster.size == 1:
        return
    begin, reminder = time.monotonic(), _FIRST_REMINDER_S
    with contextlib.closing(_Chief(cluster) if cluster.is_chief else _Worker(cluster)) as own:
        while missing := own.missing():
            if should_stop():
                raise StopRequested
            waited = time.monotonic() - begin
            names = [cluster.name(index) for index in sorted(missing)]
            if waited > _LIMIT_S:
                raise TrainingError(
                    f"{' and '.join(names)} did not come within {_LIMIT_S / 60:.0f} minutes",
                    hint="start all machines, with the same addresses in the same order",
                )
            if waited > reminder:
                reminder *= 2
                yield names
            time.sleep(_LOOK_S)


class _Chief:
    """Takes the calls of the others; who hangs up is missing again.

    Args:
        cluster: The machines.
    """

    def __init__(self, cluster: Cluster) -> None:
        others = range(1, cluster.size)
        self._indices = {_greeting(cluster.workers, index): index for index in others}
        self._unnamed: list[socket.socket] = []
        self._callers: dict[int, socket.socket] = {}
        _, port = split_address(cluster.workers[0])
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        try:
            self._server = socket.create_server(
                ("", port), family=family, dualstack_ipv6=family == socket.AF_INET6
            )
        except OSError as error:
            raise TrainingError(f"{cluster.name(0)} cannot listen: {error.strerror}") from error
        self._server.setblocking(False)

    def missing(self) -> set[int]:
        """Take new calls; return who is not here, and tell it to the others when it changed."""
        before = dict(self._callers)
        with contextlib.suppress(BlockingIOError):
            while True:
                caller, _ = self._server.accept()
                caller.setblocking(False)
                self._unnamed.append(caller)
        for index, caller in list(self._callers.items()):
            if _read(caller) == "":
                self._callers.pop(index).close()
        for caller in list(self._unnamed):
            if (greeting := _read(caller)) is not None:
                self._unnamed.remove(caller)
                self._greet(caller, greeting)
        missing = set(self._indices.values()) - set(self._callers)
        if self._callers != before:
            message = f"{json.dumps({_MISSING: sorted(missing)})}\n".encode()
            for caller in self._callers.values():
                with contextlib.suppress(OSError):  # noticed at the next look
                    caller.sendall(message)
        return missing

    def _greet(self, caller: socket.socket, greeting: str) -> None:
        """Learn which machine a caller is; hang up when it is none of these."""
        index = self._indices.get(greeting)
        if index is None:
            caller.close()
            return
        if index in self._callers:
            self._callers[index].close()  # it started again and this was not noticed yet
        self._callers[index] = caller

    def close(self) -> None:
        """Hang up and leave the port."""
        for connection in (self._server, *self._unnamed, *self._callers.values()):
            connection.close()


class _Worker:
    """Calls the chief, again and again, and listens to whom it misses.

    Args:
        cluster: The machines.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._chief = split_address(cluster.workers[0])
        self._greeting = _greeting(cluster.workers, cluster.index)
        self._line: socket.socket | None = None
        self._missing = {0}

    def missing(self) -> set[int]:
        """Return whom the chief misses, or the chief itself while it does not answer."""
        try:
            if self._line is None:
                self._line = self._call()
            if (text := _read(self._line)) is not None:
                self._missing = set(json.loads(text.splitlines()[-1])[_MISSING])
        except (OSError, ValueError, TypeError, LookupError):  # nobody there, or something else
            self.close()
            self._line, self._missing = None, {0}
        return self._missing

    def _call(self) -> socket.socket:
        line = socket.create_connection(self._chief, _CALL_TIMEOUT_S)
        if line.getsockname() == line.getpeername():  # a free port of this machine called itself
            line.close()
            raise ConnectionRefusedError
        line.sendall(self._greeting.encode())
        line.setblocking(False)
        return line

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()


def _greeting(workers: tuple[str, ...], index: int) -> str:
    """Return what a machine says first: which one of which it is."""
    return f"{json.dumps([workers, index])}\n"


def _read(connection: socket.socket) -> str | None:
    """Return the lines that came by now, None for none yet, or "" when the other side left."""
    try:
        waiting = connection.recv(_LARGEST_MESSAGE, socket.MSG_PEEK)
        if waiting and not waiting.endswith(b"\n"):
            return None  # half a line
        return connection.recv(_LARGEST_MESSAGE).decode(errors="replace")
    except BlockingIOError:
        return None
    except OSError:
        return ""
