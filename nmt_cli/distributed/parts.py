"""One input on many machines: each takes a share of its lines and writes a part of the output.

Shares are ranges of lines, so the parts in their order are the whole output. The parts of OUT lie
in the folder OUT.parts, each with a record of what it was made of, `2-of-8.json`. The record is
written last: a part that has one is whole, and is not made again. `join` checks that all parts are
there, belong together and are undamaged.
"""

import glob
import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmt_cli.errors import ConfigError, DataError
from nmt_cli.files import atomic_text, open_bytes, os_errors_as, sha256_of, write_text

_SHARE = re.compile(r"(\d+)/(\d+)")
_RECORD = re.compile(r"(\d+)-of-(\d+)[.]json")
_INPUT, _LINES, _HASH = "input", "lines", "sha256"

Item = TypeVar("Item")


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
        "--shard auto: this is no task of a Slurm array, and no indexed job of Kubernetes",
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


class Part:
    """A part of an output, and the items of the input that it is made of.

    Making one reads all of the input once, to count it and to know it again.

    Args:
        share: Which part.
        output: The whole output.
        made_with: What the output depends on beside the input, by what people call it; as JSON.
        read: Returns an iterator over the input, lines or pairs of lines; called for each reading.

    Attributes:
        path: The file to write; compressed if the output is.
    """

    def __init__(
        self,
        share: Share,
        output: Path,
        made_with: Mapping[str, Any],
        read: Callable[[], Iterable[Item]],
    ) -> None:
        self.path = part_file(output, share)
        self._record = folder_of(output) / f"{share}.json"
        self._read = read
        digest, total = hashlib.sha256(), 0
        for total, item in enumerate(read(), start=1):  # noqa: B007
            digest.update(f"{item}\n".encode(errors="surrogatepass"))
        self._range = share.range_of(total)
        facts = {**made_with, _INPUT: digest.hexdigest(), _LINES: [*self._range, total]}
        self._facts: dict[str, Any] = json.loads(json.dumps(facts))  # as it will be read

    @property
    def is_made(self) -> bool:
        """Whether the part is there already, whole, of the same input and made in the same way."""
        if not self._record.is_file() or not self.path.is_file():
            return False
        return _read_record(self._record) == self._facts | {_HASH: sha256_of(self.path)}

    def begin(self) -> Iterator[Any]:
        """Return the lines, or pairs of lines, of this share; what was made before is void."""
        self._record.unlink(missing_ok=True)
        return itertools.islice(self._read(), *self._range)

    def finish(self) -> None:
        """Write the record of the part, whose file is written."""
        facts = self._facts | {_HASH: sha256_of(self.path)}
        write_text(self._record, json.dumps(facts, indent=1) + "\n")


def join(output: Path) -> int:
    """Write an output from its parts; return how many there are.

    Raises:
        DataError: A part is missing, damaged, or made of another input or in another way.
    """
    records = _records(output)
    whole = max(share.of for share in records)
    for share in (Share(number, whole) for number in range(1, whole + 1)):
        if share not in records:
            raise DataError(
                f"{output}: part {share} is missing",
                hint=f"run the same command with --shard {share.number}/{share.of}",
            )
    first = records[Share(1, whole)]
    for share, facts in sorted(records.items()):
        _check_fits(output, share, facts, first)
    with os_errors_as(DataError, f"{output}: cannot be written"), atomic_text(output) as stream:
        for share in sorted(records):
            with open_bytes(part_file(output, share)) as part:
                shutil.copyfileobj(part, stream.buffer)
    return whole


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


def _check_fits(output: Path, share: Share, facts: dict[str, Any], first: dict[str, Any]) -> None:
    """Raise DataError unless a part belongs to the first one and is as it was written."""
    own = {_HASH, _LINES}
    for name in sorted((facts.keys() | first.keys()) - own):
        if facts.get(name) != first.get(name):
            raise DataError(
                f"{output}: parts {Share(1, share.of)} and {share} differ in their {name}",
                hint=f"make it again with --shard {share.number}/{share.of}",
            )
    path = part_file(output, share)
    if not path.is_file() or sha256_of(path) != facts.get(_HASH):
        again = f"make it again with --shard {share.number}/{share.of}"
        raise DataError(f"{path}: is not as it was written", hint=again)


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}", hint="delete it") from error
    if not isinstance(record, dict):
        raise DataError(f"{path}: is no record of a part", hint="delete it")
    return record
