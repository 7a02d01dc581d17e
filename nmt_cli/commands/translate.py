"""`nmt translate`: arguments, a file or stdin, or an interactive prompt on a terminal."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from nmt_cli.commands.loading import (
    BeamOption,
    EngineOption,
    FormatOption,
    JsonOption,
    LengthPenaltyOption,
    MaxLengthOption,
    ModelOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.decoding.options import SearchOptions
    from nmt_cli.decoding.translator import Translation, Translator


def translate(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Sentences to translate.")
    ] = None,
    model: ModelOption = None,
    input_file: Annotated[
        str | None, typer.Option("--input", "-i", metavar="FILE", help="Read lines; - is stdin.")
    ] = None,
    output_file: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write lines here.")
    ] = None,
    beam: BeamOption = None,
    n_best: Annotated[
        int | None, typer.Option("--n-best", metavar="N", help="Print the N best with scores.")
    ] = None,
    length_penalty: LengthPenaltyOption = None,
    max_length: MaxLengthOption = None,
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Translate sentences, a file, standard input, or what you type at a prompt.

    Every input line gives one output line, in order.

    Example: nmt translate "The old man reads a book." --beam 5 --n-best 3
    """
    from nmt_cli import console
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import load_model, search_options
    from nmt_cli.decoding.translator import Translator
    from nmt_cli.errors import ConfigError

    if text and input_file:
        raise ConfigError("give either sentences or --input, not both")
    bundle = find_bundle(model, ("translation",))
    beam = max(n_best, bundle.manifest.decode["beam_size"]) if n_best and beam is None else beam
    options = search_options(
        bundle, beam_size=beam, n_best=n_best, length_penalty=length_penalty, max_length=max_length
    )
    lines = _lines(text, input_file)
    translator = Translator(
        *load_model(bundle, engine=engine, number_format=number_format, threads=threads),
        on_warning=console.warn,
    )
    if lines is None:
        _prompt(translator, options, as_json=json, is_n_best=n_best is not None)
        return
    with _output(output_file) as stream:
        for translation in translator.translate(lines, options):
            _write(stream, translation, as_json=json, is_n_best=n_best is not None)


def _lines(text: list[str] | None, input_file: str | None) -> Iterable[str] | None:
    """Return the input lines, or None for an interactive prompt."""
    from nmt_cli.errors import ConfigError
    from nmt_cli.files import read_lines

    if text:
        for argument in text:
            try:
                argument.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ConfigError("TEXT is not valid UTF-8") from error
        return [
            " ".join(argument.splitlines()) if "\n" in argument else argument for argument in text
        ]
    if input_file is None and sys.stdin.isatty():
        return None
    return read_lines(input_file or "-")


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[IO[str]]:
    from nmt_cli.errors import DataError
    from nmt_cli.files import atomic_text, os_errors_as

    if path is None or path == "-":
        yield sys.stdout
        return
    with os_errors_as(DataError, f"{path}: cannot be written"), atomic_text(Path(path)) as stream:
        yield stream


def _write(stream: IO[str], translation: "Translation", *, as_json: bool, is_n_best: bool) -> None:
    import json

    best = translation.hypotheses[0]
    if as_json:
        found = [vars(hypothesis) for hypothesis in translation.hypotheses]
        record = {"source": translation.source, "hypotheses": found}
        lines = [json.dumps(record, ensure_ascii=False)]
    elif is_n_best:
        lines = [f"{i}\t{h.score:.4f}\t{h.text}" for i, h in enumerate(translation.hypotheses, 1)]
    else:
        lines = [best.text]
    stream.write("".join(line + "\n" for line in lines))
    if stream is sys.stdout:
        stream.flush()


def _prompt(
    translator: "Translator", options: "SearchOptions", *, as_json: bool, is_n_best: bool
) -> None:
    """Translate what is typed, line by line, until Ctrl-D."""
    from prompt_toolkit import PromptSession

    from nmt_cli import console

    console.note("Type a sentence; Ctrl-D leaves.")
    prompt: PromptSession[str] = PromptSession("> ")
    while True:
        try:
            line = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        for translation in translator.translate([line], options):
            _write(sys.stdout, translation, as_json=as_json, is_n_best=is_n_best)
