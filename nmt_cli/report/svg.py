"""Small charts for pages, written as SVG without matplotlib: a page is quick to refresh that way.

Each is a figure of its own, so that a page puts them side by side or one below the other, with text
of the same size on any screen. Text and axes take the page's colours.
"""

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.report.canvas import SERIES
from nmt_cli.report.terminal import number_text

if TYPE_CHECKING:
    from nmt_cli.report.charts import Panel, Series

_WIDTH, _HEIGHT = 400, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 20, 14, 36
_DASHES = ("", "7 3", "7 2 2 2", "2 2")  # so that series differ without colour, too
_TICKS = 6  # at most, and one more
_STEPS = (1, 2, 2.5, 5, 10)
_DOTTED = 30  # points of a line up to which each is shown
_BAR = 0.8  # share of its place that a group of bars takes


class _Scale(NamedTuple):
    """A range of numbers, and where it begins and ends in the drawing."""

    low: float
    high: float
    first: float
    last: float

    def place(self, value: float) -> float:
        """Return where a number is drawn."""
        share = (value - self.low) / ((self.high - self.low) or 1)
        return round(self.first + share * (self.last - self.first), 1)


def line_figures(panels: list["Panel"], span: tuple[float, float], names: list[str]) -> str:
    """Return panels of lines as HTML, with a legend where there are several names.

    Args:
        panels: Each with at least one point; all finite.
        span: The range of x, the same in all panels.
        names: Of all series: a name's place decides on the colour.
    """
    figures = "".join(_line_figure(panel, span, names) for panel in panels)
    return f'<div class="charts">\n{figures}</div>\n{_legend(names)}'


def bar_figure(
    name: str, groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]
) -> str:
    """Return groups of bars, one for each series, as HTML; their axis begins at zero.

    Args:
        name: What they show.
        groups: Labels of the groups.
        series: Names with a number for each group.
    """
    across = _Scale(0, len(groups), _LEFT, _WIDTH - _RIGHT)
    most = max((value for _, values in series for value in values), default=0)
    up = _Scale(0, most or 1, _HEIGHT - _BOTTOM, _TOP)
    width = _BAR / len(series)
    parts = [_upright_axis(up)]
    for index, (_, values) in enumerate(series):
        for group, value in enumerate(values):
            left = across.place(group + (1 - _BAR) / 2 + index * width)
            right = across.place(group + (1 - _BAR) / 2 + (index + 1) * width)
            top = up.place(value)
            parts.append(
                f'<rect x="{left}" y="{top}" width="{right - left - 1:.1f}" '
                f'height="{up.first - top:.1f}" fill="{SERIES[index % len(SERIES)]}"/>\n'
            )
            if len(series) == 1:
                parts.append(_text((left + right) / 2, top - 3, number_text(value), "middle"))
    for group, label in enumerate(groups):
        parts.append(_text(across.place(group + 0.5), up.first + 14, label, "middle"))
    figure = _figure(name, f"{name}: {_spoken(groups, series)}", "".join(parts))
    return f'<div class="charts">\n{figure}</div>\n{_legend([name for name, _ in series])}'


def _spoken(groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]) -> str:
    return "; ".join(
        f"{name} " + ", ".join(f"{g} {v:.3g}" for g, v in zip(groups, values, strict=True))
        for name, values in series
    )


def _line_figure(panel: "Panel", span: tuple[float, float], names: list[str]) -> str:
    ys = [y for series in panel.series for y in series.ys]
    margin = 0.05 * (max(ys) - min(ys)) or abs(ys[0]) / 20 or 1.0
    across = _Scale(*span, _LEFT, _WIDTH - _RIGHT)
    up = _Scale(min(ys) - margin, max(ys) + margin, _HEIGHT - _BOTTOM, _TOP)
    parts = [_upright_axis(up)]
    for tick in _ticks(*span):
        x = across.place(tick)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{up.first}"/>\n')
        parts.append(_text(x, up.first + 14, number_text(tick), "middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, panel.x_label, "middle"))
    parts += [_line(series, across, up, names.index(series.name)) for series in panel.series]
    ends = "; ".join(
        f"{s.name} from {number_text(s.ys[0])} to {number_text(s.ys[-1])}" for s in panel.series
    )
    return _figure(panel.name, f"{panel.name} over {panel.x_label}: {ends}", "".join(parts))


def _line(series: "Series", across: _Scale, up: _Scale, index: int) -> str:
    colour, dash = SERIES[index % len(SERIES)], _DASHES[index // len(SERIES) % len(_DASHES)]
    points = [(across.place(x), up.place(y)) for x, y in zip(series.xs, series.ys, strict=True)]
    path = " ".join(f"{x},{y}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashed}/>\n'
    dots = points if len(points) <= _DOTTED else []
    return line + "".join(f'<circle cx="{x}" cy="{y}" r="2.2" fill="{colour}"/>\n' for x, y in dots)


def _upright_axis(up: _Scale) -> str:
    """Return the numbers of the upright axis, with lines across, and the axis below."""
    right = _WIDTH - _RIGHT
    parts = [f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{up.first}" y2="{up.first}"/>\n']
    for tick in _ticks(up.low, up.high):
        y = up.place(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>\n')
        parts.append(_text(_LEFT - 5, y + 4, number_text(tick), "end"))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers within a range, evenly spaced."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / _TICKS))
    step = next(s * power for s in _STEPS if s * power * _TICKS >= (high - low) * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{html.escape(text)}</text>\n'


def _figure(name: str, spoken: str, parts: str) -> str:
    return (
        f"<figure>\n<figcaption>{html.escape(name)}</figcaption>\n"
        f'<svg role="img" aria-label="{html.escape(spoken)}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'fill="currentColor">\n{parts}</svg>\n</figure>\n'
    )


def _legend(names: list[str]) -> str:
    if len(names) < 2:
        return ""
    entries = []
    for index, name in enumerate(names):
        colour, dash = SERIES[index % len(SERIES)], _DASHES[index // len(SERIES) % len(_DASHES)]
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        entries.append(
            f'<li><svg aria-hidden="true" viewBox="0 0 28 8"><line x1="0" x2="28" y1="4" y2="4" '
            f'stroke="{colour}" stroke-width="3"{dashed}/></svg> {html.escape(name)}</li>\n'
        )
    return f'<ul class="legend">\n{"".join(entries)}</ul>\n'
