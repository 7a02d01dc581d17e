"""The tests of a row one by one: numbers, garbled text, languages, repeats, against examples."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.doctor.characters import repetition
from nmt_cli.doctor.chunk import Chunk, Side
from nmt_cli.doctor.languages import script_of
from nmt_cli.doctor.mojibake import has_lost_letters, repair
from nmt_cli.doctor.patterns import numbers_differ
from nmt_cli.doctor.repeats import STOCK_TIMES, duplicates, in_both, stock, without_stock
from nmt_cli.text.language_id import language_of, other_language


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It costs 1,000 dollars.", "Es kostet 1.000 Dollar."),
        ("It costs 1,234,567.", "Es kostet 1 234 567."),
        ("3.5 kilos", "3,5 Kilo"),
        ("on 2024-01-05", "am 5.1.2024"),
        ("at 3 p.m.", "um 15 Uhr"),
        ("at 9:05", "9시 5분"),
        ("in the 1990s", "90년대에"),
        ("30,000 people", "3만 명"),
        ("35,000 won", "3만 5천 원"),
        ("1.5 million", "1,500,000"),
        ("May 5", "5월 5일"),
        ("two men", "2 Männer"),
        ("3 dogs", "drei Hunde"),
        ("the 2nd day", "der 2. Tag"),
        ("room 07", "Zimmer 7"),
        ("٣ books", "3 Bücher"),
        ("no numbers", "keine Zahlen"),
    ],
)
def test_the_same_number_written_in_two_ways(source, target):
    assert numbers_differ(source, target) is None
    assert numbers_differ(target, source) is None


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("in 1994", "1949"),
        ("3 dogs", "4 Hunde"),
        ("page 12 of 30", "Seite 12 von 31"),
        ("It was 1812.", "Es war so."),
        ("5 million people", "3 Millionen Menschen"),
        ("at 3 p.m.", "um 16 Uhr"),
    ],
)
def test_other_numbers(source, target):
    assert numbers_differ(source, target)
    assert numbers_differ(target, source)


@pytest.mark.parametrize("digits", [4301, 100_000])
def test_numbers_longer_than_python_reads(digits):
    assert numbers_differ("1" * digits, f"so {'1' * digits}.") is None
    assert numbers_differ("1" * digits, "2" * digits)


LATIN = st.text(st.sampled_from("abcXYZ äöüßéñçÄÖÜ ,.!?"), max_size=30)


@given(LATIN)
def test_clean_text_is_not_repaired(text):
    assert repair(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Grüße aus Köln",
        "déjà vu",
        "it\u2019s \u201cfine\u201d \u2013 really",
        "커피 한 잔",
        "100 €",
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_misread_text_is_repaired(text, times):
    garbled = text
    for _ in range(times):
        garbled = "".join(_as_windows(byte) for byte in garbled.encode())
    assert garbled != text
    assert repair(garbled) == text


def _as_windows(byte: int) -> str:
    return bytes([byte]).decode("cp1252", "ignore") or chr(byte)


@pytest.mark.parametrize("text", ["안녕하세요", "오늘은 날씨가 참 좋네요, 그렇죠? 3시 (월)"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_misread_korean_is_repaired(text, encoding):
    assert repair(text.encode("euc-kr").decode(encoding)) == text
    assert repair(f"café {text.encode('euc-kr').decode(encoding)}") == f"café {text}"


@pytest.mark.parametrize(
    "text",
    ["L\u2019été à «Genève» \u2013 naïve", "„Ä“ und „Ö…“", "¿Él? ¡Sí!", "5 °C ± 1", "ßÄÄ", "OßçÜ"],
)
def test_what_looks_garbled_but_is_not(text):
    assert repair(text) == text


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("sch?n", True),
        ("f??r", True),
        ("Is it? yes", False),
        ("a.org/x?y=z", False),
        ("Why?", False),
    ],
)
def test_letters_lost(text, lost):
    assert has_lost_letters(text) == lost


WORDS = st.lists(st.sampled_from(["a", "b", "ab", "2"]), min_size=1, max_size=24)


@settings(max_examples=300)
@given(st.lists(WORDS, min_size=1, max_size=4), st.sampled_from([" ", "  "]))
def test_loops_against_the_slow_definition(lines, space):
    def has_loop(words: list[str]) -> bool:
        return any(
            words[i : i + size] * 4 == words[i : i + 4 * size] and words[i] != "2"
            for size in range(1, 5)
            for i in range(len(words) - 4 * size + 1)
        )

    chunk = Chunk([space.join(words) for words in lines], ["x"] * len(lines))
    source, target = repetition(chunk)
    assert source.rows.tolist() == [row for row, words in enumerate(lines) if has_loop(words)]
    assert not len(target.rows)


def test_languages():
    assert language_of(["The dog is in the house.", "It was not for you."]) == "en"
    assert language_of(["Der Hund ist im Haus.", "Das war nicht für mich."]) == "de"
    assert language_of(["1, 2", "..."]) == ""
    german = "Der Hund ist im Haus. Das war nicht für mich, und es ist gut."
    assert (other_language(german, "en"), other_language(german, "de-AT")) == ("de", None)
    assert other_language(german, "xx") is None
    assert (script_of("ko"), script_of("pt-BR"), script_of("xx")) == ("Hangul", "Latin", None)


TEXTS = st.lists(st.text(st.sampled_from("aAbB1 .é\u0301ß"), max_size=6), min_size=1, max_size=30)


def fold(text: str) -> str:
    """Letters and digits without case, as the slow definition has it."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(c if c == "ß" else c.casefold() for c in composed if c.isalnum())


@given(TEXTS)
def test_keys_are_equal_where_letters_and_digits_are(lines):
    keys = Side(lines).keys()
    folded = [fold(line) for line in lines]
    for i, left in enumerate(folded):
        assert (keys[i] == 0) == (left == "")
        for j, right in enumerate(folded[:i]):
            assert (keys[i] == keys[j]) == (left == right)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=40), st.lists(st.integers(0, 6), max_size=9)
)
def test_repeats_against_a_dictionary(numbers, others):
    keys, held_out = np.array(numbers, np.uint64), np.array(others, np.uint64)
    first: dict[int, int] = {}
    expected = []
    for row, key in enumerate(numbers):
        if key and key in first:
            expected.append((row, first[key]))
        first.setdefault(key, row)
    found = duplicates(keys)
    assert list(zip(found.rows.tolist(), found.firsts.tolist(), strict=True)) == expected
    both = in_both(keys, held_out)
    assert both.rows.tolist() == [i for i, key in enumerate(numbers) if key and key in others]
    assert all(numbers[i] == others[j] for i, j in zip(both.rows, both.firsts, strict=True))
    repeated = [key for key in numbers if key and numbers.count(key) > 1]
    times = [numbers.count(key) for key in numbers]
    kept = [key if n <= STOCK_TIMES else 0 for key, n in zip(numbers, times, strict=True)]
    assert without_stock(keys).tolist() == kept
    assert (stock(keys) is None) == (not repeated)
    if repeated:
        assert stock(keys).share == pytest.approx(len(repeated) / len(numbers))
        assert stock(keys).times == max(map(repeated.count, repeated))
