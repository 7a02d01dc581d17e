"""Writing systems by ranges of code points: which one a letter belongs to."""

import functools

import numpy as np
import numpy.typing as npt

_RANGES = {  # of code points
    "Hangul": "1100-11FF 3130-318F A960-A97F AC00-D7FF",
    "Han": "3400-4DBF 4E00-9FFF F900-FAFF 20000-3FFFF",
    "Kana": "3040-30FF 31F0-31FF FF66-FF9F",
    "Latin": "41-5A 61-7A AA-AA BA-BA C0-D6 D8-F6 F8-24F 1E00-1EFF FF21-FF3A FF41-FF5A",
    "Cyrillic": "400-52F 1C80-1C8F 2DE0-2DFF A640-A69F",
    "Greek": "370-3FF 1F00-1FFF",
    "Arabic": "600-6FF 750-77F 8A0-8FF FB50-FDFF FE70-FEFE",
    "Hebrew": "590-5FF FB1D-FB4F",
    "Devanagari": "900-97F A8E0-A8FF",
    "Bengali": "980-9FF",
    "Gurmukhi": "A00-A7F",
    "Gujarati": "A80-AFF",
    "Tamil": "B80-BFF",
    "Telugu": "C00-C7F",
    "Kannada": "C80-CFF",
    "Malayalam": "D00-D7F",
    "Sinhala": "D80-DFF",
    "Thai": "E00-E7F",
    "Lao": "E80-EFF",
    "Tibetan": "F00-FFF",
    "Myanmar": "1000-109F",
    "Georgian": "10A0-10FF 1C90-1CBF 2D00-2D2F",
    "Armenian": "530-58F",
    "Ethiopic": "1200-139F 2D80-2DDF",
    "Khmer": "1780-17FF",
    "Mongolian": "1800-18AF",
}
NAMES = ("no script", *_RANGES)  # by the numbers in `script_table`


@functools.cache
def script_table() -> npt.NDArray[np.uint8]:
    """Return [0x110000] the number of each code point's script in `NAMES`; 0 is none of them."""
    table = np.zeros(0x110000, np.uint8)
    for number, ranges in enumerate(_RANGES.values(), 1):
        for first, last in (ends.split("-") for ends in ranges.split()):
            table[int(first, 16) : int(last, 16) + 1] = number
    return table
