"""What must be there before the first step: configuration, vocabulary, encoded corpora."""

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.auto import Choice, Device
from nmt_cli.config.pace import USUAL_MACHINE, Machine
from nmt_cli.config.reading import LoadedConfig, with_values
from nmt_cli.config.schema import Config
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.encoding import UTF8
from nmt_cli.errors import TrainingError
from nmt_cli.files import os_errors_as, read_lines, temporary_folder, write_text
from nmt_cli.text.batches import check_usable, num_too_long
from nmt_cli.text.corpus import Corpora, Example, texts
from nmt_cli.text.encoders import build_encoder
from nmt_cli.text.fingerprint import FileHashes, corpus_fingerprint
from nmt_cli.text.held_out import held_out_settings
from nmt_cli.text.shards import (
    FORMAT,
    EncodedCorpus,
    Encoder,
    encode_corpora,
    remove_damaged,
    remove_other_shards,
    seal,
)
from nmt_cli.text.statistics import sample_evenly
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.text.vocabulary_cache import load_or_train
from nmt_cli.training.auto_values import (
    LANES,
    PRECISION,
    VOCAB_SIZE,
    resolve,
    resolve_for_machine,
    resolve_labels,
    unfilled,
)
from nmt_cli.training.checkpoint import saved_settings
from nmt_cli.training.dataset import check_trainable
from nmt_cli.training.fine_tuning import open_start, start_vocabularies
from nmt_cli.training.resume import (
    TEXT_AND_VOCABULARY,
    TEXTS,
    as_begun,
    check_settings,
    check_text_and_keys,
    run_settings,
)
from nmt_cli.training.run_folder import RunFolder

_BLANK = "blank.json"  # beside the training shards
_DEV_TEXT = "examples.jsonl"  # beside the development shards


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
        settings: What must be the same when the run goes on; see `resume.py`.
        start: The model whose weights to begin with, or None.
        num_blank: Label of a training corpus -> its pairs without text on a side, which are left
            out; empty where older shards do not say.
        warnings: What the user should know before training.
        cluster: The machines that train together.
        is_fresh: The run starts over: what it made before goes when its first step is at hand.
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
    settings: dict[str, Any]
    start: Bundle | None
    num_blank: Mapping[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cluster: Cluster = ALONE
    is_fresh: bool = False


def _any_machine(config: Config) -> dict[str, Choice]:
    reason = "any device has it"
    return {PRECISION: Choice("float32", reason), LANES: Choice(1, reason)}


def _usual_machine() -> Machine:
    return USUAL_MACHINE


def prepare(
    loaded: LoadedConfig,
    *,
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
    find_device: Callable[[], Device] = lambda: "cpu",
    choose_for_machine: Callable[[Config], Mapping[str, Choice]] = _any_machine,
    cluster: Cluster = ALONE,
    is_fresh: bool = False,
    time_limit: float = math.inf,
    measure_machine: Callable[[], Machine] = _usual_machine,
) -> Prepared:
    """Make or reuse vocabulary and shards in the run folder.

    Args:
        loaded: The configuration.
        tell: Called with a line about each stage.
        on_encoded: Called with the split and the number of its examples encoded so far.
        find_device: Called when the configuration says `auto`.
        choose_for_machine: Called when a key is open that the machine decides, and the run begins.
        cluster: The machines that train together.
        is_fresh: The run starts over. Nothing is deleted yet.
        time_limit: Seconds that the whole run may take.
        measure_machine: Called when something depends on how fast this machine is.

    Raises:
        ConfigError: See `resolve`, and `check_settings`; then nothing was written.
        DataError: A text file is missing or wrong.
        ConfigError, ModelFileError: The model to start from does not fit, or is damaged.
        TrainingError: There is nothing to train on, or the disk is full.
    """
    folder, run = (RunFolder.of(loaded.config, of) for of in (cluster, ALONE))
    if cluster.size > 1:  # all machines must choose alike
        measure_machine = _usual_machine
    loaded = resolve_labels(loaded)
    corpora = Corpora(loaded.config, loaded.data_dir)
    corpora.check_files()
    config = resolve(
        loaded,
        corpora,
        tell=tell,
        find_device=find_device,
        is_fresh=is_fresh,
        time_limit=time_limit,
        measure_machine=measure_machine,
    )
    start = open_start(config, run.path)
    vocabularies, config = _start_vocabularies(start, config, tell)
    begun = {} if is_fresh else saved_settings(run.checkpoints)
    config = as_begun(config, begun, tell=tell)
    warnings = []
    with os_errors_as(TrainingError, f"{folder.path}: cannot be written"):
        hashes = FileHashes(folder.path)
        text = {
            what: corpus_fingerprint(corpora.files(split), None, hashes)
            for split, what in TEXTS.items()
        }
        check_text_and_keys(run, begun, config, text)
        if vocabularies is None:
            vocabularies = _own_vocabularies(config, corpora, folder, tell)
        if VOCAB_SIZE not in loaded.auto and (warning := unfilled(config, vocabularies)):
            warnings.append(warning)
        config = with_values(config, {VOCAB_SIZE: vocabularies.largest}, VOCAB_SIZE)
        encoder = build_encoder(config, vocabularies)
        shards = _shard_folders(config, corpora, encoder, folder, hashes)
        settings = run_settings(config, text, encoder.fingerprint())
        check_settings(run, begun, settings | {TEXT_AND_VOCABULARY: shards["train"].name})
        encoded = _encode_splits(config, corpora, encoder, shards, tell, on_encoded)
    config = resolve_for_machine(config, tell=tell, choose=choose_for_machine)
    return Prepared(
        config,
        folder,
        corpora,
        vocabularies,
        encoder,
        settings=run_settings(config, text, encoder.fingerprint()),
        start=start,
        warnings=warnings,
        cluster=cluster,
        is_fresh=is_fresh,
        **encoded,
    )


def _start_vocabularies(
    start: Bundle | None, config: Config, tell: Callable[[str], None]
) -> tuple[Vocabularies | None, Config]:
    """Return the vocabularies of the model to start from, if any, and the configuration's truth."""
    if start is None:
        return None, config
    vocabularies, config, changes = start_vocabularies(start, config)
    tell(f"vocabulary: {vocabularies.source.vocab_size:,} tokens (of {start.path})")
    if changes:
        tell(f"train.from: {changes}, as that vocabulary is")
    return vocabularies, config


def _own_vocabularies(
    config: Config, corpora: Corpora, folder: RunFolder, tell: Callable[[str], None]
) -> Vocabularies:
    vocabularies, is_new = load_or_train(config, corpora, folder.path)
    made = "trained" if is_new else "reused"
    tell(f"vocabulary: {vocabularies.source.vocab_size:,} tokens ({made})")
    return vocabularies


def _encode_splits(
    config: Config,
    corpora: Corpora,
    encoder: Encoder,
    shards: Mapping[str, Path],
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
) -> dict[str, Any]:
    """Make or reuse the shards, and delete others; return what `Prepared` has of the text."""
    for split, folder in shards.items():
        if remove_damaged(folder):
            tell(f"{split}: the encoded text was damaged")
    dev_examples = _dev_examples(corpora, shards["dev"])
    examples = {"train": corpora.iter_corpora("train"), "dev": [dev_examples]}
    encoded = _encode(examples, encoder, shards, tell, on_encoded)
    _keep_dev_examples(dev_examples, shards["dev"])
    num_blank = _num_blank(config, corpora, shards["train"])
    for folder in shards.values():
        seal(folder)
    _check_lengths(encoded, config)
    if left_out := _left_out(encoded, config.model.max_length, sum(num_blank.values())):
        tell(f"pairs left out: {left_out}")
    remove_other_shards(shards.values())
    fingerprint = shards["train"].name
    return {
        **encoded,
        "dev_examples": dev_examples,
        "fingerprint": fingerprint,
        "num_blank": num_blank,
    }


def _encode(
    examples: Mapping[str, Iterable[Iterable[Example]]],
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
            examples[split], encoder, path, on_progress=functools.partial(on_encoded, split)
        )
        tell(f"{split}: {len(encoded[split]):,} pairs ({'encoded' if is_new else 'reused'})")
    return encoded


def _check_lengths(encoded: Mapping[str, EncodedCorpus], config: Config) -> None:
    """Raise TrainingError when training or its first evaluation would have no pair."""
    check_trainable(encoded["train"], config)
    check_usable(encoded["dev"], config.model.max_length, "dev")


def check_samples(config: Config, corpora: Corpora, samples: list[list[Example]]) -> None:
    """Check on samples what `prepare` checks on all of the text; nothing that is written stays.

    Args:
        config: The configuration, resolved.
        corpora: Its text.
        samples: Pairs of each training corpus.

    Raises:
        TrainingError: There is nothing to train on or to evaluate.
    """
    text = list(texts(itertools.chain.from_iterable(samples), "joint"))
    subwords = Subwords.train(text, config.tokenizer)
    encoder = build_encoder(config, Vocabularies(subwords, subwords))
    dev = sample_evenly(corpora.iter_split("dev"))[0]
    with temporary_folder() as folder:
        encoded = {
            split: encode_corpora(of_split, encoder, folder / split)
            for split, of_split in (("train", samples), ("dev", [dev]))
        }
        _check_lengths(encoded, config)


def _left_out(encoded: Mapping[str, EncodedCorpus], max_length: int, num_blank: int) -> str:
    """Return how many pairs of each split are not used and why; nothing when all are."""
    too_long = f"longer than model.max_length ({max_length:,} tokens)"
    counts = {f"of {s} {too_long}": num_too_long(c, max_length) for s, c in encoded.items()}
    counts["of train without text on a side"] = num_blank
    encoded["train"].release()
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


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


def _num_blank(config: Config, corpora: Corpora, shards: Path) -> dict[str, int]:
    """Return the blank pairs of each training corpus, which were counted when it was encoded."""
    kept = shards / _BLANK
    if not kept.is_file():
        labels = {corpus.label for corpus in config.data.train} & corpora.num_blank.keys()
        write_text(kept, json.dumps({label: corpora.num_blank[label] for label in labels}))
    counts: dict[str, int] = json.loads(kept.read_text(encoding="utf-8"))
    return counts


def _shard_folders(
    config: Config, corpora: Corpora, encoder: Encoder, folder: RunFolder, hashes: FileHashes
) -> dict[str, Path]:
    return {
        split: folder.shards / _shard_name(config, corpora, encoder, split, hashes)
        for split in ("train", "dev")
    }


def _shard_name(
    config: Config, corpora: Corpora, encoder: Encoder, split: str, hashes: FileHashes
) -> str:
    settings = {
        "corpora": [c.model_dump(exclude={"weight"}) for c in getattr(config.data, split)],
        "held_out": held_out_settings(config),
        "seed": config.seed,
        "chat": config.text_settings,
        "encoder": encoder.fingerprint(),
        "format": FORMAT,
    }
    if config.data.encoding != UTF8:
        settings["encoding"] = config.data.encoding
    key = corpus_fingerprint(corpora.files(split), settings, hashes)
    return f"{split}-{key[:16]}"
