"""Lines over steps and bars over lengths: the pictures that are charts."""

import html
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli.report.page import with_numbers
from nmt_cli.report.picture import (
    INK,
    SERIES,
    Picture,
    cut,
    drawing,
    new_figure,
    padded,
    side_by_side,
    svg_element,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

_PANEL_WIDTH, _PANEL_HEIGHT = 5.2, 3.0  # inches
# So that series differ without colour, too: as matplotlib and as SVG name them.
_DASHES = (("-", ""), ("--", "7 3"), ("-.", "7 2 2 2"), (":", "2 2"))
_DOTTED = 30  # points of a page's line up to which each is shown
_TICKS = 6
_BAR = 0.8  # share of its place that a group of bars takes
# A chart in a page: pixels, and shares of them for the axes. Charts stand side by side or one below
# the other, with text of the same size on any screen.
_WIDTH, _HEIGHT = 400, 220
_AXES = (56 / _WIDTH, 36 / _HEIGHT, 324 / _WIDTH, 170 / _HEIGHT)
_PIXELS_PER_INCH = 72
_FONT = re.compile(r"font-size: [^;]*; font-family: [^;]*; ")
_LINES = 13  # of a chart on a terminal, its frame included
_TERMINAL_TICKS = 5
_BESIDE_NAME = 4  # columns of a legend: a mark and a space before, two spaces behind
_BINS = 20  # of a histogram on a terminal


class Mark(NamedTuple):
    """What tells a series from others: its colour, its dashes, and on a terminal its letter."""

    colour: str
    line: str
    dashes: str
    letter: str

    @classmethod
    def of(cls, index: int) -> "Mark":
        """Return the mark of the series with a number from 0."""
        line, dashes = _DASHES[index // len(SERIES) % len(_DASHES)]
        return cls(SERIES[index % len(SERIES)], line, dashes, string.ascii_lowercase[index % 26])


@dataclass(frozen=True)
class Series:
    """One line: a name and its points."""

    name: str
    xs: list[float]
    ys: list[float]


@dataclass(frozen=True)
class Panel:
    """Lines that share their axes."""

    name: str
    x_label: str
    series: list[Series]


@dataclass(frozen=True, kw_only=True)
class LineChart(Picture):
    """Panels of lines; a series of one name has the same colour in all of them."""

    title: str
    panels: list[Panel]

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(series.name for panel in self.panels for series in panel.series))

    @property
    def _span(self) -> tuple[float, float]:
        """The range of x, the same in all panels, so that they can be compared."""
        xs = [x for panel in self.panels for series in panel.series for x in series.xs]
        return min(xs), max(xs)

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the panels, side by side where there is room."""
        panels = [partial(self._lines, panel, has_colour=has_colour) for panel in self.panels]
        return side_by_side(self.title, panels, width)

    def _lines(self, panel: Panel, width: int, *, has_colour: bool) -> list["Text"]:
        """Return a panel as plotext draws it; without colour each line has a letter of its own.

        The legend is ours: plotext gives wide characters the room of narrow ones there.
        """
        import plotext
        from rich.text import Text

        names, has_letters = self._names, len(self._names) > 1 and not has_colour
        plotext.clear_figure()
        plotext.theme("clear")
        plotext.limit_size(False, False)
        plotext.plot_size(width, _LINES)
        for series in panel.series:
            mark = Mark.of(names.index(series.name))
            colour = tuple(bytes.fromhex(mark.colour[1:]))
            marker = mark.letter if has_letters else "braille"
            plotext.plot(series.xs, series.ys, marker=marker, color=colour)
        ys = [y for series in panel.series for y in series.ys]
        plotext.xticks(*_ticks(*self._span))
        plotext.yticks(*_ticks(min(ys), max(ys)))
        left, right = self._span
        plotext.xlim(left, right if right > left else left + 1)  # of one point plotext makes 0 / 0
        plotext.xlabel(panel.x_label)
        drawn = plotext.build().rstrip()
        text = Text.from_ansi(drawn if has_colour else plotext.uncolorize(drawn))
        legend = self._legend(panel, width, has_letters=has_letters)
        lines = [Text(panel.name, "bold"), *text.split("\n"), *legend]
        for line in lines:
            line.rstrip()
        return lines

    def _legend(self, panel: Panel, width: int, *, has_letters: bool) -> list["Text"]:
        """Return the names of a panel's lines, as many in a row as there is room for."""
        from rich.cells import cell_len
        from rich.text import Text

        if len(self._names) < 2:
            return []
        each = min(width, max(map(cell_len, self._names)) + _BESIDE_NAME)
        in_a_row = width // each
        lines = []
        for number, series in enumerate(panel.series):
            if number % in_a_row == 0:
                lines.append(Text())
            mark = Mark.of(self._names.index(series.name))
            lines[-1].append(f"{mark.letter if has_letters else '━'} ", mark.colour)
            lines[-1].append(padded(cut(series.name, each - _BESIDE_NAME), each - 2))
        return lines

    def body(self) -> str:
        """Return panels that are laid out to a page's width, and their numbers."""
        charts = []
        for panel in self.panels:
            ends = "; ".join(
                f"{s.name} from {number_text(s.ys[0])} to {number_text(s.ys[-1])}"
                for s in panel.series
            )
            draw = partial(self._draw_lines, panel=panel, dotted=_DOTTED, clip_on=False)
            charts.append((panel.name, f"{panel.name} over {panel.x_label}: {ends}", draw))
        return with_numbers(_page_charts(charts, self._names), self._numbers())

    def _numbers(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("chart", "line", "x", "y")]
        for panel in self.panels:
            for series in panel.series:
                points = zip(series.xs, series.ys, strict=True)
                rows += [(panel.name, series.name, f"{x:g}", f"{y:.6g}") for x, y in points]
        return rows

    def _draw(self) -> "Figure":
        columns = min(2, len(self.panels))
        lines = -(-len(self.panels) // columns)
        figure = new_figure(columns * _PANEL_WIDTH, lines * _PANEL_HEIGHT + 0.4)
        grid = list(figure.subplots(lines, columns, squeeze=False).flat)
        for axes in grid[len(self.panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid, self.panels, strict=False):
            self._draw_lines(axes, panel, dotted=1)
            axes.set_title(panel.name)
        if len(self._names) > 1:
            handles = {
                str(line.get_label()): line for axes in figure.axes for line in axes.get_lines()
            }
            figure.legend(
                list(handles.values()), list(handles), loc="outside lower center", ncols=4
            )
        return figure

    def _draw_lines(self, axes: Any, panel: Panel, dotted: int, **style: Any) -> None:
        """Draw a panel; of lines of at most `dotted` points each is marked."""
        for series in panel.series:
            mark = Mark.of(self._names.index(series.name))
            axes.plot(
                series.xs,
                series.ys,
                label=series.name,
                color=mark.colour,
                linestyle=mark.line,
                linewidth=1.5,
                marker="o" if len(series.xs) <= dotted else None,
                markersize=4,
                **style,
            )
        axes.set_xlabel(panel.x_label)
        axes.grid(visible=True)
        if self._span[0] < self._span[1]:
            axes.set_xlim(*self._span)


def _ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return places from the lowest to the highest number, and what stands there."""
    step = (high - low) / (_TERMINAL_TICKS - 1)
    places = [low + step * number for number in range(_TERMINAL_TICKS)] if step else [low]
    return places, [number_text(place) for place in places]


def number_text(value: float) -> str:
    """Return a number of at most eight characters, from millionths to millions."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def _page_charts(
    charts: Sequence[tuple[str, str, Callable[[Any], None]]], names: Sequence[str]
) -> str:
    """Return charts as HTML, with a legend where there are several names of series.

    Each chart is its name, what is read to those who cannot see it, and what draws it.
    """
    figures = [
        f"<figure>\n<figcaption>{html.escape(name)}</figcaption>\n"
        f"{_page_chart(spoken, draw)}</figure>\n"
        for name, spoken, draw in charts
    ]
    marks = [(name, Mark.of(index)) for index, name in enumerate(names)]
    legend = "".join(
        f'<li><svg aria-hidden="true" viewBox="0 0 28 8"><line x1="0" x2="28" y1="4" y2="4" '
        f'stroke="{mark.colour}" stroke-width="3" stroke-dasharray="{mark.dashes}"/></svg> '
        f"{html.escape(name)}</li>\n"
        for name, mark in marks
    )
    below = f'<ul class="legend">\n{legend}</ul>\n' if len(names) > 1 else ""
    return f'<div class="charts">\n{"".join(figures)}</div>\n{below}'


def _page_chart(spoken: str, draw: Callable[[Any], None]) -> str:
    """Return what is drawn on axes as an SVG element, in the page's font."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    inches = _WIDTH / _PIXELS_PER_INCH, _HEIGHT / _PIXELS_PER_INCH
    with drawing([], **{"font.size": 12, "axes.spines.left": False}):
        figure = Figure(figsize=inches)
        axes = figure.add_axes(_AXES)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10]))
            axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        axes.tick_params(length=0)
        draw(axes)
        svg = _FONT.sub("", svg_element(figure))
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(spoken)}"', 1)


def bar_figure(
    name: str, groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]
) -> str:
    """Return groups of bars as HTML, a bar for each series; their axis begins at zero.

    `groups` are labels, `series` names with a number for each group.
    """

    def draw(axes: Any) -> None:
        width = _BAR / len(series)
        for index, (_, values) in enumerate(series):
            places = [
                group + (index - (len(series) - 1) / 2) * width for group in range(len(groups))
            ]
            bars = axes.bar(places, values, 0.95 * width, color=SERIES[index % len(SERIES)])
            if len(series) == 1:
                axes.bar_label(bars, fmt=number_text, padding=2)
        axes.set_xticks(range(len(groups)), groups)
        axes.set_ylim(0, max((max(values) for _, values in series), default=0) or 1)
        axes.grid(visible=True, axis="y")
        axes.set_axisbelow(True)

    spoken = "; ".join(
        f"{name} " + ", ".join(f"{g} {v:.3g}" for g, v in zip(groups, values, strict=True))
        for name, values in series
    )
    return _page_charts([(name, f"{name}: {spoken}", draw)], [name for name, _ in series])


@dataclass(frozen=True)
class Bars:
    """Counts of things by a whole number, such as lines by their length."""

    name: str  # what is counted
    counts: dict[int, int]  # number -> how many
    facts: str  # a line about them
    limit: int | None  # a number to mark, or None


@dataclass(frozen=True, kw_only=True)
class BarChart(Picture):
    """Histograms, one above the other, over the same numbers."""

    title: str
    x_label: str  # what the numbers are
    bars: list[Bars]
    limit_name: str  # what a marked number is

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return horizontal bars, one for a range of numbers."""
        panels = [partial(self._lines, bars) for bars in self.bars]
        return side_by_side(f"{self.title} ({self.x_label})", panels, width)

    def _lines(self, bars: Bars, width: int) -> list["Text"]:
        """Return a histogram as horizontal bars over at most `_BINS` ranges of numbers."""
        from rich.text import Text

        low, high = min(bars.counts, default=0), max(bars.counts, default=0)
        size = -(-(high - low + 1) // _BINS)
        sums: dict[int, int] = dict.fromkeys(range(low, high + 1, size), 0)
        for number, count in bars.counts.items():
            sums[low + (number - low) // size * size] += count
        label = len(f"{high}-{high}")
        mark = f" < {self.limit_name}" if bars.limit is not None else ""
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

    def _numbers(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("side", self.x_label, "count")]
        for bars in self.bars:
            rows += [(bars.name, str(n), str(bars.counts[n])) for n in sorted(bars.counts)]
        return rows

    def _draw(self) -> "Figure":
        figure = new_figure(1.5 * _PANEL_WIDTH, len(self.bars) * _PANEL_HEIGHT + 0.4)
        grid = list(figure.subplots(len(self.bars), 1, squeeze=False, sharex=True).flat)
        for index, (axes, bars) in enumerate(zip(grid, self.bars, strict=True)):
            axes.bar(list(bars.counts), list(bars.counts.values()), width=1.0, color=SERIES[index])
            if bars.limit is not None:
                axes.axvline(bars.limit, color=INK, linewidth=1, linestyle="--")
                axes.annotate(
                    self.limit_name, (bars.limit, 0.97), xycoords=("data", "axes fraction"),
                    xytext=(-4, 0), textcoords="offset points", ha="right", va="top", rotation=90,
                )  # fmt: skip
            axes.set_title(f"{bars.name}: {bars.facts}")
            axes.set_ylabel("lines")
            axes.grid(visible=True, axis="y")
            axes.set_axisbelow(True)
        grid[-1].set_xlabel(self.x_label)
        return figure
