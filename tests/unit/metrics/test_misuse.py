"""Warnings about text that makes scores mislead."""

import pytest

from nmt_cli.metrics.misuse import warnings

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
    assert "references are all in small letters" in warnings(GERMAN, lower, "de")[0]
    assert "outputs are all in small letters" in warnings(lower, GERMAN, "de")[0]
    assert "not those of cased text" in warnings(lower, lower, "de")[0]


def test_a_script_without_cases_has_no_small_letters():
    assert warnings(KOREAN, KOREAN, "ko") == []


@pytest.mark.parametrize(("language", "count"), [("", 1), ("en", 1), ("ko", 0), ("ko-KR", 0)])
def test_a_language_that_does_not_fit_the_script_is_told(language, count):
    assert len(warnings(KOREAN, KOREAN, language)) == count
