"""Which labels are taken for which: a matrix with a row for each right one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nmt_cli.errors import ConfigError
from nmt_cli.evaluation.label_judging import Judged
from nmt_cli.report.picture import BLACK, HEAT, PAPER, Picture, colour_map, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

_MOST_COLUMNS = 20  # of a terminal's matrix, and of a picture with numbers in it
_MOST_CONFUSIONS = 10


@dataclass(frozen=True, kw_only=True)
class Confusion(Picture):
    """A confusion matrix.

    Attributes:
        title: One line above it.
        labels: Their names.
        counts: [Y, Y] how many examples of the row's label got the column's.
    """

    title: str
    labels: list[str]
    counts: list[list[int]]

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the matrix; with many labels, what was taken for what most often."""
        from rich.text import Text

        text = Text(f"{self.title}\n")
        if len(self.labels) > _MOST_COLUMNS:
            return text.append("\n".join(self._worst()) + "\n")
        room = max(8, width // 3)
        heads = [Text(name) for name in ("has, got", *self.labels)]
        most = max(head.cell_len for head in heads)
        digits = max(len(f"{count:,}") for row in self.counts for count in row)
        wide = 2 + max(digits, min(most, (width - min(room, most)) // len(self.labels) - 2))
        columns = [Text(label) for label in self.labels]
        for name in columns:
            name.truncate(wide - 2, overflow="ellipsis")
        for head in heads:
            head.truncate(min(room, most), overflow="ellipsis", pad=True)
        text.append(heads[0])
        for name in columns:
            text.append(" " * (wide - name.cell_len)).append(name)
        for index, (head, row) in enumerate(zip(heads[1:], self.counts, strict=True)):
            text.append("\n").append(head)
            for column, count in enumerate(row):
                style = "bold" if has_colour and column == index else ""
                text.append(f"{count:>{wide},}", style=style)
        return text.append("\n")

    def _worst(self) -> list[str]:
        """Return lines about the commonest mistakes."""
        mistakes = np.array(self.counts) * (1 - np.eye(len(self.labels), dtype=np.int64))
        order = np.argsort(-mistakes, axis=None, kind="stable")[:_MOST_CONFUSIONS]
        pairs = [np.unravel_index(place, mistakes.shape) for place in order]
        return [
            f"{mistakes[pair]:>5,}  {self.labels[pair[0]]} -> {self.labels[pair[1]]}"
            for pair in pairs
            if mistakes[pair]
        ] or ["no label was taken for another"]

    def _numbers(self) -> list[tuple[str, ...]]:
        rows = [("has, got", *self.labels)]
        for label, row in zip(self.labels, self.counts, strict=True):
            rows.append((label, *map(str, row)))
        return rows

    def _draw(self) -> "Figure":
        size = len(self.labels)
        inches = min(16.0, 2.5 + 0.5 * size)
        figure = new_figure(inches, inches)
        axes = figure.subplots()
        counts = np.array(self.counts)
        shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
        axes.imshow(shares, cmap=colour_map(PAPER, HEAT), vmin=0, vmax=1, interpolation="none")
        axes.set_xticks(range(size), self.labels, rotation=90)
        axes.set_yticks(range(size), self.labels)
        axes.set_xlabel("label that the text got")
        axes.set_ylabel("label that it has")
        if size <= _MOST_COLUMNS:
            for row, column in np.ndindex(size, size):
                colour = PAPER if shares[row, column] > 0.5 else BLACK
                count = f"{counts[row, column]:,}"
                axes.text(column, row, count, ha="center", va="center", color=colour)
        return figure


def confusion_picture(name: str, judged: Judged) -> Confusion:
    """Return which labels were taken for which by the model of that name.

    Raises:
        ConfigError: Examples have several labels.
    """
    if judged.multi_label:
        raise ConfigError("a confusion matrix needs examples with one label each")
    title = f"{name}: {len(judged.examples):,} examples"
    labels, counts = list(judged.labels.names), judged.confusion()
    return Confusion(title=title, labels=labels, counts=counts)
