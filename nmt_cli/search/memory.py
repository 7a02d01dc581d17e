"""A translation memory: texts with the translations that people gave them.

It is read from TMX, from a table of two columns, or from JSON lines with `source` and `target`. A
text that it has gets that translation as it is; texts that are only alike are shown, not used.
"""

import importlib.util
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nmt_cli.errors import DataError, LineError, NmtError
from nmt_cli.files import read_utf8, sha256_of
from nmt_cli.search.glossary import UNSPACED
from nmt_cli.search.tmx import tmx_pairs
from nmt_cli.search.translator import EXACT, Match
from nmt_cli.text.languages import Way
from nmt_cli.text.records import JSON_LINES, TABLES, json_records, suffix_of, table_rows

_NEAR = 75  # percent of what two texts share; those with less are not alike
_MOST = 5_000  # texts that are compared with one
_SHOWN = 5
_SPACE = re.compile(r"[ \t\r\n]+")
_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


@dataclass(eq=False)
class Memory:
    """Translations by their sources, with single spaces; of several the first."""

    targets: dict[str, str]
    num_doubtful: int = 0  # sources that have several
    fingerprint: str = ""  # of the file

    @classmethod
    def read(cls, path: str | Path, way: Way = ("", "")) -> "Memory":
        """Read a `.tmx`, `.tsv`, `.csv` or `.jsonl`, perhaps with `.gz`.

        `way` are the languages that are taken from TMX; see `tmx_pairs`.

        Raises:
            DataError: It is damaged, empty, or of other languages.
            NmtError: A package is missing.
        """
        for package in ("lxml", "rapidfuzz"):
            if importlib.util.find_spec(package) is None:
                hint = "pip install 'nmt-cli[documents]'"
                raise NmtError(f"{path}: needs {package}, which is not installed", hint=hint)
        targets: dict[str, str] = {}
        doubtful = set()
        for source, target in _pairs(Path(path), way):
            source, target = _spaced(source), _spaced(target)
            if source and target and targets.setdefault(source, target) != target:
                doubtful.add(source)
        if not targets:
            raise DataError(f"{path}: has no text with a translation", hint="is it the right file?")
        return cls(targets, len(doubtful), sha256_of(Path(path)))

    def exact(self, text: str) -> str | None:
        """Return the translation of a text."""
        return self.targets.get(_spaced(text))

    def near(self, text: str) -> Match | None:
        """Return the entry that is most like a text, if one is alike enough.

        It has one of the text's rarer words.
        """
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - only those with a memory need it

        text = _spaced(text)
        rows = [self._index.get(word, array("I")) for word in sorted(_words(text))]
        numbers: set[int] = set()
        for row in sorted(rows, key=len)[: len(rows) // 2 + 1]:
            numbers.update(row[: _MOST - len(numbers)])
        choices = [self._sources[number] for number in sorted(numbers)]
        found = process.extractOne(text, choices, scorer=fuzz.ratio, score_cutoff=_NEAR)
        if found is None:
            return None
        source, score, _ = found
        return Match(source, self.targets[source], min(int(score), EXACT - 1))

    @cached_property
    def _sources(self) -> list[str]:
        return [*self.targets]

    @cached_property
    def _index(self) -> dict[str, "array[int]"]:
        """The numbers of the sources that have a word."""
        index: dict[str, array[int]] = {}
        for number, source in enumerate(self._sources):
            for word in _words(source):
                index.setdefault(word, array("I")).append(number)
        return index


class Matches:
    """What a memory had for many texts."""

    def __init__(self) -> None:
        self.taken, self.near = 0, 0
        self.first: list[tuple[str, Match]] = []  # texts, and what is like them

    def add(self, text: str, match: Match | None) -> None:
        """Count what it had for a text."""
        if match is None:
            return
        is_taken = match.percent == EXACT
        self.taken += is_taken
        self.near += not is_taken
        if not is_taken and self.near <= _SHOWN:
            self.first.append((text, match))


def _spaced(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _pairs(path: Path, way: Way) -> Iterable[tuple[str, str]]:
    kind = suffix_of(path)
    if kind == ".tmx":
        return tmx_pairs(path, way)
    if kind == JSON_LINES:
        return _of_records(path)
    if kind in TABLES:
        return _of_table(path)
    raise DataError(f"{path}: the name of a memory ends in .tmx, .tsv, .csv or .jsonl")


def _of_records(path: Path) -> Iterator[tuple[str, str]]:
    for number, record in json_records(path, _refuse, read_utf8):
        source, target = record.get("source"), record.get("target")
        if not (isinstance(source, str) and isinstance(target, str)):
            raise LineError(path, number, "needs text in the keys source and target")
        yield source, target


def _of_table(path: Path) -> Iterator[tuple[str, str]]:
    for number, row in table_rows(path, _refuse, read_utf8):
        if len(row) not in (0, 2):
            raise LineError(
                path, number, f"needs two columns, source and target; it has {len(row)}"
            )
        yield from [(row[0], row[1])] if row else []


def _refuse(problem: LineError) -> None:
    raise problem
