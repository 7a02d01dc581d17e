"""The elements of a paragraph of an office file, and the text that they have together.

They are as Word has them (`w:p`, `w:r`); those of PowerPoint and Excel have the same names in other
namespaces, and those of LibreOffice are made so (`opendocument.py`). A private character stands for
each element, so that a translated text says which element has which of its words.
"""

import copy
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lxml import etree

from nmt_cli.documents.inline import Inline, Mark

# The private characters that stand for the elements of a stretch: those in the last plane, which
# hardly any font has.
_FIRST = 0x100000
_MOST = 0xFFF0  # elements of a stretch at most
_SIGN, _END = f"{chr(_FIRST)}-{chr(_FIRST + _MOST - 1)}", chr(_FIRST + _MOST)
_PIECE = re.compile(f"([{_SIGN}])([^{_SIGN}{_END}]*)({_END}?)")
_TEXT = {"t": None, "noBreakHyphen": "-", "softHyphen": ""}  # None: its own
_FIELDS = ("fldSimple", "fld")
_CONTAINERS = ("hyperlink", "ins", "moveTo", "sdt", "customXml", "dir", "bdo")  # of runs
_WITH_RUNS = (*_CONTAINERS, *_FIELDS)
_LINKS = ("hlinkClick", "a")  # in the formatting of a run
_WITHOUT_MEANING = ("proofErr", "lastRenderedPageBreak")  # the program writes them again
_UNSEEN = ("lang", "altLang", "dirty", "err", "smtClean")  # attributes of a formatting
_FORMATS = ("rPr", "pPr", "endParaRPr", "rPh", "phoneticPr")
_SEPARATORS = ("tab", "ptab", "br", "cr", "line-break")
_SEPARATING = re.compile(r"([\t\n]+)")  # in texts of PowerPoint and Excel
_BEGINS = (
    "bookmarkStart", "commentRangeStart", "permStart",
    "bookmark-start", "reference-mark-start", "annotation",
)  # fmt: skip
_ENDS = (
    "bookmarkEnd", "commentRangeEnd", "permEnd",
    "bookmark-end", "reference-mark-end", "annotation-end",
)  # fmt: skip
_KEEPS_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True)
class Line:
    """A line of an element that has only text, or of an attribute."""

    element: Any
    number: int
    key: str | None = None  # of the attribute

    @classmethod
    def all_of(
        cls, element: Any, names: Container[str] = (), key: str | None = None
    ) -> "Iterator[Line]":
        """Yield the lines of a text that have a word, unless it is one of some names."""
        text = element.text if key is None else element.get(key)
        for number, line in enumerate((text or "").split("\n")):
            if text not in names and any(map(str.isalpha, line)):
                yield cls(element, number, key)

    def inline(self) -> Inline:
        """Return the text."""
        return Inline(self._lines()[self.number])

    def fill(self, text: str) -> None:
        """Put another text in its place."""
        lines = self._lines()
        lines[self.number] = text
        if self.key is None:
            self.element.text = "\n".join(lines)
        else:
            self.element.set(self.key, "\n".join(lines))

    def _lines(self) -> list[str]:
        text: str = self.element.text if self.key is None else self.element.get(self.key)
        return text.split("\n")


@dataclass(frozen=True)
class Stretch:
    """Elements of a paragraph that stand beside each other, and have words."""

    elements: Sequence[Any]

    def inline(self) -> Inline:
        """Return the text; each element that looks unlike the longest run is a mark in it."""
        look = _look(self._base())
        begins, inner, ends = "", list[Mark](), ""
        text = ""
        fields = _fields(self.elements)
        number = 0
        while number < len(self.elements):
            element, sign = self.elements[number], _sign(number)
            if field := fields.get(number):
                text = self._add_field(field, text, inner)
                number = field.end
            elif _is_text(element):
                words, is_kept = _text(element), _name(element) in _FIELDS
                if _look(element) != look or is_kept:
                    end = len(text) + len(words)
                    inner.append(Mark(len(text), end, sign, _END, is_kept=is_kept))
                text += words
            elif _name(element) in _BEGINS:
                begins += sign + _END
            elif _name(element) in _ENDS or element.find("{*}commentReference") is not None:
                ends += sign + _END
            else:
                inner.append(Mark(len(text), len(text), sign, _END))
            number += 1
        first = [Mark(0, 0, begins)] if begins else []
        last = [Mark(len(text), len(text), ends)] if ends else []
        return Inline(text, [*first, *inner, *last])

    def fill(self, text: str) -> None:
        """Put the words of a text into copies of their elements, in its order."""
        base = self._base()
        parent = self.elements[0].getparent()
        place = parent.index(self.elements[0])
        made = []
        for number, words in _pieces(text):
            element = base if number is None else self.elements[number]
            if _is_text(element):
                element = copy.deepcopy(element)
                _set_text(element, words)
            made.append(element)
        for element in self.elements:
            parent.remove(element)
        for offset, element in enumerate(made):
            parent.insert(place + offset, element)

    def _base(self) -> Any:
        """Return the run with most of the text, which has what no mark has."""
        texts = [element for element in self.elements if _is_text(element)]
        runs = [element for element in texts if _name(element) == "r"]
        plain = [run for run in runs if not any(_name(one) in _LINKS for one in run.iter())]
        return max(plain or runs or texts, key=lambda element: len(_text(element)))

    def _add_field(self, field: "_Field", text: str, marks: list[Mark]) -> str:
        """Add a field's mark; return the text with that of the field."""
        head = "".join(_sign(i) + _END for i in range(field.begin, field.result))
        words = "".join(map(_text, self.elements[field.result : field.end]))
        head += _sign(field.result) if words else ""
        tail = (_END if words else "") + _sign(field.end) + _END
        is_kept = bool(words) and not field.is_link
        marks.append(Mark(len(text), len(text) + len(words), head, tail, is_kept=is_kept))
        return text + words


@dataclass(frozen=True)
class _Field:
    """A field: elements `begin` to `end`, with what it shows in those from `result` on."""

    begin: int
    result: int
    end: int
    is_link: bool  # its text is for readers; that of others is computed


def stretches(paragraph: Any) -> Iterator[Stretch]:
    """Yield the stretches of a paragraph that have a word, after runs alike were joined.

    What holds more than text, such as the link that an entry of a table of contents is, has its
    own; in the paragraph it is an element without text.
    """
    _tidy(paragraph)
    row: list[Any] = []
    for element in [*paragraph, None]:
        if element is not None and _name(element) in _CONTAINERS and not _is_text(element):
            content = element.find("{*}sdtContent")
            yield from stretches(element if content is None else content)
        if element is not None and _name(element) not in _FORMATS and not _separates(element):
            row.append(element)
            continue
        for elements in _closed(row):
            text = "".join(_text(one) for one in elements if _is_text(one))
            if any(map(str.isalpha, text)) and max(text) < chr(_FIRST):
                yield Stretch(elements)
        row = []


def _sign(number: int) -> str:
    """Return the character of an element."""
    return chr(_FIRST + number)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _separates(element: Any) -> bool:
    if _name(element) != "r":
        return _name(element) == "br"
    texts = [e.text or "" for e in element if _name(e) == "t" and _cuts_texts(element)]
    return any(_name(child) in _SEPARATORS for child in element) or any(
        map(_SEPARATING.fullmatch, texts)
    )


def _cuts_texts(run: Any) -> bool:
    """Return whether a tab or line end in a text is one for readers; for Word it is a space."""
    return "wordprocessingml" not in run.tag


def _tidy(paragraph: Any) -> None:
    """Make each run hold text alone or one other thing; runs alike beside each other are one."""
    for element in [*paragraph]:
        if _name(element) in _WITHOUT_MEANING:
            paragraph.remove(element)
        elif _name(element) == "smartTag":
            for child in [*element]:
                element.addprevious(child)
            paragraph.remove(element)
    for run in paragraph.findall("{*}r"):
        _split(run)
    for run in paragraph.findall("{*}r"):
        before = run.getprevious()
        if before is not None and _are_alike(before, run):
            _set_text(before, _text(before) + _text(run))
            paragraph.remove(run)


def _split(run: Any) -> None:
    """Split a run into those of text and those of one other thing, which keep its formatting."""
    for child in [e for e in run if _name(e) in _WITHOUT_MEANING]:
        run.remove(child)
    if _cuts_texts(run):
        _split_texts(run)
    content = [child for child in run if _name(child) != "rPr"]
    has_text_only = all(_name(child) in _TEXT for child in content) and not _separates(run)
    if len(content) < 2 or has_text_only:
        return
    formats = [child for child in run if _name(child) == "rPr"]
    for child in content[:-1]:
        part = run.makeelement(run.tag)
        part.extend([*map(copy.deepcopy, formats), child])
        run.addprevious(part)


def _split_texts(run: Any) -> None:
    """Give what separates texts elements of its own."""
    for child in [e for e in run if _name(e) == "t"]:
        child.text, *others = _SEPARATING.split(child.text or "")
        for text in reversed(others):
            other = copy.deepcopy(child)
            other.text = text
            child.addnext(other)


def _are_alike(left: Any, right: Any) -> bool:
    """Return whether two elements are runs of text with the same formatting."""
    both = (left, right)
    are_runs = all(_name(one) == "r" and _is_text(one) and not _separates(one) for one in both)
    return are_runs and _look(left) == _look(right)


def _runs(element: Any) -> list[Any]:
    return [element] if _name(element) in ("r", "fld") else [*element.iter("{*}r")]


def _is_text(element: Any) -> bool:
    """Return whether a run, or all runs in an element, hold nothing but text."""
    if _name(element) not in ("r", *_WITH_RUNS):
        return False
    contents = [child for run in _runs(element) for child in run if _name(child) not in _FORMATS]
    return bool(contents) and all(_name(child) in _TEXT for child in contents)


def _text(element: Any) -> str:
    """Return the text of a run, or of all runs in an element."""
    found = (child for run in _runs(element) for child in run if _name(child) in _TEXT)
    written = ((_TEXT[_name(child)], child) for child in found)
    return "".join(child.text or "" if text is None else text for text, child in written)


def _set_text(element: Any, text: str) -> None:
    """Give the first run in an element another text, and remove the others."""
    first, *rest = _runs(element)
    for run in rest:
        run.getparent().remove(run)
    for child in [e for e in first if _name(e) not in _FORMATS]:
        first.remove(child)
    space, end, _ = first.tag.rpartition("}")
    words = etree.SubElement(first, f"{space}{end}t")
    words.text = text
    if "drawingml" not in space:  # PowerPoint does not know it, and always keeps space
        words.set(_KEEPS_SPACE, "preserve")


def _look(element: Any) -> tuple[str, object]:
    """Return what a run has in common with those that are formatted like it."""
    formats = [
        ({key: value for key, value in child.attrib.items() if key not in _UNSEEN},
         [etree.tostring(one, with_tail=False) for one in child])
        for child in element
        if _name(child) == "rPr"
    ]  # fmt: skip
    seen = [one for one in formats if any(one)]
    if _name(element) == "r":
        return "r", seen
    return _name(element), (dict(element.attrib), seen)


def _field_sign(element: Any) -> str | None:
    """Return `begin`, `separate` or `end` if a run holds such a sign of a field."""
    sign = element.find("{*}fldChar") if _name(element) == "r" else None
    if sign is None:
        return None
    return next((v for k, v in sign.attrib.items() if k.endswith("fldCharType")), None)


def _fields(elements: Sequence[Any]) -> dict[int, _Field]:
    """Return the outermost fields of a stretch by their first element."""
    found: dict[int, _Field] = {}
    begun: list[int] = []
    result = 0
    for i, sign in enumerate(map(_field_sign, elements)):
        if sign == "begin":
            begun.append(i)
            result = result if len(begun) > 1 else 0
        elif sign == "separate" and len(begun) == 1:
            result = i + 1
        elif sign == "end" and begun:
            begin = begun.pop()
            if not begun:
                found[begin] = _field(elements, begin, result or i, i)
    return found


def _field(elements: Sequence[Any], begin: int, result: int, end: int) -> _Field:
    instruction = "".join(
        code.text or "" for element in elements[begin:end] for code in element.iter("{*}instrText")
    )
    if not all(map(_is_text, elements[result:end])):
        result = end  # what it shows is no text
    return _Field(begin, result, end, instruction.split()[:1] == ["HYPERLINK"])


def _closed(elements: list[Any]) -> Iterator[list[Any]]:
    """Yield rows of elements, without the signs of fields that begin or end elsewhere."""
    inside = {i for field in _fields(elements).values() for i in range(field.begin, field.end + 1)}
    row: list[Any] = []
    for i, element in enumerate(elements):
        if i in inside or _field_sign(element) is None:
            row.append(element)
        if len(row) == _MOST or row[-1:] != [element]:
            yield row
            row = []
    yield row


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
