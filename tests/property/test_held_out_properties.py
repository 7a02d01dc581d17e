"""Rows held out for dev and test: as many as wanted, and no text on two sides."""

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import DataError
from nmt_cli.text.held_out import HeldOut

SOURCES = ["", "...", "a", "A.", "b c", "B, C!", "가", "가 나", "é", "1"]
TARGETS = [
    "x",
    "y",
    "a long one",
    "A long one!",
    "another one",
    "하나 둘 셋 넷 다섯 여섯",
    "",
    "z z z z z z z z",
]
pairs = st.lists(
    st.tuples(st.sampled_from(SOURCES), st.sampled_from(TARGETS)), min_size=8, max_size=40
)
counts = st.sampled_from([{"dev": d, "test": t} for d in range(4) for t in range(4) if d + t])


def split(pairs, rows, seed, *, by_target):
    held_out = HeldOut(iter(pairs), rows, seed, by_target=by_target)
    found = collections.defaultdict(list)
    for pair in pairs:
        found[held_out.split_of(*pair)].append(pair)
    return found


def folded(text):
    """The letters and digits alone, small."""
    return "".join(c for c in text.lower() if c.isalnum())


@given(pairs, counts, st.integers(0, 9), st.booleans())
def test_no_source_and_no_target_is_in_two_splits(pairs, rows, seed, by_target):
    found = split(pairs, rows, seed, by_target=by_target)
    for side in range(2 if by_target else 1):
        homes = collections.defaultdict(set)
        for name in ("train", "dev", "test"):
            for pair in found[name]:
                if side == 0 or len(folded(pair[side])) >= 8:
                    homes[folded(pair[side])].add(name)
        assert all(len(names) == 1 for names in homes.values())
    if not by_target:
        assert None not in found


@given(pairs, counts, st.integers(0, 9))
def test_with_sources_that_differ_the_counts_are_exact(pairs, rows, seed):
    pairs = [(f"{number}", target) for number, (_, target) in enumerate(pairs)]
    found = split(pairs, rows, seed, by_target=False)
    assert {name: len(found[name]) for name in ("dev", "test")} == rows
    assert len(found["train"]) == len(pairs) - sum(rows.values())


def test_another_seed_takes_other_rows_and_the_same_seed_the_same():
    pairs = [(f"line {number}", "x") for number in range(100)]
    rows = {"dev": 10, "test": 10}
    one, again, other = (split(pairs, rows, seed, by_target=False) for seed in (1, 1, 2))
    assert one == again
    assert one["dev"] != other["dev"]


def test_dev_stays_the_same_when_test_is_taken_as_well():
    pairs = [(f"line {number}", "x") for number in range(100)]
    alone = split(pairs, {"dev": 10, "test": 0}, 1, by_target=False)
    both = split(pairs, {"dev": 10, "test": 20}, 1, by_target=False)
    assert alone["dev"] == both["dev"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [({"dev": 3, "test": 0}, "dev takes 3 rows"), ({"dev": 1, "test": 2}, "dev and test take 3")],
)
def test_something_must_be_left(rows, told):
    with pytest.raises(DataError, match=f"{told} .*which has only 3"):
        HeldOut([("a", "b")] * 3, rows, 1, by_target=True)
