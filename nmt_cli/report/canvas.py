"""matplotlib as all pictures use it: colours, fonts, files. Imported only when one is drawn.

Text and axes are drawn in INK, which is as good as black on paper; in a page the same marks take
the page's text colour, so that they can be read in dark mode. The colours of lines have a contrast
of at least 3 with white and with the page's dark background (WCAG 2.2, 1.4.11). A PNG needs fonts
that have its characters; SVG and HTML leave the choice to the viewer.
"""

import contextlib
import functools
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import category

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


INK = "#010203"
PAPER = "#ffffff"
BLACK = "#000000"  # on PAPER and what is lighter than HEAT, in dark mode too
SERIES = ("#2b7bba", "#cf4a5a", "#3a8f5c", "#9468c0", "#b3742a", "#5d7f8c")
HEAT = "#08306b"  # a weight of one; zero is the paper
BELOW, ABOVE = "#b2182b", "#2166ac"  # minus one and plus one
_GRID = "#8a8d91"
_DOTS_PER_INCH = 150


@contextlib.contextmanager
def drawing(families: list[str]) -> Iterator[None]:
    """Set how figures made in the block look."""
    from matplotlib import rc_context

    with rc_context(
        {
            "font.family": [*families, "sans-serif"],
            "font.size": 9,
            "axes.unicode_minus": False,
            "axes.grid": False,
            "axes.titlesize": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": _GRID,
            "grid.alpha": 0.35,
            "legend.frameon": False,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            **dict.fromkeys(
                ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
                INK,
            ),
        }
    ):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches, without any window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def colour_map(*colours: str) -> "Colormap":
    """Return a scale that goes evenly from the first colour to the last."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("nmt", colours)


def as_png(figure: "Figure") -> bytes:
    """Return a figure as a PNG on white."""
    stream = io.BytesIO()
    with _quiet():
        figure.savefig(stream, format="png", dpi=_DOTS_PER_INCH, facecolor=PAPER)
    return stream.getvalue()


def as_svg(figure: "Figure", *, background: str = PAPER) -> str:
    """Return a figure as an SVG whose text is text, so that the viewer finds the fonts for it."""
    from matplotlib import rc_context

    stream = io.StringIO()
    # With a salt of its own it is the same bytes each time.
    with _quiet(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "nmt"}):
        figure.savefig(stream, format="svg", facecolor=background, metadata={"Date": None})
    return stream.getvalue()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to `fonts_for` to say which characters no font has."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)
        yield


_FIRST = "DejaVu Sans"  # comes with matplotlib; has Latin, Greek, Cyrillic and the word marker
_INVISIBLE = ("Cc", "Cf")


class Fonts(NamedTuple):
    """Fonts for a text.

    Attributes:
        families: Names, each for what the ones before it lack.
        missing: The characters that no installed font has, in code point order.
    """

    families: list[str]
    missing: str


def fonts_for(text: str) -> Fonts:
    """Return installed fonts that together have all characters of a text, if there are such."""
    from matplotlib import font_manager

    families = [_FIRST]
    missing = {c for c in text if not c.isspace() and category(c) not in _INVISIBLE}
    missing -= _characters(font_manager.findfont(_FIRST))
    others = {font.fname: font.name for font in font_manager.fontManager.ttflist if _is_plain(font)}
    while missing and others:
        have = {path: len(missing & _characters(path)) for path in others}
        best = min(others, key=lambda path: (-have[path], not _is_sans(others[path]), path))
        if not have[best]:
            break
        families.append(others.pop(best))
        missing -= _characters(best)
    return Fonts(families, "".join(sorted(missing)))


def _is_plain(font: Any) -> bool:
    """Return whether a font is upright, of usual weight, and has true glyphs."""
    usual = font.style == "normal" and font.weight in (400, "normal", "regular", "book")
    return usual and not font.name.startswith("Last Resort")  # has a box for every character


def _is_sans(name: str) -> bool:
    return "Sans" in name or "Gothic" in name


@functools.cache
def _characters(path: str) -> frozenset[str]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # not a font that matplotlib can read
        return frozenset()
