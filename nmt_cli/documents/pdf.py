"""PDF files: their text in paragraphs, headings and lists, to be written as Word or Markdown.

A PDF file says which letter stands where. pdfminer finds lines, and their order in columns; what
lines say together follows from their places and sizes: a paragraph ends where the first word of the
next line would have had room, or where that line stands apart.
"""

import io
import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import docx
from pdfminer.high_level import extract_pages
from pdfminer.layout import LTChar, LTPage, LTTextLine
from pdfminer.pdfdocument import PDFPasswordIncorrect

from nmt_cli.documents.inline import Inline
from nmt_cli.errors import ConfigError, DataError

ENDINGS = (".docx", ".md")  # of what it can be written as
_NO_LETTERS = re.compile(r"\(cid:\d+\)|[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_BULLET = re.compile(
    r"[\u2022\u2023\u2043\u2219\u25a0\u25aa\u25cb\u25cf\u25e6\u00b7\uf0a7\uf0b7]\s*"
)
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\s")
_SENTENCE_END = re.compile(r"""[.!?:;\u2026\u3002\uff01\uff1f]["'\u00bb\u201d\u2019)\]\d]*\Z""")
_WITHOUT_SPACES = re.compile(r"[\u3000-\u9fff\uff00-\uffef]\Z")  # Chinese, Japanese
_HYPHEN = re.compile(r"(\w+)-\Z")
_AND = re.compile(r"(?:and|or|und|oder|bis|et|ou|y|o|e)\b")  # behind a hyphen that stays
_HEADING = 1.12  # times as large as most text is a heading at least, and as another size
_LONGEST_HEADING = 200  # characters
_LEVELS = 4
_APART = 1.3  # times as far from the line above as lines are in general
_COLUMNS = 20  # places where lines begin that are tried as the left edge of a column
_LEAST_LINES, _LEAST_LENGTH = 5, 20  # of a column, which is no column of a table
_MARKUP = re.compile(r"([\\`*_\[\]<>~|])|^([#+-])(?=\s|#)|&(?=#?\w+;)", re.MULTILINE)


@dataclass(frozen=True)
class _Line:
    """A line of a page; lengths in points, from its lower left corner."""

    text: str
    page: int
    size: float  # of its letters
    left: float
    right: float
    bottom: float
    top: float
    edge: float = 0.0  # where most lines of its column have ended

    def room_for_first_word(self) -> float:
        """Return how wide its first word is, with a space."""
        return (self.right - self.left) * (len(self.text.split()[0]) + 1) / len(self.text)


@dataclass
class _Block:
    """A paragraph, an item of a list, or a heading."""

    lines: list[_Line]
    is_item: bool = False
    level: int = 0  # of a heading, from 1
    text: str = ""


class Page:
    """A PDF file in parts.

    Raises:
        ConfigError: It shall be written as something else than `ENDINGS`.
        DataError: It is damaged, protected by a password, or has no text.
    """

    def __init__(self, path: Path, ending: str) -> None:
        if ending not in ENDINGS:
            told = f"{path}: the translation of a PDF file is named {' or '.join(ENDINGS)}"
            raise ConfigError(told, hint=f"-o {path.stem}.docx")
        self._ending = ending
        lines = _without_running([*_lines(path)])
        if not any(char.isalpha() for line in lines for char in line.text):
            raise DataError(f"{path}: has no text, only pictures", hint="recognize its text first")
        self._blocks = _blocks(lines)
        self.texts = [Inline(block.text) for block in self._blocks]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return a Word document, or Markdown, with other texts."""
        for block, text in zip(self._blocks, texts, strict=True):
            block.text = text
        return _markdown(self._blocks) if self._ending == ".md" else _word(self._blocks)


def _lines(path: Path) -> Iterator[_Line]:
    """Yield the lines in the order in which they are read."""
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # no warnings of what it passes over
    try:
        for number, page in enumerate(extract_pages(str(path))):
            lines = _by_columns(_with_bullets([*_lines_of(page, number)]))
            yield from (replace(line, edge=_edge(line, lines)) for line in lines)
    except PDFPasswordIncorrect as error:
        hint = "save it without one"
        raise DataError(f"{path}: is protected by a password", hint=hint) from error
    except OSError:
        raise
    except Exception as error:  # of a file that is damaged, many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path}: cannot be read as PDF: {reason}") from error


def _lines_of(page: LTPage, number: int) -> Iterator[_Line]:
    for box in page:
        for line in box if isinstance(box, Iterable) else ():
            if not isinstance(line, LTTextLine):
                continue
            chars = [char for char in line if isinstance(char, LTChar) and char.upright]
            text = " ".join(_NO_LETTERS.sub(" ", line.get_text()).translate(_LIGATURES).split())
            if chars and text:
                size = round(median(char.size for char in chars), 1)
                yield _Line(text, number, size, line.x0, line.x1, line.y0, line.y1)


def _by_columns(lines: list[_Line]) -> list[_Line]:
    """Return the lines of a page with a column before what is on its right.

    Lines across both, such as a title, stand between what is above them and what is below.
    """
    lefts = Counter(round(line.left) for line in lines).most_common(_COLUMNS)
    ways = filter(None, (_columns(lines, left - 2) for left, _ in lefts))
    across, *sides = min(ways, key=lambda way: len(way[0]), default=(lines,))
    if not sides:
        return lines
    across.sort(key=lambda line: -line.top)
    tops = [-line.top for line in across]
    made: list[_Line] = []
    for band in range(len(across) + 1):
        for side in sides:
            made += _by_columns([line for line in side if bisect_left(tops, -line.top) == band])
        made += across[band : band + 1]
    return made


def _columns(lines: list[_Line], place: int) -> tuple[list[_Line], ...] | None:
    """Return the lines across a place, left and right of it; None if it is not between columns."""
    left = [line for line in lines if line.right <= place]
    right = [line for line in lines if line.left > place]
    across = [line for line in lines if line.left <= place < line.right]
    are_texts = all(
        len(side) >= _LEAST_LINES and median(len(line.text) for line in side) >= _LEAST_LENGTH
        for side in (left, right)
    )
    return (across, left, right) if are_texts and len(across) * 5 <= len(lines) else None


def _edge(line: _Line, lines: Sequence[_Line]) -> float:
    """Return how far to the right lines reach that begin where a line begins, save a few."""
    rights = sorted(one.right for one in lines if abs(one.left - line.left) < 3 * line.size)
    return rights[len(rights) * 4 // 5]


def _with_bullets(lines: list[_Line]) -> list[_Line]:
    """Return the lines of a page with bullets that stand alone put in front of their lines."""
    made = [line for line in lines if not _BULLET.fullmatch(line.text)]
    for bullet in lines:
        middle = (bullet.top + bullet.bottom) / 2
        beside = [
            i for i, line in enumerate(made)
            if line.bottom <= middle <= line.top and line.left >= bullet.right
        ]  # fmt: skip
        if _BULLET.fullmatch(bullet.text) and beside:
            i = min(beside, key=lambda i: made[i].left)
            made[i] = replace(made[i], text=f"{bullet.text} {made[i].text}")
    return made


def _usual_size(lines: Sequence[_Line]) -> float:
    sizes = Counter[float]()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _without_running(lines: list[_Line]) -> list[_Line]:
    """Return lines without those that stand at the edges of several pages: numbers, headers."""
    usual = _usual_size(lines)
    pages: dict[int, list[_Line]] = {}
    for line in lines:
        pages.setdefault(line.page, []).append(line)
    found = Counter[tuple[str, int]]()
    edges: dict[_Line, tuple[str, int]] = {}
    for of_page in pages.values():
        of_page.sort(key=lambda line: line.top)
        keys = {
            line: (re.sub(r"\d+", "0", line.text), round(line.bottom / 3))
            for line in (*of_page[:2], *of_page[-2:])
            if line.size < usual * _HEADING
        }
        edges |= keys
        found.update(set(keys.values()))
    return [line for line in lines if line not in edges or found[edges[line]] < 2]


def _blocks(lines: list[_Line]) -> list[_Block]:
    usual = _usual_size(lines)
    steps = sorted(
        (above.top - below.top) / below.size
        for above, below in pairwise(lines)
        if above.page == below.page and 0 < above.top - below.top < 3 * below.size
    )
    step = steps[len(steps) // 5] if steps else 1.2  # most steps may be between paragraphs
    blocks: list[_Block] = []
    for line in lines:
        is_item = _BULLET.match(line.text) is not None
        block = None if is_item else _continued(blocks, line, step)
        if block is None:
            blocks.append(_Block([line], is_item))
        else:
            block.lines.append(line)
    hyphenated = {word for line in lines for word in re.findall(r"\w+-\w+", line.text)}
    for block in blocks:
        block.text = _joined(block.lines, hyphenated)
    _set_levels(blocks, usual)
    return [block for block in blocks if block.text]


def _continued(blocks: list[_Block], line: _Line, step: float) -> _Block | None:
    """Return the block that a line continues, if it begins none."""
    for block in reversed(blocks[-4:]):
        last = block.lines[-1]
        has_ended = _SENTENCE_END.search(last.text)
        if max(last.size, line.size) > _HEADING * min(last.size, line.size):
            continue
        down = last.top - line.top
        is_below = last.page == line.page and 0 < down <= _APART * step * line.size
        if is_below and block is blocks[-1] and last.right > line.left and line.right > last.left:
            column = [one for one in block.lines if one.page == line.page and one.left < line.right]
            edge = max(last.edge, *(one.right for one in (*column, line)))
            had_room = last.right + line.room_for_first_word() + line.size / 2 < edge
            is_indented = line.left > last.left + 0.7 * line.size and not block.is_item
            is_numbered = _NUMBERED.match(line.text)
            is_divided = _HYPHEN.search(last.text) and line.text[0].islower()
            if (had_room and not is_divided) or (has_ended and (is_indented or is_numbered)):
                return None
            return block
        is_elsewhere = last.page != line.page or down < 0  # on the next page, in the next column
        if is_elsewhere and not has_ended and line.text[0].islower():
            return block
    return None


def _joined(lines: list[_Line], hyphenated: set[str]) -> str:
    """Return the text of lines; a word that was divided is whole again."""
    text = ""
    for line in lines:
        divided = _HYPHEN.search(text)
        if text.endswith("\u00ad"):
            text = text[:-1] + line.text
        elif _WITHOUT_SPACES.search(text):
            text += line.text
        elif divided and line.text[0].islower() and not _AND.match(line.text):
            word = divided[0] + re.split(r"\W", line.text)[0]
            text = (text if word in hyphenated else text[:-1]) + line.text
        else:
            text = f"{text} {line.text}".lstrip()
    return _BULLET.sub("", text, count=1) if _BULLET.match(text) else text


def _set_levels(blocks: list[_Block], usual: float) -> None:
    """Make blocks in larger letters headings; the largest are the first level."""
    large = [
        block for block in blocks
        if block.lines[0].size >= usual * _HEADING
        and len(block.text) <= _LONGEST_HEADING
        and any(map(str.isalpha, block.text))
    ]  # fmt: skip
    sizes = sorted({block.lines[0].size for block in large}, reverse=True)
    for block in large:
        block.level = min(sizes.index(block.lines[0].size) + 1, _LEVELS)


def _markdown(blocks: list[_Block]) -> bytes:
    made = ""
    for before, block in zip([None, *blocks], blocks, strict=False):
        text = _MARKUP.sub(r"\\\g<0>", block.text)
        head = "#" * block.level + " " if block.level else "- " if block.is_item else ""
        is_in_list = before is not None and before.is_item and block.is_item
        made += ("" if is_in_list or not made else "\n") + head + text + "\n"
    return made.encode()


def _word(blocks: list[_Block]) -> bytes:
    document: Any = docx.Document()
    for block in blocks:
        if block.level:
            document.add_heading(block.text, block.level)
        else:
            document.add_paragraph(block.text, "List Bullet" if block.is_item else None)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()
