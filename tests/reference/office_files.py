"""Small files of office programs, and what a part of one shows: each letter with its formatting."""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lxml import etree

from nmt_cli.documents.inline import Alignment

_OPEN = "http://schemas.openxmlformats.org"
_DRAWING = (
    f'xmlns:a="{_OPEN}/drawingml/2006/main" xmlns:r="{_OPEN}/officeDocument/2006/relationships"'
)
_ODF = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in [
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"),
        ("draw", "drawing"), ("presentation", "presentation"),
    ]
)  # fmt: skip
_ODF = f'{_ODF} xmlns:xlink="http://www.w3.org/1999/xlink"'
_UNSEEN = ("lang", "dirty")


class Kind(NamedTuple):
    """A kind of file, as Microsoft's programs write them."""

    ending: str
    part: str  # that has the texts
    type: str  # of that part
    around: str  # of CONTENT, in the part
    paragraph: str  # around CONTENT
    pieces: Sequence[str]  # of a paragraph, which have TEXT in them


def _word(formats: str) -> str:
    return f'<w:r>{formats}<w:t xml:space="preserve">TEXT </w:t></w:r>'


_BOLD = _word("<w:rPr><w:b/></w:rPr>")
WORD = Kind(
    ".docx",
    "word/document.xml",
    "wordprocessingml.document.main",
    f'<w:document xmlns:w="{_OPEN}/wordprocessingml/2006/main" {_DRAWING}><w:body>CONTENT</w:body>'
    "</w:document>",
    '<w:p><w:pPr><w:pStyle w:val="x"/></w:pPr>CONTENT</w:p>',
    [
        _word(""), _BOLD, _word("<w:rPr><w:i/></w:rPr>"), _word("<w:rPr/>"),
        f'<w:hyperlink r:id="r1">{_BOLD}</w:hyperlink>', f'<w:ins w:id="1">{_word("")}</w:ins>',
        "<w:r><w:tab/></w:r>", "<w:r><w:t>TEXT</w:t><w:br/><w:t>TEXT</w:t></w:r>",
        "<w:r><w:drawing/></w:r>", '<w:r><w:footnoteReference w:id="2"/></w:r>',
        '<w:del w:id="1"><w:r><w:delText>X </w:delText></w:r></w:del>',
        f'<w:fldSimple w:instr="DATE">{_word("").replace("TEXT", "1 May")}</w:fldSimple>',
    ],
)  # fmt: skip


def _drawn(formats: str) -> str:
    return f"<a:r>{formats}<a:t>TEXT </a:t></a:r>"


POWERPOINT = Kind(
    ".pptx",
    "ppt/slides/slide1.xml",
    "presentationml.slide",
    f'<p:sld xmlns:p="{_OPEN}/presentationml/2006/main" {_DRAWING}><p:txBody>CONTENT</p:txBody>'
    "</p:sld>",
    '<a:p><a:pPr lvl="1"/>CONTENT<a:endParaRPr lang="en-US"/></a:p>',
    [
        _drawn(""), _drawn('<a:rPr lang="en-US" dirty="0"/>'), _drawn('<a:rPr b="1"/>'),
        _drawn('<a:rPr lang="en-US"><a:hlinkClick r:id="r1"/></a:rPr>'), _drawn("<a:rPr/>"),
        "<a:br/>", '<a:br><a:rPr lang="en-US"/></a:br>', "<a:r><a:t>TEXT\tTEXT </a:t></a:r>",
        '<a:fld id="{1}" type="datetime"><a:rPr b="1"/><a:pPr/><a:t>1 May</a:t></a:fld>',
    ],
)  # fmt: skip
EXCEL = Kind(
    ".xlsx",
    "xl/sharedStrings.xml",
    "spreadsheetml.sharedStrings",
    f'<sst xmlns="{_OPEN}/spreadsheetml/2006/main">CONTENT</sst>',
    "<si>CONTENT</si><si><t/></si><si><t> one\ntwo three\n</t></si>",
    [
        "<r><t>TEXT </t></r>", "<r><rPr><b/></rPr><t>TEXT </t></r>", "<r><t>TEXT\n\nTEXT </t></r>",
        '<r><rPr><sz val="8"/></rPr><t>12 </t></r>',
    ],
)  # fmt: skip
OFFICE = (WORD, POWERPOINT, EXCEL)
_MAINS = {
    ".docx": "wordprocessingml.document",
    ".pptx": "presentationml.presentation",
    ".xlsx": "spreadsheetml.sheet",
}

# By a letter: the pieces of a paragraph of LibreOffice.
PIECES = {
    "a": "TEXT ",
    "b": '<text:span text:style-name="T1">TEXT </text:span>',
    "c": '<text:span text:style-name="T1">TEXT <text:span text:style-name="T2">TEXT</text:span>'
    "</text:span> ",
    "d": '<text:a xlink:href="x?a=1&amp;b=2">TEXT<text:span text:style-name="T2"> TEXT</text:span>'
    "</text:a> ",
    "e": "<text:tab/>",
    "f": '<text:span text:style-name="T1">TEXT<text:line-break/>TEXT </text:span>',
    "g": '<text:s text:c="3"/>TEXT ',
    "h": '<text:date text:fixed="true">1 May</text:date><text:note text:id="1"><text:note-citation>'
    "1</text:note-citation><text:note-body><text:p>TEXT</text:p></text:note-body></text:note> ",
}
_STYLES = (
    '<office:automatic-styles><style:style style:name="T1" style:family="text">'
    '<style:text-properties style:x="bold"/></style:style><style:style style:name="T2" '
    'style:family="text"><style:text-properties style:x="italic"/></style:style><style:style '
    'style:name="T3" style:family="text"><style:text-properties style:rsid="001"/></style:style>'
    "</office:automatic-styles>"
)
_BODIES = {
    ".odt": "<office:text>CONTENT</office:text>",
    ".odp": "<office:presentation><draw:page><draw:frame><draw:text-box>CONTENT</draw:text-box>"
    "</draw:frame></draw:page></office:presentation>",
    ".ods": "<office:spreadsheet><table:table><table:table-row><table:table-cell "
    'office:value-type="string">CONTENT</table:table-cell></table:table-row></table:table>'
    "</office:spreadsheet>",
}


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip file of parts."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            stored = zipfile.ZIP_STORED if name == "mimetype" else None
            archive.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), content, stored)
    return written.getvalue()


def office(kind: Kind, paragraphs: Sequence[str], **more: str | bytes) -> bytes:
    """Return a file of Word, PowerPoint or Excel.

    Args:
        kind: Which of them.
        paragraphs: The content of each paragraph, or text of a cell.
        more: Other parts by their names, and types by names with `type:` in front.
    """
    name = "application/vnd.openxmlformats-officedocument.{}+xml"
    types = {"main.xml": f"{_MAINS[kind.ending]}.main", kind.part: kind.type}
    types |= {key[5:]: str(value) for key, value in more.items() if key.startswith("type:")}
    overrides = "".join(
        f'<Override PartName="/{part}" ContentType="{name.format(which)}"/>'
        for part, which in types.items()
    )
    content = "".join(kind.paragraph.replace("CONTENT", one) for one in paragraphs)
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{_OPEN}/package/2006/content-types">'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        "main.xml": "<x/>",
    }
    parts |= {key: value for key, value in more.items() if not key.startswith("type:")}
    parts[kind.part] = kind.around.replace("CONTENT", content)
    return packed(parts)


def libreoffice(
    ending: str, paragraphs: Sequence[str], *, body: str | None = None, **more: str | bytes
) -> bytes:
    """Return a file of LibreOffice; `body` stands in place of paragraphs."""
    content = "".join(f"<text:p>{one}</text:p>" for one in paragraphs)
    content = body or _BODIES[ending].replace("CONTENT", content)
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{ending}",
            "content.xml": f"<office:document-content {_ODF}>{_STYLES}<office:body>{content}"
            "</office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {_ODF}><office:master-styles>"
            "<style:master-page><style:header><text:p>A header</text:p></style:header>"
            '<draw:frame presentation:class="title"><text:p>No text</text:p></draw:frame>'
            "</style:master-page>"
            "</office:master-styles></office:document-styles>",
            "META-INF/manifest.xml": "<manifest/>",
            **more,
        }
    )


class Shown(NamedTuple):
    """What a paragraph shows."""

    text: str  # without what is deleted
    letters: list[tuple[str, tuple[Any, ...]]]  # without spaces; what is around each, and others


def shown(file: bytes, part: str) -> list[Shown]:
    """Return what each paragraph of a part shows."""
    root = etree.fromstring(zipfile.ZipFile(io.BytesIO(file)).read(part))
    rows = [[*_shown(one, ())] for one in root.iter() if _name(one) in ("p", "h", "si", "is")]
    texts = ["".join(a for a, b in row if len(a) == 1 and "del" not in str(b)) for row in rows]
    letters = [[one for one in row if not one[0].isspace()] for row in rows]
    return [Shown(text.strip(), row) for text, row in zip(texts, letters, strict=True)]


def _name(element: Any) -> str:
    return str(etree.QName(element).localname)


def _shown(element: Any, around: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for formats in element:
        if _name(formats) == "rPr":
            attributes = {k: v for k, v in formats.attrib.items() if k not in _UNSEEN}
            found = (tuple(attributes.items()), *(etree.tostring(one) for one in formats))
            around = (*around, found) if any(found) else around
    yield from _letters(element.text, around)
    for child in element:
        name = _name(child)
        if name == "s":
            yield from _letters(" " * int(next(iter(child.attrib.values()), "1")), ())
        elif not len(child) and not child.text and name not in ("rPr", "t", "span"):
            yield name, tuple(child.attrib.items())
        elif name in ("r", "t"):
            yield from _shown(child, around)
        elif name != "rPr":
            yield from _shown(child, (*around, (name, tuple(child.attrib.items()))))
        yield from _letters(child.tail, around)


def _letters(text: str | None, around: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for letter in text or "":
        yield letter, around


def reversed_texts(document: Any) -> list[str]:
    """Return the texts of a document with their words, and the marks of these, reversed."""
    texts = []
    for one in document.texts:
        words = one.text.split()
        pairs = Alignment([(word, len(words) - 1 - word) for word in range(len(words))])
        texts.append(one.filled(" ".join(reversed(words)), pairs).text)
    return texts
