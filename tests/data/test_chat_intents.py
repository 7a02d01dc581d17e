"""Tests of the judge in tests/quality/chat_intents.py, with answers of the sample small talk."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "quality" / "chat_intents.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def judge(script):
    read = (script[name] for name in ("read_intents", "read_conversations", "read_slots"))
    return script["Judge"](*(function() for function in read))


HOME = ["where do you live", "I live in this computer.", "why"]
ANNA = ["i'm Anna", "Hello Anna! I'm Nemo.", "who am i"]
JOKE = "Why did the tree pack its bags? Because it was time to leave."


@pytest.mark.parametrize(
    ("reply", "turns", "intents", "must_match", "fits"),
    [
        ("Hello Priya! I'm Nemo.", ["hi, priya here"], ["user_name"], "Priya", True),
        ("Hello Anna! I'm Nemo.", ["hi, priya here"], ["user_name"], "Priya", False),
        ("I like blue best. What abuot you?", ["fav colour"], ["favourite_colour"], None, True),
        (JOKE, ["a joke"], ["joke"], None, True),
        (JOKE, ["a riddle"], ["riddle"], None, False),
        (JOKE, ["hm"], ["riddle", "joke"], None, True),
        ("It's Rome.", ["capital of italy"], ["capital"], "Rome", True),
        ("Your name is Anna.", ANNA, ["ask_my_name"], "Anna", True),
        ("You haven't told me your name yet.", ANNA, ["ask_my_name"], None, False),
        ("You haven't told me your name yet.", ANNA[-1:], ["ask_my_name"], None, True),
        ("Because I'm a program, and programs live in computers.", HOME, ["why"], None, True),
        ("Because bots are trained and not born.", HOME, ["why"], None, False),
        ("Because bots are trained and not born.", HOME, ["bot_family>why"], None, True),
        ("Well done! It's a towel.", ["a towel"], ["riddle_solved"], None, True),
        ("Anything at all.", ["hm"], [], "at all", True),
    ],
)
def test_fits(judge, reply, turns, intents, must_match, fits):
    assert judge.fits(reply, turns, intents, must_match) == fits


def test_the_result_counts_each_kind(script):
    prompts = [
        {"id": "1", "kind": "typo", "turns": ["a jok"], "intents": ["joke"]},
        {"id": "2", "kind": "typo", "turns": ["a ridle"], "intents": ["riddle"]},
        {"id": "3", "kind": "follow-up", "turns": HOME, "intents": ["why"]},
    ]
    result = script["judge"](prompts, [[JOKE], [JOKE], ["Because."]])
    assert {kind: row["share"] for kind, row in result["kinds"].items()} == {
        "typo": 0.5,
        "follow-up": 0.0,
        "all": pytest.approx(1 / 3),
    }
    assert result["most_frequent"] == {"reply": JOKE, "share": pytest.approx(2 / 3)}
    assert [miss["id"] for miss in result["misses"]] == ["2", "3"]
    assert "most frequent: 66.7%" in script["table"](result)
