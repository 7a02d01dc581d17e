"""Trains on machines of a Ray cluster that see this folder; the same command, run again, resumes.

    python ray-train.py my.yaml --machines 4 [OPTIONS OF nmt train]

Needs nmt-cli[ray] on all machines. Ctrl-C or SIGTERM stops all of them with a checkpoint.
"""

import argparse
import signal
import subprocess
import sys
from pathlib import Path

import ray

PORT = 2222  # of the first machine; others that share it have the next ones


class Machine:
    """One of the machines; Ray shows here what it writes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def address(self, index: int) -> str:
        """Return where the others find it."""
        return f"{ray.util.get_node_ip_address()}:{PORT + index}"

    def train(self, folder: str, *arguments: str) -> int:
        """Train, and return the exit code, as a shell would: 128 and the signal that ended it."""
        command = [sys.executable, "-m", "nmt_cli", "train", *arguments]
        self._process = subprocess.Popen(command, cwd=folder)  # noqa: S603 - what was asked for
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """Save a checkpoint and end."""
        if self._process:
            self._process.terminate()


def main() -> int:
    """Train on all machines; return the highest exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--machines", type=int, required=True)
    parser.add_argument("--cpus", type=int, default=1, help="cores to reserve on each")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs to reserve on each")
    known, options = parser.parse_known_args()
    ray.init()  # the cluster that `ray start` made this machine part of
    machine = ray.remote(Machine).options(
        num_cpus=known.cpus,
        num_gpus=known.gpus,
        max_concurrency=2,  # to be stopped while it trains
        scheduling_strategy="SPREAD",
    )
    machines = [machine.remote() for _ in range(known.machines)]
    workers = ",".join(ray.get([one.address.remote(i) for i, one in enumerate(machines)]))
    shared = [known.config, *options, "--workers", workers]
    begun = [
        one.train.remote(str(Path.cwd()), *shared, "--worker-index", str(index))
        for index, one in enumerate(machines)
    ]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return max(ray.get(begun))
    except KeyboardInterrupt:
        ray.get([one.stop.remote() for one in machines])
        return max(ray.get(begun))


if __name__ == "__main__":
    sys.exit(main())
