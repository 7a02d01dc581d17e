"""A model as one file, with only what is needed to use it; and such a file as a model folder again.

The file is a .zip, a .tar.gz or a .tar.zst. It may come from anybody, so unpacking takes plain
files alone, with names within the folder, and no more bytes than were announced or than a model
can hold. What comes out is checked by its hashes before it is kept.
"""

import gzip
import lzma
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

from backports import zstd

from nmt_cli.bundle.folder import HEAD, WEIGHTS, Bundle, describe_file, open_bundle
from nmt_cli.bundle.manifest import CTRANSLATE2, MANIFEST, as_text
from nmt_cli.bundle.model_card import model_card
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.files import atomic_dir, most_unpacked, replace_file, sha256_of
from nmt_cli.resources import user_cache_dir

ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar.zst")
_MOST_FILES = 1000
_BLOCK = 1 << 20
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(struct.error, EOFError, ValueError, LookupError, OverflowError),
)
_UNREADABLE = (NotImplementedError, RuntimeError, OSError)  # another method, encrypted, disk full


def share(bundle: Bundle, target: Path, number_format: str, *, with_weights: bool) -> Bundle:
    """Write what is needed to use a model, as a file or a folder; return what is in it.

    The target ends in .zip, .tar.gz or .tar.zst; else it is a folder, which must not exist. The
    weights, if they go along, are for the TensorFlow engine, for training on and for other forms.
    """
    is_file = str(target).endswith(ENDINGS)
    if not is_file and (target.exists() or target.name.endswith((".gz", ".zst", ".xz", ".7z"))):
        problem = "exists" if target.exists() else "cannot be written"
        raise ConfigError(f"--share {target}: {problem}", hint="name a new folder, .zip or .tar.gz")
    if with_weights:
        bundle.check_has_weights()
    form = f"{CTRANSLATE2}/{number_format}/"
    bundle.check_files(lambda name: name.startswith(form) or (with_weights and name == WEIGHTS))
    if not is_file:
        with atomic_dir(target) as folder:
            _fill(bundle, folder, number_format, with_weights=with_weights, name=target.name)
        return open_bundle(target)
    place = target.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sharing-", dir=place.parent) as beside:
        folder = Path(beside, "model")
        folder.mkdir()
        _fill(bundle, folder, number_format, with_weights=with_weights, name=target.name)
        _pack(folder, packed := Path(beside, target.name))
        replace_file(place, packed)
    return unpacked(target)


def _fill(
    bundle: Bundle, folder: Path, number_format: str, *, with_weights: bool, name: str
) -> None:
    form = f"{CTRANSLATE2}/{number_format}/"
    manifest = bundle.manifest
    files = {
        file: known
        for file, known in manifest.files.items()
        if "/" not in file or file.startswith(form)
        if file not in (WEIGHTS, "README.md") or (with_weights and file == WEIGHTS)
    }
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle.path / file, folder / file)
    if manifest.facts.has_labels and not with_weights:
        from safetensors.numpy import save_file

        save_file(bundle.load_weights("head."), folder / HEAD)
        files[HEAD] = describe_file(folder / HEAD)
    facts = manifest.ctranslate2["formats"][number_format]
    shared = replace(
        manifest,
        files=files,
        ctranslate2={"auto": number_format, "formats": {number_format: facts}},
    )
    (folder / MANIFEST).write_text(as_text(shared), encoding="utf-8")
    (folder / "README.md").write_text(model_card(shared, name), encoding="utf-8")


def _pack(folder: Path, target: Path) -> None:
    if target.suffix == ".zip":
        shutil.make_archive(str(target.with_suffix("")), "zip", folder)
        return
    with _tar_stream(target, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, ".")


def _tar_stream(file: Path, mode: Literal["rb", "wb"]) -> Any:
    return zstd.open(file, mode) if file.suffix == ".zst" else gzip.open(file, mode)


def unpacked(file: Path) -> Bundle:
    """Return the model in a shared file, unpacked into the user's cache once."""
    try:
        digest = sha256_of(file)
    except OSError as error:
        raise ModelFileError(f"{file}: cannot be read: {error.strerror}") from error
    folder = user_cache_dir() / "models" / digest[:32]
    if not folder.exists():
        with _unpacking_told(file), atomic_dir(folder) as temporary:
            _unpack(file, temporary)
            _check(temporary)
    return open_bundle(folder)


def _check(folder: Path) -> None:
    """Raise ValueError unless a folder is a model, whole, as its manifest has it."""
    try:
        open_bundle(folder).verify()
    except ModelFileError as error:
        raise ValueError(str(error).replace(f"{folder.resolve()}/", "")) from error


def unpack(file: Path, folder: Path) -> None:
    """Unpack an archive into an empty folder; ModelFileError if that cannot be."""
    with _unpacking_told(file):
        _unpack(file, folder)


@contextmanager
def _unpacking_told(file: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise ModelFileError(f"{file}: not a shared model: {error}") from error
    except _UNREADABLE as error:
        raise ModelFileError(f"{file}: cannot be unpacked: {error}") from error


def _unpack(file: Path, folder: Path) -> None:
    total, most = 0, most_unpacked(file)
    for number, (name, size, opened) in enumerate(_members(file)):
        path, total = PurePosixPath(name), total + size
        if path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
            raise ValueError(f"it holds {name!r}")
        if number >= _MOST_FILES or total > most:
            raise ValueError("it contains too much")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened() as source, target.open("xb") as stream:
            shutil.copyfileobj(source, stream)  # both kinds give no more than was announced


def _members(file: Path) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Yield each plain file's name and size, and what opens it."""
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield entry.filename, entry.file_size, partial(archive.open, entry)
        return
    with _tar_stream(file, "rb") as stream:
        limited: Any = _Limited(stream, most_unpacked(file))
        with tarfile.open(fileobj=limited, mode="r|", bufsize=_BLOCK) as tar:
            for info in tar:
                if not (info.isfile() or info.isdir()):
                    raise ValueError(f"{info.name} is not a regular file")
                if info.isfile():
                    yield info.name, info.size, partial(tar.extractfile, info)


class _Limited:
    """Reads up to a limit: what tarfile reads by itself, such as a header, may be a bomb, too."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._left = stream, most

    def read(self, size: int) -> bytes:
        """Return the next bytes; ValueError when they are too many."""
        block = self._stream.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise ValueError("it contains too much")
        return block
