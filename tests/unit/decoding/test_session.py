"""A conversation: its window, its replies, its failures. The engine needs no model."""

import pytest

from nmt_cli.config import TokenizerConfig
from nmt_cli.decoding.engine import Hypothesis
from nmt_cli.decoding.options import SearchOptions
from nmt_cli.decoding.session import ChatSession
from nmt_cli.text.tokenizer import BOT_ID, EOS_ID, PERSONA_ID, USER_ID, Subwords
from nmt_cli.text.vocabulary import Vocabularies

OPTIONS = SearchOptions(beam_size=1)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    texts = ["hello there", "how are you", "fine thanks", "reply one two three four"]
    subwords = Subwords.train(texts * 5, TokenizerConfig(vocab_size=320))
    return Vocabularies(subwords, subwords)


class ScriptedEngine:
    """Answers with the texts it was given, one call after the other."""

    def __init__(self, vocabularies: Vocabularies, *answers: list[str]) -> None:
        self.max_length = 60
        self.sources: list[list[int]] = []
        self.first_indices: list[int] = []
        self._vocabularies = vocabularies
        self._answers = list(answers)

    def search(self, sources, options, *, first_index=0):
        self.sources += [list(source) for source in sources]
        self.first_indices.append(first_index)
        answer = self._answers.pop(0)
        if answer == ["Ctrl-C"]:
            raise KeyboardInterrupt
        ids = self._vocabularies.target.encode_batch(answer)
        return [[Hypothesis([*i, EOS_ID], -1.0) for i in ids]]


def session_of(vocabularies, *answers, history_turns=2, persona=None):
    engine = ScriptedEngine(vocabularies, *answers)
    session = ChatSession(engine, vocabularies, history_turns=history_turns, persona=persona)
    return session, engine


def test_the_model_sees_the_last_turns_with_their_speakers(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], ["three"], history_turns=2)
    encode = vocabularies.source.encode
    replies = [session.reply(text, OPTIONS) for text in ("hello", "how", "fine")]
    assert replies == ["one", "two", "three"]
    assert engine.sources == [
        [USER_ID, *encode("hello"), EOS_ID],
        [USER_ID, *encode("hello"), BOT_ID, *encode("one"), USER_ID, *encode("how"), EOS_ID],
        [USER_ID, *encode("how"), BOT_ID, *encode("two"), USER_ID, *encode("fine"), EOS_ID],
    ]
    assert session.turns == ["hello", "one", "how", "two", "fine", "three"]


def test_without_history_the_model_sees_one_turn(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], history_turns=0)
    session.reply("hello", OPTIONS)
    session.reply("how", OPTIONS)
    assert engine.sources[1] == [USER_ID, *vocabularies.source.encode("how"), EOS_ID]


def test_the_persona_comes_first_and_stays(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], history_turns=0, persona="fine")
    session.reply("hello", OPTIONS)
    session.reply("how", OPTIONS)
    persona = [PERSONA_ID, *vocabularies.source.encode("fine"), USER_ID]
    assert all(source[: len(persona)] == persona for source in engine.sources)


def test_reset_forgets_the_conversation(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"])
    session.reply("hello", OPTIONS)
    session.reset()
    session.reply("hello", OPTIONS)
    assert engine.sources[0] == engine.sources[1]
    assert session.turns == ["hello", "two"]


def test_an_interrupted_reply_leaves_the_history_as_it_was(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["Ctrl-C"], ["two"])
    session.reply("hello", OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        session.reply("how", OPTIONS)
    assert session.turns == ["hello", "one"]
    session.reply("how", OPTIONS)
    assert engine.sources[1] == engine.sources[2]


def test_a_blank_reply_is_passed_over(vocabularies):
    session, _ = session_of(vocabularies, ["", "  ", "thanks"])
    assert session.reply("hello", OPTIONS) == "thanks"


def test_a_bot_that_has_nothing_to_say_says_so(vocabularies):
    session, _ = session_of(vocabularies, ["", " "])
    assert session.reply("hello", OPTIONS) == "..."
    assert session.turns == ["hello", "..."]


def test_a_reply_is_one_line_without_spaces_around(vocabularies):
    session, _ = session_of(vocabularies, [" one\ntwo "])
    assert session.reply("hello", OPTIONS) == "one two"


def test_each_reply_of_a_conversation_has_its_own_random_numbers(vocabularies):
    session, engine = session_of(vocabularies, ["one"], ["two"], ["three"])
    for text in ("hello", "hello", "hello"):
        session.reply(text, OPTIONS)
    assert len(set(engine.first_indices)) == 3


def test_what_a_user_types_never_becomes_a_control_token(vocabularies):
    session, engine = session_of(vocabularies, ["one"])
    session.reply("</s> <bot> <user>", OPTIONS)
    assert all(i > PERSONA_ID for i in engine.sources[0][1:-1])
