"""Whatever is typed as a search option or a chat command: an answer or one told problem."""

import contextlib
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.errors import ConfigError, NmtError
from nmt_cli.search.chat_session import ChatSession
from nmt_cli.search.ctranslate2_engine import CTranslate2Engine
from nmt_cli.search.options import ChatOptions, SearchOptions, read_settings
from nmt_cli.terminal.chat_commands import NAMES, ChatCommands
from nmt_cli.terminal.chat_conversation import Conversation, ConversationLog
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

LONGEST = 24  # of an output: a step of the toy model costs little, thousands of them do not

numbers = st.one_of(
    st.integers(-3, 12),
    st.integers(-(10**25), 10**25),
    st.floats(),
    st.floats(0, 1),
    st.sampled_from([1e-300, 1e-6, 0.01, 100.0, 300.0, 2.0**31]),
)
values = st.one_of(
    numbers.map(str),
    st.sampled_from(["", "none", "true", "false", "on", "NaN", "-inf", "1_0", "0x1", "٣"]),
    st.text(max_size=8),
)
option_names = st.sampled_from(SearchOptions.names())


@pytest.fixture(scope="module")
def engine_and_vocabularies(toy_bundle):
    bundle = open_bundle(toy_bundle)
    vocabularies = Vocabularies.load(bundle.path)
    longest = bundle.manifest.model["max_length"]
    return CTranslate2Engine(
        bundle.ctranslate2_folder(None), vocabularies, max_length=longest
    ), vocabularies


def _options_of(typed: list[tuple[str, str]]) -> SearchOptions | str:
    """Return the options that were typed, or the problem that is told."""
    try:
        given = read_settings([f"{name}={value}" for name, value in typed], SearchOptions)
        options = SearchOptions(max_length=LONGEST).asked(given)
    except ConfigError as error:
        return str(error)
    return options.override(max_length=min(options.max_length, LONGEST))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    typed=st.lists(st.tuples(option_names, values), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(["red dog", "dog", "x", "red red red"]), max_size=3),
)
def test_no_search_option_makes_anything_but_outputs_or_a_told_problem(
    engine_and_vocabularies, typed, texts
):
    engine, vocabularies = engine_and_vocabularies
    options = _options_of(typed)
    if isinstance(options, str):
        assert any(name in options for name, _ in typed)
        return
    sources = [[*vocabularies.source.encode(text), EOS_ID] for text in texts]
    found = engine.search(sources, options)
    assert len(found) == len(texts)
    for source, hypotheses in zip(sources, found, strict=True):
        assert 1 <= len(hypotheses) <= options.n_best
        limit = options.output_limit(len(source), engine.max_length)
        for hypothesis in hypotheses:
            assert len(hypothesis.ids) <= limit
            assert hypothesis.score == hypothesis.score  # no NaN
            vocabularies.target.decode(hypothesis.ids)


@pytest.fixture(scope="module")
def in_a_folder(tmp_path_factory):
    """Commands may write where they are told to: relative names go into a folder of our own."""
    folder = tmp_path_factory.mktemp("typed")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        yield folder


def _stays_here(argument: str) -> bool:
    """Whether `/save` with this argument writes nowhere but in our folder."""
    return ".." not in argument and (argument[:1] != "/" or argument.startswith("/dev/"))


FILES = ["~nobody/x", "~/x", ".", "-", "x", "x/y/z", "a\0b", "y" * 5000, "😀"]
FILES += ["/dev/null", "/dev/full", "/dev/zero"]
arguments = st.one_of(
    st.text(max_size=20),
    st.tuples(st.sampled_from([*SearchOptions.names(), *ChatOptions.names()]), values).map(
        " ".join
    ),
    st.sampled_from(FILES),
)
commands = st.one_of(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from(NAMES), arguments.filter(_stays_here)).map(" ".join),
    st.text(string.printable, max_size=10).map("/{}".format),
)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(typed=st.lists(commands, min_size=1, max_size=6))
def test_a_conversation_outlives_every_command(engine_and_vocabularies, in_a_folder, typed):
    engine, vocabularies = engine_and_vocabularies
    session = ChatSession(engine, vocabularies, SearchOptions(beam_size=1, max_length=LONGEST))
    log = ConversationLog(in_a_folder / "log.jsonl", in_a_folder)
    conversation = Conversation(session, model=in_a_folder, log=log)
    commands = ChatCommands(conversation, lambda tokens: [*tokens])
    conversation.reply("red dog")
    for line in typed:
        with contextlib.suppress(NmtError):
            commands.run(line)
        limited = min(session.search.max_length, LONGEST)
        session.search = session.search.override(max_length=limited)
        before = len(session.turns)
        reply, _ = conversation.reply("dog")
        assert reply.text
        assert "\n" not in reply.text
        assert len(session.turns) == before + 2
