"""Which encoding a text file is in: its byte order mark decides, or the statistics of its text."""

import codecs
import functools
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

UTF8, AUTO = "utf-8", "auto"
WIDE = ("utf-16", "utf-32", "utf_16", "utf_32")  # whose lines do not end with one byte
_MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# How a ZIP file begins, as those of office programs are, and an old .xls: they are no text.
PACKED = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_SEARCHED, _SAMPLE = 1 << 24, 20_000  # bytes
_NO_TEXT = ("Cc", "Cn", "Co")  # controls, unassigned, private
# UTF-16 may be valid UTF-8, too: ASCII, half of which is zeros, or text of an alphabet, most of
# whose high bytes, if it is long enough to tell, have two values.
_ZEROS, _LONG, _HIGH_BYTES = 0.4, 20, 0.9

# An encoding is told by how many of the characters that are not ASCII are usual in a language.
_LIKELY, _CERTAIN = 0.4, 0.8  # of them
_AHEAD = 3  # characters that only this encoding makes usual
_FEW = 0.05  # of the lines: fewer, if nothing is certain, are damaged, not in another encoding
_WESTERN = ("cp1252", "cp850", "macintosh")
_CENTRAL = ("cp1250", "cp852", "iso-8859-2")
_CYRILLIC = ("cp1251", "koi8-r", "cp866", "iso-8859-5")
_SIGNS = "“”„‘’‚«»–—…°€§·、。，！？「」『』（）：；《》〈〉～・"  # noqa: RUF001
_LATIN = (
    ("German", _WESTERN, "äöüßÄÖÜ"),
    ("French", _WESTERN, "éèêëàâçîïôûùœÉÈÀÇÊ"),
    ("Spanish", _WESTERN, "áéíóúñü¿¡ÁÉÍÓÚ"),
    ("Portuguese", _WESTERN, "ãõáéíóúâêôçàÉÁ"),
    ("Italian", _WESTERN, "àèéìòùÈ"),
    ("a Nordic language", _WESTERN, "åäöæøÅÄÖÆØéðþ"),
    ("Polish", _CENTRAL, "ąćęłńóśźżŁŚŻÓ"),
    ("Czech or Slovak", _CENTRAL, "áčďéěíňóřšťúůýžäľôŠČŽŘÚ"),
    ("Hungarian", _CENTRAL, "áéíóöőúüűÁÉÖÓ"),
    ("Croatian or Slovenian", _CENTRAL, "čćđšžČŠŽĐ"),
    ("Romanian", ("cp1250", "iso-8859-2"), "ăâîşţŞÎ"),
    ("Turkish", ("cp1254",), "ışğçöüâîİŞÇÖÜ"),
)
_ALPHABETS = (
    ("Russian", _CYRILLIC, "оеаинтсрвлкмдпуяыьзбгч"),
    ("Ukrainian", ("cp1251",), "оаинітверскдулмпяьзбгєї"),
    ("Greek", ("cp1253", "iso-8859-7"), "αοιετσνηυρπκμλςωγδάόίέήύώ"),
    ("Hebrew", ("cp1255",), "יוהלאתרבשמנםעדפקחכ"),
    ("Arabic", ("cp1256",), "اليمنوترةبعدسفهكقأحج"),
)
_KANA = "".join(map(chr, range(0x3041, 0x30FF)))
_SYLLABIC = (  # codec and first bytes of what is in common use; what else is
    ("Korean", ("cp949", "johab"), ("euc_kr", 0xB0, 0xC8), ""),
    ("Japanese", ("cp932", "euc-jp"), ("euc_jp", 0xB0, 0xCF), _KANA),
    ("Chinese", ("gb18030",), ("gb2312", 0xB0, 0xD7), ""),
    ("Chinese", ("big5",), ("big5", 0xA4, 0xC6), ""),
)


class Found(NamedTuple):
    """What a file is encoded in."""

    encoding: str  # the name, as Python and iconv know it
    language: str = ""  # what its text seems to be, may be empty
    is_certain: bool = True  # whether nothing else comes near

    def __str__(self) -> str:
        about = f" ({self.language})" if self.language else ""
        return f"{'it is' if self.is_certain else 'it may be'} {self.encoding.upper()}{about}"


def check_encoding(name: str) -> None:
    """Raise ValueError unless `name` is an encoding of text, or "auto"."""
    try:
        if name != AUTO and "\n".encode(name).decode(name) != "\n":
            raise LookupError
    except (LookupError, ValueError) as error:
        raise ValueError(f"'{name}' is not a text encoding (utf-8, cp949, auto, ...)") from error


def find_encoding(path: Path) -> Found | None:
    """Return the encoding of a text file, plain or gzip-compressed; None if nothing fits."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            return encoding_of(stream.read(_SEARCHED))
    except (OSError, EOFError, zlib.error):
        return None


def encoding_of(raw: bytes) -> Found | None:
    """Return the encoding of the beginning of a text; None if nothing fits."""
    if raw.startswith(PACKED):
        return None
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return Found(encoding)
    if wide := _wide_without_mark(raw[:_SAMPLE]):
        return Found(wide)
    lines = raw.split(b"\n")
    if len(raw) == _SEARCHED:
        lines.pop()  # may be half of one
    foreign = [line for line in lines if not line.isascii()]
    if sum(map(_is_part_of_utf8, foreign)) >= len(foreign) / 2:  # or a line or two are damaged
        return Found(UTF8)
    text = b"\n".join(foreign)
    end = text.find(b"\n", _SAMPLE)
    found = _by_statistics(text[:end] if end > 0 else text)
    is_damage = len(foreign) < _FEW * len(lines) and not (found and found.is_certain)
    return None if is_damage else found


def is_utf8(line: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_part_of_utf8(line: bytes) -> bool:
    """Return whether bytes are UTF-8, perhaps with only a part of the first and last character."""
    if is_utf8(line):
        return True
    start = next((i for i in range(min(3, len(line))) if not 0x80 <= line[i] < 0xC0), 3)
    try:
        return not codecs.getincrementaldecoder(UTF8)().decode(line[start:]).isascii()
    except UnicodeDecodeError:
        return False


def _wide_without_mark(sample: bytes) -> str | None:
    """Return the UTF-16 that bytes are in; in it, a space or the end of a line has a zero byte."""
    if 0 not in sample:
        return None
    # In the wrong order, bytes are characters that do not exist: a line's end is U+0A00.
    is_little = sample[1::2].count(0) > sample[::2].count(0)
    if is_utf8(sample) and sample.count(0) < _ZEROS * len(sample):
        high = Counter(sample[is_little::2])
        common = sum(count for _, count in high.most_common(2))
        if len(sample) < _LONG or common < _HIGH_BYTES * high.total():
            return None
    for encoding in ("utf-16le", "utf-16be")[:: 1 if is_little else -1]:
        text = _decoded(sample, encoding)
        is_spaced = "\n" in text or (b"\n" not in sample and " " in text)
        is_text = all(c in "\t\n\r" or category(c) not in _NO_TEXT for c in text)
        if is_spaced and is_text and not text.isspace():
            return encoding
    return None


def _decoded(raw: bytes, encoding: str) -> str:
    """Return the text of bytes; nothing if they are not in the encoding."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return ""


def _by_statistics(sample: bytes) -> Found | None:
    """Return the encoding in which most of what is not ASCII is usual in one language."""
    readings = [_reading(sample, *names) for names in _languages()]
    # Korean bytes are usual Chinese characters, too, but not the other way round. Of encodings
    # that read alike, the first is the commonest.
    best = max(readings, key=lambda one: (one.is_korean, one.usual))
    if best.usual < _LIKELY:
        return None
    rival = max(one.usual for one in readings if one.text != best.text)
    ahead = best.usual - (0 if best.is_korean else rival)
    is_certain = best.usual >= _CERTAIN and ahead * best.foreign >= _AHEAD
    return Found(best.encoding, best.language, is_certain)


class _Reading(NamedTuple):
    """A text in an encoding: how many characters are not ASCII, and the share of usual ones."""

    language: str
    encoding: str
    text: str
    foreign: int
    usual: float

    @property
    def is_korean(self) -> bool:
        return self.language == "Korean" and self.usual >= _CERTAIN


def _reading(
    sample: bytes, language: str, encoding: str, usual: frozenset[str], place: re.Pattern[str]
) -> _Reading:
    text = _decoded(sample, encoding)
    foreign = sum(not character.isascii() for character in text)
    counts = Counter("".join(place.findall(text)))
    share = sum(n for c, n in counts.items() if c in usual) / max(1, foreign)
    return _Reading(language, encoding, text, foreign, share)


@functools.cache
def _languages() -> list[tuple[str, str, frozenset[str], re.Pattern[str]]]:
    """Return languages, their encodings, usual characters, and where these must stand to count.

    A Latin letter with an accent stands beside plain ones; those of another alphabet do not.
    """
    beside_ascii = re.compile(r"(?<![^\0-\x7f])[^\0-\x7f]|[^\0-\x7f](?![^\0-\x7f])")
    in_words = re.compile(r"(?<![A-Za-z])[^\0-\x7f]{2,}+(?![A-Za-z])")
    anywhere = re.compile(r"[^\0-\x7f]")
    known = [
        *((*one, beside_ascii) for one in _LATIN),
        *((*one, in_words) for one in _ALPHABETS),
        *((n, e, "".join([*_in_use(*codec), o]), anywhere) for n, e, codec, o in _SYLLABIC),
    ]
    return [
        (language, encoding, frozenset(usual + _SIGNS), place)
        for language, encodings, usual, place in known
        for encoding in encodings
    ]


def _in_use(codec: str, first: int, last: int) -> Iterator[str]:
    """Yield the characters of two bytes, the first of them in a range: those of everyday text."""
    for lead in range(first, last + 1):
        for second in range(0x40, 0xFF):
            yield from _decoded(bytes((lead, second)), codec)
