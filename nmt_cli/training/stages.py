"""Trainings that follow each other: each starts from the model of the one before.

`train.stages` names the stages before the run itself. Each is a run with a folder of its own,
`runs/NAME-stage-1` and so on, so that it stops and resumes like any other; one that has finished is
not begun again. A stage of both directions learns the corpora and the same ones swapped, in one
model without tags, as the first stage of Bi-SimCut does.

Reference: Gao et al. 2022, section 3.3 (arXiv 2206.02368).
"""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.config.reading import LoadedConfig, checked, load_config
from nmt_cli.config.schema import CorpusConfig
from nmt_cli.errors import ModelFileError
from nmt_cli.training.run_folder import RunFolder


class Stage(NamedTuple):
    """A training that is about to begin."""

    loaded: LoadedConfig  # its configuration
    time_limit: float  # seconds that it may take
    ends_at: float  # when these are over, on the clock of `time.monotonic`


def stages_of(loaded: LoadedConfig) -> list[LoadedConfig]:
    """Return the configuration of each stage, in order; that of the run itself is the last."""
    config, tree = loaded.config, loaded.config.model_dump()
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
    return [*found, _changed(loaded, config.name, last, tree["data"])] if found else [loaded]


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
    """
    stages = stages_of(loaded)
    while len(stages) > 1 and not is_fresh and has_finished(stages[0]):
        stages.pop(0)
    return stages


def has_finished(stage: LoadedConfig) -> bool:
    """Return whether the run of a stage is over, and had these corpora and steps."""
    folder = RunFolder.of(stage.config)
    if not is_over(stage) or not folder.config.is_file():
        return False
    begun = load_config(str(folder.config)).config
    same_text = begun.data.train == stage.config.data.train
    return same_text and begun.train.max_steps == stage.config.train.max_steps


def is_over(stage: LoadedConfig) -> bool:
    """Return whether the run of a stage came to its end, whatever it was told to do."""
    try:
        return "finished_step" in open_bundle(RunFolder.of(stage.config).model).manifest.training
    except ModelFileError:
        return False


def _changed(
    loaded: LoadedConfig, name: str, train: dict[str, Any], data: dict[str, Any]
) -> LoadedConfig:
    tree = loaded.config.model_dump() | {"name": name, "train": train, "data": data}
    auto = loaded.auto - ({"train.max_steps"} if name != loaded.config.name else set())
    return replace(loaded, config=checked(tree, "train.stages"), auto=auto)


def _swapped(corpus: CorpusConfig) -> dict[str, Any]:
    """Return a corpus with its sides in each other's place."""
    entry = corpus.model_dump()
    if corpus.columns is not None:
        return entry | {"columns": corpus.columns[::-1]}
    return entry | {"source": corpus.target, "target": corpus.source}
