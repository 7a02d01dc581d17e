"""Starting from a trained model: its vocabulary and its weights, a new optimizer."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.reading import LoadedConfig, with_values
from nmt_cli.config.schema import Config, ModelConfig
from nmt_cli.config.tasks import CHAT, TRANSLATION
from nmt_cli.errors import ConfigError
from nmt_cli.model.weights import Arrays, Model, is_hidden_matrix, named_variables
from nmt_cli.text.languages import Languages
from nmt_cli.text.special_tokens import CONTROL_TOKENS, taught_tokens
from nmt_cli.text.vocabulary import Vocabularies

# What has no part in the shapes or the meaning of the weights.
_FREE = {"dropout", "attention_dropout", "activation_dropout"}
_OF_DECODER = {"decoder_layers", "tie_embeddings"}
_BY_TOKEN = ("embedding", "output_bias")  # how those end that have a row for each token
_OF_ENCODER = ("embedding", "encoder.")  # how the names of its weights begin


def open_start(config: Config, run: Path) -> Bundle | None:
    """Return the bundle that `train.from` names, or None when the run of this folder starts anew.

    ModelFileError: it is missing or damaged, or has no weights. ConfigError: it is the run's own.
    """
    if config.train.start is None:
        return None
    labels = config.facts.has_labels
    bundle = find_bundle(config.train.start, *(() if labels else (TRANSLATION, CHAT)))
    if bundle.path.resolve().is_relative_to(run.resolve()):
        raise ConfigError(
            f"train.from: {bundle.named} is the model of this run, which training would replace",
            hint="give the new run another name: --set name=NAME",
        )
    bundle.check_has_weights()
    return bundle


def follow_start(
    loaded: LoadedConfig, start: Bundle | None, tell: Callable[[str], None]
) -> tuple[LoadedConfig, Vocabularies | None]:
    """Return the configuration that a run from `start` has, and the vocabularies, if any.

    Keys of `model` that the file leaves open are those of the start model, but for what `auto` may
    choose anew: dropouts, and the length where positions are computed. A run cannot choose its
    vocabulary, so the keys of `tokenizer` become what is true of it; those that the file gave
    otherwise are told.

    Raises:
        ConfigError: The file asks for another architecture.
        ModelFileError: The vocabularies are missing or damaged.
    """
    if start is None:
        return loaded, None
    config, there = loaded.config, _model_of(start)
    values = {f"model.{key}": there[key] for key in there.keys() - _given(loaded, "model")}
    config = with_values(config, values, f"the model in {start.named}")
    auto = {f"model.{key}" for key in _free(config)} & loaded.auto
    auto |= {key for key in loaded.auto if not key.startswith(("model.", "tokenizer."))}
    _check_architecture(config, start)
    found = start.load_vocabularies()
    if config.facts.has_labels:
        found = Vocabularies(found.source, found.source)
    else:
        found = replace(found, languages=_fitting(found.languages, config, start))
    if config.tokenizer.dropout and found.source.is_imported:
        raise ConfigError(
            f"tokenizer.dropout: the vocabulary of {start.named} has no merges to leave out",
            hint="--set tokenizer.dropout=0",
        )
    if config.data.noise and (found.source.is_imported or found.target.is_imported):
        raise ConfigError(
            f"data.noise: the vocabulary of {start.named} does not give its text back as it was",
            hint="--set data.noise={}",
        )
    if new := [token for token in taught_tokens(config.data) if not found.source.ids([token])]:
        if found.source.is_imported or found.target.is_imported:
            key = "placeholders" if config.data.placeholders else "glossary"
            raise ConfigError(
                f"data.{key}: the vocabulary of {start.named} takes no more tokens",
                hint=f"--set data.{key}=false",
            )
        found = found.with_unmade(new)
    tell(f"vocabulary: {found.source.vocab_size:,} tokens (of {start.named})")
    values = {"vocab_size": found.largest, "joint": found.joint, **found.source.settings}
    here = config.tokenizer.model_dump()
    changes = [
        f"tokenizer.{key} is {json.dumps(value)}, not {json.dumps(here[key])}"
        for key, value in values.items()
        if key in _given(loaded, "tokenizer") and value != here[key]
    ]
    if changes:
        tell(f"train.from: {', '.join(changes)}, as for that vocabulary")
    values = {f"tokenizer.{key}": value for key, value in values.items()}
    config = with_values(config, values, f"the vocabulary of {start.named}")
    return replace(loaded, config=config, auto=frozenset(auto)), found


def _given(loaded: LoadedConfig, section: str) -> set[str]:
    """Return the keys of a section that the file sets to a value."""
    keys: set[str] = getattr(loaded.config, section).model_fields_set
    return {key for key in keys if f"{section}.{key}" not in loaded.auto}


def _model_of(start: Bundle) -> dict[str, Any]:
    """Return the `model` section of a bundle; one of an earlier version says less."""
    return ModelConfig().model_dump(mode="json") | start.manifest.model


def _free(config: Config) -> set[str]:
    """Return the keys of `model` that may be others than the start model's."""
    free = _FREE | ({"max_length"} if config.model.positions == "sinusoidal" else set())
    return free | (_OF_DECODER if config.facts.has_labels else set())


def _check_architecture(config: Config, start: Bundle) -> None:
    """Raise ConfigError when a configuration asks for another model than the one to start from."""
    here, there = config.model.model_dump(mode="json"), _model_of(start)
    differing = [key for key in here.keys() - _free(config) if here[key] != there[key]]
    if differing:
        facts = ", ".join(
            f"model.{k} is {json.dumps(there[k])} there and {json.dumps(here[k])} here"
            for k in sorted(differing)
        )
        its_own = (f"model.{key}={json.dumps(there[key])}" for key in sorted(differing))
        settings = " ".join(f"--set {shlex.quote(setting)}" for setting in its_own)
        raise ConfigError(
            f"train.from: the model in {start.named} has another architecture: {facts}",
            hint=f"use its own, or leave these keys out: {settings}",
        )


def _fitting(there: Languages, config: Config, start: Bundle) -> Languages:
    """Return the languages of the model to start from, with the direction of the text, if one.

    ConfigError: it does not know a language of the text, or has no tokens for several.
    """
    here = Languages.of(config)
    if not there.tokens and here.tokens:
        raise ConfigError(
            f"train.from: the model in {start.named} has one direction, the text has several",
            hint="start from scratch, or name corpora of one direction",
        )
    if not there.tokens:
        return here
    for way in {config.data.way_of(corpus) for corpus in config.data.train}:
        try:
            there.way(*way)
        except ConfigError as error:
            hint = f"set source_lang and target_lang of the text; {error.hint}"
            raise ConfigError(f"train.from: {start.named}: {error}", hint=hint) from error
    return replace(there, default=here.default)


def start_weights(start: Bundle, new: Callable[[], Arrays], config: Config) -> Arrays:
    """Return the weights that a run begins with: those of `start`, else those of a `new` model.

    A classifier takes the encoder of any model, and all of one that gives the same labels.
    """
    weights = start.load_weights()
    if taught_tokens(config.data):
        return _with_rows(weights, new(), start.manifest.vocabulary.get("tags", 0))
    if not config.facts.has_labels:
        return weights
    if start.manifest.classification.get("labels") != config.classification.labels:
        weights = {
            name.removeprefix("source_"): array
            for name, array in weights.items()
            if name.removeprefix("source_").startswith(_OF_ENCODER)
        }
    return new() | weights


def _with_rows(weights: Arrays, new: Arrays, num_tags: int) -> Arrays:
    """Return weights with those of a new model for the tokens that the start model lacks."""
    first = len(CONTROL_TOKENS) + num_tags
    more = {name: array for name, array in weights.items() if name.endswith(_BY_TOKEN)}
    for name, array in more.items():
        count = len(new[name]) - len(array)
        more[name] = np.insert(array, first, new[name][first : first + count], axis=0)
    return weights | more


def trained_variables(model: Model, config: Config) -> dict[str, Any]:
    """Return the variables that training changes, by name.

    ConfigError: there are none.
    """
    frozen = {*config.train.freeze}
    if config.facts.has_labels and config.classification.freeze_encoder:
        frozen |= {"embeddings", "encoder"}
    variables = {
        name: variable
        for name, variable in named_variables(model).items()
        if variable.trainable and _part(name) not in frozen
    }
    if config.train.lora_rank:
        variables = {name: v for name, v in variables.items() if is_hidden_matrix(name, v)}
    if not variables:
        raise ConfigError(f"train.freeze: {', '.join(config.train.freeze)}: nothing is left")
    return variables


def _part(name: str) -> str:
    """Return what `train.freeze` calls the part of a model that a weight belongs to."""
    is_table = name.rpartition("_")[2] == "embedding"
    is_table |= name.endswith((".positions", ".turns"))
    return "embeddings" if is_table else name.split(".")[0]
