"""What must be there before the first step: configuration, vocabulary, encoded corpora.

A run that resumes must have the settings that it was begun with: they are compared before anything
is written, and before TensorFlow starts.
"""

import functools
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.auto import Choice
from nmt_cli.config.reading import AUTO, LoadedConfig, fixed_keys, with_values
from nmt_cli.config.schema import Config
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.errors import ConfigError, DataError, TrainingError, number_of
from nmt_cli.files import os_errors_as, read_lines, temporary_folder, write_text
from nmt_cli.search.glossary import Glossary
from nmt_cli.stores import Store
from nmt_cli.text.batches import check_usable, num_too_long
from nmt_cli.text.corpus import Corpora, Example, sample_evenly, texts
from nmt_cli.text.shards import (
    EncodedCorpus,
    Encoder,
    build_encoder,
    encode_corpora,
    is_sealed,
    num_blank,
    parts_of,
    remove_damaged,
    remove_other_shards,
    seal,
)
from nmt_cli.text.shares import bring_parts, split_name
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.text.vocabulary_cache import (
    FileHashes,
    bring,
    corpus_fingerprint,
    kept_sizes,
    load_or_train,
)
from nmt_cli.training.auto_values import (
    ANY_MACHINE,
    LANES,
    PRECISION,
    VOCAB_SIZE,
    AnyMachine,
    label_warning,
    open_text,
    resolve,
    resolve_for_machine,
    unfilled,
)
from nmt_cli.training.checkpoint import changed_shared, saved_settings
from nmt_cli.training.dataset import check_trainable
from nmt_cli.training.fine_tuning import follow_start, open_start
from nmt_cli.training.run_folder import RunFolder

_DEV_TEXT = "examples.jsonl"  # beside the development shards
# What a checkpoint keeps beside the keys of the configuration; called what a message calls them.
_VOCABULARY = "the vocabulary"
_START = "the model to start from"
TEXTS = {"train": "the training text", "dev": "the development text"}
TEXT_AND_VOCABULARY = "fingerprint"  # in checkpoints of earlier versions, instead of the two
_LANES_BEFORE = 1  # in checkpoints of earlier versions, which do not say


@dataclass(frozen=True)
class Prepared:
    """All that the training loop needs."""

    config: Config  # with a value for each key that said `auto`, and the vocabulary's real size
    folder: RunFolder
    corpora: Corpora
    vocabularies: Vocabularies
    encoder: Encoder
    train: EncodedCorpus
    dev: EncodedCorpus
    dev_examples: list[Example]
    fingerprint: str  # hash of text, vocabulary and template of the training corpus
    # label of a training corpus -> its pairs without text on a side, which are left out
    num_blank: Mapping[str, int]
    settings: dict[str, Any]  # what must be the same when the run resumes
    start: Bundle | None
    glossary: Glossary | None = None  # of which terms are taught
    warnings: list[str] = field(default_factory=list)
    cluster: Cluster = ALONE
    # the run starts over: what it made before goes when its first step is at hand
    is_fresh: bool = False

    @property
    def origin(self) -> dict[str, Any]:
        """What a score depends on beside the configuration's other keys; for the bundle."""
        names = {"text": TEXTS["train"], "dev_text": TEXTS["dev"], "vocabulary": _VOCABULARY}
        return {
            **{key: self.settings[name] for key, name in names.items()},
            "seed": self.config.seed,
        }

    @property
    def may_keep_start(self) -> bool:
        """Whether the model to start from may be the best one; not if it lacks tokens."""
        size = self.vocabularies.source.vocab_size
        return self.start is not None and self.start.manifest.vocabulary["source"] == size


def prepare(
    loaded: LoadedConfig,
    *,
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None] = lambda *_: None,
    machine: AnyMachine = ANY_MACHINE,
    cluster: Cluster = ALONE,
    is_fresh: bool = False,
    time_limit: float = math.inf,
    store: str | None = None,
) -> Prepared:
    """Make or reuse vocabulary and shards in the run folder.

    Args:
        loaded: The configuration.
        tell: Called with a line about each stage.
        on_encoded: Called with the split and the number of its examples encoded so far.
        machine: Asked when something depends on what trains; see `device.ThisMachine`.
        cluster: The machines that train together.
        is_fresh: The run starts over. Nothing is deleted yet.
        time_limit: Seconds that the whole run may take.
        store: URL of the folder of a store that may have the vocabulary and encoded parts.

    Raises:
        ConfigError: See `resolve`, and `check_settings`; then nothing was written.
        ConfigError, ModelFileError: The model to start from does not fit, or is damaged.
        DataError: A text file is missing or wrong.
        TrainingError: There is nothing to train on, or the disk is full.
    """
    folder, run = (RunFolder.of(loaded.config, of) for of in (cluster, ALONE))
    start = open_start(loaded.config, run.path)
    loaded, vocabularies = follow_start(loaded, start, tell)
    loaded, corpora = open_text(loaded)
    corpora.check_files()
    glossary = Glossary.read(corpora.glossary) if corpora.glossary else None
    config = resolve(
        loaded,
        corpora,
        tell=tell,
        machine=machine,
        is_fresh=is_fresh,
        time_limit=time_limit,
        vocabularies=vocabularies,
    )
    of_run = Store.of_run(store, config.name, DataError)
    begun = {} if is_fresh else saved_settings(run.checkpoints)
    config = as_begun(config, begun, tell=tell)
    warnings = [*filter(None, [label_warning(config)])]
    with os_errors_as(TrainingError, f"{folder.path}: cannot be written"):
        hashes = FileHashes(folder.path)
        text = _check_text(run, begun, config, corpora, start, hashes)
        if vocabularies is None:
            if of_run is not None and not begun:
                bring(config, corpora, folder.path, hashes, of_run, tell)
            vocabularies, is_new = load_or_train(config, corpora, folder.path, run.path)
            made = "trained" if is_new else "reused"
            tell(f"vocabulary: {vocabularies.source.vocab_size:,} tokens ({made})")
        if VOCAB_SIZE not in loaded.auto and (warning := unfilled(config, vocabularies)):
            warnings.append(warning)
        config = with_values(config, {VOCAB_SIZE: vocabularies.largest}, VOCAB_SIZE)
        encoder = build_encoder(config, vocabularies)
        fingerprint = encoder.fingerprint()
        names = {s: split_name(corpora, fingerprint, s, hashes) for s in ("train", "dev")}
        shards = _find_shards(names, folder, run, tell)
        settings = run_settings(config, text, fingerprint, start)
        check_settings(run, begun, settings | {TEXT_AND_VOCABULARY: shards["train"].name})
        find = parts_of if of_run is None else functools.partial(bring_parts, of_run, tell)
        encoded = _encode_splits(config, corpora, encoder, shards, tell, on_encoded, find)
    config = resolve_for_machine(config, tell=tell, choose=machine.choices)
    return Prepared(
        config,
        folder,
        corpora,
        vocabularies,
        encoder,
        settings=run_settings(config, text, fingerprint, start),
        start=start,
        glossary=glossary,
        warnings=warnings,
        cluster=cluster,
        is_fresh=is_fresh,
        **encoded,
    )


def _check_text(
    run: RunFolder,
    begun: Mapping[str, Any],
    config: Config,
    corpora: Corpora,
    start: Bundle | None,
    hashes: FileHashes,
) -> dict[str, str]:
    """Return the hash of each split's text, which is what the run was begun with, if it was."""
    text = text_hashes(corpora, hashes.of)
    check_text_and_keys(run, begun, config, text, start)
    for file in corpora.files("test"):  # so that it is noticed when they change
        hashes.of(file)
    hashes.save()  # not before: what a refused run saw is not what the model learned from
    return text


def _find_shards(
    names: Mapping[str, str], folder: RunFolder, run: RunFolder, tell: Callable[[str], None]
) -> dict[str, Path]:
    """Return where each split's shards are, or are to be.

    What the chief has on a shared disk is there for all, and is checked by the chief.
    """
    is_there = all(is_sealed(run.shards / name) for name in names.values())
    home = run.shards if is_there else folder.shards
    shards = {split: home / name for split, name in names.items()}
    for split, path in shards.items():
        if home == folder.shards and remove_damaged(path):
            tell(f"{split}: the encoded text was damaged or not complete")
    return shards


def _encode_splits(
    config: Config,
    corpora: Corpora,
    encoder: Encoder,
    shards: Mapping[str, Path],
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
    find_parts: Callable[[Path], list[Path]],
) -> dict[str, Any]:
    """Make or reuse the shards, and delete others; return what `Prepared` has of the text."""
    dev_examples = _dev_examples(corpora, shards["dev"])
    examples = {"train": corpora.iter_corpora("train"), "dev": [dev_examples]}
    encoded: dict[str, EncodedCorpus] = {}
    for split, path in shards.items():
        made = "reused" if path.exists() else "encoded"
        told = functools.partial(on_encoded, split)
        encoded[split] = encode_corpora(
            examples[split], encoder, path, on_progress=told, find_parts=find_parts
        )
        tell(f"{split}: {number_of(len(encoded[split]), 'pair')} ({made})")
    if not (kept := shards["dev"] / _DEV_TEXT).is_file():
        write_text(kept, "".join(f"{json.dumps(pair)}\n" for pair in dev_examples))
    blank = num_blank(corpora, shards["train"])
    for folder in shards.values():
        seal(folder)
    _check_lengths(encoded, config)
    if config.facts.has_labels and (long := _not_read_further(encoded, config.model.max_length)):
        tell(long)
    if left_out := _left_out(encoded, config.model.max_length, sum(blank.values())):
        tell(f"pairs left out: {left_out}")
    remove_other_shards(shards.values())
    facts = {"fingerprint": shards["train"].name, "num_blank": blank}
    return {**encoded, "dev_examples": dev_examples, **facts}


def _check_lengths(encoded: Mapping[str, EncodedCorpus], config: Config) -> None:
    """Raise TrainingError when training or its first evaluation would have no pair."""
    check_trainable(encoded["train"], config)
    check_usable(encoded["dev"], config.model.max_length, "dev")


def check_samples(
    config: Config,
    corpora: Corpora,
    samples: list[list[Example]],
    vocabularies: Vocabularies | None = None,
) -> None:
    """Check on samples of each training corpus what `prepare` checks on all; nothing written stays.

    TrainingError: there is nothing to train on or to evaluate.
    """
    if vocabularies is None:
        text = list(texts(itertools.chain.from_iterable(samples), "joint"))
        subwords = Subwords.train(text, config.tokenizer)
        vocabularies = Vocabularies(subwords, subwords)
    encoder = build_encoder(config, vocabularies)
    dev = sample_evenly(corpora.iter_split("dev"))[0]
    with temporary_folder() as folder:
        encoded = {
            split: encode_corpora(of_split, encoder, folder / split)
            for split, of_split in (("train", samples), ("dev", [dev]))
        }
        _check_lengths(encoded, config)


def _not_read_further(encoded: Mapping[str, EncodedCorpus], max_length: int) -> str:
    """Return how many texts of each split a classifier may not read to their ends; "" for none."""
    counts = {split: num_too_long(corpus, max_length - 1) for split, corpus in encoded.items()}
    told = ", ".join(f"{count:,} of {split}" for split, count in counts.items() if count)
    what = f"texts of {max_length:,} tokens (model.max_length) or more, not read any further"
    return f"{what}: {told}" if told else ""


def _left_out(encoded: Mapping[str, EncodedCorpus], max_length: int, num_blank: int) -> str:
    """Return how many pairs of each split are not used and why; nothing when all are."""
    too_long = f"longer than model.max_length ({max_length:,} tokens)"
    counts = {f"of {s} {too_long}": num_too_long(c, max_length) for s, c in encoded.items()}
    counts["of train without text on one side"] = num_blank
    encoded["train"].release()
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def _dev_examples(corpora: Corpora, shards: Path) -> list[Example]:
    """Return the development text; to take it out of a large training corpus once is enough."""
    kept = shards / _DEV_TEXT
    if not kept.is_file():
        return list(corpora.iter_split("dev"))
    pairs = map(json.loads, read_lines(kept))
    return [Example(tuple(source), target, *map(tuple, way)) for source, target, *way in pairs]


def run_settings(
    config: Config, text: Mapping[str, str], vocabulary: str, start: Bundle | None
) -> dict[str, Any]:
    """Return what a checkpoint keeps of a run's settings: all that decides how it resumes.

    `text` has the hash of the text of each split, by its name in `TEXTS`; `vocabulary` is the
    encoder's. Of the model to start from, the path is among the keys, but another may be there now.
    """
    return {**fixed_keys(config), **text, **_weights_of(start), _VOCABULARY: vocabulary}


def _weights_of(start: Bundle | None) -> dict[str, str]:
    return {} if start is None else {_START: start.identity}


def as_begun(config: Config, begun: Mapping[str, Any], *, tell: Callable[[str], None]) -> Config:
    """Return the configuration with what the machine decided when the run was begun, if it was.

    Another machine may be faster in another way, but would not resume the same run.
    """
    if not begun:
        return config
    values = {PRECISION: begun.get(PRECISION, AUTO), LANES: begun.get(LANES, _LANES_BEFORE)}
    choices = {
        key: Choice(value, "this run was started with it")
        for key, value in values.items()
        if value != AUTO
    }
    return resolve_for_machine(config, tell=tell, choose=lambda _: choices)


def text_hashes(corpora: Corpora, hash_of: Callable[[Path], str]) -> dict[str, str]:
    """Return the hash of the text of each split, by its name in `TEXTS`."""
    return {
        what: corpus_fingerprint(corpora.files(split), None, hash_of)
        for split, what in TEXTS.items()
    }


def check_text_and_keys(
    run: RunFolder,
    begun: Mapping[str, Any],
    config: Config,
    text: Mapping[str, str],
    start: Bundle | None,
) -> None:
    """Compare all that is known before there is a vocabulary; see `check_settings`."""
    now = {**fixed_keys(config), **text, **_weights_of(start)}
    sizes = kept_sizes(run.path)  # the one that was wanted, and the one that the text filled
    is_same = now[VOCAB_SIZE] in sizes and begun.get(VOCAB_SIZE) in sizes
    if is_same or not sizes:  # they are lost: it shows when the vocabulary is trained again
        now[VOCAB_SIZE] = begun.get(VOCAB_SIZE, now[VOCAB_SIZE])
    check_settings(run, begun, now)


def check_settings(run: RunFolder, begun: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ConfigError when settings that a run was begun with have changed.

    One that its checkpoints, which may be older, do not keep is not compared.
    """
    if changed := changed_shared(begun, now):
        raise ConfigError(
            f"{run.path} was started with other settings: {', '.join(changed)}",
            hint="set them back, give the run another name, or start over with --fresh",
        )
