"""Tests of nmt_cli/text/shards.py: whatever the text, the ids are those of the vocabulary."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.errors import DataError
from nmt_cli.text import shards
from nmt_cli.text.shards import WordCache
from nmt_cli.text.tokenizer import Subwords

LINES = ["the dog sees the cat, and the cat sees 12 dogs.", "Straße größer ΟΔΟΣ ệ 한국어"]
WORDS = [
    "the",
    "dog",
    "(the",
    "dog,",
    "cat.",
    "▁",
    "",
    "\u0301a",
    "\u0338",
    "=",
    "ΟΔΟΣ",
    "\ue000",
    "a\u00a0b",
    "¯z",
]
VOCABULARIES = [
    Subwords.train(LINES * 5, TokenizerConfig(vocab_size=380, normalization=form, lowercase=lower))
    for form in ("none", "nfc", "nfkc")
    for lower in (False, True)
]
CACHES = [WordCache(subwords) for subwords in VOCABULARIES]
texts = st.text(max_size=12) | st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@settings(max_examples=200)
@given(batch=st.lists(texts, max_size=4))
def test_the_ids_are_the_same_as_without_it(batch):
    for subwords, cache in zip(VOCABULARIES, CACHES, strict=True):
        assert cache.encode_batch(batch) == subwords.encode_batch(batch)


def test_a_full_cache_begins_anew(monkeypatch):
    monkeypatch.setattr(shards, "_MOST_CHARACTERS", 10)
    monkeypatch.setattr(shards, "_WORDS_IN_A_TEXT", 2)
    cache = WordCache(VOCABULARIES[0])
    for line in LINES * 3:
        assert cache.encode_batch([line]) == VOCABULARIES[0].encode_batch([line])
        assert set(cache._ids_of) == {"", *line.split()}


def test_a_word_is_encoded_once(monkeypatch):
    cache = WordCache(VOCABULARIES[0])
    cache.encode_batch(LINES)
    monkeypatch.setattr(Subwords, "encode_batch", lambda *texts: [])
    assert len(cache.encode_batch([LINES[0] + "  " + LINES[0]])[0]) > 20


def test_a_lone_surrogate_is_told():
    with pytest.raises(DataError, match="not valid UTF-8"):
        CACHES[0].encode_batch(["a \ud800 b"])
