"""Where the machines of a run meet: each waits here until the last one has come.

TensorFlow would wait, too, but in native code and without a word about who is missing. So the
chief listens at its port until all others have called, and tells each of them whom it still misses;
then TensorFlow takes the ports over. Until then each machine keeps its own port, so that a port
that is taken is noticed here.

All is said in lines. The chief begins with a random number, the worker answers with another one and
its greeting. The greeting and all that follows is JSON after a proof that its writer has the token:
an HMAC whose key is made of the token, the direction and both numbers.
"""

import contextlib
import hmac
import json
import secrets
import socket
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from nmt_cli import __version__
from nmt_cli.distributed.addresses import LOOPBACK, is_own, plain_ip, resolve, take
from nmt_cli.distributed.cluster import Cluster, split_address
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.events import StopRequested, Waiting
from nmt_cli.files import os_errors_as

_LOOK_S = 0.3
_FIRST_REMINDER_S = 30.0  # each next one after twice the time
_LIMIT_S = 3600.0  # one machine may have to encode what the others have already
_CALL_TIMEOUT_S = 3.0
_GREETING_S = 10.0  # who has not greeted by then is no machine
_MOST_STRANGERS = 128  # callers who have not greeted
_MOST_NOTICES = 20
_LARGEST_MESSAGE = 65536  # bytes
_PROOF_LENGTH = 64  # hexadecimal digits
_LONGEST_SHOWN = 200  # characters
_SAME = "give all machines the same nmt, --workers and token, and each its own --worker-index"


def meet(cluster: Cluster, should_stop: Callable[[], int]) -> Generator[Waiting, None, set[str]]:
    """Return, when all machines are here, the IP addresses from which the others called the chief.

    Yields now and then who is missing, and at once who was turned away. One machine alone does not
    wait; `StopRequested` is raised when `should_stop`, which is asked all the time, says so.

    Raises:
        ConfigError: The chief says that this machine does not belong here.
        TrainingError: Some did not connect within an hour, or the port of this machine is taken.
    """
    if cluster.size == 1:
        return set()
    begin, reminder = time.monotonic(), _FIRST_REMINDER_S
    with contextlib.closing(_Chief(cluster) if cluster.is_chief else _Worker(cluster)) as own:
        while missing := own.missing():
            if should_stop():
                raise StopRequested
            while own.notices:
                yield Waiting(own.notices.pop(0))
            waited = time.monotonic() - begin
            names = " and ".join(cluster.name(index) for index in sorted(missing))
            if waited > _LIMIT_S:
                raise TrainingError(
                    f"{names} did not connect within {_LIMIT_S / 60:.0f} minutes{own.trouble}",
                    hint="start all machines, with the same addresses in the same order",
                )
            if waited > reminder:
                reminder *= 2
                yield Waiting(f"still waiting for {names}{own.trouble}")
            time.sleep(_LOOK_S)
        return own.callers


class _Machine:
    """What the chief and the others have in common: a port of their own, and something to tell."""

    def __init__(self, cluster: Cluster) -> None:
        self.notices: list[str] = []  # what the user should know at once
        self.trouble = ""  # why the missing are missing, where that is known
        self.callers: set[str] = set()  # IP addresses from which machines called the chief
        self._cluster = cluster
        own = cluster.workers[cluster.index]
        hint = "choose a free port above 1023, and change it in the --workers of all machines"
        with os_errors_as(TrainingError, f"{cluster.name(cluster.index)} cannot listen", hint=hint):
            self._port = take(split_address(own)[1])
            if cluster.is_chief:
                self._port.listen()
        if (ips := resolve(own)) and not any(map(is_own, ips)):
            self.notices.append(
                f"{own} is not an address of this machine: is this worker {cluster.index}?"
            )

    def close(self) -> None:
        """Leave the port."""
        self._port.close()


@dataclass
class _Caller:
    """One who calls the chief: its connection, where it comes from, since when."""

    line: socket.socket
    ip: str
    since: float
    nonce: str  # the number that the chief gave it
    key: bytes = b""  # proves what the chief says to it

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message; if that fails, the next look finds that the caller left."""
        with contextlib.suppress(OSError):
            self.line.sendall(_sealed(self.key, message))

    def refuse(self, reason: str) -> None:
        """Say why, and hang up."""
        self.tell({"refused": reason})
        self.line.close()


class _Chief(_Machine):
    """Takes the calls of the others; one that disconnects has to call again."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._port.setblocking(False)
        self._strangers: list[_Caller] = []
        self._machines: dict[int, _Caller] = {}
        self._told: set[str] = set()

    def missing(self) -> set[int]:
        """Take new calls; return who is not here, and tell it to the others when it changed."""
        before = dict(self._machines)
        self._accept()
        for index, caller in before.items():
            if _read(caller.line) == "":
                self._machines.pop(index).line.close()
        for caller in list(self._strangers):
            if (greeting := _read(caller.line)) is not None:
                self._strangers.remove(caller)
                self._greet(caller, greeting)
        missing = set(range(1, self._cluster.size)) - set(self._machines)
        if self._machines != before:
            self.callers = {caller.ip for caller in self._machines.values()}
            for caller in self._machines.values():
                caller.tell({"missing": sorted(missing), "callers": sorted(self.callers)})
        return missing

    def _accept(self) -> None:
        """Take new calls; drop those who said nothing for long, and the oldest of too many."""
        with contextlib.suppress(OSError):  # nobody else calls
            for _ in range(_MOST_STRANGERS):
                line, address = self._port.accept()
                line.setblocking(False)
                caller = _Caller(line, plain_ip(address[0]), time.monotonic(), secrets.token_hex())
                self._strangers.append(caller)
                if len(self._strangers) > _MOST_STRANGERS:
                    self._strangers.pop(0).line.close()
                line.sendall(f"{caller.nonce}\n".encode())
        while self._strangers and self._strangers[0].since < time.monotonic() - _GREETING_S:
            self._strangers.pop(0).line.close()

    def _greet(self, caller: _Caller, greeting: str) -> None:
        """Learn which machine a caller is; turn it away when it is none of these."""
        try:
            index = self._identify(caller, greeting)
        except ValueError as error:
            caller.refuse(str(error))
            notice = f"a connection from {caller.ip} was refused: {error}"
            if greeting and notice not in self._told and len(self._told) < _MOST_NOTICES:
                self._told.add(notice)
                self.notices.append(notice)
            return
        if index in self._machines:  # it started again and that was not noticed yet, or:
            self._machines[index].refuse(f"another machine at {caller.ip} is also worker {index}")
        self._machines[index] = caller

    def _identify(self, caller: _Caller, greeting: str) -> int:
        """Return which machine a caller is; ValueError says why it is none of this run."""
        nonce, _, sealed = greeting.partition(" ")
        token, workers = self._cluster.token, self._cluster.workers
        caller.key = _key(token, "chief", caller.nonce, nonce)
        said = _opened(_key(token, "worker", caller.nonce, nonce), sealed)
        if said is None:
            raise ValueError("it has another --cluster-token-file, or none")
        version, theirs, index = (said.get(key) for key in ("version", "workers", "index"))
        if version != __version__:
            raise ValueError(f"it has nmt {_shown(version)}, worker 0 has {__version__}")
        if theirs != list(workers):
            listed = theirs if isinstance(theirs, list) else []
            pairs = zip_longest(listed, workers, fillvalue="nothing")
            has, lacks = next(pair for pair in pairs if pair[0] != pair[1])
            raise ValueError(f"its --workers says {_shown(has)} where worker 0 has {lacks}")
        if type(index) is not int or not 0 < index < len(workers):
            raise ValueError(f"its --worker-index is {_shown(index)}")
        if not token and caller.ip not in resolve(workers[index]) | LOOPBACK:
            raise ValueError(f"that is not {workers[index]}, and there is no --cluster-token-file")
        return index

    def close(self) -> None:
        """Hang up and leave the port."""
        super().close()
        for caller in (*self._strangers, *self._machines.values()):
            caller.line.close()


class _Worker(_Machine):
    """Calls the chief, again and again, and listens to whom it misses."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._line: socket.socket | None = None
        self._key = b""
        self._missing = {0}

    def missing(self) -> set[int]:
        """Return whom the chief misses, or the chief itself while it does not answer."""
        try:
            self._line = self._line or self._call()
            if (text := _read(self._line)) is not None:
                self._listen(text)
        except (OSError, ValueError, TypeError, LookupError) as error:
            self._hang_up()
            self._missing = {0}
            other = "it does not use the protocol of nmt"
            reason = error.strerror if isinstance(error, OSError) else other
            self.trouble = f": {reason or 'it does not answer'}"
        return self._missing

    def _call(self) -> socket.socket:
        """Return a connection on which the chief was greeted."""
        with contextlib.ExitStack() as stack:
            line = stack.enter_context(
                socket.create_connection(split_address(self._cluster.workers[0]), _CALL_TIMEOUT_S)
            )
            if line.getsockname() == line.getpeername():  # a free port that called itself
                raise ConnectionRefusedError
            theirs, own = line.recv(_LARGEST_MESSAGE).decode().strip(), secrets.token_hex()
            if not theirs.isalnum():  # a chief's number has hexadecimal digits
                raise ValueError
            workers, index, token = self._cluster.workers, self._cluster.index, self._cluster.token
            greeting = {"version": __version__, "workers": workers, "index": index}
            key, self._key = (_key(token, who, theirs, own) for who in ("worker", "chief"))
            line.sendall(f"{own} ".encode() + _sealed(key, greeting))
            line.setblocking(False)
            stack.pop_all()
        return line

    def _listen(self, text: str) -> None:
        """Take in what the chief says."""
        if not text:
            raise ConnectionResetError
        said, name = _opened(self._key, text.splitlines()[-1]), self._cluster.name(0)
        if said is None:
            raise ConfigError(f"{name} has another --cluster-token-file, or none", hint=_SAME)
        if "refused" in said:
            reason = _shown(said["refused"])
            raise ConfigError(f"{name} refused this machine: {reason}", hint=_SAME)
        missing, callers = said["missing"], said["callers"]
        others = range(1, self._cluster.size)
        fits = all(type(index) is int and index in others for index in missing)
        if not fits or not all(isinstance(ip, str) for ip in callers):
            raise ValueError
        self._missing, self.callers = set(missing), set(map(plain_ip, callers))
        self.trouble = ""

    def close(self) -> None:
        """Hang up and leave the port."""
        super().close()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None


def _key(token: bytes, speaker: str, *nonces: str) -> bytes:
    return hmac.digest(token, " ".join((speaker, *nonces)).encode(), "sha256")


def _proof(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256").hex().encode()


def _sealed(key: bytes, message: dict[str, Any]) -> bytes:
    text = json.dumps(message)
    return b"%s %s\n" % (_proof(key, text), text.encode())


def _opened(key: bytes, line: str) -> dict[str, Any] | None:
    """Return a message, or None when its writer has another token; ValueError when it is none."""
    proof, _, text = line.rstrip("\n").partition(" ")
    if len(proof) == _PROOF_LENGTH and text.startswith("{"):
        if not hmac.compare_digest(proof.encode(), _proof(key, text)):
            return None
        with contextlib.suppress(ValueError, RecursionError):
            said: dict[str, Any] = json.loads(text)
            return said
    raise ValueError("it does not use the protocol of this version of nmt")


def _shown(value: object) -> str:
    """Return what a stranger may have sent as something that can be printed."""
    text = str(value) if isinstance(value, str | int) else "nonsense"
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_SHOWN])


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
