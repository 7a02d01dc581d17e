"""`nmt evaluate`: how good outputs are, of a model or in a file, alone or beside others."""

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
    from nmt_cli.commands.evaluation_view import Corpus, Result
    from nmt_cli.config_io import LoadedConfig
    from nmt_cli.decoding.engine import Engine
    from nmt_cli.decoding.options import SearchOptions
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import Encoder

_DECODED_AT_A_TIME = 250  # examples between two movements of the progress line


class _Where(NamedTuple):
    """Where to search: what `load_model` wants to know beside the bundle."""

    engine: str
    number_format: str | None
    threads: int | None
    device: str


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
    hypotheses: Annotated[
        str | None,
        typer.Option("--hypotheses", metavar="FILE", help="Score these lines, without a model."),
    ] = None,
    target_lang: Annotated[
        str | None,
        typer.Option("--target-lang", metavar="CODE", help="The language of --hypotheses."),
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
            "--compare",
            metavar="OTHER",
            help="Another model, a file of outputs, or KEY=VALUE,... for the same model.",
        ),
    ] = None,
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Score a model, or a file of outputs, with sacreBLEU on detokenised text.

    BLEU, chrF, chrF++ and TER with signatures, BLEU by source length; of a chat model also
    perplexity, how varied its replies are, and its latency. --compare puts other models, outputs or
    settings beside it, with p-values of a paired bootstrap, and samples.

    Example: nmt evaluate --source test.en --reference test.de --compare beam_size=1
    """
    from nmt_cli.commands.evaluation_view import show_one, show_side_by_side
    from nmt_cli.errors import ConfigError

    others = compare or []
    if split not in ("dev", "test"):
        raise ConfigError(f"--split must be dev or test (it is {split})")
    if hypotheses is not None:
        if model is not None or reference is None:
            raise ConfigError("--hypotheses goes with --reference, and without --model")
        corpus = _corpus_of_files(source, reference, target_lang or "")
        results = [_read_outputs(name, corpus) for name in (hypotheses, *others)]
    else:
        if (source is None) != (reference is None):
            raise ConfigError("--source and --reference go together")
        where = _Where(engine, number_format, threads, device)
        first = _first_system(model, settings, beam_size=beam, length_penalty=length_penalty)
        loaded = _configuration(first.bundle, source, reference, data_dir)
        part = split if source is None else "test"
        corpus = _corpus_of_model(first, loaded, part, target_lang)
        systems = [first, *(_other(first, text) for text in others)]
        results = [
            _read_outputs(system, corpus)
            if isinstance(system, str)
            else _run(system, loaded, part, where)
            for system in systems
        ]
    if others:
        show_side_by_side(results, corpus, as_json=json)
    else:
        show_one(results[0], corpus, as_json=json)


def _corpus_of_files(source: str | None, reference: str, language: str) -> "Corpus":
    from nmt_cli.commands.evaluation_view import Corpus
    from nmt_cli.files import read_lines

    references = list(read_lines(reference))
    sources = list(read_lines(source)) if source is not None else None
    if sources is not None:
        _check_lines(source, sources, reference, references)
    return Corpus(sources, references, language)


def _corpus_of_model(
    system: _System, loaded: "LoadedConfig", split: str, target_lang: str | None
) -> "Corpus":
    """Return a split as the model's vocabulary writes it."""
    from nmt_cli.commands.evaluation_view import Corpus
    from nmt_cli.text.vocabulary import Vocabularies

    normalise = Vocabularies.load(system.bundle.path).target.normalise
    examples = _examples(system, loaded, split)
    return Corpus(
        [" / ".join(example.source) for example in examples],
        [normalise(example.target) for example in examples],
        target_lang or loaded.config.data.target_lang,
    )


def _read_outputs(file: str, corpus: "Corpus") -> "Result":
    from nmt_cli.commands.evaluation_view import Result
    from nmt_cli.files import read_lines

    outputs = list(read_lines(file))
    _check_lines(file, outputs, "the reference", corpus.references)
    return Result(file, outputs, {})


def _check_lines(name: str | None, lines: list[str], other: str, other_lines: list[str]) -> None:
    from nmt_cli.errors import DataError

    if len(lines) != len(other_lines):
        raise DataError(
            f"{name} has {len(lines)} lines, {other} has {len(other_lines)}",
            hint="line N of one file must belong to line N of the other",
        )


def _first_system(model: str | None, settings: list[str] | None, **flags: Any) -> _System:
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import search_options

    bundle = find_bundle(model, ("translation", "chat"))
    return _System(str(bundle.path), bundle, search_options(bundle, settings, **flags))


def _other(first: _System, text: str) -> _System | str:
    """Return what `--compare` names: a model, settings for the first, or a file of outputs."""
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import search_options
    from nmt_cli.decoding.options import SearchOptions

    if Path(text).is_file():
        return text
    if "=" in text and not Path(text).exists():
        options = first.options.override(**SearchOptions.parse(text.split(",")))
        return _System(text, first.bundle, options)
    bundle = find_bundle(text, (first.bundle.manifest.task,))
    return _System(text, bundle, search_options(bundle))


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


def _run(system: _System, loaded: "LoadedConfig", split: str, where: _Where) -> "Result":
    """Return what a model makes of the examples, and what only a model can tell."""
    from nmt_cli.commands.evaluation_view import Result
    from nmt_cli.commands.loading import load_model
    from nmt_cli.config_io import load_config
    from nmt_cli.decoding.evaluation import median_latency, perplexity
    from nmt_cli.metrics.diversity import diversity
    from nmt_cli.training.run import build_encoder

    engine, vocabularies = load_model(system.bundle, **where._asdict())
    own = load_config(str(system.bundle.path / "config.yaml")).config
    encoder = build_encoder(own, vocabularies)
    examples = _examples(system, loaded, split)
    outputs = _decode(engine, encoder, examples, system.options)
    scores: dict[str, Any] = {}
    if encoder.is_chat:
        scores["perplexity"] = perplexity(engine, encoder, examples)
        scores |= asdict(diversity(outputs))
        scores["latency_ms"] = 1e3 * median_latency(engine, encoder, examples, system.options)
    return Result(system.name, outputs, scores)


def _decode(
    engine: "Engine", encoder: "Encoder", examples: list["Example"], options: "SearchOptions"
) -> list[str]:
    from nmt_cli import console
    from nmt_cli.decoding.evaluation import decode_examples

    outputs: list[str] = []
    with console.live_progress("{task.completed:,.0f} of {task.total:,.0f}") as progress:
        task = progress.add_task("decoding", total=len(examples)) if progress else None
        for start in range(0, len(examples), _DECODED_AT_A_TIME):
            some = examples[start : start + _DECODED_AT_A_TIME]
            outputs += decode_examples(engine, encoder, some, options)
            if progress and task is not None:
                progress.update(task, completed=len(outputs))
    return outputs
