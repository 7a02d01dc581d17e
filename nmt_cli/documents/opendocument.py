"""Files of LibreOffice (.odt, .odp, .ods): the content of paragraphs is made runs like Word's.

A run has one text, or one other thing, and as its formatting the elements around that, such as
`text:span`. So paragraphs keep their formatting as those of Word do (`office.py`). Once they have
their translation, the runs are made what they were.
"""

import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from nmt_cli.documents import package
from nmt_cli.documents.runs import Line, Stretch, stretches
from nmt_cli.errors import DataError

_FILE = "a LibreOffice document (.odt, .odp, .ods)"
_NAMESPACE = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}"
_TEXT, _TABLE, _OFFICE, _STYLE = map(_NAMESPACE.format, ("text", "table", "office", "style"))
_PROMPT = _NAMESPACE.format("presentation") + "class"  # of what a master says to write
_PICTURE = _NAMESPACE.format("svg-compatible")
_WITH_TEXTS = re.compile(r"(?:.*/)?content\.xml|styles\.xml")
_NOT_FOR_READERS = ("tracked-changes", "annotation")
_FOR_READERS = (
    "body", "master-page",
    "header", "header-left", "header-first", "footer", "footer-left", "footer-first",
)  # fmt: skip
_PARAGRAPHS = (f"{_TEXT}p", f"{_TEXT}h")
_LINK = f"{_TEXT}a"
_AROUND_WORDS = (
    f"{_TEXT}span", f"{_TEXT}meta", _LINK,
    "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}content-control",
)  # fmt: skip
_SPACES = f"{_TEXT}s"
_ALONE = (
    *(_TEXT + what + edge for what in ("bookmark", "reference-mark", "change")
      for edge in ("-start", "-end")),
    f"{_OFFICE}annotation", f"{_OFFICE}annotation-end",
)  # fmt: skip
_WHITE = re.compile(r"[ \t\r\n]+")
_RUN, _INSERTED, _FIELD = "r", "ins", "fldSimple"  # as Word calls them


class Page(package.Page):
    """A document in parts.

    Raises:
        DataError: It is damaged, protected by a password, or unpacks to more than 512 MB.
    """

    def __init__(self, path: Path) -> None:
        file = package.Package(path, _FILE)
        if b"encryption-data" in file.parts.get("META-INF/manifest.xml", b""):
            raise DataError(f"{path}: is protected by a password", hint="save it without one")
        if "content.xml" not in file.parts:
            raise file.is_other()
        super().__init__(file, filter(_WITH_TEXTS.fullmatch, file.parts), _texts)

    def _finish(self, root: Any) -> None:
        for paragraph in [*root.iter(*_PARAGRAPHS)]:
            if any(child.tag in (_RUN, _INSERTED, _FIELD) for child in paragraph):
                _restore(paragraph)


def _texts(root: Any) -> Iterator[Stretch | Line]:
    """Yield what has words in a part."""
    unseen = _unseen_styles(root)
    for paragraph in [*root.iter(*_PARAGRAPHS)]:
        if _is_for_readers(paragraph) and any(map(str.isalpha, "".join(paragraph.itertext()))):
            _make_runs(paragraph, unseen)
            yield from stretches(paragraph)
    for plain in root.iter(
        "{*}header-decl", "{*}footer-decl", f"{_PICTURE}title", f"{_PICTURE}desc"
    ):  # of slides and pictures
        yield from Line.all_of(plain)


def _unseen_styles(root: Any) -> set[str]:
    """Return the names of styles that only say when a text was typed."""
    return {
        style.get(f"{_STYLE}name")
        for style in root.iterfind(f"{_OFFICE}automatic-styles/{_STYLE}style")
        if style.get(f"{_STYLE}family") == "text"
        and f"{_STYLE}parent-style-name" not in style.attrib
        and all("rsid" in name for one in style.iterdescendants() for name in one.attrib)
    }


def _is_for_readers(paragraph: Any) -> bool:
    """Return whether a paragraph is shown, and no result of a formula or number."""
    is_shown = is_prompt = False
    for element in paragraph.iterancestors():
        name = etree.QName(element).localname
        is_shown = is_shown or name in _FOR_READERS
        is_prompt = is_prompt or _PROMPT in element.attrib
        if name in _NOT_FOR_READERS or (name == "master-page" and is_prompt):
            return False
        if element.tag == f"{_TABLE}table-cell":
            is_text = element.get(f"{_OFFICE}value-type", "string") == "string"
            if not is_text or f"{_TABLE}formula" in element.attrib:
                return False
            element.attrib.pop(f"{_OFFICE}string-value", None)  # it would hide the translation
    return is_shown


def _make_runs(paragraph: Any, unseen: Container[str]) -> None:
    paragraph.text = (paragraph.text or "").lstrip(" \t\r\n")  # is not shown
    runs = _with_insertions(_runs(paragraph, (), unseen))
    paragraph.text = None
    paragraph[:] = runs


def _runs(element: Any, around: tuple[Any, ...], unseen: Container[str]) -> Iterator[Any]:
    """Yield the content of an element as runs.

    Args:
        element: A paragraph, or one of those `around`.
        around: The elements that the content is in, from the outermost on.
        unseen: The names of styles that mean nothing.
    """
    if element.text:
        yield _run(around, element.text)
    for child in [*element]:
        tail, child.tail = child.tail, None
        if child.tag in _AROUND_WORDS:
            is_seen = child.get(f"{_TEXT}style-name") not in unseen or child.tag == _LINK
            yield from _runs(child, (*around, child) if is_seen else around, unseen)
        elif child.tag == _SPACES:
            count = child.get(f"{_TEXT}c", "1")
            yield _run(around, " " * int(count if re.fullmatch("[0-9]{1,3}", count) else 1))
        elif child.tag in _ALONE:
            yield child
        elif str(child.tag).startswith(_TEXT) and child.text and not len(child):
            field = etree.Element(_FIELD)
            field.append(_run((*around, child), child.text))
            yield field
        else:
            yield _run(around, child)
        if tail:
            yield _run(around, tail)


def _run(around: Sequence[Any], content: Any) -> Any:
    run = etree.Element(_RUN)
    place = etree.SubElement(run, "rPr")
    for one in around:
        place = etree.SubElement(place, one.tag, dict(one.attrib))
    if isinstance(content, str):
        is_spaces = content.strip(" ") == ""
        etree.SubElement(run, "t").text = content if is_spaces else _WHITE.sub(" ", content)
    else:
        run.append(content)
    return run


def _with_insertions(runs: Iterator[Any]) -> list[Any]:
    """Return runs with those of a tracked insertion in an element, as Word has them."""
    made: list[Any] = []
    for run in runs:
        made.append(run)
        if run.tag != f"{_TEXT}change-end":
            continue
        starts = [i for i, one in enumerate(made) if one.tag == f"{_TEXT}change-start"]
        if starts and all(one[-1].tag == "t" for one in made[starts[-1] + 1 : -1] if len(one)):
            inserted = etree.Element(_INSERTED)
            inserted.extend(made[starts[-1] :])
            made[starts[-1] :] = [inserted]
    return made


def _restore(paragraph: Any) -> None:
    """Make the runs of a paragraph what they were."""
    runs = [*_flat(paragraph)]
    paragraph[:] = []
    before = " "  # the last character; a space behind a space is written as an element
    for run in runs:
        place = paragraph
        if run.tag != _RUN:
            place.append(run)
            continue
        formats, content = run
        for one in formats.iterdescendants():
            place = _inside(place, one)
        if content.tag == "t":
            before = _add_text(place, content.text or "", before)
        else:
            place.append(content)
            before = ""


def _flat(element: Any) -> Iterator[Any]:
    for child in [*element]:
        if child.tag in (_INSERTED, _FIELD):
            yield from _flat(child)
        else:
            yield child


def _inside(place: Any, wanted: Any) -> Any:
    """Return an element like a wanted one at the end of a place: the last one, or a new one."""
    for last in place[-1:]:
        is_like = last.tag == wanted.tag and dict(last.attrib) == dict(wanted.attrib)
        if is_like and last.tag == _LINK and last.tail == " ":  # between two words of a link
            last.tail = None
            _append(last, " ")
        if is_like and last.tag in _AROUND_WORDS and not last.tail:
            return last
    return etree.SubElement(place, wanted.tag, dict(wanted.attrib))


def _add_text(place: Any, text: str, before: str) -> str:
    """Add a text to a place, and return its last character."""
    for part in filter(None, re.split(r"( +)", text)):
        spaces = 0
        if part.isspace():
            spaces = len(part) if before == " " else len(part) - 1
            part = part[spaces:]
        _append(place, part)
        if spaces:
            count = {f"{_TEXT}c": str(spaces)} if spaces > 1 else {}
            etree.SubElement(place, _SPACES, count)
        before = part[-1] if part else " "
    return before


def _append(place: Any, text: str) -> None:
    if len(place):
        place[-1].tail = (place[-1].tail or "") + text
    else:
        place.text = (place.text or "") + text
