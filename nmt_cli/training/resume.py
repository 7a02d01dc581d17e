"""Resuming a run: the settings that it was begun with must not have changed.

They are compared before anything is written, and before TensorFlow starts.
"""

from collections.abc import Callable, Mapping
from typing import Any

from nmt_cli.config.auto import Choice
from nmt_cli.config.reading import AUTO, fixed_keys
from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError
from nmt_cli.text.vocabulary_cache import kept_sizes
from nmt_cli.training.auto_values import LANES, PRECISION, VOCAB_SIZE, resolve_for_machine
from nmt_cli.training.checkpoint import changed_settings
from nmt_cli.training.run_folder import RunFolder

# Beside the keys of the configuration; called what a message calls them.
_VOCABULARY = "the vocabulary"
TEXTS = {"train": "the training text", "dev": "the development text"}
TEXT_AND_VOCABULARY = "fingerprint"  # in checkpoints of earlier versions, instead of the two
_LANES_BEFORE = 1  # in checkpoints of earlier versions, which do not say


def run_settings(config: Config, text: Mapping[str, str], vocabulary: str) -> dict[str, Any]:
    """Return what a checkpoint keeps of a run's settings: all that decides how it resumes.

    `text` has the hash of the text of each split, by its name in `TEXTS`; `vocabulary` is the
    encoder's.
    """
    return {**fixed_keys(config), **text, _VOCABULARY: vocabulary}


def as_begun(config: Config, begun: Mapping[str, Any], *, tell: Callable[[str], None]) -> Config:
    """Return the configuration with what the machine decided when the run was begun, if it was.

    Another machine may be faster in another way, but would not resume the same run.
    """
    if not begun:
        return config
    values = {PRECISION: begun.get(PRECISION, AUTO), LANES: begun.get(LANES, _LANES_BEFORE)}
    choices = {
        key: Choice(value, "this run was begun with it")
        for key, value in values.items()
        if value != AUTO
    }
    return resolve_for_machine(config, tell=tell, choose=lambda _: choices)


def check_text_and_keys(
    run: RunFolder, begun: Mapping[str, Any], config: Config, text: Mapping[str, str]
) -> None:
    """Compare all that is known before there is a vocabulary; see `check_settings`."""
    now = {**fixed_keys(config), **text}
    sizes = kept_sizes(run.path)  # the one that was wanted, and the one that the text filled
    if now[VOCAB_SIZE] in sizes and begun.get(VOCAB_SIZE) in sizes:
        now[VOCAB_SIZE] = begun[VOCAB_SIZE]
    check_settings(run, begun, now)


def check_settings(run: RunFolder, begun: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ConfigError when settings that a run was begun with have changed.

    One that its checkpoints, which may be older, do not keep is not compared.
    """
    shared = begun.keys() & now.keys()
    changed = changed_settings(*({name: of[name] for name in shared} for of in (begun, now)))
    if changed:
        raise ConfigError(
            f"{run.path} was begun with other settings: {', '.join(changed)}",
            hint="set them back, give the run another name, or start over with --fresh",
        )
