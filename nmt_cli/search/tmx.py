"""TMX, in which tools for translators exchange what was translated: its pairs of texts."""

import re
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from nmt_cli.errors import DataError, LineError
from nmt_cli.files import open_bytes
from nmt_cli.text.languages import Way

CODE = "\ufffc"  # stands for each piece of markup in a text
_MARKUP = ("bpt", "ept", "ph", "it", "ut")
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_PLACE = re.compile(r",? line \d+, column \d+.*", re.DOTALL)

Variants = list[tuple[str, str]]  # of a unit: language, as `_code` writes it, and text


def tmx_pairs(path: Path, way: Way) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two languages; what has several variants is there as often.

    Args:
        path: The file.
        way: The languages; `en` is also `en-US`. Of "" it is the one that the file names as the
            source, or the first other one.

    Raises:
        DataError: It is damaged, or has no pair of these languages.
    """
    known: dict[str, None] = {}
    has_pair = False
    for source_code, variants in _units(path):
        known.update((code, None) for code, _ in variants)
        sources = _side(variants, way[0] or source_code or variants[0][0])
        others = [variant for variant in variants if variant not in sources]
        targets = _side(others, way[1] or others[0][0]) if others else []
        for (_, source), (_, target) in product(sources, targets):
            has_pair = True
            if source.count(CODE) == target.count(CODE):  # else nothing has the same markup
                yield source, target
    if not has_pair:
        wanted = f"from {way[0] or 'any language'} to {way[1] or 'another'}"
        raise DataError(
            f"{path}: has no unit {wanted}; its languages: {', '.join(known) or 'none'}",
            hint="use a TMX of the languages that the model translates (nmt info)",
        )


def _side(variants: Variants, language: str) -> Variants:
    """Return the variants in a language, those with just its code first."""
    wanted = _code(language)
    fitting = (
        variant
        for variant in variants
        if f"{variant[0]}-".startswith(f"{wanted}-") or wanted.startswith(f"{variant[0]}-")
    )
    return sorted(fitting, key=lambda variant: variant[0] != wanted)


def _code(language: str | None) -> str:
    code = (language or "").lower().replace("_", "-")
    return "" if code == "*all*" else code


def _units(path: Path) -> Iterator[tuple[str, Variants]]:
    """Yield the source language, "" where that is not told, and the variants of each unit."""
    from lxml import etree  # noqa: PLC0415 - only those with TMX need it

    source = ""
    try:
        with open_bytes(path) as stream:
            found = etree.iterparse(
                stream, tag=("{*}header", "{*}tu"), resolve_entities=False, no_network=True
            )
            for _, element in found:
                language = _code(element.get("srclang")) or source
                if variants := _variants(element):
                    yield language, variants
                else:
                    source = language
                element.clear()
                while element.getprevious() is not None:  # or all of the file would stay in memory
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        problem = f"not valid XML: {_PLACE.sub('', error.msg or 'the file is empty')}"
        hint = "save it again with the program that wrote it, or mend that line"
        raise LineError(path, error.lineno or 1, problem, hint=hint) from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}") from error


def _variants(unit: Any) -> Variants:
    return [
        (_code(variant.get(_XML_LANG) or variant.get("lang")), _text(segment))
        for variant in unit.iterchildren("{*}tuv")
        for segment in variant.iterchildren("{*}seg")
    ]


def _text(segment: Any) -> str:
    parts = [segment.text or ""]
    for child in segment:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if name in _MARKUP:
            parts.append(CODE)
        elif name == "hi":
            parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
