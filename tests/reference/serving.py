"""`nmt serve` as a process, and its address."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import httpx


@contextlib.contextmanager
def serving(
    *arguments: str, cwd: Path, before: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; give it and its address. At the end it must answer SIGTERM.

    Args:
        arguments: Of `nmt serve`.
        cwd: Where it runs.
        before: What starts it, such as a shell that sets limits.
    """
    command = [*before, sys.executable, "-m", "nmt_cli", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, address_of(process)
        finally:
            process.terminate()
            assert process.wait(60) == 143
        assert "Traceback" not in log_of(process).read()


def log_of(process: subprocess.Popen[str]) -> IO[str]:
    """Return where a server writes what happens."""
    assert process.stderr is not None
    return process.stderr


def address_of(process: subprocess.Popen[str]) -> str:
    """Return where a server listens, once it answers."""
    for line in log_of(process):
        if line.startswith("serving on "):
            url = line.split()[2]
            for _ in range(100):
                try:
                    httpx.get(f"{url}/health")
                except httpx.TransportError:
                    time.sleep(0.05)
                else:
                    return url
        assert not line.startswith("error"), line
    raise AssertionError("the server ended")
