"""XLIFF, 1.2 and 2: the inline elements of a text follow its words.

A text that is translated already stays as it is, unless all are asked for.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from nmt_cli.documents.inline import Builder, Inline
from nmt_cli.errors import DataError

ENDINGS = (".xlf", ".xliff")
_UNITS = ("trans-unit", "segment")  # of 1.2 and 2
_AROUND_WORDS = ("g", "pc", "mrk")  # other elements hold no text to translate
_NOT_TRANSLATED = ("new", "needs-translation", "initial")  # states
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


class Page:
    """An XLIFF file in parts.

    Raises:
        DataError: It is damaged, or of another kind.
    """

    def __init__(self, path: Path, *, with_translated: bool) -> None:
        try:
            root = etree.fromstring(path.read_bytes(), _PARSER)
        except etree.XMLSyntaxError as error:
            raise DataError(f"{path}: cannot be read as XLIFF: {error}") from error
        if _name(root) != "xliff":
            raise DataError(f"{path}: cannot be read as XLIFF: it is <{_name(root)}>")
        self._tree = root.getroottree()
        self._sources = [one for one in root.iter("{*}source") if _is_wanted(one, with_translated)]
        self.texts = [_inline(source) for source in self._sources]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the file with other texts, which are XML, as targets."""
        for source, text in zip(self._sources, texts, strict=True):
            target = _target(source)
            spaces = _declarations(source.nsmap)
            made = etree.fromstring(f"<target{spaces}>{text}</target>", _PARSER)
            target[:] = made[:]
            target.text = made.text
            unit = source.getparent()
            if _name(unit) == "segment":
                unit.set("state", "translated")
            else:
                target.set("state", "translated")
                unit.set("approved", "no")  # a person has not read it
        encoding = self._tree.docinfo.encoding or "UTF-8"
        written: bytes = etree.tostring(self._tree, xml_declaration=True, encoding=encoding)
        return written


def _name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _is_wanted(source: Any, with_translated: bool) -> bool:
    unit = source.getparent()
    is_text = _name(unit) in _UNITS and "".join(source.itertext()).strip()
    if not is_text or any(one.get("translate") == "no" for one in (unit, *unit.iterancestors())):
        return False
    target = unit.find("{*}target")
    if (
        with_translated
        or target is None
        or (target.get("state") or unit.get("state")) in _NOT_TRANSLATED
    ):
        return True
    return not "".join(target.itertext()).strip() and not len(target)


def _target(source: Any) -> Any:
    """Return the target of a source; a new one stands behind what is about the source."""
    unit = source.getparent()
    target = unit.find("{*}target")
    if target is None:
        before = unit.find("{*}seg-source")
        before = source if before is None else before
        target = before.makeelement(source.tag.replace("source", "target"))
        target.tail = before.tail
        before.addnext(target)
        before.tail = source.getprevious().tail if source.getprevious() is not None else unit.text
    return target


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
        name = _name(child)
        whole = etree.tostring(child, encoding="unicode", with_tail=False)
        if "no" in (child.get("translate"), *["no"] * (child.get("mtype") == "protected")):
            made.keep("".join(child.itertext()), whole)
        elif name in _AROUND_WORDS:
            made.open(name, _begin(child))
            _add(child, made)
            made.close(name, f"</{name}>")
        else:
            made.point(whole)
        made.text += child.tail or ""


def _declarations(spaces: dict[str | None, str]) -> str:
    """Return namespaces as attributes of a tag."""
    return "".join(
        f' xmlns{f":{key}" if key else ""}="{html.escape(value)}"' for key, value in spaces.items()
    )


def _begin(element: Any) -> str:
    """Return the tag that begins an element."""
    short = {space: name for name, space in element.nsmap.items()}
    short["http://www.w3.org/XML/1998/namespace"] = "xml"
    known = element.getparent().nsmap
    attributes = _declarations({k: v for k, v in element.nsmap.items() if known.get(k) != v})
    for key, value in element.attrib.items():
        name = etree.QName(key)
        prefix = f"{short[name.namespace]}:" if name.namespace else ""
        attributes += f' {prefix}{name.localname}="{html.escape(value)}"'
    return f"<{_name(element)}{attributes}>"
