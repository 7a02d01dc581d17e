"""Text that was read with the wrong encoding: found, and repaired where that is certain.

UTF-8 read as Latin-1 or its Windows variant leaves letters such as `Ã¼` and `â€™`, which ftfy knows
(Speer 2019). Korean in EUC-KR read so leaves rows of `¾È³ç`, which it does not.
"""

import re
from collections.abc import Iterator

import ftfy

from nmt_cli.doctor.chunk import LATIN_1, QUESTION, Chunk
from nmt_cli.doctor.findings import Marks

_ROUNDS = 3  # how often the same mistake may have been made
_HANGUL_SHARE = 0.8  # of what was Korean
# Bytes of EUC-KR with spaces, digits and signs between them, no part of a word. They are above
# 0xA0: what touches a byte below may be a piece of UTF-8.
_OTHER_BYTES = "\x80-\xa0" + bytes(range(0x80, 0xA0)).decode("cp1252", "ignore")
_EUC_KR = re.compile(
    f"(?<![A-Za-z{_OTHER_BYTES}\u00a1-\u00fe])[\u00a1-\u00fe](?:[ -@]*[\u00a1-\u00fe]){{3,}}+"
    f"(?![A-Za-z{_OTHER_BYTES}])"
)
_MAY_BE_UTF8 = re.compile(f"[\u00c2-\u00f4][{_OTHER_BYTES}\u00a1-\u00bf]")
_SIGN = re.compile("[\u00a1-\u00bf]")
_LOST_IN_WORD = re.compile(
    r"(?<![/=&?.])\b[^\W\d_]*[a-z\u00df-\u00ff]\?+[a-z\u00df-\u00ff]+\b(?![=/])"
)


def repair(text: str) -> str:
    """Return the text as it was before it was read with the wrong encoding, where that is sure."""
    for _ in range(_ROUNDS):
        repaired = _EUC_KR.sub(_from_euc_kr, text)
        if _MAY_BE_UTF8.search(repaired):  # or ftfy would think of Mac and DOS, too
            repaired = ftfy.fix_encoding(repaired)
        if repaired == text:
            break
        text = repaired
    return text


def _from_euc_kr(match: re.Match[str]) -> str:
    try:
        text = match[0].encode("latin-1").decode("euc-kr")
    except UnicodeDecodeError:
        return match[0]
    foreign = sum(not sign.isascii() for sign in text)
    hangul = sum("\uac00" <= sign <= "\ud7a3" for sign in text)
    # Without a sign, they may be capital letters with accents.
    is_sure = hangul >= _HANGUL_SHARE * foreign and _SIGN.search(match[0])
    return text if is_sure else match[0]


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
        yield Marks.of("mojibake", number, found)


def _first_difference(line: str, mended: str) -> str:
    for was, should in zip(line.split(), mended.split(), strict=False):
        if was != should:
            return f"{was[:30]!r} was {should[:30]!r} before a wrong encoding"
    return "read with a wrong encoding"
