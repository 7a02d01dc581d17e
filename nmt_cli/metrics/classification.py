"""Scores of labels by the definitions of scikit-learn; a score that would divide by zero is 0.

Reference: Sokolova & Lapalme 2009, "A systematic analysis of performance measures for
classification tasks"; scikit-learn's `accuracy_score` and `precision_recall_fscore_support`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_cli.metrics.scores import Score

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LabelScore:
    """How well one label is given.

    Attributes:
        label: Its name.
        precision: Of the examples that got it, how many have it; 0 to 100.
        recall: Of the examples that have it, how many got it; 0 to 100.
        f1: Harmonic mean of the two; 0 to 100.
        support: Examples that have it.
    """

    label: str
    precision: float
    recall: float
    f1: float
    support: int


def label_scores(wanted: Flags, given: Flags, names: Sequence[str]) -> list[LabelScore]:
    """Return the scores of each label.

    Args:
        wanted: [N, Y] which labels each example has.
        given: [N, Y] which labels it got.
        names: Of the Y labels.
    """
    both, has, got = (np.sum(flags, axis=0) for flags in (wanted & given, wanted, given))
    precision = 100.0 * both / np.maximum(got, 1)
    recall = 100.0 * both / np.maximum(has, 1)
    f1 = 200.0 * both / np.maximum(has + got, 1)
    return [
        LabelScore(name, float(precision[i]), float(recall[i]), float(f1[i]), int(has[i]))
        for i, name in enumerate(names)
    ]


def corpus_label_scores(wanted: Flags, given: Flags, *, multi_label: bool) -> dict[str, Score]:
    """Return accuracy and macro-F1; where examples have several labels micro-F1, too.

    Accuracy counts examples whose labels are all right. Macro-F1 is the mean over the labels that
    some example has or got; over all of them where examples have several.

    Args:
        wanted: [N, Y] which labels each example has.
        given: [N, Y] which labels it got.
        multi_label: Whether an example may have any number of labels.
    """
    f1 = np.array([score.f1 for score in label_scores(wanted, given, [""] * wanted.shape[1])])
    seen = np.any(wanted | given, axis=0) | multi_label
    found = {
        "accuracy": 100.0 * float(np.mean((wanted == given).all(axis=1))),
        "macro_f1": float(f1[seen].mean()) if seen.any() else 0.0,
    }
    if multi_label:
        (micro,) = label_scores(wanted.reshape(-1, 1), given.reshape(-1, 1), [""])
        found["micro_f1"] = micro.f1
    signature = f"examples:{len(wanted)}|labels:{int(seen.sum())}|zero_division:0"
    return {name: Score(score, signature) for name, score in found.items()}


def confusion_matrix(wanted: Flags, given: Flags) -> npt.NDArray[np.int64]:
    """Return [Y, Y]: how many examples of the row's label got the column's; one label each."""
    size = wanted.shape[1]
    pairs = np.argmax(wanted, axis=1) * size + np.argmax(given, axis=1)
    return np.bincount(pairs, minlength=size * size).reshape(size, size)
