"""`nmt evaluate`: how good a model is on its test set or on given files, alone or beside others."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nmt_cli.commands.loading import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    JsonOption,
    LengthPenaltyOption,
    ModelOption,
    SearchSetOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.bundle import Bundle
    from nmt_cli.config import Config
    from nmt_cli.config_io import LoadedConfig
    from nmt_cli.decoding.engine import Engine
    from nmt_cli.decoding.options import SearchOptions
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.vocabulary import Vocabularies

_DECODED_AT_A_TIME = 250  # examples between two movements of the progress line


class _System(NamedTuple):
    """A model with its search options."""

    name: str
    bundle: "Bundle"
    options: "SearchOptions"


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
    settings: SearchSetOption = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare", metavar="OTHER", help="Another model, or KEY=VALUE,... for the same one."
        ),
    ] = None,
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Score a model with sacreBLEU: cased BLEU and chrF on detokenised text.

    Of a chat model also perplexity, how varied its replies are, and its latency. --compare puts
    other models or settings beside it, with samples.

    Example: nmt evaluate --source test.en --reference test.de --compare beam_size=1
    """
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.evaluation_view import Result, show_one, show_side_by_side
    from nmt_cli.commands.loading import load_model, search_options
    from nmt_cli.errors import ConfigError

    if (source is None) != (reference is None):
        raise ConfigError("--source and --reference go together")
    if split not in ("dev", "test"):
        raise ConfigError(f"--split must be dev or test (it is {split})")
    bundle = find_bundle(model, ("translation", "chat"))
    options = search_options(bundle, settings, beam_size=beam, length_penalty=length_penalty)
    first = _System(str(bundle.path), bundle, options)
    loaded = _configuration(bundle, source, reference, data_dir)
    results = []
    for system in (first, *(_other(first, text) for text in compare or [])):
        model_in_memory = load_model(
            system.bundle,
            engine=engine,
            number_format=number_format,
            threads=threads,
            device=device,
        )
        examples = _examples(system, loaded, split if source is None else "test")
        outputs, scores = _score(system, *model_in_memory, examples, loaded.config)
        results.append(Result(system.name, outputs, scores))
    if compare:
        show_side_by_side(results, examples, as_json=json)
    else:
        show_one(results[0], len(examples), as_json=json)


def _configuration(
    bundle: "Bundle", source: str | None, reference: str | None, data_dir: str | None
) -> "LoadedConfig":
    """Return a model's configuration, with the given files as its test corpus."""
    from nmt_cli.config_io import load_config

    overrides = [f"data.dir={data_dir}"] if data_dir else []
    if source and reference:
        names = [str(Path(name).resolve()) for name in (source, reference)]
        overrides.append(f"data.test=[{{source: '{names[0]}', target: '{names[1]}'}}]")
    return load_config(str(bundle.path / "config.yaml"), overrides)


def _other(first: _System, text: str) -> _System:
    """Return what `--compare` names: another model, or settings (KEY=VALUE,...) for the first."""
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import search_options
    from nmt_cli.decoding.options import SearchOptions

    if "=" in text and not Path(text).exists():
        options = first.options.override(**SearchOptions.parse(text.split(",")))
        return _System(text, first.bundle, options)
    bundle = find_bundle(text, (first.bundle.manifest.task,))
    return _System(text, bundle, search_options(bundle))


def _examples(system: _System, loaded: "LoadedConfig", split: str) -> list["Example"]:
    """Return the examples to score; of a conversation a model sees as much as it was trained to."""
    from nmt_cli.config_io import load_config
    from nmt_cli.errors import DataError
    from nmt_cli.text.corpus import Corpora

    own = load_config(str(system.bundle.path / "config.yaml")).config
    corpora = Corpora(loaded.config.model_copy(update={"chat": own.chat}), loaded.data_dir)
    corpora.files(split)
    examples = list(corpora.iter_split(split))
    if not examples:
        raise DataError(
            f"the configuration of {system.bundle.path} names no {split} corpus",
            hint="give --source and --reference, or --split dev",
        )
    return examples


def _score(
    system: _System,
    engine: "Engine",
    vocabularies: "Vocabularies",
    examples: list["Example"],
    config: "Config",
) -> tuple[list[str], dict[str, Any]]:
    """Return a system's outputs and its scores as JSON data by name."""
    from nmt_cli import console
    from nmt_cli.config_io import load_config
    from nmt_cli.decoding.evaluation import (
        decode_examples,
        median_latency,
        perplexity,
        score_outputs,
    )
    from nmt_cli.metrics import diversity
    from nmt_cli.training.run import build_encoder

    own = load_config(str(system.bundle.path / "config.yaml")).config
    encoder = build_encoder(own, vocabularies)
    outputs: list[str] = []
    with console.live_progress("{task.completed:,.0f} of {task.total:,.0f}") as progress:
        task = progress.add_task("decoding", total=len(examples)) if progress else None
        for start in range(0, len(examples), _DECODED_AT_A_TIME):
            some = examples[start : start + _DECODED_AT_A_TIME]
            outputs += decode_examples(engine, encoder, some, system.options)
            if progress and task is not None:
                progress.update(task, completed=len(outputs))
    scores: dict[str, Any] = {
        name: score.as_json()
        for name, score in score_outputs(outputs, examples, encoder, config).items()
    }
    if encoder.is_chat:
        scores["perplexity"] = perplexity(engine, encoder, examples)
        scores |= asdict(diversity(outputs))
        scores["latency_ms"] = 1e3 * median_latency(engine, encoder, examples, system.options)
    return outputs, scores
