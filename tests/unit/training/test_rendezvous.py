"""Machines that wait for each other: who is missing, who comes late or twice, who gives up."""

import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from nmt_cli.errors import TrainingError
from nmt_cli.training import rendezvous
from nmt_cli.training.cluster import ALONE, Cluster, split_address
from nmt_cli.training.rendezvous import meet
from nmt_cli.training.validation import StopRequested

SECONDS = 20


@pytest.fixture
def workers(monkeypatch):
    """Three addresses; a look takes no time, a reminder comes soon."""
    monkeypatch.setattr(rendezvous, "_LOOK_S", 0.01)
    monkeypatch.setattr(rendezvous, "_FIRST_REMINDER_S", 0.3)
    with socket.socket() as one, socket.socket() as two, socket.socket() as three:
        for free in (one, two, three):
            free.bind(("127.0.0.1", 0))
        ports = [free.getsockname()[1] for free in (one, two, three)]
    return tuple(f"127.0.0.1:{port}" for port in ports)


class Machine:
    """One that waits in a thread of its own, until the others are there or it is stopped."""

    def __init__(self, workers: tuple[str, ...], index: int) -> None:
        self.reminders: list[list[str]] = []
        self._stop = threading.Event()
        self._future: Future[None] = Future()
        self._cluster = Cluster(workers, index)
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        try:
            for missing in meet(self._cluster, lambda: int(self._stop.is_set())):
                self.reminders.append(missing)
        except Exception as error:  # noqa: BLE001 - the test shall see it
            self._future.set_exception(error)
        else:
            self._future.set_result(None)

    def is_reminded_of(self, *indices: int) -> bool:
        """Wait for it: whether a reminder names these and no others."""
        names = [self._cluster.name(index) for index in indices]
        end = time.monotonic() + SECONDS
        while names not in self.reminders and time.monotonic() < end:
            time.sleep(0.01)
        return names in self.reminders

    def has_met(self) -> bool:
        """Wait for the end; raises what it raised."""
        return self._future.result(SECONDS) is None

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


def test_strangers_are_nobody(workers):
    """A port scanner, a browser, a machine that was given other addresses."""
    chief, second = Machine(workers, 0), Machine(workers, 1)
    assert chief.is_reminded_of(2)
    with ThreadPoolExecutor() as pool:
        other = pool.submit(Machine, (*workers[:2], "127.0.0.1:1"), 2).result()
    address = split_address(workers[0])
    for greeting in (b"", b"GET / HTTP/1.1\r\n", b"[[], 2]\n", b"half a line", b"\xff\n"):
        with socket.create_connection(address) as stranger:
            stranger.sendall(greeting)
    assert other.is_reminded_of(0)
    assert chief.waits
    assert second.waits
    other.stop()
    third = Machine(workers, 2)
    assert all(machine.has_met() for machine in (chief, second, third))


@pytest.mark.parametrize("answer", [b"{", b"{\n", b"{}\n", b"[]\n", b"\xff\n", b"", b"\n"])
def test_a_chief_that_is_something_else_is_missing(workers, answer):
    with socket.create_server(split_address(workers[0])) as server:
        second = Machine(workers, 1)
        line, _ = server.accept()
        with line:
            line.sendall(answer)
        assert second.is_reminded_of(0)
        second.stop()


def test_a_port_that_is_taken(workers):
    with socket.create_server(split_address(workers[0])):
        chief = Machine(workers, 0)
        with pytest.raises(TrainingError, match=r"^worker 0 \(\S+\) cannot listen: Address"):
            chief.has_met()


def test_who_does_not_come_at_all_is_given_up(workers, monkeypatch):
    monkeypatch.setattr(rendezvous, "_LIMIT_S", 0.1)
    with pytest.raises(TrainingError, match=r"^worker 1 \S+ and worker 2 \S+ did not come"):
        Machine(workers, 0).has_met()
