"""Forced scores of pairs of lines, with an engine that needs no model."""

import pytest

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.search import translator
from nmt_cli.search.translator import score_pairs
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    subwords = Subwords.train(
        ["a bb the old dog sees a red bird"] * 5, TokenizerConfig(vocab_size=320)
    )
    return Vocabularies(subwords, subwords)


class CountingEngine:
    """Gives the nth token of a target the log-probability -n; remembers what it was asked."""

    max_length = 6

    def __init__(self):
        self.calls = []

    def score(self, sources, targets):
        self.calls.append((sources, targets))
        return [[-float(n) for n in range(1, len(target) + 1)] for target in targets]


def test_a_score_is_the_sum_divided_by_the_length_to_the_alpha(vocabularies):
    ids = [*vocabularies.target.encode("a bb"), EOS_ID]
    total = -sum(range(1, len(ids) + 1))
    for alpha, divisor in ((0.0, 1.0), (1.0, len(ids)), (0.5, len(ids) ** 0.5)):
        engine = CountingEngine()
        (found,) = score_pairs(engine, vocabularies, [("a", "a bb")], length_penalty=alpha)
        assert found.score == pytest.approx(total / divisor)
        assert found.log_probs == [-float(n) for n in range(1, len(ids) + 1)]
        assert found.tokens == vocabularies.target.tokens(ids)
        assert engine.calls == [([[*vocabularies.source.encode("a"), EOS_ID]], [ids])]


def test_a_source_in_capitals_is_read_as_in_a_search_and_a_target_as_it_is(vocabularies):
    engine = CountingEngine()
    rows = [("RED BIRD", "A")]
    (found,) = score_pairs(engine, vocabularies, rows, length_penalty=1.0)
    source, target = map(vocabularies.source.encode, ("red bird", "A"))
    assert engine.calls == [([[*source, EOS_ID]], [[*target, EOS_ID]])]
    assert found.source == "RED BIRD"


def test_what_is_too_long_is_cut_with_a_warning(vocabularies):
    warnings = []
    rows = [("a", "a"), ("a", "a " * 9), ("a " * 9, "a")]
    engine = CountingEngine()
    found = list(
        score_pairs(engine, vocabularies, rows, length_penalty=1.0, on_warning=warnings.append)
    )
    assert len(found) == 3
    ((sources, targets),) = engine.calls
    assert max(map(len, (*sources, *targets))) == 6
    assert all(row[-1] == EOS_ID for row in (*sources, *targets))
    assert [warning.split(" is ")[0] for warning in warnings] == ["pair 2", "pair 3"]


def test_pairs_are_scored_as_they_are_read(vocabularies, monkeypatch):
    monkeypatch.setattr(translator, "WINDOW_PAIRS", 2)
    read = []

    def endless():
        while True:
            read.append(1)
            yield ("a", "bb")

    scores = score_pairs(CountingEngine(), vocabularies, endless(), length_penalty=1.0)
    for _ in range(3):
        next(scores)
    assert len(read) == 4
