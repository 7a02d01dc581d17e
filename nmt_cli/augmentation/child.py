"""A command of nmt in a process of its own, which stops, and saves, when this one does or is gone.

The two share a pipe, the standard input of the child. It ends when this process does, however that
happens, and on every system. The child has a process group of its own, so that what a terminal or
`timeout` sends reaches this process alone, which passes it on once.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence


def exit_code(arguments: Sequence[str]) -> int:
    """Run a command; each KeyboardInterrupt asks it to stop, and it has time to save."""
    command = [sys.executable, "-m", __name__, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, process_group=0) as process:  # noqa: S603 (nmt itself)
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                process.terminate()


def _stop_with_parent() -> None:
    os.read(0, 1)  # nothing is ever written
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    runpy.run_module("nmt_cli", run_name="__main__", alter_sys=True)
