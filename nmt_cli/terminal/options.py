"""The options that several commands share, each declared once, and the model a command uses."""

from collections.abc import Sequence
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
    typer.Argument(metavar="[CONFIG]", help="A YAML file or a bundled name; default: quickstart."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any key, e.g. train.max_steps=200."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="DIR", help="A model or run folder; default: the newest."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="A model or run folder; default: the newest. Several are an ensemble.",
    ),
]
Beam = Annotated[
    int | None, typer.Option("--beam", metavar="N", help="Beam size; 1 is greedy search.")
]
LengthPenalty = Annotated[
    float | None,
    typer.Option("--length-penalty", metavar="A", help="Length penalty; 0 favours short outputs."),
]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", metavar="N", help="Longest output, in tokens.")
]
To = Annotated[
    str | None, typer.Option("--to", metavar="CODE", help="The language to translate to.")
]
From = Annotated[
    str | None, typer.Option("--from", metavar="CODE", help="The language to translate from.")
]
Engine = Annotated[
    str, typer.Option("--engine", metavar="E", help="Engine: auto, ctranslate2 or tensorflow.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="F", help="Number format of CTranslate2; see nmt export."),
]
Formats = Annotated[
    list[str] | None,
    typer.Option("--format", metavar="F", help="Number format, e.g. int8; may be repeated."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="Processor cores; default: all.")
]
Device = Annotated[
    str, typer.Option("--device", metavar="D", help="Device: auto, cpu or gpu (the first one).")
]
Batch = Annotated[
    int | None,
    typer.Option("--batch-tokens", metavar="N", help="Source tokens in a batch."),
]
SearchSet = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any search option, e.g. top_k=5."),
]
ChatSet = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set any search or chat option, e.g. rerank=8."
    ),
]
Split = Annotated[
    str, typer.Option("--split", help="Which text of the model's configuration: dev or test.")
]
DataDir = Annotated[
    str | None,
    typer.Option("--data-dir", metavar="DIR", help="The folder that holds the text."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Say which engine was chosen, and why.")]
Input = Annotated[
    str | None,
    typer.Option("--input", "-i", metavar="FILE", help="Read lines; - is standard input."),
]
Source = Annotated[str | None, typer.Option("--input", "-i", metavar="FILE", help="Source lines.")]
Reference = Annotated[
    str | None,
    typer.Option("--reference", metavar="FILE", help="Reference lines (or labels) for --input."),
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write lines to this file.")
]
Attention = Annotated[
    str | None,
    typer.Option("--attention", metavar="FILE", help="Draw the attention: .html, .png or .svg."),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="K/N", help="Only the K-th of N shares of the lines; see nmt join."
    ),
]
OnError = Annotated[
    str,
    typer.Option("--on-error", metavar="WHAT", help="If not UTF-8: stop, replace, skip-as-blank."),
]
Encoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Encoding of the input: cp949, auto, ..."),
]
Column = Annotated[
    str | None,
    typer.Option("--column", metavar="NAME", help="Column of a .tsv or .csv: heading or number."),
]
PairColumns = Annotated[
    str | None,
    typer.Option("--column", metavar="SRC,TGT", help="Columns of an --input that is a table."),
]


def with_data_dir(overrides: list[str] | None, data_dir: str | None) -> list[str]:
    """Return the settings given with --set and --data-dir."""
    return [*(overrides or []), *([f"data.dir={data_dir}"] if data_dir else [])]


def note_stand_in(config: str | None, command: str) -> None:
    """Say that the bundled sample is used, since no configuration was named.

    That holds even where `nmt init` has written one: a command means the same in every folder.
    """
    from nmt_cli.config.reading import DEFAULT_CONFIG

    if config is None:
        console.note(f"no CONFIG was named: using {DEFAULT_CONFIG}, the bundled sample")
        if Path(DEFAULT_FILE).is_file():
            console.warn(f"{DEFAULT_FILE} is not used; to use it: nmt {command} {DEFAULT_FILE}")


def open_model(model: str | Sequence[str] | None, task: TaskFacts, **options: Any) -> "api.Model":
    """Return a model for a task, run as `EngineOptions` say; its messages go to the console."""
    from nmt_cli.api.model import Model
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.search.loading import EngineOptions

    where = EngineOptions(**options)
    return Model(find_bundle(model, task), where, on_warning=console.warn, on_note=console.note)
