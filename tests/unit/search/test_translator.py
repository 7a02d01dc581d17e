"""Lines -> translations, with an engine that needs no model."""

from collections.abc import Sequence

import pytest

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.search import translator
from nmt_cli.search.engine import Hypothesis
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translation, Translator, one_line, suppressed_ids
from nmt_cli.text.sentences import Splitter
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

OPTIONS = SearchOptions(beam_size=1)
WORDS = ("a", "bb", "the old dog sees a red bird", "one two three")


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    subwords = Subwords.train(list(WORDS) * 5, TokenizerConfig(vocab_size=320))
    return Vocabularies(subwords, subwords)


class EchoEngine:
    """Answers each source with itself; remembers what it was asked."""

    def __init__(self, max_length: int = 50) -> None:
        self.max_length = max_length
        self.batches: list[list[list[int]]] = []
        self.first_indices: list[int] = []

    def search(
        self, sources: Sequence[Sequence[int]], options: SearchOptions, *, first_index: int = 0
    ) -> list[list[Hypothesis]]:
        self.batches.append([list(source) for source in sources])
        self.first_indices.append(first_index)
        return [self.answer(list(source), options) for source in sources]

    def begin(self, sources, options, *, first_index=0):
        found = self.search(sources, options, first_index=first_index)
        return lambda: found

    def answer(self, source: list[int], options: SearchOptions) -> list[Hypothesis]:
        return [Hypothesis(source, -float(len(source) + rank)) for rank in range(options.n_best)]


class FixedEngine(EchoEngine):
    """Gives the same hypotheses to every source."""

    def __init__(self, hypotheses: list[Hypothesis], max_length: int = 50) -> None:
        super().__init__(max_length)
        self.hypotheses = hypotheses

    def answer(self, source: list[int], options: SearchOptions) -> list[Hypothesis]:
        return self.hypotheses


def translate(engine, vocabularies, lines, options=OPTIONS, warnings=None) -> list[Translation]:
    told = [] if warnings is None else warnings
    translator = Translator(engine, vocabularies, on_warning=told.append)
    return list(translator.translate(lines, options))


def test_every_line_gives_its_translation_in_order(vocabularies):
    lines = ["one two three", "a", "the old dog", "bb", "a", "red bird one two"]
    found = translate(EchoEngine(), vocabularies, lines)
    assert [t.source for t in found] == lines
    assert [t.hypotheses[0].text for t in found] == lines


def test_a_line_in_capitals_is_read_in_usual_case(vocabularies):
    (found,) = translate(EchoEngine(), vocabularies, [" THE OLD DOG SEES A RED BIRD "])
    assert found.source == " THE OLD DOG SEES A RED BIRD "
    assert found.text == " the old dog sees a red bird "


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u3000"])
def test_a_blank_line_stays_blank_without_asking(vocabularies, blank):
    engine = EchoEngine()
    found = translate(engine, vocabularies, ["a", blank, "bb"])
    assert [t.hypotheses[0].text for t in found] == ["a", blank, "bb"]
    assert found[1].hypotheses[0].tokens == []
    assert sum(map(len, engine.batches)) == 2


def test_no_line_gives_no_translation(vocabularies):
    engine = EchoEngine()
    assert translate(engine, vocabularies, []) == []
    assert translate(engine, vocabularies, [""])[0].hypotheses[0].text == ""
    assert engine.batches == []


@pytest.mark.parametrize("answer", [[EOS_ID], []])
def test_an_answer_without_text_is_replaced_by_the_source(vocabularies, answer):
    found = translate(FixedEngine([Hypothesis(answer, -1.0)]), vocabularies, ["a bb"])
    assert found[0].hypotheses[0].text == "a bb"


def test_of_the_hypotheses_only_those_with_text_are_given(vocabularies):
    ids = vocabularies.target.encode("bb")
    engine = FixedEngine([Hypothesis([EOS_ID], -0.1), Hypothesis([*ids, EOS_ID], -0.2)])
    found = translate(engine, vocabularies, ["a"], SearchOptions(beam_size=2, n_best=2))
    assert [(h.text, h.score) for h in found[0].hypotheses] == [("bb", -0.2)]


def test_hypotheses_carry_scores_and_tokens(vocabularies):
    found = translate(EchoEngine(), vocabularies, ["a bb"], SearchOptions(beam_size=3, n_best=3))
    ids = [*vocabularies.source.encode("a bb"), EOS_ID]
    assert [h.score for h in found[0].hypotheses] == [-len(ids) - rank for rank in (0.0, 1.0, 2.0)]
    assert found[0].hypotheses[0].tokens == [*vocabularies.source.tokens(ids[:-1]), "</s>"]


def test_a_line_longer_than_the_model_reads_is_cut_and_joined(vocabularies):
    engine, warnings = EchoEngine(max_length=5), []
    line = "one two three the old dog sees a red bird"
    tokens = vocabularies.source.encode(line)

    found = translate(engine, vocabularies, ["a", line], warnings=warnings)

    cuts = [source for batch in engine.batches for source in batch]
    assert max(map(len, cuts)) == 5
    assert all(cut[-1] == EOS_ID for cut in cuts)
    assert len(cuts) == 1 + -(-len(tokens) // 4)
    text = found[1].hypotheses[0].text
    assert text.split() == line.split()
    (warning,) = warnings
    assert warning.startswith(
        f"line 2 has a sentence of {len(tokens)} tokens; it is translated in parts of 4"
    )
    assert "model.max_length is 5" in warning


def test_a_line_that_just_fits_is_not_cut(vocabularies):
    line = "the old dog"
    length = len(vocabularies.source.encode(line)) + 1
    warnings = []
    engine = EchoEngine(max_length=length)
    translate(engine, vocabularies, [line], warnings=warnings)
    assert (len(engine.batches[0]), warnings) == (1, [])


def test_cuts_with_different_numbers_of_hypotheses_are_joined_rank_by_rank(vocabularies):
    """A cut with fewer hypotheses gives its last one to the ranks beyond."""

    class Uneven(EchoEngine):
        def answer(self, source, options):
            best = [Hypothesis(source, -1.0)]
            return best if len(source) < self.max_length else [*best, Hypothesis(source, -3.0)]

    line = "one two three"
    room = len(vocabularies.source.encode(line)) - 1  # a full first cut and a rest of one token
    found = translate(Uneven(max_length=room + 1), vocabularies, [line])
    assert [h.score for h in found[0].hypotheses] == [-1.0, -2.0]  # means over the two cuts


def test_line_ends_that_a_model_writes_become_spaces(vocabularies):
    """A line is written to a file of lines, so it must stay one."""
    subwords = vocabularies.target
    for end in ("\n", "\r"):
        ids = subwords.encode(f"a{end}bb")
        assert subwords.decode(ids) == f"a{end}bb"
        assert one_line(subwords, ids) == "a bb"


def test_an_endless_input_is_translated_as_it_comes(vocabularies, monkeypatch):
    """Lines are read in windows: the first answers come before the last line is read."""
    monkeypatch.setattr(translator, "_MAX_LINES", 4)
    read = 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield "a bb"

    answers = Translator(EchoEngine(), vocabularies).translate(endless(), OPTIONS)
    for _ in range(6):
        assert next(answers).hypotheses[0].text == "a bb"
    assert read == 12  # the window after the one that is being finished is begun


def test_the_next_window_is_begun_before_the_last_one_is_finished(vocabularies):
    order = []

    class Remembering(EchoEngine):
        def begin(self, sources, options, *, first_index=0):
            order.append(f"begin {first_index}")
            found = super().begin(sources, options, first_index=first_index)

            def finish():
                order.append(f"finish {first_index}")
                return found()

            return finish

    given = [["a"], ["bb", "a"], [], ["a"], ["", " "], ["a"]]
    found = Translator(Remembering(), vocabularies).translate_windows(given, OPTIONS)
    assert [t.source for t in found] == ["a", "bb", "a", "a", "", " ", "a"]
    expected = "begin 1, begin 2, finish 1, finish 2, begin 4, finish 4, begin 7, finish 7"
    assert ", ".join(order) == expected


def test_line_numbers_count_over_windows(vocabularies, monkeypatch):
    monkeypatch.setattr(translator, "_MAX_LINES", 2)
    warnings = []
    translate(EchoEngine(4), vocabularies, ["a", "", "a", "a", WORDS[2]], warnings=warnings)
    assert warnings[0].startswith("line 5 ")


def test_white_space_around_a_line_is_kept(vocabularies):
    found = translate(EchoEngine(), vocabularies, ["  a bb \t", "\u3000a"])
    assert [t.hypotheses[0].text for t in found] == ["  a bb \t", "\u3000a"]
    assert [len(part.source) for part in found[1].hypotheses[0].parts] == [
        len(vocabularies.source.encode("a")) + 1
    ]


def split_with(vocabularies, engine, lines, longest, options=OPTIONS):
    translator = Translator(engine, vocabularies, splitter=Splitter("en", longest))
    return [t.hypotheses[0] for t in translator.translate(lines, options)]


def test_a_long_line_is_split_into_sentences_and_joined_as_it_was(vocabularies):
    engine = EchoEngine(max_length=200)
    line = " The old dog sees.  A bird sees the dog!\u3000One two three. "
    (found,) = split_with(vocabularies, engine, [line], longest=5)
    assert found.text == line
    sentences = ["The old dog sees.", "A bird sees the dog!", "One two three."]
    expected = [[*vocabularies.source.encode(s), EOS_ID] for s in sentences]
    assert [part.source for part in found.parts] == expected == engine.batches[0]


def test_a_line_of_usual_length_stays_whole(vocabularies):
    engine = EchoEngine(max_length=200)
    line = "The old dog sees. A bird."
    length = len(vocabularies.source.encode(line)) + 1
    split_with(vocabularies, engine, [line], longest=length)
    split_with(vocabularies, engine, [line], longest=length - 1)
    assert [len(batch) for batch in engine.batches] == [1, 2]


def test_a_prefix_begins_the_line_and_not_its_other_sentences(vocabularies):
    class Remembering(EchoEngine):
        def search(self, sources, options, *, first_index=0):
            self.first_indices.append((options.prefix, len(sources)))
            return [self.answer(list(source), options) for source in sources]

    engine = Remembering(max_length=200)
    options = SearchOptions(beam_size=1, prefix=(9,))
    lines = ["A dog sees. A bird sees. The dog.", "", "The bird sees. A dog."]
    found = split_with(vocabularies, engine, lines, longest=2, options=options)
    assert [hypothesis.text for hypothesis in found] == lines
    assert engine.first_indices == [((9,), 2), ((), 3)]


def test_suppressed_words_are_found_after_spaces_and_after_punctuation(vocabularies):
    subwords = vocabularies.target
    rows = suppressed_ids(subwords, ["dog", " ", ""])
    written = {subwords.decode([*subwords.encode("a("), *row]) for row in rows}
    assert written == {"a( dog", "a(dog"}
