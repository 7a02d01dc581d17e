"""All that an evaluation finds of what systems wrote, each part when it is asked for."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from nmt_cli.evaluation import scores
from nmt_cli.evaluation.scores import ALL, LengthScore, Score
from nmt_cli.text.languages import Way

_NUM_EXTREMES = 20
_PERCENTS = ("most_frequent_share", "loop_share", "terms_right")


class Corpus(NamedTuple):
    """The segments that are scored."""

    sources: list[str] | None  # None where they are not known
    references: list[str]  # one a segment
    language: str  # code of the target language, or ""
    ways: Sequence[Way] = ()  # of each segment, where they differ in their languages


@dataclass(frozen=True)
class Result:
    """What a system wrote."""

    name: str  # the model, the file, or what is set differently
    outputs: list[str]  # one a segment
    # what is known beside scores against references, as JSON data by name
    facts: dict[str, Any] = field(default_factory=dict)
    # how the outputs were made, for people
    settings: Mapping[str, str] = field(default_factory=dict)
    # its own, if its inputs were others than the corpus's
    sources: list[str] | None = None
    references: list[str] | None = None


@dataclass(frozen=True)
class Comparison(ABC):
    """Results beside each other; the first is the one that the others are compared with."""

    results: Sequence[Result]
    corpus: Corpus
    unit = "segments"  # what the corpus has

    @abstractmethod
    def _corpus_scores(self) -> list[dict[str, Score]]:
        """Return each system's scores by name."""

    @property
    @abstractmethod
    def p_values(self) -> list[dict[str, float]]:
        """Of each system but the first, by score: how likely its difference is by chance."""

    @property
    def warnings(self) -> list[str]:
        """What makes the first system's scores mislead."""
        return []

    @abstractmethod
    def samples(self, count: int) -> list[int]:
        """Return segments, from 0, that are worth a look."""

    def own_text(self, result: Result, index: int) -> dict[str, str]:
        """Return source and reference of a segment where a result has others than the corpus."""
        sides = {
            "source": (result.sources, self.corpus.sources),
            "reference": (result.references, self.corpus.references),
        }
        return {
            name: own[index]
            for name, (own, all_) in sides.items()
            if own is not None and (all_ is None or own[index] != all_[index])
        }

    @cached_property
    def scores(self) -> list[dict[str, Any]]:
        """Each system's scores and facts, as JSON data by name."""
        return [
            {name: score.as_json() for name, score in found.items()} | result.facts
            for result, found in zip(self.results, self._corpus_scores(), strict=True)
        ]

    def cells(self, name: str) -> list[str]:
        """Return each system's score of a name for people; but for the first with its p-value."""
        cells = [value_text(name, found[name]) if name in found else "" for found in self.scores]
        for i in range(1, len(cells)):
            if (p := self.p_values[i - 1].get(name)) is not None:
                is_same = self.results[i].outputs == self.results[0].outputs
                cells[i] += " (the same)" if is_same else f" (p = {p:.3f})"
        return cells


class Evaluation(Comparison):
    """Translations or replies beside each other."""

    def _corpus_scores(self) -> list[dict[str, Score]]:
        language = self.corpus.language
        ways = self.corpus.ways or [("", language)] * len(self.corpus.references)
        return [
            scores.scores_by_way(r.outputs, self._references(r), ways, language, ALL)
            for r in self.results
        ]

    def _references(self, result: Result) -> list[str]:
        return self.corpus.references if result.references is None else result.references

    @cached_property
    def p_values(self) -> list[dict[str, float]]:
        """See `scores.p_values`; a system with references of its own has none."""
        references, language = self.corpus.references, self.corpus.language
        first, *others = self.results
        is_same = [self._references(other) == references for other in others]
        compared = [other.outputs for other in itertools.compress(others, is_same)]
        found = iter(scores.p_values(first.outputs, compared, references, language))
        return [next(found) if same else {} for same in is_same]

    @property
    def length_unit(self) -> str:
        """What `by_length` counts."""
        return f"words of the {'source' if self.corpus.sources is not None else 'reference'}"

    @cached_property
    def by_length(self) -> list[list[LengthScore]]:
        """Each system's BLEU by the length of sources, or of references where these are unknown."""
        sources, references, language, ways = self.corpus
        if ways:  # there is no BLEU of several languages together
            return [[] for _ in self.results]
        lengths = sources if sources is not None else references
        return [
            scores.scores_by_length(lengths, r.outputs, self._references(r), language)
            for r in self.results
        ]

    @cached_property
    def segment_scores(self) -> list[list[float]]:
        """Each system's chrF++ of each segment."""
        return [scores.segment_scores(r.outputs, self._references(r)) for r in self.results]

    @cached_property
    def _from_worst(self) -> list[int]:
        """The segments from 0, but for those where nothing is to be written and nothing was."""
        first, chrf = self.results[0], self.segment_scores[0]
        texts = zip(first.outputs, self._references(first), strict=True)
        picked = [i for i, sides in enumerate(texts) if any(map(str.strip, sides))]
        return sorted(picked, key=chrf.__getitem__)

    @property
    def worst(self) -> list[int]:
        """The segments that the first system did worst, from 0, worst first."""
        return self._from_worst[:_NUM_EXTREMES]

    @property
    def best(self) -> list[int]:
        """The segments that the first system did best, best first."""
        return self._from_worst[::-1][:_NUM_EXTREMES]

    def samples(self, count: int) -> list[int]:
        """Return segments from all over the corpus."""
        size = len(self.corpus.references)
        return list(range(0, size, max(1, size // count)))[:count]

    @cached_property
    def warnings(self) -> list[str]:
        """See `Comparison.warnings`."""
        if self.corpus.ways:
            return []
        return scores.warnings(
            self.results[0].outputs, self.corpus.references, self.corpus.language
        )


def value_text(name: str, value: Any) -> str:
    """Return a score or a fact of `Evaluation.scores` for people."""
    if isinstance(value, dict):
        return f"{value['score']:.2f}"
    if isinstance(value, str | int):
        return str(value)
    if name in _PERCENTS:
        return f"{value:.1%}"
    return f"{value:.3f}" if name.startswith("distinct") else f"{value:.2f}"


def words_text(length: LengthScore) -> str:
    """Return the lengths of a class for people."""
    return f"{length.shortest} to {length.longest}" if length.longest else "more"
