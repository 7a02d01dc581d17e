"""Does another version of nmt compute the same? Weights after 60 steps, and all outputs.

    python tests/benchmarks/same_results.py before.json [--data DIR] [--only NAME]...
    python tests/benchmarks/same_results.py after.json [--data DIR] --against before.json

Each call records what the nmt of this Python does: for every bundled configuration, in one lane
and in two, the SHA-256 of all weights after 60 steps in float32, and what translate, score, chat,
classify and evaluate print for fixed inputs. With --against it names what differs and exits with 1.
The numbers belong to one machine: record both there. DIR holds the sets of `nmt data` (a
configuration whose text is not there is left out).
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

CONFIGS = {
    "quickstart": "translation",
    "multi30k-en-de": "translation",
    "small-transformer": "translation",
    "transformer-base": "translation",
    "chat": "chat",
    "chat-ko-sample": "chat",
    "chat-ko": "chat",
    "sentiment": "classification",
    "intents": "classification",
}
LARGE = {"transformer-base": ["train.tokens_per_batch=512", "train.accumulate_steps=1"]}
TIMES = {"seconds", "latency_ms", "created", "date"}
LINES = ["The old man reads a book.", "A dog runs.", "", "Two girls are sitting in the garden!"]
KOREAN = ["안녕하세요", "오늘 뭐 해?", "배고파"]


def main() -> None:
    """Record, and compare when asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for name in arguments.only or CONFIGS:
        for lanes in (1, 2):
            if (result := _record(name, lanes, arguments.data)) is not None:
                found[f"{name}, lanes {lanes}"] = result
                arguments.output.write_text(json.dumps(found, indent=1, ensure_ascii=False))
                print(f"{name}, lanes {lanes}: {result['weights'][:16]}", flush=True)
    if arguments.against is not None:
        sys.exit(_compare(json.loads(arguments.against.read_text()), found))


def _record(name: str, lanes: int, data: Path | None) -> dict[str, Any] | None:
    """Return the hash of the weights and what each command prints; None without the text."""
    with tempfile.TemporaryDirectory() as folder:
        if data is not None:
            (Path(folder) / "data").symlink_to(data.resolve())
        values = ["train.max_steps=60", "train.precision=float32", f"train.lanes={lanes}"]
        values += LARGE.get(name, [])
        settings = [part for value in values for part in ("--set", value)]
        done = _nmt(["train", name, *settings], folder)
        if done.returncode == 3:
            return None
        if done.returncode:
            sys.exit(f"nmt train {name} ended with {done.returncode}: {done.stderr[-2000:]}")
        model = Path(folder) / "runs" / name / "model"
        digest = hashlib.sha256()
        for key, weight in sorted(load_file(model / "model.safetensors").items()):
            digest.update(key.encode() + weight.tobytes())
        return {"weights": digest.hexdigest(), **_outputs(name, folder)}


def _outputs(name: str, folder: str) -> dict[str, Any]:
    """Return what the commands of a task print."""
    lines = "\n".join(KOREAN if name.startswith("chat-ko") else LINES) + "\n"
    commands: dict[str, list[list[str]]] = {
        "translation": [
            ["translate", "--beam", "1"],
            ["translate", "--n-best", "3", "--json"],
            ["score", "The old man reads a book.", "Der alte Mann liest ein Buch.", "--json"],
        ],
        "chat": [["chat", "--seed", "1", "--json"], ["chat", "--beam", "3", "--json"]],
        "classification": [["classify", "--json"]],
    }
    every = [*commands[CONFIGS[name]], ["evaluate", "--split", "dev", "--json"]]
    found = {}
    for command in every:  # in one number format: the one in use is the fastest here and now
        found[" ".join(command)] = _printed([*command, "--format", "float32"], folder, lines)
    if CONFIGS[name] == "translation":
        sampled = ["translate", "--set", "top_k=5", "--engine", "tensorflow"]
        found[" ".join(sampled)] = _printed(sampled, folder, lines)
    return found


def _printed(command: list[str], folder: str, lines: str) -> Any:
    done = _nmt(command, folder, lines)
    if done.returncode:
        sys.exit(f"nmt {' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    if "--json" not in command:
        return done.stdout.split("\n")
    return [_without_times(json.loads(line)) for line in done.stdout.splitlines()]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Name what differs; return 1 when something does."""
    shared = before.keys() & after.keys()
    differing = [
        f"{run}: {what}"
        for run in sorted(shared)
        for what in sorted(before[run].keys() | after[run].keys())
        if before[run].get(what) != after[run].get(what)
    ]
    print("\n".join(differing) or f"all the same ({len(shared)} runs)")
    return int(bool(differing) or not shared)


def _nmt(command: list[str], folder: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nmt_cli", *command],
        cwd=folder, input=typed, capture_output=True, text=True, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
