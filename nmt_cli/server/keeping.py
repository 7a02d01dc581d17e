"""Translations of files that wait to be fetched, in a folder that nobody else can read."""

import contextlib
import functools
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from starlette.responses import FileResponse

from nmt_cli.server.batching import held
from nmt_cli.server.requests import QueueFullError, RequestError

_SECONDS = 600.0  # that a file is kept
_MOST_BYTES = 1 << 28  # that are kept
_MOST_AT_A_TIME = 8  # files that are being translated
_RETRY_SECONDS = 60


@dataclass(frozen=True)
class _Kept:
    path: Path
    shown: str  # what the file is called where it is saved
    size: int  # bytes
    since: float = field(default_factory=time.monotonic)


class KeptFiles:
    """Files under names that nobody can guess."""

    def __init__(self) -> None:
        self._files: dict[str, _Kept] = {}
        self._places = threading.BoundedSemaphore(_MOST_AT_A_TIME)

    @functools.cached_property
    def _folder(self) -> "tempfile.TemporaryDirectory[str]":
        return tempfile.TemporaryDirectory(prefix="nmt-serve-")

    @contextlib.contextmanager
    def place(self) -> Iterator[str]:
        """Give the folder for a file that is being translated.

        Raises:
            QueueFullError: Too many are being translated.
        """
        with held(self._places):
            yield self._folder.name

    def keep(self, shown: str, content: bytes) -> str:
        """Keep a file for a while; return the name that it can be fetched by.

        Raises:
            QueueFullError: Too much is kept.
        """
        if sum(file.size for file in [*self._files.values()]) + len(content) > _MOST_BYTES:
            raise QueueFullError(_RETRY_SECONDS)
        path = Path(self._folder.name) / (secrets.token_urlsafe(24) + Path(shown).suffix)
        path.write_bytes(content)
        self._files[path.name] = _Kept(path, shown, len(content))
        return path.name

    def answer(self, name: str) -> FileResponse:
        """Return a kept file, to be saved and not shown.

        Raises:
            RequestError: There is none of that name, or not any more.
        """
        if (kept := self._files.get(name)) is None:
            raise RequestError(404, "there is no such file, or not any more")
        return FileResponse(kept.path, filename=kept.shown, media_type="application/octet-stream")

    def drop_old(self) -> None:
        """Delete what nobody has fetched in time."""
        for name, kept in list(self._files.items()):
            if time.monotonic() - kept.since > _SECONDS:
                kept.path.unlink(missing_ok=True)
                del self._files[name]

    def close(self) -> None:
        """Delete everything."""
        if "_folder" in vars(self):
            self._folder.cleanup()
