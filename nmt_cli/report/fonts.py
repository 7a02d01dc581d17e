"""Which installed fonts a PNG's characters need; SVG and HTML leave the choice to the viewer."""

from typing import NamedTuple

_FIRST = "DejaVu Sans"  # comes with matplotlib; has Latin, Greek, Cyrillic and the word marker


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
    missing = {c for c in text if c.isprintable() and not c.isspace()}
    missing -= _characters(font_manager.findfont(_FIRST))
    others = {font.fname: font.name for font in font_manager.fontManager.ttflist}
    while missing and others:
        # The one that has most of it; of those that have the same, the plainest by its file name.
        have = {path: len(missing & _characters(path)) for path in others}
        best = max(sorted(have, key=lambda path: (len(path), path)), key=lambda path: have[path])
        if not have[best]:
            break
        families.append(others.pop(best))
        missing -= _characters(best)
    return Fonts(families, "".join(sorted(missing)))


def _characters(path: str) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
        return {chr(code) for code in get_font(path).get_charmap()}
    except (OSError, RuntimeError):  # not a font that matplotlib can read
        return set()
