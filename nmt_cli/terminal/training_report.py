"""`runs/NAME/report.html`, written anew at each evaluation: a look at a run while it goes on."""

from typing import TYPE_CHECKING

from nmt_cli.events import Evaluated, Event, Finished

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest
    from nmt_cli.training.run import Prepared


class TrainingReport:
    """Keeps a run's report up to date. Whatever goes wrong with it, training goes on.

    Args:
        prepared: The run.

    Attributes:
        path: The page.
        is_written: Whether it is up to date.
    """

    def __init__(self, prepared: "Prepared") -> None:
        self._prepared = prepared
        self.path = prepared.folder.report
        self._card: str | None = None
        self.is_written = False

    def follow(self, event: Event) -> None:
        """Write the report anew if an event that is logged by now has something to tell."""
        is_news = isinstance(event, Evaluated | Finished)
        if not is_news or not self._prepared.cluster.is_chief:
            return
        from nmt_cli.terminal import console

        try:
            self._write()
            self.is_written = True
        except Exception as error:  # noqa: BLE001 - it is no reason to lose hours of training
            self.is_written = False
            reason = getattr(error, "strerror", None) or error
            console.warn(f"{self.path}: cannot be written: {reason}")

    def _write(self) -> None:
        from nmt_cli.bundle.manifest import MANIFEST, read_manifest
        from nmt_cli.errors import ModelFileError
        from nmt_cli.files import write_text
        from nmt_cli.report.data_card import data_card
        from nmt_cli.report.training_page import training_page
        from nmt_cli.training.event_log import read_events

        prepared, folder = self._prepared, self._prepared.folder
        if self._card is None:
            self._card = data_card(prepared)
        manifests: list[Manifest | None] = []
        for path in (folder.model / MANIFEST, folder.previous):
            try:
                manifests.append(read_manifest(path))
            except ModelFileError:  # there is none
                manifests.append(None)
        events = read_events(folder.events)
        write_text(self.path, training_page(prepared.config, self._card, events, *manifests))
