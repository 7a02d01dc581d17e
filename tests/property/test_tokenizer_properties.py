"""Properties of the tokenizer: nothing is lost, whatever the text."""

import functools
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS
from nmt_cli.text.tokenizer import Subwords

SETTINGS = [(form, lower) for form in ("none", "nfc", "nfkc") for lower in (False, True)]
CORPUS = [
    "The quick brown fox says: <s> </s> <pad> <user> <0x0A> ▁ 3.14, don't!",
    "Ein Mann schläft  im größten Garten.",
    "한국어 문장입니다. 가나다",
    "\ue000\ue001\ue002 e\u0301",
]

NASTY = [
    *CONTROL_TOKENS,
    *("▁", "▁▁", " ▁", "▁ ", "\u2581\u2581a"),
    *("<0x0A>", "<0xE2>", "<0x96>", "<0x81>", "<0x", ">", "<", "</", "<0x0a>"),
    *("\ue000", "\ue001", "\ue002", "\ue000\ue001", "\ue000\ue002", "\ue000\ue000\ue001"),
    *(" ", "  ", "   ", "\n", "\r\n", "\t", "\r", "\0", "\u00a0", "\u3000", "\u200b", "\ufeff"),
    *("\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x7f"),
    *("😀", "👩\u200d👩\u200d👧", "🇰🇷", "👍🏽", "\ufe0f", "\u20e3"),
    *("é", "e\u0301", "\u0301", "\u0323\u0307", "Å", "\u212b", "ﬁ", "①", "½", "ｱﾞ"),
    *("가", "각", "\u1100", "\u1161", "\u11a8", "\u1100\u1161\u11a8", "ㄱ", "안녕 하세요"),
    *("İ", "ẞ", "Σ", "ΑΣ", "Ǆ", "\U0001f1e6", "\ud7ff", "\uffff", "\U0010ffff", "\u0378"),
    *("the", "The", "fox", "größten", "1", "23", "²", "٣", "don't", "।", "क्षि", "ก็"),
]
texts = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=4)), max_size=10).map("".join)
SPACED = st.builds(
    "{}{}{}".format, st.sampled_from(["", " ", "  "]), texts, st.sampled_from(["", " "])
)


@functools.cache
def vocabulary(form: str, lowercase: bool) -> Subwords:
    config = TokenizerConfig(vocab_size=400, normalization=form, lowercase=lowercase)
    return Subwords.train(CORPUS * 5, config)


@pytest.mark.parametrize(("form", "lowercase"), SETTINGS)
@settings(max_examples=80)
@given(text=SPACED)
@example(text=" ")
@example(text="▁")
@example(text="\ue000▁\ue001")
@example(text=" ▁ \ue000\ue002")
@example(text="".join(NASTY))
@example(text=" ".join(reversed(NASTY)))
def test_nothing_is_lost(form, lowercase, text):
    subwords = vocabulary(form, lowercase)
    ids = subwords.encode(text)
    assert subwords.decode(ids) == subwords.normalise(text)
    if text:
        assert min(ids) >= len(CONTROL_TOKENS)
        assert max(ids) < subwords.vocab_size


@pytest.mark.parametrize("form", ["none", "nfc", "nfkc"])
@settings(max_examples=80)
@given(text=SPACED)
def test_normalising_is_unicodes_on_assigned_characters(form, text):
    """Assigned in Unicode 3.2: `tokenizers` 0.23 knows those up to Unicode 9, Python many more."""
    category = unicodedata.ucd_3_2_0.category
    assigned = "".join(char for char in text if category(char) != "Cn")
    expected = assigned if form == "none" else unicodedata.normalize(form.upper(), assigned)
    assert vocabulary(form, False).normalise(assigned) == expected


@settings(max_examples=100)
@given(one=SPACED, other=SPACED)
def test_different_texts_have_different_ids(one, other):
    subwords = vocabulary("nfc", False)
    same_text = subwords.normalise(one) == subwords.normalise(other)
    assert (subwords.encode(one) == subwords.encode(other)) == same_text


@settings(max_examples=100)
@given(ids=st.lists(st.integers(0, 300), max_size=20))
def test_any_ids_make_a_text(ids):
    subwords = vocabulary("nfc", False)
    text = subwords.decode([id_ for id_ in ids if id_ < subwords.vocab_size])
    assert text.encode().decode() == text  # no half of a surrogate pair


@settings(max_examples=100)
@given(text=texts)
def test_bytes_stand_only_for_characters_that_are_no_tokens(text):
    """A typed `<0x0A>` is never the byte 10: byte tokens spell the unknown characters, in order."""
    subwords = vocabulary("none", False)
    known = set(subwords.tokens(range(subwords.vocab_size)))
    byte_ids = range(len(CONTROL_TOKENS), len(CONTROL_TOKENS) + len(BYTE_TOKENS))
    spelt = bytes(id_ - byte_ids[0] for id_ in subwords.encode(text) if id_ in byte_ids)
    escaped = text.replace("\ue000", "\ue000\ue002").replace("▁", "\ue000\ue001").replace(" ", "▁")
    assert spelt.decode() == "".join(char for char in escaped if char not in known)


@settings(max_examples=25)
@given(
    corpus=st.lists(texts, min_size=1, max_size=6),
    vocab_size=st.integers(300, 420),
    text=texts,
)
def test_any_training_text_makes_a_vocabulary_that_keeps_its_size(corpus, vocab_size, text):
    config = TokenizerConfig(vocab_size=vocab_size)
    subwords = Subwords.train(corpus, config)
    assert subwords.vocab_size <= vocab_size
    assert subwords.decode(subwords.encode(text)) == subwords.normalise(text)
    assert Subwords.train(corpus, config).to_json() == subwords.to_json()
