"""XLIFF, read and written by translate-toolkit: its inline elements follow their words.

A text that is translated already stays as it is, unless all are asked for.
"""

import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree
from translate.storage.xliff import xlifffile

from nmt_cli.documents.inline import Builder, Inline
from nmt_cli.errors import DataError

ENDINGS = (".xlf", ".xliff")
_AROUND_WORDS = ("g", "mrk")  # other elements hold no text to translate
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


class Page:
    """An XLIFF file in parts.

    Raises:
        DataError: It is damaged, or of another kind.
    """

    def __init__(self, path: Path, *, with_translated: bool) -> None:
        try:
            self._store = xlifffile.parsestring(path.read_bytes())
        except Exception as error:  # of its parsers, each another kind
            reason = " ".join(str(error).split())
            raise DataError(f"{path}: cannot be read as XLIFF: {reason}") from error
        self._units = [
            unit
            for unit in self._store.units
            if unit.istranslatable()
            and str(unit.source or "").strip()
            and (with_translated or not str(unit.target or "").strip())
        ]
        self.texts = [_inline(unit.source_dom) for unit in self._units]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the file with other texts, which are XML, as targets."""
        for unit, text in zip(self._units, texts, strict=True):
            unit.target = unit.source
            unit.markapproved(value=False)  # a person has not read it
            target = unit.target_dom
            space = etree.QName(target).namespace or ""
            made = etree.fromstring(f'<target xmlns="{space}">{text}</target>', _PARSER)
            target[:] = made[:]
            target.text = made.text
        written = io.BytesIO()
        self._store.serialize(written)
        return written.getvalue()


def _inline(source: Any) -> Inline:
    made = Builder()
    _add(source, made)
    return made.inline(_escape)


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _add(element: Any, made: Builder) -> None:
    """Add what an element holds."""
    made.text += element.text or ""
    for child in element:
        name = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if name in _AROUND_WORDS:
            attributes = "".join(
                f' {key}="{html.escape(value)}"'
                for key, value in child.attrib.items()
                if "}" not in key
            )
            made.open(name, f"<{name}{attributes}>")
            _add(child, made)
            made.close(name, f"</{name}>")
        else:
            made.point(etree.tostring(child, encoding="unicode", with_tail=False))
        made.text += child.tail or ""
