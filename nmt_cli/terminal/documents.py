"""`nmt translate` of documents: which files are some, what is told, and what is written."""

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.errors import ConfigError, DataError, number_of
from nmt_cli.stores import written
from nmt_cli.terminal import console
from nmt_cli.terminal.lines import FILE_NAME, destinations
from nmt_cli.terminal.summary import Summary

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.documents.translating import Outcome
    from nmt_cli.lines.work import Translating
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.search.memory import Memory
    from nmt_cli.search.options import SearchOptions

_SHOWN = 5  # of the places that were guessed


class Wanted(NamedTuple):
    """What a command asks for."""

    file: str  # or a pattern of names
    output: str | None
    kind: str | None  # None is what the name says
    protect: Sequence[str]  # regular expressions of words that stay as they are
    with_translated: bool
    glossary: "Glossary | None"
    memory: "Memory | None"
    page: str | None  # to review
    bilingual: bool
    made_with: Sequence[str | None]  # files of the glossary and the memory


def file_of(text: Sequence[str] | None, file: str | None, kind: str | None) -> str | None:
    """Return the document that a command names, or with `--input` the folder of some.

    Raises:
        ConfigError: Only some of the files that match a pattern are documents, or several files
            are named.
        DataError: There is no such document, or it is of a kind that is not read.
    """
    if file is None and text:
        file = _named(text)
    if file is None and kind is None:  # a sentence waits for nothing that documents need
        return None
    from nmt_cli.documents.opening import LINES, check_name, kind_of
    from nmt_cli.parts import input_files

    if file is None:
        if kind_of("", kind) != LINES:
            raise ConfigError(f"--from-format {kind}: name the file with --input")
        return None
    if Path(file).is_dir():
        return file
    if kind is None:
        check_name(Path(file))
    are_lines = {kind_of(one, kind) == LINES for one in input_files(file)}
    if len(are_lines) > 1:
        raise ConfigError(f"{file}: some are documents, some are not", hint="--from-format KIND")
    return None if True in are_lines else file


def _named(texts: Sequence[str]) -> str | None:
    """Return the file that texts name, or None: they are sentences."""
    if len(texts) == 1 and os.path.isfile(texts[0]):  # noqa: PTH113 - false for a long text
        return texts[0]
    if not (all(map(FILE_NAME.fullmatch, texts)) and all(map(_is_document, texts))):
        return None
    if len(texts) == 1:
        raise DataError(f"{texts[0]}: no such file")
    told = f"{', '.join(texts)}: name one document, or several by a pattern"
    raise ConfigError(told, hint=f"-i '*{Path(texts[0]).suffix}' -o FOLDER/")


def _is_document(name: str) -> bool:
    """Return whether a name is that of a document, also of a kind that is not read."""
    from nmt_cli.documents.opening import LINES, check_name, kind_of

    try:
        check_name(Path(name))
    except DataError:
        return True
    return kind_of(name) != LINES


def check_is_other(page: str, names: Iterable[str | None]) -> None:
    """Raise ConfigError if a page to review would be written over the input or the output."""
    if os.path.realpath(page) in [os.path.realpath(name) for name in names if name is not None]:
        raise ConfigError(f"--html {page}: would be written over what has this name already")


def check_unused(options: Mapping[str, object], on: str) -> None:
    """Raise ConfigError if one of some options is given, which has no effect there."""
    if given := [name for name, value in options.items() if value]:
        raise ConfigError(f"{', '.join(given)}: no effect {on}")


def translate(model: "Model", options: "SearchOptions", wanted: Wanted) -> None:
    """Translate documents.

    Raises:
        ConfigError: There is no output, or two have one name, or see `translate_document`, also for
            other errors.
    """
    from nmt_cli.documents.opening import output_name

    if wanted.output in (None, "-"):
        raise ConfigError(f"{wanted.file} is a document: name the file to write with --output")
    files = destinations(wanted.file, wanted.output, output_name)
    if wanted.page is not None and len(files) > 1:
        raise ConfigError(f"--html shows one document; {wanted.file} names {len(files)}")
    for file, output in files:
        translate_one(model, options, wanted, Path(str(file)), str(output))


def translate_one(
    model: "Model",
    options: "SearchOptions",
    wanted: Wanted,
    path: Path,
    output: str,
    label: str = "",
) -> None:
    """Translate a document; `wanted` says how, and `label` is what a progress line calls it.

    Raises what `translate_document` does.
    """
    from nmt_cli.documents.translating import translate_document

    summary = Summary(wanted.glossary, wanted.memory, wanted.page)
    with written(output) as here, console.counting() as count:
        outcome = translate_document(
            path,
            str(here),
            model,
            options,
            kind=wanted.kind,
            protect=wanted.protect,
            with_translated=wanted.with_translated,
            bilingual=wanted.bilingual,
            glossary=wanted.glossary,
            memory=wanted.memory,
            on_text=summary.add,
            on_done=functools.partial(count, label or path.name),
        )
    _tell(path, outcome)
    console.note(f"wrote {output}: {number_of(outcome.num_texts, 'text')}")
    summary.tell()
    summary.write_page(path.name, model, options)


def protecting(work: "Translating", protect: Sequence[str]) -> "Translating":
    """Return what translates lines as `work` does, but keeps the words of some patterns.

    ConfigError: one is no regular expression.
    """
    from nmt_cli.documents.protected import ProtectedTranslating, protector

    protector(protect)  # or the error, before a line is read
    return ProtectedTranslating(
        model=work.model, protect=protect, on_found=work.on_found, **work.settings()
    )


def _tell(path: Path, outcome: "Outcome") -> None:
    """Tell what was put at a place that no word of the output gave."""
    for number, name in outcome.guessed[:_SHOWN]:
        console.warn(
            f"{path}, text {number}: check {name}: no word of the translation belongs to it"
        )
    if (more := len(outcome.guessed) - _SHOWN) > 0:
        console.warn(f"{path}: and {more:,} more of these")
