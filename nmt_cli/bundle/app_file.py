"""A model as a program in one file: with `nmt` and the packages that using a model needs.

The file is a zipapp (PEP 441) made by shiv: Python of the same minor version runs it on the same
platform, with nothing installed. Its first start unpacks it below `~/.shiv`.
"""

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePath

import nmt_cli
from nmt_cli.bundle.folder import Bundle
from nmt_cli.bundle.sharing import share
from nmt_cli.errors import ConfigError
from nmt_cli.files import replace_file

MODEL, MADE_FOR = "nmt_model", "nmt_made_for.txt"  # beside the packages
_OURS = "nmt-cli"
_ENTRY_POINT = "nmt_cli.app:main"
_LEFT_OUT = {
    *("tensorflow", "keras", "ml-dtypes", "matplotlib"),  # to train and to draw
    *("sacrebleu", "shiv"),  # to evaluate, and to write what this module writes
    *("setuptools", "huggingface-hub"),  # others want them for what is not done here
}
_NOT_TO_RUN = {".pyi", ".pyx", ".pxd", ".h", ".c", ".a", ".pth", ".pyc"}
_NOT_TO_RUN_FOLDERS = {"tests", "__pycache__", "bundled"}


def write_app(bundle: Bundle, target: Path, number_format: str) -> None:
    """Write a program that uses a model, in one of its number formats.

    Raises:
        ConfigError: The file's name does not end in .pyz.
    """
    if target.suffix != ".pyz":
        raise ConfigError(f"--app {target}: the name must end in .pyz")
    place = target.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".app-", dir=place.parent) as beside:
        packages, written = Path(beside, "packages"), Path(beside, target.name)
        _copy_packages(packages)
        (packages / MADE_FOR).write_text(f"{this_machine()}\n", encoding="utf-8")
        share(bundle, packages / MODEL, number_format, with_weights=False)
        python = f"/usr/bin/env python{sys.version_info[0]}.{sys.version_info[1]}"
        command = [sys.executable, "-m", "shiv", "--site-packages", str(packages)]
        command += ["--output-file", str(written), "--entry-point", _ENTRY_POINT]
        command += ["--python", python, "--compile-pyc"]
        subprocess.run(command, check=True)  # noqa: S603 - our own arguments
        replace_file(place, written)


def this_machine() -> str:
    """Return what packages depend on: Python, system and processor."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"Python {version}, {platform.system()} on {platform.machine()}"


def _copy_packages(folder: Path) -> None:
    """Copy this package and those that it needs, as they are installed here."""
    ours = Path(nmt_cli.__file__).parent
    unused = shutil.ignore_patterns(*_NOT_TO_RUN_FOLDERS)
    shutil.copytree(ours, folder / ours.name, ignore=unused)
    for found in _needed(_OURS, {}):
        for file in found.files or ():
            if ".." not in file.parts and _is_run(file) and not (folder / file).exists():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(found.locate_file(file)), folder / file)


def _needed(name: str, known: dict[str, None]) -> Iterator[metadata.Distribution]:
    """Yield an installed distribution and, once each, those that it requires."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in known or key in _LEFT_OUT:
        return
    known[key] = None
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return  # for another platform or Python
    yield found
    for requirement in found.requires or ():
        wanted, _, marker = requirement.partition(";")
        if "extra" not in marker and (match := re.match(r"[\w.-]+", wanted)):
            yield from _needed(match[0], known)


def _is_run(file: PurePath) -> bool:
    return file.suffix not in _NOT_TO_RUN and not _NOT_TO_RUN_FOLDERS & set(file.parts)
