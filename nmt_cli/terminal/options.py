"""The options that several commands share, each declared once, and the model a command uses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.resources import DEFAULT_FILE
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.config.tasks import TaskFacts
    from nmt_cli.search.loading import EngineOptions


ConfigArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[CONFIG]", help="A YAML file or a bundled name; quickstart if left out."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any key, e.g. train.max_steps=200."),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="DIR", help="A model or run folder; newest if left out."),
]
BeamOption = Annotated[
    int | None, typer.Option("--beam", metavar="N", help="Beam size; 1 is greedy.")
]
LengthPenaltyOption = Annotated[
    float | None, typer.Option("--length-penalty", metavar="A", help="0 favours short outputs.")
]
MaxLengthOption = Annotated[
    int | None, typer.Option("--max-length", metavar="N", help="Longest output in tokens.")
]
EngineOption = Annotated[
    str, typer.Option("--engine", metavar="E", help="auto, ctranslate2 or tensorflow.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="F", help="CTranslate2's number format; see nmt export."),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="Processor cores for the search; all.")
]
DeviceOption = Annotated[
    str, typer.Option("--device", metavar="D", help="auto, cpu or gpu (the first one).")
]
BatchOption = Annotated[
    int | None,
    typer.Option("--batch-tokens", metavar="N", help="Source tokens searched at a time."),
]
SearchSetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any search option, e.g. top_k=5."),
]
SplitOption = Annotated[
    str, typer.Option("--split", help="dev or test of the model's own configuration.")
]
DataDirOption = Annotated[
    str | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="Where the text is; for a model, where it is now."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Tell which engine was chosen, and why.")
]
InputOption = Annotated[
    str | None, typer.Option("--input", "-i", metavar="FILE", help="Read lines; - is stdin.")
]
OutputOption = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write lines here.")
]
OnErrorOption = Annotated[
    str,
    typer.Option("--on-error", metavar="WHAT", help="Not UTF-8: stop, replace, skip-as-blank."),
]
EncodingOption = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Of the input: cp949, utf-16, auto, ..."),
]
ColumnOption = Annotated[
    str | None,
    typer.Option("--column", metavar="NAME", help="Of a .tsv or .csv: a heading, or a number."),
]


def with_data_dir(overrides: list[str] | None, data_dir: str | None) -> list[str]:
    """Return what was given with --set and --data-dir as settings."""
    return [*(overrides or []), *([f"data.dir={data_dir}"] if data_dir else [])]


def note_stand_in(config: str | None, command: str) -> None:
    """Say that the bundled sample stands in for a configuration that was left out.

    `nmt init` may have written one here; the sample is meant all the same, wherever one is.
    """
    from nmt_cli.config.reading import DEFAULT_CONFIG

    if config is None:
        console.note(f"no CONFIG was named: this is {DEFAULT_CONFIG}, the bundled sample")
        if Path(DEFAULT_FILE).is_file():
            console.warn(f"{DEFAULT_FILE} is not read; that is: nmt {command} {DEFAULT_FILE}")


def open_model(model: str | None, task: "TaskFacts", options: "EngineOptions") -> "Model":
    """Return a model that tells the user what it has to tell; see `bundle.folder.find_bundle`."""
    from nmt_cli.api.model import Model
    from nmt_cli.bundle.finding import find_bundle

    bundle = find_bundle(model, task)
    return Model(bundle, options, on_warning=console.warn, on_note=console.note)
