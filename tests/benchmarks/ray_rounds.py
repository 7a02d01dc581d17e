"""Does a Ray cluster of this machine keep up with one process, and does what is killed cost a line?

    python tests/benchmarks/ray_rounds.py MODEL TEXT [LINES [ROUNDS]]

Translates LINES lines (default 100,000, at least 90,000), drawn from TEXT with a fixed seed, with
`nmt translate` and with `--ray auto` and two processes. In each of ROUNDS rounds (default 1) a
process is killed twice and the command once, at random parts, and the same command ends the work.

Prints JSON: lines per second, with the start, and their ratio; rounds whose output has the bytes of
the undisturbed one; the most memory that each kind of process ever held, in megabytes.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nmt_cli.files import read_lines
from nmt_cli.parts import LINES

PARTS = 20  # of a file that would have fewer
PROGRAM = """
import sys
import nmt_cli.parts
nmt_cli.parts.LINES = int(sys.argv.pop(1))
from nmt_cli.cli import main
sys.exit(main())
"""
ON_RAY = ("--ray", "auto", "--ray-workers", "2")
MARK = f"NMT_RAY_ROUNDS={os.getpid()}"


def translate(folder: Path, lines: int, output: str, *options: str, kills: dict[int, str]) -> dict:
    """Run a command, kill what `kills` says at so many parts; return seconds and memory."""
    command = [sys.executable, "-c", PROGRAM, str(part_of(lines)), "translate", *options]
    files = ["-m", sys.argv[1], "-i", "source.txt", "-o", output]
    began, peaks, kills = time.monotonic(), {}, dict(kills)
    # Ray's processes are nice, which beside other work would compare that.
    environment = os.environ | {"NMT_RAY_ROUNDS": str(os.getpid()), "RAY_worker_niceness": "0"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, *files], cwd=folder, env=environment, stderr=log)
    while process.poll() is None:
        workers = workers_here()
        for kind, pids in (("command", [process.pid]), ("process", workers)):
            peaks[kind] = max(peaks.get(kind, 0), *map(peak_megabytes, pids), 0)
        made = len([*folder.glob(f"{output}.parts/*.json")])
        if kills and made >= min(kills) and workers:
            kind = kills.pop(min(kills))
            os.kill(process.pid if kind == "command" else random.choice(workers), signal.SIGKILL)
        time.sleep(0.05)
    if process.returncode not in (0, -signal.SIGKILL) or kills:
        raise SystemExit(f"{kills} left, {process.returncode}: {(folder / 'log').read_text()}")
    return {"seconds": time.monotonic() - began, "peak_mb": peaks}


def part_of(lines: int) -> int:
    """Return how many lines a part has."""
    return min(LINES, lines // PARTS)


def workers_here() -> list[int]:
    """Return the processes of this script's clusters that hold the model."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
            if title.startswith(b"ray::_Worker") and MARK in (process / "environ").read_text():
                found.append(int(process.name))
        except OSError:  # it has ended
            continue
    return found


def peak_megabytes(pid: int) -> int:
    """Return the most memory that a process held until now."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) // 1024 if found else 0


def main() -> None:
    """Translate on both, then kill."""
    lines, rounds = (*map(int, sys.argv[3:]), *(100_000, 1)[len(sys.argv) - 3 :])
    sys.argv[1] = str(Path(sys.argv[1]).resolve())
    generator, equal = random.Random(1), 0
    texts = [line for line in read_lines(sys.argv[2]) if line.strip()]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (folder / "source.txt").open("w", encoding="utf-8") as file:
            file.writelines(f"{generator.choice(texts)}\n" for _ in range(lines))
        plain = translate(folder, lines, "plain", kills={})
        ray = translate(folder, lines, "ray", *ON_RAY, kills={})
        expected = (folder / "plain").read_bytes()
        same = (folder / "ray").read_bytes() == expected
        for number in range(rounds):
            places = sorted(generator.sample(range(1, lines // part_of(lines) - 4), 3))
            kills = dict(zip(places, ("process", "process", "command"), strict=True))
            translate(folder, lines, f"{number}", *ON_RAY, kills=kills)
            before = len([*folder.glob(f"{number}.parts/*.json")])
            translate(folder, lines, f"{number}", *ON_RAY, kills={})
            is_equal = (folder / f"{number}").read_bytes() == expected
            equal += is_equal
            told = f"killed at parts {[*kills]}, {before} were there: {is_equal}"
            print(f"round {number}: {told}", file=sys.stderr, flush=True)
    rates = {"plain": lines / plain["seconds"], "ray": lines / ray["seconds"]}
    peaks = {"plain": plain["peak_mb"]["command"], **ray["peak_mb"]}
    facts = {"lines": lines, **{f"{kind}_lines_s": round(rate) for kind, rate in rates.items()}}
    facts |= {"ratio": round(rates["ray"] / rates["plain"], 2), "same_bytes": same}
    print(json.dumps(facts | {"rounds": rounds, "equal": equal, "peak_mb": peaks}))


if __name__ == "__main__":
    main()
