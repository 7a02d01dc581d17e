"""Which installed fonts a PNG's characters need; SVG and HTML leave the choice to the viewer."""

import functools
from typing import Any, NamedTuple
from unicodedata import category

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
