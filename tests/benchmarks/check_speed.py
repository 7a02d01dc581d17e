"""`nmt check` on many pairs: time, processor time and memory.

    python tests/benchmarks/check_speed.py FOLDER [PAIRS]

Writes PAIRS (default 1,000,000) pairs of the bundled sample, each with a made-up name in front so
that none is a duplicate, into FOLDER, unless they are there. Prints JSON: `wall_s`, `cpu_s` (of all
processes), `peak_mb` (most memory that all held together, shared pages counted once), `exit_code`.
"""

import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from nmt_cli.resources import bundled_root

CONFIG = """\
name: check-speed
data:
  source_lang: en
  target_lang: de
  train: [{source: train.en, target: train.de}]
  dev: [{rows: 1000}]
tokenizer: {vocab_size: auto}
model: auto
train: auto
"""
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


def write_corpus(folder: Path, pairs: int) -> None:
    draw = random.Random(1)
    folder.mkdir(parents=True)
    sample = bundled_root() / "data" / "en-de"
    sides = [(sample / f"train.{side}").read_text().splitlines() for side in ("en", "de")]
    with (folder / "train.en").open("w") as source, (folder / "train.de").open("w") as target:
        for number in range(pairs):
            name = "".join(draw.choices(SYLLABLES, k=5)).title()
            for stream, lines in zip((source, target), sides, strict=True):
                stream.write(f"{name}: {lines[number % len(lines)]}\n")
    (folder / "check.yaml").write_text(CONFIG)


def memory(process: int) -> int:
    """Return the kilobytes of a process and its children, shared pages by their part."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0
    own = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return own + sum(memory(int(child)) for child in children)


def main() -> None:
    folder = Path(sys.argv[1])
    if not folder.exists():
        write_corpus(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
    began, peak = time.monotonic(), 0
    command = [sys.executable, "-m", "nmt_cli", "check", str(folder / "check.yaml"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, memory(process.pid))
            time.sleep(0.2)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": peak // 1024,
        "exit_code": process.returncode,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
