"""Machines that are gone: noticed, named, and only after a second look."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import tensorflow as tf

from nmt_cli.distributed import peers as peers_module
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.distributed.peers import Peers
from nmt_cli.errors import TrainingError


@pytest.fixture
def cluster():
    """A cluster seen from worker 0: worker 1 answers, worker 2 does not."""
    with socket.create_server(("127.0.0.1", 0)) as there, socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))  # taken, but it does not listen
        ports = (1, there.getsockname()[1], gone.getsockname()[1])
        yield Cluster(tuple(f"127.0.0.1:{port}" for port in ports), 0)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(peers_module.time, "monotonic", lambda: now[0])
    return now


def test_who_does_not_answer_twice_is_lost(cluster, clock):
    peers = Peers(cluster)
    for seconds in (1.0, 11.0, 12.0):  # too early, a first look, too early again
        clock[0] = seconds
        peers.check()
    clock[0] = 22.0
    with pytest.raises(TrainingError, match=r"worker 2 \(127.0.0.1:\d+\) is lost"):
        peers.check()


def test_nobody_is_missed_when_the_run_is_over_or_alone(cluster, clock):
    dismissed = Peers(cluster)
    dismissed.dismiss()
    for peers in (dismissed, Peers(ALONE)):
        for seconds in (11.0, 22.0, 33.0):
            clock[0] = seconds
            peers.check()


def test_an_error_of_tensorflow_is_blamed_on_who_is_gone(cluster):
    with (
        pytest.raises(TrainingError, match=r"^worker 2 \(\S+\) is lost") as caught,
        Peers(cluster).blamed(),
    ):
        raise tf.errors.UnavailableError(None, None, "recvmsg")
    assert caught.value.exit_code == 5


def test_who_still_answers_is_named_by_tensorflow(cluster):
    peers = Peers(Cluster(cluster.workers[:2], 0))
    text = "Error reported from /job:worker/task:1: tasks: /job:worker/replica:0/task:1 crashed"
    with pytest.raises(TrainingError, match="worker 1"), peers.blamed():
        raise tf.errors.UnavailableError(None, None, text)
    with pytest.raises(tf.errors.UnavailableError), peers.blamed():
        raise tf.errors.UnavailableError(None, None, "no name, and all are there")


# What TensorFlow says to a machine whose heartbeats came too late.
GIVEN_UP = (
    "Collective ops is aborted by: Unexpected heartbeat request from an already-in-error task: "
    "/job:worker/replica:0/task:1 with existing error: UNAVAILABLE: Task "
    "/job:worker/replica:0/task:1 heartbeat timeout. This indicates that the remote task has "
    "failed, got preempted, or crashed unexpectedly."
)


def test_a_machine_that_was_given_up_says_so(cluster):
    """Seen from worker 1, whom worker 0 gave up though both are there."""
    with socket.create_server(("127.0.0.1", 0)) as chief:
        addresses = (f"127.0.0.1:{chief.getsockname()[1]}", cluster.workers[1])
        peers = Peers(Cluster(addresses, 1))
        with pytest.raises(TrainingError) as caught, peers.blamed():
            raise tf.errors.AbortedError(None, None, GIVEN_UP)
        assert f"worker 0 ({addresses[0]}) gave up this machine: it was silent" in str(caught.value)
        peers = Peers(Cluster(addresses, 0))
        with (
            pytest.raises(TrainingError, match="the others gave up this machine: it was"),
            peers.blamed(),
        ):
            raise tf.errors.AbortedError(None, None, GIVEN_UP.replace("task:1", "task:0"))
        peers = Peers(Cluster(addresses, 1))
        own = "Error reported from /job:worker/task:1: a shape is wrong"
        with pytest.raises(tf.errors.InvalidArgumentError), peers.blamed():
            raise tf.errors.InvalidArgumentError(None, None, own)


def test_a_chief_that_is_frozen_is_lost(cluster):
    """Its port takes connections still; seen from worker 1, after worker 2 left because of it."""
    text = (
        "Collective ops is aborted by: Deadline Exceeded\n\nRPC: /tensorflow.CoordinationService/"
    )
    with socket.create_server(("127.0.0.1", 0)) as chief:
        addresses = (f"127.0.0.1:{chief.getsockname()[1]}", *cluster.workers[1:])
        with pytest.raises(TrainingError) as caught, Peers(Cluster(addresses, 1)).blamed():
            raise tf.errors.DeadlineExceededError(
                None, None, f"{text}Heartbeat\nThe error could be"
            )
    assert str(caught.value) == f"worker 0 ({addresses[0]}) is lost"
    assert caught.value.exit_code == 5


def test_who_did_not_connect_is_named(cluster, monkeypatch):
    """Worker 1 answers as TensorFlow does, worker 2 is gone, worker 3 says nothing."""
    monkeypatch.setattr(peers_module, "_TIMEOUT_S", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as mute,
        ThreadPoolExecutor() as pool,
    ):
        answers, other = (f"127.0.0.1:{s.getsockname()[1]}" for s in (server, mute))
        workers = (cluster.workers[0], answers, cluster.workers[2], other)
        accepted = pool.submit(server.accept)
        accepted.add_done_callback(lambda done: done.result()[0].sendall(b"hello"))
        late = Peers(Cluster(workers, 0)).late()
        accepted.result()[0].close()
    names = f"worker 2 ({workers[2]}) and worker 3 ({other})"
    assert str(late) == f"{names} did not connect in time"
    assert late.exit_code == 5


@pytest.mark.parametrize("error", [tf.errors.ResourceExhaustedError, tf.errors.UnavailableError])
def test_other_errors_stay_what_they_are(error, cluster):
    whose = cluster if error is tf.errors.ResourceExhaustedError else ALONE
    with pytest.raises(error), Peers(whose).blamed():
        raise error(None, None, "x")
