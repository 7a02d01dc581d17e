"""Files of text -> examples: two parallel text files, TSV, CSV, JSONL, dialogues; plain or .gz.

An example is what the model learns from: some turns of source text (one for translation, a window
of the conversation for chat, one text or two for classification) and one target text, which may be
a label. Every problem names its file and line.
"""

import collections
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmt_cli.config.schema import Config, CorpusConfig
from nmt_cli.datasets.known_sets import data_set_with
from nmt_cli.encoding import UTF8
from nmt_cli.errors import DataError, LineError, TrainingError, did_you_mean, number_of
from nmt_cli.files import read_lines
from nmt_cli.stores import fetched, is_url
from nmt_cli.text import records
from nmt_cli.text.held_out import HeldOut, held_out_rows
from nmt_cli.text.labels import Labels, label_text
from nmt_cli.text.records import Reader, Report, json_field, json_records, keep_bytes, table_rows

_DEFAULT_COLUMNS: list[str | int] = [1, 2]
_SAMPLE = 10_000  # examples of a sample at least, where there are as many
_fetched = functools.cache(fetched)  # a run sees its text as it was when it began


class Example(NamedTuple):
    """One training example.

    `source` has the turns that the model reads, oldest first (exactly one for translation);
    `target` is the text that it learns to write, or the label that it learns to give; `way` are the
    codes of their languages where corpora differ in them.
    """

    source: tuple[str, ...]
    target: str
    way: tuple[str, str] = ("", "")

    def is_whole(self, *, may_lack_target: bool = False) -> bool:
        """Return whether no side is blank; of a source with several turns, the last one counts."""
        return bool(self.source[-1].strip() and (may_lack_target or self.target.strip()))


class Row(NamedTuple):
    """An example and the line of its file, or of its two files, that it begins in (from 1)."""

    line: int
    example: Example


class LineCountError(DataError):
    """Two files that should be parallel have different numbers of lines."""

    def __init__(self, files: tuple[Path, Path], counts: tuple[int, int]) -> None:
        super().__init__(
            f"{files[0]} has {number_of(counts[0], 'line')}, {files[1]} has {counts[1]:,}",
            hint="line N of one file must be the translation of line N of the other",
        )
        self.files, self.counts = files, counts


Item = TypeVar("Item")


def sample_evenly(items: Iterable[Item]) -> tuple[list[Item], int]:
    """Return items that lie evenly over all (at most 20,000), and how many there are."""
    sample: list[Item] = []
    every, count = 1, 0
    for item in items:
        if count % every == 0:
            sample.append(item)
        count += 1
        if len(sample) == 2 * _SAMPLE:
            sample, every = sample[::2], every * 2
    return sample, count


def _refuse(problem: LineError) -> None:
    raise problem


class Corpora:
    """The train, dev and test examples of a configuration.

    Attributes:
        num_blank: Label of a corpus -> its blank pairs, once it was read to its end.
    """

    def __init__(self, config: Config, data_dir: Path) -> None:
        self.num_blank: dict[str, int] = {}
        self.config = config
        self._data_dir = data_dir
        self._labels = Labels.of(config)
        self.encoding = config.data.encoding
        self._read_lines = functools.partial(read_lines, encoding=self.encoding)

    def iter_split(self, split: str) -> Iterator[Example]:
        """Yield the examples of "train", "dev" or "test" in file order, blank pairs left out.

        DataError: a file is missing, misaligned, misshapen or not UTF-8, or has a label that is
        none of the configuration's.
        """
        return itertools.chain.from_iterable(self.iter_corpora(split))

    def iter_corpora(self, split: str) -> Iterator[Iterator[Example]]:
        """Yield for each corpus of a split, as the configuration lists them, its examples.

        A small training text is read once: its sample has all of it.
        """
        chat = self.config.chat
        if split == "train" and "train_sample" in vars(self):
            samples, counts = self.train_sample
            if counts == [*map(len, samples)]:
                yield from map(iter, samples)
                return
        for corpus in getattr(self.config.data, split):
            examples = self._of_split(corpus, split)
            if self.config.facts.has_turns and split == "train":
                examples = _with_borrowed_history(
                    examples, chat.history_turns, chat.borrowed_history
                )
            yield examples

    def _of_split(self, corpus: CorpusConfig, split: str) -> Iterator[Example]:
        if corpus.rows is not None:
            return iter(self._held_out_examples[split])
        if split == "train" and any(held_out_rows(self.config).values()):
            split_of = self._held_out.split_of
            return (e for e in self._read(corpus) if split_of(e.source[-1], e.target) == split)
        return self._read(corpus)

    @functools.cached_property
    def _held_out_examples(self) -> dict[str, list[Example]]:
        """The examples that are taken out of train for dev and for test, found in one reading."""
        found: dict[str, list[Example]] = {"dev": [], "test": []}
        for example in self._all_train():
            split = self._held_out.split_of(example.source[-1], example.target)
            if split in found:
                found[split].append(example)
        return found

    def rows_told(self, split: str) -> str:
        """Return, for people, how many examples a split has; why, if fewer were taken than asked.

        Dev comes first: only test can get fewer.
        """
        examples = self.config.facts.examples
        told = f"{split}: {sum(1 for _ in self.iter_split(split)):,} {examples}"
        asked = held_out_rows(self.config)[split] if split == "test" else 0
        taken = len(self._held_out_examples[split]) if asked else 0
        if taken >= asked:
            return told
        what = "source or target" if self.config.facts.is_parallel else "source"
        return (
            f"{told} ({asked:,} asked, {taken:,} taken, because no {what} may be in dev and test)"
        )

    @functools.cached_property
    def train_sample(self) -> tuple[list[list[Example]], list[int]]:
        """Examples that lie evenly over train, and how many there are, by corpus; read once.

        TrainingError: there is none.
        """
        counts: list[int] = []

        def numbered() -> Iterator[tuple[int, Example]]:
            for number, examples in enumerate(self.iter_corpora("train")):
                counts.append(0)
                for example in examples:
                    counts[number] += 1
                    yield number, example

        sample, total = sample_evenly(numbered())
        if not total:
            files = ", ".join(map(str, self.files("train")))
            raise TrainingError(f"{files}: no pair of lines has text on both sides")
        return [[e for n, e in sample if n == number] for number in range(len(counts))], counts

    @property
    def settings(self) -> dict[str, Any]:
        """What decides, beside files and their corpora, which examples there are; as JSON."""
        config, rows = self.config, held_out_rows(self.config)
        by_target = config.facts.is_parallel and any(rows.values())
        ways = sorted({config.data.way_of(corpus) for corpus in config.data.train})
        return {
            "held_out": rows if by_target else [corpus.rows for corpus in config.data.dev],
            "seed": config.seed,
            "chat": config.text_settings,
            **({"encoding": self.encoding} if self.encoding != UTF8 else {}),
            **({"ways": ways} if len(ways) > 1 else {}),
        }

    def check_files(self) -> None:
        """Raise DataError, naming every file of a split that is missing."""
        for split in ("train", "dev", "test"):
            self.files(split)

    def files(self, split: str) -> list[Path]:
        """Return the files that a split is read from; DataError names every one that is missing."""
        corpora: list[CorpusConfig] = getattr(self.config.data, split)
        if any(corpus.rows is not None for corpus in corpora):
            corpora = [*corpora, *self.config.data.train]
        paths = [path for corpus in corpora for path in self.files_of(corpus)]
        paths += [self.glossary] if split == "train" and self.glossary else []
        missing = [path for path in paths if not path.is_file()]
        if missing:
            known = data_set_with(self._data_dir, {path.name for path in missing})
            get = f"nmt data get {known.name}" if known else "put the files there"
            now = self._data_dir.resolve()
            raise DataError(
                f"{', '.join(map(str, missing))}: no such file",
                hint=f"{get}, or give their folder with --data-dir (now {now})",
            )
        return paths

    def files_of(self, corpus: CorpusConfig) -> list[Path]:
        """Return the source and target file of a corpus, or its one file, or none."""
        return [*map(self._path, filter(None, (corpus.source, corpus.target, corpus.file)))]

    @property
    def glossary(self) -> Path | None:
        """The file whose terms are taught, if any."""
        name = self.config.data.glossary
        return self._path(name) if isinstance(name, str) else None

    def _path(self, name: str) -> Path:
        """Return a file in the folder of the text, or a copy if that is in a store."""
        folder = self.config.data.dir
        if is_url(folder):
            return _fetched(f"{folder.rstrip('/')}/{name}")
        return self._data_dir / name

    def is_dialogue(self, corpus: CorpusConfig) -> bool:
        """Return whether a corpus is a file of whole conversations."""
        has_turns = corpus.file is not None and records.suffix_of(corpus.file) in records.READERS
        return has_turns and self.config.facts.has_turns and corpus.columns is None

    def _all_train(self) -> Iterator[Example]:
        return itertools.chain.from_iterable(map(self._read, self.config.data.train))

    def _read(self, corpus: CorpusConfig) -> Iterator[Example]:
        num_blank, may_lack_target = 0, self.may_lack_target
        for example in self.iter_all(corpus):
            if example.is_whole(may_lack_target=may_lack_target):
                yield example
            else:
                num_blank += 1
        self.num_blank[corpus.label] = num_blank

    @property
    def may_lack_target(self) -> bool:
        """Whether a target may be blank: a text that can have several labels can have none."""
        return self.config.facts.has_labels and self.config.classification.multi_label

    def iter_all(self, corpus: CorpusConfig) -> Iterator[Example]:
        """Yield the examples of one corpus, blank ones too; DataError as `iter_split` has it."""
        data = self.config.data
        way = data.way_of(corpus)
        ways = {data.way_of(other) for other in data.train}
        has_way = corpus.source_lang or corpus.target_lang or len(ways) > 1
        for _, example in self._rows(corpus, _refuse, self._read_lines):
            yield example._replace(way=way) if has_way else example

    def label_texts(self) -> Iterator[str]:
        """Yield the label text of every row of the training files, whichever split it is for."""
        return (example.target for example in self._all_train())

    def iter_rows(self, corpus: CorpusConfig, report: Report) -> Iterator[Row]:
        """Yield the rows of one corpus as they stand in its files, blank ones and all.

        `report` is called with each line that is no row; reading goes on behind it. Bytes that do
        not decode become lone surrogates (as Python's "surrogateescape" has it). DataError: a file
        cannot be read any further; `LineCountError` behind the last pair.
        """
        return self._rows(corpus, report, self.read_with_bytes)

    def read_with_bytes(self, path: Path) -> Iterator[str]:
        """Yield the lines of a file; bytes that do not decode become lone surrogates."""
        return self._read_lines(path, keep_bytes)

    def _rows(self, corpus: CorpusConfig, report: Report, read: Reader) -> Iterator[Row]:
        rows, labels = self._rows_of_files(corpus, report, read), self._labels
        return rows if labels is None else self._labelled(corpus, labels, rows, report)

    def _labelled(
        self, corpus: CorpusConfig, labels: Labels, rows: Iterator[Row], report: Report
    ) -> Iterator[Row]:
        """Yield the rows whose labels the model knows, and those that have none."""
        file = self.files_of(corpus)[-1]
        for row in rows:
            text = row.example.target
            problem = labels.problem(text, file, row.line) if text.strip() else None
            if problem is not None:
                report(problem)
            else:
                yield row

    def _rows_of_files(self, corpus: CorpusConfig, report: Report, read: Reader) -> Iterator[Row]:
        paths = self.files_of(corpus)
        if len(paths) == 2:
            return _read_parallel(paths[0], paths[1], read)
        (path,) = paths
        suffix = records.suffix_of(path)
        if self.is_dialogue(corpus):
            found = records.READERS[suffix](path, report, read)
            return _replies(found, self.config.chat.history_turns)
        if suffix == records.JSON_LINES:
            columns = corpus.columns or list(self.config.facts.columns)
            separator = self.config.classification.label_separator
            as_label = functools.partial(label_text, separator=separator)
            has_labels = self.config.facts.has_labels
            return _read_jsonl(path, columns, report, read, as_label if has_labels else None)
        return _read_table(path, corpus.columns or _DEFAULT_COLUMNS, report, read)

    @functools.cached_property
    def _held_out(self) -> HeldOut:
        config = self.config
        return HeldOut(
            ((example.source[-1], example.target) for example in self._all_train()),
            held_out_rows(config),
            config.seed,
            by_target=config.facts.is_parallel,
            both_ways=len({config.data.way_of(corpus) for corpus in config.data.train}) > 1,
        )


def read_parallel(source: Path, target: Path, encoding: str = UTF8) -> Iterator[Example]:
    """Yield line N of one file with line N of the other, or raise `LineCountError`."""
    read = functools.partial(read_lines, encoding=encoding)
    return (row.example for row in _read_parallel(source, target, read))


def _read_parallel(source: Path, target: Path, read: Reader) -> Iterator[Row]:
    pairs = itertools.zip_longest(read(source), read(target))
    for number, (left, right) in enumerate(pairs, start=1):
        if left is None or right is None:
            longer = number + sum(1 for _ in pairs)
            counts = (number - 1, longer) if left is None else (longer, number - 1)
            raise LineCountError((source, target), counts)
        yield Row(number, Example((left,), right))


def _read_table(
    path: Path, columns: list[str | int], report: Report, read: Reader
) -> Iterator[Row]:
    """Read a TSV or CSV. Columns given by name need a heading line; by number, there is none."""
    rows = table_rows(path, report, read)
    if any(isinstance(column, str) for column in columns):
        _, heading = next((row for row in rows if any(row[1])), (0, []))
        indices = [_column_index(path, heading, column) for column in columns]
    else:
        indices = [int(column) - 1 for column in columns]
    for number, row in rows:
        if not row:
            continue
        if len(row) <= max(indices):
            wanted = f"{number_of(len(row), 'column')}, but column {max(indices) + 1} is needed"
            report(LineError(path, number, wanted))
            continue
        *source, target = (row[index] for index in indices)
        yield Row(number, Example(tuple(source), target))


def column_texts(
    path: Path, columns: Sequence[str], encoding: str = UTF8
) -> Iterator[tuple[str, ...]]:
    """Yield some columns of a TSV or CSV: names of its heading line, or numbers from 1.

    Of JSON lines they are the keys.
    """
    wanted: list[str | int] = [int(name) if name.isdecimal() else name for name in columns]
    read = functools.partial(read_lines, encoding=encoding)
    pairs = [*wanted, wanted[0]]  # an example has a target, too
    if records.suffix_of(path) == records.JSON_LINES:
        rows = _read_jsonl(path, pairs, _refuse, read, None)
    else:
        rows = _read_table(path, pairs, _refuse, read)
    for row in rows:
        yield row.example.source


def _column_index(path: Path, heading: list[str], column: str | int) -> int:
    if isinstance(column, int):
        return column - 1
    if column not in heading:
        problem = f"no column '{column}' in the heading line.{did_you_mean(column, heading)}"
        raise LineError(path, 1, problem, hint=f"its columns are: {', '.join(heading)}")
    return heading.index(column)


def _read_jsonl(
    path: Path,
    columns: list[str | int],
    report: Report,
    read: Reader,
    as_label: Callable[[object], object] | None,
) -> Iterator[Row]:
    """Read JSON lines; a target of labels may be a list or a number, see `label_text`."""
    for number, record in json_records(path, report, read):
        *source, target = (json_field(record, str(column)) for column in columns)
        try:
            fields = [*source, target if as_label is None else as_label(target)]
        except ValueError as error:  # of the configuration rather than of this row
            raise LineError(path, number, str(error)) from None
        if not all(isinstance(field, str) for field in fields):
            keys = " and ".join(dict.fromkeys(map(str, columns)))
            report(LineError(path, number, f"needs text in the keys {keys}"))
            continue
        *texts, target = map(str, fields)
        yield Row(number, Example(tuple(texts), target))


def _replies(found: Iterable[records.Dialogue], history_turns: int) -> Iterator[Row]:
    """Yield the bot's turns that are learnt; user and bot alternate, the user begins.

    Its source is the user's turn before it and up to `history_turns` turns before that.
    """
    for dialogue, first_learnt in found:
        turns = [turn for _, turn in dialogue]
        for reply in range(first_learnt, len(turns), 2):
            first = max(0, reply - 1 - history_turns)
            yield Row(dialogue[reply][0], Example(tuple(turns[first:reply]), turns[reply]))


def _with_borrowed_history(
    examples: Iterable[Example], history_turns: int, share: float
) -> Iterator[Example]:
    """Put the exchanges before it in front of every so many example that has no history.

    A conversation moves from one subject to the next; a model that only saw single questions is
    lost as soon as anything stands before the one it is asked. One exchange, two and so on are
    put there in turn: a conversation begins with few.
    """
    most = history_turns // 2
    earlier: collections.deque[str] = collections.deque(maxlen=2 * most)
    due, borrowed = 0.0, 0
    for example in examples:
        due += share if len(example.source) == 1 else 0.0
        if len(example.source) == 1 and due >= 1.0:
            due -= 1.0
            turns = 2 * (borrowed % max(1, most) + 1)
            borrowed += 1
            yield Example((*list(earlier)[-turns:], *example.source), example.target)
        else:
            yield example
        earlier += (example.source[-1], example.target)


def texts(examples: Iterable[Example], side: str) -> Iterator[str]:
    """Yield the strings of one side ("source", "target") or of both ("joint")."""
    pick: dict[str, Callable[[Example], tuple[str, ...]]] = {
        "source": lambda example: example.source,
        "target": lambda example: (example.target,),
        "joint": lambda example: (*example.source, example.target),
    }
    return itertools.chain.from_iterable(map(pick[side], examples))
