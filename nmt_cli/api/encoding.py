"""The text of a run encoded ahead of its training: all of it, or a share of the training corpus."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.api.functions import Config, Settings, configuration
from nmt_cli.config.auto import Choice
from nmt_cli.config.reading import LoadedConfig, with_values
from nmt_cli.config.schema import Config as FullConfig
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.files import os_errors_as
from nmt_cli.parts import share_of
from nmt_cli.stores import Store
from nmt_cli.text.shards import build_encoder
from nmt_cli.text.shares import encode_share, has_parts, split_name
from nmt_cli.text.vocabulary_cache import FileHashes, bring, kept_pairs
from nmt_cli.text.vocabulary_cache import load as load_vocabularies
from nmt_cli.training.auto_values import VOCAB_SIZE, AnyMachine, open_text, resolve
from nmt_cli.training.fine_tuning import follow_start, open_start
from nmt_cli.training.run import prepare
from nmt_cli.training.run_folder import RunFolder


def encode(
    config: Config = None,
    *,
    shard: str | None = None,
    set: Settings = None,
    data_dir: str | Path | None = None,
    store: str | None = None,
    on_note: Callable[[str], None] = lambda _: None,
    on_encoded: Callable[[str, int], None] = lambda *_: None,
) -> None:
    """Encode the text of a configuration, as `train` would; what is there already is left as it is.

    Args:
        config: See `configuration`.
        shard: Only this share of the training text, "K/N", as a part that the whole is made of
            later. The run must have its vocabulary. None is all, from the parts if there are some.
        set: Keys to change; see `configuration`.
        data_dir: The folder of the text.
        store: URL of a folder of an object store in which runs are kept. The vocabulary comes from
            there. A part is put there; all of it is made of the parts that are there, and if there
            is none, it is put there as one.
        on_note: Called with a line of text for each choice and stage.
        on_encoded: Called with the split and the number of its examples encoded so far.

    Raises:
        NmtError: Whatever `nmt tokenize` reports as an error.

    Example:
        nmt_cli.tokenize("my.yaml")
        nmt_cli.encode("my.yaml", shard="2/8")
    """
    loaded = configuration(config, set, data_dir)
    if loaded.config.train.stages:
        raise ConfigError("train.stages: each stage encodes its own text, when it is trained")
    if shard is not None or store is not None:
        _encode_share(loaded, shard, store, on_note, on_encoded)
    if shard is None:
        with RunFolder.of(loaded.config).locked():
            prepare(loaded, tell=on_note, on_encoded=on_encoded, machine=_Unknown(), store=store)


class _Unknown(AnyMachine):
    """What will train: nothing is chosen for it yet."""

    def choices(self, config: FullConfig) -> dict[str, Choice]:
        """Return nothing."""
        return {}


def _encode_share(
    loaded: LoadedConfig,
    shard: str | None,
    store: str | None,
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
) -> None:
    share, run = share_of(shard or "1/1"), RunFolder.of(loaded.config)
    of_run = Store.of_run(store, loaded.config.name, DataError)
    start = open_start(loaded.config, run.path)
    loaded, vocabularies = follow_start(loaded, start, tell)
    loaded, corpora = open_text(loaded)
    config = resolve(loaded, corpora, tell=tell, vocabularies=vocabularies)
    with os_errors_as(ConfigError, f"{run.path}: cannot be written"):
        hashes = FileHashes(run.path)
        counts: list[int] = []
        if vocabularies is None:
            known = config, corpora, run.path, hashes
            vocabularies = bring(*known, of_run, tell) if of_run else load_vocabularies(*known)
            counts = kept_pairs(run.path)
        if vocabularies is None:
            place, option = (run.path, "") if of_run is None else (of_run.url, f" --store {store}")
            hint = f"train it first, on one machine: nmt tokenize CONFIG{option}"
            raise ConfigError(f"{place}: has no vocabulary of this text", hint=hint)
        config = with_values(config, {VOCAB_SIZE: vocabularies.largest}, VOCAB_SIZE)
        encoder = build_encoder(config, vocabularies)
        folder = run.shards / split_name(corpora, encoder.fingerprint(), "train", hashes)
        if shard is None and of_run is not None and has_parts(of_run, folder):
            return
        is_new = encode_share(
            corpora,
            counts or corpora.train_sample[1],
            encoder,
            folder,
            share,
            of_run,
            on_progress=lambda done: on_encoded("train", done),
        )
    place = folder if of_run is None else f"{of_run.url}/shards/{folder.name}"
    tell(f"{place}: part {share} {'encoded' if is_new else 'exists already'}")
