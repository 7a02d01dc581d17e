"""Files of each kind, made at random: with a model that changes nothing they are as they were."""

import html
import json
import re

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from office_files import OFFICE, PIECES, libreoffice, office, shown

from nmt_cli.documents.opening import kind_of, open_document
from nmt_cli.documents.protected import protector

_varied = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_WORDS = st.lists(
    st.sampled_from(["The", "dog", "größer", "12", "한글", "e-mail,", "(so)", "it's", "end."]),
    min_size=1,
    max_size=6,
).map(" ".join)


def unchanged(path, content, **options):
    """Return a file after translation by a model that changes nothing."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    document = open_document(path, kind_of(path), protector(), **options)
    return document.filled([text.unchanged().text for text in document.texts])


def _texts(path, content):
    path.write_bytes(content)
    document = open_document(path, kind_of(path), protector(), with_translated=True)
    return [text.text for text in document.texts]


_TAGS = st.sampled_from(["b", 'a href="x?a=1&amp;b=2"', "em", "p", "li", "td", "div class='c'"])
_PIECES = st.one_of(
    _WORDS,
    st.sampled_from([" &lt; ", "<code>x = 1</code>", "<!-- c -->", ' <img src="i"> ', "\n", " "]),
)
_HTML = st.recursive(
    _PIECES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.tuples(_TAGS, inner).map(lambda two: f"<{two[0]}>{two[1]}</{two[0].split()[0]}>"),
    ),
    max_leaves=12,
)


@_varied
@given(_HTML)
def test_pages(tmp_path, body):
    page = f"<html><body>{body}</body></html>"

    def shown(page):
        return html.unescape(re.sub(r"\s*(<[^>]*>)\s*", r"\1", re.sub(r"\s+", " ", page)))

    assert shown(unchanged(tmp_path / "a.html", page).decode()) == shown(page)


@_varied
@given(st.lists(st.lists(_WORDS, min_size=1, max_size=2).map("\n".join), max_size=6))
def test_subtitles(tmp_path, shown):
    times = [f"00:00:{i:02d},000 --> 00:00:{i:02d},900" for i in range(len(shown))]
    srt = "\n".join(
        f"{i}\n{time}\n<i>{text}</i>\n"
        for i, (time, text) in enumerate(zip(times, shown, strict=True), start=1)
    )
    assert unchanged(tmp_path / "a.srt", srt).decode().split() == srt.split()
    vtt = f"WEBVTT\n\n{srt.replace(',', '.')}"
    assert unchanged(tmp_path / "a.vtt", vtt).decode().split() == vtt.split()


@_varied
@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), _WORDS, min_size=1))
def test_catalogues(tmp_path, texts):
    """JSON, YAML, properties, Android and Qt: the same keys with the same texts."""
    content = {"all": {**texts, "number": 3, "list": [*texts.values()]}}
    made = unchanged(tmp_path / "a.json", json.dumps(content, ensure_ascii=False))
    assert json.loads(made) == content
    content["all"].pop("number")
    made = unchanged(tmp_path / "a.yaml", yaml.safe_dump(content, allow_unicode=True))
    assert yaml.safe_load(made) == content

    lines = "".join(f"{key}={text}\n" for key, text in texts.items())
    path = tmp_path / "a.properties"
    assert _texts(path, unchanged(path, f"# note\n{lines}")) == [*texts.values()]
    strings = "".join(
        f'  <string name="{key}">{text}</string>\n'.replace("'", "\\'")
        for key, text in texts.items()
    )
    android = f'<?xml version="1.0" encoding="utf-8"?>\n<resources>\n{strings}</resources>\n'
    made = unchanged(tmp_path / "strings.xml", android).decode()
    assert re.findall(r'name="\w+">[^<]*', made) == re.findall(r'name="\w+">[^<]*', android)
    messages = "".join(
        f'<message id="{key}"><source>{text}</source><translation type="unfinished"></translation>'
        "</message>"
        for key, text in texts.items()
    )
    head = '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE TS><TS version="2.1">'
    ts = f"{head}<context><name>C</name>{messages}</context></TS>"
    made = etree.fromstring(unchanged(tmp_path / "a.ts", ts))
    assert [one.text for one in made.iter("source")] == [*texts.values()]
    assert [one.text for one in made.iter("translation")] == [*texts.values()]


@_varied
@given(st.sets(_WORDS, min_size=1))
def test_translations_for_programs(tmp_path, texts):
    """PO and XLIFF: each text is its own translation."""
    units = "".join(f'#: a.c:{i}\nmsgid "{t}"\nmsgstr ""\n\n' for i, t in enumerate(texts))
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    made = unchanged(tmp_path / "a.po", head + units).decode()
    for text in texts:
        assert f'msgid "{text}"\nmsgstr "{text}"\n' in made
    units = "".join(
        f'<trans-unit id="{i}"><source>{t} <g id="1">{t}</g><x id="2"/></source></trans-unit>'
        for i, t in enumerate(texts)
    )
    space = "urn:oasis:names:tc:xliff:document:1.2"
    xliff = (
        f'<xliff version="1.2" xmlns="{space}"><file source-language="en" target-language="de" '
        f'datatype="plaintext" original="f"><body>{units}</body></file></xliff>'
    )
    root = etree.fromstring(unchanged(tmp_path / "a.xlf", xliff))
    for source, target in zip(root.iter("{*}source"), root.iter("{*}target"), strict=True):
        assert [*target.itertext()] == [*source.itertext()]
        assert [one.tag for one in target] == [one.tag for one in source]


@pytest.mark.parametrize("kind", OFFICE, ids=[kind.ending for kind in OFFICE])
@_varied
@given(st.lists(st.lists(st.integers(0, 99), max_size=8), max_size=4), st.data())
def test_office_files(tmp_path, kind, paragraphs, data):
    """Word, PowerPoint, Excel: each letter has the formatting that it had."""
    pieces = kind.pieces
    content = [
        "".join(pieces[i % len(pieces)].replace("TEXT", data.draw(_WORDS)) for i in paragraph)
        for paragraph in paragraphs
    ]
    file = office(kind, content)
    made = unchanged(tmp_path / f"a{kind.ending}", file)
    assert shown(made, kind.part) == shown(file, kind.part)


@pytest.mark.parametrize("ending", [".odt", ".odp", ".ods"])
@_varied
@given(st.lists(st.text("abcdefgh"), max_size=4), st.data())
def test_libreoffice_files(tmp_path, ending, paragraphs, data):
    content = [
        "".join(PIECES[letter].replace("TEXT", data.draw(_WORDS)) for letter in paragraph)
        for paragraph in paragraphs
    ]
    file = libreoffice(ending, content)
    made = unchanged(tmp_path / f"a{ending}", file)
    assert shown(made, "content.xml") == shown(file, "content.xml")
