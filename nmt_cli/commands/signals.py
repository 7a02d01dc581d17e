"""Ctrl-C and SIGTERM during training: finish the step, save, leave with the signal's exit code."""

import signal
from types import FrameType

import typer

from nmt_cli import console

_SIGNAL_BASE = 128


class StopRequest:
    """While the block runs, a first signal asks for a stop; a second Ctrl-C ends at once."""

    def __init__(self) -> None:
        self._received: int | None = None

    def __enter__(self) -> "StopRequest":
        watched = (signal.SIGINT, signal.SIGTERM)
        self._before = {number: signal.signal(number, self._receive) for number in watched}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def is_set(self) -> bool:
        """Return whether a signal came."""
        return self._received is not None

    def exit_if_set(self) -> None:
        """Raise typer.Exit with 130 (Ctrl-C) or 143 (SIGTERM) if one came."""
        if self._received is not None:
            raise typer.Exit(_SIGNAL_BASE + self._received)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._received is not None:
            raise KeyboardInterrupt
        self._received = number
        console.note("stopping: finishing the step and saving (once more to stop at once)")
