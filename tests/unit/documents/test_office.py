"""Files of Word, PowerPoint, Excel and LibreOffice: what is text, and where its marks go."""

import io
import re
import zipfile

import pytest
from lxml import etree
from office_files import EXCEL, OFFICE, POWERPOINT, WORD, libreoffice, office, reversed_texts

from nmt_cli.documents.opening import kind_of, open_document
from nmt_cli.documents.protected import protector
from nmt_cli.errors import DataError


def _opened(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    return open_document(tmp_path / name, kind_of(name), protector())


def _texts(document):
    return [text.text for text in document.texts]


def _part(file, name):
    return zipfile.ZipFile(io.BytesIO(file)).read(name)


def _reversed(document):
    """Return the file when each text has its words reversed."""
    return document.filled(reversed_texts(document))


def _inside(file, part, tag):
    """Return what is in the first element of a name."""
    root = etree.fromstring(_part(file, part))
    element = next(root.iter(f"{{*}}{tag}"))
    found = etree.tostring(element, encoding="unicode", with_tail=False)
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", found.partition(">")[2].rpartition("</")[0])


@pytest.mark.parametrize(
    ("content", "texts", "expected"),
    [
        # what only says how a text was typed is no formatting
        ('<a:r><a:rPr lang="en-US" dirty="0"/><a:t>one t</a:t></a:r>'
         '<a:r><a:rPr lang="de-DE" err="1"/><a:t>wo</a:t></a:r>',
         ["one two"], '<a:r><a:rPr lang="en-US" dirty="0"/><a:t>two one</a:t></a:r>'),
        # a link is around its words, also if it is longer than the rest
        ('<a:r><a:t>see </a:t></a:r><a:r><a:rPr><a:hlinkClick r:id="r1"/></a:rPr>'
         "<a:t>this page</a:t></a:r>",
         ["see this page"],
         '<a:r><a:rPr><a:hlinkClick r:id="r1"/></a:rPr><a:t>page this</a:t></a:r>'
         "<a:r><a:t> see</a:t></a:r>"),
        # breaks and tabs end a text; a field stays
        ('<a:r><a:t>a b</a:t></a:r><a:br/><a:r><a:t>c\td e</a:t></a:r>',
         ["a b", "c", "d e"],
         "<a:r><a:t>b a</a:t></a:r><a:br/><a:r><a:t>c</a:t></a:r><a:r><a:t>\t</a:t></a:r>"
         "<a:r><a:t>e d</a:t></a:r>"),
        ('<a:r><a:t>page </a:t></a:r><a:fld type="slidenum"><a:rPr/><a:pPr/><a:t>3</a:t></a:fld>',
         ["page 3"], '<a:fld type="slidenum"><a:rPr/><a:pPr/><a:t>3</a:t></a:fld>'
         "<a:r><a:t> page</a:t></a:r>"),
    ],
)  # fmt: skip
def test_elements_of_a_slide(tmp_path, content, texts, expected):
    document = _opened(tmp_path, "a.pptx", office(POWERPOINT, [content]))
    assert _texts(document) == texts
    found = _inside(_reversed(document), POWERPOINT.part, "p").replace(' xml:space="preserve"', "")
    assert found == f'<a:pPr lvl="1"/>{expected}<a:endParaRPr lang="en-US"/>'


_BOLD = '<text:span text:style-name="T1">{}</text:span>'


@pytest.mark.parametrize(
    ("content", "texts", "expected"),
    [
        (f"{_BOLD.format('big old')} dogs everywhere", ["big old dogs everywhere"],
         f"everywhere dogs {_BOLD.format('old big')}"),
        # one style for all is no mark; one that says when a text was typed is nothing
        (_BOLD.format('one <text:span text:style-name="T3">two</text:span>'), ["one two"],
         _BOLD.format("two one")),
        (f"{_BOLD.format('a b<text:tab/>c d')}<text:line-break/>e f", ["a b", "c d", "e f"],
         f"{_BOLD.format('b a<text:tab/>d c')}<text:line-break/>f e"),
        ('on <text:date text:fixed="true">1 May</text:date> it', ["on 1 May it"],
         'it <text:date text:fixed="true">1 May</text:date> on'),
        ('one <text:bookmark-start text:name="x"/>two<text:bookmark-end text:name="x"/>',
         ["one two"],
         '<text:bookmark-start text:name="x"/>two one<text:bookmark-end text:name="x"/>'),
        # what was inserted is text, and stays so
        ('a <text:change-start text:change-id="1"/>new<text:change-end text:change-id="1"/> day',
         ["a new day"],
         'day <text:change-start text:change-id="1"/>new<text:change-end text:change-id="1"/> a'),
        (f'see <text:a xlink:href="x">this {_BOLD.format("page")}</text:a>', ["see this page"],
         f'<text:a xlink:href="x">{_BOLD.format("page")} this</text:a> see'),
        ('<text:date text:fixed="true">1 May</text:date>', ["1 May"], None),
        ('<text:s text:c="2"/>1<text:s text:c="3"/>2', [], None),
    ],
)  # fmt: skip
def test_elements_of_a_paragraph_of_libreoffice(tmp_path, content, texts, expected):
    document = _opened(tmp_path, "a.odt", libreoffice(".odt", [content]))
    assert _texts(document) == [*texts, "A header"]
    assert _inside(_reversed(document), "content.xml", "p") == (expected or content)


def test_spaces_of_libreoffice_are_elements(tmp_path):
    file = libreoffice(".odt", ['<text:s text:c="2"/>one <text:s/>two', "\n  x  y\n"])
    document = _opened(tmp_path, "a.odt", file)
    assert _texts(document)[:2] == ["  one  two", "x y "]
    made = document.filled([one.unchanged().text for one in document.texts])
    assert _inside(made, "content.xml", "p") == '<text:s text:c="2"/>one <text:s/>two'


def test_what_is_deleted_or_a_comment_is_not_translated(tmp_path):
    body = (
        "<office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes><text:p>one<office:annotation>"
        "<text:p>a comment</text:p></office:annotation> two<text:change/></text:p></office:text>"
    )
    document = _opened(tmp_path, "a.odt", libreoffice(".odt", [], body=body))
    assert _texts(document) == ["one two", "A header"]
    made = _inside(_reversed(document), "content.xml", "text")
    expected = body.replace(">one<", "><").replace(" two", "two one")
    assert f"<office:text>{made}</office:text>" == expected


def test_only_texts_of_a_spreadsheet_are_translated(tmp_path):
    cells = (
        '<table:table-cell office:value-type="float" office:value="1"><text:p>1 EUR</text:p>'
        '</table:table-cell><table:table-cell table:formula="x" office:value-type="string"><text:p>'
        'sum</text:p></table:table-cell><table:table-cell office:value-type="string" '
        'office:string-value="a text"><text:p>a text</text:p></table:table-cell>'
    )
    body = f"<office:spreadsheet><table:table>{cells}</table:table></office:spreadsheet>"
    document = _opened(tmp_path, "a.ods", libreoffice(".ods", [], body=body))
    assert _texts(document) == ["a text", "A header"]
    assert b"string-value" not in _part(document.filled(["x", "y"]), "content.xml")


def test_names_of_columns_stay_in_a_workbook(tmp_path):
    cells = ["<t>Name</t>", "<r><t>Last</t></r><r><t> name</t></r>", "<t>A text\nof lines</t>"]
    table = '<table><tableColumns><tableColumn name="Name"/><tableColumn name="Last name"/>'
    sheet = '<x><c t="inlineStr"><is><t>in a cell</t></is></c><c><v>formula</v></c></x>'
    file = office(EXCEL, cells, **{
        "xl/tables/table1.xml": f"{table}</tableColumns></table>",
        "type:xl/tables/table1.xml": "spreadsheetml.table",
        "xl/worksheets/sheet1.xml": sheet,
        "type:xl/worksheets/sheet1.xml": "spreadsheetml.worksheet",
    })  # fmt: skip
    document = _opened(tmp_path, "a.xlsx", file)
    plain = [text for text in _texts(document) if text not in ("one", " one", "two three")]
    assert plain == ["A text", "of lines", "in a cell"]


def test_notes_and_charts_of_slides_are_translated(tmp_path):
    slide = POWERPOINT.around.replace("CONTENT", "<a:p><a:r><a:t>{}</a:t></a:r></a:p>")
    names = ("notes10", "notes2", "chart", "layout")
    more = {f"ppt/{name}.xml": slide.format(name) for name in names}
    # what a layout says to write is not shown, and the name of a file describes no picture
    prompt = "<p:sp><p:nvSpPr><p:nvPr><p:ph/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>no</a:t>"
    more["ppt/layout.xml"] = (
        more["ppt/layout.xml"]
        .replace("p:sld", "p:sldLayout")
        .replace("<p:txBody>", f"{prompt}</a:r></a:p></p:txBody></p:sp><p:txBody>", 1)
    )
    more["ppt/notes2.xml"] = more["ppt/notes2.xml"].replace(
        "<p:txBody>",
        '<p:cNvPr descr="a dog"/><p:cNvPr descr="C:\\a dog.PNG" title="its name"/><p:txBody>',
    )
    names = "<c:strCache><c:pt><c:v>a series</c:v></c:pt></c:strCache><c:numCache><c:v>1e3</c:v>"
    chart = more["ppt/chart.xml"].replace(
        "<p:txBody>", f'<c:x xmlns:c="c">{names}</c:numCache></c:x><p:txBody>'
    )
    more["ppt/chart.xml"] = chart
    types = {"notes2": "presentationml.notesSlide", "notes10": "presentationml.notesSlide",
             "chart": "drawingml.chart", "layout": "presentationml.slideLayout"}  # fmt: skip
    more |= {f"type:ppt/{name}.xml": kind for name, kind in types.items()}
    document = _opened(tmp_path, "a.pptm", office(POWERPOINT, [], **more))
    found = ["chart", "a series", "layout", "notes2", "a dog", "its name", "notes10"]
    assert _texts(document) == found
    made = document.filled([*map(str.upper, found)])
    assert b'<p:cNvPr descr="A DOG"/>' in _part(made, "ppt/notes2.xml")
    assert b"<c:v>A SERIES</c:v>" in _part(made, "ppt/chart.xml")


def test_pictures_and_masters_of_libreoffice(tmp_path):
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    frame = (
        f"<draw:frame {svg}><svg:title>a title</svg:title><svg:desc>a dog</svg:desc></draw:frame>"
    )
    file = libreoffice(".odp", [f"one {frame} two"])
    styles = (
        _part(file, "styles.xml")
        .decode()
        .replace(
            "<draw:frame ",
            "<draw:frame/><draw:rect ><text:p>a slogan</text:p></draw:rect><draw:frame ",
        )
    )
    file = libreoffice(".odp", [f"one {frame} two"], **{"styles.xml": styles})
    document = _opened(tmp_path, "a.odp", file)
    found = ["one  two", "a title", "a dog", "A header", "a slogan"]
    assert _texts(document) == found
    made = document.filled([one.unchanged().text.upper() for one in document.texts])
    assert "<svg:desc>A DOG</svg:desc>" in _part(made, "content.xml").decode()


@pytest.mark.parametrize("ending", [".docx", ".pptx", ".xlsx", ".odt"])
def test_other_parts_stay_byte_for_byte(tmp_path, ending):
    more = {"vba.bin": b"\0\1macro", "pictures/a.png": b"\x89PNG", "custom.xml": "<a  b='c' />"}
    kinds = {kind.ending: kind for kind in OFFICE}
    if ending in kinds:
        file = office(kinds[ending], [kinds[ending].pieces[0]], **more)
    else:
        file = libreoffice(ending, ["a text"], **more)
    document = _opened(tmp_path, f"a{ending}", file)
    made = document.filled([one.unchanged().text for one in document.texts])
    before, after = (zipfile.ZipFile(io.BytesIO(one)) for one in (file, made))
    assert after.namelist() == before.namelist()
    for old, new in zip(before.infolist(), after.infolist(), strict=True):
        assert (new.date_time, new.compress_type) == (old.date_time, old.compress_type)
        if old.filename not in ("content.xml", "styles.xml", *(kind.part for kind in OFFICE)):
            assert after.read(new) == before.read(old)


_ENTITY = '<!DOCTYPE x [<!ENTITY e "x">]><x>&e;</x>'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.docx", office(POWERPOINT, []), "is not a Word document (.docx)"),
        ("a.pptx", office(WORD, []), "is not a PowerPoint presentation (.pptx)"),
        ("a.xlsx", libreoffice(".ods", []), "is not an Excel workbook (.xlsx)"),
        ("a.odt", office(WORD, []), "is not a LibreOffice document (.odt, .odp, .ods)"),
        ("a.odp", b"no zip", "is not a LibreOffice document"),
        ("a.odt", libreoffice(".odt", [], **{"META-INF/manifest.xml": "<encryption-data/>"}),
         "is protected by a password"),
        ("a.odt", libreoffice(".odt", [], **{"content.xml": _ENTITY}), "defines entities"),
        ("a.pptx", office(POWERPOINT, [], **{"[Content_Types].xml": _ENTITY}), "defines entities"),
        ("a.odt", libreoffice(".odt", [], **{"content.xml": "<x>"}), "is damaged: content.xml: "),
        ("a.docx", office(WORD, [])[:-200] + office(WORD, [])[-198:], "is damaged"),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_told(tmp_path, name, content, told):
    with pytest.raises(DataError, match=re.escape(told)):
        _opened(tmp_path, name, content)
