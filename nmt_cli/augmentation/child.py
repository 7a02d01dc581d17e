"""A command of nmt in a process of its own, which stops, and saves, when this one is gone.

The two share a pipe, the standard input of the child. It ends when this process does, however that
happens, and on every system.
"""

import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence


def exit_code(arguments: Sequence[str]) -> int:
    """Run a command; a signal to stop reaches it, and is waited for while it saves."""
    command = [sys.executable, "-m", __name__, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: S603 (nmt itself)
        before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            while True:
                try:
                    return process.wait()
                except KeyboardInterrupt:
                    continue  # the terminal has sent it to the command, too
        finally:
            signal.signal(signal.SIGTERM, before)


def _stop_with_parent() -> None:
    os.read(0, 1)  # nothing is ever written
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    runpy.run_module("nmt_cli", run_name="__main__", alter_sys=True)
