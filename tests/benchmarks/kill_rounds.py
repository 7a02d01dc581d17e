"""Does a run that is killed again and again end as one that never was?

    python tests/benchmarks/kill_rounds.py [ROUNDS] [SEED]

Each round trains a tiny model with everything random (three dropouts, accumulation, a moving
average) and kills it up to three times: in every other round at random moments, in the others at a
random file operation, right before it or in the middle of a write. The same command goes on each
time. At the end weights, optimizer, averages, bundle, and the steps and scores in `events.jsonl`
must be those of the uninterrupted run, bit for bit.

Prints JSON: rounds, those that were equal, where the kills fell. Sessions are processes forked from
one that has imported TensorFlow and not used it.
"""

import collections
import contextlib
import hashlib
import json
import mmap
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from nmt_cli import cli
from nmt_cli.bundle import folder as bundle_folder
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.training import checkpoint, run_folder

CONFIG = """\
name: toy
task: chat
data:
  train: [{file: train.tsv, columns: [1, 2]}]
  dev: [{file: dev.tsv, columns: [1, 2]}]
tokenizer: {vocab_size: 330}
model: {d_model: 16, d_ff: 16, num_heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.1,
        attention_dropout: 0.1, activation_dropout: 0.1, max_length: 24}
train: {max_steps: 24, tokens_per_batch: 400, accumulate_steps: 2, learning_rate: 2.0e-2,
        warmup_steps: 4, precision: float32, lanes: 2, eval_steps: 5, checkpoint_steps: 3,
        keep_checkpoints: 3, average_checkpoints: 3, average_decay: 0.9}
decode: {beam_size: 1, max_length: 6}
"""
RUN = Path("runs/toy")
AUDITED = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate")
MOST_KILLS = 3


class Operations:
    """Counts a session's file operations; ends the process at one of them. Shared by forks."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 64)
        self._lock = threading.Lock()

    def install(self, fatal: int | None) -> None:
        """Begin to count; operation number `fatal` (from 1) is not done any more."""
        self._memory[:] = bytes(64)
        count, here = 0, str(Path.cwd())

        def operation(name: str) -> None:
            nonlocal count
            with self._lock:
                count += 1
                self._memory[:] = json.dumps([count, name]).encode().ljust(64, b"\0")
                if count == fatal:
                    os.kill(os.getpid(), signal.SIGKILL)

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event not in AUDITED or not isinstance(arguments[0], str):
                return
            is_read = event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if not is_read and os.path.abspath(arguments[0]).startswith(here):  # noqa: PTH100
                operation(event)

        sys.addaudithook(audit)
        _interrupt_writes(operation)

    def last(self) -> tuple[int, str]:
        """Return the number and the name of the last operation of the session before."""
        text = bytes(self._memory).rstrip(b"\0").decode()
        return tuple(json.loads(text)) if text else (0, "")


def _interrupt_writes(operation: Callable[[str], None]) -> None:
    """Make writes and flushes operations, too: before, and when half is written."""
    fsync, save_file = os.fsync, checkpoint.save_file

    def flushed(handle: int) -> None:
        operation("fsync")
        fsync(handle)

    def saved(arrays: Any, path: Path) -> None:
        operation("write arrays")
        save_file(arrays, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        operation("half the arrays")
        path.write_bytes(whole)

    def appended(log: run_folder.EventLog, event: dict[str, Any]) -> None:
        line = json.dumps(event, ensure_ascii=False).encode() + b"\n"
        for name, part in (("write event", line[:9]), ("half an event", line[9:])):
            operation(name)
            with log._path.open("ab") as stream:
                stream.write(part)
        log.size += len(line)

    os.fsync, checkpoint.save_file, run_folder.EventLog.append = flushed, saved, appended
    sys.modules["safetensors.numpy"].save_file = saved  # folder.py imports it when it is needed
    assert not hasattr(bundle_folder, "save_file")


def session(operations: Operations, folder: Path, *, fatal: int | None, moment: float) -> int:
    """Run `nmt train` in a process of its own and return how it ended.

    Args:
        operations: Counts; told the fatal one.
        folder: The working folder.
        fatal: The file operation to die at, or None.
        moment: Seconds after which it is killed; infinity for never.
    """
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        with Path("session.log").open("ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.argv = ["nmt", "train", "toy.yaml"]
        operations.install(fatal)
        code = 1
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            os._exit(code)
    deadline = time.monotonic() + moment
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.005)


def state_of(folder: Path) -> dict[str, Any]:
    """Return all of a finished run that must not depend on how often it was killed."""
    run_folder = folder / RUN
    found: dict[str, Any] = {}
    for path in sorted((run_folder / "checkpoints").iterdir()):
        progress = json.loads((path / "state.json").read_text())["progress"]
        found[path.name] = {k: v for k, v in progress.items() if k not in ("seconds", "log_bytes")}
        for file in sorted(path.glob("*.safetensors")):
            for name, array in load_file(file).items():
                key = f"{path.name}/{file.stem}/{name}"
                found[key] = hashlib.sha256(array.tobytes()).hexdigest()
    model = run_folder / "model"
    found["bundle"] = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    found["scores"] = json.loads((model / "bundle.json").read_text())["scores"]
    events = [json.loads(line) for line in (run_folder / "events.jsonl").read_text().splitlines()]
    timeless = [{k: v for k, v in e.items() if k != "seconds"} for e in events]
    found["events"] = [e for e in timeless if e["event"] in ("StepDone", "Evaluated")]
    leftovers = (str(path.relative_to(folder)) for path in run_folder.rglob(".*"))
    return found | {f"{name} is left over": True for name in leftovers}


def write_texts(folder: Path) -> None:
    """Write the configuration and its texts: words for words."""
    generator = random.Random(1)
    words = ["red", "old", "big", "dog", "cat", "bird", "sees", "eats", "and", "not"]
    folder.mkdir()
    for split, count in (("train", 400), ("dev", 12)):
        rows = [" ".join(generator.choices(words, k=generator.randint(1, 5))) for _ in range(count)]
        lines = [f"{row}\t{row[::-1]}\n" for row in rows]
        (folder / f"{split}.tsv").write_text("".join(lines))
    (folder / "toy.yaml").write_text(CONFIG)


def one_round(number: int, operations: Operations, folder: Path, whole: dict[str, Any]) -> list:
    """Kill a run up to three times, then let it end; return where the kills fell."""
    generator = random.Random(whole["seed"] * 1000 + number)
    write_texts(folder)
    kills = []
    for _ in range(generator.randint(1, MOST_KILLS)):
        if number % 2:
            chosen = {"fatal": generator.randint(1, whole["operations"]), "moment": float("inf")}
        else:
            chosen = {"fatal": None, "moment": generator.uniform(0, whole["seconds"])}
        if session(operations, folder, **chosen) != -signal.SIGKILL:
            break
        kills.append(operations.last()[1] if number % 2 else "at a moment")
    code = session(operations, folder, fatal=None, moment=float("inf"))
    if code:
        raise SystemExit(f"round {number}: exit {code}: {(folder / 'session.log').read_text()}")
    return kills


def main() -> None:
    """Kill and compare."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    quiet_tensorflow()
    import nmt_cli.training.loop  # noqa: F401  (before the forks)

    operations, equal, fell = Operations(), 0, collections.Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "whole"
        write_texts(folder)
        begin = time.monotonic()
        assert session(operations, folder, fatal=None, moment=float("inf")) == 0
        whole = {"seconds": time.monotonic() - begin, "operations": operations.last()[0]}
        whole["seed"], expected = seed, state_of(folder)
        for number in range(rounds):
            folder = Path(place) / f"round-{number}"
            kills = one_round(number, operations, folder, whole)
            fell.update(kills)
            found = state_of(folder)
            differing = [
                k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k)
            ]
            equal += not differing
            verdict = f"differs in {sorted(differing)}" if differing else "equal"
            print(f"round {number}: {kills or 'no kill'}: {verdict}", file=sys.stderr, flush=True)
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
    facts = {"rounds": rounds, "equal": equal, "kills": sum(fell.values()), "fell": dict(fell)}
    print(json.dumps(facts | {"operations_of_a_run": whole["operations"]}))


if __name__ == "__main__":
    main()
