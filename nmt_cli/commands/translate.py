"""`nmt translate`: arguments, a file or stdin, or an interactive prompt on a terminal."""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from nmt_cli.commands.loading import (
    BatchOption,
    BeamOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    JsonOption,
    LengthPenaltyOption,
    MaxLengthOption,
    ModelOption,
    SearchSetOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.bundle import Bundle
    from nmt_cli.decoding.engine import Engine
    from nmt_cli.decoding.translator import Translation
    from nmt_cli.text.sentences import Splitter
    from nmt_cli.text.vocabulary import Vocabularies

_MENDS: dict[str, Callable[[bytes], str] | None] = {
    "stop": None,
    "replace": lambda raw: raw.decode("utf-8", errors="replace"),
    "skip-as-blank": lambda raw: "",
}


def translate(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Sentences to translate.")
    ] = None,
    model: ModelOption = None,
    input_file: Annotated[
        str | None, typer.Option("--input", "-i", metavar="FILE", help="Read lines; - is stdin.")
    ] = None,
    output_file: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write lines here.")
    ] = None,
    beam: BeamOption = None,
    n_best: Annotated[
        int | None, typer.Option("--n-best", metavar="N", help="Print the N best with scores.")
    ] = None,
    length_penalty: LengthPenaltyOption = None,
    max_length: MaxLengthOption = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="TEXT", help="Begin every output with this.")
    ] = None,
    suppress: Annotated[
        list[str] | None,
        typer.Option("--suppress", metavar="TEXT", help="Never write this; may be repeated."),
    ] = None,
    settings: SearchSetOption = None,
    align: Annotated[
        bool, typer.Option("--align", help="Add word pairs, source-target; attention with --json.")
    ] = False,
    token_scores: Annotated[
        bool, typer.Option("--token-scores", help="Add each piece's log-probability to --json.")
    ] = False,
    attention: Annotated[
        str | None,
        typer.Option(
            "--attention", metavar="FILE", help="Draw all heads: .html, .png or .svg; one sentence."
        ),
    ] = None,
    no_split: Annotated[
        bool, typer.Option("--no-split", help="Do not split long lines into sentences.")
    ] = False,
    on_error: Annotated[
        str,
        typer.Option("--on-error", metavar="WHAT", help="Not UTF-8: stop, replace, skip-as-blank."),
    ] = "stop",
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    batch_tokens: BatchOption = None,
    json: JsonOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Tell which engine was chosen, and why.")
    ] = False,
) -> None:
    """Translate sentences, a file, standard input, or what you type at a prompt.

    Every input line gives one output line, in order. Lines longer than what the model was trained
    on are split into sentences. --set reaches every search option: sample, temperature, top_k,
    top_p, seed, coverage_penalty, min_length, min_length_ratio, max_length_ratio,
    no_repeat_ngram_size, repetition_penalty.

    Example: nmt translate "The old man reads a book." --beam 5 --n-best 3
    """
    from nmt_cli import console
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import load_model, search_options
    from nmt_cli.commands.translate_prompt import TranslatePrompt
    from nmt_cli.commands.translation_lines import TranslationLines
    from nmt_cli.decoding.translator import Translator, suppressed_ids
    from nmt_cli.errors import ConfigError

    mend = _mend(on_error)
    if text and input_file:
        raise ConfigError("give either sentences or --input, not both")
    if token_scores and not json:
        raise ConfigError("--token-scores needs --json")
    if attention is not None:
        _check_attention(text, attention)
    bundle = find_bundle(model, ("translation",))
    wide = max(n_best, bundle.manifest.decode["beam_size"]) if n_best and beam is None else beam
    flags = {"beam_size": wide, "n_best": n_best, "length_penalty": length_penalty}
    options = search_options(bundle, settings, **flags, max_length=max_length)
    loaded, vocabularies = load_model(
        bundle,
        engine=engine,
        number_format=number_format,
        threads=threads,
        device=device,
        batch_tokens=batch_tokens,
        verbose=verbose,
    )
    options = options.override(
        prefix=tuple(vocabularies.target.encode(prefix)) if prefix else None,
        suppressed=suppressed_ids(vocabularies.target, suppress) if suppress else None,
    )
    splitter = None if no_split else _splitter(bundle)
    translator = Translator(loaded, vocabularies, splitter=splitter, on_warning=console.warn)
    lines = TranslationLines(
        loaded, vocabularies, json=json, n_best=bool(n_best), align=align, scores=token_scores
    )
    if not text and input_file is None and sys.stdin.isatty():
        TranslatePrompt(translator, vocabularies, options, lines).run()
        return
    windows = _windows(text, input_file, mend)
    with _output(output_file) as stream, _progress(input_file, output_file) as advance:
        for translation in translator.translate_windows(windows, options):
            stream.write(lines.of(translation))
            if stream is sys.stdout:
                stream.flush()
            advance(translation)
    if attention is not None:
        native = loaded if engine == "tensorflow" else None
        _draw_attention(bundle, vocabularies, translation, attention, native)


def _check_attention(text: list[str] | None, output: str) -> None:
    from nmt_cli.commands.pictures import check_output
    from nmt_cli.errors import ConfigError

    check_output(output)
    if text is None or len(text) != 1 or not text[0].strip():
        raise ConfigError("--attention draws one sentence: give it as the argument")


def _draw_attention(
    bundle: "Bundle",
    vocabularies: "Vocabularies",
    translation: "Translation",
    output: str,
    engine: "Engine | None",
) -> None:
    from nmt_cli import console
    from nmt_cli.commands.pictures import attention_of_ids, show

    part, *others = translation.hypotheses[0].parts
    if others:
        console.warn(f"the line has {1 + len(others)} parts; the picture shows the first")
    show(attention_of_ids(bundle, vocabularies, (part.source, part.target), engine), output)


def _mend(on_error: str) -> Callable[[bytes], str] | None:
    """Return what makes text of a line that is not UTF-8; None stops there."""
    from nmt_cli.errors import ConfigError, did_you_mean

    if on_error not in _MENDS:
        hint = did_you_mean(on_error, _MENDS)
        raise ConfigError(f"--on-error must be {', '.join(_MENDS)} (it is {on_error}).{hint}")
    return _MENDS[on_error]


def _splitter(bundle: "Bundle") -> "Splitter":
    from nmt_cli.text.sentences import Splitter

    manifest = bundle.manifest
    longest = manifest.training.get("long_source", manifest.model["max_length"])
    return Splitter(manifest.source_lang, int(longest))


def _windows(
    text: list[str] | None, input_file: str | None, mend: Callable[[bytes], str] | None
) -> Iterable[list[str]]:
    """Return the input lines, in windows: of a file as full as may be, of a pipe as they come."""
    from nmt_cli.decoding.windows import arriving_windows, full_windows
    from nmt_cli.files import read_lines

    if text:
        return full_windows(map(_one_line, text))
    lines = read_lines(input_file or "-", mend)
    is_whole = input_file not in (None, "-") or stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    return full_windows(lines) if is_whole else arriving_windows(lines)


def _one_line(argument: str) -> str:
    from nmt_cli.errors import ConfigError

    try:
        argument.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError("TEXT is not valid UTF-8") from error
    return " ".join(argument.splitlines()) if "\n" in argument else argument


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[IO[str]]:
    from nmt_cli.errors import DataError
    from nmt_cli.files import atomic_text, os_errors_as

    if path is None or path == "-":
        yield sys.stdout
        return
    with os_errors_as(DataError, f"{path}: cannot be written"), atomic_text(Path(path)) as stream:
        yield stream


@contextlib.contextmanager
def _progress(
    input_file: str | None, output_file: str | None
) -> Iterator[Callable[["Translation"], None]]:
    """Show lines, rate and time left while a file is written; results on a terminal show enough."""
    from nmt_cli import console

    with contextlib.ExitStack() as stack:
        facts = "{task.fields[facts]}"
        progress = stack.enter_context(console.live_progress(facts)) if output_file else None
        if progress is None:
            yield lambda _: None
            return
        started, lines, size = time.monotonic(), 0, _size(input_file)
        task = progress.add_task("translating", total=size, facts="")

        def advance(translation: "Translation") -> None:
            nonlocal lines
            lines += 1
            rate = lines / (time.monotonic() - started)
            num_bytes = len(translation.source.encode()) + 1
            progress.update(task, advance=num_bytes, facts=f"{lines:,} lines {rate:,.0f} lines/s")

        yield advance


def _size(input_file: str | None) -> int | None:
    """Return the bytes to be read, or None where they cannot be known."""
    if input_file in (None, "-") or str(input_file).endswith(".gz"):
        return None
    path = Path(str(input_file))
    return path.stat().st_size if path.is_file() else None
