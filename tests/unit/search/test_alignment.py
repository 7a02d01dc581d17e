"""Attention between tokens becomes attention and pairs between words."""

import pytest

from nmt_cli.search.alignment import groups_of, word_attention, word_pairs, words_of


def test_words_are_what_white_space_separates():
    tokens = ["▁the", "▁old", "er", "▁", "▁dog", ",", "</s>"]
    assert words_of(tokens) == [[0], [1, 2], [4, 5]]
    assert words_of(["a", "b", "▁c"]) == [[0, 1], [2]]
    assert words_of(["<0xE2>", "<0x82>", "</s>"]) == [[0, 1]]
    assert words_of(["</s>"]) == []


def test_groups_hold_every_token_once():
    tokens = ["<user>", "▁the", "▁old", "er", "▁", "▁dog", ",", "</s>", "x"]
    assert groups_of(tokens) == [[0], [1], [2, 3], [4], [5, 6], [7], [8]]
    assert groups_of([]) == []


def test_a_word_gets_what_its_tokens_get_together():
    """Source "old er | dog </s>", target "alt | Hund e </s>"."""
    source = ["▁old", "er", "▁dog", "</s>"]
    target = ["▁alt", "▁Hund", "e", "</s>"]
    attention = [
        [0.5, 0.25, 0.125, 0.125],
        [0.0, 0.25, 0.75, 0.0],
        [0.25, 0.25, 0.25, 0.25],
        [0.0, 0.0, 0.0, 1.0],
    ]
    words = word_attention(attention, words_of(source), words_of(target))
    assert words == [[0.75, 0.125], [pytest.approx(0.375), pytest.approx(0.5)]]
    assert word_pairs(words) == [(0, 0), (1, 1)]


def test_a_source_without_words_aligns_with_nothing():
    assert word_pairs(word_attention([[1.0], [1.0]], [], words_of(["▁a", "</s>"]))) == []
