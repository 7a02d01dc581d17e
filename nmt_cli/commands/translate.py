"""`nmt translate`: arguments, a file or stdin, or an interactive prompt on a terminal."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as shared
from nmt_cli.terminal.lines import (
    TranslationLines,
    check_attention,
    file_progress,
    input_windows,
    mend_of,
    output_stream,
)
from nmt_cli.terminal.options import open_model
from nmt_cli.terminal.pictures import show
from nmt_cli.terminal.prompts import TranslatePrompt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nmt_cli.api.model import Model
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import Translation
    from nmt_cli.terminal.lines import TranslationLines
    from nmt_cli.text.tokenizer import Subwords


NBestOption = Annotated[
    int | None, typer.Option("--n-best", metavar="N", help="Print the N best with scores.")
]
PrefixOption = Annotated[
    str | None, typer.Option("--prefix", metavar="TEXT", help="Begin every output with this.")
]
SuppressOption = Annotated[
    list[str] | None,
    typer.Option("--suppress", metavar="TEXT", help="Never write this; may be repeated."),
]
AlignOption = Annotated[
    bool, typer.Option("--align", help="Add word pairs, source-target; attention with --json.")
]
TokenScoresOption = Annotated[
    bool, typer.Option("--token-scores", help="Add each token's log-probability to --json.")
]
AttentionOption = Annotated[
    str | None,
    typer.Option(
        "--attention", metavar="FILE", help="Draw all heads: .html, .png or .svg; one sentence."
    ),
]
NoSplitOption = Annotated[
    bool, typer.Option("--no-split", help="Do not split long lines into sentences.")
]


def translate(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Sentences to translate.")
    ] = None,
    model: shared.ModelOption = None,
    input_file: shared.InputOption = None,
    output_file: shared.OutputOption = None,
    beam: shared.BeamOption = None,
    n_best: NBestOption = None,
    length_penalty: shared.LengthPenaltyOption = None,
    max_length: shared.MaxLengthOption = None,
    prefix: PrefixOption = None,
    suppress: SuppressOption = None,
    settings: shared.SearchSetOption = None,
    align: AlignOption = False,
    token_scores: TokenScoresOption = False,
    attention: AttentionOption = None,
    no_split: NoSplitOption = False,
    on_error: shared.OnErrorOption = "stop",
    encoding: shared.EncodingOption = "utf-8",
    column: shared.ColumnOption = None,
    engine: shared.EngineOption = "auto",
    number_format: shared.FormatOption = None,
    threads: shared.ThreadsOption = None,
    device: shared.DeviceOption = "auto",
    batch_tokens: shared.BatchOption = None,
    json: shared.JsonOption = False,
    verbose: shared.VerboseOption = False,
) -> None:
    """Translate sentences, a file, standard input, or what you type at a prompt.

    Every input line gives one output line, in order. Lines longer than what the model was trained
    on are split into sentences. --set reaches every search option: sample, temperature, top_k,
    top_p, seed, coverage_penalty, min_length, min_length_ratio, max_length_ratio,
    no_repeat_ngram_size, repetition_penalty.

    Example: nmt translate "The old man reads a book." --beam 5 --n-best 3
    """
    from nmt_cli.search.loading import EngineOptions

    mend = mend_of(on_error)
    _check(text, input_file, attention, needs_json=token_scores and not json)
    engine_options = EngineOptions(
        engine=engine,
        number_format=number_format,
        threads=threads,
        device=device,
        batch_tokens=batch_tokens,
    )
    loaded = open_model(model, TRANSLATION, engine_options)
    options = loaded.search_options(
        settings or (),
        beam_size=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        max_length=max_length,
    )
    if verbose:
        console.note_engine(loaded.engine_description)
    options = _with_words(options, loaded.vocabularies.target, prefix, suppress)
    translator = loaded.translator(split=not no_split)
    lines = TranslationLines(
        loaded, json=json, n_best=bool(n_best), align=align, scores=token_scores
    )
    if not text and input_file is None and sys.stdin.isatty():
        TranslatePrompt(translator, options, lines).run()
        return
    translations = translator.translate_windows(
        input_windows(text, input_file, mend, encoding, column), options
    )
    last = _write(translations, lines, input_file, output_file)
    if attention is not None and last is not None:
        _draw_attention(loaded, last, attention)


def _check(
    text: list[str] | None, input_file: str | None, attention: str | None, *, needs_json: bool
) -> None:
    """Refuse options that do not go together, before anything is loaded."""
    if text and input_file:
        raise ConfigError("give either sentences or --input, not both")
    if needs_json:
        raise ConfigError("--token-scores needs --json")
    if attention is not None:
        check_attention(text, attention)


def _with_words(
    options: "SearchOptions", target: "Subwords", prefix: str | None, suppress: list[str] | None
) -> "SearchOptions":
    """Return options with what outputs begin with, and what they never say."""
    from nmt_cli.search.translator import suppressed_ids

    return options.override(
        prefix=tuple(target.encode(prefix)) if prefix else None,
        suppressed=suppressed_ids(target, suppress) if suppress else None,
    )


def _write(
    translations: "Iterable[Translation]",
    lines: "TranslationLines",
    input_file: str | None,
    output_file: str | None,
) -> "Translation | None":
    """Write translations as they come; return the last one."""
    translation = None
    progress = file_progress("translating", input_file, output_file)
    with output_stream(output_file) as stream, progress as advance:
        for translation in translations:
            stream.write(lines.of(translation))
            if stream is sys.stdout:
                stream.flush()
            advance(translation.source)
    return translation


def _draw_attention(model: "Model", translation: "Translation", output: str) -> None:
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_ids

    part, *others = translation.hypotheses[0].parts
    if others:
        console.warn(f"the line has {1 + len(others)} parts; the picture shows the first")
    ids = part.source, part.target
    found = attended_ids(model.bundle, model.vocabularies, ids, model.engine)
    show(attention_of(found), output)
