"""All state of a run in memory: what a checkpoint holds, where it comes from at the start."""

import json
from dataclasses import asdict, replace
from typing import Any

from nmt_cli.distributed.replicas import Replicas
from nmt_cli.errors import ConfigError
from nmt_cli.model.weights import Arrays, assign_weights, named_variables, read_weights
from nmt_cli.tasks import task_of
from nmt_cli.training.checkpoint import (
    Checkpoint,
    Progress,
    changed_settings,
    progress_of,
)
from nmt_cli.training.fine_tuning import start_weights, trained_variables
from nmt_cli.training.optimizer import Optimizer
from nmt_cli.training.run import Prepared


class RunState:
    """Weights, optimizer and progress of a run, made on `replicas`."""

    def __init__(self, prepared: Prepared, replicas: Replicas) -> None:
        self._prepared = prepared
        self._replicas = replicas
        config = prepared.config
        self._check_same_everywhere()
        with replicas.scope():
            self.model = self._build_model()
            self.optimizer = Optimizer(trained_variables(self.model, config), config.train)
        self.progress = Progress()
        if prepared.start is not None:
            self.assign(None)

    def _check_same_everywhere(self) -> None:
        """Raise ConfigError, on all machines, when some have another configuration or text."""
        train = self._prepared.config.train.model_dump()
        train = {f"train.{name}": value for name, value in train.items()}
        settings = self._prepared.settings | train
        of_chief, *others = map(json.loads, self._replicas.texts(json.dumps(settings)))
        found = {i: changed_settings(of_chief, of_other) for i, of_other in enumerate(others, 1)}
        cluster = self._replicas.cluster
        different = [
            f"{cluster.name(index)} has other settings than worker 0: {', '.join(changed)}"
            for index, changed in found.items()
            if changed
        ]
        if different:
            raise ConfigError(
                "; ".join(different),
                hint="give every machine the same configuration and the same text",
            )

    def assign(self, checkpoint: Checkpoint | None) -> None:
        """Set weights and optimizer to those of a checkpoint, or of the start of the run."""
        if checkpoint is not None:
            assign_weights(self.model, checkpoint.weights)
            self.optimizer.assign_state(checkpoint.optimizer)
            return
        assign_weights(self.model, self._first_weights())
        self.optimizer.reset()

    def _first_weights(self) -> Arrays:
        def new() -> Arrays:
            return read_weights(self._build_model())

        start = self._prepared.start
        return new() if start is None else start_weights(start, new, self._prepared.config)

    def copy_from_chief(self) -> None:
        """Go to where the chief is; it alone reads checkpoints."""
        self.copy_progress_from_chief()
        weights = [variable.value for variable in named_variables(self.model).values()]
        self._replicas.copy_from_chief([*weights, *self.optimizer.variables])

    def copy_progress_from_chief(self) -> None:
        """Learn what only the chief knows: what an evaluation found, where it went back to."""
        text = self._replicas.from_chief(json.dumps(asdict(self.progress)))
        self.progress = progress_of(json.loads(text))

    def snapshot(self, *, log_bytes: int, is_regular: bool) -> Checkpoint:
        """Return a copy of everything, which training does not change any more."""
        return Checkpoint(
            progress=replace(self.progress, log_bytes=log_bytes),
            weights=read_weights(self.model),
            optimizer=self.optimizer.read_state(),
            settings=self._prepared.settings,
            is_regular=is_regular,
        )

    def _build_model(self) -> Any:
        config, vocabularies = self._prepared.config, self._prepared.vocabularies
        return task_of(config.facts).build_model(config, vocabularies.describe())
