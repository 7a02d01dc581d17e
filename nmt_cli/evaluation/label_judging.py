"""What one or several classifiers make of the examples of a corpus, and where they are wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nmt_cli.evaluation.comparison import Comparison, Corpus
from nmt_cli.evaluation.label_scores import (
    LabelScore,
    confusion_matrix,
    corpus_label_scores,
    label_p_values,
    label_scores,
)
from nmt_cli.evaluation.scores import Score
from nmt_cli.search.labeller import Flags, Floats, Labeller, label_flags
from nmt_cli.text.corpus import Example
from nmt_cli.text.labels import Labels

_AT_A_TIME = 2048  # examples between two calls of `on_progress`


@dataclass(frozen=True)
class Judged:
    """Examples and what a model made of them.

    Attributes:
        examples: The examples.
        labels: The model's.
        probabilities: [N, Y] of each label.
        wanted: [N, Y] which labels each example has.
        given: [N, Y] which it got.
    """

    examples: Sequence[Example]
    labels: Labels
    probabilities: Floats
    wanted: Flags
    given: Flags

    @property
    def multi_label(self) -> bool:
        """Whether an example may have any number of labels."""
        return self.labels.separator is not None

    def scores(self) -> dict[str, Score]:
        """Return accuracy and F1."""
        return corpus_label_scores(self.wanted, self.given, multi_label=self.multi_label)

    def by_label(self) -> list[LabelScore]:
        """Return the scores of each label."""
        return label_scores(self.wanted, self.given, self.labels.names)

    def outputs(self) -> list[str]:
        """Return what each example got, as a corpus has it."""
        return [self.labels.join(np.flatnonzero(flags)) for flags in self.given]

    def confusion(self) -> list[list[int]]:
        """Return how many examples of the row's label got the column's; one label each."""
        counts: list[list[int]] = confusion_matrix(self.wanted, self.given).tolist()
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
    """Give labels to examples.

    Args:
        labeller: The model.
        examples: One or more, whose labels it knows.
        on_progress: Called with the number of examples that are done.
    """
    found: list[Floats] = []
    for first in range(0, len(examples), _AT_A_TIME):
        some = examples[first : first + _AT_A_TIME]
        found.append(labeller.probabilities([example.source for example in some]))
        on_progress(first + len(some))
    probabilities = np.concatenate(found)
    wanted = label_flags([example.target for example in examples], labeller.labels)
    given = labeller.given(probabilities)
    return Judged(examples, labeller.labels, probabilities, wanted, given)


@dataclass(frozen=True)
class LabelComparison(Comparison):
    """See `Comparison`; outputs and references are labels as a corpus has them.

    Attributes:
        first: What the first result is made of.
    """

    first: Judged
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

    @property
    def warnings(self) -> list[str]:
        """See `Comparison.warnings`."""
        return []

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
