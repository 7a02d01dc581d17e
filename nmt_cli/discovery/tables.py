"""Which columns of a table or a file of JSON lines are two texts, or a text and its label.

A file of whole conversations (a turn a line with blank lines between, or lists of turns) is
recognised here, too.
"""

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.tasks import CHAT, CLASSIFICATION, TaskFacts
from nmt_cli.discovery import names
from nmt_cli.discovery.sides import (
    HEAD,
    NAMED_SHARE,
    UNNAMED_SHARE,
    Corpus,
    Side,
    few_short_values,
    is_swapped,
    read_leniently,
    task_of,
)
from nmt_cli.text.labels import label_name
from nmt_cli.text.language_id import language_of
from nmt_cli.text.records import (
    JSON_LINES,
    TABLES,
    json_field,
    json_records,
    suffix_of,
    table_rows,
    turns_of,
)

_TEXT_SHARE = 0.5  # of a column's characters that are letters, when it is text
_ID_SHARE = 0.9  # of a column's cells that have a digit, when it is of ids
_FEWEST_BELOW = 10  # rows that tell that a heading stands above them


class _Column(NamedTuple):
    """A column, or a key of JSON records."""

    key: str | int  # as the configuration names it
    side: Side  # its heading and the beginning of what is below
    values: Callable[[], Iterator[str]]  # makes all that is below

    @property
    def marker(self) -> str:
        return self.side.marker

    @property
    def is_text(self) -> bool:
        """Whether it is mostly letters (no numbers, marks or addresses) and no labels or ids."""
        lines = self.side.lines
        if _are_ids(lines):
            return False
        if names.is_side(self.marker):  # a phrase list may be short, and repeat itself
            return sum(any(map(str.isalpha, line)) for line in lines) > _TEXT_SHARE * len(lines)
        return _is_prose(lines) and not few_short_values(lines, UNNAMED_SHARE)


def is_table(path: Path) -> bool:
    """Return whether a file is a table or JSON lines, by its name or by a tab in every line."""
    if suffix_of(path) in (*TABLES, JSON_LINES):
        return True
    head = itertools.islice(read_leniently(path), 20)
    return all("\t" in line for line in head if line.strip())


def tables(folder: Path, files: list[str], task: TaskFacts | None) -> list[Corpus]:
    """Return the corpora in tables and files of JSON lines, for a task (None finds out)."""
    found: list[Corpus] = []
    # A few rows of dev tell less of their columns than train, which they are taken as.
    for name in sorted(files, key=lambda name: (names.split_of(name) != "train", name)):
        like = next((corpus for corpus in found if "columns" in corpus.entry), None)
        corpus = _table(folder / name, task, like)
        found += [corpus] if corpus is not None else []
    return found


def _table(path: Path, task: TaskFacts | None, like: Corpus | None) -> Corpus | None:
    if suffix_of(path) == JSON_LINES:
        return _json_lines(path, task, like)
    rows = [row for _, row in itertools.islice(_rows(path), HEAD)]
    if not rows:
        return None
    is_headed = _has_heading(rows) or (like is not None and _has_columns_of(like, rows[0]))
    below = rows[is_headed:]
    columns = [
        _Column(
            rows[0][number] if is_headed else number + 1,
            Side(
                rows[0][number].strip() if is_headed else "",
                [row[number] for row in below if len(row) > number],
            ),
            _column_values(path, number, is_headed=is_headed),
        )
        for number in range(_width(rows))
    ]
    return _corpus(path, columns, task, like, is_ordered=is_headed)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return the rows of a table; blank ones are none."""
    rows = table_rows(path, lambda _: None, read_leniently)
    return ((number, row) for number, row in rows if any(row))


def _column_values(path: Path, number: int, *, is_headed: bool) -> Callable[[], Iterator[str]]:
    return lambda: (
        row[number] for _, row in itertools.islice(_rows(path), is_headed, None) if row[number:]
    )


def _width(rows: list[list[str]]) -> int:
    """Return the columns of the first row that most rows have; some rows may be broken."""
    return min(len(rows[0]), statistics.median_low(map(len, rows)))


def _has_heading(rows: list[list[str]]) -> bool:
    """Return whether the first row names the columns: in known words, or unlike what is below."""
    if sum(names.is_known(cell.strip()) for cell in rows[0]) > 1:
        return True
    are_short = bool(few_short_values(rows[0], 1))
    columns = ([row[n] for row in rows if len(row) > n] for n in range(_width(rows)))
    return any(_is_heading_of(column, are_short=are_short) for column in columns)


def _is_heading_of(column: list[str], *, are_short: bool) -> bool:
    """Return whether the first cell stands above numbers, or above labels and is none of them."""
    first, below = column[0], column[1:]
    if not below or not any(map(str.isalpha, first)):
        return False
    if not any(map(str.isalpha, "".join(below))):
        return True
    is_new = len(below) >= _FEWEST_BELOW and first not in below
    return are_short and is_new and bool(few_short_values(below, UNNAMED_SHARE))


def _are_ids(cells: Sequence[str]) -> bool:
    """Return whether cells are names such as `s00017`: no spaces, and nearly all have a digit."""
    given = [cell for cell in map(str.strip, cells) if cell]
    have_digit = sum(any(map(str.isdecimal, cell)) for cell in given)
    return have_digit > _ID_SHARE * len(given) and not any(" " in cell for cell in given)


def _is_prose(cells: Sequence[str]) -> bool:
    text = "".join(cells)
    return sum(map(str.isalpha, text)) > _TEXT_SHARE * len(text)


def _json_lines(path: Path, task: TaskFacts | None, like: Corpus | None) -> Corpus | None:
    """Return the corpus of dialogues, or of the fields of each record."""
    records = [record for _, record in itertools.islice(_records(path), HEAD)]
    if not records:
        return None
    talks = [turns for record in records if (turns := turns_of(record)) is not None]
    if talks:
        reason = "user and bot take turns"
        return _dialogues(path.name, talks, reason) if task is None or task.has_turns else None
    columns = [
        _Column(
            key,
            Side(key.rpartition(".")[2], list(_field_values(iter(records), key))),
            _key_values(path, key),
        )
        for key in _keys(records[0])
    ]
    columns = [column for column in columns if column.side.lines]
    # Published pairs are objects of two languages in the order that the set is named by.
    is_ordered = any(isinstance(value, dict) for value in records[0].values())
    return _corpus(path, columns, task, like, is_ordered=is_ordered)


def _records(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    return json_records(path, lambda _: None, read_leniently)


def _keys(record: dict[str, object]) -> list[str]:
    """Return the keys of a record, and instead of an object's those in it."""
    return [
        name
        for key, value in record.items()
        for name in ([f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key])
    ]


def _key_values(path: Path, key: str) -> Callable[[], Iterator[str]]:
    return lambda: _field_values((record for _, record in _records(path)), key)


def has_lists(path: Path, key: str) -> bool:
    """Return whether a file is of JSON lines with lists under a key, and not each of one label."""
    if suffix_of(path) != JSON_LINES:
        return False
    values = (json_field(record, key) for _, record in _records(path))
    return any(isinstance(value, list) and len(value) != 1 for value in values)


def _field_values(records: Iterator[dict[str, object]], key: str) -> Iterator[str]:
    """Yield what is text under a key, or a number that may be a label; of a list each."""
    for record in records:
        value = json_field(record, key)
        texts = map(label_name, value if isinstance(value, list) else [value])
        yield from (text for text in texts if isinstance(text, str))


def _corpus(
    path: Path,
    columns: list[_Column],
    task: TaskFacts | None,
    like: Corpus | None,
    is_ordered: bool,
) -> Corpus | None:
    keys = [column.key for column in columns]
    if like is not None and _has_columns_of(like, keys):
        entry = like.entry | {"file": path.name}
        return like._replace(split=names.split_of(path.name), entry=entry)
    if task is None or task.has_labels:
        labelled = _labelled(path.name, columns, task)
        if labelled is not None or task:
            return labelled
    return _two_texts(path, columns, task, is_ordered=is_ordered)


def _has_columns_of(like: Corpus, keys: Sequence[str | int]) -> bool:
    return set(keys).issuperset(like.entry["columns"])


def _labelled(name: str, columns: list[_Column], task: TaskFacts | None) -> Corpus | None:
    """Return the corpus of a text, or two texts, and a label.

    Two texts that are named as sides of a translation or of a talk are taken for that, whatever
    stands beside them, unless the task is classification.
    """
    if task is None and sum(c.is_text and names.is_side(c.marker) for c in columns) > 1:
        return None
    label, found = _label_column(columns)
    if label is None:
        return None
    texts = [column for column in columns if column is not label and column.is_text]
    pair = [column for column in texts if names.is_text_of_a_pair(column.marker)]
    named = [column for column in texts if names.is_labelled_text(column.marker)]
    is_clear = len(texts) == 1 or (named and names.is_labels(label.marker))
    if not texts or not (is_clear or task):
        return None
    chosen = pair if len(pair) == 2 else (named or texts)[:1]
    reason = f"column {label.key} has few and short values"
    entry = {"file": name, "columns": [column.key for column in (*chosen, label)]}
    sides = (chosen[0].side, label.side)
    return Corpus(names.split_of(name), entry, sides, reason, CLASSIFICATION, found)


def _label_column(columns: list[_Column]) -> tuple[_Column | None, tuple[str, ...]]:
    """Return the column of labels and all labels in it; one that is called so is preferred."""
    named = [column for column in columns if names.is_labels(column.marker)]
    others = [column for column in reversed(columns) if column not in named]
    for column in (*named, *others):
        share = NAMED_SHARE if column in named else UNNAMED_SHARE
        if few_short_values(column.side.lines, share):
            labels = few_short_values(column.values(), share)
            if len(labels) > 1:
                return column, labels
    return None, ()


def _likeliest(named: list[_Column]) -> list[_Column]:
    """Return of columns that are named as sides those that are it: before roles, languages."""
    languages = [column for column in named if names.language(column.marker)]
    ways = [languages] if len(languages) > 1 else []
    if len(languages) > 2:  # `mt` may be Maltese, or what a machine translated
        found = [(column, language_of(column.side.lines)) for column in languages]
        ways.insert(0, [c for c, code in found if code in ("", names.language(c.marker))])
    return next((way for way in ways if len(way) > 1), named)


def _two_texts(
    path: Path, columns: list[_Column], task: TaskFacts | None, *, is_ordered: bool
) -> Corpus | None:
    """Return the corpus of two columns of text; those named as sides are preferred."""
    texts = [column for column in columns if column.is_text]
    named = [column for column in texts if names.is_side(column.marker)]
    chosen = (_likeliest(named) if len(named) > 1 else texts)[:2]
    if len(chosen) < 2:
        return None
    sides, keys = (chosen[0].side, chosen[1].side), [column.key for column in chosen]
    contexts = [path.name, path.parent.resolve().name]
    swapped, reason = is_swapped(sides, contexts, is_ordered=is_ordered)
    if swapped:
        sides, keys = sides[::-1], keys[::-1]
    entry = {"file": path.name, "columns": keys}
    return Corpus(names.split_of(path.name), entry, sides, reason, task or task_of(sides))


_TALK_SHARE = 0.8  # of the groups of lines that have an answer in them


def text_dialogues(path: Path) -> Corpus | None:
    """Return the corpus in a text file with a turn a line; None where there are no dialogues."""
    if not is_dialogue(path):
        return None
    reason = "a turn a line, blank lines between dialogues"
    return _dialogues(path.name, list(_groups(path)), reason)


def is_dialogue(path: Path) -> bool:
    """Return whether a text file has groups of lines with blank lines between them."""
    if suffix_of(path) != ".txt":
        return False
    sizes = [len(group) for group in _groups(path)]
    return len(sizes) > 1 and sum(size > 1 for size in sizes) >= _TALK_SHARE * len(sizes)


def _dialogues(name: str, talks: Sequence[Sequence[object]], reason: str) -> Corpus:
    """Return the corpus of conversations in which user and bot take turns."""
    user, bot = ([str(turn) for talk in talks for turn in talk[first::2]] for first in (0, 1))
    sides = Side("user", user), Side("bot", bot)
    return Corpus(names.split_of(name), {"file": name}, sides, reason, CHAT)


def _groups(path: Path) -> Iterator[list[str]]:
    head = itertools.islice(read_leniently(path), HEAD)
    for is_blank, lines in itertools.groupby(head, lambda line: not line.strip()):
        if not is_blank:
            yield list(lines)
