"""Who is there, and who trains together: what a folder with locks says."""

import os

import pytest

from nmt_cli.distributed import membership
from nmt_cli.distributed.cluster import Cluster
from nmt_cli.distributed.membership import Membership
from nmt_cli.errors import ConfigError

WORKERS = ("a:1", "b:2", "c:3")


class Machines:
    """Machines of one process: each has files, and so locks, of its own."""

    def __init__(self, folder) -> None:
        self.folder, self.said = folder, []

    def come(self, index: int) -> Membership:
        checkpoints = self.folder / "checkpoints"
        return Membership(
            self.folder / "elastic", checkpoints, Cluster(WORKERS, index), self.said.append
        )


def die(machine: Membership) -> None:
    """Let go of what the system takes from a process that ends."""
    for file in filter(None, (machine._file, machine._leader)):
        os.close(file)


@pytest.fixture
def machines(tmp_path, monkeypatch) -> Machines:
    monkeypatch.setattr(membership, "GRACE_S", 0.0)
    monkeypatch.setattr(membership, "_SETTLE_S", 0.0)
    return Machines(tmp_path)


@pytest.fixture
def trio(machines):
    """Three machines in their first generation."""
    found = [machines.come(index) for index in range(3)]
    generations = [machine.look() for machine in found]
    assert {generation.workers for generation in generations} == {WORKERS}
    return found, generations[0]


def test_a_run_begins_when_all_are_there(machines):
    a, b = machines.come(0), machines.come(1)
    assert a.look() is None
    assert b.look() is None  # a leads
    assert machines.said == [
        f"waiting for worker 2 (c:3); {machines.folder}/elastic must be the same on all machines"
    ]
    c = machines.come(2)
    assert c.look() is None
    first = a.look()
    assert first.workers == WORKERS
    assert first.told(0) == ""
    assert (b.look(), c.look()) == (first, first)
    assert not a.is_over(first)
    assert not a.has_newcomer(first)


def test_an_address_is_for_one_process(machines):
    machines.come(0)
    with pytest.raises(ConfigError, match=r"worker 0 \(a:1\) is running already"):
        machines.come(0)


def test_who_dies_is_left_out_and_joins_when_it_comes_back(machines, trio):
    (a, b, c), first = trio
    die(b)
    assert a.is_over(first)
    a.end(first)
    assert c.is_over(first)
    assert a.look() is None  # c has not ended
    c.end(first)
    second = a.look()
    assert second.workers == ("a:1", "c:3")
    assert second.token != first.token
    assert second.told(7).startswith("worker 1 (b:2) was lost; continuing from step 7 with 2 of 3 ")
    assert c.look() == second
    b = machines.come(1)
    assert b.look() is None
    assert a.has_newcomer(second)
    assert not c.has_newcomer(second)  # the leader sees to it
    for machine in (a, c):
        machine.end(second)
    third = a.look()
    assert third.workers == WORKERS
    assert third.news == "worker 1 (b:2) joined"
    assert b.look() == third


def test_another_one_leads_when_the_leader_dies(trio):
    (a, b, c), first = trio
    die(a)
    assert b.is_over(first)
    for machine in (b, c):
        machine.end(first)
    second = b.look()
    assert second.workers == ("b:2", "c:3")
    assert c.look() == second


def test_one_that_is_started_again_at_once_ends_the_generation(machines, trio):
    (a, b, c), first = trio
    die(b)
    b = machines.come(1)
    assert a.is_over(first)
    for machine in (a, c):
        machine.end(first)
    assert a.look().news == "all workers began again"


def test_who_finishes_is_not_lost_and_waits_for_the_chief(trio):
    (a, b, c), first = trio
    for machine in (b, c):
        machine.finish(first)
    die(c)
    assert not a.is_over(first)
    assert not b.is_finished(first)
    a.finish(first)
    assert b.is_finished(first)


def test_who_finishes_takes_over_when_the_chief_dies(trio):
    (a, b, c), first = trio
    for machine in (b, c):
        machine.finish(first)
    die(a)
    assert b.is_over(first)
    for machine in (b, c):
        machine.end(first)
    assert b.look().workers == ("b:2", "c:3")


def test_machines_that_were_all_killed_need_not_all_come_back(machines, trio):
    (a, b, c), first = trio
    for machine in (a, b, c):
        die(machine)
    b = machines.come(1)
    second = b.look()
    assert second.workers == ("b:2",)
    assert second.number == first.number + 1
    assert second.told(3) == ""  # it resumes, which is told anyhow


def test_one_that_has_said_nothing_yet_does_not_wait(machines, trio):
    (a, _, c), first = trio
    (machines.folder / "elastic" / "b:2").write_text("")  # it was started a moment ago
    for machine in (a, c):
        machine.end(first)
    assert a.look() is None
