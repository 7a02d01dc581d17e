"""`nmt evaluate`: BLEU and chrF of a model on its test set or on given files, with signatures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.commands.loading import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    JsonOption,
    LengthPenaltyOption,
    ModelOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.bundle import Bundle
    from nmt_cli.text.corpus import Example


def evaluate(
    model: ModelOption = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="FILE", help="Source lines; with --reference.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option("--reference", metavar="FILE", help="Reference lines.")
    ] = None,
    split: Annotated[
        str, typer.Option("--split", help="dev or test of the model's own configuration.")
    ] = "test",
    data_dir: Annotated[
        str | None, typer.Option("--data-dir", metavar="DIR", help="Where that data lies now.")
    ] = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Score a model with sacreBLEU: cased BLEU and chrF on detokenised text.

    Example: nmt evaluate --source test.en --reference test.de --beam 5
    """
    from nmt_cli import console
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import load_model, search_options
    from nmt_cli.config_io import load_config
    from nmt_cli.errors import ConfigError

    if (source is None) != (reference is None):
        raise ConfigError("--source and --reference go together")
    if split not in ("dev", "test"):
        raise ConfigError(f"--split must be dev or test (it is {split})")
    bundle = find_bundle(model, ("translation", "chat"))
    loaded = load_config(
        str(bundle.path / "config.yaml"), [f"data.dir={data_dir}"] if data_dir else None
    )
    examples = _examples(bundle, source, reference, split, data_dir)
    options = search_options(bundle, beam_size=beam, length_penalty=length_penalty)
    loaded_engine, vocabularies = load_model(
        bundle, engine=engine, number_format=number_format, threads=threads, device=device
    )
    from nmt_cli.training.evaluation import decode_examples, score_outputs
    from nmt_cli.training.run import build_encoder

    encoder = build_encoder(loaded.config, vocabularies)
    outputs = decode_examples(loaded_engine, encoder, examples, options)
    scores = score_outputs(outputs, examples, encoder, loaded.config)
    if json:
        console.result_json(
            {"segments": len(examples)} | {name: s.as_json() for name, s in scores.items()}
        )
        return
    for name, score in scores.items():
        console.result(f"{name} {score.score:.2f}  {score.signature}")


def _examples(
    bundle: "Bundle", source: str | None, reference: str | None, split: str, data_dir: str | None
) -> list["Example"]:
    from nmt_cli.config_io import load_config
    from nmt_cli.errors import DataError
    from nmt_cli.text.corpus import Corpora

    overrides = [f"data.dir={data_dir}"] if data_dir else []
    if source and reference:
        names = [str(Path(name).resolve()) for name in (source, reference)]
        overrides += [f"data.test=[{{source: '{names[0]}', target: '{names[1]}'}}]"]
        split = "test"
    loaded = load_config(str(bundle.path / "config.yaml"), overrides)
    corpora = Corpora(loaded.config, loaded.data_dir)
    corpora.files(split)
    examples = list(corpora.iter_split(split))
    if not examples:
        raise DataError(
            f"the configuration of {bundle.path} names no {split} corpus",
            hint="give --source and --reference, or --split dev",
        )
    return examples
