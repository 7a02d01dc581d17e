"""The model that a command uses."""

from typing import TYPE_CHECKING

from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.config.tasks import TaskFacts
    from nmt_cli.search.loading import EngineOptions


def open_model(model: str | None, task: "TaskFacts", options: "EngineOptions") -> "Model":
    """Return a model that tells the user what it has to tell; see `bundle.folder.find_bundle`."""
    from nmt_cli.api.model import Model
    from nmt_cli.bundle.finding import find_bundle

    bundle = find_bundle(model, task)
    return Model(bundle, options, on_warning=console.warn, on_note=console.note)
