"""Files of text -> examples: two parallel text files, TSV, CSV, JSONL, dialogues; plain or .gz.

An example is what the model learns from: some turns of source text (one for translation, a window
of the conversation for chat) and one target text. Every problem names its file and line.
"""

import collections
import csv
import functools
import hashlib
import itertools
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.config import Config, CorpusConfig
from nmt_cli.errors import DataError, did_you_mean
from nmt_cli.files import read_lines

_FIELD_LIMIT = 1 << 24
_ASCII_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_DEFAULT_COLUMNS: list[str | int] = [1, 2]


class Example(NamedTuple):
    """One training example.

    Attributes:
        source: The turns that the model reads, oldest first; exactly one for translation.
        target: The text that it learns to write.
    """

    source: tuple[str, ...]
    target: str


class Corpora:
    """The train, dev and test examples of a configuration.

    Args:
        config: The run's configuration.
        data_dir: What relative file names start from.
    """

    def __init__(self, config: Config, data_dir: Path) -> None:
        self._config = config
        self._data_dir = data_dir

    def iter_split(self, split: str) -> Iterator[Example]:
        """Yield the examples of "train", "dev" or "test" in file order, blank pairs left out.

        Raises:
            DataError: A file is missing, misaligned, misshapen or not UTF-8.
        """
        return itertools.chain.from_iterable(self.iter_corpora(split))

    def iter_corpora(self, split: str) -> Iterator[Iterator[Example]]:
        """Yield for each corpus of a split, as the configuration lists them, its examples."""
        chat = self._config.chat
        for corpus in getattr(self._config.data, split):
            examples = self._of_split(corpus, split)
            if self._config.task == "chat":
                examples = _with_borrowed_history(
                    examples, chat.history_turns, chat.borrowed_history
                )
            yield examples

    def _of_split(self, corpus: CorpusConfig, split: str) -> Iterator[Example]:
        if corpus.rows is not None:
            return filter(self._is_held_out, self._all_train())
        if split == "train" and self._num_held_out:
            return itertools.filterfalse(self._is_held_out, self._read(corpus))
        return self._read(corpus)

    @property
    def _num_held_out(self) -> int:
        return sum(corpus.rows or 0 for corpus in self._config.data.dev)

    def files(self, split: str) -> list[Path]:
        """Return the files that a split is read from, checked to exist.

        Raises:
            DataError: Names every file that is missing.
        """
        corpora: list[CorpusConfig] = getattr(self._config.data, split)
        if any(corpus.rows is not None for corpus in corpora):
            corpora = [*corpora, *self._config.data.train]
        names = [n for c in corpora for n in (c.source, c.target, c.file) if n is not None]
        paths = [self._data_dir / name for name in names]
        missing = [str(path) for path in paths if not path.is_file()]
        if missing:
            raise DataError(
                f"{', '.join(missing)}: no such file",
                hint=f"put the files there, or point data.dir at them "
                f"(--set data.dir=FOLDER; it is {self._data_dir})",
            )
        return paths

    def _all_train(self) -> Iterator[Example]:
        return itertools.chain.from_iterable(map(self._read, self._config.data.train))

    def _read(self, corpus: CorpusConfig) -> Iterator[Example]:
        for example in self._read_raw(corpus):
            if example.target.strip() and example.source[-1].strip():
                yield example

    def _read_raw(self, corpus: CorpusConfig) -> Iterator[Example]:
        if corpus.source is not None and corpus.target is not None:
            return read_parallel(self._data_dir / corpus.source, self._data_dir / corpus.target)
        path = self._data_dir / str(corpus.file)
        suffix = Path(path.name.removesuffix(".gz")).suffix
        if self._config.task == "chat" and corpus.columns is None and suffix in _DIALOGUES:
            return _replies(_DIALOGUES[suffix](path), self._config.chat.history_turns)
        if suffix == ".jsonl":
            return _read_jsonl(path, corpus.columns or ["source", "target"])
        return _read_table(path, corpus.columns or _DEFAULT_COLUMNS)

    def _is_held_out(self, example: Example) -> bool:
        return _split_hash(example, self._config.seed) <= self._held_out_limit

    @functools.cached_property
    def _held_out_limit(self) -> int:
        """The hash up to which a training example belongs to dev.

        Examples with the same (folded) source share a hash, so they never lie on both sides.
        """
        rows = self._num_held_out
        hashes = np.fromiter(
            (_split_hash(example, self._config.seed) for example in self._all_train()), np.uint64
        )
        if rows >= len(hashes):
            raise DataError(f"dev takes {rows} rows out of train, which has only {len(hashes)}")
        hashes.partition(rows - 1)
        return int(hashes[rows - 1])


def _split_hash(example: Example, seed: int) -> int:
    text = example.source[-1]
    if text.isascii():  # the same folding, a few times faster
        folded = text.lower().encode().translate(None, delete=_ASCII_SIGNS)
    else:
        text = unicodedata.normalize("NFKC", text).casefold()
        folded = "".join(filter(str.isalnum, text)).encode()
    digest = hashlib.blake2b(folded, digest_size=8, key=str(seed).encode())
    return int.from_bytes(digest.digest())


def read_parallel(source: Path, target: Path) -> Iterator[Example]:
    """Yield line N of one file with line N of the other.

    Raises:
        DataError: One has more lines; says how many each has.
    """
    pairs = itertools.zip_longest(read_lines(source), read_lines(target))
    for number, (left, right) in enumerate(pairs, start=1):
        if left is None or right is None:
            longer = number + sum(1 for _ in pairs)
            counts = (number - 1, longer) if left is None else (longer, number - 1)
            raise DataError(
                f"{source} has {counts[0]} lines, {target} has {counts[1]}",
                hint="line N of one file must be the translation of line N of the other",
            )
        yield Example((left,), right)


def _read_table(path: Path, columns: list[str | int]) -> Iterator[Example]:
    """Read a TSV or CSV. Columns given by name need a heading line; by number, there is none."""
    rows = _table_rows(path)
    if any(isinstance(column, str) for column in columns):
        _, heading = next(rows, (0, []))
        indices = [_column_index(path, heading, column) for column in columns]
    else:
        indices = [int(column) - 1 for column in columns]
    for number, row in rows:
        if not row:
            continue
        if len(row) <= max(indices):
            raise DataError(
                f"{path}:{number}: {len(row)} columns, but column {max(indices) + 1} is wanted"
            )
        yield Example((row[indices[0]],), row[indices[1]])


def _table_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    lines = read_lines(path)
    if path.name.removesuffix(".gz").endswith(".csv"):
        csv.field_size_limit(_FIELD_LIMIT)
        reader = csv.reader((line + "\n" for line in lines), strict=True)
        try:
            for row in reader:
                yield reader.line_num, [" ".join(field.split("\n")) for field in row]
        except csv.Error as error:
            raise DataError(f"{path}:{reader.line_num}: not valid CSV: {error}") from error
    else:
        for number, line in enumerate(lines, start=1):
            yield number, line.split("\t") if line else []


def _column_index(path: Path, heading: list[str], column: str | int) -> int:
    if isinstance(column, int):
        return column - 1
    if column not in heading:
        raise DataError(
            f"{path}:1: no column '{column}' in the heading line.{did_you_mean(column, heading)}",
            hint=f"its columns are: {', '.join(heading)}",
        )
    return heading.index(column)


def _read_jsonl(path: Path, columns: list[str | int]) -> Iterator[Example]:
    for number, record in _json_records(path):
        fields = [record.get(str(column)) for column in columns]
        if not all(isinstance(field, str) for field in fields):
            raise DataError(
                f"{path}:{number}: needs text in the keys {columns[0]} and {columns[1]}"
            )
        yield Example((str(fields[0]),), str(fields[1]))


def _replies(dialogues: Iterable[list[str]], history_turns: int) -> Iterator[Example]:
    """Yield each of the bot's turns; user and bot alternate, the user begins.

    Its source is the user's turn before it and up to `history_turns` turns before that.
    """
    for turns in dialogues:
        for reply in range(1, len(turns), 2):
            first = max(0, reply - 1 - history_turns)
            yield Example(tuple(turns[first:reply]), turns[reply])


def _json_dialogues(path: Path) -> Iterator[list[str]]:
    """Read lines of `{"turns": [...]}`."""
    for number, record in _json_records(path):
        turns = record.get("turns")
        if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
            raise DataError(
                f'{path}:{number}: needs {{"turns": ["...", "..."]}}',
                hint="for question/answer records name the keys: columns: [question, answer]",
            )
        yield turns


def _text_dialogues(path: Path) -> Iterator[list[str]]:
    """Read a turn a line, with blank lines between dialogues."""
    for is_blank, turns in itertools.groupby(read_lines(path), lambda line: not line.strip()):
        if not is_blank:
            yield list(turns)


_DIALOGUES: dict[str, Callable[[Path], Iterator[list[str]]]] = {
    ".jsonl": _json_dialogues,
    ".txt": _text_dialogues,
}


def _with_borrowed_history(
    examples: Iterable[Example], history_turns: int, share: float
) -> Iterator[Example]:
    """Put the exchanges before it in front of every so many example that has no history.

    A conversation moves from one subject to the next; a model that only saw single questions is
    lost as soon as anything stands before the one it is asked.
    """
    earlier: collections.deque[str] = collections.deque(maxlen=history_turns // 2 * 2)
    due = 0.0
    for example in examples:
        due += share if len(example.source) == 1 else 0.0
        if len(example.source) == 1 and due >= 1.0:
            due -= 1.0
            yield Example((*earlier, *example.source), example.target)
        else:
            yield example
        earlier += (example.source[-1], example.target)


def _json_records(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if "\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{path}:{number}: half of a surrogate pair (\\uD800 to \\uDFFF) is no character"
            ) from error
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", None) or error
            raise DataError(f"{path}:{number}: not valid JSON: {reason}") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}:{number}: a line must be a JSON object")
        yield number, record


def texts(examples: Iterable[Example], side: str) -> Iterator[str]:
    """Yield the strings of one side ("source", "target") or of both ("joint")."""
    pick: dict[str, Callable[[Example], tuple[str, ...]]] = {
        "source": lambda example: example.source,
        "target": lambda example: (example.target,),
        "joint": lambda example: (*example.source, example.target),
    }
    return itertools.chain.from_iterable(map(pick[side], examples))
