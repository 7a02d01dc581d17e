"""Catalogues of programs' texts, read and written by translate-toolkit: PO, JSON and others.

A text that is translated already stays as it is, unless all are asked for.
"""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from translate.storage import aresource, jsonl10n, po, properties, ts2, yaml
from translate.storage.base import DictUnit

from nmt_cli.documents.inline import Inline
from nmt_cli.errors import DataError

_STORES = {
    ".po": po.pofile,
    ".pot": po.pofile,
    ".ts": ts2.tsfile,
    ".properties": properties.javafile,
    ".json": jsonl10n.JsonNestedFile,
    ".yaml": yaml.YAMLFile,
    ".yml": yaml.YAMLFile,
    ".xml": aresource.AndroidResourceFile,
}
# In these, a translation takes the place of the text.
_IN_PLACE = (DictUnit, aresource.AndroidResourceUnit, properties.proppluralunit)
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")


class Page:
    """A catalogue in parts.

    Raises:
        DataError: It is damaged, or of another kind.
    """

    def __init__(self, path: Path, *, with_translated: bool) -> None:
        self._store = _opened(path)
        self._units = [u for u in self._store.units if _is_wanted(u, with_translated)]
        self._lines = [[one.split("\n") for one in _sources(unit)] for unit in self._units]
        rows = (row for forms in self._lines for form in forms for row in form)
        self.texts = [Inline(row) for row in rows]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the catalogue with translations."""
        waiting = iter(texts)
        for unit, forms in zip(self._units, self._lines, strict=True):
            _fill(unit, ["\n".join(next(waiting) for _ in form) for form in forms], self._plurals)
        written = io.BytesIO()
        self._store.serialize(written)
        return written.getvalue()

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
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: cannot be read as {path.suffix}: {reason}") from error
    return store


def _is_wanted(unit: Any, with_translated: bool) -> bool:
    if not unit.istranslatable() or not str(unit.source or "").strip():
        return False
    return with_translated or isinstance(unit, _IN_PLACE) or not str(unit.target or "").strip()


def _sources(unit: Any) -> list[str]:
    """Return the texts of a unit: one, or its plural forms."""
    strings = getattr(unit.source, "strings", None)
    return [str(one) for one in strings] if strings else [str(unit.source)]


def _fill(unit: Any, forms: list[str], plurals: int) -> None:
    """Give a unit its translation; a language with more plural forms repeats the last."""
    if len(forms) == 1:
        unit.target = forms[0]
        return
    unit.target = (forms + forms[-1:] * plurals)[: max(plurals, 1)]
