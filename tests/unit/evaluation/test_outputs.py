"""Decoding and scoring of development text, with an engine that needs no model."""

import math

import pytest

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.evaluation.outputs import (
    Sample,
    collapse_warning,
    decode_examples,
    perplexity,
    samples_of,
    score_outputs,
)
from nmt_cli.search.engine import Hypothesis, Searcher
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import Encoder
from nmt_cli.text.special_tokens import BOT_ID, EOS_ID, USER_ID
from nmt_cli.text.tokenizer import Subwords

OPTIONS = SearchOptions(beam_size=1)


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    texts = ["the old dog sees a bird", "der alte hund", "hello there"]
    return Subwords.train(texts * 5, TokenizerConfig(vocab_size=320, lowercase=True))


def encoder(subwords, *, is_chat: bool) -> Encoder:
    return Encoder(subwords, subwords, is_chat=is_chat, persona=None, max_length=30)


class EchoEngine(Searcher):
    max_length = 30

    def __init__(self):
        self.sources = []

    def search(self, sources, options, *, first_index=0):
        self.sources += [list(source) for source in sources]
        return [[Hypothesis(list(source), -1.0)] for source in sources]


def test_translations_come_in_the_order_of_the_examples(subwords):
    examples = [Example((text,), "x") for text in ("the old dog", "a", "the bird sees", "dog")]
    outputs = decode_examples(EchoEngine(), encoder(subwords, is_chat=False), examples, OPTIONS)
    assert outputs == ["the old dog", "a", "the bird sees", "dog"]


def test_replies_are_to_the_whole_conversation(subwords):
    examples = [Example(("hello", "there", "dog"), "x"), Example(("the bird",), "y")]
    engine = EchoEngine()
    outputs = decode_examples(engine, encoder(subwords, is_chat=True), examples, OPTIONS)
    hello, there, dog = subwords.encode_batch(["hello", "there", "dog"])
    conversation = [USER_ID, *dog, BOT_ID, *there, USER_ID, *hello, EOS_ID]
    assert conversation in engine.sources
    assert [output.split() for output in outputs] == [["dog", "there", "hello"], ["the", "bird"]]


def test_references_are_written_as_the_vocabulary_writes(subwords):
    """This one folds case, so an output in small letters is right."""
    examples = [Example(("a",), "Der alte Hund sieht.")] * 2
    scores = score_outputs(["der alte hund sieht."] * 2, examples, subwords, "de")
    assert set(scores) == {"bleu", "chrf"}
    assert scores["bleu"].score == pytest.approx(100)
    assert "case:mixed" in scores["bleu"].signature


def test_the_target_language_decides_how_words_are_split(subwords):
    examples = [Example(("a",), "der hund")]
    scores = score_outputs(["der hund"], examples, subwords, "ko")
    assert "tok:char" in scores["bleu"].signature


def test_samples_are_spread_and_the_same_each_time():
    examples = [Example((f"source {i}", "turn"), f"reference {i}") for i in range(8)]
    for time in ("first", "last"):
        found = samples_of([f"{time} output {i}" for i in range(8)], examples)
        assert found == [
            Sample(f"source {i} / turn", f"{time} output {i}", f"reference {i}")
            for i in (0, 2, 4, 6)
        ]


def test_a_single_example_is_sample_enough():
    assert samples_of(["out"], [Example(("in",), "ref")]) == [Sample("in", "out", "ref")]


def test_many_equal_outputs_are_told_with_their_share():
    different = [f"sentence {i}" for i in range(100)]
    assert collapse_warning(different) is None
    assert collapse_warning(["yes"] * 25 + different) is None  # exactly a fifth
    warning = collapse_warning(["yes"] * 26 + different)
    assert warning == "21% of the outputs are the same: 'yes'"


def test_many_outputs_in_a_loop_are_told():
    different = [f"sentence {i}" for i in range(16)]
    loops = [f"{i} {i} {i} {i}" for i in range(5)]
    assert collapse_warning(loops[:4] + different) is None
    warning = collapse_warning(loops + different)
    assert warning == "24% of the outputs repeat themselves: '0 0 0 0'"


def test_a_handful_of_outputs_says_nothing():
    assert collapse_warning(["yes"] * 19) is None
    assert collapse_warning([]) is None


class ScoringEngine(EchoEngine):
    """Gives each token a probability of one in as many as the target is long."""

    def score(self, sources, targets):
        return [[-math.log(len(target))] * len(target) for target in targets]


def test_perplexity_is_that_of_all_tokens_together(subwords):
    texts = ["hello", "the old dog sees a bird"]
    lengths = [len(subwords.encode(text)) + 1 for text in texts]
    examples = [Example(("hello",), text) for text in texts]
    found = perplexity(ScoringEngine(), encoder(subwords, is_chat=True), examples)
    weighted = sum(n * math.log(n) for n in lengths) / sum(lengths)
    assert found == pytest.approx(math.exp(weighted))


def test_perplexity_leaves_out_what_the_model_cannot_hold(subwords):
    short, long = Example(("hello",), "dog"), Example(("hello",), "the old dog " * 30)
    found = perplexity(ScoringEngine(), encoder(subwords, is_chat=True), [short, long])
    assert found == pytest.approx(len(subwords.encode("dog")) + 1)
    assert perplexity(ScoringEngine(), encoder(subwords, is_chat=True), [long]) is None
