"""Is what `auto` chooses for a time limit the best that could be chosen?

    python tests/benchmarks/time_limits.py CONFIG [--times 2m 5m] [--sizes 64x2 128x2 128x4 256x4]

Trains the configuration, one run after the other, with `--time` and the sizes that `auto` chooses,
then with each fixed width and depth, all else chosen for it. Prints a JSON line a run: its size,
steps, the share of the time that it took, and the development score (BLEU, accuracy, or of a chat
the loss a token, which models with one vocabulary can be compared by). Let nothing else run.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

TIMES, SIZES = ("2m", "5m"), ("64x2", "128x2", "128x4", "192x3", "256x2", "256x4")


def main() -> None:
    """Run all and print each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--times", nargs="*", default=TIMES)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    arguments = parser.parse_args()
    for limit in arguments.times:
        for size in ("auto", *arguments.sizes):
            print(json.dumps(_run(arguments.config, limit, size)), flush=True)


def _run(config: str, limit: str, size: str) -> dict[str, object]:
    name = f"time-{limit}-{size}"
    settings = [f"name={name}"]
    if size != "auto":
        width, layers = size.split("x")
        settings += [f"model.d_model={width}", f"model.encoder_layers={layers}"]
        settings += [f"model.decoder_layers={layers}"]
    command = [sys.executable, "-m", "nmt_cli", "train", config, "--time", limit, "--fresh"]
    command += [part for setting in settings for part in ("--set", setting)]
    folder = Path(config).resolve().parent
    started = time.monotonic()
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, env={**os.environ, "NO_COLOR": "1"}
    )
    seconds = time.monotonic() - started
    manifest = json.loads((folder / "runs" / name / "model" / "bundle.json").read_text())
    dev = manifest["scores"].get("dev", {})
    scores = {metric: round(found["score"], 2) for metric, found in dev.items()}
    return {
        "time": limit,
        "size": size,
        "parameters": manifest["parameters"],
        "steps": manifest["training"]["step"],
        "share": round(seconds / _seconds(limit), 3),
        "dev_loss": round(manifest["training"]["dev_loss"], 3),
        **scores,
    }


def _seconds(limit: str) -> float:
    return float(limit[:-1]) * {"s": 1, "m": 60, "h": 3600}[limit[-1]]


if __name__ == "__main__":
    main()
