"""Values for the keys that say `auto`: those of a resumed run, else chosen for text and device."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from nmt_cli.config.auto import Choice, Device, Situation, choose, vocab_size
from nmt_cli.config.pace import USUAL_MACHINE, Lengths, Machine, measure_machine
from nmt_cli.config.reading import AUTO, LoadedConfig, load_config, value_of, with_values
from nmt_cli.config.schema import Config
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.labels import find_labels, taken_for_one
from nmt_cli.text.statistics import count_tokens, sample_text
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.time_box import run_time, training_seconds

VOCAB_SIZE = "tokenizer.vocab_size"
PRECISION, LANES = "train.precision", "train.lanes"  # what the machine decides, not the text
LABELS = "classification.labels"


class AnyMachine:
    """What a run is sized for where it may train on any machine; see `device.ThisMachine`."""

    def device(self) -> Device:
        """Return what trains."""
        return "cpu"

    def pace(self) -> Machine:
        """Return how fast it is."""
        return USUAL_MACHINE

    def choices(self, config: Config) -> dict[str, Choice]:
        """Return values for the keys that the machine decides, not the text."""
        reason = "every device supports it"
        return {PRECISION: Choice("float32", reason), LANES: Choice(1, reason)}


ANY_MACHINE = AnyMachine()


def open_text(loaded: LoadedConfig) -> tuple[LoadedConfig, Corpora]:
    """Return a configuration, with the labels in its text if it has none of its own, and its text.

    DataError: the text cannot be read, or is not labelled.
    """
    config, corpora = loaded.config, Corpora(loaded.config, loaded.data_dir)
    if not config.facts.has_labels or config.classification.labels is not None:
        return loaded, corpora
    corpora.files("train")
    labels = find_labels(corpora.label_texts(), config)
    config = with_values(config, {LABELS: labels}, LABELS)
    return replace(loaded, config=config), Corpora(config, loaded.data_dir)


def label_warning(config: Config) -> str | None:
    """Return a warning when a label looks like several; None when none does."""
    return taken_for_one(config.classification.labels or (), config.classification)


def resolve(
    loaded: LoadedConfig,
    corpora: Corpora,
    *,
    tell: Callable[[str], None],
    machine: AnyMachine = ANY_MACHINE,
    is_fresh: bool = False,
    time_limit: float = math.inf,
    vocabularies: Vocabularies | None = None,
) -> Config:
    """Return the configuration with a value for every key that says `auto`; tell each choice.

    A run that resumes keeps the values that it was begun with, unless it `is_fresh` and starts
    over. `time_limit` is that of the whole run, in seconds; `vocabularies` are those of the model
    to start from.

    Raises:
        ConfigError: A value that the run was begun with does not fit the keys that are set now.
        DataError, TrainingError: The text cannot be read, or there is no training pair.
    """
    config, auto, folder = loaded.config, loaded.auto, RunFolder.of(loaded.config)
    if auto and folder.has_begun and not is_fresh:
        begun = load_config(str(folder.config)).config
        tell(f"auto: as in {folder.config}, with which this run was started")
        return with_values(config, {key: value_of(begun, key) for key in auto}, str(folder.config))
    config, choices = made_choices(loaded, corpora, machine, time_limit, vocabularies)
    for key, choice in choices.items():
        value = json.dumps(choice.value) if isinstance(choice.value, bool | list) else choice.value
        tell(f"auto: {key} = {value} ({choice.reason})")
    return config


def made_choices(
    loaded: LoadedConfig,
    corpora: Corpora,
    machine: AnyMachine,
    time_limit: float,
    vocabularies: Vocabularies | None = None,
) -> tuple[Config, dict[str, Choice]]:
    """Return the configuration with a value for every key that says `auto`, and these by key.

    See `resolve`, whose choices for a new run these are.
    """
    config, auto = loaded.config, loaded.auto
    choices: dict[str, Choice] = {}
    if not auto:
        return config, choices
    text, sample = sample_text(corpora)
    seconds = training_seconds(time_limit, text.pairs)
    pace = USUAL_MACHINE if time_limit == math.inf else machine.pace()
    if VOCAB_SIZE in auto:
        joint = config.tokenizer.joint
        choices[VOCAB_SIZE] = vocab_size(text, joint=joint, seconds=seconds, machine=pace)
        config = with_values(config, {VOCAB_SIZE: choices[VOCAB_SIZE].value}, VOCAB_SIZE)
    if others := auto - {VOCAB_SIZE}:
        tokens = count_tokens(sample, config, corpora.iter_split("dev"), vocabularies)
        situation = Situation(text, tokens, machine.device(), seconds, pace)
        config, chosen = choose(config, others, situation)
        choices |= chosen
    return config, choices


def foretold_time(loaded: LoadedConfig) -> str:
    """Return, for people, how long training takes here, and which time limit would be enough."""
    loaded, corpora = open_text(loaded)
    config = resolve(loaded, corpora, tell=lambda _: None)
    text, sample = sample_text(corpora)
    lengths = mean_lengths(sample, config)
    return run_time(config, loaded.auto, lengths, text.pairs, measure_machine())


def mean_lengths(
    sample: list[Example], config: Config, vocabularies: Vocabularies | None = None
) -> Lengths:
    """Return the mean lengths of examples; without vocabularies with one of the right size."""
    return count_tokens(sample, config, [], vocabularies).mean


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
