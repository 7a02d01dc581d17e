"""`nmt classify`: labels for arguments, a file, standard input, or what is typed."""

import sys
from typing import Annotated

import typer

from nmt_cli.config.tasks import CLASSIFICATION
from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as shared
from nmt_cli.terminal.lines import (
    LabelLines,
    check_attention,
    file_progress,
    input_windows,
    is_table,
    mend_of,
    output_stream,
)
from nmt_cli.terminal.options import open_model
from nmt_cli.terminal.pictures import show
from nmt_cli.terminal.prompts import ClassifyPrompt


def classify(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to classify.")
    ] = None,
    model: shared.ModelOption = None,
    input_file: shared.InputOption = None,
    output_file: shared.OutputOption = None,
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
    on_error: shared.OnErrorOption = "stop",
    encoding: shared.EncodingOption = "utf-8",
    column: shared.ColumnOption = None,
    number_format: shared.FormatOption = None,
    threads: shared.ThreadsOption = None,
    device: shared.DeviceOption = "auto",
    json: shared.JsonOption = False,
    verbose: shared.VerboseOption = False,
) -> None:
    """Give labels to texts, a file, standard input, or what you type.

    Every input line gives one output line, in order: its label, or its labels as they stand in the
    training text. A blank line stays blank. A model of sentence pairs reads two texts with a tab
    between them. --json has the probabilities of all labels, or of the --top likeliest.

    Example: nmt classify "I love this." --top 3 --proba --attention attention.html
    """
    from nmt_cli.search.loading import EngineOptions

    mend = mend_of(on_error)
    if text and input_file:
        raise ConfigError("give either texts or --input, not both")
    if top is not None and top < 1:
        raise ConfigError(f"--top must be at least 1 (it is {top})")
    if attention is not None:
        check_attention(text, attention)
    engine_options = EngineOptions(number_format=number_format, threads=threads, device=device)
    loaded = open_model(model, CLASSIFICATION, engine_options)
    reads_one = loaded.bundle.manifest.classification.get("texts", 1) == 1
    if input_file is not None and column is None and is_table(input_file) and reads_one:
        hint = "name the column of the text with --column"
        raise ConfigError(f"{input_file} is a table", hint=hint)
    if verbose:
        console.note_engine(loaded.engine_description)
    labeller = loaded.labeller
    lines = LabelLines(labeller.labels, top=top, proba=proba, json=json)
    if not text and input_file is None and sys.stdin.isatty():
        ClassifyPrompt(labeller, lines).run()
        return
    windows = input_windows(text, input_file, mend, encoding, column)
    progress = file_progress("classifying", input_file, output_file)
    with output_stream(output_file) as stream, progress as advance:
        for found in labeller.label_windows(windows, on_warning=console.warn):
            stream.write(lines.of(found))
            if stream is sys.stdout:
                stream.flush()
            advance(found.source)
    if attention is not None:
        from nmt_cli.report.attention import attention_of
        from nmt_cli.search.attended import attended_labels

        show(attention_of(attended_labels(loaded.bundle, labeller, found)), attention)
