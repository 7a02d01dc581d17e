"""Accuracy, F1 and confusion against values by hand, and scikit-learn where it is installed."""

import numpy as np
import pytest
from sacrebleu.significance import Result, _paired_bs_test

from nmt_cli.evaluation.label_judging import Judged, label_p_values
from nmt_cli.text.labels import Labels

WANTED = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2]
GIVEN = [0, 0, 1, 1, 3, 2, 2, 2, 0, 0]
NAMES = ["a", "b", "c", "d", "e"]


def flags(labels) -> np.ndarray:
    return np.eye(5, dtype=bool)[labels]


def judged(wanted, given, *, multi_label=False) -> Judged:
    labels = Labels(tuple(NAMES[: wanted.shape[1]]), ";" if multi_label else None)
    return Judged([], labels, given.astype(np.float32), wanted, given)


def rows(labels) -> np.ndarray:
    return np.array([[i in row for i in range(3)] for row in labels])


def test_each_label_has_the_scores_of_the_definition():
    a, b, c, d, e = judged(flags(WANTED), flags(GIVEN)).by_label()
    assert (a.label, a.support) == ("a", 3)
    assert (a.precision, a.recall) == pytest.approx((50.0, 200 / 3))
    assert a.f1 == pytest.approx(2 * 50 * (200 / 3) / (50 + 200 / 3))
    assert (b.precision, b.recall, b.f1) == (50.0, 50.0, 50.0)
    assert (c.precision, c.recall, c.f1) == pytest.approx((100.0, 60.0, 75.0))
    assert (d.precision, d.recall, d.f1, d.support) == (0.0, 0.0, 0.0, 0)
    assert (e.precision, e.recall, e.f1, e.support) == (0.0, 0.0, 0.0, 0)


def test_the_scores_of_a_corpus():
    scores = judged(flags(WANTED), flags(GIVEN)).scores()
    assert list(scores) == ["accuracy", "macro_f1"]
    assert scores["accuracy"].score == pytest.approx(60.0)
    # Label "e" is nowhere; "d" was given once, wrongly, and counts with 0.
    assert scores["macro_f1"].score == pytest.approx((400 / 7 + 50 + 75 + 0) / 4)
    assert scores["accuracy"].signature == "examples:10|labels:4|zero_division:0"


def test_the_scores_of_several_labels():
    wanted, given = rows([[0, 1], [], [1], [0]]), rows([[0], [], [1, 2], [1]])
    scores = judged(wanted, given, multi_label=True).scores()
    assert scores["accuracy"].score == pytest.approx(25.0)
    assert scores["macro_f1"].score == pytest.approx((200 / 3 + 50 + 0) / 3)
    assert scores["micro_f1"].score == pytest.approx(100 * 2 * 2 / (4 + 4))


def test_a_confusion_matrix_has_a_row_for_each_right_label():
    assert judged(flags(WANTED), flags(GIVEN)).confusion() == [
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
    ours = judged(flags(wanted[0]), flags(given)).scores()
    assert ours["accuracy"].score == pytest.approx(100 * metrics.accuracy_score(wanted[0], given))
    macro = metrics.f1_score(wanted[0], given, average="macro", zero_division=0)
    assert ours["macro_f1"].score == pytest.approx(100 * macro)
    several = random.random((2, 60, 4)) < 0.3
    ours = judged(*several, multi_label=True).scores()
    assert ours["accuracy"].score == pytest.approx(100 * metrics.accuracy_score(*several))
    for average in ("macro", "micro"):
        theirs = metrics.f1_score(*several, average=average, zero_division=0)
        assert ours[f"{average}_f1"].score == pytest.approx(100 * theirs)
    table = metrics.precision_recall_fscore_support(*several, zero_division=0)
    for i, score in enumerate(judged(*several, multi_label=True).by_label()):
        assert (score.precision, score.recall, score.f1) == pytest.approx(
            tuple(100 * column[i] for column in table[:3])
        )
        assert score.support == table[3][i]


# --- the paired bootstrap -------------------------------------------------------------------------


class ByCounts:
    """What sacreBLEU's paired bootstrap asks of a metric, for scores computed from label names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _extract_corpus_statistics(self, outputs, references) -> list[list[int]]:
        (wanted,) = references
        pairs = zip(outputs, wanted, strict=True)
        return [[int((o, w) == (i, j)) for i in "abc" for j in "abc"] for o, w in pairs]

    def _aggregate_and_compute(self, rows):
        return self._compute_score_from_stats(np.sum(rows, axis=0))

    def _compute_score_from_stats(self, counts):
        table = np.reshape(counts, (3, 3)).astype(float)  # got, has
        f1 = [200 * table[i, i] / max(1, table[i].sum() + table[:, i].sum()) for i in range(3)]
        seen = [table[i].sum() + table[:, i].sum() > 0 for i in range(3)]
        accuracy = 100 * np.trace(table) / table.sum()
        return Result(accuracy if self._name == "accuracy" else np.array(f1)[seen].mean())


@pytest.mark.parametrize("seed", range(4))
def test_p_values_are_those_of_sacrebleus_bootstrap(seed, monkeypatch):
    at_once = [1, 7, 70, 1001][seed]  # samples that are drawn together
    monkeypatch.setattr("nmt_cli.evaluation.label_judging._MOST_WEIGHTS", 70 * at_once)
    random = np.random.default_rng(seed)
    wanted = random.integers(3, size=70)
    given = [np.where(random.random(70) < right, wanted, random.integers(3, size=70))
             for right in (0.8, 0.6)]  # fmt: skip
    as_flags = [np.eye(3, dtype=bool)[labels] for labels in (wanted, *given)]
    (found,) = label_p_values(as_flags[0], as_flags[1], as_flags[2:], multi_label=False)
    texts = [["abc"[label] for label in labels] for labels in (wanted, *given)]
    metrics = {name: ByCounts(name) for name in ("accuracy", "macro_f1")}
    baseline = {}
    for name, metric in metrics.items():
        rows = metric._extract_corpus_statistics(texts[1], texts[:1])
        baseline[name] = (rows, metric._aggregate_and_compute(rows))
    _, theirs = _paired_bs_test(baseline, "x", texts[2], texts[:1], metrics, 1000, -1, 12345)
    for name in metrics:
        assert found[name] == theirs[name].p_value


def test_p_values_tell_large_differences_from_small_ones():
    wanted = flags([i % 5 for i in range(200)])
    worse, alike = wanted.copy(), wanted.copy()
    worse[:80] = worse[1:81]
    alike[:2] = alike[1:3]
    good = wanted.copy()
    good[5:6] = good[6:7]
    bad, same = label_p_values(wanted, good, [worse, alike], multi_label=False)
    assert max(bad.values()) < 0.01 < 0.1 < min(same.values())
    (several,) = label_p_values(wanted, good, [worse], multi_label=True)
    assert list(several) == ["accuracy", "macro_f1", "micro_f1"]
