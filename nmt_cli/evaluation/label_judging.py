"""What one or several classifiers make of the examples of a corpus, and where they are wrong.

Scores are those of scikit-learn (`accuracy_score`, `precision_recall_fscore_support`); one that
would divide by zero is 0. Reference: Sokolova & Lapalme 2009, "A systematic analysis of performance
measures for classification tasks".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_cli.evaluation.comparison import Comparison, Corpus
from nmt_cli.evaluation.scores import RESAMPLES, Score
from nmt_cli.search.labeller import Flags, Floats, Labeller, label_flags
from nmt_cli.text.corpus import Example
from nmt_cli.text.labels import Labels

Doubles = npt.NDArray[np.float64]
_AT_A_TIME = 2048  # examples between two calls of `on_progress`
_SEED = 12345  # sacreBLEU's
_MOST_WEIGHTS = 10_000_000  # of examples in samples at a time: some 200 MB


@dataclass(frozen=True)
class LabelScore:
    """How well one label is given."""

    label: str  # its name
    precision: float  # of the examples that got it, how many have it; 0 to 100
    recall: float  # of the examples that have it, how many got it; 0 to 100
    f1: float  # harmonic mean of the two; 0 to 100
    support: int  # examples that have it


@dataclass(frozen=True)
class Judged:
    """Examples and what a model made of them."""

    examples: Sequence[Example]  # the examples
    labels: Labels  # the model's
    probabilities: Floats  # [N, Y] of each label
    wanted: Flags  # [N, Y] which labels each example has
    given: Flags  # [N, Y] which it got

    @property
    def multi_label(self) -> bool:
        """Whether an example may have any number of labels."""
        return self.labels.separator is not None

    def scores(self) -> dict[str, Score]:
        """Return accuracy and macro-F1; where examples have several labels micro-F1, too.

        Accuracy counts examples whose labels are all right. Macro-F1 is the mean over the labels
        that some example has or got; over all of them where examples have several.
        """
        every = np.ones((1, len(self.wanted)), np.float32)
        found = _scores_of_samples(self.wanted, self.given, every, multi_label=self.multi_label)
        seen = np.any(self.wanted | self.given, axis=0) | self.multi_label
        signature = f"examples:{len(self.wanted)}|labels:{int(seen.sum())}|zero_division:0"
        return {name: Score(float(score[0]), signature) for name, score in found.items()}

    def by_label(self) -> list[LabelScore]:
        """Return the scores of each label."""
        flags = (self.wanted & self.given, self.wanted, self.given)
        both, has, got = (np.sum(some, axis=0) for some in flags)
        precision = 100.0 * both / np.maximum(got, 1)
        recall = 100.0 * both / np.maximum(has, 1)
        f1 = 200.0 * both / np.maximum(has + got, 1)
        return [
            LabelScore(name, float(precision[i]), float(recall[i]), float(f1[i]), int(has[i]))
            for i, name in enumerate(self.labels.names)
        ]

    def outputs(self) -> list[str]:
        """Return what each example got, as a corpus has it."""
        return [self.labels.join(np.flatnonzero(flags)) for flags in self.given]

    def confusion(self) -> list[list[int]]:
        """Return how many examples of the row's label got the column's; one label each."""
        size = len(self.labels.names)
        pairs = np.argmax(self.wanted, axis=1) * size + np.argmax(self.given, axis=1)
        counts: list[list[int]] = (
            np.bincount(pairs, minlength=size * size).reshape(-1, size).tolist()
        )
        return counts

    def with_outputs(self, outputs: Sequence[str]) -> "Judged":
        """Return the same examples with labels as a corpus has them, which are then certain."""
        given = label_flags(outputs, self.labels)
        return replace(self, given=given, probabilities=given.astype(np.float32))

    def mistakes(self, count: int) -> list[dict[str, Any]]:
        """Return wrong answers as JSON data, the surest first."""
        wrong = np.flatnonzero((self.wanted != self.given).any(axis=1))
        order = wrong[np.argsort(-self.probabilities[wrong].max(axis=1), kind="stable")]
        return [
            {
                "example": int(i) + 1,
                "source": " / ".join(self.examples[i].source),
                "reference": self.labels.join(np.flatnonzero(self.wanted[i])),
                "output": self.labels.join(np.flatnonzero(self.given[i])),
                "probability": round(float(self.probabilities[i].max()), 4),
            }
            for i in order[:count]
        ]


def judge(
    labeller: Labeller,
    examples: Sequence[Example],
    on_progress: Callable[[int], None] = lambda _: None,
) -> Judged:
    """Give labels to examples, one or more, whose labels the model knows.

    `on_progress` is called with the number of examples that are done.
    """
    found: list[Floats] = []
    for first in range(0, len(examples), _AT_A_TIME):
        some = examples[first : first + _AT_A_TIME]
        found.append(labeller.probabilities(labeller.encode([e.source for e in some])))
        on_progress(first + len(some))
    probabilities = np.concatenate(found)
    wanted = label_flags([example.target for example in examples], labeller.labels)
    given = labeller.given(probabilities)
    return Judged(examples, labeller.labels, probabilities, wanted, given)


@dataclass(frozen=True)
class LabelComparison(Comparison):
    """See `Comparison`; outputs and references are labels as a corpus has them."""

    first: Judged  # what the first result is made of
    unit = "examples"

    @cached_property
    def judged(self) -> list[Judged]:
        """All results; the probabilities of the first alone are known."""
        others = self.results[1:]
        return [self.first, *(self.first.with_outputs(other.outputs) for other in others)]

    def _corpus_scores(self) -> list[dict[str, Score]]:
        return [judged.scores() for judged in self.judged]

    @cached_property
    def p_values(self) -> list[dict[str, float]]:
        """See `label_p_values`."""
        first, *others = (judged.given for judged in self.judged)
        return label_p_values(self.first.wanted, first, others, multi_label=self.first.multi_label)

    def samples(self, count: int) -> list[int]:
        """Return the first examples that did not get the same labels from all."""
        rows = zip(*(result.outputs for result in self.results), strict=True)
        return [number for number, row in enumerate(rows) if len(set(row)) > 1][:count]


def corpus_of(judged: Judged) -> Corpus:
    """Return the texts and the right labels of examples."""
    return Corpus(
        [" / ".join(example.source) for example in judged.examples],
        [judged.labels.join(np.flatnonzero(flags)) for flags in judged.wanted],
        "",
    )


def label_p_values(
    wanted: Flags, baseline: Flags, others: Sequence[Flags], *, multi_label: bool
) -> list[dict[str, float]]:
    """Compare classifiers with a baseline as `scores.p_values` compares systems.

    The paired bootstrap, its samples and its p-value are sacreBLEU's: a sample's difference, less
    the mean of all, is counted when it is above the one that was found.
    """
    systems = (baseline, *others)
    blocks = [
        [_scores_of_samples(wanted, given, weights, multi_label=multi_label) for given in systems]
        for weights in _weights_of_samples(len(wanted))
    ]
    first, *compared = (
        {name: np.concatenate([block[name] for block in of_system]) for name in of_system[0]}
        for of_system in zip(*blocks, strict=True)
    )
    return [
        {name: _p_value(np.abs(found[name] - first[name])) for name in first} for found in compared
    ]


def _weights_of_samples(size: int) -> Iterator[npt.NDArray[np.float32]]:
    """Yield blocks [R, N] of how often each example is in a sample; first of what was found."""
    yield np.ones((1, size), np.float32)
    random, at_once = np.random.default_rng(_SEED), max(1, _MOST_WEIGHTS // size)
    for start in range(0, RESAMPLES, at_once):
        picked = random.choice(size, size=(min(at_once, RESAMPLES - start), size), replace=True)
        yield np.array([np.bincount(row, minlength=size) for row in picked], np.float32)


def _p_value(differences: Doubles) -> float:
    """Return how likely the first difference is by chance, given those of samples after it."""
    found, samples = differences[0], differences[1:]
    above = int(np.sum(samples - samples.mean() > found))
    return (above + 1) / (len(samples) + 1)


def _scores_of_samples(
    wanted: Flags, given: Flags, weights: npt.NDArray[np.float32], *, multi_label: bool
) -> dict[str, Doubles]:
    """Return the scores [R] of samples of a corpus; weights [R, N] say what each sample holds."""
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
