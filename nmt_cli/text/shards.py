"""The encoded corpus on disk: flat arrays of ids that are memory-mapped, never loaded whole.

A split's folder holds, for each side, `SIDE.ids` (the pieces of all examples one after the other,
each with its `</s>`) and `SIDE.offsets.npy` (where each example begins, plus the end). Its name
carries a fingerprint of the text files, the vocabulary and the template, so a folder that exists is
right, and a change of any of these makes a new one.
"""

import hashlib
import itertools
import json
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import TrainingError
from nmt_cli.files import atomic_dir, sha256_of
from nmt_cli.text.corpus import Example
from nmt_cli.text.template import join_turns
from nmt_cli.text.tokenizer import EOS_ID, Subwords
from nmt_cli.text.vocabulary import Vocabularies

_CHUNK = 10_000
_SIDES = ("source", "target")


@dataclass(frozen=True)
class Encoder:
    """Examples -> ids, with the vocabulary of each side.

    Attributes:
        source: Vocabulary of the source side.
        target: Vocabulary of the target side; the same object when joint.
        is_chat: Whether the source is a conversation (see `template.py`).
        persona: The persona line of a chat, or None.
        max_length: Longest conversation in pieces, with `</s>`; other sides are never cut.
    """

    source: Subwords
    target: Subwords
    is_chat: bool
    persona: str | None
    max_length: int

    @property
    def vocabularies(self) -> Vocabularies:
        """Both sides together."""
        return Vocabularies(self.source, self.target)

    def fingerprint(self) -> str:
        """Return a hash of everything that decides which ids a text gets."""
        template = [self.is_chat, self.persona, self.max_length if self.is_chat else None]
        text = self.source.to_json() + self.target.to_json() + json.dumps(template)
        return hashlib.sha256(text.encode()).hexdigest()

    def encode_sources(self, sources: list[tuple[str, ...]]) -> list[list[int]]:
        """Return the source ids, with `</s>`, of some examples' turns."""
        flat = iter(self.source.encode_batch([turn for turns in sources for turn in turns]))
        encoded = [list(itertools.islice(flat, len(turns))) for turns in sources]
        if not self.is_chat:
            return [[*turns[0], EOS_ID] for turns in encoded]
        persona = self.source.encode(self.persona) if self.persona else []
        return [join_turns(turns, persona=persona, max_length=self.max_length) for turns in encoded]

    def encode_targets(self, targets: list[str]) -> list[list[int]]:
        """Return the target ids, with `</s>`."""
        return [[*ids, EOS_ID] for ids in self.target.encode_batch(targets)]


@dataclass(frozen=True)
class EncodedCorpus:
    """One split's ids.

    Attributes:
        source: [all source pieces] ids, memory-mapped.
        source_offsets: [N + 1] int64; example i is `source[source_offsets[i]:source_offsets[i+1]]`.
        target: [all target pieces] ids, memory-mapped.
        target_offsets: [N + 1] int64.
    """

    source: npt.NDArray[np.unsignedinteger[Any]]
    source_offsets: npt.NDArray[np.int64]
    target: npt.NDArray[np.unsignedinteger[Any]]
    target_offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    @property
    def source_lengths(self) -> npt.NDArray[np.int64]:
        """[N] pieces of each source, with `</s>`."""
        return np.diff(self.source_offsets)

    @property
    def target_lengths(self) -> npt.NDArray[np.int64]:
        """[N] pieces of each target, with `</s>`."""
        return np.diff(self.target_offsets)


def corpus_fingerprint(files: list[Path], settings: object) -> str:
    """Return a hash of the files' bytes and of the settings that decide how they are read."""
    parts = [json.dumps(settings, sort_keys=True), *map(sha256_of, files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def encode_corpus(
    examples: Iterable[Example],
    encoder: Encoder,
    folder: Path,
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> EncodedCorpus:
    """Return the encoded corpus in `folder`; encode `examples` into it unless it is there already.

    Args:
        examples: Read only when the folder does not exist; streamed.
        encoder: Makes ids.
        folder: Named by the caller after the fingerprints of corpus and encoder.
        on_progress: Called with the number of examples encoded so far.

    Raises:
        TrainingError: There is no example.
    """
    if not folder.exists():
        with atomic_dir(folder) as temporary:
            _write(examples, encoder, temporary, on_progress)
    return _open(folder)


def remove_other_shards(keep: Iterable[Path]) -> None:
    """Delete the shards of earlier settings beside those in `keep`."""
    kept = set(keep)
    for parent in {path.parent for path in kept}:
        for folder in parent.iterdir():
            if folder.is_dir() and folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _write(
    examples: Iterable[Example], encoder: Encoder, folder: Path, on_progress: Callable[[int], None]
) -> None:
    offsets = {side: array("q", [0]) for side in _SIDES}
    vocabulary = max(encoder.source.vocab_size, encoder.target.vocab_size)
    dtype = np.uint16 if vocabulary <= 1 << 16 else np.uint32
    with (folder / "source.ids").open("wb") as source, (folder / "target.ids").open("wb") as target:
        streams = {"source": source, "target": target}
        for chunk in _chunks(examples):
            sides = {
                "source": encoder.encode_sources([example.source for example in chunk]),
                "target": encoder.encode_targets([example.target for example in chunk]),
            }
            for side, ids in sides.items():
                flat = np.fromiter(itertools.chain.from_iterable(ids), dtype)
                streams[side].write(flat.tobytes())
                ends = np.cumsum(np.fromiter(map(len, ids), np.int64)) + offsets[side][-1]
                offsets[side].frombytes(ends.tobytes())
            on_progress(len(offsets["source"]) - 1)
    if len(offsets["source"]) == 1:
        raise TrainingError("there is no example in the corpus", hint="are its files empty?")
    for side in _SIDES:
        np.save(folder / f"{side}.offsets.npy", np.frombuffer(offsets[side], np.int64))
    (folder / "meta.json").write_text(json.dumps({"dtype": np.dtype(dtype).name}))


def _chunks(examples: Iterable[Example]) -> Iterator[tuple[Example, ...]]:
    iterator = iter(examples)
    while chunk := tuple(itertools.islice(iterator, _CHUNK)):
        yield chunk


def _open(folder: Path) -> EncodedCorpus:
    dtype = np.dtype(json.loads((folder / "meta.json").read_text())["dtype"])
    arrays: dict[str, Any] = {}
    for side in _SIDES:
        arrays[side] = np.memmap(folder / f"{side}.ids", dtype, mode="r")
        arrays[f"{side}_offsets"] = np.load(folder / f"{side}.offsets.npy", mmap_mode="r")
    return EncodedCorpus(**arrays)
