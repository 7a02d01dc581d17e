"""Lines of text -> labels with their probabilities.

N lines give N results, in order; a blank line gets no label, without asking the model. CTranslate2
runs the encoder, NumPy the pooling and the head.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import ctranslate2
import numpy as np
import numpy.typing as npt

from nmt_cli.errors import DataError
from nmt_cli.resources import available_cores
from nmt_cli.search.ctranslate2_engine import BATCH_TOKENS, as_numpy, cannot_load
from nmt_cli.search.engine import Rows
from nmt_cli.text.labels import Labels
from nmt_cli.text.letter_case import in_usual_case
from nmt_cli.text.template import join_texts
from nmt_cli.text.tokenizer import Subwords

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
_LOWEST = -1e9  # below any state


class Scorer(Protocol):
    """A classifier that is ready."""

    @property
    def description(self) -> str:
        """Name, number format and device, for people."""

    def logits(self, sources: Rows) -> Floats:
        """Return the logits [N, Y] of source ids; none longer than the model reads."""


@dataclass(frozen=True)
class Labelled:
    """A line, its labels, and the probability of every label, the likeliest first."""

    source: str
    labels: list[str]
    probabilities: dict[str, float]


class Labeller:
    """Gives labels to texts, as the settings in `Manifest.classification` say.

    Texts of more than `max_length` tokens lose their ends.
    """

    def __init__(
        self, scorer: Scorer, subwords: Subwords, settings: Mapping[str, Any], max_length: int
    ) -> None:
        self.scorer = scorer
        self._subwords = subwords
        self._begins: bool = settings["pooling"] == "first"
        self._num_texts: int = settings["texts"]
        self.max_length = max_length
        self._multi_label: bool = settings["multi_label"]
        self._threshold: float = settings["threshold"]
        separator = settings["separator"] if self._multi_label else None
        self.labels = Labels(tuple(settings["labels"]), separator)

    def label_windows(
        self, windows: Iterable[list[str]], *, on_warning: Callable[[str], None] = lambda _: None
    ) -> Iterator[Labelled]:
        """Yield a result a line, in order, as soon as the line's window is done.

        `on_warning` is called with a text for each line that is too long for the model.
        """
        first = 1
        for window in windows:
            yield from self._label_window(window, first, on_warning)
            first += len(window)

    def encode(self, sources: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the ids that the model reads for the texts of each example."""
        return [ids for ids, _ in self._encode(sources)]

    def num_cut(self, sources: Sequence[tuple[str, ...]]) -> int:
        """Return of how many examples the model does not read the ends."""
        return sum(self._lost(ids, total) > 0 for ids, total in self._encode(sources))

    def probabilities(self, ids: list[list[int]]) -> Floats:
        """Return the probability of each label [N, Y] for what `encode` made of each example."""
        return probabilities(self.scorer.logits(ids), multi_label=self._multi_label)

    def given(self, found: Floats) -> Flags:
        """Return which labels are given, [N, Y], by their probabilities."""
        return given_labels(found, multi_label=self._multi_label, threshold=self._threshold)

    def _encode(self, sources: Sequence[tuple[str, ...]]) -> Iterator[tuple[list[int], int]]:
        """Yield what the model reads of each example, and how many tokens its texts have."""
        read = [in_usual_case(t.strip(), self._subwords) for texts in sources for t in texts]
        flat = iter(self._subwords.encode_batch(read))
        for texts in sources:
            rows = [next(flat) for _ in texts]
            ids = join_texts(rows, begins=self._begins, max_length=self.max_length)
            yield ids, sum(map(len, rows))

    def _lost(self, ids: list[int], total: int) -> int:
        """Return how many of an example's `total` tokens are not in what the model reads."""
        return self._begins + total + self._num_texts - len(ids)

    def _read(
        self, lines: list[tuple[int, str]], on_warning: Callable[[str], None]
    ) -> list[list[int]]:
        """Return the ids of lines; tell of those that the model does not read to their ends."""
        sources = [texts_of(line, self._num_texts, number) for number, line in lines]
        rows = []
        for (number, _), (ids, total) in zip(lines, self._encode(sources), strict=True):
            rows.append(ids)
            if lost := self._lost(ids, total):
                on_warning(
                    f"line {number} has {total:,} tokens; the model reads {total - lost:,} of them "
                    f"and ignores the rest (model.max_length is {self.max_length:,})"
                )
        return rows

    def _label_window(
        self, window: list[str], first: int, on_warning: Callable[[str], None]
    ) -> Iterator[Labelled]:
        lines = [(n, line) for n, line in enumerate(window, start=first) if line.strip()]
        results: Iterator[tuple[Any, Any]] = iter(())
        if lines:
            found = self.probabilities(self._read(lines, on_warning))
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
    """Return the text of a line, or both where the model reads pairs; DataError without a tab."""
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


@dataclass(frozen=True, eq=False)
class CTranslate2Scorer:
    """Scores texts with CTranslate2."""

    folder: Path  # what `ctranslate2_form.py` wrote
    head: Mapping[str, Floats]  # the weights `head.kernel` [D, Y] and `head.bias` [Y]
    pooling: str  # "mean", "max" or "first"
    device: str = "cpu"  # or "cuda"
    threads: int = field(default_factory=available_cores)

    @property
    def description(self) -> str:
        """See `Scorer`."""
        return f"CTranslate2 {self.folder.name} on {self.device}"

    @functools.cached_property
    def _encoder(self) -> Any:
        with cannot_load(self.folder):
            return ctranslate2.Encoder(
                str(self.folder), device=self.device, inter_threads=self.threads, intra_threads=1
            )

    def logits(self, sources: Rows) -> Floats:
        """See `Scorer`."""
        found = np.empty((len(sources), len(self.head["head.bias"])), np.float32)
        batches = list(_batches(sources))
        rows = [[list(sources[i]) for i in indices] for indices in batches]
        with ThreadPoolExecutor(self.threads) as pool:
            for indices, logits in zip(batches, pool.map(self._batch_logits, rows), strict=True):
                found[indices] = logits
        return found

    def _batch_logits(self, rows: list[list[int]]) -> Floats:
        states = as_numpy(self._encoder.forward_batch(rows).last_hidden_state)
        lengths = np.array([len(row) for row in rows])
        vectors = pooled(states, lengths, self.pooling)
        logits: Floats = vectors @ self.head["head.kernel"] + self.head["head.bias"]
        return logits


def pooled(states: Floats, lengths: Any, pooling: str) -> Floats:
    """Return one vector a text [B, D] of states [B, S, D], of which `lengths` [B] are real."""
    if pooling == "first":
        return states[:, 0]
    is_real = (np.arange(states.shape[1]) < lengths[:, None])[:, :, None]
    if pooling == "max":
        highest: Floats = np.where(is_real, states, np.float32(_LOWEST)).max(axis=1)
        return highest
    total = np.where(is_real, states, np.float32(0)).sum(axis=1)
    mean: Floats = total / lengths[:, None].astype(np.float32)
    return mean


def _batches(sources: Rows) -> Iterator[list[int]]:
    """Yield the indices of texts of about one length, so many tokens at a time."""
    batch: list[int] = []
    for index in sorted(range(len(sources)), key=lambda i: len(sources[i])):
        if batch and (len(batch) + 1) * len(sources[index]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
