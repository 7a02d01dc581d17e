"""`nmt evaluate`: how good outputs are, of a model or in a file, alone or beside others."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.commands.loading import (
    BeamOption,
    DataDirOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    JsonOption,
    LengthPenaltyOption,
    MaxLengthOption,
    ModelOption,
    SplitOption,
    ThreadsOption,
    VerboseOption,
)
from nmt_cli.terminal.lines import EncodingOption

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.commands.evaluation_systems import System
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.evaluation.comparison import Corpus, Evaluation, Result
    from nmt_cli.evaluation.label_comparison import LabelComparison
    from nmt_cli.text.corpus import Example

_ALL_TURNS = 1000


def evaluate(
    model: ModelOption = None,
    source: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="FILE", help="Source lines; with --reference."),
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
    split: SplitOption = "test",
    data_dir: DataDirOption = None,
    beam: BeamOption = None,
    length_penalty: LengthPenaltyOption = None,
    max_length: MaxLengthOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any option of search, or of nmt chat."),
    ] = None,
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
    encoding: EncodingOption = "utf-8",
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write it all to a page, too (.html)."),
    ] = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Score a model, or a file of outputs, with sacreBLEU on detokenised text.

    BLEU, chrF, chrF++ and TER with signatures, BLEU by source length; of a chat model also
    perplexity, how varied its replies are, and its latency. --compare puts other models, outputs or
    settings beside it, with p-values of a paired bootstrap, and samples. Of a classifier: accuracy,
    F1, the scores of each label, which are taken for which; --reference and files of outputs then
    hold labels.

    Example: nmt evaluate -i test.en --reference test.de --compare beam_size=1

    Example: nmt evaluate -m runs/sentiment --compare runs/other --report evaluation.html
    """
    from nmt_cli.bundle.folder import TASKS, find_bundle
    from nmt_cli.commands.evaluation_systems import load_system, run
    from nmt_cli.errors import ConfigError
    from nmt_cli.evaluation.comparison import Evaluation
    from nmt_cli.terminal.evaluation_view import show_one, show_side_by_side

    others = compare or []
    if report is not None and Path(report).suffix.lower() != ".html":
        raise ConfigError(f"--report {report}: a page's name must end in .html")
    check_split(split)
    if hypotheses is not None:
        if model is not None or reference is None:
            raise ConfigError("--hypotheses goes with --reference, and without --model")
        if split != "test":
            raise ConfigError(f"--split {split} is of a model's own corpus, not of --hypotheses")
        corpus = _corpus_of_files(source, reference, target_lang or "", encoding)
        results = [_read_outputs(name, corpus) for name in (hypotheses, *others)]
    else:
        if (source is None) != (reference is None):
            raise ConfigError("--input and --reference go together")
        where = {
            "engine": engine,
            "number_format": number_format,
            "threads": threads,
            "device": device,
            "verbose": verbose,
        }
        bundle = find_bundle(model, TASKS)
        flags = {"beam_size": beam, "length_penalty": length_penalty, "max_length": max_length}
        loaded = configuration_of(bundle, source, reference, data_dir)
        examples = examples_of(bundle, loaded, split if source is None else "test")
        if bundle.manifest.classification:
            if settings or any(value is not None for value in flags.values()):
                raise ConfigError("--set and options of search are not for classifiers")
            _evaluate_labels(bundle, examples, others, where, report, as_json=json)
            return
        first = load_system(str(bundle.path), bundle, settings or [], flags, where)
        corpus = _corpus_of_model(first, examples, target_lang or loaded.config.data.target_lang)
        systems = [_other(first, text, settings or [], flags, where) for text in others]
        results = [
            _read_outputs(system, corpus) if isinstance(system, str) else run(system, examples)
            for system in (first, *systems)
        ]
    evaluation = Evaluation(results, corpus)
    show = show_side_by_side if others else show_one
    show(evaluation, as_json=json)
    if report is not None:
        _write_report(evaluation, Path(report))


def _evaluate_labels(
    bundle: "Bundle",
    examples: list["Example"],
    others: list[str],
    where: dict[str, Any],
    report: str | None,
    *,
    as_json: bool,
) -> None:
    from nmt_cli.bundle.folder import find_bundle
    from nmt_cli.commands.label_evaluation import compare_labels, show_judged
    from nmt_cli.terminal.evaluation_view import show_side_by_side

    where = {name: value for name, value in where.items() if name != "engine"}  # there is but one
    named = [
        text if Path(text).is_file() else find_bundle(text, (bundle.manifest.task,))
        for text in others
    ]
    comparison = compare_labels(bundle, examples, named, _read_outputs, **where)
    if others:
        show_side_by_side(comparison, as_json=as_json)
    else:
        show_judged(bundle.manifest.name, comparison.first, as_json=as_json)
    if report is not None:
        _write_report(comparison, Path(report))


def _write_report(evaluation: "Evaluation | LabelComparison", path: Path) -> None:
    from nmt_cli.errors import DataError
    from nmt_cli.files import os_errors_as, write_text
    from nmt_cli.report.evaluation_page import evaluation_page
    from nmt_cli.terminal import console

    with os_errors_as(DataError, f"{path}: cannot be written"):
        write_text(path, evaluation_page(evaluation))
    console.note(f"the report is in {path}")


def check_split(split: str) -> None:
    """Raise ConfigError unless there can be examples to score in a split of that name."""
    from nmt_cli.errors import ConfigError

    if split not in ("dev", "test"):
        raise ConfigError(f"--split must be dev or test (it is {split})")


def _corpus_of_files(source: str | None, reference: str, language: str, encoding: str) -> "Corpus":
    from nmt_cli.evaluation.comparison import Corpus
    from nmt_cli.files import read_lines
    from nmt_cli.terminal.lines import checked_encoding

    encoding = checked_encoding(encoding)
    references = list(read_lines(reference, encoding=encoding))
    sources = list(read_lines(source, encoding=encoding)) if source is not None else None
    if sources is not None:
        _check_lines(source, sources, reference, references)
    return Corpus(sources, references, language)


def _corpus_of_model(system: "System", examples: list["Example"], language: str) -> "Corpus":
    """Return examples as the model's vocabulary writes them."""
    from nmt_cli.commands.evaluation_systems import seen_by
    from nmt_cli.evaluation.comparison import Corpus

    return Corpus(
        [" / ".join(seen_by(system, example).source) for example in examples],
        [system.encoder.target.normalise(example.target) for example in examples],
        language,
    )


def _read_outputs(file: str, corpus: "Corpus") -> "Result":
    from nmt_cli.evaluation.comparison import Result
    from nmt_cli.files import read_lines

    outputs = list(read_lines(file))
    _check_lines(file, outputs, "the reference", corpus.references)
    return Result(file, outputs, settings={"file": file})


def _check_lines(name: str | None, lines: list[str], other: str, other_lines: list[str]) -> None:
    from nmt_cli.errors import DataError

    if len(lines) != len(other_lines):
        raise DataError(
            f"{name} has {len(lines)} lines, {other} has {len(other_lines)}",
            hint="line N of one file must belong to line N of the other",
        )


def _other(
    first: "System",
    text: str,
    settings: list[str],
    flags: dict[str, Any],
    where: dict[str, Any],
) -> "System | str":
    """Return what `--compare` names: a model, settings for the first, or a file of outputs."""
    from nmt_cli.bundle.folder import find_bundle
    from nmt_cli.commands.evaluation_systems import load_system
    from nmt_cli.errors import ConfigError

    if Path(text).is_file():
        return text
    if "=" in text and not Path(text).exists():
        parts = text.split(",")
        flags = _without(flags, {part.partition("=")[0] for part in parts})
        try:
            return load_system(text, first.bundle, [*settings, *parts], flags, where)
        except ConfigError as error:
            problem = str(error).removeprefix(f"--set {text}: ")
            raise ConfigError(f"--compare {text}: {problem}", hint=error.hint) from error
    return load_system(text, find_bundle(text, (first.bundle.manifest.task,)), [], {}, where)


def _without(flags: dict[str, Any], named: set[str]) -> dict[str, Any]:
    """Return the flags that the settings of another system do not take the place of."""
    from nmt_cli.search.options import OF_SAMPLING

    replaced = named | ({"beam_size"} if named & {"sample", *OF_SAMPLING} else set())
    return {name: value for name, value in flags.items() if name not in replaced}


def configuration_of(
    bundle: "Bundle", source: str | None, reference: str | None, data_dir: str | None
) -> "LoadedConfig":
    """Return a model's configuration, with the given files as its test corpus."""
    from nmt_cli.config.reading import load_config

    overrides = [f"data.dir={data_dir}"] if data_dir else []
    if source and reference:
        names = [str(Path(name).resolve()) for name in (source, reference)]
        overrides.append(f"data.test=[{{source: '{names[0]}', target: '{names[1]}'}}]")
    return load_config(str(bundle.path / "config.yaml"), overrides)


def examples_of(bundle: "Bundle", loaded: "LoadedConfig", split: str) -> list["Example"]:
    """Return the examples to score, with all of their conversation."""
    from nmt_cli.errors import DataError
    from nmt_cli.text.corpus import Corpora

    chat = loaded.config.chat.model_copy(update={"history_turns": _ALL_TURNS})
    corpora = Corpora(loaded.config.model_copy(update={"chat": chat}), loaded.data_dir)
    corpora.files(split)
    examples = list(corpora.iter_split(split))
    if not examples:
        raise DataError(
            f"the configuration of {bundle.path} names no {split} corpus",
            hint="give --input and --reference, or --split dev",
        )
    return examples
