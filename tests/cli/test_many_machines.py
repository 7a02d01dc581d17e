"""Two machines on loopback: the results of one, what happens when one dies, who else gets in."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_cli.distributed import addresses
from nmt_cli.distributed.cluster import split_address

STEPS = 50
SECONDS_TO_NOTICE = 60
ENDLESS = {
    "train.max_steps": 1_000_000, "train.eval_steps": 1_000_000, "train.checkpoint_steps": 10,
}  # fmt: skip
TWO = ("--workers", "127.0.0.1:1,127.0.0.1:2", "--worker-index", "0")


@contextlib.contextmanager
def two_workers(
    config: Path, cwd: Path, *, count: int = 2, of_last: str = "", **settings: Any
) -> Iterator[list[subprocess.Popen[str]]]:
    """Start `nmt train` as worker 0 and worker 1, each in a folder of its own: no shared disk.

    `count` of 1 leaves worker 1 out; `of_last` is an option that worker 1 alone gets.
    """
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{free.getsockname()[1]}" for free in (one, other)]
    options = [f"--set={key}={value}" for key, value in settings.items()]
    workers = []
    for index in range(count):
        folder = cwd / f"machine-{index}"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "nmt_cli", "train", str(config), *options]
        command += ["--workers", ",".join(addresses), "--worker-index", str(index)]
        command += [of_last] if of_last and index == 1 else []
        workers.append(subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True))
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def events(run: Path) -> list[dict[str, Any]]:
    path = run / "events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def dev_losses(run: Path) -> list[float]:
    return [event["dev_loss"] for event in events(run) if event["event"] == "Evaluated"]


def wait_for_step(run: Path, step: int) -> None:
    """Wait until a checkpoint of this step or a later one is there."""
    end = time.monotonic() + 240
    while not any(int(p.name[5:13]) >= step for p in run.glob("checkpoints/step-*")):
        assert time.monotonic() < end, "training does not begin"
        time.sleep(0.1)


def test_two_machines_train_what_one_trains(toy_corpus, tmp_path, run_nmt):
    steps = {"max_steps": STEPS, "eval_steps": STEPS // 2, "accumulate_steps": 2}
    settings = {f"train.{key}": value for key, value in steps.items()}
    # Sums in another order may fall on the other side of a kink of ReLU; GELU has none.
    settings["model.activation"] = "gelu"
    options = [f"--set={key}={value}" for key, value in settings.items()]
    with two_workers(toy_corpus / "toy.yaml", tmp_path, **settings) as workers:
        alone = run_nmt("train", str(toy_corpus / "toy.yaml"), *options, cwd=tmp_path)
        assert alone.returncode == 0, alone.stderr
        for worker in workers:
            _, stderr = worker.communicate(timeout=300)
            assert worker.returncode == 0, stderr

    one, two = tmp_path / "runs" / "toy", tmp_path / "machine-0" / "runs" / "toy"
    assert len(dev_losses(one)) == len(dev_losses(two)) == 3  # and one of an average
    assert dev_losses(two) == pytest.approx(dev_losses(one), abs=1e-5)
    tensors, same = (
        load_file(run / "checkpoints" / f"step-{STEPS:08d}" / "weights.safetensors")
        for run in (one, two)
    )
    for name, array in tensors.items():
        assert np.abs(array - same[name]).max() < 1e-5 * np.abs(array).max(), name
    # The other machine has its encoded text and nothing else.
    made = {path.name for path in (tmp_path / "machine-1/runs/toy/worker-1").iterdir()}
    assert not made & {"config.yaml", "checkpoints", "model", "events.jsonl", "tensorboard"}
    assert [path.name for path in (tmp_path / "machine-1/runs/toy").iterdir()] == ["worker-1"]


def is_let_in(port: int, source: str) -> bool:
    """Whether TensorFlow answers to an address of this machine."""
    try:
        with socket.create_connection(
            ("127.0.0.1", port), 1, source_address=(source, 0)
        ) as connection:
            return bool(connection.recv(1))
    except OSError:
        return False


def test_a_killed_machine_ends_the_other_and_both_go_on(toy_corpus, tmp_path):
    config, run = toy_corpus / "toy.yaml", tmp_path / "machine-0" / "runs" / "toy"
    with two_workers(config, tmp_path, **ENDLESS) as (chief, other):
        wait_for_step(run, 10)
        has_guard = addresses.can_admit(["127.0.0.1"])
        for worker in (chief, other):
            _, port = split_address(worker.args[-3].split(",")[int(worker.args[-1])])
            assert is_let_in(port, "127.0.0.1")
            assert is_let_in(port, "127.0.0.2") is not has_guard
        other.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        _, stderr = chief.communicate(timeout=SECONDS_TO_NOTICE)
        assert time.monotonic() - killed < SECONDS_TO_NOTICE
        assert chief.returncode == 5
        assert "error: worker 1 (127.0.0.1:" in stderr
        assert "is lost" in stderr
        assert stderr.startswith("warning: TensorFlow's connections between machines have no pass")

    reached = max(int(path.name[5:13]) for path in run.glob("checkpoints/step-*"))
    with two_workers(config, tmp_path, **ENDLESS | {"train.max_steps": reached + 20}) as workers:
        for worker in workers:
            _, stderr = worker.communicate(timeout=300)
            assert worker.returncode == 0, stderr
            assert f"resuming from step {reached:,}" in stderr
    assert events(run)[-1]["step"] == reached + 20


def test_sigterm_ends_a_machine_that_waits_for_the_others(toy_corpus, tmp_path):
    with two_workers(toy_corpus / "toy.yaml", tmp_path, count=1) as [chief]:
        assert chief.stderr is not None
        assert any("waiting for the others" in line for line in chief.stderr)
        time.sleep(5)
        chief.send_signal(signal.SIGTERM)
        _, stderr = chief.communicate(timeout=60)
        assert chief.returncode == 143, stderr


def test_a_stop_on_one_machine_is_told_by_all_and_ends_none_as_finished(toy_corpus, tmp_path):
    config, run = toy_corpus / "toy.yaml", tmp_path / "machine-0" / "runs" / "toy"
    with two_workers(config, tmp_path, **ENDLESS) as (chief, other):
        wait_for_step(run, 10)
        other.send_signal(signal.SIGTERM)
        _, of_other = other.communicate(timeout=120)
        _, of_chief = chief.communicate(timeout=120)
        assert (chief.returncode, other.returncode) == (143, 143), of_chief
    assert re.search(r"^worker 1 \(127.0.0.1:\d+\) was asked to stop$", of_chief, re.MULTILINE)
    assert "was asked to stop" not in of_other
    assert "saved at step" in of_chief
    stopped = events(run)[-1]
    assert (stopped["event"], stopped["signal"]) == ("Finished", signal.SIGTERM)


def test_other_settings_are_named_on_every_machine(toy_corpus, tmp_path):
    other = "--set=model.dropout=0.25"
    with two_workers(toy_corpus / "toy.yaml", tmp_path, of_last=other) as workers:
        for worker in workers:
            _, stderr = worker.communicate(timeout=300)
            assert worker.returncode == 2, stderr
            assert "has other settings than worker 0: model.dropout\n" in stderr
            assert "error: worker 1 (127.0.0.1:" in stderr


@pytest.mark.slow
def test_a_machine_that_stalls_is_waited_for_and_then_given_up(toy_corpus, tmp_path):
    config, run = toy_corpus / "toy.yaml", tmp_path / "machine-0" / "runs" / "toy"
    with two_workers(config, tmp_path, **ENDLESS) as (chief, other):
        wait_for_step(run, 10)
        other.send_signal(signal.SIGSTOP)
        time.sleep(20)  # TensorFlow by itself gives up after ten seconds
        other.send_signal(signal.SIGCONT)
        reached = max(int(path.name[5:13]) for path in run.glob("checkpoints/step-*"))
        wait_for_step(run, reached + 20)
        other.send_signal(signal.SIGSTOP)
        _, of_chief = chief.communicate(timeout=2 * SECONDS_TO_NOTICE)
        other.send_signal(signal.SIGCONT)
        _, of_other = other.communicate(timeout=SECONDS_TO_NOTICE)
    assert (chief.returncode, other.returncode) == (5, 5), of_chief + of_other
    assert "error: worker 1 (127.0.0.1:" in of_chief
    [error] = [line for line in of_other.splitlines() if line.startswith("error: ")]
    assert re.search(r"worker 0 .* gave up|worker 0 \(127.0.0.1:\d+\) is lost", error)


def test_nonsense_about_machines_is_told_before_anything_is_done(toy_corpus, tmp_path, run_nmt):
    config = str(toy_corpus / "toy.yaml")
    for options, message in (
        (("--workers", "a:1,b", "--worker-index", "0"), "'b' is not host:port"),
        (("--workers", "a:1,b:1", "--worker-index", "2"), "--worker-index is 2"),
        (("--workers", "a:1,b:1"), "--workers and --worker-index must be given together"),
        (("--workers", "8.8.8.8:1,127.0.0.1:1", "--worker-index", "1"), "may be on a public"),
        ((*TWO, "--cluster-token-file", "none"), "--cluster-token-file: none: No such file"),
    ):
        done = run_nmt("train", config, *options, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    assert not (tmp_path / "runs").exists()
