"""A model as one file, with only what is needed to use it; and such a file as a model folder again.

The file is a .zip, a .tar.gz or a .tar.zst, and is known by its first bytes, whatever its name. It
may come from anybody, so unpacking takes plain files alone, with names within the folder, and no
more bytes than were announced or than a model can hold. What comes out is checked by its hashes
before it is kept.
"""

import errno
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
from typing import IO, Any

from backports import zstd

from nmt_cli.bundle.folder import HEAD, WEIGHTS, Bundle, describe_file, open_bundle
from nmt_cli.bundle.manifest import CTRANSLATE2, MANIFEST, as_text
from nmt_cli.bundle.model_card import model_card
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.files import atomic_dir, most_unpacked, os_errors_as, replace_file, sha256_of
from nmt_cli.resources import user_cache_dir

ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar.zst")
# Other archives, for which a folder of such a name would be taken.
_NOT_WRITTEN = (
    *(".tar", ".gz", ".zst", ".xz", ".bz2", ".lz", ".lz4", ".lzma", ".br", ".7z", ".rar"),
    *(".txz", ".tbz", ".tbz2", ".tlz", ".tzst", ".cab", ".jar", ".whl", ".pyz"),
)
_ZIP, _GZIP, _ZSTD = b"PK\3\4", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # how they begin
_MOST_FILES = 1000
_BLOCK = 1 << 20
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(struct.error, EOFError, ValueError, LookupError, OverflowError),
)


class _Unfit(ValueError):
    """What is in an archive and cannot be in a shared model."""


def share(bundle: Bundle, target: Path, number_format: str, *, with_weights: bool) -> Bundle:
    """Write what is needed to use a model, as a file or a folder; return what is in it.

    The target ends in .zip, .tar.gz or .tar.zst; else it is a folder, which must not exist. The
    weights, if they go along, are for the TensorFlow engine, for training on and for other forms.
    """
    ending = next((e for e in ENDINGS if target.name.lower().endswith(e)), None)
    if ending is None and (target.exists() or target.suffix.lower() in _NOT_WRITTEN):
        problem = "exists" if target.exists() else "such a file cannot be written"
        hint = f"name a new folder, or a file that ends in {', '.join(ENDINGS)}"
        raise ConfigError(f"--share {target}: {problem}", hint=hint)
    if with_weights:
        bundle.check_has_weights()
    form = f"{CTRANSLATE2}/{number_format}/"
    bundle.check_files(lambda name: name.startswith(form) or (with_weights and name == WEIGHTS))
    if ending is None:
        with atomic_dir(target) as folder:
            _fill(bundle, folder, number_format, with_weights=with_weights, name=target.name)
        return open_bundle(target)
    place = target.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sharing-", dir=place.parent) as beside:
        folder = Path(beside, "model")
        folder.mkdir()
        _fill(bundle, folder, number_format, with_weights=with_weights, name=target.name)
        _pack(folder, packed := Path(beside, f"packed{ending}"))
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
    opened: Any = zstd.open if target.suffix == ".zst" else gzip.open
    with opened(target, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, ".")


def unpacked(file: Path) -> Bundle:
    """Return the model in a shared file, unpacked into the user's cache once."""
    with os_errors_as(ModelFileError, f"{file}: cannot be read"):
        if not is_archive(file):
            raise ModelFileError(
                f"{file}: is a file, but not a shared model",
                hint="name a run folder such as runs/quickstart, a model folder, or a file that "
                "nmt export --share wrote",
            )
        digest = sha256_of(file)
    folder = user_cache_dir() / "models" / digest[:32]
    if not _is_whole(folder):
        with _unpacking_told(file), atomic_dir(folder) as temporary:
            _unpack(file, temporary)
            _check(temporary)
    return open_bundle(folder)


def is_archive(file: Path) -> bool:
    """Return whether a file begins as one that can be unpacked."""
    return _beginning(file).startswith((_ZIP, _GZIP, _ZSTD))


def _beginning(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(4)


def _is_whole(folder: Path) -> bool:
    """Return whether a folder of the cache is as it was unpacked: anybody may clear a cache."""
    try:
        bundle = open_bundle(folder)
        bundle.check_files(lambda name: True)
        bundle.check_sum(WEIGHTS)
    except ModelFileError:
        return False
    return True


def _check(folder: Path) -> None:
    """Raise _Unfit unless a folder is a model, whole, as its manifest has it."""
    try:
        open_bundle(folder).verify()
    except ModelFileError as error:
        raise _Unfit(str(error).replace(f"{folder.resolve()}/", "")) from error


def unpack(file: Path, folder: Path) -> None:
    """Unpack an archive into an empty folder; ModelFileError if that cannot be."""
    with _unpacking_told(file):
        _unpack(file, folder)


@contextmanager
def _unpacking_told(file: Path) -> Iterator[None]:
    try:
        yield
    except _Unfit as error:
        raise ModelFileError(f"{file}: not a shared model: {error}") from error
    except RuntimeError as error:  # zipfile's
        problem = "is encrypted, or packed by a method that nmt does not read"
        raise ModelFileError(f"{file}: {problem}") from error
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            where = f" ({error.filename})" if error.filename else ""
            raise ModelFileError(f"{file}: cannot be unpacked{where}: {error.strerror}") from error
        raise ModelFileError(
            f"{file}: damaged, or not a shared model", hint="copy or download it again"
        ) from error


def _unpack(file: Path, folder: Path) -> None:
    total, most = 0, most_unpacked(file)
    for number, (name, size, opened) in enumerate(_members(file)):
        path, total = PurePosixPath(name), total + size
        if path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
            raise _Unfit(f"it holds {name!r}")
        if number >= _MOST_FILES or total > most:
            raise _Unfit("it contains too much")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened() as source, target.open("xb") as stream:
            shutil.copyfileobj(source, stream)  # both kinds give no more than was announced


def _members(file: Path) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Yield each plain file's name and size, and what opens it."""
    beginning = _beginning(file)
    if beginning == _ZIP:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield entry.filename, entry.file_size, partial(archive.open, entry)
        return
    if not beginning.startswith((_GZIP, _ZSTD)):
        raise _Unfit("it is no .zip, .tar.gz or .tar.zst")
    opened: Any = zstd.open if beginning == _ZSTD else gzip.open
    with opened(file, "rb") as stream:
        limited: Any = _Limited(stream, most_unpacked(file))
        with tarfile.open(fileobj=limited, mode="r|", bufsize=_BLOCK) as tar:
            for info in tar:
                if not (info.isfile() or info.isdir()):
                    raise _Unfit(f"{info.name!r} is not a regular file")
                if info.isfile():
                    yield info.name, info.size, partial(tar.extractfile, info)


class _Limited:
    """Reads up to a limit: what tarfile reads by itself, such as a header, may be a bomb, too."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._left = stream, most

    def read(self, size: int) -> bytes:
        """Return the next bytes; _Unfit when they are too many."""
        block = self._stream.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise _Unfit("it contains too much")
        return block
