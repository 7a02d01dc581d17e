"""Trainings that follow each other: each starts from the model of the one before.

`train.stages` names the stages before the run itself. Each is a run with a folder of its own,
`runs/NAME-stage-1` and so on, so that it stops and resumes like any other; one that has finished is
not begun again. No stage that is over is trained again, and no later one is deleted for it, unless
the run starts over. A stage of both directions learns the corpora and the same ones swapped, in one
model without tags, as the first stage of Bi-SimCut does.

Reference: Gao et al. 2022, section 3.3 (arXiv 2206.02368).
"""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.config.reading import AUTO, LoadedConfig, checked, fixed_keys, load_config
from nmt_cli.config.schema import Config, CorpusConfig
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.files import sha256_of
from nmt_cli.text.corpus import Corpora
from nmt_cli.training.checkpoint import changed_settings, saved_settings
from nmt_cli.training.run import text_hashes
from nmt_cli.training.run_folder import RunFolder


class Stage(NamedTuple):
    """A training that is about to begin."""

    loaded: LoadedConfig  # its configuration
    time_limit: float  # seconds that it may take
    ends_at: float  # when these are over, on the clock of `time.monotonic`


def stages_of(loaded: LoadedConfig) -> list[LoadedConfig]:
    """Return the configuration of each stage, in order; that of the run itself is the last."""
    config = loaded.config
    if not config.train.stages:
        return [loaded]
    tree = config.model_dump(exclude_unset=True)  # what is not given may be as `train.from` has it
    found, start = [], config.train.start
    for number, stage in enumerate(config.train.stages, start=1):
        name = f"{config.name}-stage-{number}"
        values: dict[str, Any] = {"stages": [], "from": start, "max_steps": stage.max_steps}
        data = tree["data"] | {"test": []}
        if stage.both_directions:
            data["train"] = [*data["train"], *map(_swapped, config.data.train)]
        found.append(_changed(loaded, name, tree["train"] | values, data))
        start = str(RunFolder.of(found[-1].config).path)
    last = tree["train"] | {"stages": [], "from": start}
    return [*found, _changed(loaded, config.name, last, tree["data"])]


def stages_to_do(
    loaded: LoadedConfig,
    *,
    is_fresh: bool,
    time_limit: float = math.inf,
    started: float | None = None,
) -> Iterator[Stage]:
    """Yield the stages that are not over, each when the one before it is.

    Args:
        loaded: The configuration of the run.
        is_fresh: Do all of them again.
        time_limit: Seconds for all of them. Each gets its share, by its steps, of what is left.
        started: When these began, on the clock of `time.monotonic`; None is now.
    """
    ends_at = (time.monotonic() if started is None else started) + time_limit
    stages = stages_left(loaded, is_fresh=is_fresh)
    steps = [stage.config.train.max_steps for stage in stages]
    for number, stage in enumerate(stages):
        left = (ends_at - time.monotonic()) * steps[number] / sum(steps[number:])
        # What is said of a limit names the one that was given.
        yield Stage(stage, time_limit if stage is loaded else left, time.monotonic() + left)
        if not is_over(stage):  # it was stopped
            return
        for later in stages[number + 1 :]:  # what an earlier run left started from another model
            RunFolder.of(later.config).forget()


def stages_left(loaded: LoadedConfig, *, is_fresh: bool) -> list[LoadedConfig]:
    """Return the stages from the first one that is not over; the run itself is always among them.

    Args:
        loaded: The configuration of the run.
        is_fresh: Do all of them again.

    Raises:
        ConfigError: A stage that is over had other settings, or one that has not begun comes before
            one that has.
    """
    stages = stages_of(loaded)
    if is_fresh:
        return stages
    while len(stages) > 1 and is_over(stages[0]):
        check_same(stages.pop(0))
    first, *others = (RunFolder.of(stage.config) for stage in stages)
    for later in others:
        if later.has_begun and not first.has_begun:
            raise ConfigError(
                f"{later.path} has begun, but not {first.path}, which comes before it",
                hint="start over with --fresh, or give the run another name: --set name=NAME",
            )
    return stages


def check_same(stage: LoadedConfig) -> None:
    """Raise ConfigError when a stage that is over had other text, steps or training settings."""
    folder = RunFolder.of(stage.config)
    had, has = (_settings(of) for of in (load_config(str(folder.config)).config, stage.config))
    open_keys = {*stage.auto, *(name for name, value in has.items() if value == AUTO)}
    text = text_hashes(Corpora(stage.config, stage.data_dir), sha256_of)
    saved = saved_settings(folder.checkpoints)
    changed = [name for name in changed_settings(had, has) if name not in open_keys]
    changed += changed_settings({name: saved.get(name, now) for name, now in text.items()}, text)
    if changed:
        raise ConfigError(
            f"{folder.path} was trained with other settings: {', '.join(changed)}",
            hint="set them back, give the run another name, or start over with --fresh",
        )


def _settings(config: Config) -> dict[str, Any]:
    """Return what must be the same; model and vocabulary are compared when the next one starts."""
    fixed = {name: value for name, value in fixed_keys(config).items() if _is_compared(name)}
    return fixed | {"train.max_steps": config.train.max_steps}


def _is_compared(name: str) -> bool:
    return name == "seed" or name.startswith(("data.", "train."))


def is_over(stage: LoadedConfig) -> bool:
    """Return whether the run of a stage came to its end, whatever it was told to do."""
    try:
        return "finished_step" in open_bundle(RunFolder.of(stage.config).model).manifest.training
    except ModelFileError:
        return False


def _changed(
    loaded: LoadedConfig, name: str, train: dict[str, Any], data: dict[str, Any]
) -> LoadedConfig:
    tree = loaded.config.model_dump(exclude_unset=True)
    tree |= {"name": name, "train": train, "data": data}
    auto = loaded.auto - ({"train.max_steps"} if name != loaded.config.name else set())
    return replace(loaded, config=checked(tree, "train.stages"), auto=auto)


def _swapped(corpus: CorpusConfig) -> dict[str, Any]:
    """Return a corpus with its sides in each other's place."""
    entry = corpus.model_dump()
    if corpus.columns is not None:
        return entry | {"columns": corpus.columns[::-1]}
    return entry | {"source": corpus.target, "target": corpus.source}
