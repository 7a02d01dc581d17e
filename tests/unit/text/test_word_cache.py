"""Tests of nmt_cli/text/word_cache.py: whatever the text, the ids are those of the vocabulary."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import TokenizerConfig
from nmt_cli.errors import DataError
from nmt_cli.text import word_cache
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.word_cache import WordCache

LINES = ["the dog sees the cat, and the cat sees 12 dogs.", "Straße größer ΟΔΟΣ ệ 한국어"]
WORDS = ["the", "dog", "(the", "dog,", "cat.", "▁", "", "\u0301a", "\u0338", "=", "ΟΔΟΣ", "\ue000"]
VOCABULARIES = [
    Subwords.train(LINES * 5, TokenizerConfig(vocab_size=380, normalization=form, lowercase=lower))
    for form in ("none", "nfc", "nfkc")
    for lower in (False, True)
]
CACHES = [WordCache(subwords) for subwords in VOCABULARIES]
texts = st.text(max_size=12) | st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(batch=st.lists(texts, max_size=4))
def test_the_ids_are_the_same_as_without_it(batch):
    for subwords, cache in zip(VOCABULARIES, CACHES, strict=True):
        assert cache.encode_batch(batch) == subwords.encode_batch(batch)


def test_a_full_cache_begins_anew(monkeypatch):
    monkeypatch.setattr(word_cache, "_MOST_WORDS", 3)
    monkeypatch.setattr(word_cache, "_LONGEST_WORD", 4)
    cache = WordCache(VOCABULARIES[0])
    for _ in range(3):
        assert cache.encode_batch(LINES) == VOCABULARIES[0].encode_batch(LINES)
        assert 0 < len(cache._ids_of) <= 3
        assert max(map(len, cache._ids_of)) <= 4


def test_a_lone_surrogate_is_told():
    with pytest.raises(DataError, match="not valid UTF-8"):
        CACHES[0].encode_batch(["a \ud800 b"])
