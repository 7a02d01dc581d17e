"""Accuracy, F1 and confusion against values by hand, and scikit-learn where it is installed."""

import numpy as np
import pytest

from nmt_cli.metrics.classification import (
    confusion_matrix,
    corpus_label_scores,
    label_scores,
)

WANTED = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2]
GIVEN = [0, 0, 1, 1, 3, 2, 2, 2, 0, 0]
NAMES = ["a", "b", "c", "d", "e"]


def flags(labels) -> np.ndarray:
    return np.eye(5, dtype=bool)[labels]


def rows(labels) -> np.ndarray:
    return np.array([[i in row for i in range(3)] for row in labels])


def test_each_label_has_the_scores_of_the_definition():
    a, b, c, d, e = label_scores(flags(WANTED), flags(GIVEN), NAMES)
    assert (a.label, a.support) == ("a", 3)
    assert (a.precision, a.recall) == pytest.approx((50.0, 200 / 3))
    assert a.f1 == pytest.approx(2 * 50 * (200 / 3) / (50 + 200 / 3))
    assert (b.precision, b.recall, b.f1) == (50.0, 50.0, 50.0)
    assert (c.precision, c.recall, c.f1) == pytest.approx((100.0, 60.0, 75.0))
    assert (d.precision, d.recall, d.f1, d.support) == (0.0, 0.0, 0.0, 0)
    assert (e.precision, e.recall, e.f1, e.support) == (0.0, 0.0, 0.0, 0)


def test_the_scores_of_a_corpus():
    scores = corpus_label_scores(flags(WANTED), flags(GIVEN), multi_label=False)
    assert list(scores) == ["accuracy", "macro_f1"]
    assert scores["accuracy"].score == pytest.approx(60.0)
    # Label "e" is nowhere; "d" was given once, wrongly, and counts with 0.
    assert scores["macro_f1"].score == pytest.approx((400 / 7 + 50 + 75 + 0) / 4)
    assert scores["accuracy"].signature == "examples:10|labels:4|zero_division:0"


def test_the_scores_of_several_labels():
    wanted, given = rows([[0, 1], [], [1], [0]]), rows([[0], [], [1, 2], [1]])
    scores = corpus_label_scores(wanted, given, multi_label=True)
    assert scores["accuracy"].score == pytest.approx(25.0)
    assert scores["macro_f1"].score == pytest.approx((200 / 3 + 50 + 0) / 3)
    assert scores["micro_f1"].score == pytest.approx(100 * 2 * 2 / (4 + 4))


def test_a_confusion_matrix_has_a_row_for_each_right_label():
    matrix = confusion_matrix(flags(WANTED), flags(GIVEN))
    assert matrix.tolist() == [
        [2, 1, 0, 0, 0],
        [0, 1, 0, 1, 0],
        [2, 0, 3, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize("seed", range(5))
def test_they_equal_those_of_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(seed)
    wanted, given = random.integers(4, size=(2, 60)), random.integers(3, size=(2, 60))[0]
    ours = corpus_label_scores(flags(wanted[0]), flags(given), multi_label=False)
    assert ours["accuracy"].score == pytest.approx(100 * metrics.accuracy_score(wanted[0], given))
    macro = metrics.f1_score(wanted[0], given, average="macro", zero_division=0)
    assert ours["macro_f1"].score == pytest.approx(100 * macro)
    several = random.random((2, 60, 4)) < 0.3
    ours = corpus_label_scores(*several, multi_label=True)
    assert ours["accuracy"].score == pytest.approx(100 * metrics.accuracy_score(*several))
    for average in ("macro", "micro"):
        theirs = metrics.f1_score(*several, average=average, zero_division=0)
        assert ours[f"{average}_f1"].score == pytest.approx(100 * theirs)
    table = metrics.precision_recall_fscore_support(*several, zero_division=0)
    for i, score in enumerate(label_scores(*several, NAMES[:4])):
        assert (score.precision, score.recall, score.f1) == pytest.approx(
            tuple(100 * column[i] for column in table[:3])
        )
        assert score.support == table[3][i]
