"""A process that trains in children: how it ends when a child ends, and the other way round."""

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import os, sys, time
from pathlib import Path
from nmt_cli.distributed.cluster import Cluster
from nmt_cli.distributed.elastic import Supervisor
from nmt_cli.distributed.membership import Membership
from nmt_cli.errors import WorkerLost

def train(part, generation, asked):
    assert not part.workers and part.is_chief
    with Path("children").open("a") as children:
        print(os.getpid(), file=children)
    {body}

cluster = Cluster(("127.0.0.1:1",), 0)
members = Membership(Path("elastic"), Path("checkpoints"), cluster, print)
Supervisor(members, cluster, train, print).run()
"""
UNTIL_ASKED = "while not asked(): time.sleep(0.01)\n    sys.exit(128 + asked())"
ONCE_LOST = "if generation.number == 1: raise WorkerLost('worker 7 is lost')"


def start(folder, body: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT.format(body=body)]
    return subprocess.Popen(command, cwd=folder, stdout=-1, stderr=-1, text=True)


def children(folder) -> list[int]:
    """Wait for the first child and return all that there were."""
    ends_at = time.monotonic() + 60
    while not (path := folder / "children").exists() or not path.read_text().endswith("\n"):
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    return [int(line) for line in path.read_text().split()]


@pytest.mark.parametrize(
    ("body", "code", "count", "told"),
    [
        ("pass", 0, 1, ""),
        ("sys.exit(2)", 2, 1, ""),
        (ONCE_LOST, 0, 2, "worker 7 is lost"),
        ("os.kill(os.getpid(), 9)", 1, 2, "training was killed twice by signal 9"),
        ("os.kill(os.getpid(), 9) if generation.number == 1 else None", 0, 2, "all begin again"),
    ],
)
def test_a_child_that_ends(tmp_path, body, code, count, told):
    process = start(tmp_path, body)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    assert told in stdout + stderr
    assert len(children(tmp_path)) == count


def test_a_machine_that_is_asked_to_stop_lets_its_child_save(tmp_path):
    process = start(tmp_path, UNTIL_ASKED)
    children(tmp_path)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, stderr
    assert stdout.startswith("stopping after this step, then saving")


def test_no_child_outlives_its_parent(tmp_path):
    process = start(tmp_path, "time.sleep(600)")
    children(tmp_path)
    process.kill()
    process.communicate(timeout=60)  # which ends when nobody has these pipes any more
