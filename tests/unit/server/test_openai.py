"""Tests of nmt_cli/server/openai.py: stops, conversations, and what a request may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.server.openai import ChatBody, Message, _before_stop, _conversation
from nmt_cli.server.requests import RequestError, checked


@given(
    st.text("abc", max_size=30),
    st.lists(st.text("abc", min_size=1, max_size=4), max_size=3),
    st.data(),
)
def test_a_stop_is_found_however_the_reply_is_cut(text, stops, data):
    sent, rest, over = "", text, False
    held = ""
    while rest and not over:
        size = data.draw(st.integers(1, len(rest)))
        ready, held, over = _before_stop(held + rest[:size], stops)
        sent, rest = sent + ready, rest[size:]
    if not over:
        sent += held
    ends = [text.find(stop) for stop in stops if stop in text]
    if not ends:
        assert sent == text
    else:  # a shorter stop may be complete before a longer one that begins earlier
        assert text.startswith(sent)
        assert not any(stop in sent for stop in stops)
        assert any(text.startswith(stop, len(sent)) for stop in stops)


def test_a_stop_that_is_longer_than_the_reply_costs_nothing():
    """Looking for each of its beginnings held the whole server for minutes."""
    stop = "a" * 2_000_000
    assert _before_stop("baa", [stop, "c"]) == ("b", "aa", False)


def talk(*turns):
    return [Message(role=role, content=text) for role, text in turns]


def test_turns_alternate_and_system_texts_become_the_persona():
    messages = talk(("system", "Be kind."), ("user", "a"), ("user", "b"), ("assistant", "c"))
    assert _conversation([*messages, *talk(("user", "d"))]) == (["a b", "c", "d"], "Be kind.")
    assert _conversation(talk(("assistant", "hi"), ("user", "a"))) == (["a"], None)


@pytest.mark.parametrize("turns", [[("user", "a"), ("assistant", "b")], [("system", "a")]])
def test_the_last_word_is_the_users(turns):
    with pytest.raises(RequestError, match="the user's"):
        _conversation(talk(*turns))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"messages": []},
        {"messages": "hello"},
        {"messages": [{"role": "robot", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x"}], "temperature": "hot"},
        {"messages": [{"role": "user", "content": "x"}], "temperature": float("nan")},
        {"messages": [{"role": "user", "content": "x"}], "n": 10**30},
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 0},
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 10**30},
    ],
)
def test_what_cannot_be_is_named(values):
    with pytest.raises(RequestError) as refused:
        checked(ChatBody, values)
    assert refused.value.status == 400
    assert refused.value.param == list(values or {"messages": 0})[-1]


def test_parts_of_a_message_that_are_no_text_are_passed_over():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]
    assert Message.model_validate({"role": "user", "content": parts}).text == "a"
