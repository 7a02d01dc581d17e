"""The same events as in `events.jsonl`, for TensorBoard.

The folder is written anew from the log at the start of each session, so a run that goes on shows
every step once.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from nmt_cli.errors import TrainingError

_STEP_SCALARS = ("loss", "learning_rate", "gradient_norm", "padding")


class Board:
    """Writes a run's curves and samples into `runs/NAME/tensorboard`; what is there goes.

    `events` were logged so far. TrainingError: the disk is full or the folder is not writable.
    """

    def __init__(self, folder: Path, events: Iterable[dict[str, Any]]) -> None:
        self._folder, self._unit = folder, "tokens"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            self._writer = tf.summary.create_file_writer(str(folder))
        except tf.errors.OpError as error:
            raise self._failed(error) from error
        for event in events:
            self.write(event)

    def write(self, event: dict[str, Any]) -> None:
        """Write one event as `events.jsonl` has it."""
        try:
            with self._writer.as_default(step=event["step"]):
                self._unit = event.get("unit", self._unit)
                if event["event"] == "StepDone":
                    _write_step(event, self._unit)
                elif event["event"] == "Evaluated":
                    _write_evaluation(event)
                    self._writer.flush()
        except tf.errors.OpError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Flush what is still in memory."""
        self._writer.close()

    def _failed(self, error: Exception) -> TrainingError:
        return TrainingError(f"{self._folder}: cannot be written: {error}")


def _write_step(event: dict[str, Any], unit: str) -> None:
    for name in _STEP_SCALARS:
        _scalar(f"train/{name}", event[name])
    _scalar(f"train/{unit}_per_second", event["num_tokens"] / event["seconds"])


def _write_evaluation(event: dict[str, Any]) -> None:
    """Averages, tried at the end, have curves of their own: each a single point."""
    _scalar(f"{event['label']}/loss", event["dev_loss"])
    for name, score in event["scores"].items():
        _scalar(f"{event['label']}/{name}", score["score"])
    rows = [
        "| source | output | reference |",
        "|---|---|---|",
        *(
            f"| {_cell(sample['source'])} | {_cell(sample['output'])} "
            f"| {_cell(sample['reference'])} |"
            for sample in event["samples"]
        ),
    ]
    _text(f"{event['label']}/samples", "\n".join(rows))


def _scalar(tag: str, value: float) -> None:
    tf.summary.write(tag, tf.constant(value, tf.float32), metadata=_metadata("scalars", 1))


def _text(tag: str, markdown: str) -> None:
    tf.summary.write(tag, tf.constant(markdown), metadata=_metadata("text", 2))


def _metadata(plugin: str, data_class: int) -> Any:
    """Return what tells TensorBoard how to show a value: `tf.summary.scalar` would need it here."""
    data = tf.compat.v1.SummaryMetadata.PluginData(plugin_name=plugin)
    return tf.compat.v1.SummaryMetadata(plugin_data=data, data_class=data_class)


def _cell(text: str) -> str:
    """Return a text as a Markdown table takes it."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
