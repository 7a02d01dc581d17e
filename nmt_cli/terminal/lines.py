"""Lines in, lines out: what the commands that work on every line of an input share."""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

_WINDOW_LINES = 512  # of a file, translated together
_MENDS: dict[str, Callable[[bytes], str] | None] = {
    "stop": None,
    "replace": lambda raw: raw.decode("utf-8", errors="replace"),
    "skip-as-blank": lambda raw: "",
}


def mend_of(on_error: str) -> Callable[[bytes], str] | None:
    """Return what makes text of a line that is not UTF-8; None stops there."""
    from nmt_cli.errors import ConfigError, did_you_mean

    if on_error not in _MENDS:
        hint = did_you_mean(on_error, _MENDS)
        raise ConfigError(f"--on-error must be {', '.join(_MENDS)} (it is {on_error}).{hint}")
    return _MENDS[on_error]


def checked_encoding(name: str) -> str:
    """Return the value of `--encoding`.

    Raises:
        ConfigError: It is no encoding.
    """
    from nmt_cli.encoding import check_encoding
    from nmt_cli.errors import ConfigError

    try:
        check_encoding(name)
    except ValueError as error:
        raise ConfigError(f"--encoding: {error}") from error
    return name


def check_attention(text: list[str] | None, output: str) -> None:
    """Raise ConfigError unless `--attention` has a text to draw, and a file to draw it to."""
    from nmt_cli.errors import ConfigError
    from nmt_cli.terminal.pictures import check_output

    check_output(output)
    if text is None or len(text) != 1 or not text[0].strip():
        raise ConfigError("--attention draws one text: give it as the argument")


def input_windows(
    text: list[str] | None,
    input_file: str | None,
    mend: Callable[[bytes], str] | None,
    encoding: str,
    column: str | None = None,
) -> Iterable[list[str]]:
    """Return the input lines, in windows: of a file as full as may be, of a pipe as they come.

    Args:
        text: Lines that were given as arguments.
        input_file: A file, `-`, or None for standard input.
        mend: See `mend_of`.
        encoding: See `checked_encoding`.
        column: Of a table: what to read of each row.
    """
    from nmt_cli.files import read_lines
    from nmt_cli.search.line_windows import arriving_windows, full_windows

    if column is not None:
        return full_windows(_column_lines(input_file, column, encoding), _WINDOW_LINES)
    if text:
        return full_windows(map(_one_line, text))
    lines = read_lines(input_file or "-", mend, checked_encoding(encoding))
    is_whole = input_file not in (None, "-") or stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    return full_windows(lines, _WINDOW_LINES) if is_whole else arriving_windows(lines)


def is_table(file: str) -> bool:
    """Return whether a file's name says that its lines have columns."""
    return file.removesuffix(".gz").endswith((".tsv", ".csv"))


def _column_lines(file: str | None, column: str, encoding: str) -> Iterator[str]:
    from nmt_cli.errors import ConfigError
    from nmt_cli.text.corpus import column_texts

    if file is None or not is_table(file):
        raise ConfigError("--column goes with --input and the name of a .tsv or .csv file")
    texts = column_texts(Path(file), column, checked_encoding(encoding))
    return (" ".join(text.splitlines()) for text in texts)


def _one_line(argument: str) -> str:
    from nmt_cli.errors import ConfigError

    try:
        argument.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError("TEXT is not valid UTF-8") from error
    return " ".join(argument.splitlines()) if "\n" in argument else argument


@contextlib.contextmanager
def output_stream(path: str | None) -> Iterator[IO[str]]:
    """Give a file that is there whole at the end, or stdout for None and -."""
    from nmt_cli.errors import DataError
    from nmt_cli.files import atomic_text, os_errors_as

    if path is None or path == "-":
        yield sys.stdout
        return
    with os_errors_as(DataError, f"{path}: cannot be written"), atomic_text(Path(path)) as stream:
        yield stream


@contextlib.contextmanager
def file_progress(
    what: str, input_file: str | None, output_file: str | None
) -> Iterator[Callable[[str], None]]:
    """Show lines, rate and time left while a file is written; results on a terminal show enough.

    Args:
        what: Is being done, for people.
        input_file: Whose size is the whole.
        output_file: None shows nothing.

    Yields:
        What to call with each line of the input that is done.
    """
    from nmt_cli.terminal import console

    with contextlib.ExitStack() as stack:
        facts = "{task.fields[facts]}"
        progress = stack.enter_context(console.live_progress(facts)) if output_file else None
        if progress is None:
            yield lambda _: None
            return
        started, lines, size = time.monotonic(), 0, _size(input_file)
        task = progress.add_task(what, total=size, facts="")

        def advance(line: str) -> None:
            nonlocal lines
            lines += 1
            rate = lines / (time.monotonic() - started)
            num_bytes = len(line.encode()) + 1
            progress.update(task, advance=num_bytes, facts=f"{lines:,} lines {rate:,.0f} lines/s")

        yield advance


def _size(input_file: str | None) -> int | None:
    """Return the bytes to be read, or None where they cannot be known."""
    if input_file in (None, "-") or str(input_file).endswith(".gz"):
        return None
    path = Path(str(input_file))
    return path.stat().st_size if path.is_file() else None
