"""Does memory depend on the length of a file? `nmt translate` of 10,000 lines and of many more.

    python tests/benchmarks/long_file.py MODEL SOURCE [LINES]

The lines are the first one to six words of lines of SOURCE, drawn with a fixed seed, and translated
greedily. Prints JSON: the most memory that each process ever held, and the growth.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from nmt_cli.files import read_lines

FEW = 10_000


def main() -> None:
    """Translate both files."""
    many = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    lines = [line.split() for line in read_lines(sys.argv[2]) if line.strip()]
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (FEW, many):
            generator = random.Random(1)
            source, output = Path(folder) / "source.txt", Path(folder) / "output.txt"
            with source.open("w", encoding="utf-8") as file:
                for _ in range(count):
                    words = generator.choice(lines)[: generator.randint(1, 6)]
                    file.write(" ".join(words) + "\n")
            peaks.append(_peak_megabytes(source, output))
            assert sum(1 for _ in output.open("rb")) == count
    growth = round(peaks[1] / peaks[0] - 1, 3)
    print(json.dumps({"lines": [FEW, many], "peak_mb": peaks, "growth": growth}))


def _peak_megabytes(source: Path, output: Path) -> float:
    command = [sys.executable, "-m", "nmt_cli", "translate", "-m", sys.argv[1], "--beam", "1"]
    command += ["-i", str(source), "-o", str(output)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return round(usage.ru_maxrss / 1024, 1)


if __name__ == "__main__":
    main()
