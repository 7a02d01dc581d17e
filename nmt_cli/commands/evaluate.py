"""`nmt evaluate`: how good outputs are, of a model or in a file, alone or beside others."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt
from nmt_cli.terminal.lines import checked_encoding


def evaluate(
    model: opt.Model = None,
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
    split: opt.Split = "test",
    data_dir: opt.DataDir = None,
    beam: opt.Beam = None,
    length_penalty: opt.LengthPenalty = None,
    max_length: opt.MaxLength = None,
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
    engine: opt.Engine = "auto",
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    encoding: opt.Encoding = "utf-8",
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write it all to a page, too (.html)."),
    ] = None,
    json: opt.Json = False,
    verbose: opt.Verbose = False,
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
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.evaluation.evaluator import Evaluator, check_split, evaluate_outputs, read_examples
    from nmt_cli.search.loading import EngineOptions
    from nmt_cli.tasks.task import task_of
    from nmt_cli.terminal.evaluation_view import show_evaluation

    encoding = checked_encoding(encoding)
    others = compare or []
    if report is not None and Path(report).suffix.lower() != ".html":
        raise ConfigError(f"--report {report}: a page's name must end in .html")
    check_split(split)
    if hypotheses is not None:
        if model is not None or reference is None:
            raise ConfigError("--hypotheses goes with --reference, and without --model")
        if split != "test":
            raise ConfigError(f"--split {split} is of a model's own corpus, not of --hypotheses")
        files = [hypotheses, *others]
        scored = evaluate_outputs(files, reference, source, target_lang or "", encoding)
        show_evaluation(hypotheses, scored, report, as_json=json)
        return
    if (source is None) != (reference is None):
        raise ConfigError("--input and --reference go together")
    options = EngineOptions(
        engine=engine, number_format=number_format, threads=threads, device=device
    )
    bundle = find_bundle(model)
    where = {"source": source, "reference": reference, "data_dir": data_dir}
    examples, language = read_examples(bundle, split=split, encoding=encoding, **where)
    with console.counting() as tell:
        evaluator = Evaluator(
            bundle=bundle,
            examples=examples,
            language=target_lang or language,
            others=others,
            options=options,
            settings=settings or [],
            flags={"beam_size": beam, "length_penalty": length_penalty, "max_length": max_length},
            on_progress=lambda done, total: tell("decoding", done, total),
            on_note=console.note,
            on_engine=console.note_engine if verbose else lambda _: None,
        )
        found = task_of(bundle.manifest.facts).evaluate(evaluator)
    show_evaluation(bundle.manifest.name, found, report, as_json=json)
