"""What all pictures have in common, and the file that one is written to."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError, DataError
from nmt_cli.files import os_errors_as, write_text
from nmt_cli.report.canvas import as_png, as_svg, drawing, fonts_for
from nmt_cli.report.page import drawing_figure, page, with_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

FORMATS = (".png", ".svg", ".html")
_SHOWN_MISSING = 10  # characters


class Picture(ABC):
    """Something that can be drawn in each of the forms.

    Attributes:
        title: One line above it.
    """

    title: str

    @property
    def caption(self) -> str:
        """What stands above it where it is alone; a page has its title as heading."""
        return self.title

    @abstractmethod
    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return it for a terminal of so many columns; without colour it says the same."""

    @abstractmethod
    def texts(self) -> str:
        """Return all text that is in it: the fonts must have these characters."""

    @abstractmethod
    def _draw(self) -> "Figure":
        """Return it as a figure."""

    @abstractmethod
    def table(self) -> list[tuple[str, ...]]:
        """Return the numbers behind it, a heading first: what a page tells those who cannot see."""

    def figure(self, *, has_caption: bool = True) -> "Figure":
        """Return it as a matplotlib figure with fonts that have its characters."""
        with drawing(fonts_for(self.texts()).families):
            figure = self._draw()
            if has_caption:
                figure.suptitle(self.caption, wrap=True)
            return figure

    def page(self) -> str:
        """Return it as a self-contained HTML page."""
        return page(self.title, self.body())

    def body(self) -> str:
        """Return it as HTML for a page: drawn and, folded up, its numbers."""
        svg = as_svg(self.figure(has_caption=False), background="none")
        return with_numbers(drawing_figure(self.title, svg), self.table())


def check_format(path: Path) -> None:
    """Raise ConfigError unless the file's name says which form the picture shall have."""
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(FORMATS[:-1])
        raise ConfigError(f"{path}: a picture's name must end in {known} or {FORMATS[-1]}")


def write_picture(picture: Picture, path: Path, *, on_warning: Callable[[str], None]) -> None:
    """Write a picture in the form that the file's name asks for.

    Args:
        picture: What to draw.
        path: Ends in one of `FORMATS`.
        on_warning: Told, in one line, of characters that no installed font has.

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
                write_text(path, as_svg(picture.figure()))
            case _:
                _warn_of_missing(picture, on_warning)
                image = as_png(picture.figure())
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(image)


def _warn_of_missing(picture: Picture, on_warning: Callable[[str], None]) -> None:
    missing = fonts_for(picture.texts()).missing
    if missing:
        more = " ..." if len(missing) > _SHOWN_MISSING else ""
        on_warning(
            f"no installed font has {' '.join(missing[:_SHOWN_MISSING])}{more}: the picture shows "
            "boxes there (install one, such as Noto Sans CJK, or write .html or .svg)"
        )
