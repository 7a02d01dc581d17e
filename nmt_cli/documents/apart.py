"""A document of a stranger, read and written by a process of its own.

A file can be made so that reading it takes hours, or all memory. That process has little memory,
and ends with whoever waits for it.
"""

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nmt_cli.documents.inline import Inline
from nmt_cli.documents.opening import kind_of, open_document
from nmt_cli.documents.protected import protector
from nmt_cli.errors import DataError, NmtError

_MOST_MEMORY = 1 << 30  # bytes


class DocumentApart:
    """A document in another process; see `opening.Document`. Each method waits for that process.

    Raises:
        DataError: It cannot be read, is damaged, or takes too much memory.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.texts: Sequence[Inline] = self._received()

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the file with other texts in place of its own; once only."""
        self._connection.send(texts)
        content: bytes = self._received()
        return content

    def _received(self) -> Any:
        try:
            found = self._connection.recv()
        except EOFError:
            raise DataError("takes too much memory to read") from None
        if isinstance(found, NmtError):
            raise found
        return found


@contextlib.contextmanager
def connected(path: Path) -> Iterator[Connection]:
    """Give what a `DocumentApart` is made from; its process ends with the context."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_work, args=(theirs, path), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()
        ours.close()


def _work(connection: Connection, path: Path) -> None:
    """Send the texts of a document, wait for others, and send the file with them."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the other process ends this one
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    with contextlib.suppress(EOFError, BrokenPipeError):  # nobody waits any more
        try:
            document = open_document(path, kind_of(path), protector())
            connection.send(list(document.texts))
            connection.send(document.filled(connection.recv()))
        except NmtError as error:
            connection.send(DataError(str(error)))
        except Exception as error:  # noqa: BLE001 - of libraries, for files made to break them
            connection.send(DataError(f"cannot be read: {type(error).__name__}"))
