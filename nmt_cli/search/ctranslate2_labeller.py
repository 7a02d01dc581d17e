"""A classifier without TensorFlow: CTranslate2 runs the encoder, NumPy the pooling and the head."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from nmt_cli.bundle.folder import Bundle
from nmt_cli.resources import available_cores
from nmt_cli.search.ctranslate2_engine import BATCH_TOKENS, cannot_load
from nmt_cli.search.labeller import Floats, Labeller
from nmt_cli.text.vocabulary import Vocabularies

_LOWEST = -1e9  # below any state


class CTranslate2Scorer:
    """Scores texts with CTranslate2.

    Args:
        folder: What `ctranslate2_form.py` wrote.
        head: The weights `head.kernel` [D, Y] and `head.bias` [Y].
        pooling: "mean", "max" or "first".
        device: "cpu" or "cuda".
        threads: Processor cores to use; 0 is all.

    Raises:
        ModelFileError: The folder is damaged, or this machine cannot run its number format.
    """

    def __init__(
        self,
        folder: Path,
        head: Mapping[str, Floats],
        pooling: str,
        *,
        device: str = "cpu",
        threads: int = 0,
    ) -> None:
        self._folder = folder
        self._kernel, self._bias = head["head.kernel"], head["head.bias"]
        self._pooling = pooling
        self._device = device
        self._threads = threads or available_cores()
        self.description = f"CTranslate2 {folder.name} on {device}"

    @functools.cached_property
    def _encoder(self) -> Any:
        with cannot_load(self._folder):
            return ctranslate2.Encoder(
                str(self._folder),
                device=self._device,
                inter_threads=self._threads,
                intra_threads=1,
            )

    def logits(self, sources: Sequence[Sequence[int]]) -> Floats:
        """See `Scorer.logits`."""
        found = np.empty((len(sources), len(self._bias)), np.float32)
        batches = list(_batches(sources))
        rows = [[list(sources[i]) for i in indices] for indices in batches]
        with ThreadPoolExecutor(self._threads) as pool:
            for indices, logits in zip(batches, pool.map(self._batch_logits, rows), strict=True):
                found[indices] = logits
        return found

    def _batch_logits(self, rows: list[list[int]]) -> Floats:
        states = _as_numpy(self._encoder.forward_batch(rows).last_hidden_state)
        lengths = np.array([len(row) for row in rows])
        logits: Floats = pooled(states, lengths, self._pooling) @ self._kernel + self._bias
        return logits


def load_labeller(
    bundle: Bundle, number_format: str | None = None, *, device: str = "cpu", threads: int = 0
) -> Labeller:
    """Return what gives labels with a classifier's bundle.

    Args:
        bundle: The model.
        number_format: CTranslate2's, such as "int8"; None is the one that the bundle chose.
        device: "cpu" or "cuda".
        threads: Processor cores to use; 0 is all.

    Raises:
        ModelFileError: The bundle is damaged, or lacks the number format.
    """
    settings, longest = bundle.manifest.classification, bundle.manifest.model["max_length"]
    scorer = CTranslate2Scorer(
        bundle.ctranslate2_folder(number_format),
        bundle.load_weights("head."),
        settings["pooling"],
        device=device,
        threads=threads,
    )
    return Labeller(scorer, Vocabularies.load(bundle.path).source, settings, longest)


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


def _batches(sources: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the indices of texts of about one length, so many tokens at a time."""
    batch: list[int] = []
    for index in sorted(range(len(sources)), key=lambda i: len(sources[i])):
        if batch and (len(batch) + 1) * len(sources[index]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _as_numpy(view: Any) -> Floats:
    """Return CTranslate2's array, wherever it is, as float32."""
    if view.device != "cpu":
        view = view.to_device(ctranslate2.Device.cpu)
    return np.array(view.to(ctranslate2.DataType.float32))
