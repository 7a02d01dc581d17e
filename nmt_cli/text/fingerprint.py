"""What a run's text is, as a hash: vocabulary and shards made from it carry it and are used again.

Hashing gigabytes takes seconds, so what a file hashed to is remembered for as long as its size,
times and inode are the same.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from nmt_cli.config.reading import HASHES
from nmt_cli.files import sha256_of, write_text

# A file that changed just now may change again without another time stamp.
_SETTLED_NS = 2_000_000_000


class FileHashes:
    """SHA-256 of files, remembered in a folder's `hashes.json`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / HASHES
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            known = {}
        self._known: dict[str, object] = known if isinstance(known, dict) else {}

    def __call__(self, file: Path) -> str:
        """Return the hexadecimal SHA-256 of a file's bytes."""
        name, state = str(file.resolve()), _state(file)
        match self._known.get(name):
            case [known, str(digest)] if known == state:
                return digest
        started = time.time_ns()
        digest = sha256_of(file)
        if _state(file) == state and max(state["mtime"], state["ctime"]) < started - _SETTLED_NS:
            self._known[name] = [state, digest]
            write_text(self._path, json.dumps(self._known, indent=1))
        return digest


def _state(file: Path) -> dict[str, int]:
    found = file.stat()
    return {
        "size": found.st_size,
        "mtime": found.st_mtime_ns,
        "ctime": found.st_ctime_ns,
        "inode": found.st_ino,
        "device": found.st_dev,
    }


def corpus_fingerprint(
    files: list[Path], settings: object, hash_of: Callable[[Path], str] = sha256_of
) -> str:
    """Return a hash of the files' bytes and of the settings that decide how they are read."""
    parts = [json.dumps(settings, sort_keys=True), *map(hash_of, files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
