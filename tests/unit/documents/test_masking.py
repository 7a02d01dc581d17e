"""Masked texts: where signs stand, that all words come back once, and what repairs a search."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.documents.inline import Alignment, Inline, Mark
from nmt_cli.documents.masking import MarkedTranslator, Masked
from nmt_cli.documents.protected import protected, protector
from nmt_cli.search.engine import Hypothesis
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.special_tokens import EOS_ID, PLACEHOLDERS, SIGNS
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

A, B, C = SIGNS[:3]
WORDS = protector(["numbers"])


def _masked(text):
    return Masked.of(protected(text, WORDS))


def _same(text):
    return Alignment([(word, word) for word in range(len(text.split()))])


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("see https://x.org/a, {name}!", f"see {A}, {B}!"),
        ("a {x}red%s car", f"a {A} red {B} car"),  # letters are kept apart
        ("{a}{b} and %s%s", f"{A} and {B}"),  # what stands side by side stays so
        ("use ``x = 1`` 12 times", f"use {A} {B} times"),
        ("no word stays", "no word stays"),
        (f"a sign {A} of {{name}}", f"a sign {A} of {{name}}"),
        (" ".join("{x}" for _ in range(10)), " ".join([*SIGNS, "{x}", "{x}"])),
    ],
)
def test_signs_stand_for_words(text, masked):
    found = _masked(text)
    assert found.inline.text == masked
    assert found.filled(masked, _same(masked)).text == text


def test_spaces_that_only_kept_letters_apart_go_again():
    masked = _masked("a {x}red{y} car")
    assert masked.filled(f"ein {B} Auto {A} rotes", Alignment()).text == "ein{y} Auto {x}rotes"
    assert masked.filled(f"ein {A} rotes {B} Auto", Alignment()).text == "ein {x}rotes{y} Auto"


def test_markup_follows_its_words_around_signs():
    text = "see {x} in red"
    inline = Inline(text, [Mark(0, 7, "<i>", "</i>"), Mark(4, 7, is_kept=True, depth=1)])
    masked = Masked.of(inline)
    filled = masked.filled(f"in rot {A} sehen", Alignment([(0, 3), (1, 2), (2, 0), (3, 1)]))
    assert filled.text == "in rot <i>{x} sehen</i>"
    assert filled.guessed == []


def test_what_is_lost_is_put_back_and_told():
    filled = _masked("see {x} in %s").filled(f"sieh in {A}", Alignment([(0, 0), (2, 1)]))
    assert (filled.text, filled.guessed) == ("sieh in %s {x}", ["%s"])


_pieces = st.sampled_from(
    ["{x}", "%s", "$(b)", "12", "https://a.b/c", "``a b``", " ", " ", "wo", "é.", "(", "{y z}"]
)
_outputs = st.lists(st.sampled_from([*SIGNS[:4], " ", "wort", "12", ".", "("]), max_size=14)
_pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=10)


@settings(max_examples=400)
@given(st.lists(_pieces, max_size=14).map("".join), _outputs.map("".join), _pairs)
def test_every_span_is_there_in_any_output(text, output, pairs):
    inline = protected(text, WORDS)
    masked = Masked.of(inline)
    filled = masked.filled(output, Alignment(pairs))
    spans = [text[mark.start : mark.end] for mark in inline.marks]
    for span in spans:
        assert filled.text.count(span) >= spans.count(span)
    if masked.kept:
        assert not any(sign in filled.text + "".join(filled.guessed) for sign in SIGNS)
    if (
        len(masked.inline.marks) == len(masked.kept) > 0
    ):  # and all else that was written is there, too
        words = [char for char in output if char not in SIGNS and char != " "]
        kept = [char for one in masked.kept.values() for char in one.words if char != " "]
        assert sorted(filled.text.replace(" ", "")) == sorted(words + kept)


@given(st.lists(_pieces, max_size=14).map("".join))
def test_a_text_that_does_not_change_is_as_it_was(text):
    masked = _masked(text)
    assert masked.filled(masked.inline.text, _same(masked.inline.text)).text == text


# --- a search that loses placeholders -------------------------------------------------------------

LINES = ["see the red car now", "siehe das rote auto jetzt"] * 20
SUBWORDS = Subwords.train(LINES, TokenizerConfig(vocab_size=360), (), PLACEHOLDERS)


class _Engine:
    """Writes for any source the outputs it has for a beam, best first."""

    max_length = 100

    def __init__(self, outputs):
        self.outputs = outputs  # beam size -> texts with digits for placeholders
        self.asked = []

    def begin(self, sources, options, *, first_index=0):
        del first_index
        self.asked.append(options)
        best = self.outputs[options.beam_size][: options.n_best]
        return lambda: [[Hypothesis(self._ids(text), 0.0) for text in best] for _ in sources]

    def attention(self, sources, targets):
        pairs = zip(sources, targets, strict=True)
        return [[[1 / len(s)] * len(s) for _ in t] for s, t in pairs]

    def _ids(self, text):
        rows = [
            [SUBWORDS.placeholders[int(word) - 1]] if word.isdigit() else SUBWORDS.encode(word)
            for word in text.split()
        ]
        return [i for row in rows for i in row] + [EOS_ID]


def _translate(outputs, text, **options):
    engine, known = _Engine(outputs), Vocabularies(SUBWORDS, SUBWORDS)
    model = SimpleNamespace(
        engine=engine, vocabularies=known, translator=lambda **_: Translator(engine, known)
    )
    translator = MarkedTranslator(model, SearchOptions(beam_size=2, n_best=1, **options))
    return translator.translate([protected(text, WORDS)])[0], engine


def test_the_first_hypothesis_with_all_of_them_is_taken():
    (found, filled), engine = _translate({2: ["das auto", "siehe 1 jetzt 2"]}, "see {x} now %s")
    assert [one.text for one in filled] == ["siehe{x} jetzt%s"]
    assert (len(found), len(engine.asked)) == (1, 1)
    assert found[0].tokens.count("<placeholder1>") == 1


def test_a_wider_search_looks_for_what_is_lost():
    outputs = {2: ["siehe 1 1", "jetzt"], 8: ["das 1", "das 2 rote 1"]}
    (_, filled), engine = _translate(outputs, "see {x} now %s")
    assert [options.beam_size for options in engine.asked] == [2, 8]
    assert (filled[0].text, filled[0].guessed) == ("das%s rote{x}", [])


def test_what_no_search_finds_is_put_back():
    outputs = {2: ["siehe 1 1 3", "jetzt"], 8: ["das"]}
    (_, filled), _ = _translate(outputs, "see {x} now %s")
    assert [filled[0].text.count(one) for one in ("{x}", "%s")] == [1, 1]
    assert filled[0].guessed in ([], ["%s"])


def test_a_text_without_words_to_keep_never_gets_a_placeholder():
    (_, filled), engine = _translate({2: ["das auto"]}, "see the car")
    assert filled[0].text == "das auto"
    assert engine.asked[-1].suppressed == tuple((i,) for i in SUBWORDS.placeholders)
