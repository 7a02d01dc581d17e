"""What the commands that use a model share: its options, and an engine for it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from nmt_cli.bundle import Bundle
    from nmt_cli.decoding.options import SearchOptions
    from nmt_cli.decoding.translator import Engine
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
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


def search_options(bundle: "Bundle", **changes: Any) -> "SearchOptions":
    """Return the model's search options with those the user gave."""
    from nmt_cli.decoding.options import SearchOptions

    return SearchOptions.from_mapping(bundle.manifest.decode).override(**changes)


def load_model(bundle: "Bundle") -> tuple["Engine", "Vocabularies"]:
    """Return an engine and the vocabularies of a bundle."""
    from nmt_cli.commands.tensorflow_setup import quiet_tensorflow
    from nmt_cli.text.vocabulary import Vocabularies

    vocabularies = Vocabularies.load(bundle.path)
    weights_are_readable = bundle.load_weights  # fail on damaged files before the slow import
    weights_are_readable()
    quiet_tensorflow()
    from nmt_cli.decoding.native import load_engine

    return load_engine(bundle), vocabularies
