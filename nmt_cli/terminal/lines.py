"""Where the commands that work on every line of an input read it, and write their output."""

import contextlib
import functools
import itertools
import os
import re
import shlex
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

from nmt_cli.encoding import check_encoding
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.stores import is_url, written
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.lines.on_ray import Cluster
    from nmt_cli.lines.work import Work
    from nmt_cli.parts import Division
    from nmt_cli.search.labeller import Labelled

FILE_NAME = re.compile(r"\S+\.\w+")
_MENDS: dict[str, Callable[[bytes], str] | None] = {
    "stop": None,
    "replace": lambda raw: raw.decode("utf-8", errors="replace"),
    "skip-as-blank": lambda raw: "",
}


def check_attention(text: list[str] | None, output: str) -> None:
    """Raise ConfigError unless `--attention` has a text to draw, and a file to draw it to."""
    console.check_output(output)
    if text is None or len(text) != 1 or not text[0].strip():
        raise ConfigError("--attention draws one text: give it as the argument")


def show_attention(model: "Model", ids: tuple[list[int], list[int]], output: str) -> None:
    """Draw what every head looked at when a model made target ids of source ids."""
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_ids

    attended = attended_ids(model.bundle, model.vocabularies, ids, model.engine)
    console.show(attention_of(attended), output)


def show_label_attention(model: "Model", labelled: "Labelled", output: str) -> None:
    """Draw what every head of a classifier looked at."""
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_labels

    attended = attended_labels(model.bundle, model.labeller, labelled)
    console.show(attention_of(attended), output)


class Source(Protocol):
    """The input of a command, of which each line, or pair of lines, gives a line of output."""

    @property
    def file(self) -> str | None:
        """What `--input` named: a file, a pattern of names, `-` or None for standard input."""

    def of(self, file: str) -> Self:
        """Return the same with another file."""

    def facts(self) -> list[Any]:
        """Return the settings that decide how the input is read; as JSON."""

    def items(self) -> Iterable[Any]:
        """Return the lines or pairs."""

    def windows(self) -> Iterable[list[Any]]:
        """Return them in windows, which are worked on together."""


@dataclass(frozen=True)
class Lines:
    """Texts that were given as arguments, else the lines of files, else those of standard input.

    ConfigError: a value is none of those that an option takes.
    """

    text: list[str] | None
    file: str | None
    on_error: str
    encoding: str
    column: str | None  # of a table
    warns_of_tabs: bool = False  # where a line is one text, a tab means rows of a table

    def __post_init__(self) -> None:
        if self.on_error not in _MENDS:
            hint = did_you_mean(self.on_error, _MENDS)
            known = ", ".join(_MENDS)
            raise ConfigError(f"--on-error must be {known} (it is {self.on_error}).{hint}")

    def of(self, file: str) -> Self:
        """Return the same with another file."""
        return replace(self, file=file)

    def facts(self) -> list[Any]:
        """Return how files are read."""
        return [self.encoding, self.column, self.on_error]

    def check_no_table(self) -> None:
        """Raise ConfigError if the input is a table without `--column`, or a text names a file."""
        name = self.text[0] if self.text and len(self.text) == 1 else ""
        # `isfile` is false for a text too long for a name
        if FILE_NAME.fullmatch(name) and os.path.isfile(name):  # noqa: PTH113
            hint = f"to read its lines: -i {shlex.quote(name)}"
            raise ConfigError(f"{name} is a file, not a text", hint=hint)
        if self.file and self.column is None and is_table(self.file):
            hint = "name the column, or key, that holds the text: --column NAME"
            raise ConfigError(f"{self.file} is a table", hint=hint)

    def items(self) -> Iterator[str]:
        """Return the lines of the files."""
        from nmt_cli.files import read_lines
        from nmt_cli.parts import input_files

        checked_encoding(self.encoding)
        files = input_files(self.file or "-")
        if self.column is not None:
            read_one = functools.partial(_cells, column=self.column, encoding=self.encoding)
        else:
            mend = _MENDS[self.on_error]
            read_one = functools.partial(read_lines, mend=mend, encoding=self.encoding)
        lines = itertools.chain.from_iterable(map(read_one, files))
        if self.warns_of_tabs and self.column is None:
            return _warning_of_tabs(lines, self.file)
        return lines

    def windows(self) -> Iterable[list[str]]:
        """Return the lines, in windows: of a file as full as may be, of a pipe as they come."""
        from nmt_cli.resources import WINDOW_LINES
        from nmt_cli.search.translator import arriving_windows, full_windows

        if self.text and self.column is None:
            if self.encoding != "utf-8":
                raise ConfigError("--encoding: no effect on texts that are arguments")
            return full_windows(map(_one_line, self.text))
        stdin = sys.stdin.fileno
        is_whole = self.file not in (None, "-") or stat.S_ISREG(os.fstat(stdin()).st_mode)
        if is_whole:
            return full_windows(self.items(), WINDOW_LINES)
        return arriving_windows(self.items())


@dataclass(frozen=True)
class Pairs:
    """A sentence and its translation as arguments, else those of two files or of a table."""

    text: list[str] | None
    file: str | None
    reference: str | None
    columns: list[str]  # of a table; none are there for two files
    encoding: str

    def of(self, file: str) -> Self:
        """Return the same with another file."""
        return replace(self, file=file)

    def facts(self) -> list[Any]:
        """Return how files are read."""
        return [self.encoding, self.columns]

    def items(self) -> Iterable[tuple[str, str]]:
        """Return the pairs."""
        from nmt_cli.text.corpus import column_texts, read_parallel

        if self.text:
            return [(self.text[0], self.text[1])]
        checked_encoding(self.encoding)
        source = Path(str(self.file))
        if self.columns:
            rows = column_texts(source, self.columns[:2], self.encoding)
            return ((left, right) for left, right in rows)
        examples = read_parallel(source, Path(str(self.reference)), self.encoding)
        return ((example.source[0], example.target) for example in examples)

    def windows(self) -> Iterable[list[tuple[str, str]]]:
        """Return the pairs one by one: scoring makes batches of them by itself."""
        return ([pair] for pair in self.items())


@dataclass(frozen=True)
class Where:
    """Where lines are worked on: here, unless one of these says otherwise.

    ConfigError: they do not go together.
    """

    shard: str | None = None  # only a share of them, as `share_of` takes it
    ray: str | None = None  # on a cluster of Ray, at this address
    ray_workers: int | None = None  # in so many processes there

    def __post_init__(self) -> None:
        if self.ray is not None and self.shard is not None:
            raise ConfigError("give either --ray or --shard, not both")
        if self.ray is None and self.ray_workers is not None:
            raise ConfigError("--ray-workers needs --ray")

    def cluster(self, threads: int = 1) -> "Cluster | None":
        """Return the cluster, if there is one; each of its processes has so many cores."""
        if self.ray is None:
            return None
        from nmt_cli.lines.on_ray import Cluster

        return Cluster(address=self.ray, workers=self.ray_workers, threads=threads)


def run(what: str, work: "Work", source: Source, output: str | None, where: Where = Where()) -> Any:
    """Write a line of output for each line of a source.

    Args:
        what: Is being done, for the progress line.
        work: Makes the lines.
        source: The input.
        output: The file to write; a folder gets a file for each of the input; None is standard
            output.
        where: The work is done.

    Returns:
        What was found for the last line; None if there was none, or it was found elsewhere.
    """
    found = destinations(source.file, output)
    pairs = [(source.of(file) if file else source, name) for file, name in found]
    if cluster := where.cluster(work.model.options.threads or 1):
        return _run_on_ray(what, work, pairs, cluster)
    last = None
    for one, file in pairs:
        if where.shard is not None:
            last = _run_share(what, work, one, file, where.shard)
        else:
            with output_stream(file) as stream:
                last = _write(what, work, one.windows(), one.file, stream)
    return last


def destinations(
    file: str | None, output: str | None, name_of: Callable[[str], str] = str
) -> list[tuple[str | None, str | None]]:
    """Return each input with its output: all files of a folder, or one of all files.

    Args:
        file: See `Source.file`.
        output: What `--output` named.
        name_of: Returns how the output of a file of that name is called in a folder.
    """
    if output is None or not (output.endswith("/") or Path(output).is_dir()):
        return [(file, output)]
    if file in (None, "-"):
        raise ConfigError(f"--output {output} is a folder: name the files with --input")
    from nmt_cli.parts import input_files

    files = input_files(str(file))
    names = [name_of(Path(one).name) for one in files]
    check_apart(files, names, output)
    made = [output + name if is_url(output) else str(Path(output) / name) for name in names]
    return [*zip(files, made, strict=True)]


def check_apart(files: Sequence[str], names: Sequence[str], output: str) -> None:
    """Raise ConfigError if two files have one name in the folder of their outputs."""
    file_of: dict[str, str] = {}
    for file, name in zip(files, names, strict=True):
        if (other := file_of.setdefault(name, file)) != file:
            raise ConfigError(
                f"--output {output}: several inputs are called {name} there: {other}, {file}",
                hint="rename one of them",
            )


def _run_share(what: str, work: "Work", source: Source, output: str | None, shard: str) -> Any:
    from nmt_cli.parts import share_of
    from nmt_cli.resources import WINDOW_LINES
    from nmt_cli.search.translator import full_windows

    share = share_of(shard)
    with written(output, f"{share}*") as here:
        part = _division("--shard", work, source, here, share.of).part(share)
        if part.is_made:
            console.note(f"{part.path} exists already".replace(str(here), str(output)))
            return None
        items = itertools.islice(source.items(), part.lines.start, part.lines.stop)
        with part.written() as stream:
            return _write(what, work, full_windows(items, WINDOW_LINES), source.file, stream)


def _run_on_ray(
    what: str, work: "Work", pairs: list[tuple[Source, str | None]], cluster: "Cluster"
) -> None:
    from nmt_cli.lines import on_ray

    with contextlib.ExitStack() as stack:
        here = [(one, stack.enter_context(written(output))) for one, output in pairs]
        divisions = [_division("--ray", work, one, output) for one, output in here]
        with console.counting() as count:
            on_ray.run(work, divisions, cluster, on_done=functools.partial(count, what))
    for (_, output), division in zip(pairs, divisions, strict=True):
        console.note(f"wrote {output if is_url(output) else division.output}")


def _division(
    option: str, work: "Work", source: Source, output: str | None, number: int | None = None
) -> "Division":
    """Return the parts of an output, as many as `number`; ConfigError if there are no files."""
    from nmt_cli.parts import Division

    if not {None, "-"}.isdisjoint((source.file, output)):
        raise ConfigError(f"{option} needs --input and --output with files")
    made_with = work.depends_on()
    made_with["options"]["input"] = source.facts()
    return Division(Path(str(output)), made_with, source.items, number)


def _write(
    what: str, work: "Work", windows: Iterable[list[Any]], file: str | None, stream: IO[str]
) -> Any:
    """Write the line of each output as it comes; return what was found for the last."""
    last = None
    with file_progress(what, file, is_shown=stream is not sys.stdout) as advance:
        for last in work.found(windows):
            if stream is sys.stdout:
                console.result_part(work.line(last))
            else:
                stream.write(work.line(last))
            advance(last.source)
    return last


def is_table(file: str) -> bool:
    """Return whether a file's name says that its lines have columns, or keys."""
    from nmt_cli.text.records import JSON_LINES, TABLES, suffix_of

    return suffix_of(file) in (*TABLES, JSON_LINES)


def pair_columns(columns: str | None, file: str | None, reference: str | None) -> list[str]:
    """Return the columns of source and reference that `--column` names, or none.

    ConfigError: they are not those of a table, or the reference is given twice.
    """
    if columns is None:
        return []
    _check_table(file)
    if reference is not None:
        raise ConfigError("--column names the reference, too: leave --reference out")
    names = columns.split(",")
    if len(names) < 2:
        raise ConfigError(f"--column {columns}: name source and reference, as in --column en,de")
    return names


def _check_table(file: str | None) -> None:
    if file is None or not is_table(file):
        raise ConfigError("--column needs --input with a .tsv or .csv file, or one of JSON lines")


def checked_encoding(name: str) -> str:
    """Return the value of `--encoding`; ConfigError when it is none."""
    try:
        check_encoding(name)
    except ValueError as error:
        raise ConfigError(f"--encoding: {error}") from error
    return name


def _warning_of_tabs(lines: Iterator[str], file: str | None) -> Iterator[str]:
    """Yield lines; warn if the first that is not blank has a tab between its words."""
    for number, line in enumerate(lines, start=1):
        if "\t" in line.strip():
            name = "standard input" if file in (None, "-") else file
            console.warn(
                f"{name}:{number} has a tab, as rows of a table have; a line is read as one text "
                "(a column of a .tsv is read with --column NAME)"
            )
        yield line
        if line.strip():
            break
    yield from lines


def _cells(file: str, column: str, encoding: str) -> Iterator[str]:
    from nmt_cli.text.corpus import column_texts

    _check_table(file)
    texts = column_texts(Path(file), [column], encoding)
    return (" ".join(text.splitlines()) for (text,) in texts)


def _one_line(argument: str) -> str:
    try:
        argument.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError("TEXT is not valid UTF-8") from error
    return " ".join(argument.splitlines()) if "\n" in argument else argument


@contextlib.contextmanager
def output_stream(path: str | None) -> Iterator[IO[str]]:
    """Give a file that is there whole at the end, or stdout for None and -."""
    from nmt_cli.files import atomic_text, os_errors_as

    if path is None or path == "-":
        yield sys.stdout
        return
    told = os_errors_as(DataError, f"{path}: cannot be written")
    with written(path) as here, told, atomic_text(Path(str(here))) as stream:
        yield stream


@contextlib.contextmanager
def file_progress(
    what: str, input_file: str | None, *, is_shown: bool
) -> Iterator[Callable[[str], None]]:
    """Show lines, rate and time left while a file is written; results on a terminal show enough.

    The size of the input file is the whole. Yields what to call with each of its lines when it is
    done.
    """
    if not is_shown:
        yield lambda _: None
        return
    started, lines, facts = time.monotonic(), 0, "{task.fields[facts]}"
    with console.live_progress(what, facts, total=_size(input_file), facts="") as update:

        def advance(line: str) -> None:
            nonlocal lines
            lines += 1
            rate = lines / (time.monotonic() - started)
            num_bytes = len(line.encode()) + 1
            update(advance=num_bytes, facts=f"{lines:,} lines {rate:,.0f} lines/s")

        yield advance


def _size(input_file: str | None) -> int | None:
    """Return the bytes to be read, or None where they cannot be known."""
    if input_file in (None, "-") or str(input_file).endswith(".gz"):
        return None
    path = Path(str(input_file))
    return path.stat().st_size if path.is_file() else None
