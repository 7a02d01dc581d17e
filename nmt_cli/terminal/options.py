"""The options that several commands share, each declared once, and the model a command uses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.config.tasks import TaskFacts
from nmt_cli.resources import DEFAULT_FILE
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api import model as api


Config = Annotated[
    str | None,
    typer.Argument(
        metavar="[CONFIG]", help="A YAML file or a bundled name; quickstart if left out."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any key, e.g. train.max_steps=200."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="DIR", help="A model or run folder; newest if left out."),
]
Beam = Annotated[int | None, typer.Option("--beam", metavar="N", help="Beam size; 1 is greedy.")]
LengthPenalty = Annotated[
    float | None, typer.Option("--length-penalty", metavar="A", help="0 favours short outputs.")
]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", metavar="N", help="Longest output in tokens.")
]
Engine = Annotated[
    str, typer.Option("--engine", metavar="E", help="auto, ctranslate2 or tensorflow.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="F", help="CTranslate2's number format; see nmt export."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="Processor cores for the search; all.")
]
Device = Annotated[
    str, typer.Option("--device", metavar="D", help="auto, cpu or gpu (the first one).")
]
Batch = Annotated[
    int | None,
    typer.Option("--batch-tokens", metavar="N", help="Source tokens searched at a time."),
]
SearchSet = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any search option, e.g. top_k=5."),
]
Split = Annotated[
    str, typer.Option("--split", help="dev or test of the model's own configuration.")
]
DataDir = Annotated[
    str | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="Where the text is; for a model, where it is now."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Tell which engine was chosen, and why.")]
Input = Annotated[
    str | None, typer.Option("--input", "-i", metavar="FILE", help="Read lines; - is stdin.")
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write lines here.")
]
OnError = Annotated[
    str,
    typer.Option("--on-error", metavar="WHAT", help="Not UTF-8: stop, replace, skip-as-blank."),
]
Encoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Of the input: cp949, utf-16, auto, ..."),
]
Column = Annotated[
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


def open_model(model: str | None, task: TaskFacts, **options: Any) -> "api.Model":
    """Return a model for a task, with `EngineOptions`; the user is told what it has to tell."""
    from nmt_cli.api.model import Model
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.search.loading import EngineOptions

    where = EngineOptions(**options)
    return Model(find_bundle(model, task), where, on_warning=console.warn, on_note=console.note)
