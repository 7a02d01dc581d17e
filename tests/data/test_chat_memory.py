"""Tests of the prompts that tests/quality/chat_memory.py makes."""

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from generators.small_talk_script import read_slots

QUALITY = Path(__file__).parents[1] / "quality"


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(QUALITY))
        return runpy.run_path(str(QUALITY / "chat_memory.py"))


@pytest.fixture(scope="module")
def prompts(script):
    return list(script["PromptMaker"]().make())


def test_each_kind_has_its_share(prompts):
    kinds = Counter(prompt["kind"] for prompt in prompts)
    assert (kinds.pop("introduction"), kinds.pop("sum")) == (15 * 20, 4 * 45)
    assert len(kinds) == 24
    assert {kinds[kind] for kind in kinds if not kind.startswith("unknown")} == {12}
    assert {kinds[kind] for kind in kinds if kind.startswith("unknown")} == {20}


def test_a_sum_must_be_right(prompts):
    (asked,) = (p for p in prompts if p["turns"] == ["what's 3+4"])
    for reply in ("3 plus 4 is 7.", "3 + 4 = 7.", "That's 7."):
        assert re.search(asked["must_match"], reply)
    assert not re.search(asked["must_match"], "3 plus 4 is 17.")


def test_those_who_introduce_themselves_have_names_of_the_text(script):
    names = {row["name"] for table in read_slots() for row in table if "name" in row}
    assert names.issuperset(script["INTRODUCED"])


def test_what_must_be_said_was_told(prompts):
    for prompt in prompts:
        if prompt["kind"] == "sum":
            continue
        told = prompt["turns"][0 if "asked" in prompt["kind"] else -1]
        assert re.search(prompt["must_match"], told)
        if "asked" in prompt["kind"]:
            assert not re.search(prompt["must_match"], prompt["turns"][-1])


def test_unknown_names_are_in_no_training_text(script):
    names = {row["name"] for table in read_slots() for row in table if "name" in row}
    assert names.isdisjoint(script["UNKNOWN"])


def test_every_run_has_the_same_prompts(script, prompts):
    assert list(script["PromptMaker"]().make()) == prompts
