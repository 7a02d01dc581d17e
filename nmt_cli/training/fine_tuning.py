"""Starting from a trained model: its vocabulary and its weights, a new optimizer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.reading import with_values
from nmt_cli.config.schema import Config, ModelConfig
from nmt_cli.config.tasks import CHAT, TRANSLATION
from nmt_cli.errors import ConfigError
from nmt_cli.model.weights import Arrays, Model, named_variables
from nmt_cli.text.vocabulary import Vocabularies

# What has no part in the shapes or the meaning of the weights.
_FREE = {"dropout", "attention_dropout", "activation_dropout"}
_OF_DECODER = {"decoder_layers", "tie_embeddings"}
_OF_ENCODER = ("embedding", "encoder.")  # how the names of its weights begin


def open_start(config: Config, run: Path) -> Bundle | None:
    """Return the bundle that `train.from` names, or None when the run of this folder starts anew.

    ModelFileError: it is missing or damaged. ConfigError: it is the run's own, or has another
    architecture.
    """
    if config.train.start is None:
        return None
    labels = config.facts.has_labels
    bundle = find_bundle(config.train.start, *(() if labels else (TRANSLATION, CHAT)))
    if bundle.path.resolve().is_relative_to(run.resolve()):
        raise ConfigError(
            f"train.from: {bundle.path} is this run's own model, which training would replace",
            hint="give the new run another name: --set name=NAME",
        )
    here = config.model.model_dump(mode="json")
    there = ModelConfig().model_dump(mode="json") | bundle.manifest.model
    free = _FREE | ({"max_length"} if config.model.positions == "sinusoidal" else set())
    free |= _OF_DECODER if labels else set()
    differing = [k for k in here if k not in free and here[k] != there[k]]
    if differing:
        facts = ", ".join(
            f"model.{k} is {json.dumps(there[k])} there and {json.dumps(here[k])} here"
            for k in differing
        )
        settings = " ".join(f"--set model.{k}={json.dumps(there[k])}" for k in differing)
        raise ConfigError(
            f"train.from: the model in {bundle.path} has another architecture: {facts}",
            hint=f"use its own: {settings}",
        )
    return bundle


def start_vocabularies(
    start: Bundle | None, config: Config, tell: Callable[[str], None]
) -> tuple[Vocabularies | None, Config]:
    """Return the vocabularies of the model to start from, if any: a run cannot choose them.

    With them comes the configuration with the keys of `tokenizer` that are true of them.
    ModelFileError: they are missing or damaged.
    """
    if start is None:
        return None, config
    found = Vocabularies.load(start.path)
    if config.facts.has_labels:
        found = Vocabularies(found.source, found.source)
    there = {"vocab_size": found.largest, "joint": found.joint, **found.source.settings}
    here = config.tokenizer.model_dump()
    differing = [key for key in there if there[key] != here[key]]
    changes = ", ".join(
        f"tokenizer.{key} is {json.dumps(there[key])}, not {json.dumps(here[key])}"
        for key in differing
    )
    values = {f"tokenizer.{key}": there[key] for key in differing}
    config = with_values(config, values, f"the vocabulary of {start.path}")
    tell(f"vocabulary: {found.source.vocab_size:,} tokens (of {start.path})")
    if changes:
        tell(f"train.from: {changes}, as that vocabulary is")
    return found, config


def start_weights(start: Bundle, first: Arrays, config: Config) -> Arrays:
    """Return the weights that a run begins with: those of `start`, else those of a new model.

    A classifier takes the encoder of any model, and all of one that gives the same labels.
    """
    weights = start.load_weights()
    if not config.facts.has_labels:
        return weights
    if start.manifest.classification.get("labels") != config.classification.labels:
        weights = {
            name.removeprefix("source_"): array
            for name, array in weights.items()
            if name.removeprefix("source_").startswith(_OF_ENCODER)
        }
    return first | weights


def trained_variables(model: Model, config: Config) -> dict[str, Any]:
    """Return the variables that training changes, by name."""
    variables = named_variables(model)
    if not config.facts.has_labels or not config.classification.freeze_encoder:
        return variables
    return {name: v for name, v in variables.items() if not name.startswith(_OF_ENCODER)}
