"""Which encoding a text file is in: its byte order mark decides, or the statistics of its text."""

import codecs
import gzip
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

UTF8, AUTO = "utf-8", "auto"
WIDE = ("utf-16", "utf-32", "utf_16", "utf_32")  # whose lines do not end with one byte
_MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CANDIDATES = (
    "cp949", "cp932", "euc_jp", "gb18030", "big5",
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256",
)  # fmt: skip
_SEARCHED, _SAMPLE = 1 << 24, 20_000  # bytes
_CERTAIN = 0.2  # of charset-normalizer's coherence: letters as frequent as in the language
_ASCII, _FEW = 128, 16  # bytes that are not ASCII, for a guess to be certain
_KOREAN = 0.8  # of the characters that are not ASCII, Korean syllables in common use
_PAIR = 2
_MOSTLY = 0.3  # of the bytes of UTF-16 without a mark, zeros


class Found(NamedTuple):
    """What a file is encoded in.

    Attributes:
        encoding: The name, as Python and iconv know it.
        language: What its text seems to be, may be empty.
        is_certain: Whether nothing else comes near.
    """

    encoding: str
    language: str = ""
    is_certain: bool = True

    def __str__(self) -> str:
        about = f" ({self.language})" if self.language else ""
        return f"{'it is' if self.is_certain else 'it may be'} {self.encoding.upper()}{about}"


def check_encoding(name: str) -> None:
    """Raise ValueError unless `name` is an encoding of text, or "auto"."""
    try:
        if name != AUTO and "\n".encode(name).decode(name) != "\n":
            raise LookupError
    except (LookupError, ValueError) as error:
        raise ValueError(f"'{name}' is no encoding of text (utf-8, cp949, auto, ...)") from error


def find_encoding(path: Path) -> Found | None:
    """Return the encoding of a text file, plain or gzip-compressed; None if nothing fits."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            return encoding_of(stream.read(_SEARCHED))
    except (OSError, EOFError, zlib.error):
        return None


def encoding_of(raw: bytes) -> Found | None:
    """Return the encoding of the beginning of a text; None if nothing fits."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return Found(encoding)
    if raw.count(0) > _MOSTLY * len(raw):
        return Found("utf-16-le" if raw[1::2].count(0) > raw[::2].count(0) else "utf-16-be")
    lines = raw.split(b"\n")
    if len(raw) == _SEARCHED:
        lines.pop()  # may be half of one
    foreign = [line for line in lines if not line.isascii()]
    if sum(map(is_utf8, foreign)) >= len(foreign) / 2:  # or a line or two are damaged
        return Found(UTF8)
    return _by_statistics(b"\n".join(foreign))


def is_utf8(line: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _by_statistics(text: bytes) -> Found | None:
    sample = text[: text.find(b"\n", _SAMPLE)] if text.find(b"\n", _SAMPLE) > 0 else text
    if _is_korean(sample):
        return Found("cp949", "Korean")
    from charset_normalizer import from_bytes  # noqa: PLC0415 - it is seldom needed

    matches = list(from_bytes(sample, cp_isolation=list(_CANDIDATES)))
    if not matches:
        return None
    # Of several that read alike, the one that comes first in the list is the commonest.
    best = min(matches[:2], key=lambda match: (match.encoding != "cp1252", matches.index(match)))
    encoding = next(name for name in _CANDIDATES if name in best.could_be_from_charset)
    is_certain = len(matches) == 1 or best.coherence >= _CERTAIN
    is_certain &= sum(byte >= _ASCII for byte in sample) >= _FEW
    return Found(encoding, "" if best.language == "Unknown" else best.language, is_certain)


def _is_korean(sample: bytes) -> bool:
    """Return whether nearly all that is not ASCII is among the 2,350 syllables of KS X 1001.

    In Chinese or Japanese bytes that could be Korean, too, Chinese characters are as frequent.
    """
    text = sample.decode("cp949", "replace")
    counts = Counter(character for character in text if not character.isascii())
    syllables = sum(n for c, n in counts.items() if "가" <= c <= "힣" and _is_usual(c))
    return syllables >= _KOREAN * max(1, counts.total())


def _is_usual(syllable: str) -> bool:
    return len(syllable.encode("euc_kr")) == _PAIR  # the others are spelt in four pairs
