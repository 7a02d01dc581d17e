"""The log of a run's events."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt_cli.files import fsync


class EventLog:
    """`events.jsonl`: appended as things happen, cut back to the checkpoint on resume.

    What is beyond `kept_bytes` goes: it will happen again. None keeps it.
    """

    def __init__(self, path: Path, kept_bytes: int | None) -> None:
        self._path = path
        content = path.read_bytes()[:kept_bytes] if path.is_file() else b""
        self.size = content.rfind(b"\n") + 1  # a crash may have cut the last line short
        with path.open("ab") as stream:
            stream.truncate(self.size)

    def append(self, event: dict[str, Any]) -> None:
        """Write one event."""
        line = json.dumps(event, ensure_ascii=False).encode() + b"\n"
        with self._path.open("ab") as stream:
            stream.write(line)
        self.size += len(line)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield what was logged so far."""
        return read_events(self._path)

    def flush(self) -> None:
        """Make sure that what was appended outlives a loss of power."""
        fsync(self._path)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a log; lines that are no events are left out."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        for line in stream:
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and {"event", "step"} <= event.keys():
                    yield event
