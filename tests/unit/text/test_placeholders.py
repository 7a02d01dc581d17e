"""Placeholders: no text makes one, both sides of a lesson have the same, and what decides which."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.text.bpe_dropout import MergeDropout
from nmt_cli.text.placeholders import (
    PlaceholderLessons,
    SignedSubwords,
    linked_words,
    with_placeholders,
)
from nmt_cli.text.shards import EncodedCorpus, Encoder, WordCache
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID, PLACEHOLDERS, SIGNS
from nmt_cli.text.tokenizer import Subwords

PAIRS = [
    ("the dog sees {name} at https://a.org/b", "der hund sieht {name} auf https://a.org/b"),
    ("a dog has 12 cats", "ein hund hat 12 katzen"),
    ("Anna and a cat", "Anna und eine katze"),
    ("it is late.", "es ist spät."),
] * 30
SOURCES, TARGETS = zip(*PAIRS, strict=True)
CONFIG = TokenizerConfig(vocab_size=420)


def _trained(tags=(), *, placeholders=True):
    unmade = PLACEHOLDERS if placeholders else ()
    return Subwords.train([*SOURCES, *TARGETS], CONFIG, tags, unmade)


WITH, WITHOUT = _trained(), _trained(placeholders=False)
SIGNED = SignedSubwords(WITH)
_texts = st.text(max_size=30) | st.lists(
    st.sampled_from([*SIGNS, *PLACEHOLDERS, "dog", " ", "(", "é", "12", "▁", "</s>"]), max_size=9
).map("".join)


def _corpus(subwords, tag=()):
    def side(lines):
        rows = [[*tag, *ids, EOS_ID] for ids in subwords.encode_batch(lines)]
        return np.array(list(itertools.chain(*rows)), np.uint16), np.cumsum([0, *map(len, rows)])

    return EncodedCorpus(*side(SOURCES), *side(TARGETS), sizes=(len(PAIRS),))


def _changed(subwords=WITH, seed=1, epoch=0, max_length=200, tag=()):
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=max_length)
    return PlaceholderLessons(encoder, seed).change(_corpus(subwords, tag), epoch, 0)


def _rows(corpus):
    return [
        [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
        for ids, offsets in (
            (corpus.source, corpus.source_offsets),
            (corpus.target, corpus.target_offsets),
        )
    ]


def test_a_vocabulary_without_them_is_as_it_was():
    assert not WITHOUT.placeholders
    plain = Subwords.train([*SOURCES, *TARGETS], CONFIG)
    assert plain.to_json() == WITHOUT.to_json()
    assert not any(name in WITHOUT.to_json() for name in PLACEHOLDERS)
    with pytest.raises(ValueError, match="zip"):
        SignedSubwords(WITHOUT)


def test_they_follow_the_tags_and_survive_a_file(tmp_path):
    subwords = _trained(("<2de>",))
    first = len(CONTROL_TOKENS) + 1
    assert [*subwords.placeholders] == [*range(first, first + len(PLACEHOLDERS))]
    subwords.save(tmp_path / "a.json")
    assert Subwords.load(tmp_path / "a.json", ("<2de>",)).placeholders == subwords.placeholders


def test_a_trained_vocabulary_gets_them_and_all_else_moves():
    made, first = WITHOUT.with_unmade(PLACEHOLDERS), len(CONTROL_TOKENS)
    assert made.placeholders == WITH.placeholders
    for text in ("the dog € <placeholder1>", *SOURCES[:4]):
        moved = [i + len(PLACEHOLDERS) * (i >= first) for i in WITHOUT.encode(text)]
        assert made.encode(text) == moved


@given(_texts)
def test_no_text_makes_one(text):
    assert not set(WITH.encode(text)) & set(WITH.placeholders)
    assert not set(WordCache(WITH).encode_batch([text])[0]) & set(WITH.placeholders)
    assert WITH.decode(WITH.encode(text)) == WITH.normalise(text)


@given(_texts)
def test_signs_make_one_each_and_come_back(text):
    (ids,) = SIGNED.encode_batch([text])
    assert ids == SIGNED.encode(text)
    assert SIGNED.decode(ids) == WITH.normalise(text)
    found = [SIGNS[i - WITH.placeholders[0]] for i in ids if i in WITH.placeholders]
    assert found == [char for char in text if char in SIGNS]


def test_a_text_with_signs_does_not_put_them_into_the_vocabulary():
    subwords = Subwords.train([SIGNS * 50, *SOURCES], CONFIG, (), PLACEHOLDERS)
    text = f"dog {SIGNS[0]}"
    assert not set(subwords.encode(text)) & set(subwords.placeholders)
    assert SignedSubwords(subwords).decode(SignedSubwords(subwords).encode(text)) == text


_words = st.lists(
    st.sampled_from(["dog", "hund", "12", "{x}", "https://a.b/c", "a", "(", "Anna", "``a b``"]),
    min_size=1,
    max_size=12,
).map(" ".join)


@settings(max_examples=300)
@given(_words, _words, st.integers(0, 1000))
def test_both_sides_have_the_same_ones_once(source, target, seed):
    made = with_placeholders((source, target), {"dog": "hund"}, np.random.default_rng(seed))
    signs = [sorted(char for char in text if char in SIGNS) for text in made]
    assert signs[0] == signs[1]
    assert 1 <= len(set(signs[0])) == len(signs[0])


def test_words_are_linked_with_those_that_come_with_them():
    found = linked_words(PAIRS)
    assert found["dog"] == "hund"
    assert found["12"] == "12"
    assert found["late"] in ("es", "ist", "spät")
    assert "the" not in found or found["the"] != "hund"


def test_a_share_of_the_examples_is_changed_and_the_others_stay():
    before, after = _rows(_corpus(WITH)), _rows(_changed())
    changed = [a != b for a, b in zip(before[0], after[0], strict=True)]
    assert changed == [a != b for a, b in zip(before[1], after[1], strict=True)]
    assert 10 < sum(changed) < 40  # a fifth of 120
    for source, target in zip(*after, strict=True):
        ids = [sorted(i for i in side if i in WITH.placeholders) for side in (source, target)]
        assert ids[0] == ids[1]
    assert _changed().sizes == (len(PAIRS),)


def test_it_depends_on_seed_and_epoch_alone():
    assert _rows(_changed()) == _rows(_changed())
    assert _rows(_changed()) != _rows(_changed(seed=2))
    assert _rows(_changed()) != _rows(_changed(epoch=1))


def test_all_of_them_are_taught():
    seen = {i for epoch in range(9) for row in _rows(_changed(epoch=epoch))[0] for i in row}
    assert set(WITH.placeholders) <= seen


def test_what_would_be_too_long_stays_as_it_is():
    longest = int(max(_corpus(WITH).source_lengths.max(), _corpus(WITH).target_lengths.max()))
    corpus = _changed(max_length=longest)
    assert max(corpus.source_lengths.max(), corpus.target_lengths.max()) <= longest


def test_tags_stay_in_front_and_bpe_dropout_keeps_placeholders():
    subwords = _trained(("<2de>",))
    tag = subwords.ids(["<2de>"])
    corpus = _changed(subwords, tag=tag)
    assert (corpus.source[corpus.source_offsets[:-1]] == tag[0]).all()
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=200)
    split = MergeDropout(encoder, 0.5, 1).change(corpus, 0, 0)
    for before, after in zip(*map(_rows, (corpus, split)), strict=True):
        kept = [
            [[i for i in row if i in subwords.placeholders] for row in x] for x in (before, after)
        ]
        assert kept[0] == kept[1]
        texts = [[SignedSubwords(subwords).decode(row) for row in side] for side in (before, after)]
        assert texts[0] == texts[1]
