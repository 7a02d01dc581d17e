"""Warnings about text that makes scores mislead."""

import pytest

from nmt_cli.evaluation.scores import warnings

GERMAN = ["Der Hund schläft, die Katze auch.", "Ein Mann liest.", "Sie geht nach Hause!"]
FRENCH = ["Où vas-tu ? Je ne sais pas !", "C'est vrai : il pleut.", "Oui ; bien sûr."]
KOREAN = ["저는 학교에 갑니다.", "오늘 날씨가 좋네요"]


@pytest.mark.parametrize("lines", [GERMAN, FRENCH])
def test_plain_text_is_fine(lines):
    assert warnings(lines, lines, "de") == []


def test_spaces_before_full_stops_are_told():
    tokenised = ["Der Hund schläft , die Katze auch .", "Ein Mann liest .", "Sie geht ."]
    (both,) = warnings(tokenised, tokenised, "de")
    assert "outputs and the references look tokenised" in both
    (one,) = warnings(tokenised, GERMAN, "de")
    assert one.startswith("the outputs look tokenised")
    assert warnings([*GERMAN, tokenised[0]], GERMAN * 2, "de") == []  # one line may be so


def test_small_letters_are_told():
    lower = [line.lower() for line in GERMAN]
    assert "references are in lower case" in warnings(GERMAN, lower, "de")[0]
    assert "outputs are in lower case" in warnings(lower, GERMAN, "de")[0]
    assert "cannot be compared with those of cased text" in warnings(lower, lower, "de")[0]


def test_text_without_case_is_not_compared_by_case():
    assert warnings(["der hund"], ["개가 자고 있어요"], "ko") == []


def test_a_few_capitals_that_were_left_do_not_hide_it():
    capitals_of_ascii = str.maketrans({chr(c): chr(c + 32) for c in range(ord("A"), ord("Z") + 1)})
    lines = [*GERMAN * 10, "Ältere Männer lesen.", "Übung macht den Meister."]
    lower = [line.translate(capitals_of_ascii) for line in lines]
    assert "references are in lower case" in warnings(lines, lower, "de")[0]
    assert warnings(lines, [*lower[:16], *lines[16:]], "de") == []  # as in a chat


def test_a_script_without_cases_has_no_small_letters():
    assert warnings(KOREAN, KOREAN, "ko") == []


@pytest.mark.parametrize(("language", "count"), [("", 1), ("en", 1), ("ko", 0), ("ko-KR", 0)])
def test_a_language_that_does_not_fit_the_script_is_told(language, count):
    assert len(warnings(KOREAN, KOREAN, language)) == count
