"""`nmt translate` of documents: which files are some, what is told, and what is written."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.errors import ConfigError
from nmt_cli.stores import written
from nmt_cli.terminal import console
from nmt_cli.terminal.lines import destinations
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

    ConfigError: only some of the files that match a pattern are documents.
    """
    if file is None and text and len(text) == 1 and len(text[0]) < 4096 and Path(text[0]).is_file():
        file = text[0]
    if file is None:  # a sentence waits for nothing that documents need
        return None
    from nmt_cli.documents.opening import LINES, kind_of
    from nmt_cli.parts import input_files

    if Path(file).is_dir():
        return file
    are_lines = {kind_of(one, kind) == LINES for one in input_files(file)}
    if len(are_lines) > 1:
        raise ConfigError(f"{file}: some are documents, some are not", hint="--from-format KIND")
    return None if True in are_lines else file


def check_unused(options: Mapping[str, object], on: str) -> None:
    """Raise ConfigError if one of some options is given, which has no effect there."""
    if given := [name for name, value in options.items() if value]:
        raise ConfigError(f"{', '.join(given)}: no effect {on}")


def translate(model: "Model", options: "SearchOptions", wanted: Wanted) -> None:
    """Translate documents.

    Raises:
        ConfigError: There is no output, or see `translate_document`, also for other errors.
    """
    from nmt_cli.documents.opening import output_name

    if wanted.output in (None, "-"):
        raise ConfigError(f"{wanted.file} is a document: name the file to write with --output")
    files = destinations(wanted.file, wanted.output)
    if wanted.page is not None and len(files) > 1:
        raise ConfigError(f"--html shows one document; {wanted.file} names {len(files)}")
    for file, output in files:
        name = str(output) if output == wanted.output else output_name(str(output))
        translate_one(model, options, wanted, Path(str(file)), name)


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
    console.note(f"wrote {output}: {outcome.num_texts:,} texts")
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
