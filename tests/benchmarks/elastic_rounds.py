"""Does a run whose machines die and come back end as one that nobody left?

    python tests/benchmarks/elastic_rounds.py [ROUNDS] [SEED]

Each round trains a tiny model, without dropout, on three machines (processes on loopback) with
`--elastic`. One is killed at a random step, later another one; then the first one comes back.
Meanwhile a stranger calls all ports, with garbage, HTTP, too much, or nothing. The losses on dev
must be those of the run that nobody left, to 1e-5. At the end two machines are killed together and
started again.

Prints JSON: rounds, those that were equal, the largest difference, the seconds lost at each change.
"""

import contextlib
import itertools
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kill_rounds import RUN, write_texts

STEPS = 300
SETTINGS = {
    **{f"model.{kind}dropout": 0 for kind in ("", "attention_", "activation_")},
    # Sums in another order may fall on the other side of a kink of ReLU; GELU has none.
    "model.activation": "gelu",
    **{"train.max_steps": STEPS, "train.eval_steps": 60, "train.checkpoint_steps": 10},
    **{"train.accumulate_steps": 4, "train.learning_rate": 2e-3, "train.keep_checkpoints": 5},
}
TOLERANCE = 1e-5
PATIENCE_S = 600
MOST_LINES = 50  # that the stranger holds
NONSENSE = (
    b"GET / HTTP/1.1\r\nHost: nmt\r\n\r\n",
    bytes(range(256)),
    b"{" * 1_000_000,
    b"0 " + b"f" * 64 + b' {"version": "0", "workers": [], "index": 1}\n',
    b"",
)


class Machines:
    """Machines of one run, each a process that is started, killed and started again."""

    def __init__(self, folder: Path, count: int) -> None:
        write_texts(folder)
        self.folder, self._ports = folder, free_ports(count)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._over = threading.Event()
        for index in range(count):
            self.start(index)
        self._stranger = threading.Thread(target=self._be_a_stranger)
        self._stranger.start()

    def start(self, index: int) -> None:
        """Start a machine."""
        workers = ",".join(f"127.0.0.1:{port}" for port in self._ports)
        command = [sys.executable, "-m", "nmt_cli", "train", "toy.yaml", *options(), "--elastic"]
        command += ["--workers", workers, "--worker-index", str(index)]
        with self.log(index).open("ab") as log:
            self._processes[index] = subprocess.Popen(command, cwd=self.folder, stderr=log)

    def kill(self, index: int) -> None:
        """End a machine as a loss of power does."""
        process = self._processes.pop(index)
        process.kill()
        process.wait()

    def wait(self) -> None:
        """Wait for the end of the run."""
        for index, process in self._processes.items():
            if code := process.wait(PATIENCE_S):
                raise SystemExit(f"worker {index}: exit {code}: {self.log(index).read_text()}")

    def wait_for_step(self, step: int) -> None:
        """Wait until a step is done that others follow."""
        self.wait_until(lambda: self._last_step() >= step, f"step {step}")

    def wait_for_change(self, number: int) -> None:
        """Wait until so many changes of the group were told."""
        self.wait_until(lambda: len(self.told()) >= number, f"change {number}")

    def wait_until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so; a run that ends before is an error."""
        ends_at = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > ends_at or self._has_ended():
                logs = "\n\n".join(path.read_text() for path in self.folder.glob("*.log"))
                raise SystemExit(f"{what} does not come:\n{logs}")
            time.sleep(0.05)

    def _has_ended(self) -> bool:
        return any(process.poll() is not None for process in self._processes.values())

    def log(self, index: int) -> Path:
        """Return what a machine says."""
        return self.folder / f"worker-{index}.log"

    def chief(self) -> int:
        """Return which machine is the chief now."""
        path = self.folder / RUN / "elastic" / "generation.json"
        address = json.loads(path.read_text())["workers"][0]
        return self._ports.index(int(address.rpartition(":")[2]))

    def told(self) -> dict[str, int]:
        """Return each line about a change, and the seconds that it says were lost."""
        text = "".join(path.read_text() for path in self.folder.glob("*.log"))
        return {line: int(s) for line, s in re.findall(r"^(.*); (\d+) s lost$", text, re.MULTILINE)}

    def close(self) -> None:
        """End all that is left."""
        self._over.set()
        self._stranger.join()
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _last_step(self) -> int:
        return max((event["step"] for event in events(self.folder)), default=0)

    def _be_a_stranger(self) -> None:
        lines = list[socket.socket]()
        for port, text in zip(itertools.cycle(self._ports), itertools.cycle(NONSENSE)):
            if self._over.wait(0.1):
                break
            if len(lines) == MOST_LINES:
                lines.pop(0).close()
            with contextlib.suppress(OSError):
                lines.append(socket.create_connection(("127.0.0.1", port), 1))
                lines[-1].sendall(text)
        for line in lines:
            line.close()


def options() -> list[str]:
    """Return the options of the command that all machines have."""
    return [f"--set={key}={value}" for key, value in SETTINGS.items()]


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what the log of a run has by now."""
    path = folder / RUN / "events.jsonl"
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):  # half a line
            yield json.loads(line)


def losses(folder: Path) -> dict[str, float]:
    """Return the loss of each evaluation of a run."""
    found = [event for event in events(folder) if event["event"] == "Evaluated"]
    return {f"{event['label']} {event['step']}": event["dev_loss"] for event in found}


def free_ports(count: int) -> list[int]:
    """Return ports at which nobody listens, and from which nobody calls by chance."""
    found = list[int]()
    while len(found) < count:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            found.append(port)
    return found


def undisturbed(machines: Machines, _: random.Random) -> None:
    """Let a run come to its end."""
    machines.wait()


def two_leave_and_one_comes_back(machines: Machines, generator: random.Random) -> None:
    """Kill one of three machines, then another one; start the first one again."""
    first, second = generator.sample(range(3), 2)
    machines.wait_for_step(generator.randint(10, 60))
    time.sleep(generator.random())
    machines.kill(first)
    machines.wait_for_change(1)
    machines.wait_for_step(generator.randint(80, 140))
    machines.kill(second)
    machines.wait_for_change(2)
    machines.wait_for_step(generator.randint(150, 180))
    machines.start(first)
    machines.wait_for_change(3)
    machines.wait()


def both_are_killed(machines: Machines, generator: random.Random) -> None:
    """Kill two machines at once; start them again with the same commands."""
    machines.wait_for_step(generator.randint(20, 200))
    for index in (0, 1):
        machines.kill(index)
    for index in (0, 1):
        machines.start(index)
    machines.wait()


Story = Callable[[Machines, random.Random], None]


def train(count: int, story: Story, seed: int) -> tuple[dict[str, float], dict[str, int]]:
    """Return the losses of a run on `count` machines, and what it told of changes."""
    with (
        tempfile.TemporaryDirectory() as place,
        contextlib.closing(Machines(Path(place) / "shared", count)) as machines,
    ):
        story(machines, random.Random(seed))
        return losses(machines.folder), machines.told()


def main() -> None:
    """Kill and compare."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    expected, _ = train(3, undisturbed, seed)
    plans: list[tuple[int, Story]] = [(3, two_leave_and_one_comes_back)] * rounds
    plans.append((2, both_are_killed))
    differences, lost = list[float](), list[int]()
    for number, (count, story) in enumerate(plans):
        begin = time.monotonic()
        found, told = train(count, story, seed * 1000 + number)
        if found.keys() != expected.keys():
            raise SystemExit(f"round {number}: evaluated {[*found]}, not {[*expected]}")
        differences.append(max(abs(loss - expected[label]) for label, loss in found.items()))
        lost += told.values()
        seconds = time.monotonic() - begin
        print(f"round {number}: {differences[-1]:.1e} in {seconds:.0f} s", file=sys.stderr)
        for line, gone in told.items():
            print(f"    {line}; {gone} s lost", file=sys.stderr, flush=True)
    equal = sum(difference <= TOLERANCE for difference in differences)
    facts = {"rounds": rounds, "both_killed": 1, "equal": equal, "evaluations": len(expected)}
    print(json.dumps(facts | {"largest_difference": max(differences), "seconds_lost": lost}))


if __name__ == "__main__":
    main()
