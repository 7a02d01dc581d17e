"""Tests of nmt_cli/text/parallel.py: in order, across processes, and none of them left behind."""

import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
from slow_adder import build_adder

from nmt_cli.errors import DataError, TrainingError
from nmt_cli.text.parallel import _HERE, map_in_order


def test_results_come_in_order_and_from_other_processes():
    found = list(map_in_order(build_adder, (100,), range(_HERE + 12)))
    assert [number for number, _ in found] == list(range(100, 100 + _HERE + 12))
    here, elsewhere = found[:_HERE], found[_HERE:]
    assert {process for _, process in here} == {os.getpid()}
    assert os.getpid() not in {process for _, process in elsewhere}


def test_few_chunks_need_no_other_process(monkeypatch):
    monkeypatch.setattr("nmt_cli.text.parallel.ProcessPoolExecutor", None)
    assert len(list(map_in_order(build_adder, (1,), range(_HERE)))) == _HERE
    assert list(map_in_order(build_adder, (1,), [])) == []


@pytest.mark.parametrize(
    ("content", "mode"),
    [("print('here')", 0o600), ("#!/bin/sh\nexit 1\n", 0o700), ("no program", 0o700)],
)
def test_without_an_interpreter_for_others_this_process_does_it_all(
    monkeypatch, tmp_path, content, mode
):
    (tmp_path / "python").write_text(content)
    (tmp_path / "python").chmod(mode)
    monkeypatch.setattr("multiprocessing.spawn.get_executable", lambda: str(tmp_path / "python"))
    found = list(map_in_order(build_adder, (1,), range(_HERE + 3)))
    assert {process for _, process in found} == {os.getpid()}
    assert [number for number, _ in found] == list(range(1, _HERE + 4))


@pytest.mark.timeout(60)
def test_a_worker_that_ends_at_its_start_is_told(monkeypatch, tmp_path):
    """What it works with is more than a pipe holds."""
    python = tmp_path / "python"
    worker_ends = 'case "$*" in *spawn_main*) exit 1;; esac'
    python.write_text(f'#!/bin/sh\n{worker_ends}\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setattr("multiprocessing.spawn.get_executable", lambda: os.fsencode(python))
    with pytest.raises(TrainingError, match="a process that encodes text was killed"):
        list(map_in_order(build_adder, (1 << 1_000_000,), range(_HERE + 3)))


def test_no_more_is_read_than_workers_need():
    read = []
    chunks = (read.append(chunk) or chunk for chunk in range(10_000))
    results = map_in_order(build_adder, (0,), chunks)
    assert len(list(islice(results, _HERE + 2))) == _HERE + 2
    results.close()
    assert len(read) < 1000


def test_what_is_wrong_with_the_text_is_told_as_it_is():
    with pytest.raises(DataError, match="no number") as caught:
        list(map_in_order(build_adder, (0,), [*range(_HERE + 3), -1, 7]))
    assert caught.value.hint == "write one"


def test_a_worker_that_was_killed_is_told():
    with pytest.raises(TrainingError, match="a process that encodes text was killed"):
        list(map_in_order(build_adder, (0,), [*range(_HERE), -2]))


SLEEPER = """\
import sys, time
sys.path.insert(0, {folder!r})
from nmt_cli.text.parallel import map_in_order

def build():
    return slow

def slow(chunk):
    time.sleep(0 if chunk < 6 else 100)

if __name__ == "__main__":
    for number, _ in enumerate(map_in_order(build, (), range(99))):
        print(number, flush=True)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_end_with_a_main_process_that_is_killed(tmp_path):
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER.format(folder=str(Path(__file__).parents[3])))
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    while process.stdout.readline().strip() != "5":
        pass
    workers = children(process.pid)
    assert workers
    process.kill()
    process.wait()
    process.stdout.close()
    ends = time.monotonic() + 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < ends
        time.sleep(0.05)


def children(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
