"""The run folder and what must be in it before the first step: vocabulary, encoded corpora."""

import functools
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.config import Config
from nmt_cli.config_io import LoadedConfig
from nmt_cli.errors import TrainingError
from nmt_cli.files import os_errors_as, read_lines, write_text
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.fingerprint import FileHashes, corpus_fingerprint
from nmt_cli.text.shards import (
    FORMAT,
    EncodedCorpus,
    Encoder,
    encode_corpora,
    remove_other_shards,
)
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.text.vocabulary_cache import load_or_train

RUNS_DIR = Path("runs")
_DEV_TEXT = "examples.jsonl"  # beside the development shards


@dataclass(frozen=True)
class RunFolder:
    """Where the parts of a run lie."""

    path: Path

    @classmethod
    def of(cls, config: Config) -> "RunFolder":
        """Return the folder of a configuration's run, below the working folder."""
        return cls(RUNS_DIR / config.name)

    @property
    def shards(self) -> Path:
        """Folder of the encoded corpora."""
        return self.path / "shards"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """The best bundle so far."""
        return self.path / "model"

    @property
    def events(self) -> Path:
        """One JSON object a line: all that happened."""
        return self.path / "events.jsonl"

    def forget(self) -> None:
        """Delete what training made; vocabulary and encoded corpora stay."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        shutil.rmtree(self.model, ignore_errors=True)
        self.events.unlink(missing_ok=True)


@dataclass(frozen=True)
class Prepared:
    """All that the training loop needs.

    Attributes:
        config: The configuration.
        folder: The run folder.
        corpora: The raw text.
        vocabularies: The subwords.
        encoder: Text -> ids.
        train: Encoded training corpus.
        dev: Encoded development corpus.
        dev_examples: Its text.
        fingerprint: Hash of text, vocabulary and template of the training corpus.
    """

    config: Config
    folder: RunFolder
    corpora: Corpora
    vocabularies: Vocabularies
    encoder: Encoder
    train: EncodedCorpus
    dev: EncodedCorpus
    dev_examples: list[Example]
    fingerprint: str


def build_encoder(config: Config, vocabularies: Vocabularies) -> Encoder:
    """Return the text encoder of a configuration."""
    return Encoder(
        source=vocabularies.source,
        target=vocabularies.target,
        is_chat=config.task == "chat",
        persona=config.chat.persona,
        max_length=config.model.max_length,
    )


def prepare(
    loaded: LoadedConfig, *, tell: Callable[[str], None], on_encoded: Callable[[str, int], None]
) -> Prepared:
    """Make or reuse vocabulary and shards in the run folder.

    Args:
        loaded: The configuration.
        tell: Called with a line about each stage.
        on_encoded: Called with the split and the number of its examples encoded so far.

    Raises:
        DataError: A text file is missing or wrong.
        TrainingError: There is nothing to train on, or the disk is full.
    """
    config, folder = loaded.config, RunFolder.of(loaded.config)
    corpora = Corpora(config, loaded.data_dir)
    for split in ("train", "dev", "test"):
        corpora.files(split)
    with os_errors_as(TrainingError, f"{folder.path}: cannot be written"):
        vocabularies, is_new = load_or_train(config, corpora, folder.path)
        made = "trained" if is_new else "reused"
        tell(f"vocabulary: {vocabularies.source.vocab_size:,} pieces ({made})")
        encoder = build_encoder(config, vocabularies)
        hashes = FileHashes(folder.path)
        keep = {
            split: folder.shards / _shard_name(config, corpora, encoder, split, hashes)
            for split in ("train", "dev")
        }
        dev_examples = _dev_examples(corpora, keep["dev"])
        texts = {"train": corpora.iter_corpora("train"), "dev": [dev_examples]}
        encoded: dict[str, EncodedCorpus] = {}
        for split, path in keep.items():
            is_new = not path.exists()
            encoded[split] = encode_corpora(
                texts[split], encoder, path, on_progress=functools.partial(on_encoded, split)
            )
            tell(f"{split}: {len(encoded[split]):,} pairs ({'encoded' if is_new else 'reused'})")
        _keep_dev_examples(dev_examples, keep["dev"])
        remove_other_shards(keep.values())
    return Prepared(
        config,
        folder,
        corpora,
        vocabularies,
        encoder,
        dev_examples=dev_examples,
        fingerprint=keep["train"].name,
        **encoded,
    )


def _dev_examples(corpora: Corpora, shards: Path) -> list[Example]:
    """Return the development text; to take it out of a large training corpus once is enough."""
    kept = shards / _DEV_TEXT
    if not kept.is_file():
        return list(corpora.iter_split("dev"))
    pairs = map(json.loads, read_lines(kept))
    return [Example(tuple(source), target) for source, target in pairs]


def _keep_dev_examples(examples: list[Example], shards: Path) -> None:
    if not (shards / _DEV_TEXT).is_file():
        write_text(shards / _DEV_TEXT, "".join(f"{json.dumps(pair)}\n" for pair in examples))


def _shard_name(
    config: Config, corpora: Corpora, encoder: Encoder, split: str, hashes: FileHashes
) -> str:
    settings = {
        "corpora": [c.model_dump(exclude={"weight"}) for c in getattr(config.data, split)],
        "held_out": [corpus.rows for corpus in config.data.dev],
        "seed": config.seed,
        "chat": config.chat.model_dump() if config.task == "chat" else None,
        "encoder": encoder.fingerprint(),
        "format": FORMAT,
    }
    key = corpus_fingerprint(corpora.files(split), settings, hashes)
    return f"{split}-{key[:16]}"


class EventLog:
    """`events.jsonl`: appended as things happen, cut back to the checkpoint on resume."""

    def __init__(self, path: Path, resumed_step: int) -> None:
        self._path = path
        kept = [line for line in _lines(path) if _is_up_to(line, resumed_step)]
        write_text(path, "".join(kept))

    def append(self, event: dict[str, Any]) -> None:
        """Write one event."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(event, ensure_ascii=False) + "\n")


def _lines(path: Path) -> list[str]:
    """Return the whole lines; a line cut short by a crash is left out."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        return [line for line in stream if line.endswith("\n")]


def _is_up_to(line: str, step: int) -> bool:
    """Return whether a line tells of `step` or before; what is no event does not."""
    try:
        return bool(json.loads(line)["step"] <= step)
    except (ValueError, KeyError, TypeError):
        return False
