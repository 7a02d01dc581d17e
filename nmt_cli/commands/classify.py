"""`nmt classify`: labels for arguments, a file, standard input, or what is typed."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.commands.lines import EncodingOption, InputOption, OnErrorOption, OutputOption
from nmt_cli.commands.loading import (
    DeviceOption,
    FormatOption,
    JsonOption,
    ModelOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.decoding.labelling import Labelled
    from nmt_cli.text.labels import Labels


def classify(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to classify.")
    ] = None,
    model: ModelOption = None,
    input_file: InputOption = None,
    output_file: OutputOption = None,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", help="The N likeliest labels, with tabs.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Each label's probability after it, with a tab.")
    ] = False,
    attention: Annotated[
        str | None,
        typer.Option(
            "--attention", metavar="FILE", help="Draw all heads: .html, .png or .svg; one text."
        ),
    ] = None,
    on_error: OnErrorOption = "stop",
    encoding: EncodingOption = "utf-8",
    column: Annotated[
        str | None,
        typer.Option("--column", metavar="NAME", help="Of a .tsv or .csv: a heading, or a number."),
    ] = None,
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Give labels to texts, a file, standard input, or what you type.

    Every input line gives one output line, in order: its label, or its labels as they stand in the
    training text. A blank line stays blank. A model of sentence pairs reads two texts with a tab
    between them. --json has the probabilities of all labels, or of the --top likeliest.

    Example: nmt classify "I love this." --top 3 --proba --attention attention.html
    """
    from nmt_cli import console
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.lines import (
        check_attention,
        file_progress,
        input_windows,
        mend_of,
        output_stream,
    )
    from nmt_cli.commands.loading import load_labeller
    from nmt_cli.decoding.windows import full_windows
    from nmt_cli.errors import ConfigError

    mend = mend_of(on_error)
    if text and input_file:
        raise ConfigError("give either texts or --input, not both")
    if top is not None and top < 1:
        raise ConfigError(f"--top must be at least 1 (it is {top})")
    if attention is not None:
        check_attention(text, attention)
    bundle = find_bundle(model, ("classification",))
    labeller = load_labeller(bundle, number_format=number_format, threads=threads, device=device)
    if not text and input_file is None and sys.stdin.isatty():
        console.note("Type a text. Ctrl-D leaves.")
    windows: Iterable[list[str]]
    reads_one = bundle.manifest.classification.get("texts", 1) == 1
    if input_file is not None and _is_table(input_file) and (reads_one or column):
        windows = full_windows(_column(Path(input_file), column, encoding))
    else:
        windows = input_windows(text, input_file, mend, encoding)
    progress = file_progress("classifying", input_file, output_file)
    with output_stream(output_file) as stream, progress as advance:
        for found in labeller.label_windows(windows, on_warning=console.warn):
            stream.write(
                _json_line(found, top)
                if json
                else _line(found, labeller.labels, top, with_probabilities=proba)
            )
            if stream is sys.stdout:
                stream.flush()
            advance(found.source)
    if attention is not None:
        from nmt_cli.commands.pictures import label_attention, show

        show(label_attention(bundle, labeller, found), attention)


def _line(found: "Labelled", labels: "Labels", top: int | None, *, with_probabilities: bool) -> str:
    names = found.labels if top is None else list(found.probabilities)[:top]
    if with_probabilities:
        return "\t".join(f"{name}\t{found.probabilities[name]:.4f}" for name in names) + "\n"
    if top is not None:
        return "\t".join(names) + "\n"
    return (labels.separator or "").join(names) + "\n"


def _json_line(found: "Labelled", top: int | None) -> str:
    import json

    likeliest = dict(list(found.probabilities.items())[:top])
    record = {"source": found.source, "labels": found.labels, "probabilities": likeliest}
    return json.dumps(record, ensure_ascii=False) + "\n"


def _is_table(file: str) -> bool:
    return file.removesuffix(".gz").endswith((".tsv", ".csv"))


def _column(path: Path, column: str | None, encoding: str) -> Iterator[str]:
    """Return the texts of a table's column, which must be named: the others are no text."""
    from nmt_cli.commands.lines import checked_encoding
    from nmt_cli.errors import ConfigError
    from nmt_cli.text.corpus import column_texts

    if column is None:
        raise ConfigError(f"{path} is a table", hint="name the column of the text with --column")
    return column_texts(path, column, checked_encoding(encoding))
