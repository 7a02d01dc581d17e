"""Word documents (.docx), read and written by python-docx: paragraphs keep styles and formatting.

A paragraph consists of runs, each with a formatting of its own. The words of the longest are the
text; those of others are marks in it, and so is what is no text: pictures, notes, fields.
"""

import copy
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import docx
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from lxml import etree

from nmt_cli.documents.inline import Inline, Mark
from nmt_cli.errors import DataError

_FIRST = 0xE000  # of the private characters that stand for the elements of a paragraph
_MOST = 0x18FF - 1  # so many elements of a paragraph at most
_END = chr(_FIRST + 0x18FF)
_PIECE = re.compile(rf"([{chr(_FIRST)}-{chr(_FIRST + 0x18FE)}])([^{chr(_FIRST)}-{_END}]*)({_END}?)")
_UNPACKED_AT_MOST = 1 << 29  # bytes
_TEXT_ONLY = {"t", "rPr", "tab", "lastRenderedPageBreak", "noBreakHyphen", "softHyphen"}


class Page:
    """A Word document in parts.

    Raises:
        DataError: It is damaged, protected by a password, or unpacks to more than 512 MB.
    """

    def __init__(self, path: Path) -> None:
        self._document = _opened(path)
        paragraphs = (p for p in _paragraphs(self._document) if p.text.strip())
        self._elements = [_elements(paragraph) for paragraph in paragraphs]
        self.texts = [_inline(elements) for elements in self._elements]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the document with other texts; a private character says which element has them."""
        for elements, text in zip(self._elements, texts, strict=True):
            _fill(elements, text)
        written = io.BytesIO()
        self._document.save(written)
        return written.getvalue()


def _opened(path: Path) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _UNPACKED_AT_MOST:
                raise DataError(f"{path}: unpacks to more than 512 MB")
        return docx.Document(str(path))
    except zipfile.BadZipFile as error:
        hint = "if it has a password, save it without one"
        raise DataError(f"{path}: is not a Word document (.docx)", hint=hint) from error
    except (KeyError, ValueError, SyntaxError) as error:
        raise DataError(f"{path}: is damaged: {error}") from error


def _paragraphs(document: Any) -> Iterator[Any]:
    """Yield the paragraphs of the body with its tables, and of all headers and footers."""
    parts = [document.element.body]
    for section in document.sections:
        for part in (section.header, section.footer, section.first_page_header,
                     section.first_page_footer, section.even_page_header,
                     section.even_page_footer):  # fmt: skip
            if not part.is_linked_to_previous:
                parts.append(part._element)
    for part in parts:
        for element in part.iter(qn("w:p")):
            yield Paragraph(element, document)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _elements(paragraph: Any) -> list[Any]:
    """Return the runs and links of a paragraph; those alike that follow each other become one."""
    elements: list[Any] = []
    for element in paragraph._p:
        if _name(element) not in ("r", "hyperlink"):
            continue
        if elements and _are_alike(elements[-1], element):
            _set_text(elements[-1], _text(elements[-1]) + _text(element))
            element.getparent().remove(element)
        else:
            elements.append(element)
    return elements


def _are_alike(left: Any, right: Any) -> bool:
    """Return whether two elements are runs beside each other with the same formatting."""
    are_runs = all(_name(one) == "r" and _is_text(one) for one in (left, right))
    return are_runs and left.getnext() is right and _look(left) == _look(right)


def _is_text(element: Any) -> bool:
    """Return whether a run, or all runs of a link, hold nothing but text."""
    if _name(element) == "hyperlink":
        return all(_name(run) == "r" and _is_text(run) for run in element)
    return all(_name(child) in _TEXT_ONLY for child in element) and bool(_text(element))


def _text(element: Any) -> str:
    """Return the text of a run or link."""
    texts = ("\t" if _name(e) == "tab" else e.text or "" for e in element.iter("{*}t", "{*}tab"))
    return "".join(texts)


def _set_text(element: Any, text: str) -> None:
    """Give a run or link another text."""
    runs = [element] if _name(element) == "r" else list(element)
    for run in runs[1:]:
        element.remove(run)
    for child in [e for e in runs[0] if _name(e) != "rPr"]:
        runs[0].remove(child)
    for number, piece in enumerate(text.split("\t")):
        if number:
            runs[0].append(runs[0].makeelement(qn("w:tab")))
        if piece:
            words = runs[0].makeelement(qn("w:t"))
            words.text = piece
            words.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
            runs[0].append(words)


def _inline(elements: Sequence[Any]) -> Inline:
    """Return the text of a paragraph; each element that looks unlike the longest run is a mark."""
    base = _base(elements)
    text, marks = "", []
    for number, element in enumerate(elements[:_MOST]):
        piece = _text(element) if _is_text(element) else ""
        if not piece or _look(element) != _look(base):
            start = len(text)
            marks.append(Mark(start, start + len(piece), chr(_FIRST + number), _END))
        text += piece
    return Inline(text, marks)


def _base(elements: Sequence[Any]) -> Any:
    """Return the run with most of the text, which has what no mark has."""
    runs = [e for e in elements if _name(e) == "r" and _is_text(e)] or [*elements]
    return max(runs, key=lambda element: len(_text(element)))


def _look(element: Any) -> tuple[str, bytes]:
    """Return what a run has in common with those that are formatted like it."""
    formats = (etree.tostring(child) for child in element if _name(child) == "rPr")
    address = "".join(f"{name}={value}" for name, value in element.attrib.items())
    return (_name(element) + (address if _name(element) == "hyperlink" else ""), b"".join(formats))


def _fill(elements: list[Any], text: str) -> None:
    """Put the pieces of a text into copies of their elements, in their order."""
    base = _base(elements)
    parent = elements[0].getparent()
    place = parent.index(elements[0])
    made = []
    for number, piece in _pieces(text):
        element = base if number is None else elements[number]
        if _is_text(element):
            element = copy.deepcopy(element)
            _set_text(element, piece)
        made.append(element)
    for element in elements:
        parent.remove(element)
    for offset, element in enumerate(made):
        parent.insert(place + offset, element)


def _pieces(text: str) -> Iterator[tuple[int | None, str]]:
    """Yield (number of the element, or None for the base, text) of a filled text."""
    begin = 0
    for found in _PIECE.finditer(text):
        if text[begin : found.start()]:
            yield None, text[begin : found.start()]
        yield ord(found[1]) - _FIRST, found[2]
        begin = found.end()
    if rest := text[begin:].replace(_END, ""):
        yield None, rest
