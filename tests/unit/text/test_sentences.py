"""Long lines are split into sentences, and nothing is lost on the way."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_cli.text.sentences import Splitter, usual_sentences

LINE = st.text(
    st.sampled_from("aB.!? \t\u3000。…\"'()0\u200b\x00한😀-\r\x85\u2028é।«»:;"),
    min_size=1,
    max_size=60,
)


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("en", "Dr. Smith came.  He paid 3.5 euros!", ["Dr. Smith came.", "He paid 3.5 euros!"]),
        ("de-AT", "Das ist z.B. gut. Ja?", ["Das ist z.B. gut.", "Ja?"]),
        ("zh", "你好。我是学生\uff01", ["你好。", "我是学生\uff01"]),
        ("ko", "안녕하세요. 반가워요!", ["안녕하세요.", "반가워요!"]),
        ("", "A dog. A cat.", ["A dog.", "A cat."]),
        ("tlh", "A dog. A cat.", ["A dog.", "A cat."]),
    ],
)
def test_sentences_of_many_languages(language, text, sentences):
    found = Splitter(language, 1).split(text)
    assert [sentence for sentence, _ in found] == sentences
    assert "".join(sentence + space for sentence, space in found) == text


@given(LINE, st.sampled_from(["en", "de", "ko", "zh", "ar", "xx"]))
@example("\u2028", "en")
@example("A.\u2028B.", "en")
def test_joined_again_they_are_the_text(text, language):
    found = Splitter(language, 1).split(text)
    assert "".join(sentence + space for sentence, space in found) == text
    assert all(not space.strip() for _, space in found)
    assert all(sentence == sentence.rstrip() for sentence, _ in found)


def test_only_long_lines_are_split():
    splitter = Splitter("en", 10)
    assert [splitter.is_long(length) for length in (9, 10, 11)] == [False, False, True]


def test_the_usual_line_of_a_text_is_that_of_19_in_20():
    one, two = ["A dog.", " "], ["A dog. A cat."]
    assert usual_sentences(one * 40 + two, "en") == 1
    assert usual_sentences(one * 10 + two, "en") == 2
    assert usual_sentences([], "en") == 1
