"""Matrices as pictures: which labels are confused, and what tells a model where a token stands."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nmt_cli.bundle.folder import Bundle
from nmt_cli.errors import ConfigError
from nmt_cli.evaluation.label_judging import Judged
from nmt_cli.model.weights import sinusoids
from nmt_cli.report.picture import (
    ABOVE,
    BELOW,
    BLACK,
    HEAT,
    PAPER,
    Picture,
    cut,
    draw_matrix,
    new_figure,
    padded,
    side_by_side,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

Matrix = npt.NDArray[np.float32]
_MOST_COLUMNS = 20  # of a terminal's confusion matrix, and of a picture with numbers in it
_MOST_CONFUSIONS = 10
_TABLE = 16  # rows and columns of the numbers of positions
_SINUSOIDS = 100  # positions, where neither a model nor the user says how many
_MOST_SINUSOIDS = 10_000  # positions, and dimensions
_ROWS = 24  # of a matrix on a terminal
_MARGIN = 8  # columns for the numbers of its rows
_DENSITY = " .:-=+*#%@"
_LONGEST_LABEL = 16  # columns
_CELL = 3  # columns: two digits and a space; 100 takes all three
_RED, _WHITE, _BLUE = (178, 24, 43), (255, 255, 255), (33, 102, 172)  # minus one, zero, plus one
_DARK, _LIGHT = (20, 22, 26), (116, 174, 230)  # weights of zero and one, as on a dark page
_STRONG = 0.66  # from this weight on black text has more contrast


@dataclass(frozen=True, kw_only=True)
class Confusion(Picture):
    """Which labels are taken for which."""

    title: str
    labels: list[str]
    counts: list[list[int]]  # [Y, Y] how many examples of the row's label got the column's

    @classmethod
    def of(cls, name: str, judged: Judged) -> "Confusion":
        """Return what a model took for what; ConfigError when examples have several labels."""
        if judged.multi_label:
            raise ConfigError("a confusion matrix needs examples with one label each")
        title = f"{name}: {len(judged.examples):,} examples"
        return cls(title=title, labels=list(judged.labels.names), counts=judged.confusion())

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the matrix; with many labels, what was taken for what most often.

        Labels have numbers where some would look alike, cut to what there is room for.
        """
        from rich.cells import cell_len
        from rich.text import Text

        text = Text(f"{self.title}\n")
        if len(self.labels) > _MOST_COLUMNS:
            return text.append("\n".join(self._worst()) + "\n")
        longest = max(map(cell_len, ["has, got", *self.labels]))
        room = min(longest, max(8, width // 3))
        digits = max(len(f"{count:,}") for row in self.counts for count in row)
        each = max(digits, min(longest, (width - room) // len(self.labels) - 2))
        names = self.labels
        if any(len({cut(name, size) for name in names}) < len(names) for size in (room, each)):
            names = [f"{number} {name}" for number, name in enumerate(names, start=1)]
            each = max(each, len(f"{len(names)}…"))
        heads = ["has, got", *(cut(name, room) for name in names)]
        rows = [[cut(name, each) for name in names]]
        rows += [[f"{count:,}" for count in row] for row in self.counts]
        for number, (head, row) in enumerate(zip(heads, rows, strict=True)):
            text.append(padded(head, room))
            for column, cell in enumerate(row):
                style = "bold" if has_colour and column == number - 1 else ""
                text.append("  ").append(padded(cell, -each), style)
            text.append("\n")
        return text

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
        draw_matrix(axes, shares, PAPER, HEAT)
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


@dataclass(frozen=True, kw_only=True)
class Positions(Picture):
    """Position matrices by name, each [positions, d_model]."""

    title: str
    matrices: dict[str, Matrix]

    @classmethod
    def of(cls, bundle: Bundle, length: int | None) -> "Positions":
        """Return the first position vectors of a model, `length` of them or all."""
        model = bundle.manifest.model
        length = _checked_length(length, model["max_length"])
        if (kind := model["positions"]) != "sinusoidal":
            weights = bundle.load_weights()
            matrices = {
                f"{kind}, {side}": weights[f"{side}.positions"][:length]
                for side in ("encoder", "decoder")
                if f"{side}.positions" in weights
            }
        else:
            name = "sinusoidal" if bundle.manifest.facts.has_labels else "sinusoidal, both sides"
            matrices = {name: sinusoids(length, model["d_model"])}
        return cls(title=f"{bundle.manifest.name}: positions", matrices=matrices)

    @classmethod
    def sinusoids(cls, d_model: int, length: int | None) -> "Positions":
        """Return sinusoids of a width, without any model; ConfigError when there are none."""
        if not 2 <= d_model <= _MOST_SINUSOIDS:
            raise ConfigError(f"--d-model must be from 2 to {_MOST_SINUSOIDS:,} (it is {d_model})")
        matrix = sinusoids(_checked_length(length, None), d_model)
        return cls(title=f"positions, d_model {d_model}", matrices={"sinusoidal": matrix})

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the matrices with many numbers in one character, their mean."""
        title = f"{self.title}; rows are positions, columns dimensions"
        panels = [
            partial(_dense_lines, name, matrix, has_colour=has_colour)
            for name, matrix in self.matrices.items()
        ]
        return side_by_side(title, panels, width)

    def _numbers(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("matrix, position", *map(str, range(_TABLE)))]
        for name, matrix in self.matrices.items():
            for position, row in enumerate(matrix[:_TABLE, :_TABLE]):
                rows.append((f"{name}, {position}", *(f"{x:.3f}" for x in row)))
        return rows

    def _draw(self) -> "Figure":
        figure = new_figure(6.5 * len(self.matrices), 5.0)
        (grid,) = figure.subplots(1, len(self.matrices), squeeze=False)
        for axes, (name, matrix) in zip(grid, self.matrices.items(), strict=True):
            most = float(np.abs(matrix).max())
            image = draw_matrix(
                axes, matrix, BELOW, PAPER, ABOVE, vmin=-most, vmax=most, aspect="auto"
            )
            figure.colorbar(image, ax=axes)
            axes.set_title(name)
            axes.set_xlabel("dimension")
            axes.set_ylabel("position")
        return figure


def _checked_length(length: int | None, longest: int | None) -> int:
    if length is None:
        return longest or _SINUSOIDS
    most = longest or _MOST_SINUSOIDS
    if not 1 <= length <= most:
        whose = ", the model's" if longest else ""
        raise ConfigError(f"--length must be from 1 to {most:,}{whose} (it is {length})")
    return length


def _dense_lines(name: str, matrix: Matrix, width: int, *, has_colour: bool) -> list["Text"]:
    """Return a matrix of numbers below and above zero; a character stands for the mean of many.

    With colour it is red below and blue above zero; else characters grow denser upwards.
    """
    from rich.text import Text

    most = float(np.abs(matrix).max()) or 1.0
    small = _shrunk(_shrunk(matrix, _ROWS).T, width - _MARGIN - 1).T / most
    lines = [Text(f"{name}, from -{most:.3g} to {most:.3g}", "bold")]
    for number, row in enumerate(small):
        first = number * len(matrix) // len(small)
        lines.append(Text(f"{first:>{_MARGIN}} "))
        for value in row.tolist():
            if has_colour:
                colour = _mixed(_WHITE, _BLUE if value > 0 else _RED, abs(value))
                lines[-1].append(" ", f"on {colour}")
            else:
                lines[-1].append(_DENSITY[round((value + 1) / 2 * (len(_DENSITY) - 1))])
    return lines


def _shrunk(matrix: Matrix, most: int) -> Matrix:
    """Return a matrix of at most so many rows, each the mean of its share of the rows."""
    if len(matrix) <= most:
        return matrix
    edges = np.linspace(0, len(matrix), most + 1).astype(int)
    return np.stack([matrix[a:b].mean(axis=0) for a, b in itertools.pairwise(edges)])


def _mixed(one: tuple[int, ...], other: tuple[int, ...], share: float) -> str:
    """Return a colour between two."""
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(one, other, strict=True))
    return f"rgb({red},{green},{blue})"


def heat_table(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    weights: Any,
    width: int,
    *,
    has_colour: bool,
) -> "Text":
    """Return weights as a table of whole percents, the columns' names from top to bottom.

    Weights are [T, S] from 0 to 1, with T names of rows and S of columns; those that do not fit
    into the terminal's width go into another table below. Colour shades the cells, too.
    """
    from rich.cells import cell_len
    from rich.text import Text

    labels = [cut(row, _LONGEST_LABEL) for row in rows]
    margin = max(map(cell_len, labels), default=0)
    at_a_time = max(1, (width - margin - 1) // _CELL)
    text = Text(title + "\n")
    for first in range(0, len(columns), at_a_time):
        block = slice(first, first + at_a_time)
        text.append("\n" + _vertical(columns[block], " " * (margin + 1)))
        for label, row in zip(labels, weights, strict=True):
            text.append(padded(label, -margin) + " ")
            for weight in map(float, row[block]):
                ink = "rgb(0,0,0)" if weight >= _STRONG else "rgb(255,255,255)"
                style = f"{ink} on {_mixed(_DARK, _LIGHT, weight)}" if has_colour else ""
                text.append(f"{round(100 * weight) or '·':>2}".ljust(_CELL), style)
            text.append("\n")
    return text


def _vertical(labels: Sequence[str], margin: str) -> str:
    """Return labels written from top to bottom, each `_CELL` columns wide, ending in one line."""
    shown = [cut(label, _LONGEST_LABEL) for label in labels]
    height = max(map(len, shown), default=0)
    lines = (
        "".join(padded(f" {character}", _CELL) for character in line)
        for line in zip(*(label.rjust(height) for label in shown), strict=True)
    )
    return "".join(f"{margin}{line.rstrip()}\n" for line in lines)
