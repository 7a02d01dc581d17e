"""A choice among hypotheses by a model of the other direction."""

from dataclasses import replace

import pytest
from small_bundles import own_bundle

import nmt_cli
from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.search.engine import Hypothesis
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.reranking import Reranker
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

OPTIONS = SearchOptions(beam_size=2, n_best=2)


@pytest.fixture(scope="module")
def vocabularies():
    own = Subwords.train(["a red dog", "ein roter hund"] * 9, TokenizerConfig(vocab_size=300))
    other = Subwords.train(["ein roter hund"] * 9, TokenizerConfig(vocab_size=290))
    return Vocabularies(own, own), Vocabularies(other, other)


class Forward:
    """Finds the same hypotheses for every source, however it is asked."""

    max_length = 20
    description = "forward"

    def __init__(self, *found: Hypothesis) -> None:
        self.found, self.asked = list(found), []

    def search(self, sources, options, *, first_index=0, prefixes=None):
        self.asked.append(options)
        return [self.found for _ in sources]

    def begin(self, sources, options, *, first_index=0):
        self.asked.append(options)
        return lambda: [self.found for _ in sources]


class Backward:
    """Finds a source the likelier, the shorter the hypothesis; remembers what it was asked."""

    max_length = 6

    def __init__(self) -> None:
        self.asked = []

    def score(self, sources, targets):
        self.asked += zip(sources, targets, strict=True)
        return [[-float(len(s))] * len(t) for s, t in zip(sources, targets, strict=True)]


def reranker(vocabularies, *texts_and_scores):
    own, other = vocabularies
    found = [Hypothesis([*own.target.encode(t), EOS_ID], s) for t, s in texts_and_scores]
    return Reranker(Forward(*found), own, Backward(), other)


@pytest.mark.parametrize("is_begun", [False, True])
def test_the_rank_is_of_both_models(vocabularies, is_begun):
    engine = reranker(vocabularies, ("ein roter hund", -1.0), ("ein", -1.1), ("hund ein", -5.0))
    sources = [[*vocabularies[0].source.encode("a dog"), EOS_ID]] * 2
    found = (engine.begin if is_begun else engine.search)(sources, OPTIONS)
    found = found() if is_begun else found
    encode = vocabularies[1].source.encode
    lengths = [len(encode(text)) + 1 for text in ("ein", "ein roter hund")]
    ranks = [-1.1 - 0.2 * lengths[0], -1.0 - 0.2 * lengths[1]]
    for row in found:
        texts = [vocabularies[0].target.decode(h.ids) for h in row]
        assert texts == ["ein", "ein roter hund"]
        assert [h.score for h in row] == pytest.approx(ranks)


def test_it_asks_for_enough_to_choose_from(vocabularies):
    engine = reranker(vocabularies, ("ein", -1.0))
    engine.search([[EOS_ID]], replace(OPTIONS, n_best=1))
    engine.search([[EOS_ID]], SearchOptions(beam_size=30))
    assert [(o.beam_size, o.n_best) for o in engine.engine.asked] == [(12, 12), (30, 30)]


def test_samples_are_not_chosen_from(vocabularies):
    engine = reranker(vocabularies, ("ein roter hund", -1.0), ("ein", -1.1))
    options = SearchOptions(beam_size=1, sample=True)
    assert engine.search([[EOS_ID]], options) == [engine.engine.found]
    assert engine.engine.asked == [options]
    assert engine.backward.asked == []


def test_what_the_other_model_cannot_read_is_cut(vocabularies):
    engine = reranker(vocabularies, ("ein roter hund " * 9, -1.0), ("", -1.0))
    engine.search([[*vocabularies[0].source.encode("a red dog " * 3), EOS_ID]], OPTIONS)
    sides = [side for pair in engine.backward.asked for side in pair]
    assert max(map(len, sides)) == 6
    assert all(side[-1] == EOS_ID for side in sides)


def test_ranks_are_what_the_two_models_give_each_by_itself(toy_bundle, tmp_path):
    backward = own_bundle(tmp_path, way=("de", "en")).path
    lines = ["red dog sees cat", "old bird"]
    found = nmt_cli.load(toy_bundle, backward=backward).translate(lines, n_best=12)
    alone = nmt_cli.load(toy_bundle).translate(lines, beam_size=12, n_best=12)
    scorer = nmt_cli.load(backward)
    for line, ours, theirs in zip(lines, found, alone, strict=True):
        pairs = [(one.text, line) for one in theirs.hypotheses]
        back = [pair.score for pair in scorer.score(pairs, length_penalty=1.0)]
        ranks = [h.score + 0.2 * b for h, b in zip(theirs.hypotheses, back, strict=True)]
        assert [h.score for h in ours.hypotheses] == pytest.approx(sorted(ranks, reverse=True))
