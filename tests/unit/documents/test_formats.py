"""Documents of each kind: what is translated, and that the rest stays as it was."""

import html
import io
import json
import re
import zipfile

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from office_files import reversed_texts
from translate.storage import po, xliff

from nmt_cli.documents import markdown
from nmt_cli.documents.inline import Alignment, Inline
from nmt_cli.documents.opening import kind_of, open_document
from nmt_cli.documents.protected import protector
from nmt_cli.errors import ConfigError, DataError

PAGE = """<!DOCTYPE html>
<html><head><title>A &amp; B</title><style>p > b {}</style></head>
<body>
<h1 class="x">The <em>small</em> dog</h1>
<!-- no text -->
<p>He <b>runs <i>fast</i></b>, <a href="/?a=1&amp;b=2">see</a>.<br> Then <code>x &lt; 1</code>.</p>
<script>if (a < b) { "text" }</script><pre>kept  as it is</pre>
<ul><li>One<li>Two <img src="a.png" alt="x"> three</ul>
<p></p><p> <b></b> </p>
unclosed <b>bold
</body></html>
"""
MARKDOWN = """---
title: not this
---
# The *small* dog

A paragraph with [a **link**](https://x.org "title"), `code`, ![image](a.png) and a foot[^1]
that goes on in a second line.

> A quotation of
> two lines.

- one
- two \\* three

| left | right |
|---|---|
| a | `b` |

```python
code = "stays"
```

    so does this

<div class="x">and this</div>

[^1]: The note.
"""
SRT = """1
00:00:01,000 --> 00:00:02,000
<i>The old man</i>
reads a book

2
00:00:02,500 --> 00:00:04,000
in the garden.

3
00:00:05,000 --> 00:00:06,000
- Hi!
- Hello.
"""
VTT = """WEBVTT

NOTE no text

intro
00:01.000 --> 00:02.000 align:start
A dog <c.loud>barks</c>.
"""
PO = """# A comment.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);\\n"

#. for translators
#: a.c:1
#, c-format
msgid "Open %s"
msgstr ""

#, fuzzy
msgid "Draft"
msgstr "Entwurf"

msgctxt "menu"
msgid "Done"
msgstr "Fertig"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""
"""
XLIFF = """<?xml version="1.0" encoding="utf-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="de" datatype="plaintext" original="f"><body>
<trans-unit id="1"><source>Open</source></trans-unit>
<trans-unit id="3"><source>A <g id="1">red</g> car<x id="2"/> &lt; %s</source></trans-unit>
<trans-unit id="2"><source>Shut</source><target>Zu</target></trans-unit></body></file></xliff>
"""


def _opened(tmp_path, name, content, **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_document(path, kind_of(path), protector(), **options)


def _unchanged(document):
    return document.filled([text.unchanged().text for text in document.texts])


def _texts(document):
    return [text.text for text in document.texts]


def test_a_page_without_changes_is_as_it_was(tmp_path):
    document = _opened(tmp_path, "a.html", PAGE)
    assert _texts(document) == [
        "A & B", "The small dog", "He runs fast, see. Then x < 1.", "One", "Two  three",
        "unclosed bold", "x",
    ]  # fmt: skip
    assert _unchanged(document).decode() == PAGE


def test_a_reference_by_thousands_of_digits_stays_text(tmp_path):
    content = f"<p>a &#{'9' * 5000}; b</p>"
    assert "9" * 5000 in _unchanged(_opened(tmp_path, "a.html", content)).decode()


def test_a_break_ends_a_word(tmp_path):
    document = _opened(tmp_path, "a.html", "<p>one<br>two<br/>\nthree</p>")
    assert _texts(document) == ["one two three"]
    assert _unchanged(document) == b"<p>one<br> two<br/> three</p>"


def test_tags_of_a_page_follow_their_words(tmp_path):
    document = _opened(tmp_path, "a.html", "<p>a <b>red</b> car &lt; 3</p>")
    (text,) = document.texts
    filled = text.filled(
        "une voiture rouge < 3", Alignment([(0, 0), (2, 1), (1, 2), (3, 3), (4, 4)])
    )
    assert document.filled([filled.text]).decode() == "<p>une voiture <b>rouge</b> &lt; 3</p>"


def test_markdown_without_changes_renders_as_it_did(tmp_path):
    document = _opened(tmp_path, "a.md", MARKDOWN)
    texts = _texts(document)
    assert texts[0] == "The small dog"
    assert texts[1].startswith("A paragraph with a link, `code`, image and a foot[^1] that goes on")
    assert "two * three" in texts
    assert not [text for text in texts if "stays" in text or "does" in text or "title" in text]
    assert "and this" in texts
    made = _unchanged(document).decode()
    assert made.startswith("---\ntitle: not this\n---\n# The *small* dog\n")
    parser = MarkdownIt("commonmark").enable("table")
    assert parser.render(made).split() == parser.render(MARKDOWN).split()


def test_markdown_lines_stay_as_long_as_they_were(tmp_path):
    document = _opened(tmp_path, "a.md", "> one two\n> three four\n\n* x\n")
    made = document.filled(["eins zwei drei vier fuenf sechs sieben acht", "y"]).decode()
    assert made.endswith("\n\n* y\n")
    assert all(line.startswith("> ") for line in made.split("\n\n")[0].split("\n"))
    assert max(map(len, made.split("\n"))) <= 22


@pytest.mark.parametrize(("name", "content"), [("a.srt", SRT), ("a.vtt", VTT)])
def test_subtitles_without_changes_are_as_they_were(tmp_path, name, content):
    assert _unchanged(_opened(tmp_path, name, content)).decode() == content


def test_a_sentence_over_subtitles_is_one_text(tmp_path):
    document = _opened(tmp_path, "a.srt", SRT)
    assert _texts(document) == ["The old man reads a book in the garden.", "Hi!", "Hello."]
    made = document.filled(["Im Garten liest der alte Mann ein Buch.", "- Oh!", "- Ah."]).decode()
    assert re.findall(r"\d\d:.*", made) == re.findall(r"\d\d:.*", SRT)
    first, second = made.split("\n\n")[:2]
    words = " ".join(first.split("\n")[2:] + second.split("\n")[2:])
    assert words == "Im Garten liest der alte Mann ein Buch."
    assert second.split("\n")[2]


def test_a_catalogue_keeps_what_people_translated(tmp_path):
    document = _opened(tmp_path, "a.po", PO)
    assert _texts(document) == ["Open %s", "%d file", "%d files"]
    made = document.filled(["Öffne %s", "%d Datei", "%d Dateien"])
    store = po.pofile.parsestring(made)
    units = {str(unit.source): unit for unit in store.units}
    assert str(units["Open %s"].target) == "Öffne %s"
    assert units["Draft"].isfuzzy()
    assert (str(units["Draft"].target), str(units["Done"].target)) == ("Entwurf", "Fertig")
    plural = units["%d file"].target.strings
    assert plural == ["%d Datei", "%d Dateien", "%d Dateien"]
    assert b"#. for translators\n#: a.c:1\n#, c-format\n" in made
    everything = _opened(tmp_path, "a.po", PO, with_translated=True)
    assert "Done" in _texts(everything)


@pytest.mark.parametrize(
    ("plurals", "forms"),
    [(1, ["%d Dateien"]), (2, ["Eine Datei", "%d Dateien"]), (0, ["%d Dateien"])],
)
def test_a_language_with_one_form_has_that_of_many(tmp_path, plurals, forms):
    content = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        f'"Plural-Forms: nplurals={plurals}; plural=0;\\n"\n\n'
        'msgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'
    )
    made = _opened(tmp_path, "a.po", content).filled(["Eine Datei", "%d Dateien"])
    assert po.pofile.parsestring(made).units[-1].target.strings == forms


def test_a_single_form_of_android_is_translated(tmp_path):
    content = (
        '<resources><plurals name="a"><item quantity="other">%d b</item></plurals></resources>'
    )
    document = _opened(tmp_path, "strings.xml", content)
    assert _texts(document) == ["", "%d b"]
    assert b'<item quantity="other">%d c</item>' in document.filled(["", "%d c"])


def test_translations_by_a_machine_are_not_approved(tmp_path):
    document = _opened(tmp_path, "a.xlf", XLIFF)
    assert _texts(document) == ["Open", "A red car < %s"]
    store = xliff.xlifffile.parsestring(document.filled(["Auf", "Ein Auto"]))
    assert [str(unit.target) for unit in store.units] == ["Auf", "Ein Auto", "Zu"]
    assert not store.units[0].isapproved()


def test_elements_in_a_text_of_xliff_follow_their_words(tmp_path):
    document = _opened(tmp_path, "a.xlf", XLIFF)
    words = Alignment([(0, 0), (2, 1), (1, 2), (3, 3)])
    text = document.texts[1].filled("une voiture rouge < %s", words).text
    made = document.filled(["Auf", text]).decode()
    assert 'une voiture<x id="2"/> <g id="1">rouge</g> &lt; %s</target>' in made


def test_texts_of_programs_are_replaced_where_they_stand(tmp_path):
    content = {"a": "Hello {name}", "b": {"c": "Two\nlines", "n": 3}}
    document = _opened(tmp_path, "a.json", json.dumps(content))
    made = document.filled([text.replace("Two", "Zwei") for text in _texts(document)])
    assert json.loads(made) == {"a": "Hello {name}", "b": {"c": "Zwei\nlines", "n": 3}}
    document = _opened(tmp_path, "a.properties", "# note\nhello=Hello {0}\n")
    assert document.filled(["Hallo {0}"]) == b"# note\nhello=Hallo {0}\n"
    document = _opened(tmp_path, "a.yaml", "# note\na: Hello\nb:\n  - World\n")
    assert document.filled(["Hallo", "Welt"]).split() == b"# note a: Hallo b: - Welt".split()


def _word(tmp_path):
    document = docx.Document()
    document.add_heading("The title", 0)
    paragraph = document.add_paragraph("A plain text with ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" and some ")
    paragraph.add_run("italic words").italic = True
    paragraph.add_run(".\tEnd")
    cells = document.add_table(1, 2).rows[0].cells
    cells[0].text, cells[1].text = "cell one", "cell two"
    document.sections[0].header.paragraphs[0].text = "The header"
    document.add_paragraph("An item", style="List Bullet")
    document.save(str(tmp_path / "a.docx"))
    return open_document(tmp_path / "a.docx", "word", protector())


@pytest.mark.parametrize(
    ("name", "content", "texts", "expected"),
    [
        ("a.json", '{\n\t"a b": "one",\n\t"n": [1.50, true, {"x" : "\\u00fc\\"3"}], "k": ""\n}',
         ["one", 'ü"3'],
         '{\n\t"a b": "ONE",\n\t"n": [1.50, true, {"x" : "\\u00dc\\"3"}], "k": ""\n}'),
        ("a.json", '{"a": "one \\ud83d", "b": "\\ud83d\\ude00 c"}', ["\U0001f600 c"],
         '{"a": "one \\ud83d", "b": "\\ud83d\\ude00 C"}'),
        ("a.json", '\ufeff{"a": "ü b"}\r\n', ["ü b"], '\ufeff{"a": "Ü B"}\r\n'),
        ("a.yaml", "# c\na: one  # d\nn: 5.50\nd: 2024-01-01\nl: [two, 'it''s', \"x\"]\n",
         ["one", "two", "it's", "x"],
         "# c\na: ONE  # d\nn: 5.50\nd: 2024-01-01\nl: [TWO, 'IT''S', \"X\"]\n"),
        ("a.yml", "a: &b one\nc: *b\nd: !x two\n---\ne: |\n   f g\n\n     h\ni: >-\n  j\n  k\n",
         ["one", "f g", "", "  h", "", "j k"],
         "a: &b ONE\nc: *b\nd: !x two\n---\ne: |\n   F G\n\n     H\ni: >-\n  J K\n"),
        ("a.yaml", "\ufeffa: one\nb: two\n", ["one", "two"], "\ufeffa: ONE\nb: TWO\n"),
        ("a.yaml", "a: |2\n    one\n  two\nb: c\n", ["  one", "two", "", "c"],
         "a: |2\n    ONE\n  TWO\nb: C\n"),
        ("a.yaml", "a: >\n\n  one\n  two\n\n\n  three\nb: c\n",
         ["", "one two", "", "three", "", "c"], "a: >\n\n  ONE TWO\n\n\n  THREE\nb: C\n"),
        ("a.yaml", "a: > # b\n  one\n    two\n\n  three\n\nc: d\n",
         ["one", "  two", "", "three", "", "d"], 'a: "ONE\\n  TWO\\n\\nTHREE\\n" # b\n\nc: D\n'),
        ("a.yaml", "a: |-\r\n  one\r\n  two\r\n", ["one", "two"], "a: |-\r\n  ONE\r\n  TWO\r\n"),
        ("a.json", '{"a": "{n, plural, =0 {no {x}} other {# dogs {y, select, a {b} z {}}!}} c"}',
         ["", "no {x}", "# dogs ", "b", "", "!", " c"],
         '{"a": "{n, plural, =0 {NO {x}} other {# DOGS {y, select, a {B} z {}}!}} C"}'),
        ("a.json", '{"a": "{n, plural, other {# <a href=\'#x\'>dogs&#39;</a> c}}"}',
         ["", "# dogs&#39; c", ""], None),
        ("a.json", '{"a": "{n, plural, what is} this"}', ["{n, plural, what is} this"], None),
    ],
)  # fmt: skip
def test_only_texts_of_programs_change(tmp_path, name, content, texts, expected):
    document = _opened(tmp_path, name, content)
    assert _texts(document) == texts
    assert _unchanged(document).decode().split() == content.split()
    upper = [Inline(one.text.upper(), one.marks, one.escape) for one in document.texts]
    kept = [
        "".join(b if any(m.is_kept and m.start <= i < m.end for m in one.marks) else a
                for i, (a, b) in enumerate(zip(big.text, one.text, strict=True)))
        for big, one in zip(upper, document.texts, strict=True)
    ]  # fmt: skip
    if expected is not None:
        assert document.filled(kept).decode() == expected


def test_lists_of_android_are_translated(tmp_path):
    items = (
        '<string-array name="c"><item>d</item></string-array>\n'
        '<string-array name="f" translatable="false"><item>g</item></string-array>'
    )
    content = f'<resources>\n<string name="a">@string/b</string>\n{items}\n</resources>'
    document = _opened(tmp_path, "strings.xml", content)
    assert _texts(document) == ["d"]
    made = document.filled(["x"]).decode()
    assert "".join(made.split()).endswith("".join(content.replace(">d<", ">x<").split()))


def test_a_text_of_yaml_gets_the_quotes_that_it_needs(tmp_path):
    document = _opened(tmp_path, "a.yaml", "a: one\nb: [two]\nc: three\nd: 'four'\n")
    made = document.filled(["no: yes", "x, y", "z, it's", "it's"]).decode()
    assert made == "a: \"no: yes\"\nb: [\"x, y\"]\nc: z, it's\nd: 'it''s'\n"


def test_forms_of_a_number_in_qt_are_as_many_as_the_language_has(tmp_path):
    content = (
        '<!DOCTYPE TS><TS version="2.1"><context><name>c</name><message numerus="yes">'
        '<source>%n dog(s) at %1</source><translation type="unfinished"><numerusform/>'
        "<numerusform/></translation></message></context></TS>"
    )
    document = _opened(tmp_path, "a.ts", content)
    (text,) = document.texts
    assert [text.text[m.start : m.end] for m in text.marks] == ["%n", "%1"]
    assert _unchanged(document).decode().count("<numerusform>%n dog(s) at %1</numerusform>") == 2


def test_a_template_of_a_catalogue_gets_an_encoding(tmp_path):
    head = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=CHARSET\\n"\n\n'
    document = _opened(tmp_path, "a.pot", f'{head}msgid "dog"\nmsgstr ""\n')
    assert b"charset=UTF-8" in document.filled(["größer"])


XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" xmlns:x="y" version="2.0">
<file id="f"><unit id="1">
<segment><source>A <pc id="1" x:z="1">big</pc> dog<ph id="2"/></source></segment></unit>
<unit id="2" translate="no"><segment><source>no</source></segment></unit>
<unit id="3"><segment state="final"><source>no</source><target>nein</target></segment>
<segment state="initial"><source>two</source><target>two</target></segment></unit></file></xliff>"""


def test_xliff_2_is_translated(tmp_path):
    document = _opened(tmp_path, "a.xlf", XLIFF_2)
    assert _texts(document) == ["A big dog", "two"]
    made = document.filled(reversed_texts(document)).decode()
    wanted = '<target>dog <pc id="1" x:z="1">big</pc> A<ph id="2"/></target>'
    assert wanted in re.sub(' xmlns[^ "]*="[^"]*"', "", made)
    assert made.count('state="translated"') == 2
    assert "<target>nein</target>" in made


def test_an_element_of_xliff_keeps_the_namespaces_that_it_defines(tmp_path):
    content = XLIFF_2.replace('<pc id="1"', '<pc id="1" xmlns:ex="urn:ex" ex:a="b"')
    assert content != XLIFF_2
    made = _unchanged(_opened(tmp_path, "a.xlf", content)).decode()
    assert made.count('xmlns:ex="urn:ex"') == made.count('ex:a="b"') == 2


def test_what_others_say_of_an_xliff_text_counts(tmp_path):
    unit = '<trans-unit id="1"><source>{}</source>{}</trans-unit>'
    units = "".join(
        [
            unit.format("one", '<target state="new">one</target>'),
            unit.format("no", "<target>nein</target>"),
            unit.format("two", '<seg-source><mrk mtype="seg" mid="0">two</mrk></seg-source>'),
            unit.format('<mrk mtype="protected">Red</mrk> three', ""),
        ]
    )
    space = 'xmlns="urn:oasis:names:tc:xliff:document:1.2"'
    document = _opened(
        tmp_path, "a.xlf", f"<xliff {space}><file><body>{units}</body></file></xliff>"
    )
    assert _texts(document) == ["one", "two", "Red three"]
    assert [mark.is_kept for mark in document.texts[2].marks] == [True]
    made = _unchanged(document).decode()
    assert '</seg-source><target state="translated">two</target>' in made


def test_a_word_document_keeps_styles_and_formatting(tmp_path):
    document = _word(tmp_path)
    assert _texts(document) == [
        "The title", "A plain text with bold and some italic words.", "End", "cell one", "cell two",
        "An item", "The header",
    ]  # fmt: skip
    text = document.texts[1]
    pairs = [(0, 0), (1, 1), (7, 2), (8, 3), (5, 4), (4, 5)]
    output = text.filled("Ein Text mit kursiven und fettem", Alignment(pairs))
    made = docx.Document(
        io.BytesIO(
            document.filled(
                [output.text if one is text else one.unchanged().text for one in document.texts]
            )
        )
    )
    runs = [(run.text, run.bold, run.italic) for run in made.paragraphs[1].runs]
    assert [run for run in runs if run[1] or run[2]] == [
        ("mit kursiven", None, True),
        ("fettem", True, None),
    ]
    assert "".join(run[0] for run in runs) == "Ein Text mit kursiven und fettem\tEnd"
    assert made.paragraphs[2].style.name == "List Bullet"
    assert [cell.text for cell in made.tables[0].rows[0].cells] == ["cell one", "cell two"]


_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_BOLD = "<w:rPr><w:b/></w:rPr>"


def _sign(kind):
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def _field(instruction, shown):
    code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    return _sign("begin") + code + _sign("separate") + f"<w:r>{shown}</w:r>" + _sign("end")


def _paragraph(tmp_path, content):
    """Return a document with a paragraph of some XML, in which <t> is a text."""
    xml = content.replace("<t>", '<w:t xml:space="preserve">').replace("</t>", "</w:t>")
    document = docx.Document()
    body = document.element.body
    body.insert(0, parse_xml(f"<w:p {_NAMESPACE}>{xml}</w:p>"))
    document.save(str(tmp_path / "a.docx"))
    return open_document(tmp_path / "a.docx", "word", protector())


def _reversed(document):
    """Return the tags and texts of the first paragraph when each text has its words reversed."""
    body = docx.Document(io.BytesIO(document.filled(reversed_texts(document)))).element.body
    found = []
    for element in body[0].iter():
        name = element.tag.rpartition("}")[2]
        if name in ("t", "delText") and element.text:
            found.append(element.text)
        elif name not in ("p", "r", "rPr", "b", "t"):
            found.append(f"<{element.get(qn('w:fldCharType')) or name}>")
    return found


@pytest.mark.parametrize(
    ("content", "texts", "expected"),
    [
        # a break and a tab end a text, also in the middle of a run
        ("<w:r><t>One two.</t><w:br/><t>Three</t><w:tab/><t>four five</t></w:r>",
         ["One two.", "Three", "four five"],
         ["two. One", "<br>", "Three", "<tab>", "five four"]),
        # tags that are words, beside formatting
        (f"<w:r><t>a &lt;b&gt;</t></w:r><w:r>{_BOLD}<t>big</t></w:r>"
         "<w:r><t>&lt;/b&gt; dog</t></w:r>", ["a big dog"], ["dog <b>", "big", "</b> a"]),
        # what was inserted is text, what was deleted is not
        ('<w:r><t>a </t></w:r><w:ins w:id="1"><w:r><t>new</t></w:r></w:ins><w:del w:id="2"><w:r>'
         "<w:delText>old</w:delText></w:r></w:del><w:r><t> day</t></w:r>",
         ["a new day"], ["day ", "<ins>", "new", "<del>", "old", " a"]),
        # a field stays in order; what it computes is kept, a link's words are translated
        (f"<w:r><t>on </t></w:r>{_field('DATE', '<t>1 May</t>')}<w:r><t> it rained</t></w:r>",
         ["on 1 May it rained"],
         ["rained it ", "<begin>", "<instrText>", "<separate>", "1 May", "<end>", " on"]),
        (f"<w:r><t>see </t></w:r>{_field('HYPERLINK x', '<t>this page</t>')}<w:r><t> now</t></w:r>",
         ["see this page now"],
         ["now ", "<begin>", "<instrText>", "<separate>", "page this", "<end>", " see"]),
        # one that ends elsewhere stands between texts
        (f"{_sign('begin')}<w:r><t>one two</t></w:r>", ["one two"], ["<begin>", "two one"]),
        # a bookmark and a comment are around the whole text
        ('<w:r><t>one </t></w:r><w:bookmarkStart w:id="1"/><w:r><t>two</t></w:r>'
         '<w:bookmarkEnd w:id="1"/><w:r><t> three</t></w:r>',
         ["one two three"], ["<bookmarkStart>", "three two one", "<bookmarkEnd>"]),
        ("<w:r><t>an e</t><w:noBreakHyphen/><t>mail</t></w:r>", ["an e-mail"], ["e-mail an"]),
        ('<w:smartTag><w:r><t>one</t></w:r></w:smartTag><w:proofErr w:type="spellStart"/>'
         "<w:r><t> two</t></w:r>", ["one two"], ["two one"]),
        (f"<w:r>{_BOLD}<t>1</t></w:r><w:r><w:tab/></w:r>", [], ["1", "<tab>"]),
        # what holds more than text has texts of its own: an entry of a table of contents
        ('<w:hyperlink w:anchor="x"><w:r><t>one two</t></w:r><w:r><w:tab/></w:r>'
         f"{_field('PAGEREF', '<t>3</t>')}</w:hyperlink><w:r><t> and so on</t></w:r>",
         ["one two", " and so on"],
         ["<hyperlink>", "two one", "<tab>", "<begin>", "<instrText>", "<separate>", "3", "<end>",
          "on so and"]),
        ("<w:sdt><w:sdtPr/><w:sdtContent><w:r><t>a b</t></w:r><w:r><w:br/></w:r></w:sdtContent>"
         "</w:sdt><w:r><t>c d</t></w:r>", ["a b", "c d"],
         ["<sdt>", "<sdtPr>", "<sdtContent>", "b a", "<br>", "d c"]),
        ('<w:customXml w:element="x"><w:r><t>one</t></w:r></w:customXml><w:r><t> two</t></w:r>',
         ["one two"], ["two ", "<customXml>", "one"]),
        # the sign of a comment stays behind the end of its words
        ('<w:commentRangeStart w:id="1"/><w:r><t>a</t></w:r><w:commentRangeEnd w:id="1"/>'
         '<w:r><w:commentReference w:id="1"/></w:r><w:r><t> b</t></w:r>', ["a b"],
         ["<commentRangeStart>", "b a", "<commentRangeEnd>", "<commentReference>"]),
        # a private character of a font of signs
        ("<w:r><t>\uf0b7 one</t></w:r>", ["\uf0b7 one"], ["one \uf0b7"]),
    ],
)  # fmt: skip
def test_elements_of_a_word_paragraph(tmp_path, content, texts, expected):
    document = _paragraph(tmp_path, content)
    assert _texts(document) == texts
    assert _reversed(document) == expected


def test_footnotes_are_translated(tmp_path):
    document = docx.Document()
    document.add_paragraph("A text")
    name = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    note = "<w:footnote><w:p><w:r><w:t>A note</w:t></w:r></w:p></w:footnote>"
    content = f"<w:footnotes {_NAMESPACE}>{note}</w:footnotes>"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, content.encode())
    document.part.relate_to(part, name)
    document.save(str(tmp_path / "a.docx"))
    opened = open_document(tmp_path / "a.docx", "word", protector())
    assert _texts(opened) == ["A text", "A note"]
    (tmp_path / "b.docx").write_bytes(opened.filled(["Ein Text", "Eine Notiz"]))
    again = open_document(tmp_path / "b.docx", "word", protector())
    assert _texts(again) == ["Ein Text", "Eine Notiz"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.srt", SRT),
        ("a.po", PO.replace('msgstr ""\n', 'msgstr "x"\n')),
        ("a.properties", "# note\nhello=Hello {0}\n\nx=y\n"),
        ("a.xlf", XLIFF.replace("</source>", '</source><target state="translated">x</target>')),
    ],
)
def test_returns_at_line_ends_stay(tmp_path, name, content):
    made = _unchanged(_opened(tmp_path, name, content.replace("\n", "\r\n"))).decode()
    assert made.count("\r\n") == made.count("\n") >= content.count("\n") - 1
    made = _unchanged(_opened(tmp_path, name, content.replace("\n", "\r\n", 1))).decode()
    assert made.count("\r\n") <= 1


@pytest.mark.parametrize(("kept", "made"), [("\\u00e9", "\\u00fc\\ud83d\\ude00"), ("é", "ü😀")])
def test_a_file_for_java_in_ascii_stays_so(tmp_path, kept, made):
    document = _opened(tmp_path, "a.properties", f"a=no {kept}\nb=c\n", with_translated=True)
    assert _texts(document) == ["no é", "c"]
    assert document.filled(["ü😀", "c"]).decode() == f"a={made}\nb=c\n"


def _bomb():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * (1 << 29) + b" ")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.docx", b"\xd0\xcf\x11\xe0 with a password", "is not a Word document"),
        ("a.docx", PAGE.encode(), "is not a Word document"),
        ("a.xml", b"<urlset/>", "cannot be read as .xml: it is of another kind"),
        ("a.xlf", b"<xliff><file>", "cannot be read as XLIFF"),
        ("a.json", b"{", "cannot be read as .json"),
        ("a.html", b"<p>\xff</p>", "not valid UTF-8 (byte 4)"),
    ],
)
def test_a_damaged_file_is_told(tmp_path, name, content, told):
    with pytest.raises(DataError, match=re.escape(told)):
        _opened(tmp_path, name, content)


@pytest.mark.parametrize("name", ["a.srt", "a.md", "a.html", "a.json", "a.yaml"])
def test_a_document_in_another_encoding_is_to_be_converted(tmp_path, name):
    with pytest.raises(DataError, match="not valid UTF-8") as caught:
        _opened(tmp_path, name, "안녕하세요, 반갑습니다.\n오늘 날씨가 좋네요.\n".encode("cp949"))
    command = f"iconv -f CP949 -t UTF-8 {tmp_path / name} > NEW{name[1:]}"
    assert caught.value.hint == f"it is CP949 (Korean); convert it: {command}"


def test_a_document_that_unpacks_to_too_much_is_not_read(tmp_path):
    with pytest.raises(DataError, match="unpacks to more than 512 MB"):
        _opened(tmp_path, "a.docx", _bomb())


def test_an_external_entity_is_never_read(tmp_path):
    (tmp_path / "secret").write_text("secret")
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]>'
    content = XLIFF.replace("<xliff", entity + "<xliff", 1).replace("Open", "Open &e;")
    with pytest.raises(DataError, match="defines entities"):
        _opened(tmp_path, "a.xlf", content)


def test_kinds_go_by_name_unless_told():
    assert [kind_of(name) for name in ("a.MD", "a.txt", "a.jsonl", "a")] == [
        "markdown", "lines", "lines", "lines",
    ]  # fmt: skip
    assert kind_of("a.md", "lines") == "lines"
    with pytest.raises(ConfigError, match="--from-format must be"):
        kind_of("a.md", "doc")


_FRAGMENTS = [
    "word", "dog", " ", "*", "**", "_", "__", "~~", "`code`", "`a*b`", "[link](x)", "[text](<a b>)",
    "[ref]", "[ref][]", "[some *text*][ref]", "[", "]", "\\*", "\\_", "\\[", "<b>", "</b>", "<br> ",
    "  \n", "\n", "https://x.org", "1. ", "- ", "(x)", ".", "한글", "![img](y)", "<a@b.org>",
    "&amp;", "#", "> ", "**bold**", "*it*", "$x$", ":smile:", " <!-- c --> ", "\t",
]  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=14))
def test_markdown_that_does_not_change_looks_as_it_did(parts):
    def shown(text):
        parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        return re.sub(r"\s*(<[^>]*>)\s*", r"\1", re.sub(r"\s+", " ", parser.render(text)))

    text = "".join(parts) + "\n\n[ref]: http://x.org\n"
    page = markdown.Page(text)
    assert shown(page.filled([one.unchanged().text for one in page.texts])) == shown(text)


def test_words_that_stay_are_found_where_they_belong(tmp_path):
    page = (
        "<p>Finally, the sum of <code>x</code> and <code>y</code> is a library <code>a</code>.</p>"
    )
    assert _unchanged(_opened(tmp_path, "a.html", page)).decode() == page


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("| a \\| b | `c` |\n|---|---|\n| d | e |\n", ["a | b", "d", "e"]),
        ("- [ ] one\n- [x] two\n", ["one", "two"]),
        (
            "a[^1] b[^2]\n\n[^1]: one two\n    three\n\n[^2]: x.org\n",
            ["a[^1] b[^2]", "one two three"],
        ),
        ("Term\n: what it is\n: and is not\n", ["Term", "what it is", "and is not"]),
        ("> [!NOTE]\n> one\n\n> [!tip] two\n", ["one", "two"]),
        (":::note\n\none\n\n:::\n\n::: {.x}\ntwo\n:::\n\n:::tip Three\n", ["one", "two", "Three"]),
        (
            '!!! warning "One"\n    two\n    three\n\n??? note\n    four\n',
            ["One", "two three", "four"],
        ),
        ("!!! Important note.\n", ["!!! Important note."]),
        ("# One {#one .x}\n\nTwo\n{: .y}\n", ["One", "Two"]),
        ("{% if x %}\none\n{% endif %}\n\n{{< note >}}\ntwo {{ x }}\n", ["one", "two {{ x }}"]),
        ("so is\n$$\nx = \\text{no}\n$$\nthat\n\n\\begin{a}\nno\n\\end{a}\n", ["so is", "that"]),
        ("it costs $5 and $10, $x$ is\n", ["it costs $5 and $10, $x$ is"]),
        ("+++\ntitle = 'no'\n+++\nsee [[a page]]\n", ["see [[a page]]"]),
        (
            '<p align="center">\n<img src="no" alt="one"> two\n</p>\n\nthree\n',
            [" two", "one", "three"],
        ),
        ("one  \ntwo\\\nthree\n", ["one two three"]),
    ],
)
def test_markdown_of_many_programs(tmp_path, content, texts):
    document = _opened(tmp_path, "a.md", content)
    assert _texts(document) == texts
    assert _unchanged(document).decode().split() == content.split()


@pytest.mark.parametrize("text", ["[[a", "[!a", "![", "[a](", "$a "])
def test_markdown_that_is_never_closed_is_read_in_one_pass(text):
    assert len(markdown.Page(text * 5_000).texts) <= 1  # anything but one pass would take minutes


def test_dollars_are_no_formula(tmp_path):
    (text,) = _opened(tmp_path, "a.md", "it costs $5 or $10, but $a_1$ and $$b c$$\n").texts
    kept = [text.text[mark.start : mark.end] for mark in text.marks if mark.is_kept]
    assert kept == ["$a_1$", "$$b c$$"]


def test_a_link_by_its_own_words_keeps_its_label(tmp_path):
    document = _opened(tmp_path, "a.md", "See [the page].\n\n[the page]: https://x.org\n")
    text = document.texts[0].filled("Siehe die Seite.", Alignment([(0, 0), (1, 1), (2, 2)])).text
    assert document.filled([text]).startswith(b"Siehe [die Seite][the page].\n")


def test_emphasis_of_words_that_the_model_left_out_is_left_out_and_told(tmp_path):
    document = _opened(tmp_path, "a.md", "A **big** and *old* dog.\n")
    filled = document.texts[0].filled("Ein alter Hund.", Alignment([(0, 0), (3, 1), (4, 2)]))
    assert filled.text == "Ein *alter* Hund."
    assert set(filled.guessed) == {"big"}


ADDRESSES = ("https://a.example/x", "me@b.example", "{name}", "www.c.example")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<p>See <b>https://a.example/x</b> or <i>ask me@b.example, {name}</i>, "
                   "not <a href='u'>h</a>ttps://a.example: www.c.example</p>"),
        ("a.md", "See https://a.example/x or *ask me@b.example, {name}*: www.c.example\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>See https://a.example/x</i>\n"
                  "me@b.example, {name}: www.c.example\n"),
    ],
)  # fmt: skip
def test_addresses_in_any_text_stay(tmp_path, name, content):
    document = _opened(tmp_path, name, content)
    (text,) = document.texts
    assert _unchanged(document).decode() == content
    made = text.filled("Nichts davon.", Alignment()).text
    assert all(address in made for address in ADDRESSES), made


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_mark_of_an_encoding_stays(tmp_path, encoding):
    (tmp_path / "a.srt").write_bytes(SRT.encode(encoding))
    document = open_document(tmp_path / "a.srt", "subtitles", protector())
    assert document.filled([one.unchanged().text for one in document.texts]) == SRT.encode(encoding)
    (tmp_path / "a.md").write_bytes("---\nno: no\n---\none\n".encode(encoding))
    assert _texts(open_document(tmp_path / "a.md", "markdown", protector())) == ["one"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("iso-8859-1", "cp1252"), ("windows-1251", "cp1251"), ("utf-8", "utf-8"),
     *((name, "utf-8") for name in ("x", "undefined", "hex", "idna", "unicode_escape"))],
)  # fmt: skip
def test_a_page_keeps_its_encoding(tmp_path, declared, encoding):
    page = f'<meta http-equiv="content-type" content="text/html; charset={declared}"><p>\u2026one'
    (tmp_path / "a.html").write_bytes(page.encode(encoding))
    document = open_document(tmp_path / "a.html", "html", protector())
    assert _texts(document) == ["\u2026one"]
    made = document.filled(["größer ж"]).decode(encoding)
    assert html.unescape(made) == page.replace("\u2026one", "größer ж")


def test_subtitles_without_blank_lines_keep_their_numbers(tmp_path):
    cues = "1\n00:00:01,000 --> 00:00:02,000\nA dog\n2\n00:00:03,000 --> 00:00:04,000\nruns.\n"
    document = _opened(tmp_path, "a.srt", cues)
    assert (_texts(document), _unchanged(document).decode()) == (["A dog runs."], cues)


def _cue(number, text):
    return f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n{text}\n\n"


def test_a_tag_of_subtitles_is_never_cut(tmp_path):
    tag = '<font size="20" color="#ff0000">'
    cues = (
        _cue(1, f"{tag}A</font> man in a") + _cue(2, f"{tag}red</font> shirt") + _cue(3, "sings.")
    )
    document = _opened(tmp_path, "a.srt", cues)
    assert _unchanged(document).decode() == cues
    (text,) = document.texts
    output = "Ein Mann in einem roten Hemd singt immer wieder das gleiche sehr alte Lied."
    pairs = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]
    made = document.filled([text.filled(output, Alignment(pairs)).text]).decode()
    assert made.count(f"{tag}Ein</font>") == made.count(f"{tag}roten</font>") == 1
    voice = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Mary Ann Smith>A dog\nruns.\n"
    assert _unchanged(_opened(tmp_path, "a.vtt", voice)).decode() == voice


def test_a_dash_of_a_speaker_begins_a_sentence(tmp_path):
    cues = _cue(1, "Who is there") + _cue(2, "- A dog runs.") + _cue(3, "and so on")
    document = _opened(tmp_path, "a.srt", cues)
    assert _texts(document) == ["Who is there", "A dog runs.", "and so on"]
    assert _unchanged(document).decode() == cues


def test_a_private_character_of_markdown_stays(tmp_path):
    content = '# \uf8ff one [two](x "a b")\n'
    assert _unchanged(_opened(tmp_path, "a.md", content)).decode() == content


def test_a_sound_is_no_part_of_a_sentence(tmp_path):
    cues = "1\n00:01.000 --> 00:02.000\n[DOOR SLAMS]\n\n2\n00:03.000 --> 00:04.000\nWho is it?\n"
    assert _texts(_opened(tmp_path, "a.srt", cues)) == ["[DOOR SLAMS]", "Who is it?"]
