"""The run folder and what must be in it before the first step: vocabulary, encoded corpora."""

import contextlib
import fcntl
import functools
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from nmt_cli.bundle import Bundle
from nmt_cli.config import Config
from nmt_cli.config_io import LoadedConfig, load_config, value_of, with_values
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.files import fsync, os_errors_as, read_lines, write_text
from nmt_cli.presets import Choice, Device, Situation, choose, vocab_size
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.fingerprint import FileHashes, corpus_fingerprint
from nmt_cli.text.shards import (
    FORMAT,
    EncodedCorpus,
    Encoder,
    encode_corpora,
    remove_other_shards,
)
from nmt_cli.text.statistics import count_pieces, sample_text
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.text.vocabulary_cache import load_or_train
from nmt_cli.training.cluster import ALONE, Cluster
from nmt_cli.training.fine_tuning import open_start

RUNS_DIR = Path("runs")
VOCAB_SIZE = "tokenizer.vocab_size"
_DEV_TEXT = "examples.jsonl"  # beside the development shards


@dataclass(frozen=True)
class RunFolder:
    """Where the parts of a run lie."""

    path: Path

    @classmethod
    def of(cls, config: Config, cluster: Cluster = ALONE) -> "RunFolder":
        """Return the folder of a configuration's run, below the working folder.

        Of several machines each keeps its own vocabulary and shards, so it does not matter whether
        they share a disk; those that are not the chief have nothing else to keep.
        """
        path = RUNS_DIR / config.name
        return cls(path if cluster.is_chief else path / f"worker-{cluster.index}")

    @property
    def shards(self) -> Path:
        """Folder of the encoded corpora."""
        return self.path / "shards"

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def config(self) -> Path:
        """The configuration that the run was begun with, without any `auto`."""
        return self.path / "config.yaml"

    @property
    def has_begun(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return self.config.is_file() and any(self.checkpoints.glob("step-*"))

    @property
    def model(self) -> Path:
        """The best bundle so far."""
        return self.path / "model"

    @property
    def events(self) -> Path:
        """One JSON object a line: all that happened."""
        return self.path / "events.jsonl"

    @property
    def tensorboard(self) -> Path:
        """The same for TensorBoard, if asked for."""
        return self.path / "tensorboard"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out of this run while the block runs.

        The kernel lets go of the lock when its process ends, however that happens, so none is ever
        stale; the file stays, with a number in it that means nothing by then.

        Raises:
            ConfigError: Another process has it; names that.
            TrainingError: The run folder cannot be written.
        """
        with contextlib.ExitStack() as stack:
            with os_errors_as(TrainingError, f"{self.path}: cannot be written"):
                self.path.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context((self.path / "lock").open("a+", encoding="utf-8"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise self._taken(file) from error
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
                file.flush()
            yield

    def _taken(self, file: IO[str]) -> ConfigError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        return ConfigError(
            f"{self.path}: {holder} is at work on this run",
            hint="wait for it or stop it; another run needs another name: --set name=NAME",
        )

    def forget(self) -> None:
        """Delete what training made; vocabulary and encoded corpora stay."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        shutil.rmtree(self.model, ignore_errors=True)
        shutil.rmtree(self.tensorboard, ignore_errors=True)
        self.events.unlink(missing_ok=True)


@dataclass(frozen=True)
class Prepared:
    """All that the training loop needs.

    Attributes:
        config: The configuration, with a value for every key that said `auto` and the real size of
            the vocabulary.
        folder: The run folder.
        corpora: The raw text.
        vocabularies: The subwords.
        encoder: Text -> ids.
        train: Encoded training corpus.
        dev: Encoded development corpus.
        dev_examples: Its text.
        fingerprint: Hash of text, vocabulary and template of the training corpus.
        start: The model whose weights to begin with, or None.
        warnings: What the user should know before training.
        cluster: The machines that train together.
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
    start: Bundle | None
    warnings: list[str] = field(default_factory=list)
    cluster: Cluster = ALONE


def resolve(
    loaded: LoadedConfig,
    corpora: Corpora,
    *,
    tell: Callable[[str], None],
    find_device: Callable[[], Device] = lambda: "cpu",
) -> Config:
    """Return the configuration with a value for every key that says `auto`.

    A run that goes on keeps the values that it was begun with, whatever the device is now.

    Args:
        loaded: The configuration.
        corpora: Its text.
        tell: Called with a line about each choice.
        find_device: Called when the choices depend on it.

    Raises:
        ConfigError: A value that the run was begun with does not fit the keys that are set now.
        TrainingError: There is no training pair.
        DataError: The text cannot be read.
    """
    config, auto, folder = loaded.config, loaded.auto, RunFolder.of(loaded.config)
    if auto and folder.has_begun:
        begun = load_config(str(folder.config)).config
        tell(f"auto: as {folder.config} says, which this run was begun with")
        return with_values(config, {key: value_of(begun, key) for key in auto}, str(folder.config))
    choices: dict[str, Choice] = {}
    if auto:
        text, sample = sample_text(corpora)
        if VOCAB_SIZE in auto:
            choices[VOCAB_SIZE] = vocab_size(text, joint=config.tokenizer.joint)
            config = with_values(config, {VOCAB_SIZE: choices[VOCAB_SIZE].value}, VOCAB_SIZE)
        if others := auto - {VOCAB_SIZE}:
            pieces = count_pieces(sample, config, corpora.iter_split("dev"))
            config, chosen = choose(config, others, Situation(text, pieces, find_device()))
            choices |= chosen
    for key, choice in choices.items():
        tell(f"auto: {key} = {choice.value} ({choice.reason})")
    return config


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
    loaded: LoadedConfig,
    *,
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
    find_device: Callable[[], Device] = lambda: "cpu",
    cluster: Cluster = ALONE,
) -> Prepared:
    """Make or reuse vocabulary and shards in the run folder.

    Args:
        loaded: The configuration.
        tell: Called with a line about each stage.
        on_encoded: Called with the split and the number of its examples encoded so far.
        find_device: Called when the configuration says `auto`.
        cluster: The machines that train together.

    Raises:
        ConfigError: See `resolve`.
        DataError: A text file is missing or wrong.
        ConfigError, ModelFileError: The model to start from does not fit, or is damaged.
        TrainingError: There is nothing to train on, or the disk is full.
    """
    folder = RunFolder.of(loaded.config, cluster)
    corpora = Corpora(loaded.config, loaded.data_dir)
    for split in ("train", "dev", "test"):
        corpora.files(split)
    config = resolve(loaded, corpora, tell=tell, find_device=find_device)
    start = open_start(config)
    warnings = []
    with os_errors_as(TrainingError, f"{folder.path}: cannot be written"):
        if start is not None:
            vocabularies, made = Vocabularies.load(start.path), f"of {start.path}"
        else:
            vocabularies, is_new = load_or_train(config, corpora, folder.path)
            made = "trained" if is_new else "reused"
        tell(f"vocabulary: {vocabularies.source.vocab_size:,} pieces ({made})")
        if VOCAB_SIZE not in loaded.auto and (warning := unfilled(config, vocabularies)):
            warnings.append(warning)
        config = with_values(config, {VOCAB_SIZE: vocabularies.largest}, VOCAB_SIZE)
        encoder = build_encoder(config, vocabularies)
        hashes = FileHashes(folder.path)
        shards = {
            split: folder.shards / _shard_name(config, corpora, encoder, split, hashes)
            for split in ("train", "dev")
        }
        dev_examples = _dev_examples(corpora, shards["dev"])
        texts = {"train": corpora.iter_corpora("train"), "dev": [dev_examples]}
        encoded = _encode(texts, encoder, shards, tell, on_encoded)
        _keep_dev_examples(dev_examples, shards["dev"])
        remove_other_shards(shards.values())
    return Prepared(
        config,
        folder,
        corpora,
        vocabularies,
        encoder,
        dev_examples=dev_examples,
        fingerprint=shards["train"].name,
        start=start,
        warnings=warnings,
        cluster=cluster,
        **encoded,
    )


def _encode(
    texts: Mapping[str, Iterable[Iterable[Example]]],
    encoder: Encoder,
    shards: Mapping[str, Path],
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
) -> dict[str, EncodedCorpus]:
    """Make or reuse the shards of each split."""
    encoded: dict[str, EncodedCorpus] = {}
    for split, path in shards.items():
        is_new = not path.exists()
        encoded[split] = encode_corpora(
            texts[split], encoder, path, on_progress=functools.partial(on_encoded, split)
        )
        tell(f"{split}: {len(encoded[split]):,} pairs ({'encoded' if is_new else 'reused'})")
    return encoded


def unfilled(config: Config, vocabularies: Vocabularies) -> str | None:
    """Return a warning when the text was too little for the vocabulary that was wanted."""
    wanted, size = config.tokenizer.vocab_size, vocabularies.largest
    return f"the text fills only {size:,} of {VOCAB_SIZE} {wanted:,}" if size < wanted else None


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
    """`events.jsonl`: appended as things happen, cut back to the checkpoint on resume.

    Args:
        path: The file.
        kept_bytes: What is beyond this length goes: it will happen again. None keeps it.
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
        """Yield what was logged so far; lines that are no events are left out."""
        with self._path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            for line in stream:
                with contextlib.suppress(ValueError):
                    event = json.loads(line)
                    if isinstance(event, dict) and {"event", "step"} <= event.keys():
                        yield event

    def flush(self) -> None:
        """Make sure that what was appended outlives a loss of power."""
        fsync(self._path)
