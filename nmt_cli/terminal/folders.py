"""`nmt translate` of a folder: the documents in it, and in the folders in it, to another folder."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError, DataError, NmtError, number_of
from nmt_cli.stores import is_url
from nmt_cli.terminal import console
from nmt_cli.terminal.documents import Wanted, check_unused, translate, translate_one
from nmt_cli.terminal.lines import check_apart

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.search.options import SearchOptions

_TEXT = ".txt"  # its lines are the texts
_SHOWN = 5  # files that are left out


def translate_files(
    model: "Model", options: "SearchOptions", wanted: Wanted, of_lines: Mapping[str, object]
) -> None:
    """Translate a document, several of them, or those of a folder.

    ConfigError: one of the options that are for lines is given. For others see what they come to.
    """
    is_folder = Path(wanted.file).is_dir()
    check_unused(of_lines, f"on {wanted.file}, which is a {'folder' if is_folder else 'document'}")
    (translate_folder if is_folder else translate)(model, options, wanted)


def translate_folder(model: "Model", options: "SearchOptions", wanted: Wanted) -> None:
    """Translate the documents of a folder; one that fails does not keep the others.

    A translation that is there, and newer than all that it is made of, stays.

    Raises:
        ConfigError: There is no other folder to write to, two documents would have one name there,
            or one page for all is wanted.
        DataError: There is no document, or some could not be translated.
    """
    from nmt_cli.bundle.manifest import MANIFEST
    from nmt_cli.documents.opening import kind_of, output_name

    source, output = Path(wanted.file), Path(wanted.output or "-")
    if is_url(wanted.output):
        raise ConfigError(f"{source} is a folder: its translations are written to a folder, too")
    if str(output) == "-" or output.is_file() or output.resolve() == source.resolve():
        raise ConfigError(f"{source} is a folder: name another folder to write with --output")
    if wanted.page is not None:
        raise ConfigError(f"--html shows one document; {source} is a folder")
    names = _documents(source, output, wanted.kind)
    made_names = [output_name(str(name)) for name in names]
    check_apart([str(source / name) for name in names], made_names, str(output))
    made_with = [
        *map(Path, filter(None, wanted.made_with)),
        *(one.path / MANIFEST for one in model.bundle.all),
    ]
    written = failed = 0
    for number, (name, made_name) in enumerate(zip(names, made_names, strict=True), start=1):
        path, made = source / name, output / made_name
        if _is_newest(made, [path, *made_with]):
            continue
        one = wanted._replace(kind=kind_of(name, wanted.kind))
        label = f"{name} ({number:,} of {len(names):,})"
        try:
            translate_one(model, options, one, path, str(made), label)
            written += 1
        except NmtError as error:
            console.error(str(error), error.hint)
            failed += 1
    if stay := len(names) - written - failed:
        told = f"{number_of(stay, 'document')} not translated again"
        console.note(f"{told}: newer than the original and what made it")
    if failed:
        raise DataError(f"{failed:,} of {len(names):,} documents could not be translated")


def _documents(source: Path, output: Path, kind: str | None) -> list[Path]:
    """Return the documents of a folder, by their paths in it; tell what else is there.

    Hidden files, and the output in the folder, do not count. DataError: there is none.
    """
    from nmt_cli.documents.opening import LINES, kind_of

    made = output.resolve()
    is_inside = made.is_relative_to(source.resolve())
    found, others = list[Path](), list[Path]()
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        is_hidden = any(part.startswith(".") for part in name.parts)
        is_made = is_inside and path.resolve().is_relative_to(made)
        if is_hidden or is_made or not path.is_file():
            continue
        is_known = kind or kind_of(name) != LINES or name.suffix.lower() == _TEXT
        (found if is_known else others).append(name)
    if others:
        shown = ", ".join(map(str, others[:_SHOWN]))
        more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        console.warn(f"{source}: left out, no documents: {shown}{more}")
    if not found:
        raise DataError(f"{source}: has no documents", hint="nmt help documents")
    return found


def _is_newest(made: Path, made_of: Iterable[Path]) -> bool:
    """Return whether a file is there, and newer than some others."""
    if not made.is_file():
        return False
    return made.stat().st_mtime >= max(one.stat().st_mtime for one in made_of)
