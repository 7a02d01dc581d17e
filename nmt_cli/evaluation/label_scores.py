"""Scores of labels by the definitions of scikit-learn; a score that would divide by zero is 0.

Reference: Sokolova & Lapalme 2009, "A systematic analysis of performance measures for
classification tasks"; scikit-learn's `accuracy_score` and `precision_recall_fscore_support`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_cli.evaluation.scores import RESAMPLES, Score

Flags = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]
_SEED = 12345  # sacreBLEU's


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
    every = np.ones((1, len(wanted)), np.float32)
    found = _scores_of_samples(wanted, given, every, multi_label=multi_label)
    seen = np.any(wanted | given, axis=0) | multi_label
    signature = f"examples:{len(wanted)}|labels:{int(seen.sum())}|zero_division:0"
    return {name: Score(float(score[0]), signature) for name, score in found.items()}


def label_p_values(
    wanted: Flags, baseline: Flags, others: Sequence[Flags], *, multi_label: bool
) -> list[dict[str, float]]:
    """Compare classifiers with a baseline as `scores.p_values` compares systems.

    The paired bootstrap, its samples and its p-value are sacreBLEU's: a sample's difference, less
    the mean of all, is counted when it is above the one that was found.

    Args:
        wanted: [N, Y] which labels each example has.
        baseline: [N, Y] which labels it got from the baseline.
        others: The same of each other classifier.
        multi_label: See `corpus_label_scores`.

    Returns:
        For each other classifier the p-value of each score.
    """
    size = len(wanted)
    picked = np.random.default_rng(_SEED).choice(size, size=(RESAMPLES, size), replace=True)
    samples = np.array([np.bincount(row, minlength=size) for row in picked], np.float32)
    weights = np.vstack([np.ones((1, size), np.float32), samples])  # what was found is the first
    first, *compared = (
        _scores_of_samples(wanted, given, weights, multi_label=multi_label)
        for given in (baseline, *others)
    )
    return [
        {name: _p_value(np.abs(found[name] - first[name])) for name in first} for found in compared
    ]


def _p_value(differences: Doubles) -> float:
    """Return how likely the first difference is by chance, given those of samples after it."""
    found, samples = differences[0], differences[1:]
    above = int(np.sum(samples - samples.mean() > found))
    return (above + 1) / (len(samples) + 1)


def _scores_of_samples(
    wanted: Flags, given: Flags, weights: npt.NDArray[np.float32], *, multi_label: bool
) -> dict[str, Doubles]:
    """Return the scores [R] of samples of a corpus; see `corpus_label_scores`.

    Args:
        wanted: [N, Y] which labels each example has.
        given: [N, Y] which labels it got.
        weights: [R, N] how often each example is in each sample.
        multi_label: Whether an example may have any number of labels.
    """
    both, has, got = (
        (weights @ flags).astype(np.float64) for flags in (wanted & given, wanted, given)
    )  # [R, Y], whole numbers
    f1 = 200.0 * both / np.maximum(has + got, 1)
    seen = (has + got > 0) | multi_label
    right = (weights @ (wanted == given).all(axis=1)).astype(np.float64)
    found = {
        "accuracy": 100.0 * right / weights.sum(axis=1, dtype=np.float64),
        "macro_f1": (f1 * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1),
    }
    if multi_label:
        total = np.maximum(has.sum(axis=1) + got.sum(axis=1), 1)
        found["micro_f1"] = 200.0 * both.sum(axis=1) / total
    return found


def confusion_matrix(wanted: Flags, given: Flags) -> npt.NDArray[np.int64]:
    """Return [Y, Y]: how many examples of the row's label got the column's; one label each."""
    size = wanted.shape[1]
    pairs = np.argmax(wanted, axis=1) * size + np.argmax(given, axis=1)
    return np.bincount(pairs, minlength=size * size).reshape(size, size)
