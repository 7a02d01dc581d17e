"""Examples -> ids, and the encoded corpus on disk: flat arrays that are mapped, not loaded.

A split's folder holds, for each side, `SIDE.ids` (the tokens of all examples one after the other,
each with its `</s>`) and `SIDE.offsets` (int64: where each example begins, plus the end), and in
`meta.json` how many examples each corpus of the split has. Its name carries a fingerprint of the
text files, the vocabulary and the template, so a folder that exists is right, and a change of any
of these makes a new one. `crc32.json` has the checksum of each file in it, as disks and people
damage files. Several processes may encode a share each (`shares.py`): the parts that they leave in
`FOLDER.parts` become the folder.

Each word, as spaces separate them, is encoded once and looked up after: normal form, boundaries and
merges do not reach over a space, so the ids of a text are those of its words one after the other.
Even in a few thousand lines most words come several times.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import mmap
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.config.pace import Lengths
from nmt_cli.config.schema import Config
from nmt_cli.errors import TrainingError
from nmt_cli.files import atomic_dir, crc32_of, remove_dir, remove_leftovers, write_text
from nmt_cli.parts import checked_parts, folder_of
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.labels import Labels
from nmt_cli.text.languages import NO_LANGUAGES, Languages
from nmt_cli.text.parallel import map_in_order
from nmt_cli.text.special_tokens import EOS_ID, WORD_MARKER
from nmt_cli.text.template import NMT, join_texts, joiner
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

FORMAT = 2  # of the files below; part of a folder's fingerprint
_CHUNK = 10_000
_SIDES = ("source", "target")
_META, _BLANK, _CHECKSUMS = "meta.json", "blank.json", "crc32.json"
_BLOCK = 1 << 20  # offsets that are copied at a time


@dataclass(frozen=True)
class Encoder:
    """Examples -> ids, with the vocabulary of each side (the same object twice when joint)."""

    has_labels: ClassVar[bool] = False  # whether targets are no text, but numbers of labels
    source: Subwords
    target: Subwords
    is_chat: bool  # whether the source is a conversation (see `template.py`)
    persona: str | None  # the persona line of a chat, or None
    max_length: int  # longest conversation in tokens, with `</s>`; other sides are never cut
    languages: Languages = NO_LANGUAGES  # what says which languages are meant
    chat_format: str = NMT  # how turns are joined (see `template.py`)

    @property
    def vocabularies(self) -> Vocabularies:
        """Both sides together."""
        return Vocabularies(self.source, self.target, self.languages)

    def with_word_cache(self) -> "Encoder":
        """Return one that gives the same ids, faster for much text; imported ones stay as they are.

        These may drop spaces and whole words, and split a word in another way beside other words.
        """
        if self.source.is_imported or self.target.is_imported:
            return self
        source = WordCache(self.source)
        joint = self.target is self.source
        return replace(self, source=source, target=source if joint else WordCache(self.target))

    def fingerprint(self) -> str:
        """Return a hash of everything that decides which ids a text gets."""
        turns = "newest first" if self.is_chat else False
        template: list[Any] = [turns, self.persona, self.max_length if self.is_chat else None]
        if self.languages.tokens:
            template += [self.languages.as_json(), self.languages.default]
        template += [self.chat_format] if self.chat_format != NMT else []
        text = self.source.to_json() + self.target.to_json() + json.dumps(template)
        return hashlib.sha256(text.encode()).hexdigest()

    def encode_sources(self, sources: list[tuple[str, ...]]) -> list[list[int]]:
        """Return the source ids, with `</s>`, of some examples' turns."""
        flat = iter(self.source.encode_batch([turn for turns in sources for turn in turns]))
        return [self.encode_turns(list(itertools.islice(flat, len(turns)))) for turns in sources]

    def encode_turns(self, turns: list[list[int]]) -> list[int]:
        """Return the source ids, with `</s>`, of one example's turns, each encoded by itself."""
        if not self.is_chat:
            return [*turns[0], EOS_ID]
        join = joiner(self.chat_format, self.source)
        return join(turns, persona=self._persona_ids, max_length=self.max_length)

    @functools.cached_property
    def _persona_ids(self) -> list[int]:
        return self.source.encode(self.persona) if self.persona else []

    def encode_targets(self, targets: list[str]) -> list[list[int]]:
        """Return the target ids, with `</s>`."""
        return [[*ids, EOS_ID] for ids in self.target.encode_batch(targets)]

    def encode_examples(
        self, examples: Sequence[Example]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the source ids and the target ids of examples, with what tells their languages."""
        sources = self.encode_sources([example.source for example in examples])
        targets = self.encode_targets([example.target for example in examples])
        if self.languages.tokens:
            direction = functools.cache(self.vocabularies.direction)
            begins = [direction(*example.way) for example in examples]
            sources = [[*b.source, *ids] for b, ids in zip(begins, sources, strict=True)]
            targets = [[*b.output, *ids] for b, ids in zip(begins, targets, strict=True)]
        return sources, targets


@dataclass(frozen=True, kw_only=True)
class LabelEncoder(Encoder):
    """Texts -> ids, and label names -> their numbers.

    `begins`: each text has `<s>` in front, for a model that looks at the first position.
    """

    has_labels: ClassVar[bool] = True
    labels: Labels
    begins: bool

    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`."""
        template = [self.labels.names, self.labels.separator, self.begins, self.max_length]
        text = self.source.to_json() + json.dumps(template)
        return hashlib.sha256(text.encode()).hexdigest()

    def encode_sources(self, sources: list[tuple[str, ...]]) -> list[list[int]]:
        """Return the ids of texts; white space around them is no part of them."""
        return super().encode_sources([tuple(text.strip() for text in one) for one in sources])

    def encode_turns(self, turns: list[list[int]]) -> list[int]:
        """Return the ids of one text, or of two with `</s>` between them."""
        return join_texts(turns, begins=self.begins, max_length=self.max_length)

    def encode_targets(self, targets: list[str]) -> list[list[int]]:
        """Return the numbers of the labels, from 1."""
        return [self.labels.ids(target) for target in targets]


def build_encoder(
    config: Config, vocabularies: Vocabularies, *, max_length: int | None = None
) -> Encoder:
    """Return the text encoder of a configuration whose labels, if it has any, are known.

    `max_length` is where to cut, in tokens; None is where the model does.
    """
    longest = max_length or config.model.max_length
    sides = vocabularies.source, vocabularies.target
    if (labels := Labels.of(config)) is not None:
        begins = config.classification.pooling == "first"
        return LabelEncoder(*sides, False, None, longest, labels=labels, begins=begins)
    return Encoder(
        *sides,
        is_chat=config.facts.has_turns,
        persona=config.chat.persona,
        max_length=longest,
        languages=vocabularies.languages,
        chat_format=config.chat.format,
    )


@dataclass(frozen=True)
class EncodedCorpus:
    """One split's ids."""

    # [all source tokens] ids, memory-mapped; `target` likewise
    source: npt.NDArray[np.unsignedinteger[Any]]
    # [N + 1] int64; example i is `source[source_offsets[i]:source_offsets[i+1]]`
    source_offsets: npt.NDArray[np.int64]
    target: npt.NDArray[np.unsignedinteger[Any]]
    target_offsets: npt.NDArray[np.int64]
    # how many examples each corpus of the split has, in their order; empty for one corpus
    sizes: tuple[int, ...] = ()
    has_labels: bool = False  # whether the targets are numbers of labels

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    @property
    def source_lengths(self) -> npt.NDArray[np.int64]:
        """[N] tokens of each source, with `</s>`."""
        return np.diff(self.source_offsets)

    @property
    def target_lengths(self) -> npt.NDArray[np.int64]:
        """[N] tokens of each target, with `</s>`."""
        return np.diff(self.target_offsets)

    @property
    def counted_lengths(self) -> npt.NDArray[np.int64]:
        """[N] tokens of each example that count for a batch: of the target, if it is text."""
        return self.source_lengths if self.has_labels else self.target_lengths

    @property
    def mean_lengths(self) -> Lengths:
        """Mean tokens of an example."""
        target = 0 if self.has_labels else len(self.target)
        return Lengths(len(self.source) / len(self), target / len(self))

    def release(self) -> None:
        """Give mapped pages back, so that memory does not grow with what was read of the files."""
        for array in (self.source, self.source_offsets, self.target, self.target_offsets):
            mapped = getattr(array, "_mmap", None)
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)


def parts_of(folder: Path) -> list[Path]:
    """Return all parts of an encoded split, or none; DataError: one is missing or damaged."""
    return checked_parts(folder, made_of(folder)) if any(folder_of(folder).glob("*")) else []


def made_of(folder: Path) -> dict[str, str]:
    """Return what the parts of an encoded split have in common: its name has the fingerprint."""
    return {"text or vocabulary": folder.name}


def encode_corpora(
    corpora: Iterable[Iterable[Example]],
    encoder: Encoder,
    folder: Path,
    *,
    on_progress: Callable[[int], None] = lambda _: None,
    find_parts: Callable[[Path], list[Path]] = parts_of,
) -> EncodedCorpus:
    """Return the encoded split in `folder`; encode it into there unless that was done already.

    The corpora are streamed, and only read if there is no folder, nor parts of it: the caller names
    it after the fingerprints of corpora and encoder. `on_progress` is called with the number of
    examples encoded so far, `find_parts` for the parts.

    Raises:
        TrainingError: There is no example.
        DataError: Some parts are there, and one is missing or damaged.
    """
    if not folder.exists():
        if folder.parent.is_dir():
            remove_leftovers(folder.parent)
        parts = find_parts(folder)
        with atomic_dir(folder) as temporary:
            if parts:
                _join(parts, temporary)
            elif not write_split(corpora, encoder, temporary, on_progress):
                raise TrainingError("the corpus has no examples", hint="are its files empty?")
    return replace(_open(folder), has_labels=encoder.has_labels)


def num_blank(corpora: Corpora, folder: Path) -> dict[str, int]:
    """Return the blank pairs of each training corpus, counted when it was encoded into a folder."""
    kept = folder / _BLANK
    if not kept.is_file():
        labels = (corpus.label for corpus in corpora.config.data.train)
        known = corpora.num_blank
        write_text(kept, json.dumps({label: known[label] for label in labels if label in known}))
    counts: dict[str, int] = json.loads(kept.read_text(encoding="utf-8"))
    return counts


def is_sealed(folder: Path) -> bool:
    """Return whether an encoded split is complete."""
    return (folder / _CHECKSUMS).exists()


def seal(folder: Path) -> None:
    """Write down the checksum of each file of an encoded split, unless that was done already."""
    if not is_sealed(folder):
        remove_leftovers(folder)
        sums = {file.name: crc32_of(file) for file in sorted(folder.iterdir()) if file.is_file()}
        write_text(folder / _CHECKSUMS, json.dumps(sums))


def remove_damaged(folder: Path) -> bool:
    """Delete an encoded split that is not what `seal` saw; return whether it was deleted.

    Without checksums, nobody knows: it is of an older version, or its run was killed just then.
    """
    if not folder.exists():
        return False
    try:
        sums = json.loads((folder / _CHECKSUMS).read_bytes())
        is_whole = all(crc32_of(folder / name) == known for name, known in sums.items())
    except (FileNotFoundError, ValueError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        remove_dir(folder)
    return not is_whole


def remove_other_shards(keep: Iterable[Path]) -> None:
    """Delete the shards of earlier settings beside those in `keep`."""
    kept = set(keep)
    for parent in {path.parent for path in kept}:
        for folder in parent.iterdir():
            if folder.is_dir() and folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)


class _EncodedChunk(NamedTuple):
    """The ids of some examples one after the other, and how many each has, by side."""

    ids: dict[str, npt.NDArray[np.unsignedinteger[Any]]]
    lengths: dict[str, npt.NDArray[np.int64]]


def write_split(
    corpora: Iterable[Iterable[Example]],
    encoder: Encoder,
    folder: Path,
    on_progress: Callable[[int], None],
) -> int:
    """Encode corpora into an empty folder; return how many examples they have."""
    vocabulary = max(encoder.source.vocab_size, encoder.target.vocab_size)
    dtype = np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.uint32)
    sizes: list[int] = []
    done, ends = 0, dict.fromkeys(_SIDES, 0)
    with contextlib.ExitStack() as stack:
        streams = {
            name: stack.enter_context((folder / name).open("wb"))
            for side in _SIDES
            for name in (f"{side}.ids", f"{side}.offsets")
        }
        for side in _SIDES:
            streams[f"{side}.offsets"].write(np.zeros(1, np.int64).tobytes())
        chunks = _chunks(corpora, sizes)
        for chunk in map_in_order(_build_chunk_encoder, (encoder, dtype), chunks):
            for side in _SIDES:
                offsets = ends[side] + np.cumsum(chunk.lengths[side])
                streams[f"{side}.ids"].write(chunk.ids[side].tobytes())
                streams[f"{side}.offsets"].write(offsets.tobytes())
                ends[side] = int(offsets[-1])
            done += len(chunk.lengths["source"])
            on_progress(done)
    (folder / _META).write_text(json.dumps({"dtype": dtype.name, "sizes": sizes}))
    return done


def _join(parts: list[Path], folder: Path) -> None:
    """Make of parts what `write_split` would have made of all examples, with the blank pairs."""
    metas = [json.loads((part / _META).read_text()) for part in parts]
    sizes = [sum(of_corpus) for of_corpus in zip(*(meta["sizes"] for meta in metas), strict=True)]
    (folder / _META).write_text(json.dumps(metas[0] | {"sizes": sizes}))
    blank: dict[str, int] = {}
    for part in parts:
        blank |= json.loads((part / _BLANK).read_text(encoding="utf-8"))
    write_text(folder / _BLANK, json.dumps(blank))
    for side in _SIDES:
        with (folder / f"{side}.ids").open("wb") as ids:
            for part in parts:
                with (part / f"{side}.ids").open("rb") as stream:
                    shutil.copyfileobj(stream, ids)
        _join_offsets([part / f"{side}.offsets" for part in parts], folder / f"{side}.offsets")


def _join_offsets(parts: list[Path], whole: Path) -> None:
    end = np.int64(0)
    with whole.open("wb") as offsets:
        offsets.write(end.tobytes())
        for part in parts:
            begin = end
            with part.open("rb") as stream:
                stream.seek(end.nbytes)  # the first is 0
                while len(block := np.fromfile(stream, np.int64, _BLOCK)):
                    offsets.write((block + begin).tobytes())
                    end = begin + block[-1]


def _chunks(corpora: Iterable[Iterable[Example]], sizes: list[int]) -> Iterator[list[Example]]:
    """Yield the examples of all corpora in chunks; append how many each has to `sizes`."""
    for corpus in corpora:
        sizes.append(0)
        examples = iter(corpus)
        while chunk := list(itertools.islice(examples, _CHUNK)):
            sizes[-1] += len(chunk)
            yield chunk


def _build_chunk_encoder(
    encoder: Encoder, dtype: npt.DTypeLike
) -> Callable[[list[Example]], _EncodedChunk]:
    cached = encoder.with_word_cache()

    def encode(chunk: list[Example]) -> _EncodedChunk:
        rows = dict(zip(_SIDES, cached.encode_examples(chunk), strict=True))
        flat = {s: np.fromiter(itertools.chain.from_iterable(rows[s]), dtype) for s in _SIDES}
        lengths = {s: np.fromiter(map(len, rows[s]), np.int64) for s in _SIDES}
        return _EncodedChunk(flat, lengths)

    return encode


def _open(folder: Path) -> EncodedCorpus:
    meta = json.loads((folder / _META).read_text())
    arrays: dict[str, Any] = {}
    for side in _SIDES:
        arrays[side] = _mapped(folder / f"{side}.ids", np.dtype(meta["dtype"]))
        arrays[f"{side}_offsets"] = np.memmap(folder / f"{side}.offsets", np.int64, mode="r")
    return EncodedCorpus(**arrays, sizes=tuple(meta["sizes"]))


def _mapped(file: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Map a file; an empty one, as of examples of which none has a label, cannot be."""
    return np.memmap(file, dtype, mode="r") if file.stat().st_size else np.empty(0, dtype)


_MOST_CHARACTERS = 2_000_000  # of the words that are kept: some 100 MB
_WORDS_IN_A_TEXT = 50  # new words are encoded so many at once


class WordCache(Subwords):
    """The same ids as those of the `Subwords` it is made from, faster for much text."""

    def __init__(self, subwords: Subwords) -> None:
        super().__init__(subwords.tokenizer, subwords.tags)
        self._begins_word = np.array([p.startswith(WORD_MARKER) for p in subwords.all_tokens()])
        self._between_spaces = {"": subwords.ids([WORD_MARKER])}
        self._forget()

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        rows = [text.split(" ") if text else [] for text in texts]
        words = set().union(*rows)
        if self._characters > _MOST_CHARACTERS:
            self._forget()
        new = list(words.difference(self._ids_of))
        self._ids_of.update(zip(new, self._encode_words(new), strict=True))
        self._characters += sum(map(len, new))
        ids_of = self._ids_of.__getitem__
        return [list(chain.from_iterable(map(ids_of, row))) for row in rows]

    def _forget(self) -> None:
        self._ids_of: dict[str, list[int]] = dict(self._between_spaces)
        self._characters = 0

    def _encode_words(self, words: list[str]) -> list[list[int]]:
        starts = range(0, len(words), _WORDS_IN_A_TEXT)
        groups = [words[first : first + _WORDS_IN_A_TEXT] for first in starts]
        encoded = super().encode_batch([" ".join(group) for group in groups])
        return list(chain.from_iterable(map(self._ids_of_each, groups, encoded)))

    def _ids_of_each(self, words: list[str], ids: list[int]) -> list[list[int]]:
        """Cut the ids of a text into those of its words: each begins with the marker."""
        begins = np.flatnonzero(self._begins_word[ids]).tolist()
        if len(begins) > len(words):  # NFKC made a space within a word
            return [self.encode(word) for word in words]
        return [ids[first:end] for first, end in pairwise([*begins, len(ids)])]
