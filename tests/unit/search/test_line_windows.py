"""Windows of lines: full ones of what is there, and what has arrived of what still comes."""

import itertools
import threading

import pytest

from nmt_cli.errors import DataError
from nmt_cli.search import translator
from nmt_cli.search.translator import arriving_windows, full_windows


@pytest.mark.parametrize("make", [full_windows, arriving_windows])
def test_no_line_is_lost_or_moved(make, monkeypatch):
    monkeypatch.setattr(translator, "_MAX_LINES", 7)
    lines = [str(i) for i in range(100)]
    found = list(make(iter(lines)))
    assert list(itertools.chain.from_iterable(found)) == lines
    assert all(len(window) <= 7 for window in found)
    assert not any(make([]))


def test_full_windows_are_full(monkeypatch):
    monkeypatch.setattr(translator, "_MAX_LINES", 4)
    assert [len(window) for window in full_windows("a" * 10)] == [4, 4, 2]


@pytest.mark.parametrize("make", [full_windows, arriving_windows])
def test_long_lines_make_short_windows(make, monkeypatch):
    """Memory is bounded in characters, too; a longer line stands alone."""
    monkeypatch.setattr(translator, "_MAX_CHARACTERS", 10)
    found = list(make(["abcdef", "abcdef", "x" * 50, "a", "b"]))
    assert list(itertools.chain.from_iterable(found)) == ["abcdef", "abcdef", "x" * 50, "a", "b"]
    assert max(map(len, found)) <= 2


def test_what_has_arrived_is_given_while_more_is_still_to_come():
    """A line is given before the next one exists."""
    go_on = threading.Event()

    def trickling():
        yield "first"
        assert go_on.wait(timeout=30)
        yield "second"

    arriving = arriving_windows(trickling())
    assert next(filter(None, arriving)) == ["first"]
    assert next(arriving) == []  # what was begun should be finished: nothing has arrived
    go_on.set()
    assert [window for window in arriving if window] == [["second"]]


def test_lines_that_came_during_work_come_together(monkeypatch):
    """A fast pipe gives full windows: what was read ahead is taken at once."""
    all_read = threading.Event()

    def fast():
        yield from "abcdef"
        all_read.set()

    arriving = arriving_windows(fast())
    found = [next(filter(None, arriving))]
    assert all_read.wait(timeout=30)
    found += list(arriving)
    assert "".join(itertools.chain.from_iterable(found)) == "abcdef"
    assert len([window for window in found if window]) <= 2


def test_an_error_comes_after_the_lines_before_it():
    def broken():
        yield "a"
        raise DataError("line 2 is broken")

    arriving = arriving_windows(broken())
    assert next(filter(None, arriving)) == ["a"]
    with pytest.raises(DataError, match="line 2 is broken"):
        next(filter(None, arriving))
