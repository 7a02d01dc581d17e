"""What all pictures have in common: colours, fonts, files; matplotlib comes when one is drawn.

Text and axes are drawn in INK, which is as good as black on paper; in a page the same marks take
the page's text colour, so that they can be read in dark mode. The colours of lines have a contrast
of at least 3 with white and with the page's dark background (WCAG 2.2, 1.4.11). A PNG needs fonts
that have its characters; SVG and HTML leave the choice to the viewer.
"""

import contextlib
import functools
import html
import io
import itertools
import logging
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import category

from nmt_cli.errors import ConfigError, DataError
from nmt_cli.files import os_errors_as, write_text
from nmt_cli.report.page import page, with_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

INK = "#010203"
PAPER = "#ffffff"
BLACK = "#000000"  # on PAPER and what is lighter than HEAT, in dark mode too
SERIES = ("#2b7bba", "#cf4a5a", "#3a8f5c", "#9468c0", "#b3742a", "#5d7f8c")
HEAT = "#08306b"  # a weight of one; zero is the paper
BELOW, ABOVE = "#b2182b", "#2166ac"  # minus one and plus one
_FORMATS = (".png", ".svg", ".html")
_SHOWN_MISSING = 10  # characters
_DOTS_PER_INCH = 150
_FIRST = "DejaVu Sans"  # comes with matplotlib; has Latin, Greek, Cyrillic and the word marker
_SANS = re.compile("Sans|Gothic")
# Of matplotlib's SVG: what a page has no use for, and what its style sheet says better.
_NOT_IN_A_PAGE = re.compile(r'<(metadata|style).*?</\1>| id="[\w.]+_\d+"', flags=re.DOTALL)
_STYLE = {
    "font.size": 9,
    "axes.unicode_minus": False,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#8a8d91",
    "grid.alpha": 0.35,
    "legend.frameon": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
}


class Picture(ABC):
    """Something that can be drawn in each of the forms."""

    title: str  # one line above it

    @property
    def caption(self) -> str:
        """What stands above it where it is alone; a page has its title as heading."""
        return self.title

    @abstractmethod
    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return it for a terminal of so many columns; without colour it says the same."""

    @abstractmethod
    def _draw(self) -> "Figure":
        """Return it as a figure."""

    @abstractmethod
    def _numbers(self) -> list[tuple[str, ...]]:
        """Return the numbers behind it, a heading first: what a page tells those who cannot see."""

    def _texts(self) -> str:
        """Return all text that is in it: the fonts must have these characters."""
        return "".join([self.title, *itertools.chain.from_iterable(self._numbers())])

    def figure(self, *, has_caption: bool = True) -> "Figure":
        """Return it as a matplotlib figure with fonts that have its characters."""
        with drawing(fonts_for(self._texts()).families):
            figure = self._draw()
            if has_caption:
                figure.suptitle(self.caption, wrap=True)
            return figure

    def page(self) -> str:
        """Return it as a self-contained HTML page."""
        return page(self.title, self.body())

    def body(self) -> str:
        """Return it as HTML for a page: drawn and, folded up, its numbers.

        A narrow screen shows a part of the drawing, which the arrow keys move.
        """
        drawn = svg_element(self.figure(has_caption=False))
        figure = (
            f'<figure class="drawing" role="img" aria-label="{html.escape(self.title)}" '
            f'tabindex="0">\n{drawn}</figure>\n'
        )
        return with_numbers(figure, self._numbers())


def check_format(path: Path) -> None:
    """Raise ConfigError unless the file's name says which form the picture shall have."""
    if path.suffix.lower() not in _FORMATS:
        *known, last = _FORMATS
        raise ConfigError(f"{path}: a picture's name must end in {', '.join(known)} or {last}")


def write_picture(picture: Picture, path: Path, *, on_warning: Callable[[str], None]) -> None:
    """Write a picture in the form that the file's name asks for.

    `on_warning` is told, in one line, of characters that no installed font has.

    Raises:
        ConfigError: The name ends in something else.
        DataError: The file cannot be written.
    """
    check_format(path)
    with os_errors_as(DataError, f"{path}: cannot be written"):
        match path.suffix.lower():
            case ".html":
                write_text(path, picture.page())
            case ".svg":
                write_text(path, _as_svg(picture.figure(), PAPER))
            case _:
                _warn_of_missing(picture, on_warning)
                path.parent.mkdir(parents=True, exist_ok=True)
                with _quiet():
                    picture.figure().savefig(path, dpi=_DOTS_PER_INCH, facecolor=PAPER)


def _warn_of_missing(picture: Picture, on_warning: Callable[[str], None]) -> None:
    if missing := fonts_for(picture._texts()).missing:
        more = " ..." if len(missing) > _SHOWN_MISSING else ""
        on_warning(
            f"no installed font has {' '.join(missing[:_SHOWN_MISSING])}{more}: the picture shows "
            "boxes there (install one, such as Noto Sans CJK, or write .html or .svg)"
        )


@contextlib.contextmanager
def drawing(families: list[str], **changes: Any) -> Iterator[None]:
    """Set how figures made in the block look; `changes` are settings of matplotlib."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # of a home that cannot be written
    from matplotlib import rc_context

    style: Any = _STYLE | {"font.family": [*families, "sans-serif"]} | changes
    with rc_context(style):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches, without any window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_matrix(axes: Any, matrix: Any, *colours: str, **style: Any) -> Any:
    """Draw numbers, from 0 to 1 unless `style` says otherwise, as shades between colours."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("nmt", colours)
    style = {"vmin": 0, "vmax": 1, "interpolation": "none"} | style
    return axes.imshow(matrix, cmap=shades, **style)


def svg_element(figure: "Figure") -> str:
    """Return a figure as an element of a page, its ink in the page's text colour."""
    svg = _as_svg(figure, "none")
    return _NOT_IN_A_PAGE.sub("", svg[svg.index("<svg") :]).replace(INK, "currentColor")


def _as_svg(figure: "Figure", background: str) -> str:
    """Return a figure as an SVG whose text is text, so that the viewer finds the fonts for it."""
    from matplotlib import rc_context

    stream = io.StringIO()
    # With a salt of its own it is the same bytes each time.
    with _quiet(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "nmt"}):
        figure.savefig(stream, format="svg", facecolor=background, metadata={"Date": None})
    return stream.getvalue()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to `_warn_of_missing` to say which characters no font has."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)
        yield


class Fonts(NamedTuple):
    """Fonts for a text."""

    families: list[str]  # names, each for what the ones before it lack
    missing: str  # the characters that no installed font has, in code point order


def fonts_for(text: str) -> Fonts:
    """Return installed fonts that together have all characters of a text, if there are such."""
    from matplotlib import font_manager

    families = [_FIRST]
    missing = {c for c in text if not c.isspace() and category(c) not in ("Cc", "Cf")}
    missing -= _characters(font_manager.findfont(_FIRST))
    others = {font.fname: font.name for font in font_manager.fontManager.ttflist if _is_plain(font)}
    while missing and others:
        have = {path: len(missing & _characters(path)) for path in others}
        best = min(others, key=lambda path: (-have[path], not _SANS.search(others[path]), path))
        if not have[best]:
            break
        families.append(others.pop(best))
        missing -= _characters(best)
    return Fonts(families, "".join(sorted(missing)))


def _is_plain(font: Any) -> bool:
    """Return whether a font is upright, of usual weight, and has true glyphs."""
    usual = font.style == "normal" and font.weight in (400, "normal", "regular", "book")
    return usual and not font.name.startswith("Last Resort")  # has a box for every character


@functools.cache
def _characters(path: str) -> frozenset[str]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # not a font that matplotlib can read
        return frozenset()


# --- on a terminal --------------------------------------------------------------------------------

_PANEL_WIDTH, _WIDEST_PANEL, GAP = 60, 110, 3  # columns


def cut(label: str, width: int) -> str:
    """Return a text that takes at most so many columns of a terminal, with "…" if it is cut."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(label) <= width:
        return label
    return set_cell_size(label, width - 1).rstrip() + "…"


def padded(label: str, width: int) -> str:
    """Return a text with spaces behind it, up to a width in columns; before it if that is < 0."""
    from rich.cells import cell_len

    spaces = " " * (abs(width) - cell_len(label))
    return spaces + label if width < 0 else label + spaces


def side_by_side(title: str, panels: Sequence["Callable[[int], list[Text]]"], width: int) -> "Text":
    """Return panels, each a function of a width, below a title: as many in a row as fit."""
    from rich.text import Text

    in_a_row = max(1, min(len(panels), width // _PANEL_WIDTH))
    each = min(_WIDEST_PANEL, (width - GAP * (in_a_row - 1)) // in_a_row)
    text = Text(title + "\n")
    for first in range(0, len(panels), in_a_row):
        drawn = [draw(each) for draw in panels[first : first + in_a_row]]
        text.append("\n")
        for row in itertools.zip_longest(*drawn, fillvalue=Text()):
            for line in row[:-1]:
                text.append_text(line).append(" " * (each + GAP - line.cell_len))
            text.append_text(row[-1]).append("\n")
    return text
