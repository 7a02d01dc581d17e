"""Catalogues of programs' texts, read and written by translate-toolkit: PO, Qt, Android and others.

A text that is translated already stays as it is, unless all are asked for.
"""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from translate.storage import aresource, po, properties, ts2

from nmt_cli.documents.messages import Message
from nmt_cli.errors import DataError

_STORES = {
    ".po": po.pofile,
    ".pot": po.pofile,
    ".ts": ts2.tsfile,
    ".properties": properties.javafile,
    ".xml": aresource.AndroidResourceFile,
}
# In these, a translation takes the place of the text.
_IN_PLACE = (aresource.AndroidResourceUnit, properties.proppluralunit)
_REFERENCE = re.compile(r"[@?][\w.:+]*/?[\w.]+\Z")  # of Android, to another resource
_NO_ASCII = re.compile(r"[^\0-\x7f]")
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")


class Page:
    """A catalogue in parts.

    Raises:
        DataError: It is damaged, or of another kind.
    """

    def __init__(self, path: Path, *, with_translated: bool) -> None:
        self._store = _opened(path)
        self._is_ascii = isinstance(self._store, properties.javafile) and _is_escaped(path)
        self._units = [u for u in self._store.units if _is_wanted(u, with_translated)]
        self._forms = [[Message(text) for text in _sources(unit)] for unit in self._units]
        self.texts = [text for forms in self._forms for form in forms for text in form.texts]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the catalogue with translations."""
        waiting = iter(texts)
        for unit, forms in zip(self._units, self._forms, strict=True):
            made = [form.filled([next(waiting) for _ in form.texts]) for form in forms]
            is_item = _is_item(unit)
            _fill(unit, made, self._plurals)
            if is_item:  # the library made it a text of its own
                unit.xmlelement.tag = "item"
        written = io.BytesIO()
        self._store.serialize(written)
        content = written.getvalue()
        return _escaped(content) if self._is_ascii else content

    @property
    def _plurals(self) -> int:
        """How many forms of a plural the target language has."""
        header: dict[str, str] = getattr(self._store, "parseheader", dict)()
        found = _PLURALS.search(header.get("Plural-Forms", ""))
        return int(found[1]) if found else 2


def _opened(path: Path) -> Any:
    kind = _STORES.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{path}: the name of a catalogue ends in {', '.join(_STORES)}")
    store = kind()
    try:
        store.parse(path.read_bytes())
    except Exception as error:  # of each parser another kind
        reason = " ".join(str(error).split()) or "it is of another kind"
        raise DataError(f"{path}: cannot be read as {path.suffix}: {reason}") from error
    if kind is aresource.AndroidResourceFile:  # which knows no arrays
        for item in store.document.iterfind("string-array/item"):
            store.addunit(store.UnitClass(None, xmlelement=item), new=False)
    if kind is po.pofile and "charset=CHARSET" in str(store.header() or ""):
        store.updateheader(content_type="text/plain; charset=UTF-8")
    return store


def _is_escaped(path: Path) -> bool:
    """Return whether a file for Java has escapes in place of all that ASCII does not have."""
    content = path.read_bytes()
    return content.isascii() and rb"\u" in content


def _escaped(content: bytes) -> bytes:
    """Return a file for Java with an escape for each character that ASCII does not have."""
    return _NO_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], content.decode()).encode()


def _is_wanted(unit: Any, with_translated: bool) -> bool:
    if not (unit.istranslatable() or _is_item(unit)) or not "".join(_sources(unit)).strip():
        return False
    if isinstance(unit, aresource.AndroidResourceUnit) and _REFERENCE.match(str(unit.source)):
        return False
    return with_translated or isinstance(unit, _IN_PLACE) or not str(unit.target or "").strip()


def _is_item(unit: Any) -> bool:
    """Return whether a unit is an item of a list of Android that may be translated."""
    element: Any = getattr(unit, "xmlelement", None)
    if element is None or element.tag != "item":
        return False
    return str(element.getparent().get("translatable")) != "false"


def _sources(unit: Any) -> list[str]:
    """Return the texts of a unit: one, or its plural forms."""
    strings = getattr(unit.source, "strings", None)
    return [str(one) for one in strings] if strings else [str(unit.source or "")]


def _fill(unit: Any, forms: list[str], plurals: int) -> None:
    """Give a unit its translation; more forms of a plural repeat the last, and one alone is it."""
    if len(forms) == 1 and not unit.hasplural():
        unit.target = forms[0]
        return
    unit.target = (forms + forms[-1:] * plurals)[:plurals] if plurals > 1 else forms[-1:]
