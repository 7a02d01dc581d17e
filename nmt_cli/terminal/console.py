"""The only printer: results to stdout, everything else to stderr.

Rich is imported only for tables and live progress on a terminal; plain lines need nothing.
"""

import contextlib
import functools
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nmt_cli.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console

    from nmt_cli.report.picture import Picture

_STDERR = 2  # its file descriptor
# All but tab and line feed, and what turns the direction of writing round.
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def use_utf8() -> None:
    """Read and write UTF-8 whatever the locale; stray bytes in arguments never break printing.

    A stream that was closed (`<&-`, `>&-`) is nowhere: Python would leave None in its place.
    """
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")
    for stream, errors in ((sys.stdin, "strict"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    if isinstance(sys.stdout, io.TextIOWrapper):
        by_line = sys.stdout.line_buffering
        sys.stdout = _Output(sys.stdout.detach(), "utf-8", "replace", line_buffering=by_line)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _Output(sys.stderr.detach(), "utf-8", "replace", line_buffering=True)


class _Output(io.TextIOWrapper):
    """A standard stream. If it cannot be written, as on a full disk, that is no bug in nmt.

    Standard output says so. Standard error is nowhere once its terminal was closed, or Ctrl-C ended
    `2>&1 | tee log`: what goes on must be saved.
    """

    def write(self, text: str, /) -> int:
        with self._guarded():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with self._guarded():
            super().flush()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            is_stdout = self.fileno() != _STDERR
            if is_stdout and isinstance(error, BrokenPipeError):  # the reader has enough
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # Python flushes at its end
            if is_stdout:
                problem = f"standard output cannot be written: {error.strerror}"
                raise DataError(problem) from error


def _nowhere(mode: str) -> IO[str]:
    return os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8")


def result(text: str) -> None:
    """Print a result line to stdout at once."""
    result_part(f"{text}\n")


def result_part(text: str) -> None:
    """Print a part of a result line to stdout at once; a pipe gets it as it is."""
    print(visible(text) if sys.stdout.isatty() else text, end="", flush=True)


def result_json(data: Any) -> None:
    """Print data as one line of JSON to stdout."""
    result(json.dumps(data, ensure_ascii=False))


def result_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of equally many texts in columns; wide characters take two places."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            f"{text}{' ' * (w - cell_len(text))}" for text, w in zip(row, widths, strict=True)
        )
        result("  ".join(padded).rstrip())


def check_output(picture: str | None) -> None:
    """Raise ConfigError now, before slow work, if a picture cannot be written to a file."""
    from nmt_cli.report.picture import check_format

    if picture is not None:
        check_format(Path(picture))


def show(picture: "Picture", output: str | None) -> None:
    """Write a picture to a file, or print it where there is none; DataError when it fails."""
    from nmt_cli.report.picture import write_picture

    if output is not None:
        write_picture(picture, Path(output), on_warning=warn)
        note(f"the picture is in {output}")
        return
    screen = rich_stdout()
    has_colour = screen.color_system is not None and not screen.no_color
    drawn = picture.screen(screen.width, has_colour=has_colour)
    cuts = [edge for found in _CONTROLS.finditer(drawn.plain) for edge in found.span()]
    for part in drawn.divide(cuts):  # cut so that the styles around stay in their places
        part.plain = visible(part.plain)
        screen.print(part, end="", soft_wrap=True)


def visible(text: str) -> str:
    """Return text whose control characters a terminal shows and does not obey.

    Text, licences and names that somebody else wrote could move its cursor, or type for the user.
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(text: str) -> None:
    """Tell the user something, on stderr."""
    print(visible(text), file=sys.stderr, flush=True)


def note_engine(text: str) -> None:
    """Tell the user what a model runs on."""
    note(f"engine: {text}")


def warn(text: str) -> None:
    """Print a warning on stderr."""
    _labelled("warning:", 33, text)


def error(text: str, hint: str | None = None) -> None:
    """Print an error, a line for each problem, and what to do about it."""
    for line in text.splitlines():
        _labelled("error:", 31, line)
    if hint:
        _labelled("hint:", 36, hint)


def _labelled(label: str, colour: int, text: str) -> None:
    print(f"{_coloured(label, colour)} {visible(text)}", file=sys.stderr, flush=True)


def is_live() -> bool:
    """Return whether stderr is a terminal that can redraw lines."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _coloured(text: str, code: int) -> str:
    if "NO_COLOR" in os.environ or not is_live():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def rich_stdout() -> "Console":
    """Return Rich's view of stdout, for results that use colour where there is some."""
    from rich.console import Console

    return Console(highlight=False)


@contextlib.contextmanager
def live_progress(
    what: str,
    *columns: Any,
    total: float | None = None,
    tells_left: bool = True,
    **fields: Any,
) -> Iterator[Callable[..., None]]:
    """Show a live progress line on a terminal; nothing where there is none.

    After a bar it has `columns` of Rich, or format strings, which may show `fields`, and the time
    that is left at the pace so far. Yields what to call with all that changed, as `Progress.update`
    of Rich takes it.
    """
    if not is_live():
        yield lambda **_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),  # it may be the name of a file
        BarColumn(bar_width=10),
        *columns,
        *([TimeRemainingColumn(compact=True)] if tells_left else []),
        console=Console(stderr=True, highlight=False),
        transient=True,
    ) as progress:
        yield functools.partial(progress.update, progress.add_task(what, total=total, **fields))


@contextlib.contextmanager
def counting(unit: str = "") -> Iterator[Callable[..., None]]:
    """Show on a terminal how far something is, in a unit for people or as a share.

    Yields what to call with what is being done, how many are done, and of how many, if known.
    """
    count = (
        "{task.completed:,.0f} " + unit if unit else "{task.completed:,.0f} of {task.total:,.0f}"
    )
    with live_progress("", count, total=None if unit else 1) as update:
        yield lambda what, done, total=None: update(
            description=visible(what), completed=done, total=total
        )
