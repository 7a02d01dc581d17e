"""Lines of text -> labels with their probabilities.

N lines give N results, in order; a blank line gets no label, without asking the model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import DataError
from nmt_cli.text.labels import Labels
from nmt_cli.text.template import join_texts
from nmt_cli.text.tokenizer import Subwords

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class Scorer(Protocol):
    """A classifier that is ready.

    Attributes:
        description: Name, number format and device, for people.
    """

    description: str

    def logits(self, sources: Sequence[Sequence[int]]) -> Floats:
        """Return the logits [N, Y] of source ids; none longer than the model reads."""


@dataclass(frozen=True)
class Labelled:
    """A line and what it got.

    Attributes:
        source: The line.
        labels: The labels that it got; none for a blank line.
        probabilities: Of all labels, the likeliest first; empty for a blank line.
    """

    source: str
    labels: list[str]
    probabilities: dict[str, float]


class Labeller:
    """Gives labels to texts.

    Args:
        scorer: The model.
        subwords: Its vocabulary.
        settings: See `Manifest.classification`.
        max_length: Longest text in tokens; longer ones lose their ends.

    Attributes:
        scorer: The model.
        labels: Its labels.
    """

    def __init__(
        self, scorer: Scorer, subwords: Subwords, settings: Mapping[str, Any], max_length: int
    ) -> None:
        self.scorer = scorer
        self._subwords = subwords
        self._begins = settings["pooling"] == "first"
        self._num_texts: int = settings["texts"]
        self._max_length = max_length
        self._multi_label: bool = settings["multi_label"]
        self._threshold: float = settings["threshold"]
        separator = settings["separator"] if self._multi_label else None
        self.labels = Labels(tuple(settings["labels"]), separator)

    def label_windows(
        self, windows: Iterable[list[str]], *, on_warning: Callable[[str], None] = lambda _: None
    ) -> Iterator[Labelled]:
        """Yield a result a line, in order, as soon as the line's window is done.

        Args:
            windows: Lines, some at a time.
            on_warning: Told, in one line, of a line that is longer than the model reads.

        Raises:
            DataError: A line is no pair of texts, and the model reads pairs; names it.
        """
        first = 1
        for window in windows:
            yield from self._label_window(window, first, on_warning)
            first += len(window)

    def encode(self, sources: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the ids that the model reads for the texts of each example."""
        return [self._cut(texts) for texts in self._encode_whole(sources)]

    def probabilities(self, sources: Sequence[tuple[str, ...]]) -> Floats:
        """Return the probability of each label [N, Y] for the texts of each example."""
        return self._probabilities(self.encode(sources))

    def given(self, found: Floats) -> Flags:
        """Return which labels are given, [N, Y], by their probabilities."""
        return given_labels(found, multi_label=self._multi_label, threshold=self._threshold)

    def _probabilities(self, ids: list[list[int]]) -> Floats:
        return probabilities(self.scorer.logits(ids), multi_label=self._multi_label)

    def _encode_whole(self, sources: Sequence[tuple[str, ...]]) -> list[list[list[int]]]:
        flat = iter(self._subwords.encode_batch([t.strip() for texts in sources for t in texts]))
        return [[next(flat) for _ in texts] for texts in sources]

    def _cut(self, texts: list[list[int]]) -> list[int]:
        return join_texts(texts, begins=self._begins, max_length=self._max_length)

    def _read(
        self, lines: list[tuple[int, str]], on_warning: Callable[[str], None]
    ) -> list[list[int]]:
        """Return the ids of lines; tell of those that the model does not read to their ends."""
        sources = [texts_of(line, self._num_texts, number) for number, line in lines]
        rows = []
        for (number, _), texts in zip(lines, self._encode_whole(sources), strict=True):
            rows.append(self._cut(texts))
            if lost := self._begins + sum(len(ids) + 1 for ids in texts) - len(rows[-1]):
                total = sum(map(len, texts))
                on_warning(
                    f"line {number} has {total:,} tokens; the model reads {total - lost:,} of them "
                    f"and leaves out its end (model.max_length is {self._max_length:,})"
                )
        return rows

    def _label_window(
        self, window: list[str], first: int, on_warning: Callable[[str], None]
    ) -> Iterator[Labelled]:
        lines = [(n, line) for n, line in enumerate(window, start=first) if line.strip()]
        results: Iterator[tuple[Any, Any]] = iter(())
        if lines:
            found = self._probabilities(self._read(lines, on_warning))
            results = zip(found, self.given(found), strict=True)
        for line in window:
            if not line.strip():
                yield Labelled(line, [], {})
                continue
            row, flags = next(results)
            names, order = self.labels.names, np.argsort(-row, kind="stable")
            likeliest = {names[i]: float(row[i]) for i in order}
            yield Labelled(line, [names[i] for i in order if flags[i]], likeliest)


def texts_of(line: str, num_texts: int, number: int = 1) -> tuple[str, ...]:
    """Return the text of a line, or both texts where the model reads pairs.

    Args:
        line: As a user gives it.
        num_texts: How many the model reads.
        number: The line's, to name it by.

    Raises:
        DataError: There is no tab between two texts.
    """
    texts = tuple(line.split("\t", num_texts - 1))
    if len(texts) < num_texts:
        raise DataError(f"line {number} is one text; this model reads two, with a tab between them")
    return texts


def probabilities(logits: Floats, *, multi_label: bool) -> Floats:
    """Return the probability of each label, [N, Y]: together 1, or each by itself."""
    if multi_label:
        alone: Floats = np.exp(-np.logaddexp(0.0, -logits))
        return alone
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    together: Floats = exponentials / exponentials.sum(axis=1, keepdims=True)
    return together


def given_labels(found: Floats, *, multi_label: bool, threshold: float) -> Flags:
    """Return which labels a text gets, [N, Y]: the likeliest, or all from a threshold on."""
    if multi_label:
        above: Flags = found >= threshold
        return above
    likeliest: Flags = np.eye(found.shape[1], dtype=bool)[found.argmax(axis=1)]
    return likeliest


def label_flags(texts: Sequence[str], labels: Labels) -> Flags:
    """Return which labels stand in each label text of a corpus, [N, Y]."""
    flags = np.zeros((len(texts), len(labels.names)), bool)
    for row, text in zip(flags, texts, strict=True):
        row[[number - 1 for number in labels.ids(text)]] = True
    return flags
