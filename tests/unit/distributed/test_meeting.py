"""Machines that wait for each other: who is missing, who comes late or twice, who gives up."""

import contextlib
import hmac
import json
import re
import resource
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from nmt_cli import __version__
from nmt_cli.distributed import meeting
from nmt_cli.distributed.cluster import ALONE, Cluster, split_address
from nmt_cli.distributed.meeting import meet
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.events import StopRequested

SECONDS = 20


@pytest.fixture
def workers(monkeypatch):
    """Three addresses; a look takes no time, a reminder comes soon."""
    monkeypatch.setattr(meeting, "_LOOK_S", 0.01)
    monkeypatch.setattr(meeting, "_FIRST_REMINDER_S", 0.3)
    monkeypatch.setattr(meeting, "_CALL_TIMEOUT_S", 0.3)
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for free in (one, two, three):
            free.bind(("127.0.0.1", 0))
        ports = [free.getsockname()[1] for free in (one, two, three)]
    return tuple(f"127.0.0.1:{port}" for port in ports)


class Machine:
    """One that waits in a thread of its own, until the others are there or it is stopped."""

    def __init__(self, workers: tuple[str, ...], index: int, token: bytes = b"") -> None:
        self.told: list[str] = []
        self._stop = threading.Event()
        self._future: Future[set[str]] = Future()
        self._cluster = Cluster(workers, index, token)
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        try:
            meeting = meet(self._cluster, lambda: int(self._stop.is_set()))
            while True:
                self.told.append(next(meeting).text)
        except StopIteration as end:
            self._future.set_result(end.value)
        except Exception as error:  # noqa: BLE001 - the test shall see it
            self._future.set_exception(error)

    def is_told(self, pattern: str) -> bool:
        """Wait for it: whether something is told that matches."""
        end = time.monotonic() + SECONDS
        while not (found := any(re.search(pattern, text) for text in self.told)):
            if time.monotonic() > end:
                break
            time.sleep(0.01)
        return found

    def is_reminded_of(self, *indices: int, why: str = "") -> bool:
        """Wait for it: whether a reminder names these and no others."""
        names = " and ".join(self._cluster.name(index) for index in indices)
        return self.is_told(f"^{re.escape(f'still waiting for {names}')}(: .*(?:{why}).*)?$")

    def callers(self) -> set[str]:
        """Wait for the end; raises what it raised."""
        return self._future.result(SECONDS)

    def has_met(self) -> bool:
        """Wait for the end; raises what it raised."""
        return self.callers() == {"127.0.0.1"}

    @property
    def waits(self) -> bool:
        return not self._future.done()

    def stop(self) -> None:
        self._stop.set()
        with pytest.raises(StopRequested):
            self._future.result(SECONDS)


def test_all_go_on_when_the_last_one_has_come(workers):
    second, chief = Machine(workers, 1), Machine(workers, 0)
    assert chief.is_reminded_of(2)
    assert second.is_reminded_of(2)  # as the chief told it
    assert chief.waits
    assert second.waits
    third = Machine(workers, 2)
    assert all(machine.has_met() for machine in (chief, second, third))


def test_a_machine_alone_waits_for_nobody():
    assert list(meet(ALONE, lambda: 1)) == []


def test_without_the_chief_it_is_the_chief_who_is_missing(workers):
    second = Machine(workers, 1)
    assert second.is_reminded_of(0)
    second.stop()


def test_who_leaves_while_it_waits_is_missing_again(workers):
    chief, second = Machine(workers, 0), Machine(workers, 1)
    assert chief.is_reminded_of(2)
    second.stop()
    assert chief.is_reminded_of(1, 2)
    others = [Machine(workers, 1), Machine(workers, 2)]
    assert all(machine.has_met() for machine in (chief, *others))


def test_a_chief_that_starts_again_is_found_again(workers):
    chief, second = Machine(workers, 0), Machine(workers, 1)
    assert second.is_reminded_of(2)
    chief.stop()
    assert second.is_reminded_of(0)
    assert all(m.has_met() for m in (Machine(workers, 0), Machine(workers, 2), second))


def greet(address: str, answer: Callable[[str], bytes]) -> None:
    """Call a chief, and answer to its number."""
    with socket.create_connection(split_address(address), SECONDS) as stranger:
        stranger.sendall(answer(stranger.recv(1000).decode().strip()))


def signed(theirs: str, text: bytes) -> bytes:
    """Return a greeting of one who knows how machines without a token greet."""
    key = hmac.digest(b"", f"worker {theirs} 0".encode(), "sha256")
    return b"0 %s %s\n" % (hmac.digest(key, text, "sha256").hex().encode(), text)


def test_strangers_are_nobody(workers):
    """A port scanner, a browser, machines of other times and runs, nonsense."""
    chief, second = Machine(workers, 0), Machine(workers, 1)
    assert chief.is_reminded_of(2)
    for said in (b"", b"GET / HTTP/1.1\r\n", b"[[], 2]\n", b"half a line", b"\xff\n"):
        greet(workers[0], lambda _, said=said: said)
    same = json.dumps({"version": __version__, "workers": workers, "index": 3}).encode()
    true = same.replace(b"3}", b"true}")  # an int to Python
    other = b'{"version": "0.1\\u001b[1m"}'
    odd = (b'{"version": [{}]}', b"{", b"{}", b"5", b'{"a":' + b"[" * 9000)
    for text in (same, true, other, *odd):
        greet(workers[0], lambda theirs, text=text: signed(theirs, text))
    assert chief.is_told(
        "^a connection from 127.0.0.1 was refused: it does not use the protocol of this"
    )
    assert chief.is_told(r"refused: it has nmt 0.1\?\[1m, worker 0 has [0-9.]+$")
    assert chief.is_told("refused: its --worker-index is 3$")
    assert chief.is_told("refused: its --worker-index is True$")
    assert chief.waits
    assert second.waits
    third = Machine(workers, 2)
    assert all(machine.has_met() for machine in (chief, second, third))


def test_callers_who_say_nothing_are_dropped(workers, monkeypatch):
    """As many as a process may have files open; each would stay for ever."""
    monkeypatch.setattr(meeting, "_GREETING_S", 1.0)
    monkeypatch.setattr(meeting, "_MOST_STRANGERS", 20)
    chief = Machine(workers, 0)
    assert chief.is_reminded_of(1, 2)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    num_open = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (num_open + 150, limits[1]))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        address = split_address(workers[0])
        callers = [stack.enter_context(socket.create_connection(address)) for _ in range(100)]
        callers[-1].sendall(b"half a line")
        for caller in callers:
            caller.settimeout(SECONDS)
            with contextlib.suppress(ConnectionResetError):
                while caller.recv(1000):  # a number, and the end
                    pass
    assert all(m.has_met() for m in (chief, Machine(workers, 1), Machine(workers, 2)))


TOKEN = b"what these three know"


@pytest.mark.parametrize(("of_chief", "of_other"), [(TOKEN, b""), (TOKEN, b"x"), (b"", TOKEN)])
def test_who_has_another_token_is_no_machine(workers, of_chief, of_other):
    chief, other = Machine(workers, 0, of_chief), Machine(workers, 1, of_other)
    with pytest.raises(
        ConfigError, match=r"^worker 0 \(\S+\) has another --cluster-token-file, or"
    ):
        other.callers()
    assert chief.is_told("refused: it has another --cluster-token-file, or none$")
    machines = [Machine(workers, index, of_chief) for index in (1, 2)]
    assert all(machine.has_met() for machine in (chief, *machines))


def test_a_token_is_neither_said_nor_replaced_by_what_was_said(workers):
    with socket.create_server(split_address(workers[0])) as server:
        second = Machine(workers, 1, TOKEN)
        line, _ = server.accept()
        with line:
            line.sendall(b"1234\n")
            said = line.recv(10000)
            line.sendall(b'%s {"missing": [], "callers": []}\n' % (b"0" * 64))
            with pytest.raises(ConfigError, match="another --cluster-token-file"):
                second.callers()
    assert TOKEN not in said
    chief = Machine(workers, 0, TOKEN)
    assert chief.is_reminded_of(1, 2)
    greet(workers[0], lambda _: said)
    assert chief.is_told("refused")
    chief.stop()


def test_other_addresses_are_told_on_both_sides(workers):
    chief, theirs = Machine(workers, 0), ("localhost" + workers[0][9:], *workers[1:])
    second = Machine(theirs, 1)
    why = f"its --workers says {theirs[0]} where worker 0 has {workers[0]}"
    with pytest.raises(ConfigError) as caught:
        second.callers()
    assert str(caught.value) == f"worker 0 ({theirs[0]}) refused this machine: {why}"
    assert chief.is_told(f"^a connection from 127.0.0.1 was refused: {re.escape(why)}$")
    chief.stop()


def test_two_machines_of_one_number_are_told(workers):
    chief, first = Machine(workers, 0), Machine(workers, 1)
    assert chief.is_reminded_of(2)
    second = Machine(workers, 1)
    with pytest.raises(ConfigError, match=r"another machine at 127.0.0.1 is also worker 1$"):
        first.callers()
    third = Machine(workers, 2)
    assert all(machine.has_met() for machine in (chief, second, third))


def test_who_calls_from_elsewhere_needs_a_token(workers, monkeypatch):
    """As through address translation: without a token, addresses are all there is to go by."""
    monkeypatch.setattr(meeting, "LOOPBACK", set())
    workers = (workers[0], "127.0.0.9" + workers[1][9:])
    chief, second = Machine(workers, 0), Machine(workers, 1)
    with pytest.raises(ConfigError, match=r"that is not 127.0.0.9:.*no --cluster-token-file$"):
        second.callers()
    chief.stop()
    assert all(machine.has_met() for machine in [Machine(workers, i, TOKEN) for i in (0, 1)])


def test_the_address_of_another_machine_is_told(workers):
    chief = Machine(("192.0.2.77" + workers[0][9:], workers[1]), 0)
    assert chief.is_told(r"^192.0.2.77:\d+ is not an address of this machine: is this worker 0\?$")
    chief.stop()


@pytest.mark.parametrize(
    "answer",
    [
        *(b"{", b"{\n", b"{}\n", b"[]\n", b"\xff\n", b"", b"\n"),
        *(b'{"missing": [9]}', b'{"missing": ["a"]}', b'{"missing": {}}', b'{"missing": 1}'),
        *(b'{"missing": [1], "callers": 1}', b'{"missing": [1], "callers": ["a"]}'),
        *(b'{"missing": [1], "callers": [5]}', b'{"missing": [1.0], "callers": []}'),
        b'{"missing": [true], "callers": []}',
    ],
)
def test_a_chief_that_is_something_else_is_missing(workers, answer):
    """Something that says a number first, as a chief does, and then this."""
    with socket.create_server(split_address(workers[0])) as server:
        second = Machine(workers, 1)
        line, _ = server.accept()
        with line:
            line.sendall(b"1234\n")
            own = line.recv(10000).decode().split()[0]
            key = hmac.digest(b"", f"chief 1234 {own}".encode(), "sha256")
            proof = hmac.digest(key, answer, "sha256").hex().encode()
            line.sendall(b"%s %s\n" % (proof, answer) if b"missing" in answer else answer)
        assert second.is_reminded_of(0, why="it does not|Connection")
        second.stop()


def test_a_server_of_another_protocol_is_told(workers):
    with socket.create_server(split_address(workers[0])) as server:
        second, end = Machine(workers, 1), time.monotonic() + 2
        while not any("does not use the protocol of nmt" in text for text in second.told):
            assert time.monotonic() < end
            line, _ = server.accept()
            with line:
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        second.stop()


@pytest.mark.parametrize("index", [0, 1])
def test_a_port_that_is_taken(workers, index):
    with socket.create_server(split_address(workers[index])):
        machine = Machine(workers, index)
        with pytest.raises(TrainingError, match=rf"^worker {index} \(\S+\) cannot listen: Address"):
            machine.callers()


def test_who_does_not_come_at_all_is_given_up(workers, monkeypatch):
    monkeypatch.setattr(meeting, "_LIMIT_S", 0.1)
    with pytest.raises(TrainingError, match=r"^worker 1 \S+ and worker 2 \S+ did not connect"):
        Machine(workers, 0).callers()
