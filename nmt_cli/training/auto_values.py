"""Values for the keys that say `auto`: of the run that goes on, else sized to text and device."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from nmt_cli.config import pace
from nmt_cli.config.auto import Choice, Device, Situation, choose, vocab_size
from nmt_cli.config.pace import USUAL_MACHINE, Lengths, Machine
from nmt_cli.config.reading import AUTO, LoadedConfig, load_config, value_of, with_values
from nmt_cli.config.schema import Config
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.labels import find_labels
from nmt_cli.text.statistics import count_tokens, sample_text
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.time_box import run_time, training_seconds

VOCAB_SIZE = "tokenizer.vocab_size"
PRECISION, LANES = "train.precision", "train.lanes"  # what the machine decides, not the text
LABELS = "classification.labels"


def resolve_labels(loaded: LoadedConfig) -> LoadedConfig:
    """Return a configuration with the labels in its training text, if it has none of its own.

    Raises:
        DataError: The text cannot be read, or is not labelled.
    """
    config = loaded.config
    if not config.facts.has_labels or config.classification.labels is not None:
        return loaded
    corpora = Corpora(config, loaded.data_dir)
    corpora.files("train")
    labels = find_labels(corpora.label_texts(), config)
    return replace(loaded, config=with_values(config, {LABELS: labels}, LABELS))


def resolve(
    loaded: LoadedConfig,
    corpora: Corpora,
    *,
    tell: Callable[[str], None],
    find_device: Callable[[], Device] = lambda: "cpu",
    is_fresh: bool = False,
    time_limit: float = math.inf,
    measure_machine: Callable[[], Machine] = lambda: USUAL_MACHINE,
) -> Config:
    """Return the configuration with a value for every key that says `auto`.

    A run that goes on keeps the values that it was begun with, whatever the device is now.

    Args:
        loaded: The configuration.
        corpora: Its text.
        tell: Called with a line about each choice.
        find_device: Called when the choices depend on it.
        is_fresh: The run starts over, whatever it was begun with.
        time_limit: Seconds that the whole run may take.
        measure_machine: Called when the choices depend on how fast that is.

    Raises:
        ConfigError: A value that the run was begun with does not fit the keys that are set now.
        TrainingError: There is no training pair.
        DataError: The text cannot be read.
    """
    config, auto, folder = loaded.config, loaded.auto, RunFolder.of(loaded.config)
    if auto and folder.has_begun and not is_fresh:
        begun = load_config(str(folder.config)).config
        tell(f"auto: as {folder.config} says, which this run was begun with")
        return with_values(config, {key: value_of(begun, key) for key in auto}, str(folder.config))
    choices: dict[str, Choice] = {}
    if auto:
        text, sample = sample_text(corpora)
        seconds = training_seconds(time_limit, text.pairs)
        machine = USUAL_MACHINE if time_limit == math.inf else measure_machine()
        if VOCAB_SIZE in auto:
            joint = config.tokenizer.joint
            choices[VOCAB_SIZE] = vocab_size(text, joint=joint, seconds=seconds, machine=machine)
            config = with_values(config, {VOCAB_SIZE: choices[VOCAB_SIZE].value}, VOCAB_SIZE)
        if others := auto - {VOCAB_SIZE}:
            tokens = count_tokens(sample, config, corpora.iter_split("dev"))
            situation = Situation(text, tokens, find_device(), seconds, machine)
            config, chosen = choose(config, others, situation)
            choices |= chosen
    for key, choice in choices.items():
        value = json.dumps(choice.value) if isinstance(choice.value, bool) else choice.value
        tell(f"auto: {key} = {value} ({choice.reason})")
    return config


def foretold_time(loaded: LoadedConfig) -> str:
    """Return, for people, how long training takes here, and which time limit would be enough."""
    loaded = resolve_labels(loaded)
    corpora = Corpora(loaded.config, loaded.data_dir)
    config = resolve(loaded, corpora, tell=lambda _: None)
    text, sample = sample_text(corpora)
    return run_time(config, mean_lengths(sample, config), text.pairs, pace.measure_machine())


def mean_lengths(sample: list[Example], config: Config) -> Lengths:
    """Return the mean lengths of examples with a vocabulary of the configuration's size."""
    return count_tokens(sample, config, []).mean


def resolve_for_machine(
    config: Config,
    *,
    tell: Callable[[str], None],
    choose: Callable[[Config], Mapping[str, Choice]],
) -> Config:
    """Give what the machine decides, where it is still open, a value from `choose`."""
    if AUTO not in (config.train.precision, config.train.lanes):
        return config
    for key, choice in choose(config).items():
        if value_of(config, key) == AUTO:
            tell(f"auto: {key} = {choice.value} ({choice.reason})")
            config = with_values(config, {key: choice.value}, key)
    return config


def unfilled(config: Config, vocabularies: Vocabularies) -> str | None:
    """Return a warning when the text was too little for the vocabulary that was wanted."""
    wanted, size = config.tokenizer.vocab_size, vocabularies.largest
    return f"the text fills only {size:,} of {VOCAB_SIZE} {wanted:,}" if size < wanted else None
