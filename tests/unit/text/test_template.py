"""Tests of nmt_cli/text/template.py: a conversation as one sequence."""

import pytest

from nmt_cli.text.special_tokens import BOT_ID, EOS_ID, PERSONA_ID, USER_ID
from nmt_cli.text.template import EARLIEST_TURN, join_turns, joiner, turns_ago

U, B, P, E = USER_ID, BOT_ID, PERSONA_ID, EOS_ID
TURNS = [[11], [21, 22], [31, 32, 33]]


def test_the_four_marks_differ():
    assert len({U, B, P, E}) == 4
    assert max(U, B, P, E) < 6  # control ids: no text can make them


def test_speakers_alternate_from_the_last_turn_on_which_is_the_users():
    assert join_turns(TURNS, persona=[], max_length=99) == [U, 31, 32, 33, B, 21, 22, U, 11, E]
    assert join_turns(TURNS[1:], persona=[], max_length=99) == [U, 31, 32, 33, B, 21, 22, E]
    assert join_turns([[11]], persona=[], max_length=99) == [U, 11, E]


def test_a_persona_comes_first():
    assert join_turns([[11]], persona=[7, 8], max_length=99) == [P, 7, 8, U, 11, E]


@pytest.mark.parametrize(
    ("max_length", "expected"),
    [
        (10, [U, 31, 32, 33, B, 21, 22, U, 11, E]),
        (9, [U, 31, 32, 33, B, 21, 22, E]),
        (8, [U, 31, 32, 33, B, 21, 22, E]),
        (7, [U, 31, 32, 33, E]),
        (5, [U, 31, 32, 33, E]),
        (4, [U, 32, 33, E]),
        (3, [U, 33, E]),
        (2, [U, E]),
    ],
)
def test_early_turns_that_do_not_fit_are_left_out(max_length, expected):
    assert join_turns(TURNS, persona=[], max_length=max_length) == expected


def test_no_turn_is_left_out_between_two_that_stay():
    turns = [[11], [21] * 10, [31]]
    assert join_turns(turns, persona=[], max_length=8) == [U, 31, E]  # though [11] would fit


def test_the_persona_stays_when_turns_are_cut():
    assert join_turns(TURNS, persona=[7], max_length=10) == [P, 7, U, 31, 32, 33, B, 21, 22, E]
    assert join_turns(TURNS, persona=[7], max_length=6) == [P, 7, U, 32, 33, E]


def test_a_long_persona_takes_half_of_the_room_at_most():
    joined = join_turns([[11] * 50], persona=[7] * 50, max_length=10)
    assert joined == [P, 7, 7, 7, 7, U, 11, 11, 11, E]


@pytest.mark.parametrize("persona", [0, 1, 5, 40])
@pytest.mark.parametrize("max_length", range(2, 30))
def test_the_result_is_never_too_long(persona, max_length):
    turns = [[10] * 7, [10] * 3, [10] * 12]
    joined = join_turns(turns, persona=[9] * persona, max_length=max_length)
    assert len(joined) <= max_length
    assert joined[-1] == E


def test_an_empty_turn_keeps_its_speaker():
    assert join_turns([[], [21], []], persona=[], max_length=99) == [U, B, 21, U, E]


def test_no_turns_give_the_end_alone():
    assert join_turns([], persona=[], max_length=9) == [E]


def test_the_turn_of_each_token_is_counted_from_the_newest():
    joined = join_turns(TURNS, persona=[7], max_length=99)
    assert joined == [P, 7, U, 31, 32, 33, B, 21, 22, U, 11, E]
    assert turns_ago(joined) == [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert turns_ago([]) == []


def test_turns_long_ago_count_alike():
    joined = join_turns([[10 + number] for number in range(9)], persona=[], max_length=99)
    assert joined[:2] == [U, 18]
    assert turns_ago(joined)[:8:2] == [0, 1, 2, EARLIEST_TURN]
    assert set(turns_ago(joined)[8:]) == {EARLIEST_TURN}


class Between:
    """Stands for subwords in which the token between turns is 9."""

    def ids(self, tokens):
        return [9 for _ in tokens]


@pytest.mark.parametrize(
    ("name", "end"), [("blenderbot", [E]), ("blenderbot-small", [])], ids=["large", "small"]
)
def test_imported_formats_keep_the_order_and_lose_the_front(name, end):
    join = joiner(name, Between())
    whole = [11, 9, 21, 22, 9, 31, 32, 33, *end]
    assert join(TURNS, persona=[], max_length=99) == whole
    assert join(TURNS, persona=[7], max_length=99) == [7, 9, *whole]
    assert join(TURNS, persona=[7], max_length=5) == whole[-5:]
    assert join([[]], persona=[], max_length=5) == [E]
    assert joiner("nmt", Between()) is join_turns
