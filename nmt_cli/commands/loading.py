"""What the commands that use a model share: its options, and an engine for it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from nmt_cli.bundle import Bundle
    from nmt_cli.config_io import LoadedConfig
    from nmt_cli.decoding.engine import Engine
    from nmt_cli.decoding.options import SearchOptions
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
BatchOption = Annotated[
    int | None,
    typer.Option("--batch-tokens", metavar="N", help="Source pieces searched at a time."),
]
SearchSetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any search option, e.g. top_k=5."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]

_MAX_INT = 1 << 31
_ENGINES = ("auto", "ctranslate2", "tensorflow")


def search_options(
    bundle: "Bundle", settings: list[str] | None = None, **changes: Any
) -> "SearchOptions":
    """Return the model's search options with those the user gave.

    Args:
        bundle: The model.
        settings: What was given with --set, such as "top_k=5".
        changes: What was given with flags of its own; None is not given.
    """
    from nmt_cli.decoding.options import SearchOptions

    flags = {name: value for name, value in changes.items() if value is not None}
    options = SearchOptions.from_mapping(bundle.manifest.decode)
    return options.override(**(SearchOptions.parse(settings or []) | flags))


def load_model(
    bundle: "Bundle",
    *,
    engine: str = "auto",
    number_format: str | None = None,
    threads: int | None = None,
    batch_tokens: int | None = None,
) -> tuple["Engine", "Vocabularies"]:
    """Return an engine and the vocabularies of a bundle.

    Args:
        bundle: The model.
        engine: "ctranslate2", "tensorflow", or "auto" for the first of these that the bundle has.
        number_format: CTranslate2's, such as "int8"; None is the one that the bundle chose.
        threads: Processor cores to use; None is all.
        batch_tokens: Source pieces searched at a time; None is the engine's own choice.

    Raises:
        ConfigError: There is no such engine, or it has no choice of number formats.
        ModelFileError: The bundle is damaged, or lacks what the engine needs.
    """
    from nmt_cli import console
    from nmt_cli.errors import ConfigError
    from nmt_cli.text.vocabulary import Vocabularies

    check_engine(engine)
    for option, value in (("--threads", threads), ("--batch-tokens", batch_tokens)):
        if value is not None and not 1 <= value < _MAX_INT:
            raise ConfigError(f"{option} must be at least 1 (it is {value})")
    vocabularies = Vocabularies.load(bundle.path)
    if engine == "auto" and number_format is None and not bundle.manifest.ctranslate2:
        console.note(
            f"{bundle.path} has no ctranslate2/ folder; the slower TensorFlow engine starts "
            "(nmt export adds it)"
        )
        engine = "tensorflow"
    if engine == "tensorflow":
        if number_format is not None:
            raise ConfigError("--format is an option of --engine ctranslate2")
        return _native_engine(bundle, threads, batch_tokens), vocabularies
    from nmt_cli.decoding.fast import BATCH_PIECES, FastEngine

    folder = bundle.ctranslate2_folder(number_format)
    fast = FastEngine(
        folder,
        vocabularies,
        max_length=bundle.manifest.model["max_length"],
        threads=threads or 0,
        batch_pieces=batch_tokens or BATCH_PIECES,
    )
    return fast, vocabularies


def check_engine(engine: str) -> None:
    """Raise ConfigError unless there is an engine of that name."""
    from nmt_cli.errors import ConfigError, did_you_mean

    if engine not in _ENGINES:
        hint = did_you_mean(engine, _ENGINES)
        raise ConfigError(f"--engine must be {', '.join(_ENGINES)} (it is {engine}).{hint}")


def dev_examples(loaded: "LoadedConfig") -> list["Example"]:
    """Return a configuration's development examples; none, with a note, if they cannot be read."""
    from nmt_cli import console
    from nmt_cli.errors import DataError
    from nmt_cli.text.corpus import Corpora

    try:
        return list(Corpora(loaded.config, loaded.data_dir).iter_split("dev"))
    except DataError as error:
        console.warn(f"no development data: {error} (--data-dir says where it lies now)")
        return []


def _native_engine(bundle: "Bundle", threads: int | None, batch_tokens: int | None) -> "Engine":
    from nmt_cli.commands.tensorflow_setup import quiet_tensorflow

    bundle.load_weights()  # damaged files fail before the slow import
    quiet_tensorflow(threads)
    from nmt_cli.decoding.native import BATCH_PIECES, load_engine

    return load_engine(bundle, batch_pieces=batch_tokens or BATCH_PIECES, threads=threads or 0)
