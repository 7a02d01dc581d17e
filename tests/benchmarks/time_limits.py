"""Is what `auto` chooses for a time limit the best that could be chosen?

    python tests/benchmarks/time_limits.py CONFIG [--times 2m 5m] [--sizes auto 64x2 128x4]

Trains the configuration, one run after the other, with `--time`, with the sizes that `auto` chooses
and with fixed widths and depths, all else chosen for them. Prints a JSON line a run: its size,
steps, the share of the time that it took, how many cores were busy, and the development score: BLEU
and chrF, accuracy, or of a chat nats a character, which models of different vocabularies can be
compared by. `--set KEY=VALUE` changes all of them. Nothing else should run; where cores were less
busy than in the runs beside it, something did.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TIMES = ("2m", "5m", "15m", "60m")
SIZES = ("auto", "64x2", "128x2", "128x4", "192x3", "256x2", "256x4")
EXIT_S = 1.0


def main() -> None:
    """Run all and print each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("--times", nargs="*", default=TIMES)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--name", default="time")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--only", help=argparse.SUPPRESS)  # TIME SIZE, in a process of its own
    arguments = parser.parse_args()
    if arguments.only:
        limit, size = arguments.only.split()
        found = run(arguments.config, limit, size, [f"name={arguments.name}", *arguments.settings])
        print(json.dumps(found))
        return
    for limit in arguments.times:
        for size in arguments.sizes:
            in_process(limit, size)


def in_process(limit: str, size: str) -> None:
    """Do a run in a new process, which begins without TensorFlow."""
    command = [sys.executable, *sys.argv, "--only", f"{limit} {size}"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout.splitlines()[-1], flush=True)


def run(config: Path, limit: str, size: str, settings: list[str]) -> dict[str, object]:
    """Train within a limit; return what it came to."""
    started = time.monotonic()
    from nmt_cli.config.pace import seconds_of

    os.chdir(config.resolve().parent)
    seconds = seconds_of(limit)
    prepared = prepare(config.name, size, seconds, settings)
    busy = train(prepared, seconds - (time.monotonic() - started) - EXIT_S)
    taken = time.monotonic() - started
    found = described(prepared.folder.path, limit, size)
    shutil.rmtree(prepared.folder.path)
    return {**found, "share": round(taken / seconds, 3), "busy": round(busy, 3)}


def prepare(config: str, size: str, seconds: float, settings: list[str]) -> Any:
    """Do what `nmt train --time` does before it trains."""
    from nmt_cli.config.reading import load_config
    from nmt_cli.training.device import ThisMachine
    from nmt_cli.training.run import prepare

    if size != "auto":
        width, layers = size.split("x")
        settings += [f"model.d_model={width}", f"model.encoder_layers={layers}"]
        settings += [f"model.decoder_layers={layers}"]
    return prepare(
        load_config(config, settings),
        tell=lambda _: None,
        machine=ThisMachine(),
        is_fresh=True,
        time_limit=seconds,
    )


def train(prepared: Any, seconds: float) -> float:
    """Train; return how many cores were busy from the first step on."""
    from nmt_cli.events import StepDone
    from nmt_cli.training.loop import train as train_prepared

    first = None
    for event in train_prepared(prepared, time_limit=seconds):
        if first is None and isinstance(event, StepDone):
            first = processor_seconds(), time.monotonic()
    processor, wall = first or (0.0, 0.0)
    return (processor_seconds() - processor) / (time.monotonic() - wall)


def processor_seconds() -> float:
    """Return what this process and those that it started have used of the cores."""
    return sum(os.times()[:4])


def described(run_folder: Path, limit: str, size: str) -> dict[str, object]:
    """Return what is known of a finished run."""
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.config.reading import load_config
    from nmt_cli.text.corpus import Corpora

    bundle = open_bundle(run_folder / "model")
    manifest = bundle.manifest
    scores = {m: round(found["score"], 2) for m, found in manifest.scores.get("dev", {}).items()}
    if manifest.facts.has_turns:
        loaded = load_config(str(run_folder / "config.yaml"))
        replies = [e.target for e in Corpora(loaded.config, loaded.data_dir).iter_split("dev")]
        tokens = sum(
            len(row) + 1 for row in bundle.load_vocabularies().target.encode_batch(replies)
        )
        nats = manifest.training["dev_loss"] * tokens / sum(map(len, replies))
        scores["nats_a_character"] = round(nats, 4)
    return {
        "time": limit,
        "size": size,
        "d_model": manifest.model["d_model"],
        "layers": manifest.layers,
        "parameters": manifest.parameters,
        "steps": manifest.training["step"],
        "dev_loss": round(manifest.training["dev_loss"], 3),
        **scores,
    }


if __name__ == "__main__":
    main()
