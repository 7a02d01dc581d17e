"""Ctrl-C, SIGTERM and a closed terminal in training: finish the step, save, exit with its code."""

import signal
from types import FrameType

import typer

from nmt_cli.terminal import console

_SIGNAL_BASE = 128
_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """While the block runs, a signal ends it with 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).

    At once, until `wait_for_step` says that there is something to save; from then on a first signal
    asks for a stop and a second one ends at once. One that is ignored (`nohup`) stays so.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._waits = False

    def __enter__(self) -> "StopRequest":
        watched = [n for n in _WATCHED if signal.getsignal(n) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._receive) for number in watched}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is KeyboardInterrupt and self._received is not None:
            # Only now: while TensorFlow is imported nothing reaches the terminal.
            console.note("stopped at once; the same command begins or goes on where it can")
            self.exit_if_set()

    def wait_for_step(self) -> None:
        """From now on a signal only asks for a stop."""
        self._waits = True

    def number(self) -> int:
        """Return the number of the signal that came, or 0."""
        return self._received or 0

    def exit_if_set(self, elsewhere: int = 0) -> None:
        """Raise typer.Exit with 128 and the signal's number if one came, here or elsewhere."""
        if number := self._received or elsewhere:
            raise typer.Exit(_SIGNAL_BASE + number)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        is_first, self._received = self._received is None, number
        if not (is_first and self._waits):
            raise KeyboardInterrupt
        console.note("stopping: finishing the step and saving (once more to stop at once)")
