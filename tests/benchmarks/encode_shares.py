"""A corpus encoded by several processes, each a share of it, against one: wall time, equal bytes.

    python tests/benchmarks/encode_shares.py FOLDER [PAIRS [PROCESSES]]

Writes PAIRS (default 10,000,000) made-up pairs into FOLDER as `large_corpus.py` does, unless they
are there, and prints JSON. All processes are on this machine, and each uses all its cores, so what
counts is that the sum is the same and that nothing is done twice: `processor_s` says how much.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import large_corpus

ENCODE = [sys.executable, "-m", "nmt_cli", "tokenize", "large.yaml", "--encode"]
SHARDS = "runs/large/shards"


def encode(folder: Path, *shares: str) -> dict[str, float]:
    """Run `nmt tokenize --encode`, once for each share at the same time; return its seconds."""
    started, before = time.perf_counter(), sum(os.times()[2:4])
    commands = [[*ENCODE, *(["--shard", share] if share else [])] for share in shares]
    processes = [subprocess.Popen(c, cwd=folder, stderr=subprocess.DEVNULL) for c in commands]
    assert not any(process.wait() for process in processes)
    seconds = time.perf_counter() - started, sum(os.times()[2:4]) - before
    return dict(zip(("wall_s", "processor_s"), (round(s, 1) for s in seconds), strict=True))


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file that was encoded."""
    found = sorted(path for path in (folder / SHARDS).rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in found}


def main() -> None:
    """Encode on one process, then on several."""
    folder = Path(sys.argv[1])
    pairs, processes = (*map(int, sys.argv[2:]), *(10_000_000, 4)[len(sys.argv) - 2 :])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "large.yaml").exists():
        large_corpus.write_corpus(folder, pairs)
    script = Path(large_corpus.__file__).resolve()
    subprocess.run([sys.executable, script, "vocabulary"], cwd=folder, check=True)
    shutil.rmtree(folder / SHARDS, ignore_errors=True)
    one = encode(folder, "")
    expected = hashes(folder)
    shutil.rmtree(folder / SHARDS)
    shares = encode(folder, *(f"{number}/{processes}" for number in range(1, processes + 1)))
    joined = encode(folder, "")
    result = {"pairs": pairs, "one": one, "processes": processes, "shares": shares, "join": joined}
    print(json.dumps({**result, "same_bytes": hashes(folder) == expected}))


if __name__ == "__main__":
    main()
