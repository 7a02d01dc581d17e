r"""Reading text strictly and writing files so that a crash never leaves half of one.

A line of text ends at `\n` or `\r\n` and nowhere else. Writes go to a temporary name beside the
target, are flushed to the disk, and then take the target's name in one rename.
"""

import codecs
import contextlib
import gzip
import hashlib
import io
import os
import shlex
import shutil
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from nmt_cli.encoding import AUTO, PACKED, UTF8, WIDE, Found, encoding_of, find_encoding, is_utf8
from nmt_cli.errors import DataError, NmtError, TrainingError

_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_HASH_BLOCK = 1 << 20
_PREVIOUS = ".previous"  # ends the name of a folder that was replaced
_UMASK_LOCK = threading.Lock()
_TEXT_BLOCK = 1 << 20  # bytes of a file that are decoded at a time
_UNPACKED_AT_LEAST, _UNPACKED_AT_MOST = 1 << 27, 50  # bytes, and times the packed size


def read_lines(
    path: str | Path, mend: Callable[[bytes], str] | None = None, encoding: str = UTF8
) -> Iterator[str]:
    """Yield the lines of a text file without their line ends.

    Args:
        path: A file, plain or gzip-compressed (by its `.gz` ending), or `-` for standard input.
        mend: Makes text of a line that is not in the encoding; None raises.
        encoding: Python's name of it; "auto" finds that of a file.

    Raises:
        DataError: The file cannot be read, or a line is in another encoding; names file and line.
    """
    name = "standard input" if str(path) == "-" else str(path)
    refuse_spreadsheet(path)
    # What is no ordinary file may be still growing: its lines are passed on one by one.
    block = _TEXT_BLOCK if Path(path).is_file() else 1
    number = 1
    try:
        with open_bytes(path) as stream:
            if encoding == AUTO:
                encoding = _certain_encoding(path, stream)
            lines = _Recoded(stream, encoding) if encoding.startswith(WIDE) else stream
            within = UTF8 if encoding.startswith(WIDE) else encoding
            while raw_lines := lines.readlines(block):
                yield from _decode_block(raw_lines, path, number, mend, within)
                number += len(raw_lines)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{name}: cannot be read: {reason}") from error
    except UnicodeError as error:  # of an encoding whose lines do not end with one byte
        hint = _encoding_hint([], path, encoding) or "it may be damaged, or cut off"
        raise DataError(f"{name}: not valid {encoding.upper()}", hint=hint) from error


def read_utf8(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file that no `--encoding` is for; see `read_lines`."""
    try:
        yield from read_lines(path)
    except DataError as error:
        raise DataError(str(error), hint=conversion_hint(Path(path)) or error.hint) from error


def refuse_spreadsheet(path: str | Path) -> None:
    """Raise DataError, which says how to make it text, for a file with a spreadsheet's name.

    The contents of one are told under any name.
    """
    hint = "save it as CSV in its program (Excel: Save As, CSV UTF-8), and use that file"
    if Path(path).suffix.lower() in _SPREADSHEETS:
        raise DataError(f"{path}: a spreadsheet is not text", hint=hint)
    with contextlib.suppress(OSError):  # is told by who reads it
        if Path(path).is_file():
            with Path(path).open("rb") as stream:
                if stream.read(4).startswith(PACKED):
                    raise DataError(f"{path}: holds a spreadsheet or an archive", hint=hint)


def _certain_encoding(path: str | Path, stream: io.BufferedReader) -> str:
    """Return the encoding of a file, or of what a stream has so far; UTF-8 where it is unsure."""
    if Path(path).is_file():
        found = find_encoding(Path(path))
    else:
        head = stream.peek()
        whole = head[: head.rfind(b"\n") + 1] if 0 not in head else head[: len(head) // 2 * 2]
        found = encoding_of(whole or head)
    return found.encoding if found is not None and found.is_certain else UTF8


class _Recoded:
    """Lines of an encoding in which the line's end is more than one byte, as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._text = io.TextIOWrapper(stream, encoding, newline="\n")

    def readlines(self, block: int) -> list[bytes]:
        """Return the next lines, of about so many characters."""
        return [line.encode() for line in self._text.readlines(block)]


def _decode_block(
    raw_lines: list[bytes],
    path: str | Path,
    first: int,
    mend: Callable[[bytes], str] | None,
    encoding: str,
) -> Iterable[str]:
    """Return lines without their ends; the first is number `first` of the file."""
    if first == 1:
        raw_lines[0] = raw_lines[0].removeprefix(codecs.BOM_UTF8)
    try:
        text = b"".join(raw_lines).decode(encoding)
    except UnicodeDecodeError:
        return _decode_each(raw_lines, path, first, mend, encoding)
    if "\0" in text and mend is None and first == 1:
        _refuse_wide(raw_lines, path)
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:  # behind the last line's end, or a file with nothing but the mark
        lines.pop()
    return lines


def _refuse_wide(raw_lines: list[bytes], path: str | Path) -> None:
    """Raise DataError if the beginning of a text is UTF-16, which may be valid UTF-8, too."""
    found = encoding_of(b"".join(raw_lines))
    if found is not None and found.encoding.startswith(WIDE):
        name = "standard input" if str(path) == "-" else path
        raise DataError(f"{name}:1: not UTF-8", hint=_advice(found, path, UTF8))


def _decode_each(
    raw_lines: list[bytes],
    path: str | Path,
    first: int,
    mend: Callable[[bytes], str] | None,
    encoding: str,
) -> Iterator[str]:
    for number, raw in enumerate(raw_lines, first):
        content = raw[:-1].removesuffix(b"\r") if raw.endswith(b"\n") else raw
        try:
            line = content.decode(encoding)
        except UnicodeDecodeError as error:
            if mend is None:
                name = "standard input" if str(path) == "-" else path
                problem = f"not valid {encoding.upper()} (byte {error.start + 1} of the line)"
                hint = _encoding_hint(raw_lines, path, encoding)
                raise DataError(f"{name}:{number}: {problem}", hint=hint) from error
            line = mend(content)
        yield line


def _encoding_hint(raw_lines: list[bytes], path: str | Path, encoding: str) -> str | None:
    """Return how to mend a file; to convert one that is mostly UTF-8 would garble all of it."""
    found = None
    if Path(path).is_file():
        found = find_encoding(Path(path))
    elif raw_lines:
        found = encoding_of(b"".join(raw_lines))
    is_found = found is not None and found.encoding == encoding
    if found is not None and found.encoding.startswith(WIDE) and not is_found:
        return _advice(found, path, encoding)
    has_utf8 = is_found or any(not raw.isascii() and is_utf8(raw) for raw in raw_lines)
    if encoding == UTF8 and has_utf8:
        return "the lines around it are UTF-8: fix this one (nmt check --fix leaves such lines out)"
    return None if found is None or is_found else _advice(found, path, encoding)


def _advice(found: Found, path: str | Path, encoding: str) -> str:
    """Return how to read a file; who named another encoding has files that differ."""
    name = AUTO if encoding != UTF8 and found.is_certain else found.encoding
    use = f"use --encoding {name} (in training: --set data.encoding={name})"
    convert = f", or convert it: {conversion(found, path)}" if found.encoding != UTF8 else ""
    return f"{found}: {use}{convert}"


def conversion(found: Found, path: str | Path) -> str:
    """Return the command that makes a file UTF-8."""
    name = "IN" if str(path) == "-" else shlex.quote(str(path))
    convert = f"iconv -f {found.encoding.upper()} -t UTF-8"
    return f"zcat {name} | {convert} > NEW" if name.endswith(".gz") else f"{convert} {name} > NEW"


def conversion_hint(path: Path) -> str | None:
    """Return how to mend a file that must be UTF-8; None where its encoding is not known."""
    found = find_encoding(path)
    if found is None or found.encoding == UTF8:
        return None
    suffix = Path(path.name.removesuffix(".gz")).suffix  # says of what kind it is
    return f"{found}; convert it: {conversion(found, path)}{suffix}"


def open_bytes(path: str | Path) -> contextlib.AbstractContextManager[io.BufferedReader]:
    """Open a file, unpacked if its name ends in .gz, or standard input (-)."""
    if str(path) == "-":
        return contextlib.nullcontext(_stdin_bytes())
    if str(path).endswith(".gz"):
        return io.BufferedReader(gzip.open(path, "rb"))
    return Path(path).open("rb")


def _stdin_bytes() -> io.BufferedReader:
    """Return standard input with a buffer of its own.

    A thread may wait in it when the program ends; Python would wait for the buffer of `sys.stdin`.
    """
    try:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
    except (OSError, ValueError):  # a test's, or none at all
        return io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))


def sha256_of(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def crc32_of(path: Path) -> int:
    """Return the CRC-32 of a file's bytes, which finds damage and is soon computed."""
    checksum = 0
    with path.open("rb") as stream:
        while block := stream.read(_HASH_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def most_unpacked(packed: Path) -> int:
    """Return how many bytes a packed file may become: text shrinks to a quarter, not to a 50th."""
    return max(_UNPACKED_AT_LEAST, _UNPACKED_AT_MOST * packed.stat().st_size)


@contextlib.contextmanager
def atomic_text(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file for writing that appears under its name only when complete.

    A name that ends in `.gz` is compressed; who may read an older file may read the new one. On any
    exception the target stays as it was. What is no ordinary file (`/dev/null`, a pipe) is written
    to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as device:
            yield device
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            stream = gzip.GzipFile(fileobj=raw, mode="wb") if path.suffix == ".gz" else raw
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n", write_through=True)
            yield text
            text.flush()
            text.detach()
            if stream is not raw:
                stream.close()
            raw.flush()
            os.fsync(raw.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
        fsync(path.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def replace_file(path: Path, new: Path) -> None:
    """Give a finished file beside `path` that name; who may read an older file may read it."""
    if path.exists():
        new.chmod(stat.S_IMODE(path.stat().st_mode))
    fsync(new)
    new.replace(path)
    fsync(path.parent)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder that is gone when the block ends.

    Raises:
        TrainingError: There is no place for one, or the block fills the disk.
    """
    told = os_errors_as(
        TrainingError,
        "temporary files cannot be written",
        hint="set TMPDIR=FOLDER to a folder on a disk with space",
    )
    with told, tempfile.TemporaryDirectory(prefix="nmt-") as name:
        yield Path(name)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file atomically."""
    with atomic_text(path) as stream:
        stream.write(text)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file atomically; a text, but for its line ends and encoding."""
    with atomic_text(path) as stream:
        stream.buffer.write(content)


@contextlib.contextmanager
def atomic_dir(path: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `path`, whole, when the block ends.

    An older folder of that name is set aside as `.NAME.previous` for the moment between the two
    renames, where `existing_dir` still finds it after a crash, and removed afterwards.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.writing-", dir=path.parent))
    try:
        yield temporary
        for entry in (*temporary.rglob("*"), temporary):
            entry.chmod((0o777 if entry.is_dir() else 0o666) & ~_umask())
            fsync(entry)
        if path.is_dir():  # who may read the older one may read the new one
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        _swap_dir(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _swap_dir(new: Path, path: Path) -> None:
    previous = _previous(path)
    if path.exists():
        shutil.rmtree(previous, ignore_errors=True)
        path.rename(previous)
    try:
        new.rename(path)
    except OSError:
        if previous.exists():
            previous.rename(path)
        raise
    fsync(path.parent)
    shutil.rmtree(previous, ignore_errors=True)


def existing_dir(path: Path) -> Path:
    """Return the folder to read for `path`: itself, or what a crashed swap left of it."""
    return path if path.exists() or not _previous(path).is_dir() else _previous(path)


def remove_dir(path: Path) -> None:
    """Delete a folder, which a crash in the middle of it leaves under its name whole or not."""
    doomed = path.with_name(f".{path.name}.removing-")
    shutil.rmtree(doomed, ignore_errors=True)
    with contextlib.suppress(OSError):  # gone, or in use: what cannot be deleted may stay
        path.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Delete what a killed process had half written, half deleted or just replaced in `folder`.

    `name` is a pattern of what it was to be; others may be at work in the same folder.
    """
    replaced = (
        path
        for path in folder.glob(f".{name}{_PREVIOUS}")
        if path.with_name(path.name[1:].removesuffix(_PREVIOUS)).exists()
    )
    halves = (*folder.glob(f".{name}.writing-*"), *folder.glob(f".{name}.removing-"))
    for leftover in (*halves, *replaced):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def fsync(path: Path) -> None:
    """Flush a file's content, or a folder's entries (a rename in it), to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def os_errors_as(kind: type[NmtError], doing: str, *, hint: str | None = None) -> Iterator[None]:
    """Turn an OSError of the block (disk full, no permission) into `kind`, told in one line."""
    try:
        yield
    except BrokenPipeError:  # nobody reads the results any more: not what was being done here
        raise
    except OSError as error:
        is_new = error.filename and str(error.filename) not in doing
        where = f" ({error.filename})" if is_new else ""
        raise kind(f"{doing}{where}: {error.strerror or error}", hint=hint) from error


def _previous(path: Path) -> Path:
    path = path.resolve()
    return path.with_name(f".{path.name}{_PREVIOUS}")


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it: one thread at a time."""
    with _UMASK_LOCK:
        mask = os.umask(0)
        os.umask(mask)
        return mask
