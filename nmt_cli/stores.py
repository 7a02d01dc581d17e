"""Object stores: what a URL such as s3://bucket/texts names, as files on the disk, and back.

The rest of nmt sees files alone. What is read is copied into the user's cache, once for each state
of the store. What is written is a file first; it is put into the store when it is whole. There an
object appears whole or not at all, so the one that says that others are there is put last. A folder
(file://) does the same: what is written gets its name at the end.

fsspec does the rest, with the package for the kind of store, which also finds the credentials. It
is imported when there is a URL.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

from nmt_cli.errors import ConfigError, DataError, NmtError
from nmt_cli.files import atomic_dir, os_errors_as
from nmt_cli.resources import user_cache_dir

OBJECTS, INDEX = "objects", "nmt-run.json"  # of a run: its files by their hashes, and their names
_WRITING = ".writing-"  # in the name of what is not whole yet
_MODEL, _MANIFEST = "model/", "bundle.json"  # of a run, what a command uses
_PAUSES = (1.0, 4.0)  # seconds before what failed is tried again
_STATES = ("ETag", "etag", "LastModified", "updated", "mtime", "created")  # what stores tell
_SECRET = re.compile("://[^/@:]*:[^/@]*@")  # a name and a password before the host
_ACCESS = "its library finds credentials in the environment and in files of its own"
_HINT = "pip install s3fs for s3://, gcsfs for gs://, adlfs for az://"

_T = TypeVar("_T")


def is_url(name: str | None) -> bool:
    """Return whether a name is a URL, not that of a file."""
    return name is not None and "://" in name


class Found(NamedTuple):
    """An object in a store."""

    path: str  # as fsspec calls it
    size: int  # bytes
    state: str  # another one when the object was replaced


class Store:
    """A folder in an object store.

    Whatever fails is tried again a few times, then raised as `kind`, in a line that names the URL.

    Args:
        url: Its URL.
        kind: What cannot be done without it.

    Raises:
        ConfigError: A package is missing, or it is no URL, or one with a password in it.
    """

    def __init__(self, url: str, kind: type[NmtError]) -> None:
        if _SECRET.search(url):
            raise ConfigError("a URL of a store must not have credentials in it", hint=_ACCESS)
        if not is_url(url):
            raise ConfigError(f"{url}: give a URL, such as s3://BUCKET/FOLDER or file:///FOLDER")
        self.url, self._kind = url.rstrip("/"), kind
        try:
            import fsspec
        except ImportError:
            hint = "pip install 'nmt-cli[stores]'"
            raise ConfigError(f"{url}: needs fsspec, which is not installed", hint=hint) from None
        self._is_folder = url.startswith("file:")
        options = {"auto_mkdir": True} if self._is_folder else {}
        try:
            self._fs, self._path = fsspec.url_to_fs(self.url, **options)
        except (ImportError, ValueError) as error:
            raise ConfigError(f"{url}: {error}", hint=_HINT) from error
        self.local: str = self._path.strip("/")  # its name among copies

    @classmethod
    def of_run(cls, url: str | None, name: str, kind: type[NmtError]) -> "Store | None":
        """Return where a run of that name is kept below a URL; None where there is no URL."""
        return None if url is None else cls(f"{url.rstrip('/')}/{name}", kind)

    def list(self, pattern: str = "") -> dict[str, Found]:
        """Return the objects that match a pattern, else all, by their names in the folder.

        If the URL is that of an object, its name is "".
        """

        def look() -> dict[str, Found]:
            self._fs.invalidate_cache()
            if pattern:
                infos = self._fs.glob(self._at(pattern), detail=True)
            else:
                infos = self._fs.find(self._path, detail=True)
            found = {}
            for path, info in infos.items():
                info = info or self._fs.info(path)
                name = path.removeprefix(self._path).strip("/")
                if info["type"] == "file" and (name or len(infos) == 1):
                    state = str([info.get(key) for key in _STATES])
                    found[name] = Found(path, info["size"], state)
            return found

        return self._checked(self._tried(look))

    def get(self, wanted: Mapping[Path, Found]) -> None:
        """Copy objects to new files."""
        for path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)

        def receive() -> None:
            if left := missing():
                self._fs.get([wanted[path].path for path in left], list(map(str, left)))
            if left := missing():
                raise OSError(f"{wanted[left[0]].path} changed while it was read")

        def missing() -> list[Path]:
            return [
                p for p, one in wanted.items() if not p.is_file() or p.stat().st_size != one.size
            ]

        self._tried(receive)

    def put(self, files: Mapping[str, Path]) -> None:
        """Copy files to names in the folder, in this order, and see that they have arrived."""

        def send(name: str, file: Path) -> None:
            with self._whole(name) as path:
                self._fs.put_file(str(file), path)
            self._fs.invalidate_cache()
            if self._fs.info(self._at(name))["size"] != file.stat().st_size:
                raise OSError(f"{name} has not arrived whole")

        for name, file in files.items():
            self._tried(functools.partial(send, name, file))

    def read(self, name: str) -> bytes | None:
        """Return the content of a small object; None if there is none."""

        def look() -> bytes | None:
            with contextlib.suppress(FileNotFoundError):
                return bytes(self._fs.cat_file(self._at(name)))
            return None

        return self._tried(look)

    def write(self, name: str, content: bytes) -> None:
        """Put a small object."""

        def put() -> None:
            with self._whole(name) as path:
                self._fs.pipe_file(path, content)

        self._tried(put)

    def create(self, name: str, content: bytes) -> bool:
        """Put a small object unless there is one; return whether there was none.

        Amazon's S3 promises that only one of several machines gets True. fsspec's package for
        another store may look first, then put.
        """

        def put() -> bool:
            try:
                self._fs.pipe_file(self._at(name), content, mode="create")
            except Exception:
                there = self.read(name)
                if there is None:
                    raise
                return there == content  # else the answer was lost
            return True

        return self._tried(put)

    def delete(self, *names: str) -> None:
        """Delete objects, or folders with all that is in them; they may be gone."""

        def remove(name: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                self._fs.rm(self._at(name), recursive=True)

        for name in names:
            self._tried(functools.partial(remove, name))

    def index(self) -> dict[str, Any]:
        """Return what the index of a run says; nothing if there is none."""
        if (content := self.read(INDEX)) is None:
            return {}
        try:
            index: dict[str, Any] = json.loads(content)
            return {key: index[key] for key in ("step", "settings", "files")}
        except (ValueError, LookupError, TypeError) as error:
            raise self._kind(f"{self.url}/{INDEX}: is damaged") from error

    def indexed(self, index: Mapping[str, Any]) -> dict[str, Found]:
        """Return the files of a run that its index lists, by their names in the run folder."""
        found = {
            name: Found(self._at(f"{OBJECTS}/{digest}"), size, digest)
            for name, (digest, size) in index["files"].items()
        }
        return self._checked(found)

    def _checked(self, found: dict[str, Found]) -> dict[str, Found]:
        """Return objects if their names stay within a folder for copies."""
        if any(".." in (path := PurePosixPath(self.local, n)).parts or path.root for n in found):
            raise self._kind(f"{self.url}: has names that lead out of it")
        return found

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}" if name else str(self._path)

    @contextlib.contextmanager
    def _whole(self, name: str) -> Iterator[str]:
        """Give the path to write for a name; in a folder another one, renamed at the end."""
        path = self._at(name)
        if not self._is_folder:
            yield path
            return
        above, _, last = path.rpartition("/")
        beside = Path(above, f".{last}{_WRITING}{uuid.uuid4().hex}")
        try:
            yield str(beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def _tried(self, call: Callable[[], _T]) -> _T:
        for pause in (*_PAUSES, None):
            try:
                return call()
            except FileNotFoundError as error:
                hint = "look for a mistake in the URL, or make the bucket"
                problem = f"{self.url}: there is no such object or bucket"
                raise self._kind(problem, hint=hint) from error
            except NmtError:  # of a call within this one, which has tried
                raise
            except PermissionError as error:
                raise self._kind(f"{self.url}: access is denied", hint=_ACCESS) from error
            except Exception as error:  # each library has errors of its own
                reason = (str(error) or type(error).__name__).splitlines()[0]
                if pause is None:
                    hint = f"check the network, too; {_ACCESS}"
                    raise self._kind(f"{self.url}: failed: {reason}", hint=hint) from error
            time.sleep(pause)
        raise AssertionError


def fetched(url: str, kind: type[NmtError] = DataError, *, is_model: bool = False) -> Path:
    """Return a copy of what a URL names: an object, a folder, or the objects of a pattern.

    The copy is made once, and again when the store has something else. Of a run, it is the model.
    Nothing is copied if it shall be a model, and is a folder without one.

    Raises:
        NmtError: Of `kind`: there is no such thing, the store cannot be read, or the disk is full.
        ConfigError: See `Store`.
    """
    parts = url.split("/")
    first = next((n for n, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    store, pattern = Store("/".join(parts[:first]), kind), "/".join(parts[first:])
    found = {name: one for name, one in store.list(pattern).items() if _WRITING not in name}
    if INDEX in found:
        found = store.indexed(store.index())
    if _MODEL + _MANIFEST in found:
        found = {name: one for name, one in found.items() if name.startswith(_MODEL)}
    if not found:
        raise kind(f"{url}: there is no such object")
    if is_model and not {"", _MANIFEST, _MODEL + _MANIFEST} & found.keys():
        hint = "name a model folder or that of a run"
        raise kind(f"{url}: contains no model ({_MANIFEST} is missing)", hint=hint)
    key = hashlib.sha256(json.dumps([store.url, sorted(found.items())]).encode()).hexdigest()
    folder = user_cache_dir() / "stores" / key[:16]
    with os_errors_as(kind, f"{folder}: cannot be written"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # others that want it wait
            if not folder.exists():
                with atomic_dir(folder) as temporary:
                    store.get({temporary / store.local / n: one for n, one in found.items()})
    return folder / store.local / pattern


@contextlib.contextmanager
def written(output: str | None, parts: str = "") -> Iterator[str | None]:
    """Give the name of a file to write; in place of a URL one on the disk, which is put there.

    Args:
        output: A file, a URL, or neither.
        parts: A pattern of the parts of the output that shall be there if the store has them.

    Raises:
        DataError: The store cannot be read or written. What was made then stays on the disk.
    """
    if output is None or not is_url(output):
        yield output
        return
    above, _, name = output.rpartition("/")
    store = Store(above, DataError)
    there = store.list(f"{name}.parts/{parts}") if parts else store.list(name)
    folder = Path(tempfile.mkdtemp(prefix="nmt-"))
    try:
        if parts:
            store.get({folder / part: found for part, found in there.items()})
        before = _states(folder)
        yield str(folder / name)
    except BaseException as error:
        shutil.rmtree(folder)
        if isinstance(error, NmtError):
            error.args = (str(error).replace(str(folder), above),)
        raise
    made = [path for path, state in _states(folder).items() if before.get(path) != state]
    made.sort(key=lambda path: path.suffix == ".json")  # the record of a part is put last
    try:
        store.put({str(file.relative_to(folder)): file for file in made})
    except NmtError as error:
        error.hint = f"what was to be put there is in {folder}"
        raise
    shutil.rmtree(folder)


def _states(folder: Path) -> dict[Path, tuple[int, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}
