"""What importing a model of the size of OPUS-MT takes, and its first sentences: random weights.

    python tests/benchmarks/import_large.py

Prints JSON: medians of seconds and of processor seconds, peaks of memory, sizes. Cold is a whole
process that translates one sentence, warm the second sentence of a process. Outputs have 16 tokens:
random weights end none.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from fine_tuning_memory import make

TEXT = "The old man reads a book under a tree."
RUNS = 5
# A process of its own, as the peak is that of the largest child so far.
MEASURE = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, capture_output=True)
seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6]))
"""
WARM = """
import json, sys, time, nmt_cli
with nmt_cli.load(sys.argv[1]) as model:
    for _ in range(2):
        started, used = time.perf_counter(), time.process_time()
        model.translate([sys.argv[2]], max_length=16)
    print(json.dumps([time.perf_counter() - started, time.process_time() - used]))
"""


def python(*arguments: str) -> list[float]:
    """Return the numbers that a Python process prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def nmt(*arguments: str) -> list[float]:
    """Return the seconds, processor seconds and MB of memory that a command takes."""
    return python("-c", MEASURE, sys.executable, "-m", "nmt_cli", *arguments)


def main() -> None:
    """Measure all, with the files in the disk's cache."""
    with tempfile.TemporaryDirectory() as temporary:
        published, imported = Path(temporary, "published"), Path(temporary, "imported")
        make(published)
        sentence = ("translate", "-m", str(imported), TEXT, "--max-length", "16")
        measured = {
            "import": [nmt("import", str(published), str(imported)) for _ in range(RUNS)],
            "cold": [nmt(*sentence) for _ in range(RUNS)],
            "warm": [python("-c", WARM, str(imported), TEXT) for _ in range(RUNS)],
        }
        files = {file: file.stat().st_size / 1e6 for file in imported.rglob("*") if file.is_file()}
    int8 = sum(size for file, size in files.items() if "int8" in file.parts)
    found = {"MB": sum(files.values()), "int8_MB": int8}
    for name, rows in measured.items():
        seconds, processor, *memory = zip(*rows, strict=True)
        found[f"{name}_seconds"] = statistics.median(seconds)
        found[f"{name}_processor_seconds"] = statistics.median(processor)
        found |= {f"{name}_peak_MB": max(peaks) for peaks in memory}
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
