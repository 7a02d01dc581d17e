"""`nmt translate` of documents: which files are some, what is told, and what is written."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal.lines import destinations, tell_terms

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.documents.translating import Outcome
    from nmt_cli.lines.work import Translating
    from nmt_cli.search.glossary import Glossary
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


def file_of(text: Sequence[str] | None, file: str | None, kind: str | None) -> str | None:
    """Return the document that a command names, as `--input` or as its only argument.

    ConfigError: only some of the files that match a pattern are documents.
    """
    if file is None and text and len(text) == 1 and len(text[0]) < 4096 and Path(text[0]).is_file():
        file = text[0]
    if file is None:  # a sentence waits for nothing that documents need
        return None
    from nmt_cli.documents.opening import LINES, kind_of
    from nmt_cli.parts import input_files

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
    from nmt_cli.documents.translating import translate_document

    if wanted.output in (None, "-"):
        raise ConfigError(f"{wanted.file} is a document: name the file to write with --output")
    for file, output in destinations(wanted.file, wanted.output):
        path = Path(str(file))
        output = output if output == wanted.output else output_name(str(output))
        with console.counting() as count:
            outcome = translate_document(
                path,
                str(output),
                model,
                options,
                kind=wanted.kind,
                protect=wanted.protect,
                with_translated=wanted.with_translated,
                glossary=wanted.glossary,
                on_done=functools.partial(count, path.name),
            )
        _tell(path, outcome)
        console.note(f"wrote {output}: {outcome.num_texts:,} texts")
        if wanted.glossary is not None:
            from nmt_cli.search.glossary import Tally

            tally = Tally()
            tally.add(outcome.terms)
            tell_terms(tally)


def protecting(work: "Translating", protect: Sequence[str]) -> "Translating":
    """Return what translates lines as `work` does, but keeps the words of some patterns.

    ConfigError: one is no regular expression.
    """
    from nmt_cli.documents.protected import ProtectedTranslating, protector

    protector(protect)  # or the error, before a line is read
    return ProtectedTranslating(
        model=work.model, protect=protect, tally=work.tally, **work.settings()
    )


def _tell(path: Path, outcome: "Outcome") -> None:
    """Tell what was put at a place that no word of the output gave."""
    for number, what in outcome.guessed[:_SHOWN]:
        name = " ".join(what.split())
        name = name if name and name.isprintable() else "markup"
        console.warn(
            f"{path}, text {number}: check {name}: no word of the translation belongs to it"
        )
    if (more := len(outcome.guessed) - _SHOWN) > 0:
        console.warn(f"{path}: and {more:,} more of these")
