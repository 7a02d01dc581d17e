"""A run's vocabularies: trained once, kept in its folder, used again while nothing changed."""

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.config.schema import Config
from nmt_cli.encoding import UTF8
from nmt_cli.errors import ModelFileError, TrainingError
from nmt_cli.files import crc32_of, write_text
from nmt_cli.text.corpus import Corpora, texts
from nmt_cli.text.fingerprint import FileHashes, corpus_fingerprint
from nmt_cli.text.held_out import held_out_settings
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import JOINT, SEPARATE, Vocabularies

_KEY = "tokenizer.key"
_SAMPLE = 1_000_000  # pairs: more would change next to nothing but the time it takes


def load_or_train(config: Config, corpora: Corpora, folder: Path) -> tuple[Vocabularies, bool]:
    """Return the run's vocabularies and whether they were trained just now.

    Those in `folder` are used again when text and settings are those they were trained from; the
    size may be the wanted one or the one that the text filled. Damaged ones are trained again. Of a
    large corpus every so many pairs are enough to learn from.

    Raises:
        TrainingError: The training text is empty.
        DataError: It cannot be read.
    """
    settings = {
        "tokenizer": config.tokenizer.model_dump(exclude={"vocab_size", "dropout"}),
        "train": [corpus.model_dump(exclude={"weight"}) for corpus in config.data.train],
        "held_out": held_out_settings(config),
        "seed": config.seed,
        "task": config.task,
        "chat": config.text_settings,
    }
    if config.data.encoding != UTF8:
        settings["encoding"] = config.data.encoding
    key = corpus_fingerprint(corpora.files("train"), settings, FileHashes(folder))
    wanted = config.tokenizer.vocab_size
    kept = _kept(folder)
    if kept.get("key") == key and wanted in kept["sizes"] and _is_whole(folder, kept):
        with contextlib.suppress(ModelFileError):
            return Vocabularies.load(folder), False
    vocabularies = _train(config, corpora)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_KEY, JOINT, *SEPARATE):  # the key first: it vouches for the others
        (folder / name).unlink(missing_ok=True)
    vocabularies.save(folder)
    kept = {"key": key, "sizes": [wanted, vocabularies.largest], "crc32": _checksums(folder)}
    write_text(folder / _KEY, json.dumps(kept))
    return vocabularies, True


def kept_sizes(folder: Path) -> list[int]:
    """Return the sizes that the vocabularies in a folder answer to; none when there are none."""
    return list(_kept(folder).get("sizes", []))


def _kept(folder: Path) -> dict[str, Any]:
    """Return the key of text and settings, sizes and checksums; nothing when damaged."""
    try:
        known = json.loads((folder / _KEY).read_text(errors="replace"))
        return {**known, "sizes": list(known["sizes"])}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _is_whole(folder: Path, kept: dict[str, Any]) -> bool:
    """Return whether the files are as they were written; earlier versions do not tell."""
    return "crc32" not in kept or kept["crc32"] == _checksums(folder)


def _checksums(folder: Path) -> dict[str, int]:
    names = (name for name in (JOINT, *SEPARATE) if (folder / name).is_file())
    return {name: crc32_of(folder / name) for name in names}


def check_not_empty(corpora: Corpora) -> None:
    """Raise TrainingError when there is nothing to train on."""
    if next(corpora.iter_split("train"), None) is None:
        files = ", ".join(map(str, corpora.files("train")))
        raise TrainingError(f"{files}: there is no pair of lines with text on both sides")


def _train(config: Config, corpora: Corpora) -> Vocabularies:
    check_not_empty(corpora)
    pairs = sum(1 for _ in corpora.iter_split("train"))
    every = -(-pairs // _SAMPLE)
    found = [
        Subwords.train(_TrainingTexts(corpora, side, every), config.tokenizer)
        for side in config.vocabulary_sides
    ]
    return Vocabularies(found[0], found[-1])


@dataclass(frozen=True)
class _TrainingTexts:
    """One side's text of every so many pairs, read from the files each time it is iterated."""

    corpora: Corpora
    side: str
    every: int

    def __iter__(self) -> Iterator[str]:
        sample = itertools.islice(self.corpora.iter_split("train"), 0, None, self.every)
        return texts(sample, self.side)
