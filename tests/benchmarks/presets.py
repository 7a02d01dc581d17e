"""The sizes that `auto` chooses beside a fixed configuration, both trained for the same time.

    python tests/benchmarks/presets.py SOURCE TARGET DEV_SOURCE DEV_TARGET --minutes M

Trains what `nmt init` writes for the files, then `small-transformer` on the same files, one after
the other in a scratch folder. Each process, reading the text included, gets M minutes of processor
time (which a busy machine hands out unevenly, so that equal minutes by the clock would not be fair)
and is then stopped with SIGTERM; a second process takes one more step and ends the run, which
averages the last checkpoints. Prints JSON for each: steps, minutes of processor time and by the
clock, and dev BLEU (greedy) of the final bundle. Linux only.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nmt_cli.bundle.folder import open_bundle

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
            result = train_for(arguments.minutes, Path(folder), config, overrides)
            print(json.dumps({"config": config, **result}), flush=True)


def train_for(minutes: float, folder: Path, config: str, overrides: list[str]) -> dict[str, object]:
    """Train a configuration in a folder for some time, end the run, and return what came of it."""
    command = [*NMT, "train", config, *(part for o in overrides for part in ("--set", o))]
    started, spent = time.monotonic(), 0.0
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and spent < minutes:
            time.sleep(0.2)
            spent = processor_minutes(process.pid)
        process.send_signal(signal.SIGTERM)
    taken = (time.monotonic() - started) / 60
    run = folder / "runs" / Path(config).stem
    step = json.loads((run / "events.jsonl").read_text().splitlines()[-1])["step"]
    if process.returncode:  # it was stopped
        last = [*command, "--set", f"train.max_steps={step + 1}"]
        subprocess.run(last, cwd=folder, check=True, capture_output=True)
    manifest = open_bundle(run / "model").manifest
    bleu = manifest.scores["dev"]["bleu"]["score"]
    return {
        "steps": step,
        "processor_minutes": round(spent, 2),
        "minutes": round(taken, 2),
        "dev_bleu": round(bleu, 2),
    }


def processor_minutes(pid: int) -> float:
    """Return what a process that is not yet waited for has used on all cores."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])  # user and system
    return ticks / os.sysconf("SC_CLK_TCK") / 60


if __name__ == "__main__":
    main()
