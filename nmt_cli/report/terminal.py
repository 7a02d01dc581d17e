"""Pictures made of characters, of any width; colour adds to them but says nothing of its own."""

import itertools
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt_cli.report.picture import SERIES, Bars, Panel

if TYPE_CHECKING:
    from rich.text import Text

    Colour = tuple[int, int, int]

_LONGEST_LABEL = 16  # columns
_CELL = 3  # columns: two digits and a space; 100 takes all three
_PANEL_WIDTH, _WIDEST_PANEL, _GAP = 60, 110, 3
_AXIS = 8  # columns for the numbers of the upright axis
_HEIGHT = 10  # lines of a plot
_BINS = 20
_LEGEND_MARK = 5  # columns for a line and spaces
_ROWS = 24  # of a matrix
_DENSITY = " .:-=+*#%@"
_RED, _WHITE, _BLUE = (178, 24, 43), (255, 255, 255), (33, 102, 172)  # minus one, zero, plus one
_DARK, _LIGHT = (20, 22, 26), (116, 174, 230)  # weights of zero and one, as on a dark page
_STRONG = 0.66  # from this weight on black text has more contrast
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])  # of a braille character


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

    labels = [cut(row, _LONGEST_LABEL) for row in rows]
    margin = max(map(cell_len, labels), default=0)
    at_a_time = max(1, (width - margin - 1) // _CELL)
    text = Text(title + "\n")
    for first in range(0, len(columns), at_a_time):
        block = slice(first, first + at_a_time)
        text.append("\n" + _vertical(columns[block], " " * (margin + 1)))
        for label, row in zip(labels, weights, strict=True):
            text.append(" " * (margin - cell_len(label)) + label + " ")
            for weight in map(float, row[block]):
                ink = "rgb(0,0,0)" if weight >= _STRONG else "rgb(255,255,255)"
                style = f"{ink} on {_mixed(_DARK, _LIGHT, weight)}" if has_colour else ""
                text.append(f"{round(100 * weight) or '·':>2}".ljust(_CELL), style)
            text.append("\n")
    return text


def _mixed(one: "Colour", other: "Colour", share: float) -> str:
    """Return a colour between two."""
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(one, other, strict=True))
    return f"rgb({red},{green},{blue})"


def _vertical(labels: Sequence[str], margin: str) -> str:
    """Return labels written from top to bottom, each `_CELL` columns wide, ending in one line."""
    from rich.cells import set_cell_size

    shown = [cut(label, _LONGEST_LABEL) for label in labels]
    height = max(map(len, shown), default=0)
    lines = (
        "".join(set_cell_size(f" {character}", _CELL) for character in line)
        for line in zip(*(label.rjust(height) for label in shown), strict=True)
    )
    return "".join(f"{margin}{line.rstrip()}\n" for line in lines)


def cut(label: str, width: int, end: str = "…") -> str:
    """Return a text that takes at most so many columns of a terminal, with an end if it is cut."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(label) <= width:
        return label
    return set_cell_size(label, width - len(end)).rstrip() + end


def side_by_side(title: str, panels: Sequence["Callable[[int], list[Text]]"], width: int) -> "Text":
    """Return panels, each a function of a width, below a title: as many in a row as fit."""
    from rich.text import Text

    in_a_row = max(1, min(len(panels), width // _PANEL_WIDTH))
    each = min(_WIDEST_PANEL, (width - _GAP * (in_a_row - 1)) // in_a_row)
    text = Text(title + "\n")
    for first in range(0, len(panels), in_a_row):
        drawn = [draw(each) for draw in panels[first : first + in_a_row]]
        text.append("\n")
        for row in itertools.zip_longest(*drawn, fillvalue=Text()):
            for line in row[:-1]:
                text.append_text(line).append(" " * (each + _GAP - line.cell_len))
            text.append_text(row[-1]).append("\n")
    return text


def line_plot(
    panel: Panel,
    width: int,
    *,
    span: tuple[float, float],
    names: list[str],
    has_colour: bool,
) -> list["Text"]:
    """Return lines drawn with braille dots, 2 x 4 in a character.

    Several lines differ by colour; without colour each is drawn with a letter of its own.

    Args:
        panel: The lines; at least one point.
        width: Columns.
        span: The range of x.
        names: Of all series of the picture: a name's place decides on colour and letter.
        has_colour: Whether the terminal has any.
    """
    from rich.text import Text

    ys = [y for series in panel.series for y in series.ys]
    low, high = _padded(min(ys), max(ys))
    (left, right), room = span, width - _AXIS - 1
    bits, owners = np.zeros((_HEIGHT, room), int), np.zeros((_HEIGHT, room), int)
    for series in panel.series:
        across = (np.array(series.xs) - left) / ((right - left) or 1) * (2 * room - 1)
        down = (high - np.array(series.ys)) / (high - low) * (4 * _HEIGHT - 1)
        _draw_line(bits, owners, np.stack([across, down], axis=1), names.index(series.name))
    letters = len(names) > 1 and not has_colour
    lines = [Text(panel.name, "bold")]
    for number in range(_HEIGHT):
        is_labelled = number in (0, _HEIGHT // 2, _HEIGHT - 1)
        label = number_text(high - (high - low) * number / (_HEIGHT - 1)) if is_labelled else ""
        lines.append(Text(label.rjust(_AXIS) + "│"))
        for dots, index in zip(bits[number].tolist(), owners[number].tolist(), strict=True):
            dotted = _letter(index) if letters else chr(0x2800 + dots)
            lines[-1].append(dotted if dots else " ", SERIES[index % len(SERIES)] if dots else "")
    last = f"{right:,.0f} {panel.x_label}"
    lines.append(Text(" " * _AXIS + "└" + "─" * room))
    lines.append(Text(" " * (_AXIS + 1) + f"{left:,.0f}".ljust(room - len(last)) + last))
    return lines + (_legend(panel, names, room, letters=letters) if len(names) > 1 else [])


def _padded(low: float, high: float) -> tuple[float, float]:
    """Return a range that is not empty."""
    return (low, high) if high > low else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)


def _draw_line(bits: Any, owners: Any, points: Any, index: int) -> None:
    """Draw lines from point to point, [N, 2] in dots across and down.

    Args:
        bits: [rows, columns] of characters, the dots that are set.
        owners: [rows, columns], which line set a dot there last.
        points: At least one.
        index: Of the line.
    """
    for start, end in zip(points, points[1:] if len(points) > 1 else points, strict=False):
        steps = max(1, int(np.ceil(np.abs(end - start).max())))
        shares = np.linspace(0, 1, steps + 1)[:, None]
        x, y = np.rint(start + shares * (end - start)).astype(int).T
        np.bitwise_or.at(bits, (y // 4, x // 2), _DOTS[y % 4, x % 2])
        owners[y // 4, x // 2] = index


def _letter(index: int) -> str:
    return string.ascii_lowercase[index % 26]


def _legend(panel: Panel, names: list[str], width: int, *, letters: bool) -> list["Text"]:
    """Return the names of a panel's lines, as many in a row as there is room for."""
    from rich.cells import cell_len, set_cell_size
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
            lines[-1].append(set_cell_size(cut(series.name, each - _LEGEND_MARK), each - 3))
    return lines


def bar_plot(bars: Bars, limit_name: str, width: int) -> list["Text"]:
    """Return a histogram as horizontal bars over at most `_BINS` ranges of numbers."""
    from rich.text import Text

    low, high = min(bars.counts, default=0), max(bars.counts, default=0)
    size = -(-(high - low + 1) // _BINS)
    sums: dict[int, int] = dict.fromkeys(range(low, high + 1, size), 0)
    for number, count in bars.counts.items():
        sums[low + (number - low) // size * size] += count
    label = len(f"{high}-{high}")
    mark = f" < {limit_name}" if bars.limit is not None else ""
    most, room = max(sums.values()), max(1, width - label - 12 - len(mark))
    lines = [Text(bars.name, "bold"), Text(cut(bars.facts, width))]
    for first, count in sums.items():
        last = first + size - 1
        name = str(first) if size == 1 else f"{first}-{last}"
        eighths = -(-count * room * 8 // most)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        is_marked = bars.limit is not None and first <= bars.limit <= last
        line = Text(f"{name:>{label}} ").append(bar, SERIES[0])
        lines.append(line.append(f" {count:,}{mark if is_marked else ''}"))
    return lines


def number_text(value: float) -> str:
    """Return a number of at most eight characters, from millionths to millions."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


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
                colour = _mixed(_WHITE, _BLUE if value > 0 else _RED, abs(value))
                lines[-1].append(" ", f"on {colour}")
            else:
                lines[-1].append(_DENSITY[round((value + 1) / 2 * (len(_DENSITY) - 1))])
    return lines


def _shrunk(matrix: Any, most: int) -> Any:
    """Return a matrix of at most so many rows, each the mean of its share of the rows."""
    if len(matrix) <= most:
        return matrix
    edges = np.linspace(0, len(matrix), most + 1).astype(int)
    return np.stack([matrix[a:b].mean(axis=0) for a, b in itertools.pairwise(edges)])


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
    edge, wide = "─" * (inner + 2), inner + 4
    drawn = []
    for heading, boxes in zip(headings, columns, strict=True):
        lines = [heading.center(wide).rstrip()]
        for box in boxes:
            shown = (f"│ {line:<{inner}} │" for line in box if line)
            lines += [f"┌{edge}┐", *shown, f"└{edge}┘", "▼".center(wide).rstrip()]
        drawn.append(lines[:-1])
    if len(drawn) * (wide + _GAP) - _GAP > width:
        body = [line for lines in drawn for line in ("", *lines)][1:]
    else:
        body = [
            "".join(line.ljust(wide + _GAP) for line in row).rstrip()
            for row in itertools.zip_longest(*drawn, fillvalue="")
        ]
    return Text("\n".join([title, "", *body, "", legend, ""]))
