"""matplotlib as all pictures use it: colours, fonts, files. It is imported only when one is drawn.

Text and axes are drawn in INK, which is as good as black on paper; in a page the same marks take
the page's text colour, so that they can be read in dark mode. The colours of lines have a contrast
of at least 3 with white and with the page's dark background (WCAG 2.2, 1.4.11).
"""

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
    """Leave it to `fonts.py` to say which characters no font has."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)
        yield
