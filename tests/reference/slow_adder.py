"""Work for the worker processes of a test: in a module that they find, too."""

import os
import signal
import time

from nmt_cli.errors import DataError


def build_adder(number: int):
    """What a worker runs: slow for some chunks, wrong for others, deadly for one."""

    def add(chunk: int) -> tuple[int, int]:
        if chunk == -1:
            raise DataError("a.txt:1: no number", hint="write one")
        if chunk == -2:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02 * (chunk % 3))
        return chunk + number, os.getpid()

    return add
