"""The text of a run encoded ahead of its training: all of it, or a share of the training corpus."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.api.functions import Config, Settings, configuration
from nmt_cli.config.auto import Choice
from nmt_cli.config.reading import LoadedConfig, with_values
from nmt_cli.config.schema import Config as FullConfig
from nmt_cli.errors import ConfigError
from nmt_cli.files import os_errors_as
from nmt_cli.parts import share_of
from nmt_cli.text.shards import build_encoder
from nmt_cli.text.shares import encode_share, split_name
from nmt_cli.text.vocabulary_cache import FileHashes, kept_pairs
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
    if shard is not None:
        _encode_share(loaded, shard, on_note, on_encoded)
        return
    with RunFolder.of(loaded.config).locked():
        prepare(loaded, tell=on_note, on_encoded=on_encoded, machine=_Unknown())


class _Unknown(AnyMachine):
    """What will train: nothing is chosen for it yet."""

    def choices(self, config: FullConfig) -> dict[str, Choice]:
        """Return nothing."""
        return {}


def _encode_share(
    loaded: LoadedConfig,
    shard: str,
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], None],
) -> None:
    share, run = share_of(shard), RunFolder.of(loaded.config)
    start = open_start(loaded.config, run.path)
    loaded, vocabularies = follow_start(loaded, start, tell)
    loaded, corpora = open_text(loaded)
    config = resolve(loaded, corpora, tell=tell, vocabularies=vocabularies)
    with os_errors_as(ConfigError, f"{run.path}: cannot be written"):
        hashes = FileHashes(run.path)
        counts: list[int] = []
        if vocabularies is None:
            vocabularies = load_vocabularies(config, corpora, run.path, hashes)
            counts = kept_pairs(run.path)
        if vocabularies is None:
            hint = "train it first, on one machine: nmt tokenize CONFIG"
            raise ConfigError(f"{run.path}: has no vocabulary of this text", hint=hint)
        config = with_values(config, {VOCAB_SIZE: vocabularies.largest}, VOCAB_SIZE)
        encoder = build_encoder(config, vocabularies)
        folder = run.shards / split_name(corpora, encoder.fingerprint(), "train", hashes)
        is_new = encode_share(
            corpora,
            counts or corpora.train_sample[1],
            encoder,
            folder,
            share,
            on_progress=lambda done: on_encoded("train", done),
        )
    tell(f"{folder}: part {share} {'encoded' if is_new else 'exists already'}")
