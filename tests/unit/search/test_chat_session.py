"""A conversation: its window, its replies, its failures. The engine needs no model."""

from dataclasses import replace

import pytest

from nmt_cli.config.schema import ChatConfig, TokenizerConfig
from nmt_cli.errors import ConfigError
from nmt_cli.search.chat_session import ChatSession, Reply
from nmt_cli.search.engine import Hypothesis
from nmt_cli.search.options import ChatOptions, SearchOptions
from nmt_cli.text.special_tokens import BOT_ID, EOS_ID, PERSONA_ID, USER_ID
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

OPTIONS = SearchOptions(beam_size=1)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    texts = ["hello there", "how are you", "fine thanks", "reply one two three four"]
    subwords = Subwords.train(texts * 5, TokenizerConfig(vocab_size=320))
    return Vocabularies(subwords, subwords)


class ScriptedEngine:
    """Answers with the texts it was given, one call after the other.

    A text is likelier after a source that holds all of its words.
    """

    def __init__(self, vocabularies: Vocabularies, *answers: list[str]) -> None:
        self.max_length = 60
        self.sources: list[list[int]] = []
        self.first_indices: list[int] = []
        self.options: list[SearchOptions] = []
        self.is_closed = False
        self._vocabularies = vocabularies
        self._answers = list(answers)

    def search(self, sources, options, *, first_index=0):
        self.sources += [list(source) for source in sources]
        self.first_indices.append(first_index)
        self.options.append(options)
        answer = self._answers.pop(0)
        if answer == ["Ctrl-C"]:
            raise KeyboardInterrupt
        found = [Hypothesis([*i, EOS_ID], -1.0) for i in map(self._encode, answer)]
        return [[one] for one in found] if options.sample else [found]

    def stream(self, source, options, *, index=0):
        """Yield the first of the next texts; "Ctrl-C" in it is one."""
        try:
            (found,) = self.search([source], replace(options, sample=False), first_index=index)
            for piece in found[0].ids:
                yield piece
                if "Ctrl-C" in self._vocabularies.target.decode(found[0].ids):
                    raise KeyboardInterrupt
        finally:
            self.is_closed = True

    def score(self, sources, targets):
        return [
            [-0.1 if piece in source else -1.0 for piece in target]
            for source, target in zip(sources, targets, strict=True)
        ]

    def _encode(self, text: str) -> list[int]:
        return self._vocabularies.target.encode(text)


def session_of(vocabularies, *answers, **options):
    engine = ScriptedEngine(vocabularies, *answers)
    chat_options = ChatOptions(**{"history_turns": 2, **options})
    return ChatSession(engine, vocabularies, OPTIONS, chat_options), engine


def test_the_defaults_are_those_of_the_configuration():
    """A bundle of an older nmt lacks some of them."""
    assert ChatOptions.from_mapping(ChatConfig().model_dump()) == ChatOptions()
    assert ChatOptions.from_mapping({"history_turns": 7, "other": 1}).history_turns == 7


@pytest.mark.parametrize(
    "changes",
    [{"history_turns": -1}, {"rerank": 0}, {"rerank": 65}, {"anti_generic_weight": float("nan")}],
)
def test_an_option_out_of_range_is_named(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        ChatOptions().override(**changes)


def test_the_model_sees_the_last_turns_with_their_speakers(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], ["three"], history_turns=2)
    encode = vocabularies.source.encode
    replies = [session.reply(text).text for text in ("hello", "how", "fine")]
    assert replies == ["one", "two", "three"]
    assert engine.sources == [
        [USER_ID, *encode("hello"), EOS_ID],
        [USER_ID, *encode("how"), BOT_ID, *encode("one"), USER_ID, *encode("hello"), EOS_ID],
        [USER_ID, *encode("fine"), BOT_ID, *encode("two"), USER_ID, *encode("how"), EOS_ID],
    ]
    assert session.turns == ["hello", "one", "how", "two", "fine", "three"]


def test_a_turn_in_capitals_is_read_in_usual_case(vocabularies):
    session, engine = session_of(vocabularies, ["one"])
    session.reply("HOW ARE YOU")
    assert engine.sources == [[USER_ID, *vocabularies.source.encode("how are you"), EOS_ID]]
    assert session.turns == ["HOW ARE YOU", "one"]


@pytest.mark.parametrize("persona", ["", "fine thanks"])
@pytest.mark.parametrize("extra", [0, 1])
def test_a_message_that_loses_its_beginning_is_told(vocabularies, persona, extra):
    session, engine = session_of(vocabularies, ["one"], persona=persona)
    warnings = []
    told = ChatSession(engine, vocabularies, OPTIONS, session.options, on_warning=warnings.append)
    head = len(vocabularies.source.encode(persona)) + 1 if persona else 0
    word = " two"
    room = engine.max_length - 2 - head
    text = "two" + word * (room - 1 + extra)
    length = len(vocabularies.source.encode(text))
    told.reply(text)
    (source,) = engine.sources
    if extra == 0:
        assert length <= room
        assert warnings == []
        assert source[head + 1 : -1] == vocabularies.source.encode(text)
    else:
        assert warnings == [
            f"the message has {length} tokens; the model reads the last {room} of them "
            "(model.max_length is 60)"
        ]
        assert source[head + 1 : -1] == vocabularies.source.encode(text)[-room:]


def test_without_history_the_model_sees_one_turn(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], history_turns=0)
    session.reply("hello")
    session.reply("how")
    assert engine.sources[1] == [USER_ID, *vocabularies.source.encode("how"), EOS_ID]


def test_the_persona_comes_first_and_stays(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], history_turns=0, persona="fine")
    session.reply("hello")
    session.reply("how")
    persona = [PERSONA_ID, *vocabularies.source.encode("fine"), USER_ID]
    assert all(source[: len(persona)] == persona for source in engine.sources)


def test_reset_forgets_the_conversation(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"])
    session.reply("hello")
    session.reset()
    session.reply("hello")
    assert engine.sources[0] == engine.sources[1]
    assert session.turns == ["hello", "two"]


def test_an_interrupted_reply_leaves_the_history_as_it_was(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["Ctrl-C"], ["two"])
    session.reply("hello")
    with pytest.raises(KeyboardInterrupt):
        session.reply("how")
    assert session.turns == ["hello", "one"]
    session.reply("how")
    assert engine.sources[1] == engine.sources[2]


def test_a_blank_reply_is_passed_over(vocabularies):
    session, _ = session_of(vocabularies, ["", "  ", "thanks"])
    assert session.reply("hello") == Reply("thanks", -1.0)


def test_a_blank_reply_is_searched_again_with_a_beam(vocabularies):
    session, engine = session_of(vocabularies, [""], [" ", "thanks"])
    session.search = replace(OPTIONS, sample=True, min_length=0)
    assert session.reply("hello").text == "thanks"
    assert not engine.options[1].sample
    assert engine.options[1].n_best > 1
    assert engine.options[1].min_length == 1


def test_a_bot_that_has_nothing_to_say_says_so(vocabularies):
    session, _ = session_of(vocabularies, ["", " "], ["", ""], [" "], [""])
    assert session.reply("hello") == Reply("...", None)
    assert list(session.stream("hello")) == ["..."]
    assert session.turns == ["hello", "..."] * 2


def test_a_reply_is_one_line_without_spaces_around(vocabularies):
    session, _ = session_of(vocabularies, [" one\ntwo "])
    assert session.reply("hello").text == "one two"


def test_several_lines_are_one_turn(vocabularies):
    session, engine = session_of(vocabularies, ["one"])
    session.reply(" hello\n\n there \r\n")
    assert session.turns[0] == "hello there"
    assert engine.sources == [[USER_ID, *vocabularies.source.encode("hello there"), EOS_ID]]


def test_a_reply_ends_where_it_begins_to_repeat_itself(vocabularies):
    session, _ = session_of(vocabularies, ["one two " * 9], ["one two " * 9])
    assert session.reply("hello").text == "one two one two one two one"
    assert "".join(session.stream("hello")) == "one two one two one two one"


def test_each_reply_of_a_conversation_has_its_own_random_numbers(vocabularies):
    """Also when it takes the place of another, and when each needs several."""
    session, engine = session_of(vocabularies, *[["one"]] * 6)
    session.search = replace(OPTIONS, sample=True)
    list(session.stream("hello"))
    list(session.retry())
    session.options = ChatOptions(rerank=3)
    session.reply("hello")
    session.undo()
    session.options = ChatOptions()
    session.reply("hello")
    session.search = replace(session.search, seed=5)
    session.reply("hello")
    assert engine.first_indices == [0, 1, 2, 5, 0]


def test_a_streamed_reply_comes_in_pieces(vocabularies):
    session, engine = session_of(vocabularies, ["reply one two"], ["three"])
    pieces = list(session.stream("hello"))
    assert len(pieces) > 1
    assert "".join(pieces) == "reply one two"
    assert engine.is_closed
    assert session.turns == ["hello", "reply one two"]
    list(session.stream("how"))
    assert BOT_ID in engine.sources[1]


def test_what_was_seen_of_a_stopped_reply_is_kept(vocabularies):
    session, engine = session_of(vocabularies, ["reply one two"], ["Ctrl-C"], ["reply Ctrl-C"])
    stream = session.stream("hello")
    seen = next(stream)
    stream.close()
    assert engine.is_closed
    assert session.turns == ["hello", seen]
    with pytest.raises(KeyboardInterrupt):  # before any piece
        list(session.stream("how"))
    assert session.turns[2:] == []
    stream = session.stream("fine")
    seen = next(stream)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert session.turns[2:] == ["fine", seen]


def test_retry_replaces_the_last_reply_and_sees_nothing_of_it(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], ["three"], ["Ctrl-C"])
    session.reply("hello")
    session.reply("how")
    assert "".join(session.retry()) == "three"
    assert session.turns == ["hello", "one", "how", "three"]
    assert engine.sources[1] == engine.sources[2]
    with pytest.raises(KeyboardInterrupt):
        list(session.retry())
    assert session.turns == ["hello", "one", "how", "three"]


def test_undo_takes_back_a_turn_of_both(vocabularies):
    session, _ = session_of(vocabularies, ["one"], ["two"])
    session.reply("hello")
    session.reply("how")
    assert session.undo()
    assert session.turns == ["hello", "one"]
    assert session.undo()
    assert not session.undo()


@pytest.mark.parametrize("sample", [False, True])
def test_of_several_candidates_the_least_generic_is_said(vocabularies, sample):
    """Both fit as well; "fine" is likely without any context, too."""
    texts = ["reply", "hello there", "reply", " "]
    session, engine = session_of(vocabularies, texts, texts, rerank=4, anti_generic_weight=0.5)
    session.search = replace(OPTIONS, sample=sample)
    assert session.reply("hello there reply").text == "hello there"
    assert list(session.stream("hello there reply")) == ["hello there"]
    if sample:
        assert len(engine.sources) == 8
    else:
        assert engine.options[0].n_best == engine.options[0].beam_size == 4


def test_the_rank_is_the_formula(vocabularies):
    session, _ = session_of(vocabularies, anti_generic_weight=0.3, rerank=2)
    encode = vocabularies.target.encode
    source = session._source(["hello there"])
    candidates = [Hypothesis([*encode(text), EOS_ID], -1.0) for text in ("reply one", "hello")]
    by_rank = session._ranked(source, candidates)
    nothing = [USER_ID, EOS_ID]

    def log_prob(context, target):
        return sum(-0.1 if piece in context else -1.0 for piece in target)

    def rank(hypothesis):
        target = hypothesis.ids
        both = log_prob(source, target) - 0.3 * log_prob(nothing, target)
        return both / len(target)

    assert by_rank == sorted(candidates, key=rank, reverse=True)
    assert rank(by_rank[0]) > rank(by_rank[1])


def test_what_a_user_types_never_becomes_a_control_token(vocabularies):
    session, engine = session_of(vocabularies, ["one"])
    session.reply("</s> <bot> <user>")
    assert all(i > PERSONA_ID for i in engine.sources[0][1:-1])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["top_k=5", "sample=false"], "top_k: no effect with sample=false"),
        (["beam_size=4", "top_k=5"], "beam_size 4 cannot be combined with sampling"),
        (["anti_generic_weight=0.4"], "anti_generic_weight: no effect with rerank=1"),
        (["length_penalty=2"], "length_penalty: no effect without a beam"),
        (["n_best=2"], "n_best: unknown option"),
        (["history_turns=1" + "0" * 20], "history_turns must be 0 to 2147483647"),
    ],
)
def test_options_without_effect_are_told_and_none_changes(vocabularies, settings, told):
    session, _ = session_of(vocabularies)
    before = session.settings()
    for some in (settings, settings[::-1]):
        with pytest.raises(ConfigError, match=told):
            session.set("max_length=9", *some)
        assert session.settings() == before


def test_options_are_set_together(vocabularies):
    session, _ = session_of(vocabularies)
    changed = session.set("anti_generic_weight=0.4", "length_penalty=2", "rerank=4")
    assert changed == {"rerank": 4, "anti_generic_weight": 0.4, "length_penalty": 2.0}
    assert session.set("top_k 5") == {"sample": True, "top_k": 5}
    assert session.set(temperature=0.0) == {"sample": False}
