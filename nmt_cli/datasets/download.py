"""Files from a web server or a folder: resumed after a broken connection, checked, put in place.

What has come lies in `.NAME.part` beside the file until it is whole and its hash is right, so that
a file under its own name is always the right one. Beside it, `.NAME.part.version` has the server's
name for the version of the file that it is a part of: bytes of two versions are never mixed.
"""

import contextlib
import fcntl
import functools
import gzip
import http.client
import lzma
import os
import shutil
import socket
import ssl
import struct
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from nmt_cli import __version__
from nmt_cli.datasets.known_sets import DataSet, RemoteFile
from nmt_cli.errors import DataError
from nmt_cli.files import fsync, most_unpacked, os_errors_as, sha256_of, write_text

_BLOCK = 1 << 16
_TIMEOUT_S = 30.0  # without a byte
_ANSWER_S = 60.0  # for the headers, which may trickle
_ATTEMPTS = 4  # in a row that brought next to nothing
_PROGRESS = 1 << 16  # bytes that are more than that
_SLOWEST = 1000  # bytes a second
_MOST_UNTOLD = 1 << 32  # bytes of a file of which the server does not say how many it has
_RETRIED = (408, 425, 429, 500, 502, 503, 504)
_REDIRECTIONS = (301, 302, 303, 307, 308)
_RANGE_NOT_SATISFIABLE = 416

# All that zipfile raises when an archive is damaged, encrypted or packed in a way of its own.
DAMAGED_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    LookupError,
    ValueError,
    OverflowError,
    RuntimeError,
    OSError,
)

OnProgress = Callable[[int, int | None], None]


class FetchError(DataError):
    """The file does not come from there, or not as it should be."""


class NotThere(FetchError):
    """The server does not have the file."""


class _Broken(Exception):
    """The connection failed in a way that may be better next time."""


def missing_files(data_set: DataSet, folder: Path) -> list[RemoteFile]:
    """Return the files of a set that are not in its folder yet.

    DataError: a file of that name is there that is not the published one.
    """
    missing = []
    for file in data_set.files:
        if not all((folder / name).is_file() for name in file.results):
            missing.append(file)
        elif file.sha256 and not file.members and sha256_of(folder / file.name) != file.sha256:
            raise DataError(
                f"{folder / file.name}: not the published file (its sha256 differs)",
                hint="move it away; the same command then downloads the published one",
            )
    return missing


def fetch_of_set(
    data_set: DataSet,
    file: RemoteFile,
    folder: Path,
    *,
    mirror: str | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> None:
    """Put one file of a set into its folder, unpacked where it is an archive; see `fetch`.

    `mirror` is an address or folder to take it from instead; the file may lie there at its
    published path, or at the end of that path, such as its name alone.
    """
    parts = file.path.split("/")
    depths = range(len(parts)) if mirror else range(1)
    for depth in depths:
        origin = _origin(mirror or data_set.address, parts[depth:])
        try:
            fetch(origin, folder / file.name, sha256=file.sha256, on_progress=on_progress)
            break
        except NotThere:
            if depth == depths[-1]:
                raise
    if file.members:
        unpack(folder / file.name, file.members)


def _origin(base: str, parts: list[str]) -> str:
    if is_address(base):
        return "/".join([base.rstrip("/"), *map(urllib.parse.quote, parts)])
    return str(Path(base).joinpath(*parts))


def fetch(
    origin: str,
    path: Path,
    *,
    sha256: str | None,
    on_progress: OnProgress = lambda *_: None,
    pause_s: float = 1.0,
) -> None:
    """Put a file in its place, resuming an earlier download.

    Args:
        origin: An http or https address, or a file.
        path: Where to put it.
        sha256: What its bytes must hash to; None checks only that a .gz can be read to its end.
        on_progress: Called with the bytes that have come and, where known, with how many there are.
        pause_s: Seconds before the second attempt; twice as many before each further one.

    Raises:
        NotThere: The server does not have it.
        FetchError: It does not come, or is not what it should be.
        DataError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    with os_errors_as(DataError, f"{path}: cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _open_part(part) as stream:
            transfer = _Transfer(origin, stream, part, on_progress, pause_s, sha256 is not None)
            had_some = stream.seek(0, 2) > 0
            transfer.run()
            if had_some and sha256 is not None and sha256_of(part) != sha256:
                transfer.start_over()  # the old part may be to blame
                transfer.run()
            _check(part, path.name, origin, sha256)
            _put_in_place(part, path)


def unpack(archive: Path, members: dict[str, str]) -> None:
    """Put members of a zip archive beside it, by the names given for them, and remove it.

    FetchError: it is no zip archive, lacks a member, or is damaged. DataError: they cannot be
    written.
    """
    folder = archive.parent
    parts = {folder / f".{name}.part": folder / name for name in members.values()}
    try:
        with zipfile.ZipFile(archive) as opened:
            left = most_unpacked(archive)
            for member, part in zip(members, parts, strict=True):
                with opened.open(member) as source, _create(part) as target:
                    left -= _copy(source, functools.partial(_write, target, folder), left)
        with os_errors_as(DataError, f"{folder}: cannot be written"):
            for part, path in parts.items():
                _put_in_place(part, path)
    except DAMAGED_ARCHIVE as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise FetchError(f"{archive}: not the expected archive: {reason}") from error
    finally:
        for part in (*parts, archive):
            part.unlink(missing_ok=True)


def _create(path: Path) -> IO[bytes]:
    with os_errors_as(DataError, f"{path.parent}: cannot be written"):
        return path.open("wb", buffering=0)


def _copy(source: IO[bytes] | gzip.GzipFile, write: Callable[[bytes], Any], most: int) -> int:
    """Write what unpacking gives, and return how many bytes; a bomb is an OSError."""
    total = 0
    while block := source.read(_BLOCK):
        total += len(block)
        if total > most:
            raise OSError("it unpacks to far more than it should")
        write(block)
    return total


def _write(stream: IO[bytes], place: Path, block: bytes) -> None:
    with os_errors_as(DataError, f"{place}: cannot be written"):
        written = 0
        while written < len(block):  # a disk that is nearly full takes less
            written += stream.write(block[written:])


@contextlib.contextmanager
def _open_part(part: Path) -> Iterator[IO[bytes]]:
    """Open what has come of a file, for this process alone."""
    with part.open("a+b", buffering=0) as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.path.samestat(os.fstat(stream.fileno()), part.stat())
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        if not is_ours:  # or it was put in place just now
            raise DataError(f"{part}: another process is downloading this file")
        try:
            yield stream
        finally:
            if stream.seek(0, 2) == 0:
                part.unlink(missing_ok=True)
                _version_file(part).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Transfer:
    """Brings the bytes of one file, in as many requests as it takes; see `fetch`."""

    origin: str
    stream: IO[bytes]  # the part that has come of it, open for appending
    part: Path  # where that part is
    on_progress: OnProgress
    pause_s: float
    # Whether the hash of the whole will tell if a wrong part was resumed; else a server that does
    # not name versions exactly is asked for all of the file again.
    is_known: bool

    def run(self) -> None:
        """Bring all bytes that are not there yet."""
        self.on_progress(self._size, None)
        if not is_address(self.origin):
            self._copy()
            return
        failures = 0
        while True:
            had = self._size
            try:
                self._receive()
                return
            except _Broken as error:
                failures = 1 if self._size >= had + _PROGRESS else failures + 1
                if failures == _ATTEMPTS:
                    is_kept = self._size > 0 and self._may_join(self._version())
                    hint = "the part already downloaded is kept: the same command resumes"
                    raise FetchError(
                        f"{self.origin}: {error} (tried {failures} times)",
                        hint=hint if is_kept else None,
                    ) from error
                time.sleep(self.pause_s * 2 ** (failures - 1))

    def start_over(self) -> None:
        """Forget what has come."""
        self.stream.truncate(0)
        _version_file(self.part).unlink(missing_ok=True)

    @property
    def _size(self) -> int:
        return self.stream.seek(0, 2)

    def _copy(self) -> None:
        if not Path(self.origin).is_file():
            raise NotThere(f"{self.origin}: no such file")
        self.start_over()
        with Path(self.origin).open("rb") as source:
            size = Path(self.origin).stat().st_size
            while block := source.read(_BLOCK):
                self._write(block, size)

    def _receive(self) -> None:
        """Bring the rest with one request."""
        with self._open() as response:
            if response is None:
                return
            total = self._prepare(response)
            self._check_room(total)
            try:
                self._read(response, total)
            except (OSError, http.client.HTTPException) as error:
                raise _Broken(f"the connection broke: {_told(error)}") from error
        if total is not None and self._size != total:
            ended = f"the connection closed after {self._size:,} of {total:,} bytes"
            if self._size > total:
                self.start_over()
            raise _Broken(ended)

    def _read(self, response: Any, total: int | None) -> None:
        """Write what comes, as long as some comes."""
        since, before = time.monotonic(), self._size
        while block := response.read1(_BLOCK):
            self._write(block, total)
            if total is None and self._size > _MOST_UNTOLD:
                self.start_over()
                raise FetchError(
                    f"{self.origin}: does not end: {_MOST_UNTOLD / 1e9:.1f} GB have come, and the "
                    "server does not say how many there are"
                )
            if (seconds := time.monotonic() - since) > _TIMEOUT_S:
                if self._size - before < seconds * _SLOWEST:
                    raise _Broken(f"less than {_SLOWEST:,} bytes per second arrive")
                since, before = time.monotonic(), self._size

    def _check_room(self, total: int | None) -> None:
        free = shutil.disk_usage(self.part.parent).free
        if total is not None and total - self._size > free:
            raise DataError(
                f"{self.part.parent}: no space for {self.origin}: it has {total / 1e9:.1f} GB, "
                f"and {free / 1e9:.1f} GB are free"
            )

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """Ask for the rest; yields None when there is none left to ask for."""
        redirects = _Redirects()
        try:
            request = urllib.request.Request(self.origin, headers=self._headers())  # noqa: S310
            opener = urllib.request.build_opener(redirects, _Http, _Https)
            response = opener.open(request, timeout=_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            with contextlib.closing(error):
                self._check_status(error, redirects.told)
            yield None
            return
        except urllib.error.URLError as error:
            raise _no_connection(self.origin, redirects.told, error.reason) from error
        except (ValueError, http.client.InvalidURL) as error:  # of it, or of where it sends on to
            which_is = f"{redirects.told}which is " if redirects.told else ""
            raise FetchError(f"{self.origin}: {which_is}not a web address") from error
        except (OSError, http.client.HTTPException) as error:
            raise _Broken(f"{redirects.told}no answer: {_told(error)}") from error
        with response:
            yield response

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": f"nmt-cli/{__version__}", "Accept-Encoding": "identity"}
        had, version = self._size, self._version()
        if had and self._may_join(version):
            headers["Range"] = f"bytes={had}-"
            if _names_bytes(version):  # HTTP allows no weak names there
                headers["If-Range"] = version
        return headers

    def _may_join(self, version: str) -> bool:
        """Return whether bytes of that version may be joined: it is exact, or the hash tells."""
        return self.is_known or _names_bytes(version)

    def _version(self) -> str:
        try:
            return _version_file(self.part).read_text(encoding="utf-8")
        except OSError:
            return ""

    def _check_status(self, error: urllib.error.HTTPError, redirected: str) -> None:
        """Raise what an answer other than the file means, unless all of the file is here."""
        if error.code == _RANGE_NOT_SATISFIABLE:
            if error.headers.get("Content-Range", "") == f"bytes */{self._size}":
                return
            self.start_over()
            raise _Broken("the part already downloaded was not of this file") from error
        told = f"{redirected}the server says {error.code} {error.reason}"
        if error.code in _REDIRECTIONS:
            told = f"{redirected or 'redirects '}in a circle or to no web address ({error.code})"
        if error.code in _RETRIED:
            raise _Broken(told) from error
        kind = NotThere if error.code in (404, 410) else FetchError
        raise kind(f"{self.origin}: {told}") from error

    def _prepare(self, response: Any) -> int | None:
        """Make the part fit the answer; return how many bytes the whole file has, if known."""
        packing = response.headers.get("Content-Encoding") or "identity"
        if packing.lower() != "identity" and not self.part.name.endswith(".gz.part"):
            problem = f"the server packs it ({packing}), though it was asked not to"
            raise FetchError(f"{self.origin}: {problem}")
        version = response.headers.get("ETag") or ""
        is_same = version == self._version() and self._may_join(version)
        if response.status == http.HTTPStatus.PARTIAL_CONTENT:
            span, _, total = response.headers.get("Content-Range", "").partition("/")
            if span.startswith(f"bytes {self._size}-") and is_same:
                return int(total) if total.isdecimal() else None
            self.start_over()
            raise _Broken("the server sent part of another file")
        self.start_over()  # the whole file: it has no ranges, or another version
        if version:
            write_text(_version_file(self.part), version)
        length = response.headers.get("Content-Length") or ""
        return int(length) if length.isdecimal() else None

    def _write(self, block: bytes, total: int | None) -> None:
        _write(self.stream, self.part, block)
        self.on_progress(self._size, total)


class _Patience(http.client.HTTPConnection):
    """A connection that is shut when the headers of an answer take too long to come."""

    def getresponse(self) -> http.client.HTTPResponse:
        """Return the answer; TimeoutError when it takes too long."""
        is_late = threading.Event()

        def shut() -> None:
            is_late.set()
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(_ANSWER_S, shut)
        timer.daemon = True
        timer.start()
        try:
            response = super().getresponse()
        except (OSError, http.client.HTTPException):
            if not is_late.is_set():
                raise
        else:
            if not is_late.is_set():
                return response
            response.close()  # its headers were cut short
        finally:
            timer.cancel()
        raise TimeoutError(f"its headers did not come within {_ANSWER_S:g} seconds")


class _PatienceTls(_Patience, http.client.HTTPSConnection):
    """The same over TLS."""


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Patience, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PatienceTls, req)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections on the web, but never from https to anything less."""

    told = ""  # the last one, for the beginning of a message

    def http_error_302(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any
    ) -> Any:
        """Follow one, and keep where it leads: the address may be none."""
        fp.close()  # or all of its body would be read, which may have no end
        if address := headers.get("Location"):
            self.told = f"redirects to {address}, "
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request to the new address."""
        allowed = ("https://",) if req.type == "https" else ("https://", "http://")
        if not newurl.lower().startswith(allowed):
            raise FetchError(f"{req.full_url}: redirects to {newurl}, which is not safe")
        self.told = f"redirects to {newurl}, "
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_address(origin: str) -> bool:
    """Return whether a text is a web address rather than a file or folder."""
    return origin.startswith(("https://", "http://"))


def _told(error: Exception) -> str:
    """Return what was wrong with a connection, for people."""
    if isinstance(error, http.client.RemoteDisconnected):
        return "the server closed the connection"
    if isinstance(error, http.client.HTTPException):
        return "what came is not HTTP, or ends too soon"
    return getattr(error, "strerror", None) or str(error)


def _no_connection(origin: str, redirected: str, reason: Any) -> Exception:
    if isinstance(reason, ssl.SSLCertVerificationError):
        problem = f"the server's certificate is not trusted: {reason.verify_message}"
        return FetchError(
            f"{origin}: {redirected}{problem}",
            hint="set SSL_CERT_FILE=FILE to the certificates to trust",
        )
    problem = f"{redirected}no connection: {getattr(reason, 'strerror', None) or reason}"
    is_passing = isinstance(reason, ConnectionError | TimeoutError)
    return _Broken(problem) if is_passing else FetchError(f"{origin}: {problem}")


def _check(part: Path, name: str, origin: str, sha256: str | None) -> None:
    """Raise DataError, and remove the part, unless it is what it should be."""
    wrong = ""
    if part.stat().st_size == 0:
        raise FetchError(f"{origin}: is empty")
    if sha256 is not None:
        if (found := sha256_of(part)) != sha256:
            wrong = f"its sha256 is {found}, but must be {sha256}"
    elif name.endswith(".gz"):
        try:
            with gzip.open(part) as stream:
                _copy(stream, lambda _: None, most_unpacked(part))
        except (OSError, EOFError, zlib.error) as error:
            wrong = f"not a whole .gz file: {error}"
    if wrong:
        part.unlink()
        _version_file(part).unlink(missing_ok=True)
        raise FetchError(f"{origin}: {wrong}")


def _put_in_place(part: Path, path: Path) -> None:
    fsync(part)
    part.replace(path)
    _version_file(part).unlink(missing_ok=True)
    fsync(path.parent)


def _names_bytes(version: str) -> bool:
    """Return whether an ETag is of these very bytes (a strong one, RFC 9110, section 8.8.3)."""
    return version != "" and not version.startswith("W/")


def _version_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")
