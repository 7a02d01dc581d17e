"""The confusion matrix on a terminal and as numbers."""

import pytest
from html_page import Page

from nmt_cli.report.matrices import Confusion


def lines(picture: Confusion, width: int = 80) -> list[str]:
    return picture.screen(width, has_colour=False).plain.splitlines()


def test_a_row_is_a_right_label_and_a_column_what_was_given():
    picture = Confusion(title="t", labels=["yes", "좋아요"], counts=[[1000, 2], [0, 4]])
    assert lines(picture) == [
        "t",
        "has, got       yes    좋아요",
        "yes          1,000         2",
        "좋아요           0         4",
    ]
    page = Page(picture.page())
    assert page.of("table", "th") == ["has, got", "yes", "좋아요"]
    assert page.of("table", "td") == ["yes", "1000", "2", "좋아요", "0", "4"]


@pytest.mark.parametrize("width", [30, 60])
def test_long_labels_are_cut(width):
    picture = Confusion(title="t", labels=["a" * 90, "b"], counts=[[1, 2], [0, 4]])
    assert max(map(len, lines(picture, width))) <= width


@pytest.mark.parametrize(("size", "width"), [(2, 80), (2, 40), (20, 80)])
def test_labels_that_would_look_alike_are_numbered(size, width):
    labels = [f"a customer asks for money back: {chr(97 + i)}" for i in range(size)]
    picture = Confusion(title="t", labels=labels, counts=[[i] * size for i in range(size)])
    _, head, *rows = lines(picture, width)
    columns = [n for n in head.removeprefix("has, got").split() if n[0].isdecimal()]
    assert len({*columns}) == len({row.split("…")[0] for row in rows}) == size
    assert [row.split()[0] for row in rows] == [str(i + 1) for i in range(size)]


def test_of_many_labels_the_commonest_mistakes_are_told():
    counts = [[10 * (i == j) for j in range(30)] for i in range(30)]
    counts[3][4], counts[5][1] = 7, 9
    picture = Confusion(title="t", labels=[f"l{i}" for i in range(30)], counts=counts)
    assert lines(picture) == ["t", "    9  l5 -> l1", "    7  l3 -> l4"]


def test_of_many_labels_without_mistakes_that_is_told():
    counts = [[10 * (i == j) for j in range(30)] for i in range(30)]
    picture = Confusion(title="t", labels=[f"l{i}" for i in range(30)], counts=counts)
    assert lines(picture) == ["t", "no label was taken for another"]
