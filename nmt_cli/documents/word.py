"""Word documents (.docx), read and written by python-docx: paragraphs keep styles and formatting.

A paragraph consists of stretches between tabs and line breaks, and a stretch of elements: runs,
each with a formatting of its own, links, pictures, fields (`word_runs.py`). All words of a stretch
are its text; what looks unlike its longest run is a mark in it, and so is what is no text.
"""

import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from lxml import etree

from nmt_cli.documents.inline import Inline
from nmt_cli.documents.word_runs import Stretch, stretches
from nmt_cli.errors import DataError

_UNPACKED_AT_MOST = 1 << 29  # bytes
_NOTES = ("/word/footnotes.xml", "/word/endnotes.xml")


class Page:
    """A Word document in parts.

    Raises:
        DataError: It is damaged, protected by a password, or unpacks to more than 512 MB.
    """

    def __init__(self, path: Path) -> None:
        self._document = _opened(path)
        # python-docx knows notes as bytes only
        self._notes = [
            (part, parse_xml(part.blob))
            for part in self._document.part.package.iter_parts()
            if str(part.partname) in _NOTES
        ]
        self._stretches = [*self._all_stretches()]
        self.texts: list[Inline] = [stretch.inline() for stretch in self._stretches]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the document with other texts; a private character says which element has them."""
        for stretch, text in zip(self._stretches, texts, strict=True):
            stretch.fill(text)
        for part, root in self._notes:
            part._blob = etree.tostring(
                root, xml_declaration=True, encoding="UTF-8", standalone=True
            )
        written = io.BytesIO()
        self._document.save(written)
        return written.getvalue()

    def _all_stretches(self) -> Iterator[Stretch]:
        """Yield the stretches with words of the body, headers, footers and notes."""
        parts = [self._document.element.body, *_headers_and_footers(self._document)]
        for part in [*parts, *(root for _, root in self._notes)]:
            for paragraph in [*part.iter(qn("w:p"))]:
                yield from stretches(paragraph)


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


def _headers_and_footers(document: Any) -> Iterator[Any]:
    for section in document.sections:
        for part in (section.header, section.footer, section.first_page_header,
                     section.first_page_footer, section.even_page_header,
                     section.even_page_footer):  # fmt: skip
            if not part.is_linked_to_previous:
                yield part._element
