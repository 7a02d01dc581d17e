"""The log of a conversation: what is read back is what was said, whatever happened to the file."""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.errors import DataError
from nmt_cli.terminal.chat_conversation import (
    ConversationLog,
    last_conversation,
    read_turns,
    save_turns,
)

MODEL = Path("/models/chat")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "nmt" / "conversations"


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_exchanges_are_appended_and_taken_back(home):
    log = ConversationLog.new(MODEL)
    log.keep_up([])
    assert not home.exists()
    log.keep_up(["hi", "hello"])
    log.keep_up(["hi", "hello", "안녕", "👍"])
    log.keep_up(["hi", "hello", "안녕", "네"])
    log.keep_up([])
    log.keep_up(["again", "yes"])
    (path,) = home.iterdir()
    header, *rest = records(path)
    assert header["model"] == str(MODEL)
    assert rest == [
        {"user": "hi", "bot": "hello"},
        {"user": "안녕", "bot": "👍"},
        {"keep": 1},
        {"user": "안녕", "bot": "네"},
        {"keep": 0},
        {"user": "again", "bot": "yes"},
    ]
    assert path.stat().st_mode & 0o077 == 0  # nobody else's business
    assert last_conversation() == (path, MODEL, ["again", "yes"])


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
conversations = st.lists(st.tuples(texts, texts), max_size=4)


@settings(max_examples=40)
@given(st.lists(conversations, min_size=1, max_size=6))
def test_any_history_is_read_back(tmp_path_factory, states):
    log = ConversationLog(tmp_path_factory.mktemp("log") / "one.jsonl", MODEL)
    said_anything = False
    for exchanges in states:
        turns = [turn for exchange in exchanges for turn in exchange]
        log.keep_up(turns)
        said_anything = said_anything or bool(turns)
        if said_anything:
            assert read_turns(log.path) == turns


def test_a_crash_loses_the_last_line_at_most(home):
    log = ConversationLog.new(MODEL)
    log.keep_up(["hi", "hello", "안녕", "네"])
    whole = log.path.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for length in range(start, len(whole)):
        log.path.write_bytes(whole[:length])
        _, _, turns = last_conversation()
        assert turns in (["hi", "hello"], ["hi", "hello", "안녕", "네"])
        again = ConversationLog(log.path, MODEL, turns)
        again.keep_up([*turns, "more", "yes"])
        assert read_turns(log.path) == [*turns, "more", "yes"]


def test_the_last_conversation_is_the_one_last_written(home):
    first, second = ConversationLog.new(MODEL), ConversationLog.new(Path("/other"))
    first.keep_up(["a", "b"])
    time.sleep(0.05)
    second.keep_up(["c", "d"])
    assert last_conversation()[1:] == (Path("/other"), ["c", "d"])
    time.sleep(0.05)  # file systems tell times in ticks
    first.keep_up(["a", "b", "e", "f"])
    assert last_conversation()[1:] == (MODEL, ["a", "b", "e", "f"])


def test_without_any_there_is_nothing_to_go_on_with():
    with pytest.raises(DataError, match="no conversation to continue"):
        last_conversation()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "nmt").write_text("a file")
    with pytest.raises(DataError, match="cannot be saved"):
        ConversationLog.new(MODEL).keep_up(["hi", "hello"])


def test_no_conversation_waits_for_the_reader_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"pipe: not a file$"):
        save_turns(tmp_path / "pipe", ["a", "b"])


def test_of_a_file_of_dialogues_the_last_is_loaded(tmp_path):
    path = tmp_path / "talk.jsonl"
    save_turns(path, ["a", "b"])
    path.write_text(path.read_text() + '{"turns": ["c", "d", "e"]}\n')
    assert read_turns(path) == ["c", "d"]  # a bot that has not replied yet has no turn to show
