"""Tests of nmt_cli/augmentation/made_pairs.py: which made pairs are kept, and why not others."""

import tracemalloc

import pytest

from nmt_cli.augmentation.made_pairs import (
    Filter,
    lowest_scores,
    read_pairs,
    write_examples,
    write_pairs,
)
from nmt_cli.text.corpus import Example

_LENGTH = "too long or too short for its other side"
GIVEN = [
    {"source": f"the dog number {i} runs", "target": f"hund nummer {i} rennt"} for i in range(9)
]


def made(source, target, score=-1.0):
    return {"source": source, "target": target, "from": "forward-1", "line": 1, "score": score}


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "given.jsonl"
    write_pairs(path, GIVEN)
    return [path]


@pytest.mark.parametrize(
    ("pair", "why"),
    [
        (made("a cat sleeps here", "eine katze schläft"), None),
        (made("a cat sleeps here", " "), "blank"),
        (made("a cat sleeps here", "a cat sleeps here"), "not translated"),
        (made("the dog number 3 runs", "hund nummer 3 rennt"), "already there"),
        (made("a cat sleeps here", "ja"), _LENGTH),
        (made("yes", "ja, das ist eine sehr lange antwort"), _LENGTH),
        (made("this is how it is", "zzzzzzzzzzzzzz"), "repeats itself"),
        (made("이것은 아주 긴 말이야", "그는는는는는는는는는는는는"), "repeats itself"),
        (made("we went to see it all", "und so und so und so und so"), "repeats itself"),
        (made("a cat sleeps here", "eine katze schläft", -9.0), "unlikely"),
    ],
)  # fmt: skip
def test_what_is_dropped_is_counted(given, pair, why):
    sieve = Filter(given, {"forward-1": -5.0}, is_beside=True)
    assert list(sieve.kept([pair])) == ([pair] if why is None else [])
    assert dict(sieve.dropped) == ({} if why is None else {("forward-1", why): 1})
    assert sieve.num_kept["forward-1"] == (why is None)


@pytest.mark.parametrize("given_pair", [GIVEN[3], {"source": "a cat", "target": "a cat"}])
def test_a_tag_does_not_hide_what_a_pair_is(given, given_pair):
    pair = made(f"<bt> {given_pair['source']}", given_pair["target"])
    sieve = Filter(given, {"forward-1": -5.0}, is_beside=True, tag="<bt> ")
    assert not list(sieve.kept([pair]))


def test_a_pair_is_kept_once(given):
    pair = made("a cat sleeps here", "eine katze schläft")
    sieve = Filter(given, {"forward-1": -5.0}, is_beside=True)
    assert list(sieve.kept([pair, pair])) == [pair]


def test_in_the_place_of_the_given_text_a_pair_may_be_as_given(given):
    pair = made("the dog number 3 runs", "hund nummer 3 rennt")
    sieve = Filter(given, {"forward-1": -5.0}, is_beside=False)
    assert list(sieve.kept([pair])) == [pair]


def test_the_lowest_scores_are_of_each_model(tmp_path):
    path = tmp_path / "made.jsonl"
    pairs = [made("a", "b", -i / 10) for i in range(100)]
    write_pairs(path, [*pairs, *({**pair, "from": "other", "score": -50.0} for pair in pairs)])
    assert lowest_scores([path], 0.02) == {"forward-1": -9.7, "other": -50.0}
    assert len(list(read_pairs([path]))) == 200


def test_memory_does_not_grow_with_the_text(tmp_path):
    given, written = tmp_path / "given.jsonl", tmp_path / "made.jsonl"
    count, words = 10_000, "ein langer satz " * 100
    write_pairs(written, (made(f"{i} {words}", words, -(i % 50)) for i in range(count)))
    tracemalloc.start()
    write_examples(given, (Example((f"{i} {words}",), words) for i in range(count)))
    sieve = Filter([given], lowest_scores([written], 0.02), is_beside=True)
    assert not any(sieve.kept(read_pairs([written])))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert given.stat().st_size > 30_000_000
    assert peak < 12_000_000
