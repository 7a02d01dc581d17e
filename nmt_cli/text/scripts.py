"""Writing systems by ranges of code points: which one a letter belongs to."""

import functools

import numpy as np
import numpy.typing as npt

SCRIPTS: dict[str, tuple[tuple[int, int], ...]] = {
    "Hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF)),
    "Han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
    "Kana": ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    "Latin": (
        (0x41, 0x5A),
        (0x61, 0x7A),
        (0xAA, 0xAA),
        (0xBA, 0xBA),
        (0xC0, 0xD6),
        (0xD8, 0xF6),
        (0xF8, 0x24F),
        (0x1E00, 0x1EFF),
        (0xFF21, 0xFF3A),
        (0xFF41, 0xFF5A),
    ),
    "Cyrillic": ((0x400, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)),
    "Greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "Arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFE)),
    "Hebrew": ((0x590, 0x5FF), (0xFB1D, 0xFB4F)),
    "Devanagari": ((0x900, 0x97F), (0xA8E0, 0xA8FF)),
    "Bengali": ((0x980, 0x9FF),),
    "Gurmukhi": ((0xA00, 0xA7F),),
    "Gujarati": ((0xA80, 0xAFF),),
    "Tamil": ((0xB80, 0xBFF),),
    "Telugu": ((0xC00, 0xC7F),),
    "Kannada": ((0xC80, 0xCFF),),
    "Malayalam": ((0xD00, 0xD7F),),
    "Sinhala": ((0xD80, 0xDFF),),
    "Thai": ((0xE00, 0xE7F),),
    "Lao": ((0xE80, 0xEFF),),
    "Tibetan": ((0xF00, 0xFFF),),
    "Myanmar": ((0x1000, 0x109F),),
    "Georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2F)),
    "Armenian": ((0x530, 0x58F),),
    "Ethiopic": ((0x1200, 0x139F), (0x2D80, 0x2DDF)),
    "Khmer": ((0x1780, 0x17FF),),
    "Mongolian": ((0x1800, 0x18AF),),
}
NAMES = ("no script", *SCRIPTS)  # by the numbers in `script_table`


def is_in(character: str, script: str) -> bool:
    """Return whether a character lies in one of a script's ranges."""
    return any(first <= ord(character) <= last for first, last in SCRIPTS[script])


@functools.cache
def script_table() -> npt.NDArray[np.uint8]:
    """Return [0x110000] the number of each code point's script in `NAMES`; 0 is none of them."""
    table = np.zeros(0x110000, np.uint8)
    for number, ranges in enumerate(SCRIPTS.values(), 1):
        for first, last in ranges:
            table[first : last + 1] = number
    return table
