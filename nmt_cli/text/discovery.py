"""A folder that nobody prepared -> its corpora: which files, which columns, which split, which way.

Names are gone by first (`train.ko.gz`, `en.txt`, `questions.txt`, a table's heading), the content
where they say nothing. `nmt init` writes down what is found here; nothing is changed or copied.
"""

import csv
import gzip
import itertools
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.errors import DataError
from nmt_cli.files import read_lines
from nmt_cli.text.language import language_of

_HEAD = 500  # lines that are looked at for columns
_SAMPLE = 200  # lines that are looked at for the language
_TEXT_SHARE = 0.5  # of a column's characters that are letters, when it is text
_TABLES = (".tsv", ".csv", ".jsonl")
_NO_CORPUS = re.compile(
    r"(readme|licen[cs]e|copying|changelog|notice|vocab|dict|requirements)", re.IGNORECASE
)
_NO_CORPUS_SUFFIX = re.compile(
    r"\.(md|rst|html|xml|pdf|ya?ml|json|toml|py|sh|zip|tar|tgz|xz|bz2|png|jpg|log|lock|sha256|md5)$",
    re.IGNORECASE,
)
_SPLITS = {
    "train": re.compile(r"train(ing)?|trn"),
    "dev": re.compile(r"(dev|val|valid|validation|development|newsdev)\d*"),
    "test": re.compile(r"(test|tst|newstest|eval)\d*"),
}
_CODES = re.compile(
    "af|am|ar|az|be|bg|bn|bs|ca|cs|cy|da|de|el|en|eo|es|et|eu|fa|fi|fr|ga|gl|gu|he|hi|hr|hu|hy|id|is"
    "|it|ja|jv|ka|kk|km|kn|ko|ku|ky|la|lb|lo|lt|lv|mg|mk|ml|mn|mr|ms|mt|my|nb|ne|nl|nn|no|or|pa|pl"
    "|ps|pt|ro|ru|rw|si|sk|sl|sq|sr|sv|sw|ta|te|tg|th|tl|tr|ug|uk|ur|uz|vi|xh|yi|zh|zu"
)
_LANGUAGE_NAMES = {
    name: code
    for code, names in {
        "ar": "ara arabic",
        "cs": "ces cze czech",
        "de": "deu ger german",
        "en": "eng english",
        "es": "spa spanish",
        "fi": "fin finnish",
        "fr": "fra fre french",
        "hi": "hin hindi",
        "it": "ita italian",
        "ja": "jpn jp japanese",
        "ko": "kor kr korean",
        "nl": "nld dut dutch",
        "pl": "pol polish",
        "pt": "por portuguese",
        "ru": "rus russian",
        "sv": "swe swedish",
        "tr": "tur turkish",
        "uk": "ukr ukrainian",
        "vi": "vie vietnamese",
        "zh": "zho chi cn chinese",
    }.items()
    for name in names.split()
}
_TALK = (
    "q a",
    "question answer",
    "questions answers",
    "prompt response",
    "user bot",
    "user assistant",
)
_ROLES = ("source target", "src tgt", "src trg", "input output", *_TALK)
_RANKS = {role: rank for roles in _ROLES for rank, role in enumerate(roles.split())}
_TURNS = ("user", "bot")
_TALK_ROLES = frozenset(role for roles in _TALK for role in roles.split())


class Side(NamedTuple):
    """One side of a corpus: what its name says, and some of its text."""

    marker: str
    lines: list[str]


class Found(NamedTuple):
    """The corpora of a folder.

    Attributes:
        task: "translation" or "chat".
        languages: Codes of source and target; "" where unknown.
        corpora: Split -> entries as `data` of the configuration has them.
        unused: Files that look like text and are left out.
        reason: Why this side is the source.
    """

    task: str
    languages: tuple[str, str]
    corpora: dict[str, list[dict[str, Any]]]
    unused: list[str]
    reason: str


class _Corpus(NamedTuple):
    split: str
    entry: dict[str, Any]
    files: tuple[str, ...]
    sides: tuple[Side, Side]
    reason: str


def discover(folder: Path) -> Found:
    """Return the corpora that lie in a folder (not in the folders in it).

    Raises:
        DataError: There are none, or the names do not tell which files belong together.
    """
    names = sorted(path.name for path in folder.iterdir() if _is_text(path))
    plain = [name for name in names if not _is_table(folder / name)]
    corpora = list(_paired(folder, plain))
    corpora = corpora or [c for name in names if (c := _table(folder, name)) is not None]
    if not corpora:
        raise _nothing(folder, names)
    if all(corpus.split != "train" for corpus in corpora):
        corpora = [corpus._replace(split="train") for corpus in corpora]
    first = next(corpus for corpus in corpora if corpus.split == "train")
    task, languages = _judge(first)
    used = {name for corpus in corpora for name in corpus.files}
    return Found(
        task,
        languages,
        {s: [c.entry for c in corpora if c.split == s] for s in ("train", "dev", "test")},
        [name for name in names if name not in used],
        first.reason,
    )


def languages_of(sides: tuple[Side, Side]) -> tuple[str, str]:
    """Return the languages of two sides: as their names say, unless the text says the opposite."""
    named = (_language(sides[0].marker), _language(sides[1].marker))
    read = (language_of(sides[0].lines), language_of(sides[1].lines))
    if named == read[::-1]:
        return read
    return (named[0] or read[0], named[1] or read[1])


def side_of(path: Path) -> Side:
    """Return a side that is a file of its own, named as its language as in `train.de.gz`."""
    markers = [token for token in _tokens(path.name) if _language(token)]
    return Side(markers[-1] if markers else "", _sample(path))


def _judge(corpus: _Corpus) -> tuple[str, tuple[str, str]]:
    """Return task and languages of a corpus."""
    languages = languages_of(corpus.sides)
    is_talk = {side.marker.lower() for side in corpus.sides} <= _TALK_ROLES
    is_chat = is_talk or (languages[0] == languages[1] != "")
    return ("chat" if is_chat else "translation"), languages


def _is_text(path: Path) -> bool:
    """Return whether a file may be a corpus, from its name and its first bytes."""
    if path.name.startswith(".") or _NO_CORPUS.match(path.name) or not path.is_file():
        return False
    if _NO_CORPUS_SUFFIX.search(path.name.removesuffix(".gz")):
        return False
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            head = stream.read(4096)
    except (OSError, EOFError, zlib.error):
        return False
    return b"\0" not in head and bool(head.strip())


def _is_table(path: Path) -> bool:
    if path.name.removesuffix(".gz").endswith(_TABLES):
        return True
    return all("\t" in line for line in _head(path, 20) if line.strip())


def _head(path: Path, count: int) -> list[str]:
    return list(itertools.islice(read_lines(path), count))


def _sample(path: Path) -> list[str]:
    """Return lines from the first thousand, but not all of them: beginnings are special."""
    return _head(path, 5 * _SAMPLE)[::5]


def _tokens(name: str) -> list[str]:
    return re.split(r"[._\-\s]+", name.removesuffix(".gz").lower())


def _language(marker: str) -> str:
    """Return the code of a language by its code or name; "" for anything else."""
    marker = marker.lower()
    return marker if _CODES.fullmatch(marker) else _LANGUAGE_NAMES.get(marker, "")


def _is_side(token: str) -> bool:
    return bool(_language(token)) or token.lower() in _RANKS


def _split_of(name: str) -> str:
    for split in ("test", "dev"):
        if any(_SPLITS[split].fullmatch(token) for token in _tokens(name)):
            return split
    return "train"


def _paired(folder: Path, names: list[str]) -> Iterator[_Corpus]:
    """Pair text files whose names differ in the language or role alone."""
    pairs = [
        (one, other, markers)
        for one, other in itertools.combinations(names, 2)
        if (markers := _difference(one, other)) is not None
    ]
    if not pairs and len(names) == 2:
        pairs = [(names[0], names[1], ("", ""))]
    partners = [name for pair in pairs for name in pair[:2]]
    if several := sorted({name for name in partners if partners.count(name) > 1}):
        raise DataError(
            f"{folder}: {', '.join(several)}: more than two files belong together",
            hint="say which: nmt init --train SOURCE TARGET --dev SOURCE TARGET",
        )
    for one, other, markers in pairs:
        files = (one, other)
        sides = [Side(m, _sample(folder / f)) for m, f in zip(markers, files, strict=True)]
        order, reason = _order((sides[0], sides[1]), f"{folder.resolve().name} {one}")
        source, target = (files[number] for number in order)
        entry = {"source": source, "target": target}
        ordered = (sides[order[0]], sides[order[1]])
        yield _Corpus(_split_of(one), entry, files, ordered, reason)


def _difference(one: str, other: str) -> tuple[str, str] | None:
    """Return the languages or roles in which alone two names differ, or None."""
    tokens = (_tokens(one), _tokens(other))
    if len(tokens[0]) != len(tokens[1]):
        return None
    differing = [pair for pair in zip(*tokens, strict=True) if pair[0] != pair[1]]
    if len(differing) == 1 and all(map(_is_side, differing[0])):
        return differing[0]
    return None


def _order(sides: tuple[Side, Side], context: str) -> tuple[tuple[int, int], str]:
    """Return which side is the source and which the target, and why.

    Args:
        sides: The sides in any order.
        context: Names of file and folder, where something like `ko-en` may stand.
    """
    ranks = [_RANKS.get(side.marker.lower(), 0) for side in sides]
    if ranks[0] != ranks[1]:
        return ((0, 1) if ranks[0] < ranks[1] else (1, 0)), "their names say so"
    markers = [side.marker.lower() for side in sides]
    for order in ((0, 1), (1, 0)):
        first, second = (re.escape(markers[number]) for number in order)
        pattern = rf"(?<![a-z]){first}(-|_|2|to|-to-|)?{second}(?![a-z])"
        if all(markers) and (found := re.search(pattern, context.lower())):
            return order, f"{found[0]!r} in a name says so"
    codes = languages_of(sides)
    if "en" in codes and codes[0] != codes[1]:
        return ((1, 0) if codes[0] == "en" else (0, 1)), "into English, as nothing says otherwise"
    return (0, 1), "in the order of their names"


def _table(folder: Path, name: str) -> _Corpus | None:
    """Return the corpus in a table or a file of JSON lines; None where there are no two texts."""
    if not _is_table(folder / name):
        return None
    if name.removesuffix(".gz").endswith(".jsonl"):
        return _json_lines(folder, name)
    head = _head(folder / name, _HEAD)
    is_csv = name.removesuffix(".gz").endswith(".csv")
    cells = csv.reader(head) if is_csv else (line.split("\t") for line in head)
    rows = [row for row in cells if any(row)]
    texts = [column for column in _text_columns(rows[1:] or rows) if column < len(rows[0])]
    if len(texts) < 2:
        return None
    named = [column for column in texts if _is_side(rows[0][column].strip())]
    columns = named[:2] if len(named) > 1 else texts[:2]
    has_heading = len(named) > 1 or _is_heading(rows)
    sides = [
        Side(
            rows[0][column].strip() if has_heading else "",
            [row[column] for row in rows[has_heading:] if len(row) > column],
        )
        for column in columns
    ]
    keys = [rows[0][column] if has_heading else column + 1 for column in columns]
    return _of_columns(folder, name, (sides[0], sides[1]), keys)


def _of_columns(
    folder: Path, name: str, sides: tuple[Side, Side], keys: Sequence[str | int]
) -> _Corpus:
    order, reason = _order(sides, f"{folder.resolve().name} {name}")
    entry = {"file": name, "columns": [keys[number] for number in order]}
    return _Corpus(_split_of(name), entry, (name,), (sides[order[0]], sides[order[1]]), reason)


def _text_columns(rows: list[list[str]]) -> list[int]:
    """Return the columns that every row has and that are text."""
    columns = range(min(map(len, rows), default=0))
    return [column for column in columns if _is_prose([row[column] for row in rows])]


def _is_prose(cells: list[str]) -> bool:
    """Return whether cells are mostly letters: no numbers, marks or addresses."""
    text = "".join(cells)
    return sum(map(str.isalpha, text)) > _TEXT_SHARE * len(text)


def _is_heading(rows: list[list[str]]) -> bool:
    """Return whether the first row names a column that holds no letters below it."""
    return any(
        any(map(str.isalpha, rows[0][column]))
        and not any(any(map(str.isalpha, row[column])) for row in rows[1:])
        for column in range(min(map(len, rows)))
        if len(rows) > 1
    )


def _json_lines(folder: Path, name: str) -> _Corpus | None:
    """Return the corpus of dialogues, or of two texts in each record."""
    records = []
    for number, line in enumerate(_head(folder / name, _HEAD), 1):
        try:
            records += [json.loads(line)] if line.strip() else []
        except ValueError as error:
            raise DataError(f"{folder / name}:{number}: not valid JSON: {error}") from error
    records = [record for record in records if isinstance(record, dict)]
    if not records:
        return None
    if isinstance(records[0].get("turns"), list):
        talks = [record["turns"] for record in records if isinstance(record.get("turns"), list)]
        sides = [
            Side(role, [str(turn) for turns in talks for turn in turns[number::2]])
            for number, role in enumerate(_TURNS)
        ]
        reason = "user and bot take turns"
        return _Corpus(_split_of(name), {"file": name}, (name,), (sides[0], sides[1]), reason)
    cells = {key: [r[key] for r in records if isinstance(r.get(key), str)] for key in records[0]}
    texts = [key for key, values in cells.items() if _is_prose(values)]
    named = [key for key in texts if _is_side(key)]
    keys = named[:2] if len(named) > 1 else texts[:2]
    if len(keys) < 2:
        return None
    sides = [Side(key, cells[key]) for key in keys]
    return _of_columns(folder, name, (sides[0], sides[1]), keys)


def _nothing(folder: Path, names: list[str]) -> DataError:
    seen = f"; of {', '.join(names)} it is not clear which belong together" if names else ""
    return DataError(
        f"{folder}: no parallel text, table or dialogues found{seen}",
        hint="name the files: nmt init --train SOURCE TARGET (line N of one is the translation of "
        "line N of the other)",
    )
