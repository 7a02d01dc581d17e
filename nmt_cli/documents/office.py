"""Files of Word, PowerPoint and Excel: paragraphs, and texts of cells, keep their formatting.

A paragraph consists of stretches between tabs and line breaks, and a stretch of elements: runs,
each with a formatting of its own, links, pictures, fields (`runs.py`). All words of a stretch are
its text; what looks unlike its longest run is a mark in it, and so is what is no text.
"""

import functools
import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from nmt_cli.documents import package
from nmt_cli.documents.runs import Line, Stretch, stretches


class Program(NamedTuple):
    """What writes such files."""

    file: str  # what one is called
    types: tuple[str, str]  # what the types of its parts have in their names


WORD = Program("a Word document (.docx)", ("wordprocessingml", "ms-word"))
POWERPOINT = Program("a PowerPoint presentation (.pptx)", ("presentationml", "ms-powerpoint"))
EXCEL = Program("an Excel workbook (.xlsx)", ("spreadsheetml", "ms-excel"))

_TYPES = "[Content_Types].xml"
_MAIN = ".main+xml"
# The ends of the types of parts that have texts for readers.
_WITH_TEXTS = (
    _MAIN, ".header+xml", ".footer+xml", ".footnotes+xml", ".endnotes+xml",
    ".slide+xml", ".notesSlide+xml", ".slideLayout+xml", ".slideMaster+xml",
    ".sharedStrings+xml", ".worksheet+xml",
    ".chart+xml", ".drawing+xml", ".diagramData+xml", ".diagramDrawing+xml",
)  # fmt: skip
_NUMBER = re.compile(r"(\d+)")
# The end of a file's name, which programs give to a picture that nobody described.
_PICTURE = re.compile(r"\.(?:bmp|emf|gif|jpe?g|png|svg|tiff?|webp|wmf)\Z", re.IGNORECASE)


class Page(package.Page):
    """A file in parts.

    Raises:
        DataError: It is damaged, protected by a password, or unpacks to more than 512 MB.
    """

    def __init__(self, path: Path, program: Program) -> None:
        file = package.Package(path, program.file)
        types = _types(file)
        mains = [kind for kind in types.values() if kind.endswith(_MAIN)]
        if not any(name in kind for kind in mains for name in program.types):
            raise file.is_other()
        parts = [part for part in types if types[part].endswith(_WITH_TEXTS)]
        texts_in = functools.partial(_texts, names=_column_names(file, types))
        super().__init__(file, sorted(parts, key=_in_order), texts_in)


def _types(file: package.Package) -> dict[str, str]:
    """Return the type of each part."""
    if _TYPES not in file.parts:
        raise file.is_other()
    root = file.root(_TYPES)
    of_ending = {
        str(one.get("Extension")).lower(): str(one.get("ContentType"))
        for one in root.iter("{*}Default")
    }
    of_part = {one.get("PartName"): str(one.get("ContentType")) for one in root.iter("{*}Override")}
    return {
        name: of_part.get(f"/{name}") or of_ending.get(name.rpartition(".")[2].lower(), "")
        for name in file.parts
    }


def _in_order(name: str) -> list[str]:
    """Return what puts parts in the order of their numbers."""
    return [part.zfill(9) for part in _NUMBER.split(name)]


def _column_names(file: package.Package, types: dict[str, str]) -> set[str]:
    """Return the names of columns in the tables of a workbook.

    Formulas use them, and a file is damaged if the cells above the columns say something else.
    """
    found = set()
    for name, kind in types.items():
        if kind.endswith(("table+xml", "pivotCacheDefinition+xml")):
            for column in file.root(name).iter("{*}tableColumn", "{*}cacheField"):
                found.add(str(column.get("name")).replace("_x000a_", "\n"))
    return found


def _texts(root: Any, names: Container[str]) -> Iterator[Stretch | Line]:
    """Yield what has words in a part, but no text that is one of some names."""
    for paragraph in [*root.iter("{*}p", "{*}si", "{*}is")]:
        plain = paragraph.find("{*}t")
        if plain is not None:
            yield from Line.all_of(plain, names)
        elif "".join(paragraph.itertext("{*}t")) not in names and not _is_prompt(paragraph, root):
            yield from stretches(paragraph)
    for cache in root.iter("{*}strCache"):  # of a chart: names of categories and series
        for value in cache.iter("{*}v"):
            yield from Line.all_of(value, names)
    for shape in root.iter("{*}docPr", "{*}cNvPr"):
        for key in ("title", "descr"):
            if not _PICTURE.search(shape.get(key, "")):
                yield from Line.all_of(shape, key=key)


def _is_prompt(paragraph: Any, root: Any) -> bool:
    """Return whether a paragraph says on a master what to write, which no slide shows."""
    is_master = etree.QName(root).localname in ("sldMaster", "sldLayout")
    shape = next(paragraph.iterancestors("{*}sp"), None) if is_master else None
    return shape is not None and shape.find("{*}nvSpPr/{*}nvPr/{*}ph") is not None
