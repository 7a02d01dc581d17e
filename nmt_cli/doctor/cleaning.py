"""`nmt check --fix`: a cleaned copy of the text, in the same formats, and a list of what it lacks.

Training text loses every row with an error or a warning, unless the characters can be mended;
needless spaces are taken out of all text.
Development and test text loses only what cannot be read and what is blank: scores on another set
could not be compared.
"""

import contextlib
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.doctor.chunk import CONTROL, INVISIBLE, PRIVATE, kind_table
from nmt_cli.doctor.findings import BIT, CHECKS, Finding
from nmt_cli.doctor.mojibake import has_lost_letters, repair
from nmt_cli.doctor.result import CorpusRows, Report
from nmt_cli.errors import DataError
from nmt_cli.files import atomic_text, open_bytes, write_bytes
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.records import (
    JSON_LINES,
    Reader,
    has_broken_bytes,
    suffix_of,
    table_rows,
    text_dialogues,
)

DROPPED = "dropped.tsv"
_MENDABLE = sum(1 << BIT[name] for name in ("control-characters", "mojibake", "white-space"))
# Errors that leaving rows out does not mend.
_BY_HAND = ("files", "line-counts", "size", "labels", "training")
_UNREADABLE = (1 << BIT["format"]) | (1 << BIT["encoding"]) | (1 << BIT["empty"])
_SPACE = "[ \t\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_NEEDLESS = re.compile(rf"{_SPACE}{{2,}}|^{_SPACE}|{_SPACE}$|\t")
_EXCERPT = 200


def clean(config: Config, report: Report, data_dir: Path, out_dir: Path) -> tuple[Config, int, int]:
    """Write a cleaned copy of all corpora; return its configuration, rows left out, lines mended.

    File names are relative to `data_dir`; the copies go to `out_dir`, which the configuration calls
    `.`, with the glossary and `dropped.tsv`.

    DataError: a corpus cannot be mended by leaving rows out; nothing is written.
    """
    for finding in _unmendable(report):
        line = f":{finding.line}" if finding.line else ""
        where = f"{finding.file}{line}: " if finding.check == "files" else ""
        hint = "--fix only leaves rows out; fix this by hand first"
        raise DataError(f"{where}{finding.message}", hint=hint)
    tree = config.model_dump(exclude_unset=True)
    tree["name"] = f"{config.name}-clean"
    tree["data"] |= {"dir": ".", "encoding": "utf-8"}
    corpora = Corpora(config, data_dir)
    entries = {
        split: iter([entry for entry in tree["data"].get(split, []) if entry.get("rows") is None])
        for split in ("train", "dev", "test")
    }
    names: list[str] = []
    dropped = mended = 0
    with atomic_text(out_dir / DROPPED) as log:
        log.write("file\tline\twhy\ttext\n")
        for corpus in report.corpora:
            new = [_new_name(file, data_dir, names) for file in corpus.files]
            copy = _Copy(corpus, log, corpora.read_with_bytes)
            copy.write([out_dir / name for name in new])
            keys = ("source", "target") if len(new) == 2 else ("file",)
            next(entries[corpus.split]).update(zip(keys, new, strict=True))
            dropped, mended = dropped + copy.dropped, mended + copy.mended
    if corpora.glossary is not None:
        name = tree["data"]["glossary"] = _new_name(corpora.glossary, data_dir, names)
        with open_bytes(corpora.glossary) as stream:
            write_bytes(out_dir / name, stream.read())
    return Config.model_validate(tree), dropped, mended


def can_be_cleaned(report: Report) -> bool:
    """Return whether a copy without the rows that are wrong has no errors."""
    return not _unmendable(report)


def _unmendable(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.check in _BY_HAND and f.severity == "error"]


def _new_name(file: Path, data_dir: Path, taken: list[str]) -> str:
    """Return a name in the new folder: as below the old one, or the bare name; note it in `taken`.

    A file that is read twice, in other ways, has two copies.
    """
    inside = file.is_relative_to(data_dir) and ".." not in file.relative_to(data_dir).parts
    name = file.relative_to(data_dir) if inside else Path(file.name)
    number = 1
    while str(name) in taken:
        number += 1
        name = name.with_name(f"{number}-{file.name}")
    taken.append(str(name))
    return str(name)


class _Copy:
    """Copies the files of one corpus without the rows that are to go."""

    def __init__(self, corpus: CorpusRows, log: IO[str], read: Reader) -> None:
        self._corpus = corpus
        self._read = read
        self._log = log
        traits = sum(1 << BIT[check.name] for check in CHECKS if corpus.is_trait(check))
        bad = corpus.rows["found"] & np.uint32(~traits & 0xFFFFFFFF)
        if corpus.split != "train":
            bad &= np.uint32(_UNREADABLE | _MENDABLE)
        self._bits: dict[int, int] = {}
        for row in np.flatnonzero(bad):
            line = int(corpus.rows["line"][row])
            self._bits[line] = self._bits.get(line, 0) | int(bad[row])
        self.dropped = self.mended = 0

    def write(self, targets: list[Path]) -> None:
        """Write the copy under the names of `targets`."""
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(atomic_text(target)) for target in targets]
            for parts in self._kept():
                for stream, part in zip(streams, parts, strict=True):
                    stream.write(part + "\n")

    def _kept(self) -> Iterator[tuple[str, ...]]:
        files = self._corpus.files
        if len(files) == 2:
            pairs = zip(*map(self._read, files), strict=True)
            for line, pair in enumerate(pairs, 1):
                if (kept := self._judge([line], list(pair), _mend)) is not None:
                    yield tuple(kept)
            return
        suffix = suffix_of(files[0])
        if suffix == JSON_LINES:
            lines = self._jsonl()
        elif self._corpus.is_dialogue:
            lines = self._dialogues()
        else:
            lines = self._table(suffix == ".csv")
        yield from ((line,) for line in lines)

    def _dialogues(self) -> Iterator[str]:
        for dialogue, _ in text_dialogues(self._corpus.files[0], lambda _: None, self._read):
            lines, turns = zip(*dialogue, strict=True)
            if (kept := self._judge(lines, list(turns), _mend_turn)) is not None:
                yield from (*kept, "")

    def _jsonl(self) -> Iterator[str]:
        for line, text in enumerate(self._read(self._corpus.files[0]), 1):
            if text.strip() and self._is_row(line, text):
                yield from self._judge([line], [text], _mend_json) or ()

    def _table(self, is_csv: bool) -> Iterator[str]:
        columns = self._corpus.config.columns or []
        has_heading = any(isinstance(column, str) for column in columns)
        for line, fields in table_rows(self._corpus.files[0], lambda _: None, self._read):
            if has_heading and any(fields):
                has_heading = False
                yield _joined(fields, is_csv)
            elif not fields or not self._is_row(line, "\t".join(fields)):
                continue
            elif (kept := self._judge([line], fields, _mend)) is not None:
                yield _joined(kept, is_csv)

    def _is_row(self, line: int, text: str) -> bool:
        lines = self._corpus.rows["line"]
        place = int(np.searchsorted(lines, line))
        if place < len(lines) and lines[place] == line:
            return True
        self._drop(line, "format", text)
        return False

    def _judge(
        self, lines: Sequence[int], texts: list[str], mend: Callable[[str], str]
    ) -> list[str] | None:
        """Return what is kept of a row, or of a dialogue, mended where needed, or None."""
        bits = 0
        for line in lines:
            bits |= self._bits.get(line, 0)
        if any(map(has_broken_bytes, texts)):  # perhaps in a column that nobody reads
            bits |= 1 << BIT["encoding"]
        if not bits:
            return texts
        mended = [mend(text) for text in texts] if bits & _MENDABLE else texts
        still_bad = bits & ~_MENDABLE or any(map(_cannot_be_mended, mended))
        if still_bad and (bits & ~_MENDABLE or self._corpus.split == "train"):
            why = ",".join(check.name for bit, check in enumerate(CHECKS) if bits >> bit & 1)
            self._drop(lines[0], why, "\t".join(texts))
            return None
        self.mended += mended != texts
        return mended

    def _drop(self, line: int, why: str, text: str) -> None:
        self.dropped += 1
        shown = " ".join(text[:_EXCERPT].encode("utf-8", "replace").decode().split("\n"))
        self._log.write(f"{self._corpus.files[0]}\t{line}\t{why}\t{shown}\n")


def _joined(fields: list[str], is_csv: bool) -> str:
    if not is_csv:
        return "\t".join(fields)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()


def _mend(text: str) -> str:
    """Return a text without garbled letters, control characters and their like, needless spaces."""
    kinds, odd = kind_table(), CONTROL | INVISIBLE | PRIVATE
    text = "".join(sign for sign in repair(text) if not kinds[ord(sign)] & odd)
    return " ".join(filter(None, _NEEDLESS.split(text)))


def _mend_turn(text: str) -> str:
    return _mend(text) or text  # a blank line would end the dialogue


def _mend_json(text: str) -> str:
    def mended(value: Any) -> Any:
        if isinstance(value, str):
            return _mend(value)
        if isinstance(value, list):
            return [mended(item) for item in value]
        if isinstance(value, dict):
            return {key: mended(item) for key, item in value.items()}
        return value

    return json.dumps(mended(json.loads(text)), ensure_ascii=False)


def _cannot_be_mended(text: str) -> bool:
    return "\ufffd" in text or has_lost_letters(text)
