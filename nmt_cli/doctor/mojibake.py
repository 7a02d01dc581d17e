"""Text that was read with the wrong encoding: found, and repaired where that is certain.

UTF-8 read as Latin-1 or its Windows variant leaves letters such as `Ã¼` and `â€™`; Korean in EUC-KR
read so leaves rows of `¾È³ç`. Both can be undone: the bytes they came from are valid in one
encoding only.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np

from nmt_cli.doctor.chunk import LATIN_1, QUESTION, Chunk
from nmt_cli.doctor.findings import Marks

_ROUNDS = 3  # how often the same mistake may have been made
_HANGUL_SHARE = 0.8  # of what was Korean


def _windows_1252() -> dict[str, int]:
    """Return the byte of each character from 0x80 on, those that only Latin-1 has, too."""
    return {
        bytes([byte]).decode("cp1252", "ignore") or chr(byte): byte for byte in range(0x80, 0x100)
    } | {chr(byte): byte for byte in range(0x80, 0x100)}


_BYTES = _windows_1252()
_FOLLOWING = "".join(re.escape(sign) for sign, byte in _BYTES.items() if byte < 0xC0)
_UTF8 = re.compile(
    f"(?:[\u00c2-\u00df][{_FOLLOWING}]|[\u00e0-\u00ef][{_FOLLOWING}]{{2}}"
    f"|[\u00f0-\u00f4][{_FOLLOWING}]{{3}})+"
)
_EUC_KR = re.compile("(?<![A-Za-z])[\u00a1-\u00fe]{4,}(?![A-Za-z])")
_SIGN = re.compile("[\u00a1-\u00bf]")
_C0 = re.compile("[\x00-\x1f\x7f]")  # 0x80 to 0x9F may be bytes that were misread twice
_LOST_IN_WORD = re.compile(
    r"(?<![/=&?.])\b[^\W\d_]*[a-z\u00df-\u00ff]\?+[a-z\u00df-\u00ff]+\b(?![=/])"
)


def repair(text: str) -> str:
    """Return the text as it was before it was read with the wrong encoding, where that is sure."""
    for _ in range(_ROUNDS):
        repaired = _EUC_KR.sub(_from_euc_kr, _UTF8.sub(_from_utf8, text))
        if repaired == text:
            break
        text = repaired
    return text


def _from_utf8(match: re.Match[str]) -> str:
    garbled = match[0]
    try:
        text = bytes(_BYTES[sign] for sign in garbled).decode("utf-8")
    except UnicodeDecodeError:
        return garbled
    # A capital letter before a quotation mark looks like two bytes as well.
    is_sure = len(text) > 1 or len(garbled) > 2 or garbled[0] in "\u00c2\u00c3"
    return text if is_sure and not _C0.search(text) else garbled


def _from_euc_kr(match: re.Match[str]) -> str:
    try:
        text = match[0].encode("latin-1").decode("euc-kr")
    except UnicodeDecodeError:
        return match[0]
    if not _SIGN.search(match[0]):  # capital letters with accents
        return match[0]
    hangul = sum("\uac00" <= sign <= "\ud7a3" for sign in text)
    return text if hangul >= _HANGUL_SHARE * len(text) else match[0]


def has_lost_letters(text: str) -> bool:
    """Return whether a word has `?` in the place of letters."""
    return _LOST_IN_WORD.search(text) is not None


def garbled(chunk: Chunk) -> Iterator[Marks]:
    """Find text that was read with the wrong encoding, and words with `?` for letters."""
    for number, side in enumerate(chunk.sides):
        found: dict[int, str] = {}
        for row in side.rows_with(LATIN_1):
            line = side.lines[row]
            if (mended := repair(line)) != line:
                found[int(row)] = _first_difference(line, mended)
        for row in side.rows_with(QUESTION):
            if match := _LOST_IN_WORD.search(side.lines[row]):
                found[int(row)] = f"{match[0]!r}: letters lost to an encoding"
        rows = np.array(sorted(found), np.int64)
        yield Marks("mojibake", number, rows, np.ones(len(rows)), _describe(found))


def _describe(found: dict[int, str]) -> Callable[[int], str]:
    return lambda row: found[row]


def _first_difference(line: str, mended: str) -> str:
    for was, should in zip(line.split(), mended.split(), strict=False):
        if was != should:
            return f"{was[:30]!r} was {should[:30]!r} before a wrong encoding"
    return "read with a wrong encoding"
