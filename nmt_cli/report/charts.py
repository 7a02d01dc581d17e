"""Lines over steps and bars over lengths: the pictures that are charts."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from nmt_cli.report.canvas import INK, SERIES, new_figure
from nmt_cli.report.page import with_numbers
from nmt_cli.report.picture import Picture
from nmt_cli.report.svg import line_figures
from nmt_cli.report.terminal import bar_plot, line_plot, side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

_PANEL_WIDTH, _PANEL_HEIGHT = 5.2, 3.0  # inches
_DASHES = ("-", "--", "-.", ":")  # so that series differ without colour, too


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

    def texts(self) -> str:
        """See `Picture.texts`."""
        return "".join([self.title, *self._names, *(panel.name for panel in self.panels)])

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the panels, side by side where there is room."""
        return side_by_side(
            self.title,
            [
                partial(line_plot, panel, self._span, self._names, has_colour=has_colour)
                for panel in self.panels
            ],
            width,
        )

    def body(self) -> str:
        """Return panels that are laid out to a page's width, and their numbers."""
        return with_numbers(self.figures(), self.table())

    def figures(self) -> str:
        """Return the panels as HTML."""
        return line_figures(self.panels, self._span, self._names)

    def table(self) -> list[tuple[str, ...]]:
        """See `Picture.table`."""
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
            _draw_lines(axes, panel, self._names)
            if self._span[0] < self._span[1]:
                axes.set_xlim(*self._span)
        if len(self._names) > 1:
            handles = {
                str(line.get_label()): line for axes in figure.axes for line in axes.get_lines()
            }
            figure.legend(
                list(handles.values()), list(handles), loc="outside lower center", ncols=4
            )
        return figure


def _draw_lines(axes: Any, panel: Panel, names: list[str]) -> None:
    for series in panel.series:
        index = names.index(series.name)
        axes.plot(
            series.xs,
            series.ys,
            label=series.name,
            color=SERIES[index % len(SERIES)],
            linestyle=_DASHES[index // len(SERIES) % len(_DASHES)],
            linewidth=1.5,
            marker="o" if len(series.xs) < 2 else None,
            markersize=4,
        )
    axes.set_title(panel.name)
    axes.set_xlabel(panel.x_label)
    axes.grid(visible=True)


@dataclass(frozen=True)
class Bars:
    """Counts of things by a whole number, such as lines by their length.

    Attributes:
        name: What is counted.
        counts: Number -> how many.
        facts: A line about them.
        limit: A number to mark, or None.
    """

    name: str
    counts: dict[int, int]
    facts: str
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class BarChart(Picture):
    """Histograms, one above the other, over the same numbers.

    Attributes:
        title: One line.
        x_label: What the numbers are.
        bars: The histograms.
        limit_name: What a marked number is.
    """

    title: str
    x_label: str
    bars: list[Bars]
    limit_name: str = field(default="limit")

    def texts(self) -> str:
        """See `Picture.texts`."""
        return "".join([self.title, self.x_label, *(b.name + b.facts for b in self.bars)])

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return horizontal bars, one for a range of numbers."""
        return side_by_side(
            f"{self.title} ({self.x_label})",
            [partial(bar_plot, bars, self.limit_name) for bars in self.bars],
            width,
        )

    def table(self) -> list[tuple[str, ...]]:
        """See `Picture.table`."""
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
