"""Office files in LibreOffice: after a translation they open, and show the same."""

import collections
import shutil
import subprocess

import docx
import pptx
import pytest
import xlsxwriter
from docx.enum.text import WD_BREAK
from pdfminer.high_level import extract_text
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm

from nmt_cli.documents.inline import Alignment
from nmt_cli.documents.opening import kind_of, open_document
from nmt_cli.documents.protected import protector

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice opens the files"),
]
LONG = "The old man sits on the bench before the house and reads a book about the sea. " * 6


def _word(path):
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "The running header"
    document.add_heading("A small report", 1)
    for number in range(1, 9):
        document.add_heading(f"Chapter {number}", 2)
        paragraph = document.add_paragraph(LONG)
        paragraph.add_run("This is bold").bold = True
        paragraph.add_run(", this is ")
        paragraph.add_run("italic").italic = True
        paragraph.add_run(".")
        for item in ("first item", "second item"):
            document.add_paragraph(f"The {item}.", "List Bullet")
    cells = document.add_table(2, 2).rows[1].cells
    cells[0].text, cells[1].text = "left cell", "right cell"
    broken = document.add_paragraph("before the break")
    broken.add_run().add_break(WD_BREAK.LINE)
    broken.add_run("behind it\tand a tab")
    document.save(path)


def _powerpoint(path):
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "A title"
    frame = slide.placeholders[1].text_frame
    frame.text = "First point"
    paragraph = frame.add_paragraph()
    for text, is_bold in (("a ", False), ("bold", True), (" word", False)):
        run = paragraph.add_run()
        run.text, run.font.bold = text, is_bold
    slide.notes_slide.notes_text_frame.text = "What I say"
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    table = slide.shapes.add_table(1, 2, Cm(1), Cm(5), Cm(8), Cm(2)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "one cell", "two\nlines"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Cm(2), Cm(9), Cm(5), Cm(1)).text_frame.text = "in a group"
    data = CategoryChartData()
    data.categories = ["A", "B"]
    data.add_series("C", (1, 2))
    place = (Cm(12), Cm(5), Cm(10), Cm(8))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
    chart.chart_title.text_frame.text = "title of a chart"
    slides.save(path)


def _excel(path):
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Sheet")
    sheet.set_column("A:G", 30)  # what has no room is not shown
    sheet.write("A1", "A plain text")
    sheet.write_rich_string("A2", "some ", book.add_format({"bold": True}), "bold", " words")
    sheet.write("A3", "two\nlines", book.add_format({"text_wrap": True}))
    sheet.write("B1", 12.5)
    sheet.write_formula("B2", '=IF(B1>1,"more","less")', value="more")
    sheet.add_table("D1:E3", {"columns": [{"header": "Name"}, {"header": "Number"}]})
    sheet.write("D2", "a text")
    sheet.insert_textbox("G1", "in a box")
    book.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a file of each kind of Microsoft's."""
    folder = tmp_path_factory.mktemp("office")
    _word(str(folder / "a.docx"))
    _powerpoint(str(folder / "a.pptx"))
    _excel(str(folder / "a.xlsx"))
    return folder


def _convert(folder, to, ending, file):
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", ending, "--outdir", to, file]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)
    if "source file could not be loaded" in done.stderr and file.parent == folder:
        pytest.skip(f"this LibreOffice opens no {file.suffix}")
    assert (to / f"{file.stem}.{ending}").exists(), done.stderr


def _shown(files, file):
    """Return the words that LibreOffice shows of a file, and the pages."""
    to = file.parent / f"{file.suffix[1:]}-shown"
    _convert(files, to, "pdf", file)
    text = extract_text(to / "a.pdf")
    return collections.Counter(text.upper().split()), text.count("\f")


@pytest.mark.parametrize("ending", [".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods"])
def test_a_translated_file_shows_the_same(files, tmp_path, ending):
    same_kind = {".odt": ".docx", ".odp": ".pptx", ".ods": ".xlsx"}
    if ending in same_kind:
        _convert(files, files, ending[1:], files / f"a{same_kind[ending]}")
    document = open_document(files / f"a{ending}", kind_of(f"a{ending}"), protector())
    texts = []
    for one in document.texts:
        same = Alignment([(word, word) for word in range(len(one.text.split()))])
        texts.append(one.filled(one.text.upper(), same).text)
    (tmp_path / f"a{ending}").write_bytes(document.filled(texts))
    assert len(texts) > 4
    assert _shown(files, tmp_path / f"a{ending}") == _shown(files, files / f"a{ending}")


def test_a_pdf_file_has_the_paragraphs_of_the_document_that_it_was_made_of(files):
    _convert(files, files, "pdf", files / "a.docx")
    found = open_document(files / "a.pdf", "pdf", protector()).texts
    paragraphs = [one.text.strip() for one in docx.Document(files / "a.docx").paragraphs]
    assert [one.text for one in found][:20] == paragraphs[:20]
