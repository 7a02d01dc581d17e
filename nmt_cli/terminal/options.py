"""The options that several commands share, each declared once, and the model a command uses."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.config.tasks import TaskFacts
from nmt_cli.errors import ConfigError
from nmt_cli.resources import DEFAULT_FILE
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api import model as api


def named(names: str, metavar: str | None, about: str, **more: Any) -> Any:
    """Declare an option in `Annotated`; there are spaces between its names."""
    return typer.Option(*names.split(), metavar=metavar, help=about, **more)


def _here(file: str | None) -> str | None:
    """Return a name as it was typed; that of a copy for a URL."""
    if file is None:
        return None
    from nmt_cli.stores import fetched, is_url

    return str(fetched(file)) if is_url(file) else file


def no_url(file: str | None) -> str | None:
    """Return the name of a file to write; ConfigError for a URL, which would become a folder."""
    if file is not None and "://" in file:
        raise ConfigError(f"{file}: this is written to a file, not to a URL")
    return file


def option(metavar: str | None, about: str, names: str = "", *, default: Any = None) -> Any:
    """Declare an option by a parameter's default; without `names` it is called as that is."""
    return typer.Option(default, *names.split(), metavar=metavar, help=about)


def output(metavar: str, about: str, names: str = "") -> Any:
    """Declare an option that names what to write on this machine."""
    return typer.Option(None, *names.split(), metavar=metavar, help=about, callback=no_url)


def switch(names: str, about: str) -> Any:
    """Declare an option that takes no value by a parameter's default."""
    return typer.Option(False, *names.split(), help=about)


def argument(metavar: str, about: str, *, default: Any = None, **more: Any) -> Any:
    """Declare an argument by a parameter's default; one without, `...`, must be given."""
    return typer.Argument(default, metavar=metavar, help=about, **more)


Config = Annotated[
    str | None,
    typer.Argument(metavar="[CONFIG]", help="A YAML file or a bundled name; default: quickstart."),
]
Set = Annotated[
    list[str] | None, named("--set", "KEY=VALUE", "Set any key, e.g. train.max_steps=200.")
]
Model = Annotated[
    str | None, named("--model -m", "DIR", "A model or run folder; default: the newest.")
]
Models = Annotated[
    list[str] | None,
    named(
        "--model -m", "DIR", "A model or run folder; default: the newest. Several are an ensemble."
    ),
]
Backward = Annotated[
    str | None,
    named("--backward", "DIR", "A model of the other direction chooses among hypotheses."),
]
Beam = Annotated[int | None, named("--beam", "N", "Beam size; 1 is greedy search.")]
LengthPenalty = Annotated[
    float | None, named("--length-penalty", "A", "Length penalty; 0 favours short outputs.")
]
MaxLength = Annotated[int | None, named("--max-length", "N", "Longest output, in tokens.")]
To = Annotated[str | None, named("--to", "CODE", "The language to translate to.")]
From = Annotated[str | None, named("--from", "CODE", "The language to translate from.")]
Engine = Annotated[str, named("--engine", "E", "Engine: auto, ctranslate2 or tensorflow.")]
Format = Annotated[
    str | None, named("--format", "F", "Number format of CTranslate2; see nmt export.")
]
Formats = Annotated[
    list[str] | None, named("--format", "F", "Number format, e.g. int8; may be repeated.")
]
Threads = Annotated[int | None, named("--threads", "N", "Processor cores; default: all.")]
Device = Annotated[str, named("--device", "D", "Device: auto, cpu or gpu (the first one).")]
Batch = Annotated[int | None, named("--batch-tokens", "N", "Source tokens in a batch.")]
SearchSet = Annotated[
    list[str] | None, named("--set", "KEY=VALUE", "Set any search option, e.g. top_k=5.")
]
ChatSet = Annotated[
    list[str] | None, named("--set", "KEY=VALUE", "Set any search or chat option, e.g. rerank=8.")
]
Split = Annotated[
    str, named("--split", "SPLIT", "Which text of the model's configuration: dev or test.")
]
DataDir = Annotated[str | None, named("--data-dir", "DIR", "The folder that holds the text.")]
Json = Annotated[bool, named("--json", None, "Print JSON, one object per line.")]
Verbose = Annotated[bool, named("--verbose", None, "Say which engine was chosen, and why.")]
Input = Annotated[
    str | None, named("--input -i", "FILE", "Read lines; - is standard input.", callback=_here)
]
Source = Annotated[str | None, named("--input -i", "FILE", "Source lines.", callback=_here)]
Reference = Annotated[
    str | None,
    named("--reference", "FILE", "Reference lines (or labels) for --input.", callback=_here),
]
Output = Annotated[
    str | None, named("--output -o", "FILE", "Write lines to this file, or into a folder.")
]
Glossary = Annotated[
    str | None,
    named("--glossary", "FILE", "Terms: source, tab, target; | between forms.", callback=_here),
]
Memory = Annotated[
    str | None,
    named(
        "--memory",
        "FILE",
        "Translations to take as they are: .tmx, .tsv, .jsonl.",
        callback=_here,
    ),
]
Attention = Annotated[
    str | None,
    named("--attention", "FILE", "Draw the attention: .html, .png or .svg.", callback=no_url),
]
Shard = Annotated[
    str | None, named("--shard", "K/N", "Only the K-th of N shares of the lines; see nmt join.")
]
Ray = Annotated[
    str | None, named("--ray", "ADDRESS", "Work on a Ray cluster; auto finds or starts one.")
]
RayWorkers = Annotated[
    int | None, named("--ray-workers", "N", "Processes on the cluster; default: all cores.")
]
Store = Annotated[str | None, named("--store", "URL", "Keep the run in this object store, too.")]
OnError = Annotated[str, named("--on-error", "WHAT", "If not UTF-8: stop, replace, skip-as-blank.")]
Encoding = Annotated[str, named("--encoding", "NAME", "Encoding of the input: cp949, auto, ...")]
Column = Annotated[
    str | None,
    named("--column", "NAME", "Column of a .tsv or .csv: heading or number; key of a .jsonl."),
]
PairColumns = Annotated[
    str | None, named("--column", "SRC,TGT", "Columns of an --input that is a table.")
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


def open_model(
    model: str | Sequence[str] | None,
    task: TaskFacts,
    backward: str | None = None,
    /,
    **options: Any,
) -> "api.Model":
    """Return a model for a task, run as `EngineOptions` say; its messages go to the console."""
    from nmt_cli.api.model import Model
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.search.loading import EngineOptions

    where = EngineOptions(**options)
    bundle = find_bundle(model, task, backward=backward)
    return Model(bundle, where, on_warning=console.warn, on_note=console.note)
