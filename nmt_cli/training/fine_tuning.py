"""Starting from a trained model: its vocabulary and its weights, a new optimizer."""

import json

from nmt_cli.bundle import Bundle, find_bundle
from nmt_cli.config import Config
from nmt_cli.errors import ConfigError

# What has no part in the shapes or the meaning of the weights.
_FREE = {"dropout", "attention_dropout", "activation_dropout"}


def open_start(config: Config) -> Bundle | None:
    """Return the bundle that `train.from` names, or None when the run starts anew.

    Raises:
        ModelFileError: It is missing or damaged.
        ConfigError: The configuration describes another architecture; names each key.
    """
    if config.train.start is None:
        return None
    bundle = find_bundle(config.train.start, ("translation", "chat"))
    here, there = config.model.model_dump(mode="json"), bundle.manifest.model
    free = _FREE | ({"max_length"} if config.model.positions == "sinusoidal" else set())
    differing = [k for k in here if k not in free and k in there and here[k] != there[k]]
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
