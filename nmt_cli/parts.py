"""An output in parts, which many processes make, each of a share of the input's lines or pairs.

Shares are ranges of lines, so the parts in their order are the whole output. Large ones begin where
a window begins, so that batches are those of an output that is made whole: which sentences share
a batch changes the last bits of probabilities, and with them a few words. The parts of OUT lie
in the folder OUT.parts, each with a record of what it was made of, `2-of-8.json`. The record is
written last: a part that has one is whole, and is not made again. `join` checks that all parts are
there, belong together and are undamaged. A part is a file, or a folder of encoded text.
"""

import collections
import contextlib
import glob
import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from nmt_cli.errors import ConfigError, DataError
from nmt_cli.files import (
    atomic_dir,
    atomic_text,
    open_bytes,
    os_errors_as,
    remove_dir,
    remove_leftovers,
    sha256_of,
    write_text,
)
from nmt_cli.resources import WINDOW_PAIRS

_SHARE = re.compile(r"(\d+)/(\d+)")
_RECORD = re.compile(r"(\d+)-of-(\d+)[.]json")
LINES = 8 * WINDOW_PAIRS  # of a part, where nobody says how many parts there are
_WHOLE_WINDOWS = 4  # from so many windows a part on, parts differ in length by whole ones
_INPUT, _LINES, _HASH = "input", "lines", "sha256"


class Share(NamedTuple):
    """Share `number`, from 1, `of` as many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}-of-{self.of}"

    def range_of(self, total: int) -> tuple[int, int]:
        """Return the first of its lines, from 0, and the one behind its last."""
        return (self.number - 1) * total // self.of, self.number * total // self.of


def share_of(text: str) -> Share:
    """Return the share that `--shard` names: K/N, or `auto` for what Slurm or Kubernetes says.

    Raises:
        ConfigError: There is no such share, or neither of these started the command.
    """
    share = _of_environment(os.environ) if text == "auto" else _parsed(text)
    if share is None:
        raise ConfigError(f"--shard {text}: give K/N, such as 2/8, or auto")
    if not 1 <= share.number <= share.of:
        raise ConfigError(f"--shard {share.number}/{share.of}: K must be 1 to N")
    return share


def _parsed(text: str) -> Share | None:
    found = _SHARE.fullmatch(text)
    return Share(*map(int, found.groups())) if found else None


def _of_environment(environ: Mapping[str, str]) -> Share:
    """Return the share of a task of a Slurm array or step, or of an indexed job of Kubernetes."""

    def number(name: str, default: str = "0") -> int:
        return int(environ.get(name, default))

    try:
        if "SLURM_ARRAY_TASK_ID" in environ:
            first, step = number("SLURM_ARRAY_TASK_MIN"), number("SLURM_ARRAY_TASK_STEP", "1")
            task = (number("SLURM_ARRAY_TASK_ID") - first) // step
            return Share(task + 1, number("SLURM_ARRAY_TASK_COUNT"))
        if "SLURM_PROCID" in environ:
            return Share(number("SLURM_PROCID") + 1, number("SLURM_NTASKS"))
        if "JOB_COMPLETION_INDEX" in environ:
            return Share(number("JOB_COMPLETION_INDEX") + 1, number("JOB_COMPLETIONS"))
    except ValueError as error:
        raise ConfigError(f"--shard auto: {error}") from error
    raise ConfigError(
        "--shard auto: this is neither a task of a Slurm array nor an indexed job of Kubernetes",
        hint="those set SLURM_ARRAY_TASK_ID, or JOB_COMPLETION_INDEX (set JOB_COMPLETIONS, too)",
    )


def input_files(pattern: str) -> list[str]:
    """Return the file of that name, or the files that match a pattern, in the order of their names.

    Raises:
        DataError: No file matches the pattern.
    """
    if not glob.has_magic(pattern) or Path(pattern).exists():
        return [pattern]
    matching = glob.glob(pattern)  # noqa: PTH207 (of any folder, in the form that was typed)
    if found := sorted(name for name in matching if Path(name).is_file()):
        return found
    raise DataError(f"{pattern}: no file matches")


class Division:
    """An output in parts, and the input that they are made of.

    Making one reads all of the input once, to count its items and to know it again.

    Args:
        output: The whole output.
        made_with: What the output depends on beside the input, by what people call it; as JSON.
        read: Returns an iterator over the input, lines or pairs of lines; called for each reading.
        number: How many parts there are; None makes them of `LINES` items each, at most.
    """

    def __init__(
        self,
        output: Path,
        made_with: Mapping[str, Any],
        read: Callable[[], Iterable[Any]],
        number: int | None = None,
    ) -> None:
        self.output = output
        self.read = read
        digest, total = hashlib.sha256(), 0
        for total, item in enumerate(read(), start=1):  # noqa: B007
            digest.update(f"{item}\n".encode(errors="surrogatepass"))
        self.total = total
        self._number = number or max(1, -(-total // LINES))
        has_windows = total >= _WHOLE_WINDOWS * WINDOW_PAIRS * self._number
        self._unit = WINDOW_PAIRS if has_windows else 1
        facts = {**made_with, _INPUT: digest.hexdigest()}
        self._facts: dict[str, Any] = json.loads(json.dumps(facts))  # as it will be read

    def part(self, share: Share) -> "Part":
        """Return the part that is a share of the output."""
        units = share.range_of(-(-self.total // self._unit))
        first, end = (min(self._unit * place, self.total) for place in units)
        facts = self._facts | {_LINES: [first, end, self.total]}
        return Part(self.output, share, facts, range(first, end))

    def missing(self) -> list["Part"]:
        """Return the parts that are not there; parts of another division are deleted."""
        parts = [self.part(Share(k, self._number)) for k in range(1, self._number + 1)]
        names = {part.record.name for part in parts}
        for record in folder_of(self.output).glob("*.json"):
            if _RECORD.fullmatch(record.name) and record.name not in names:
                record.unlink()
        return [part for part in parts if not part.is_made]

    def with_items(self, parts: Iterable["Part"]) -> Iterator[tuple["Part", list[Any]]]:
        """Yield some of the parts, in order, each with its items, in one reading of the input."""
        items, place = iter(self.read()), 0
        for part in parts:
            before = part.lines.start - place
            yield part, [*itertools.islice(items, before, before + len(part.lines))]
            place = part.lines.stop


class Part:
    """A part of an output.

    Attributes:
        path: The file or folder to write; a file is compressed if the output is.
        lines: Numbers of the items of the input that it is made of, from 0.
        record: The file that says what it is made of.
    """

    def __init__(self, output: Path, share: Share, facts: dict[str, Any], lines: range) -> None:
        self.path = part_file(output, share)
        self.record = folder_of(output) / f"{share}.json"
        self.lines = lines
        self._facts = facts

    @property
    def is_made(self) -> bool:
        """Whether the part is there already, whole, of the same input and made in the same way."""
        if not self.record.is_file() or not self.path.exists():
            return False
        return _read_record(self.record) == self._facts | {_HASH: _hash_of(self.path)}

    @contextlib.contextmanager
    def written(self) -> Iterator[IO[str]]:
        """Give the file to write; with its end, the part is made. What was before is void."""
        with self._recorded(), atomic_text(self.path) as stream:
            yield stream

    @contextlib.contextmanager
    def filled(self) -> Iterator[Path]:
        """Give the folder to fill; with its end, the part is made. What was before is void."""
        remove_leftovers(self.path.parent, self.path.name)
        with self._recorded(), atomic_dir(self.path) as folder:
            yield folder

    def remove(self) -> None:
        """Delete the part, its record first."""
        self.record.unlink(missing_ok=True)
        remove_dir(self.path)

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[None]:
        self.record.unlink(missing_ok=True)
        with os_errors_as(DataError, f"{self.path}: cannot be written"):
            yield
        facts = self._facts | {_HASH: _hash_of(self.path)}
        write_text(self.record, json.dumps(facts, indent=1) + "\n")


def join(output: Path) -> int:
    """Write an output from its parts; return how many there are.

    Raises:
        DataError: A part is missing, damaged, or made of another input or in another way.
    """
    parts = checked_parts(output, {})
    remove_leftovers(folder_of(output))
    remove_leftovers(output.parent, output.name)
    with os_errors_as(DataError, f"{output}: cannot be written"), atomic_text(output) as stream:
        for path in parts:
            with open_bytes(path) as part:
                shutil.copyfileobj(part, stream.buffer)
    return len(parts)


def checked_parts(output: Path, made_of: Mapping[str, Any]) -> list[Path]:
    """Return all parts of an output, in order.

    `made_of` is what their records must say, as far as that is known. Raises what `join` does.
    """
    records = checked_records(output, made_of)
    for share, facts in records.items():
        path = part_file(output, share)
        if not path.exists() or _hash_of(path) != facts.get(_HASH):
            raise DataError(f"{path}: is not as it was written", hint=_again(share))
    return [part_file(output, share) for share in records]


def checked_records(output: Path, made_of: Mapping[str, Any]) -> dict[Share, dict[str, Any]]:
    """Return what is noted of all parts of an output, in order; see `checked_parts`."""
    records = dict(sorted(_records(output).items()))
    whole = max(share.of for share in records)
    for share in (Share(number, whole) for number in range(1, whole + 1)):
        if share not in records:
            hint = f"run the same command with --shard {share.number}/{share.of}"
            raise DataError(f"{output}: part {share} is missing", hint=hint)
    texts = {share: json.dumps({**facts, _HASH: 0, _LINES: 0}) for share, facts in records.items()}
    common = collections.Counter(texts.values()).most_common(1)[0][0]
    usual = next(share for share, text in texts.items() if text == common)
    for share, facts in records.items():
        for name in (name for name in made_of if facts.get(name) != made_of[name]):
            raise DataError(f"{output}: part {share} is of another {name}", hint=_again(share))
        for name in sorted((facts.keys() | records[usual].keys()) - {_HASH, _LINES}):
            if facts.get(name) != records[usual].get(name):
                problem = f"{output}: part {share} differs from part {usual} in its {name}"
                raise DataError(problem, hint=_again(share))
    return records


def _again(share: Share) -> str:
    return f"make it again with --shard {share.number}/{share.of}"


def part_file(output: Path, share: Share) -> Path:
    """Return the file of a part; it is compressed if the output is."""
    return folder_of(output) / (f"{share}.gz" if output.suffix == ".gz" else str(share))


def folder_of(output: Path) -> Path:
    """Return the folder of the parts of an output."""
    return output.with_name(f"{output.name}.parts")


def _records(output: Path) -> dict[Share, dict[str, Any]]:
    """Return what is noted of each part; DataError if that is nothing, or of two divisions."""
    folder = folder_of(output)
    found = {
        Share(*map(int, match.groups())): _read_record(file)
        for file in folder.glob("*.json")
        if (match := _RECORD.fullmatch(file.name))
    }
    if not found:
        raise DataError(f"{folder}: has no parts", hint="make them with --shard 1/N to N/N")
    if len(sizes := sorted({share.of for share in found})) > 1:
        raise DataError(
            f"{folder}: has parts of {' and of '.join(map(str, sizes))}",
            hint="delete those that are not wanted",
        )
    return found


def _hash_of(path: Path) -> str:
    """Return a hash of a file's bytes, or of the names and bytes of the files in a folder."""
    if not path.is_dir():
        return sha256_of(path)
    hashes = {file.name: sha256_of(file) for file in sorted(path.iterdir())}
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}", hint="delete it") from error
    if not isinstance(record, dict):
        raise DataError(f"{path}: is not a record of a part", hint="delete it")
    return record
