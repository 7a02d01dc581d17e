"""How soon `nmt serve` answers, and the program that `nmt export --app` writes.

    python tests/benchmarks/serve_start.py MODEL "A man is riding a bike."

Prints JSON: the size of the program, and medians in seconds, each of a whole process: from the
start of `nmt serve` to its first translation; the program's first start, which unpacks it, and
those that follow.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

RUNS = 7
PORT = 5091
BARE = [sys._base_executable, "-I", "-S"]  # type: ignore[attr-defined] # Python without packages


def first_answer(model: str, text: str) -> float:
    """Return the seconds from the start of a server to its first translation."""
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    asked = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/translate", body, {"Content-Type": "application/json"}
    )
    command = [sys.executable, "-m", "nmt_cli", "serve", "-m", model, "-q", "--port", str(PORT)]
    started = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            while server.poll() is None:
                try:
                    with urllib.request.urlopen(asked) as answer:
                        assert answer.status == 200
                        return time.perf_counter() - started
                except OSError:  # it does not listen yet
                    time.sleep(0.005)
        finally:
            server.terminate()
    raise RuntimeError("the server ended")


def program_start(program: Path, text: str, home: str) -> float:
    """Return the seconds that a program takes to translate a sentence."""
    started = time.perf_counter()
    subprocess.run([*BARE, str(program), text], env={"HOME": home}, check=True, capture_output=True)
    return time.perf_counter() - started


def median(measure: Callable[[], float]) -> float:
    """Return the median of several measurements."""
    return round(statistics.median(measure() for _ in range(RUNS)), 2)


def first_start(program: Path, text: str) -> float:
    """Return the seconds of a start where the program has never run."""
    with tempfile.TemporaryDirectory() as home:
        return program_start(program, text, home)


def main() -> None:
    """Measure all."""
    model, text = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "model.pyz"
        export = [sys.executable, "-m", "nmt_cli", "export", "-m", model, "--app", str(program)]
        subprocess.run(export, check=True, capture_output=True)
        first_answer(model, text)  # warms the disk
        result = {
            "megabytes": round(program.stat().st_size / 1e6, 1),
            "serve_first_answer": median(lambda: first_answer(model, text)),
            "program_first_start": median(lambda: first_start(program, text)),
        }
        program_start(program, text, folder)
        result["program_later_start"] = median(lambda: program_start(program, text, folder))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
