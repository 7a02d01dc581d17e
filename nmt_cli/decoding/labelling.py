"""Texts -> labels with their probabilities: what a classifier's logits say."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from nmt_cli.text.labels import Labels

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class Scorer(Protocol):
    """A classifier that is ready."""

    def logits(self, sources: Sequence[Sequence[int]]) -> Floats:
        """Return the logits [N, Y] of source ids; none longer than the model reads."""


def probabilities(logits: Floats, *, multi_label: bool) -> Floats:
    """Return the probability of each label, [N, Y]: together 1, or each by itself."""
    if multi_label:
        both: Floats = np.exp(-np.logaddexp(0.0, -logits))
        return both
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
