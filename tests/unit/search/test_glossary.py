"""Glossaries: their files, and where texts have their terms."""

import json
from functools import partial

import pytest

from nmt_cli.errors import DataError
from nmt_cli.search.glossary import Glossary, Tally, TermUse
from nmt_cli.search.memory import Memory


def _glossary(tmp_path, text: str) -> Glossary:
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    return Glossary.read(path)


def _terms(tmp_path, text: str, source: str) -> list[str]:
    return [term.text for term in _glossary(tmp_path, text).terms_in(source)]


def test_a_file_has_forms_notes_and_comments(tmp_path):
    text = "# a comment\n\nbike|bikes\tFahrrad | Fahrräder\tnever Rad\nbike\tVelo\n"
    glossary = _glossary(tmp_path, text)
    assert glossary.entries == (
        (("bike", "bikes"), ("Fahrrad", "Fahrräder")),
        (("bike",), ("Velo",)),
    )
    (term,) = glossary.terms_in("my bike")
    assert term.choices == (("Fahrrad", "Fahrräder"), ("Velo",))
    assert term.forms == ["Fahrrad", "Fahrräder"]
    assert [bool(term.match(text)) for text in ("mein Velo", "Fahrräder.", "Rad")] == [1, 1, 0]
    assert json.loads(json.dumps(glossary, default=vars))["entries"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("bike", "not a term and its translation"),
        ("a\tb\tc\td", "not a term and its translation"),
        ("\tFahrrad", "a form is empty"),
        ("bike\t ", "a form is empty"),
        ("bike||bikes\tRad", "a form is empty"),
        ("bike\tFahr*rad", "a form is empty, or has `*` in its middle"),
        ("bike\t*rad", "the first form of a translation has `*`"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, fault):
    with pytest.raises(DataError, match=r"terms\.tsv, line 3: ") as error:
        _glossary(tmp_path, f"# bikes\ndog\tHund\n{line}\n")
    assert fault in str(error.value)


@pytest.mark.parametrize("of_kind", [Glossary.read, partial(Memory.read, way=("en", "ko"))])
def test_a_file_in_another_encoding_is_to_be_converted(tmp_path, of_kind):
    path = tmp_path / "terms.tsv"
    path.write_bytes("hello\t안녕하세요, 반갑습니다\nweather\t오늘 날씨가 좋네요\n".encode("cp949"))
    with pytest.raises(DataError, match="not valid UTF-8") as caught:
        of_kind(path)
    assert caught.value.hint.endswith(f"iconv -f CP949 -t UTF-8 {path} > NEW.tsv")
    assert "--encoding" not in caught.value.hint


def test_a_form_is_a_whole_word_in_its_case(tmp_path):
    text = "bike\tRad\nPolish\tpolnisch\npolish\tpolieren\nmountain bike\tMTB\n"
    found = {
        "a bike, a biker": ["bike"],
        "BIKE": [],
        "the Bike": [],
        "Bike! (Bike)": ["Bike"],
        "No. Bike": ["Bike"],
        "a mountain bike": ["mountain bike"],
        "to polish Polish nails": ["polish", "Polish"],
        "bike bike": ["bike"],
    }
    for source, terms in found.items():
        assert _terms(tmp_path, text, source) == terms, source


def test_letters_with_odd_capitals(tmp_path):
    text = "ßx\ta\n\u0131s\u0131\tb\nǆ\tc\n"
    for source, terms in {"ßx": ["ßx"], "SSx": [], "Is\u0131": ["Is\u0131"], "Ǆ": ["Ǆ"]}.items():
        assert _terms(tmp_path, text, source) == terms


def test_thousands_of_terms_take_no_time(tmp_path):
    text = "".join(f"{'abcdefgh'[i % 8]}term{i}\tx{i}\n" for i in range(5000))
    assert _terms(tmp_path, text, "the aterm8 of Bterm9 " * 200) == ["aterm8"]


def test_a_star_stands_for_letters(tmp_path):
    assert _terms(tmp_path, "bik*\tRad\n", "he bikes on bikinis, hobbik") == ["bikes"]
    (term,) = _glossary(tmp_path, "beach\tStrand|*strand\n").terms_in("beach")
    assert [bool(term.match(text)) for text in ("am Sandstrand", "Strandbad")] == [True, False]
    assert term.forms == ["Strand"]


def test_scripts_without_spaces(tmp_path):
    text = "自転車\tbike\n자전거\tbike\nCPU\tchip\n개\tdog\n"
    assert _terms(tmp_path, text, "青い自転車に乗る") == ["自転車"]
    assert _terms(tmp_path, text, "자전거를 탄다") == ["자전거"]
    assert _terms(tmp_path, text, "新しいCPUの") == ["CPU"]
    assert _terms(tmp_path, text, "날개") == []


def test_a_tally_counts():
    tally = Tally()
    tally.add([TermUse("a", "b"), TermUse("c", None, "too long")])
    tally.add([TermUse("c", None, "too long")])
    assert (tally.used, tally.missed.total()) == (1, 2)
    assert tally.missed.most_common(1) == [(TermUse("c", None, "too long"), 2)]
