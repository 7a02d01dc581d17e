"""Pictures made of characters, of any width; colour adds to them but says nothing of its own."""

import itertools
import string
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nmt_cli.report.canvas import SERIES

if TYPE_CHECKING:
    from rich.text import Text

    from nmt_cli.report.charts import Bars, Panel

    Drawer = Callable[[int], list[Text]]

_LONGEST_LABEL = 16  # columns
_CELL = 3  # columns: two digits and a space; 100 takes all three
_PANEL_WIDTH, _WIDEST_PANEL, _GAP = 60, 110, 3
_AXIS = 8  # columns for the numbers of the upright axis
_HEIGHT = 10  # lines of a plot
_BINS = 20
_LEGEND_MARK = 5  # columns for a line and spaces
_ROWS = 24  # of a matrix
_DENSITY = " .:-=+*#%@"
_RED, _BLUE = (178, 24, 43), (33, 102, 172)  # minus one and plus one
_DARK, _LIGHT = (20, 22, 26), (116, 174, 230)  # weights of zero and one, as on a dark page
_STRONG = 0.66  # from this weight on black text has more contrast


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

    Args:
        title: A line above.
        rows: T labels.
        columns: S labels. What does not fit side by side goes into another table below.
        weights: [T, S] from 0 to 1.
        width: Columns of the terminal.
        has_colour: Whether to shade the cells, too.
    """
    from rich.cells import cell_len
    from rich.text import Text

    labels = [_cut(row, _LONGEST_LABEL) for row in rows]
    margin = max(map(cell_len, labels), default=0)
    at_a_time = max(1, (width - margin - 1) // _CELL)
    text = Text(title + "\n")
    for first in range(0, len(columns), at_a_time):
        block = slice(first, first + at_a_time)
        text.append("\n" + _vertical(columns[block], " " * (margin + 1)))
        for label, row in zip(labels, weights, strict=True):
            text.append(" " * (margin - cell_len(label)) + label + " ")
            for weight in row[block]:
                style = _shade(float(weight)) if has_colour else ""
                text.append(f"{_percent(float(weight)):>2}".ljust(_CELL), style)
            text.append("\n")
    return text


def _percent(weight: float) -> str:
    rounded = round(100 * weight)
    return str(rounded) if rounded else "·"


def _shade(weight: float) -> str:
    """Return a cell's style: background by weight, black or white text, whatever the theme."""
    red, green, blue = (round(a + weight * (b - a)) for a, b in zip(_DARK, _LIGHT, strict=True))
    ink = "rgb(0,0,0)" if weight >= _STRONG else "rgb(255,255,255)"
    return f"{ink} on rgb({red},{green},{blue})"


def _vertical(labels: Sequence[str], margin: str) -> str:
    """Return labels written from top to bottom, each `_CELL` columns wide, ending in one line."""
    from rich.cells import set_cell_size

    cut = [_cut(label, _LONGEST_LABEL) for label in labels]
    height = max(map(len, cut), default=0)
    padded = [label.rjust(height) for label in cut]
    lines = (
        "".join(set_cell_size(" " + label[i], _CELL) for label in padded) for i in range(height)
    )
    return "".join(f"{margin}{line.rstrip()}\n" for line in lines)


def _cut(label: str, width: int) -> str:
    """Return a label that takes at most so many columns of a terminal."""
    from rich.cells import cell_len, set_cell_size

    return label if cell_len(label) <= width else set_cell_size(label, width - 1).rstrip() + "…"


def side_by_side(title: str, panels: Sequence["Drawer"], width: int) -> "Text":
    """Return panels below a title, as many in a row as there is room for.

    Args:
        title: A line above.
        panels: Functions of a width that return lines of text.
        width: Columns of the terminal.
    """
    from rich.text import Text

    in_a_row = max(1, min(len(panels), width // _PANEL_WIDTH))
    each = min(_WIDEST_PANEL, (width - _GAP * (in_a_row - 1)) // in_a_row)
    text = Text(title + "\n")
    for first in range(0, len(panels), in_a_row):
        drawn = [draw(each) for draw in panels[first : first + in_a_row]]
        text.append("\n")
        for index in range(max(map(len, drawn))):
            for place, lines in enumerate(drawn):
                line = lines[index] if index < len(lines) else Text()
                text.append_text(line)
                if place < len(drawn) - 1:
                    text.append(" " * (each + _GAP - line.cell_len))
            text.append("\n")
    return text


def line_plot(
    panel: "Panel",
    span: tuple[float, float],
    names: list[str],
    width: int,
    *,
    has_colour: bool,
) -> list["Text"]:
    """Return lines drawn with braille dots, 2 x 4 in a character.

    Several lines differ by colour; without colour each is drawn with a letter of its own.

    Args:
        panel: The lines; at least one point.
        span: The range of x.
        names: Of all series of the picture: a name's place decides on colour and letter.
        width: Columns.
        has_colour: Whether the terminal has any.
    """
    from rich.text import Text

    ys = [y for series in panel.series for y in series.ys]
    box = _Box(*span, *_padded(min(ys), max(ys)))
    canvas = _Braille(width - _AXIS - 1, _HEIGHT)
    for series in panel.series:
        index = names.index(series.name)
        points = [box.place(x, y) for x, y in zip(series.xs, series.ys, strict=True)]
        canvas.draw(points, index)
    letters = len(names) > 1 and not has_colour
    lines = [Text(panel.name, "bold")]
    for number, row in enumerate(canvas.rows(letters=letters)):
        is_labelled = number in (0, _HEIGHT // 2, _HEIGHT - 1)
        label = number_text(box.top - (box.top - box.bottom) * number / (_HEIGHT - 1))
        lines.append(Text((label if is_labelled else "").rjust(_AXIS) + "│"))
        for character, index in row:
            lines[-1].append(character, SERIES[index % len(SERIES)] if index >= 0 else "")
    last, room = f"{box.right:,.0f} {panel.x_label}", width - _AXIS - 1
    lines.append(Text(" " * _AXIS + "└" + "─" * room))
    lines.append(Text(" " * (_AXIS + 1) + f"{box.left:,.0f}".ljust(room - len(last)) + last))
    return lines + (_legend(panel, names, room, letters=letters) if len(names) > 1 else [])


def _legend(panel: "Panel", names: list[str], width: int, *, letters: bool) -> list["Text"]:
    """Return the names of a panel's lines, as many in a row as there is room for."""
    from rich.cells import cell_len
    from rich.text import Text

    lines = []
    each = min(width, max(map(cell_len, names)) + _LEGEND_MARK)
    in_a_row = max(1, width // each)
    for first in range(0, len(panel.series), in_a_row):
        lines.append(Text(" " * (_AXIS + 1)))
        for series in panel.series[first : first + in_a_row]:
            index = names.index(series.name)
            mark = _letter(index) if letters else "━━"
            lines[-1].append(f"{mark} ", SERIES[index % len(SERIES)])
            name = _cut(series.name, each - _LEGEND_MARK)
            lines[-1].append(name + " " * (each - 3 - cell_len(name)))
    return lines


def bar_plot(bars: "Bars", limit_name: str, width: int) -> list["Text"]:
    """Return a histogram as horizontal bars over at most `_BINS` ranges of numbers."""
    from rich.text import Text

    low, high = min(bars.counts, default=0), max(bars.counts, default=0)
    size = -(-(high - low + 1) // _BINS)
    sums: dict[int, int] = dict.fromkeys(range(low, high + 1, size), 0)
    for number, count in bars.counts.items():
        sums[low + (number - low) // size * size] += count
    label = len(f"{high}-{high}")
    mark = len(f" < {limit_name}") if bars.limit is not None else 0
    most, room = max(sums.values()), max(1, width - label - 12 - mark)
    lines = [Text(bars.name, "bold"), Text(_cut(bars.facts, width))]
    for first, count in sums.items():
        last = first + size - 1
        name = str(first) if size == 1 else f"{first}-{last}"
        eighths = -(-count * room * 8 // most)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        line = Text(f"{name:>{label}} ")
        line.append(bar, SERIES[0])
        line.append(f" {count:,}")
        if bars.limit is not None and first <= bars.limit <= last:
            line.append(f" < {limit_name}")
        lines.append(line)
    return lines


class _Box(NamedTuple):
    """The range of a plot; `place` maps a point into it."""

    left: float
    right: float
    bottom: float
    top: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the point as shares of width and height, from the upper left corner."""
        across = (x - self.left) / ((self.right - self.left) or 1)
        return across, (self.top - y) / (self.top - self.bottom)


def number_text(value: float) -> str:
    """Return a number of at most eight characters, from millionths to millions."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def _padded(low: float, high: float) -> tuple[float, float]:
    """Return a range that is not empty."""
    return (low, high) if high > low else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)


class _Braille:
    """A grid of characters with 2 x 4 dots each, and which line set a character last."""

    _DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))

    def __init__(self, width: int, height: int) -> None:
        self._bits = np.zeros((height, width), int)
        self._owner = np.full((height, width), -1)

    def draw(self, points: list[tuple[float, float]], index: int) -> None:
        """Draw the lines from point to point, which are shares of width and height."""
        height, width = self._bits.shape
        scaled = [(x * (2 * width - 1), y * (4 * height - 1)) for x, y in points]
        for (x0, y0), (x1, y1) in zip(scaled, scaled[1:] or scaled, strict=False):
            steps = max(1, int(np.ceil(max(abs(x1 - x0), abs(y1 - y0)))))
            for share in np.linspace(0, 1, steps + 1):
                self._set(round(x0 + share * (x1 - x0)), round(y0 + share * (y1 - y0)), index)

    def _set(self, x: int, y: int, index: int) -> None:
        self._bits[y // 4, x // 2] |= self._DOTS[y % 4][x % 2]
        self._owner[y // 4, x // 2] = index

    def rows(self, *, letters: bool) -> Iterator[list[tuple[str, int]]]:
        """Yield each row's characters with the index of their line, -1 for none."""
        for bits, owners in zip(self._bits, self._owner, strict=True):
            yield [
                (_letter(index) if letters else chr(0x2800 + dots), index) if dots else (" ", -1)
                for dots, index in zip(bits.tolist(), owners.tolist(), strict=True)
            ]


def _letter(index: int) -> str:
    return string.ascii_lowercase[index % 26]


def matrix_plot(name: str, matrix: Any, width: int, *, has_colour: bool) -> list["Text"]:
    """Return a matrix of numbers below and above zero; a character stands for the mean of many.

    Args:
        name: A line above.
        matrix: [rows, columns].
        width: Columns of the terminal.
        has_colour: Red below and blue above zero; else characters that grow denser upwards.
    """
    from rich.text import Text

    most = float(np.abs(matrix).max()) or 1.0
    small = _shrunk(_shrunk(matrix, _ROWS).T, width - _AXIS - 1).T / most
    lines = [Text(f"{name}, from -{most:.3g} to {most:.3g}", "bold")]
    for number, row in enumerate(small):
        first = number * len(matrix) // len(small)
        lines.append(Text(f"{first:>{_AXIS}} "))
        for value in row.tolist():
            if has_colour:
                lines[-1].append(" ", f"on {_signed_colour(value)}")
            else:
                lines[-1].append(_DENSITY[round((value + 1) / 2 * (len(_DENSITY) - 1))])
    return lines


def _shrunk(matrix: Any, most: int) -> Any:
    """Return a matrix of at most so many rows, each the mean of its share of the rows."""
    if len(matrix) <= most:
        return matrix
    edges = np.linspace(0, len(matrix), most + 1).astype(int)
    return np.stack([matrix[a:b].mean(axis=0) for a, b in itertools.pairwise(edges)])


def _signed_colour(value: float) -> str:
    """Return a colour between red (-1), white (0) and blue (1)."""
    end = _BLUE if value > 0 else _RED
    red, green, blue = (round(255 + abs(value) * (c - 255)) for c in end)
    return f"rgb({red},{green},{blue})"


def box_columns(
    title: str,
    headings: Sequence[str],
    columns: Sequence[Sequence[tuple[str, str, str]]],
    legend: str,
    width: int,
) -> "Text":
    """Return columns of boxes with arrows between them, side by side where there is room.

    Args:
        title: A line above.
        headings: Of the columns.
        columns: Boxes from top to bottom, three lines each.
        legend: A line below.
        width: Columns of the terminal.
    """
    from rich.text import Text

    inner = max(map(len, (line for boxes in columns for box in boxes for line in box)))
    drawn = []
    for heading, boxes in zip(headings, columns, strict=True):
        lines = [heading.center(inner + 4).rstrip()]
        for index, box in enumerate(boxes):
            if index:
                lines.append("▼".center(inner + 4).rstrip())
            lines.append(f"┌{'─' * (inner + 2)}┐")
            lines += [f"│ {line:<{inner}} │" for line in box if line]
            lines.append(f"└{'─' * (inner + 2)}┘")
        drawn.append(lines)
    if len(drawn) * (inner + 4 + _GAP) - _GAP > width:
        body = [line for lines in drawn for line in ("", *lines)][1:]
    else:
        body = [
            "".join(line.ljust(inner + 4 + _GAP) for line in row).rstrip()
            for row in itertools.zip_longest(*drawn, fillvalue="")
        ]
    return Text("\n".join([title, "", *body, "", legend, ""]))
