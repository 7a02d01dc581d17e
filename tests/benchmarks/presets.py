"""The sizes that `auto` chooses beside a fixed configuration, both trained for the same time.

    python tests/benchmarks/presets.py SOURCE TARGET DEV_SOURCE DEV_TARGET --minutes M

Trains what `nmt init` writes for the files, then `small-transformer` on the same files, one after
the other in a scratch folder. Each whole process, reading the text included, gets M minutes and is
then stopped with SIGTERM; a second process takes one more step and ends the run, which averages the
last checkpoints. Prints JSON for each: steps, seconds, and dev BLEU (greedy) of the final bundle.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nmt_cli.bundle import open_bundle

NMT = [sys.executable, "-m", "nmt_cli"]


def main() -> None:
    """Train both for the same time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "files", nargs=4, metavar="FILE", type=lambda name: str(Path(name).resolve())
    )
    parser.add_argument("--minutes", type=float, required=True)
    arguments = parser.parse_args()
    source, target, dev_source, dev_target = arguments.files
    with tempfile.TemporaryDirectory() as folder:
        init = [
            *NMT,
            "init",
            "auto.yaml",
            "--train",
            source,
            target,
            "--dev",
            dev_source,
            dev_target,
        ]
        subprocess.run(init, cwd=folder, check=True)
        corpora = {
            "data.train": [{"source": source, "target": target}],
            "data.dev": [{"source": dev_source, "target": dev_target}],
            "data.test": [],
        }
        settings = [f"{key}={json.dumps(value)}" for key, value in corpora.items()]
        for config, overrides in (("auto.yaml", []), ("small-transformer", settings)):
            result = train_for(60 * arguments.minutes, Path(folder), config, overrides)
            print(json.dumps({"config": config, **result}), flush=True)


def train_for(seconds: float, folder: Path, config: str, overrides: list[str]) -> dict[str, object]:
    """Train a configuration in a folder for some time, end the run, and return what came of it."""
    command = [*NMT, "train", config, *(part for o in overrides for part in ("--set", o))]
    started = time.monotonic()
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            process.communicate()
    taken = time.monotonic() - started
    run = folder / "runs" / Path(config).stem
    step = json.loads((run / "events.jsonl").read_text().splitlines()[-1])["step"]
    if process.returncode:  # it was stopped
        last = [*command, "--set", f"train.max_steps={step + 1}"]
        subprocess.run(last, cwd=folder, check=True, capture_output=True)
    manifest = open_bundle(run / "model").manifest
    bleu = manifest.scores["dev"]["bleu"]["score"]
    return {"steps": step, "seconds": round(taken), "dev_bleu": round(bleu, 2)}


if __name__ == "__main__":
    main()
