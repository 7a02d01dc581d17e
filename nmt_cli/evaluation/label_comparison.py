"""Classifiers beside each other, on the same examples."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmt_cli.evaluation.comparison import Comparison, Corpus
from nmt_cli.evaluation.label_judging import Judged
from nmt_cli.evaluation.label_scores import label_p_values
from nmt_cli.evaluation.scores import Score


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
