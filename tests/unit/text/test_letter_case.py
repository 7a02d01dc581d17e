"""Tests of nmt_cli/text/letter_case.py: which lines are read in another case, and in which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.text.letter_case import in_usual_case
from nmt_cli.text.noise import CHANGES
from nmt_cli.text.tokenizer import Subwords

LINES = [
    "The old dog sees a red bird in the garden.",
    "NATO is in the garden of the house.",
    "They don't see the house.",
    "Der alte Hund und die Katze.",
    "Die Katze von Anna Huber.",
    "Anna Huber.",
    "그는 집에 갔다.",
]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train(LINES * 20, TokenizerConfig(vocab_size=600))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("THE OLD DOG SEES A RED BIRD.", "The old dog sees a red bird."),
        ("The Old Dog Sees A Red Bird.", "The old dog sees a red bird."),
        ("GARDEN", "garden"),
        ("NATO IS IN THE HOUSE", "NATO is in the house"),
        ("DER ALTE HUND UND DIE KATZE VON ANNA", "Der alte Hund und die Katze von Anna"),
        ("THEY DON'T SEE THE HOUSE. THE DOG SEES.", "They don't see the house. The dog sees."),
        ("(THE  OLD\tDOG!)", "(The  old\tdog!)"),
    ],
)
def test_a_line_in_capitals_is_read_as_its_words_are_usually_written(subwords, text, expected):
    assert in_usual_case(text, subwords) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "the old dog",
        "The old Dog",
        "Der Hund",
        "NATO",
        "Red Bird",  # may be a name
        "Anna Huber Anna",
        "그는 NATO",
        "그는 HOUSE 집에",  # a line with words that have no case is not in capitals
        "A4",
        "12 B2B",
    ],
)
def test_any_other_line_stays_as_it_is(subwords, text):
    assert in_usual_case(text, subwords) == text


def test_what_training_text_has_in_capitals_stays():
    subwords = Subwords.train(["FILE NOT FOUND", "the file"] * 20, TokenizerConfig(vocab_size=400))
    assert in_usual_case("FILE NOT FOUND", subwords) == "FILE NOT FOUND"


def test_a_vocabulary_in_lower_case_changes_nothing():
    subwords = Subwords.train(LINES * 20, TokenizerConfig(vocab_size=400, lowercase=True))
    assert in_usual_case("THE OLD DOG", subwords) == "THE OLD DOG"


def test_text_that_has_no_capitals_gets_none():
    subwords = Subwords.train(["the old dog"] * 20, TokenizerConfig(vocab_size=300))
    assert in_usual_case("THE OLD DOG", subwords) == "the old dog"


def test_fixed_words_stay(subwords):
    text = "THE OLD DOG SEES A BIRD"
    assert in_usual_case(text, subwords, lambda _: [(4, 11)]) == "The OLD DOG sees a bird"


def test_each_line_of_text_comes_back_from_capitals(subwords):
    for line in LINES[:5]:
        usual = in_usual_case(CHANGES["capitals"](line, None), subwords)
        assert usual == line


@given(st.text())
def test_the_number_of_words_stays(subwords, text):
    usual = in_usual_case(text, subwords)
    assert len(usual.split()) == len(text.split())
    assert usual.casefold() == text.casefold() or len(text) != len(usual)
