"""`nmt evaluate`: scores outputs of a model or in a file, alone or compared with others."""

from pathlib import Path
from typing import Any

from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def evaluate(
    model: opt.Models = None,
    backward: opt.Backward = None,
    source: opt.Source = None,
    reference: opt.Reference = None,
    column: opt.PairColumns = None,
    hypotheses: str | None = opt.option("FILE", "Score these lines, not a model."),
    to: str | None = opt.option("CODE", "The language to translate to, or of --hypotheses."),
    from_: opt.From = None,
    split: opt.Split = "test",
    data_dir: opt.DataDir = None,
    beam: opt.Beam = None,
    length_penalty: opt.LengthPenalty = None,
    max_length: opt.MaxLength = None,
    settings: opt.ChatSet = None,
    compare: list[str] | None = opt.option(
        "OTHER", "Another model, a file of outputs, or KEY=VALUE,... for the same model."
    ),
    glossary: opt.Glossary = None,
    noise: bool = opt.switch("--noise", "Also score inputs in capitals, with typos and the like."),
    engine: opt.Engine = "auto",
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    encoding: opt.Encoding = "utf-8",
    report: str | None = opt.output("FILE", "Also write a report as a page (.html)."),
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Score a model, or a file of outputs, with sacreBLEU on detokenised text.

    Prints BLEU, chrF, chrF++ and TER with signatures, and BLEU by source length; for a chat model
    also perplexity, the variety of its replies and its latency. --compare scores other models,
    outputs or settings as well, with samples and the p-values of a paired bootstrap; --noise
    scores the same model on inputs in lower case, in capitals, in title case, without or with a
    full stop, with a typing mistake in every tenth word, and with lines merged or split; --glossary
    scores it with a glossary, and tells how many of its terms are right, of those that source and
    reference have. For a classifier it prints accuracy, F1, the scores of each label and which
    labels are confused; --reference and files of outputs then hold labels.

    Example: nmt evaluate -i test.en --reference test.de --compare beam_size=1

    Example: nmt evaluate -m runs/sentiment --compare runs/other --report evaluation.html
    """
    from nmt_cli.api import functions
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.config.schema import NOISES
    from nmt_cli.evaluation.evaluator import check_split, evaluate_outputs
    from nmt_cli.search.loading import EngineOptions
    from nmt_cli.terminal.documents import check_unused
    from nmt_cli.terminal.evaluation_view import show_evaluation
    from nmt_cli.terminal.lines import checked_encoding, pair_columns

    encoding = checked_encoding(encoding)
    others = compare or []
    if report is not None and Path(report).suffix.lower() != ".html":
        raise ConfigError(f"--report {report}: the name must end in .html")
    check_split(split)
    terms = None
    if glossary is not None:
        from nmt_cli.search.glossary import Glossary

        terms = Glossary.read(glossary)
    if hypotheses is not None:
        if noise:
            raise ConfigError("--noise needs a model; it cannot be combined with --hypotheses")
        if model is not None or reference is None:
            raise ConfigError("--hypotheses needs --reference, and cannot be combined with --model")
        if split != "test":
            raise ConfigError(
                f"--split {split} selects text of a model; it cannot be combined with --hypotheses"
            )
        of_model = {
            "--from": from_, "--column": column, "--data-dir": data_dir, "--beam": beam,
            "--length-penalty": length_penalty is not None, "--max-length": max_length,
            "--set": settings, "--backward": backward, "--engine": engine != "auto",
            "--format": number_format, "--threads": threads, "--device": device != "auto",
        }  # fmt: skip
        check_unused(of_model, "with --hypotheses, which need no model")
        files = [hypotheses, *others]
        scored = evaluate_outputs(files, reference, source, to or "", encoding, terms)
        show_evaluation(hypotheses, scored, report, as_json=json)
        return
    columns = pair_columns(column, source, reference)
    if (source is None) != (reference is None) and not columns:
        raise ConfigError("--input and --reference must be given together")
    if source is not None:
        of_split = {"--data-dir": data_dir, "--split": split != "test"}
        check_unused(of_split, "with --input, which is scored instead")
    where: dict[str, Any] = {"engine": engine, "number_format": number_format}
    where |= {"threads": threads, "device": device}
    EngineOptions(**where)  # raises the error for a wrong value
    bundle = find_bundle(model, backward=backward)
    has_languages = bool(bundle.manifest.known_languages.target)
    with console.counting() as tell:
        found = functions.evaluate(
            bundle,
            split=split,
            source=source,
            reference=reference,
            columns=columns,
            encoding=encoding,
            compare=others,
            noises=NOISES if noise else (),
            glossary=terms,
            data_dir=data_dir,
            target_lang=None if has_languages else to,
            to=to if has_languages else None,
            from_=from_,
            beam_size=beam,
            length_penalty=length_penalty,
            max_length=max_length,
            set=settings or [],
            on_progress=lambda done, total: tell("decoding", done, total),
            on_note=console.note,
            on_engine=console.note_engine if verbose else lambda _: None,
            **where,
        )
    show_evaluation(bundle.manifest.name, found, report, as_json=json)
