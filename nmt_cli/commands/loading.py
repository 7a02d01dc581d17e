"""What the commands that use a model share: its options, and an engine for it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.search.engine import Engine
    from nmt_cli.search.labeller import Labeller
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.vocabulary import Vocabularies

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
    int | None, typer.Option("--max-length", metavar="N", help="Longest output in pieces.")
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
    typer.Option("--batch-tokens", metavar="N", help="Source pieces searched at a time."),
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

_MOST = {"--threads": 512, "--batch-tokens": 1 << 24}
_ENGINES = ("auto", "ctranslate2", "tensorflow")
_DEVICES = ("auto", "cpu", "gpu")


def search_options(
    bundle: "Bundle", settings: list[str] | None = None, **changes: Any
) -> "SearchOptions":
    """Return the model's search options with those the user gave.

    Args:
        bundle: The model.
        settings: What was given with --set, such as "top_k=5".
        changes: What was given with flags of its own; None is not given.
    """
    from nmt_cli.search.options import SearchOptions

    flags = {name: value for name, value in changes.items() if value is not None}
    options = SearchOptions.from_mapping(bundle.manifest.decode)
    return options.override(**(SearchOptions.parse(settings or []) | flags))


def load_model(
    bundle: "Bundle",
    *,
    engine: str = "auto",
    number_format: str | None = None,
    threads: int | None = None,
    device: str = "auto",
    batch_tokens: int | None = None,
    verbose: bool = False,
) -> tuple["Engine", "Vocabularies"]:
    """Return an engine and the vocabularies of a bundle.

    Args:
        bundle: The model.
        engine: "ctranslate2", "tensorflow", or "auto" for the first of these that the bundle has.
        number_format: CTranslate2's, such as "int8"; None is the one that the bundle chose.
        threads: Processor cores to use; None is all.
        device: "cpu", "gpu", or "auto" for a GPU where there is one.
        batch_tokens: Source pieces searched at a time; None is the engine's own choice.
        verbose: Tell on stderr what was chosen, and why.

    Raises:
        ConfigError: There is no such engine or device, or it has no choice of number formats.
        ModelFileError: The bundle is damaged, or lacks what the engine needs.
    """
    from nmt_cli.errors import ConfigError
    from nmt_cli.terminal import console
    from nmt_cli.text.vocabulary import Vocabularies

    check_engine(engine)
    _check_where(device, {"--threads": threads, "--batch-tokens": batch_tokens})
    vocabularies = Vocabularies.load(bundle.path)
    if engine == "auto" and number_format is None and not bundle.manifest.ctranslate2:
        console.note(
            f"{bundle.path} has no ctranslate2/ folder; the slower TensorFlow engine starts "
            "(nmt export adds it)"
        )
        engine = "tensorflow"
    loaded: Engine
    if engine == "tensorflow":
        if number_format is not None:
            raise ConfigError("--format is an option of --engine ctranslate2")
        loaded = _native_engine(bundle, threads, device, batch_tokens)
    else:
        loaded = _fast_engine(bundle, vocabularies, number_format, threads, device, batch_tokens)
    if verbose:
        asked = engine != "auto" or number_format is not None
        console.note(f"engine: {loaded.description}, {_reason(bundle, asked=asked)}")
    return loaded, vocabularies


def _reason(bundle: "Bundle", *, asked: bool) -> str:
    """Return why a model is searched with the engine and the number format that it is."""
    chosen = bundle.manifest.ctranslate2.get("auto")
    if asked or not chosen:
        return "as asked for" if asked else "the only one that the model has"
    facts = bundle.manifest.ctranslate2["formats"][chosen]
    if facts.get("bleu") is None:
        return "the model's own choice"
    return (
        f"the fastest format whose dev BLEU is near float32's when exported "
        f"({facts['lines_per_second']:,.0f} lines/s, BLEU {facts['bleu']:.2f})"
    )


def load_labeller(
    bundle: "Bundle",
    *,
    number_format: str | None = None,
    threads: int | None = None,
    device: str = "auto",
    verbose: bool = False,
) -> "Labeller":
    """Return what gives labels with a classifier's bundle; for the arguments see `load_model`."""
    from nmt_cli.search import ctranslate2_labeller
    from nmt_cli.terminal import console

    _check_where(device, {"--threads": threads})
    place = _ctranslate2_device(device)
    if verbose:
        chosen = bundle.ctranslate2_folder(number_format).name
        reason = _reason(bundle, asked=number_format is not None)
        console.note(f"engine: CTranslate2 {chosen} on {place}, {reason}")
    return ctranslate2_labeller.load_labeller(
        bundle, number_format, device=place, threads=threads or 0
    )


def _check_where(device: str, counts: dict[str, int | None]) -> None:
    """Check --device, and options that are numbers from 1."""
    from nmt_cli.errors import ConfigError

    _check_choice("--device", device, _DEVICES)
    for option, value in counts.items():
        if value is not None and not 1 <= value <= _MOST[option]:
            raise ConfigError(f"{option} must be 1 to {_MOST[option]:,} (it is {value})")


def _ctranslate2_device(device: str) -> str:
    from nmt_cli.errors import ConfigError
    from nmt_cli.search.ctranslate2_engine import has_gpu

    on_gpu = device != "cpu" and has_gpu()
    if device == "gpu" and not on_gpu:
        raise ConfigError("--device gpu: CTranslate2 finds no GPU here")
    return "cuda" if on_gpu else "cpu"


def _fast_engine(
    bundle: "Bundle",
    vocabularies: "Vocabularies",
    number_format: str | None,
    threads: int | None,
    device: str,
    batch_tokens: int | None,
) -> "Engine":
    from nmt_cli.search.ctranslate2_engine import FastEngine

    return FastEngine(
        bundle.ctranslate2_folder(number_format),
        vocabularies,
        max_length=bundle.manifest.model["max_length"],
        device=_ctranslate2_device(device),
        threads=threads or 0,
        batch_pieces=batch_tokens,
    )


def check_engine(engine: str) -> None:
    """Raise ConfigError unless there is an engine of that name."""
    _check_choice("--engine", engine, _ENGINES)


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    from nmt_cli.errors import ConfigError, did_you_mean

    if value not in choices:
        hint = did_you_mean(value, choices)
        raise ConfigError(f"{option} must be {', '.join(choices)} (it is {value}).{hint}")


def dev_examples(loaded: "LoadedConfig") -> list["Example"]:
    """Return a configuration's development examples; none, with a note, if they cannot be read."""
    from nmt_cli.errors import DataError
    from nmt_cli.terminal import console
    from nmt_cli.text.corpus import Corpora

    try:
        return list(Corpora(loaded.config, loaded.data_dir).iter_split("dev"))
    except DataError as error:
        console.warn(f"no development data: {error} (--data-dir says where it lies now)")
        return []


def _native_engine(
    bundle: "Bundle", threads: int | None, device: str, batch_tokens: int | None
) -> "Engine":
    from nmt_cli.commands.tensorflow_setup import quiet_tensorflow
    from nmt_cli.errors import ConfigError

    bundle.load_weights()  # damaged files fail before the slow import
    quiet_tensorflow(threads, use_gpu=device != "cpu")
    from nmt_cli.search.tensorflow_engine import BATCH_PIECES, has_gpu, load_engine

    if device == "gpu" and not has_gpu():
        raise ConfigError("--device gpu: TensorFlow finds no GPU here")
    return load_engine(bundle, batch_pieces=batch_tokens or BATCH_PIECES, threads=threads or 0)
