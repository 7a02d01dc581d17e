"""What a run remembers of its text: where each file was, and the SHA-256 of its content.

`text/vocabulary_cache.py` writes it, to `hashes.json` in the run folder.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.files import sha256_of

HASHES = "hashes.json"


def remembered_dir(config: Config, folder: Path) -> Path | None:
    """Return where a run's text was, rather where it is unchanged; None if that is not known.

    `folder` is that of the run or of the model in it.
    """
    found: list[Path] = []
    for file, hashed in _hashed_files(folder):
        for name in config.data.files:
            if str(file).endswith(f"/{name}"):
                found.append(Path(str(file).removesuffix(f"/{name}")))
                if hashed.is_of(file):
                    return found[-1]
    return next(iter(found), None)


def changed_files(folder: Path, files: Iterable[Path]) -> list[Path]:
    """Return those of a run's files that are not as they were when it read them.

    `folder` is that of the run or of the model in it.
    """
    known: dict[str, list[_Hashed]] = {}
    for file, hashed in _hashed_files(folder):
        known.setdefault(file.name, []).append(hashed)
    return [
        file
        for file in files
        if file.name in known and not any(hashed.is_of(file) for hashed in known[file.name])
    ]


class _Hashed(NamedTuple):
    """What `hashes.json` has of a file."""

    size: int
    mtime: int  # nanoseconds
    sha256: str

    def is_of(self, file: Path) -> bool:
        """Return whether a file is there and has the same content."""
        if not file.is_file():
            return False
        found = file.stat()
        is_same = (found.st_size, found.st_mtime_ns) == (self.size, self.mtime)
        return is_same or sha256_of(file) == self.sha256


def _hashed_files(folder: Path) -> list[tuple[Path, _Hashed]]:
    """Return what a run, or that of a model, remembers of its files, the smallest first."""
    for of_run in (folder, folder.parent):
        try:
            known = json.loads((of_run / HASHES).read_text(encoding="utf-8")).items()
            found = [
                (Path(file), _Hashed(state.get("size", 0), state.get("mtime", 0), digest))
                for file, (state, digest) in known
            ]
            return sorted(found, key=lambda item: item[1].size)
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            continue  # it is not there, or damaged
    return []
