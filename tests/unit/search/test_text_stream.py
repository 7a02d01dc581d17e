"""Ids one by one give the text of all of them, never half a character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.search.chat_session import TextStream
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS
from nmt_cli.text.tokenizer import Subwords

SUBWORDS = Subwords.train(
    ["hello there", "안녕하세요", "a ▁ b"] * 5, TokenizerConfig(vocab_size=320)
)
FIRST_BYTE = SUBWORDS.ids(BYTE_TOKENS)[0]


def pieces_of(ids: list[int]) -> list[str]:
    stream = TextStream(SUBWORDS)
    pieces = [stream.add(i) for i in ids]
    assert "".join(pieces) == stream.text
    return pieces


def as_bytes(text: bytes) -> list[int]:
    return [FIRST_BYTE + byte for byte in text]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_the_pieces_make_up_the_text(text):
    whole = SUBWORDS.decode(SUBWORDS.encode(text)).strip()
    assert "".join(pieces_of(SUBWORDS.encode(text))) == whole.removesuffix("\ue000").rstrip()


@given(st.lists(st.integers(0, SUBWORDS.vocab_size - 1), max_size=30))
def test_whatever_the_ids_the_text_is_one_line_of_whole_characters(ids):
    text = "".join(pieces_of(ids))
    assert "\ufffd" not in text
    assert "\n" not in text
    assert "\x1b" not in text
    assert text == text.strip()
    assert not any(token in text for token in CONTROL_TOKENS)


@pytest.mark.parametrize("character", ["나", "é", "😀", "漢"])
def test_a_character_comes_with_its_last_byte(character):
    *early, last = pieces_of(as_bytes(character.encode()))
    assert early == [""] * len(early)
    assert last == character


def test_bytes_that_make_no_character_are_left_out():
    broken = [*as_bytes("가".encode()), *as_bytes("나".encode()[:2]), *as_bytes("é".encode())]
    assert "".join(pieces_of(broken)) == "가é"
    assert "".join(pieces_of([*as_bytes(b"\xed\xff"), *SUBWORDS.encode("hello")])) == "hello"


def test_space_is_held_back_until_something_follows():
    hello, there = SUBWORDS.encode("hello"), SUBWORDS.encode(" there")
    space = SUBWORDS.encode(" ")
    assert "".join(pieces_of([*space, *hello, *space])) == "hello"
    assert "".join(pieces_of([*hello, *space, *there])).split() == ["hello", "there"]


def test_what_a_terminal_would_obey_becomes_a_space():
    assert "".join(pieces_of([*as_bytes(b"a\x1b[2Jb\r\nc\x00"), *as_bytes(b"d")])) == "a [2Jb  c d"
