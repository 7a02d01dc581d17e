"""A run's vocabularies: trained once, kept in its folder, used again while nothing changed.

What is made from a text carries a hash of it. Hashing gigabytes takes seconds, so what a file
hashed to is remembered for as long as its size, times and inode are the same.
"""

import contextlib
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.config.schema import Config
from nmt_cli.config.text_memory import HASHES
from nmt_cli.errors import ModelFileError
from nmt_cli.files import crc32_of, sha256_of, write_bytes, write_text
from nmt_cli.stores import Store
from nmt_cli.text.corpus import Corpora, texts
from nmt_cli.text.languages import Languages
from nmt_cli.text.special_tokens import taught_tokens
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import JOINT, SEPARATE, Vocabularies

_KEY = "tokenizer.key"
_FILES = (_KEY, JOINT, *SEPARATE)
# A file that changed just now may change again without another time stamp.
_SETTLED_NS = 2_000_000_000
_SAMPLE = 1_000_000  # pairs: more would change next to nothing but the time it takes


def load_or_train(
    config: Config, corpora: Corpora, folder: Path, shared: Path | None = None
) -> tuple[Vocabularies, bool]:
    """Return the run's vocabularies and whether they were trained just now.

    Those in `folder`, or in the `shared` one of all machines, are used again where `load` finds
    them. Damaged ones are trained again. Of a large corpus every so many pairs are enough to learn
    from.
    """
    key = _key_of(config, corpora, FileHashes(folder))
    for place in dict.fromkeys((shared or folder, folder)):
        if found := _load(config, place, key):
            return found, False
    vocabularies = _train(config, corpora, Languages.of(config))
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:  # the key first: it vouches for the others
        (folder / name).unlink(missing_ok=True)
    vocabularies.save(folder)
    kept = {
        "key": key,
        "sizes": [config.tokenizer.vocab_size, vocabularies.largest],
        "pairs": corpora.train_sample[1],
        "crc32": _checksums(folder),
    }
    write_text(folder / _KEY, json.dumps(kept))
    return vocabularies, True


def load(
    config: Config, corpora: Corpora, folder: Path, hashes: "FileHashes"
) -> Vocabularies | None:
    """Return the vocabularies in a folder; None unless text and settings are what they were.

    The size may be the wanted one or the one that the text filled.
    """
    return _load(config, folder, _key_of(config, corpora, hashes))


def bring(
    config: Config,
    corpora: Corpora,
    folder: Path,
    hashes: "FileHashes",
    store: Store,
    tell: Callable[[str], None],
) -> Vocabularies | None:
    """Return what `load` does, when the vocabularies of a run's store are copied into the folder.

    None, and the folder stays as it is, unless these are of the text; tell if there are others.
    """
    key, content = _key_of(config, corpora, hashes), store.read(_KEY) or b""
    if not _fits(_parsed(content), config, key):
        if content:
            tell(f"{store.url}: not used: its vocabulary is of another text or other settings")
        return None
    if _content(folder) != content or _load(config, folder, key) is None:
        for name in _FILES[1:]:  # others may do the same in this folder
            if (text := store.read(name)) is not None:
                write_bytes(folder / name, text)
            else:
                (folder / name).unlink(missing_ok=True)
        write_bytes(folder / _KEY, content)
    return _load(config, folder, key)


def put(folder: Path, store: Store) -> None:
    """Put the vocabularies of a folder into a run's store, unless it has the same."""
    if store.read(_KEY) != _content(folder):
        store.delete(*_FILES)
        store.put({name: folder / name for name in (*_checksums(folder), _KEY)})


def kept_pairs(folder: Path) -> list[int]:
    """Return how many pairs each corpus had of which the vocabularies in a folder were trained."""
    return list(_kept(folder).get("pairs", []))


def _key_of(config: Config, corpora: Corpora, hashes: "FileHashes") -> str:
    languages = Languages.of(config)
    settings = corpora.settings | {
        "tokenizer": config.tokenizer.model_dump(exclude={"vocab_size", "dropout"}),
        "train": [corpus.model_dump(exclude={"weight"}) for corpus in config.data.train],
        "task": config.task,
        **({"tags": languages.tokens} if languages.tokens else {}),
        **({"placeholders": True} if config.data.placeholders else {}),
        **({"glossary": True} if config.data.glossary else {}),
    }
    return corpus_fingerprint(corpora.files("train"), settings, hashes)


def _load(config: Config, folder: Path, key: str) -> Vocabularies | None:
    kept = _kept(folder)
    is_whole = "crc32" not in kept or kept["crc32"] == _checksums(folder)  # older ones have none
    if _fits(kept, config, key) and is_whole:
        with contextlib.suppress(ModelFileError):
            return Vocabularies.load(folder, Languages.of(config))
    return None


def _fits(kept: dict[str, Any], config: Config, key: str) -> bool:
    return kept.get("key") == key and config.tokenizer.vocab_size in kept["sizes"]


def kept_sizes(folder: Path) -> list[int]:
    """Return the sizes that the vocabularies in a folder answer to; none when there are none."""
    return list(_kept(folder).get("sizes", []))


def _kept(folder: Path) -> dict[str, Any]:
    """Return the key of text and settings, sizes and checksums; nothing when damaged."""
    return _parsed(_content(folder))


def _content(folder: Path) -> bytes:
    try:
        return (folder / _KEY).read_bytes()
    except OSError:
        return b""


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        known = json.loads(content)
        return {**known, "sizes": list(known["sizes"])}
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def _checksums(folder: Path) -> dict[str, int]:
    names = (name for name in (JOINT, *SEPARATE) if (folder / name).is_file())
    return {name: crc32_of(folder / name) for name in names}


def _train(config: Config, corpora: Corpora, languages: Languages) -> Vocabularies:
    every = -(-sum(corpora.train_sample[1]) // _SAMPLE)
    found = [
        Subwords.train(
            _TrainingTexts(corpora, side, every),
            config.tokenizer,
            languages.tokens,
            taught_tokens(config.data),
        )
        for side in config.vocabulary_sides
    ]
    return Vocabularies(found[0], found[-1], languages)


@dataclass(frozen=True)
class _TrainingTexts:
    """One side's text of every so many pairs, read from the files each time it is iterated."""

    corpora: Corpora
    side: str
    every: int

    def __iter__(self) -> Iterator[str]:
        sample = itertools.islice(self.corpora.iter_split("train"), 0, None, self.every)
        return texts(sample, self.side)


class FileHashes:
    """SHA-256 of files, remembered in a folder's `hashes.json`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / HASHES
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            known = {}
        self._known: dict[str, object] = known if isinstance(known, dict) else {}

    def __call__(self, file: Path) -> str:
        """Return the hexadecimal SHA-256 of a file, and write it down once that is settled."""
        before, digest = self._known.get(name := str(file.resolve())), self.of(file)
        if self._known.get(name) != before and self._known[name] != [{}, digest]:
            self.save()
        return digest

    def of(self, file: Path) -> str:
        """Return the hexadecimal SHA-256 of a file's bytes; nothing is written."""
        name, state = str(file.resolve()), _state(file)
        match self._known.get(name):
            case [known, str(digest)] if known == state:
                return digest
        started = time.time_ns()
        digest = sha256_of(file)
        if _state(file) == state:
            is_settled = max(state["mtime"], state["ctime"]) < started - _SETTLED_NS
            self._known[name] = [state if is_settled else {}, digest]
        return digest

    def save(self) -> None:
        """Write what is remembered, also of files that changed just now: their content is known."""
        write_text(self._path, json.dumps(self._known, indent=1))


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
