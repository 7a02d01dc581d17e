"""Terms in place of words of a source: where they are written, which, and what decides that."""

import itertools

import numpy as np
import pytest

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.search.glossary import Glossary
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.special_tokens import (
    CONTROL_TOKENS,
    EOS_ID,
    PLACEHOLDERS,
    TERM_MARKS,
    taught_tokens,
)
from nmt_cli.text.term_lessons import LinkedWords, TermLessons, annotated, token_places
from nmt_cli.text.tokenizer import Subwords

PAIRS = [
    ("the dogs see (cats) at 12", "die hunde sehen (katzen) um 12"),
    ("with dogs and birds", "mit hunden und vögeln"),
    ("a cat and dogs", "eine katze und hunde"),
    ("xylophone", "xylofon"),
] * 30
SOURCES, TARGETS = zip(*PAIRS, strict=True)


def _trained(tags=(), unmade=TERM_MARKS):
    config = TokenizerConfig(vocab_size=460)
    return Subwords.train([*SOURCES, *TARGETS], config, tags, unmade)


SUBWORDS = _trained()


def _corpus(subwords, tag=()):
    def side(lines):
        rows = [[*tag, *ids, EOS_ID] for ids in subwords.encode_batch(lines)]
        return np.array(list(itertools.chain(*rows)), np.uint16), np.cumsum([0, *map(len, rows)])

    return EncodedCorpus(*side(SOURCES), *side(TARGETS), sizes=(len(PAIRS),))


def _changed(subwords=SUBWORDS, seed=1, epoch=0, max_length=200, tag=(), terms_of=None):
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=max_length)
    return TermLessons(encoder, seed, terms_of).change(_corpus(subwords, tag), epoch, 0)


def _rows(corpus):
    ids, offsets = corpus.source, corpus.source_offsets
    return [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]


def _text(ids):
    return "".join(SUBWORDS.tokens(ids)).replace("▁", " ")


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], " the dogs see (cats) at 12</s>"),
        ([(4, 8, "hunde")], " the<term> hunde</term> see (cats) at 12</s>"),
        ([(14, 18, "katzen")], " the dogs see (<term> katzen</term>) at 12</s>"),
        (
            [(9, 12, "sehen"), (0, 8, "x")],
            "<term> x</term><term> sehen</term> (cats) at 12</s>",
        ),
    ],
)
def test_what_a_term_becomes_stands_in_its_place(terms, expected):
    ids = [*SUBWORDS.encode(SOURCES[0]), EOS_ID]
    assert _text(annotated(SUBWORDS, ids, terms)) == expected
    assert ids == [*SUBWORDS.encode(SOURCES[0]), EOS_ID]


def test_no_text_makes_the_marks_and_they_survive_a_file(tmp_path):
    both = _trained(("<2de>",), (*PLACEHOLDERS, *TERM_MARKS))
    assert both.unmade == [*range(len(CONTROL_TOKENS) + 1, len(CONTROL_TOKENS) + 11)]
    assert not set(both.encode("<term> dogs</term>")) & set(both.unmade)
    both.save(tmp_path / "a.json")
    assert Subwords.load(tmp_path / "a.json", ("<2de>",)).unmade == both.unmade


def test_a_vocabulary_without_them_is_as_it_was():
    plain = _trained(unmade=())
    assert not plain.term_marks
    made = plain.with_unmade(TERM_MARKS)
    assert made.term_marks == SUBWORDS.term_marks
    moved = [i + 2 * (i >= len(CONTROL_TOKENS)) for i in plain.encode(SOURCES[0])]
    assert made.encode(SOURCES[0]) == moved


def test_tokens_have_places():
    ids = SUBWORDS.encode("dogs at 12")
    assert [(a, b) for a, b in token_places(SUBWORDS, [*ids, EOS_ID])][-2:] == [(9, 10), (10, 10)]


@pytest.mark.parametrize("before", ["😀 ", "“", "¼", "ㅋㅋ "])
def test_bytes_of_a_character_stay_together(before):
    ids = [*SUBWORDS.encode(f"the {before}dogs"), EOS_ID]
    start = len("the ") + len(before)
    assert len(token_places(SUBWORDS, ids)) == len(ids)
    made = SUBWORDS.decode(annotated(SUBWORDS, ids, [(start, start + 4, "hunde")]))
    assert made.replace(" ", "") == f"the {before}<term>hunde</term>".replace(" ", "")
    assert "\ufffd" not in SUBWORDS.decode(annotated(SUBWORDS, ids, [(4, 5, "hunde")]))


def test_words_are_linked_one_to_one_and_given_in_a_usual_form():
    words = LinkedWords(PAIRS)
    found = {
        (source[a:b], form)
        for source, target in PAIRS[:4]
        for seed in range(20)
        for a, b, form in words.some_of(source, target, np.random.default_rng(seed))
    }
    assert {("dogs", "hunde"), ("12", "12"), ("and", "und")} <= found
    assert ("dogs", "hunden") not in found  # where that is written, `hunde` is told


def test_a_rare_translation_of_a_common_word_is_linked():
    pairs = [*PAIRS, *[("a woman sees", "eine frau sieht")] * 50, *[("a woman", "eine dame")] * 5]
    words = LinkedWords(pairs)
    found = [words.some_of("a woman", "eine dame", np.random.default_rng(i)) for i in range(9)]
    assert (2, 7, "dame") in set(itertools.chain(*found))


def test_a_share_of_the_sources_is_changed_and_targets_stay():
    before, after = _corpus(SUBWORDS), _changed()
    changed = [a != b for a, b in zip(_rows(before), _rows(after), strict=True)]
    assert 40 < sum(changed) < 80  # half of 120
    assert (before.target == after.target).all()
    assert after.sizes == (len(PAIRS),)
    for row in _rows(after):
        marks = [i for i in row if i in SUBWORDS.term_marks]
        assert marks == [*SUBWORDS.term_marks] * (len(marks) // 2)


def test_it_depends_on_seed_and_epoch_alone():
    assert _rows(_changed()) == _rows(_changed())
    assert _rows(_changed()) != _rows(_changed(seed=2))
    assert _rows(_changed()) != _rows(_changed(epoch=1))


def test_terms_of_a_glossary_come_first():
    glossary = Glossary(((("dogs",), ("hund", "hunde")), (("cat", "cats"), ("mieze",))))
    assert glossary.shared(*PAIRS[0]) == [(4, 8, "hund")]
    changed = zip(_rows(_changed(terms_of=glossary.shared)), SOURCES, strict=True)
    told = {_text(row) for row, source in changed if "<term>" in _text(row) and "see" in source}
    assert told == {" the<term> hund</term> see (cats) at 12</s>"}


def test_what_would_be_too_long_stays_as_it_is():
    longest = int(_corpus(SUBWORDS).source_lengths.max())
    assert _changed(max_length=longest).source_lengths.max() <= longest


def test_tags_stay_in_front_and_placeholders_stay_what_they_are():
    subwords = _trained(("<2de>",), (*PLACEHOLDERS, *TERM_MARKS))
    tag = [*subwords.ids(["<2de>"]), subwords.placeholders[0]]
    rows = _rows(_changed(subwords, tag=tag))
    assert all([i for i in row if i < subwords.term_marks[0]][:2] == tag for row in rows)
    assert any(set(row) & set(subwords.term_marks) for row in rows)


def test_what_a_training_teaches():
    from types import SimpleNamespace

    tokens = {
        taught_tokens(SimpleNamespace(placeholders=a, glossary=b))
        for a in (False, True)
        for b in (False, True, "terms.tsv")
    }
    assert tokens == {(), PLACEHOLDERS, TERM_MARKS, (*PLACEHOLDERS, *TERM_MARKS)}
