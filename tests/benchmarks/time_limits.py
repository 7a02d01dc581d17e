"""Is what `auto` chooses for a time limit the best that could be chosen?

    python tests/benchmarks/time_limits.py CONFIG [--times 2m 5m] [--sizes auto 64x2 128x4]

Trains the configuration, one run after the other, with `--time`, with the sizes that `auto` chooses
and with fixed widths and depths, all else chosen for them. Prints a JSON line a run: its size,
steps, the share of the time that it took, and the development score: BLEU and chrF, accuracy, or of
a chat nats a character, which models of different vocabularies can be compared by. Nothing else
should run.

    python tests/benchmarks/time_limits.py CONFIG --calibrate > calibration.json
    nice -n 19 python tests/benchmarks/time_limits.py CONFIG --calibration calibration.json

The table of six texts takes days. So that other work may go on meanwhile, time is told by what the
processor did for the run: seconds on a core, divided by how many cores a run of that size keeps
busy. `--calibrate` measures that, and how fast the machine is, with nothing else running.
"""

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMES = ("2m", "5m", "15m", "60m")
SIZES = ("auto", "64x2", "128x2", "128x4", "192x3", "256x2", "256x4")
CALIBRATED_S = 60
EXIT_S = 1.0


def main() -> None:
    """Run all and print each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("--times", nargs="*", default=TIMES)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--name", default="time")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--calibration", type=Path)
    parser.add_argument("--only", help=argparse.SUPPRESS)  # TIME SIZE, in a process of its own
    arguments = parser.parse_args()
    known = json.loads(arguments.calibration.read_text()) if arguments.calibration else None
    if arguments.only:
        limit, size = arguments.only.split()
        print(json.dumps(run(arguments.config, limit, size, arguments.name, known)))
    elif arguments.calibrate:
        print(json.dumps(calibrated(arguments.config, arguments.sizes)))
    else:
        for limit in arguments.times:
            for size in arguments.sizes:
                print(
                    json.dumps(in_process(arguments.config, limit, size, *sys.argv[2:])), flush=True
                )


def in_process(config: Path, limit: str, size: str, *options: str) -> dict[str, object]:
    """Return what a run in a new process, which begins without TensorFlow, printed."""
    command = [sys.executable, __file__, str(config), *options, "--only", f"{limit} {size}"]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def calibrated(config: Path, sizes: list[str]) -> dict[str, object]:
    """Return the machine's pace, and how many cores each size keeps busy."""
    from nmt_cli.config.pace import measure_machine

    machine = measure_machine()
    busy = {}
    for size in sizes:
        found = in_process(config, f"{CALIBRATED_S}s", size, "--name", "calibration")
        busy[size] = found["busy"]
    return {"products": machine.products, "elements": machine.elements, "busy": busy}


def run(
    config: Path, limit: str, size: str, name: str, known: dict[str, Any] | None
) -> dict[str, object]:
    """Train within a limit; return what it came to."""
    clock = ProcessorClock(known["busy"]) if known else time.monotonic
    started = clock()
    from nmt_cli.config.pace import Machine, seconds_of
    from nmt_cli.training import device, loop
    from nmt_cli.training.time_box import TimeBox

    if known:
        device._measured = lambda: Machine(known["products"], known["elements"])
    loop.TimeBox = functools.partial(TimeBox, clock=clock)
    folder = config.resolve().parent
    os.chdir(folder)
    run_name, seconds = f"{name}-{limit}-{size}", seconds_of(limit)
    prepared = prepare(config.name, run_name, size, seconds)
    begin = functools.partial(clock.steps_begin, prepared.config.model) if known else lambda: None
    busy = train(prepared, seconds - (clock() - started) - EXIT_S, begin)
    taken = clock() - started
    found = described(folder / "runs" / run_name, limit, size)
    shutil.rmtree(folder / "runs" / run_name)
    return {**found, "share": round(taken / seconds, 3), "busy": round(busy, 3)}


class ProcessorClock:
    """A clock that runs about as one on the wall would if nothing else ran.

    `busy` says how many cores a run keeps busy, by width and depth; before its first step, one.
    """

    def __init__(self, busy: dict[str, float]) -> None:
        self._known = busy
        self._busy, self._since, self._before = 1.0, processor_seconds(), 0.0

    def __call__(self) -> float:
        """Return seconds."""
        return self._before + (processor_seconds() - self._since) / self._busy

    def steps_begin(self, model: Any) -> None:
        """Go as for this model from now on, or for the one nearest to it in width and depth."""
        size = model.d_model, model.encoder_layers
        sizes = {name: tuple(map(int, name.split("x"))) for name in self._known if "x" in name}
        nearest = min(
            sizes, key=lambda n: [abs(a - b) for a, b in zip(sizes[n], size, strict=True)]
        )
        self._before, self._since = self(), processor_seconds()
        self._busy = self._known[nearest]


def processor_seconds() -> float:
    """Return what this process and those that it started have used of the cores."""
    return sum(os.times()[:4])


def prepare(config: str, name: str, size: str, seconds: float) -> Any:
    """Do what `nmt train --time` does before it trains."""
    from nmt_cli.config.reading import load_config
    from nmt_cli.training.device import ThisMachine
    from nmt_cli.training.run import prepare

    settings = [f"name={name}"]
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


def train(prepared: Any, seconds: float, on_first_step: Callable[[], None]) -> float:
    """Train; return how many cores were busy from the first step on."""
    from nmt_cli.events import StepDone
    from nmt_cli.training.loop import train as train_prepared

    first = None
    for event in train_prepared(prepared, time_limit=seconds):
        if first is None and isinstance(event, StepDone):
            first = processor_seconds(), time.monotonic()
            on_first_step()
    processor, wall = first or (0.0, 0.0)
    return (processor_seconds() - processor) / (time.monotonic() - wall)


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
