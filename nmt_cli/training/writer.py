"""A thread that writes checkpoints while training goes on.

The loop hands over a snapshot in memory and takes the next step; hashing, writing and deleting old
checkpoints happen in the thread. There is one at a time, so there is never more than one snapshot.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path


class Writer:
    """Runs one write at a time beside the training loop.

    Use as a context: its end waits for what is being written.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[Path] | None = None

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)

    def start(self, write: Callable[[], Path]) -> None:
        """Begin a write. The one before must have been collected, or its error would be lost."""
        self._pending = self._pool.submit(write)

    def collect(self, *, wait: bool) -> Path | None:
        """Return what was written since the last call, or None.

        Args:
            wait: Wait for a write that has begun.

        Raises:
            TrainingError: The write failed; the error is the one that was raised in the thread.
        """
        if self._pending is None or not (wait or self._pending.done()):
            return None
        pending, self._pending = self._pending, None
        return pending.result()
