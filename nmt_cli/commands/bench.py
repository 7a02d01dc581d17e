"""`nmt bench`: start-up, latency, throughput and memory of a model on this machine."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.terminal.options import (
    BeamOption,
    EngineOption,
    JsonOption,
    ModelOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.evaluation.benchmark import Rows
    from nmt_cli.search.options import SearchOptions

_MAX_SENTENCES = 1000
_START_UPS = 3
_HEAD = ("tokens/s", "p50 ms", "p95 ms", "start s", "memory MB")


def bench(
    model: ModelOption = None,
    input_file: Annotated[
        str | None, typer.Option("--input", "-i", metavar="FILE", help="Lines to measure with.")
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option("--data-dir", metavar="DIR", help="Where the dev data lies now.")
    ] = None,
    engine: EngineOption = "auto",
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="F", help="CTranslate2's; may be repeated. All it has."),
    ] = None,
    batch: Annotated[
        str, typer.Option("--batch", metavar="N,N,...", help="Sentences in a call.")
    ] = "1,8,64",
    beam: BeamOption = None,
    threads: ThreadsOption = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Longest time of one measurement.")
    ] = 5.0,
    json: JsonOption = False,
) -> None:
    """Measure how fast a model works here, with each engine and number format.

    Sentences come from --input, or from the model's development data. Each engine runs in a process
    of its own. Times are those of a call with one batch; start is a whole command for one sentence,
    memory the most that the process ever held. Tokens are those that are written, or that a
    classifier, which runs on CTranslate2 alone, reads.

    Example: nmt bench -i sentences.txt --format int8 --batch 1,32

    Example: nmt bench -m runs/sentiment --batch 1,256
    """
    import statistics

    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.errors import ConfigError
    from nmt_cli.search.loading import EngineOptions
    from nmt_cli.terminal import console

    EngineOptions(engine=engine, threads=threads)  # or the error that says what is wrong
    batch_sizes = [int(size) if size.strip().isdecimal() else 0 for size in batch.split(",")]
    if min(batch_sizes) < 1:
        raise ConfigError(f"--batch must be sizes such as 1,8,64 (it is {batch})")
    if not seconds > 0:
        raise ConfigError(f"--seconds must be above 0 (it is {seconds})")
    bundle = find_bundle(model)
    options = _options(bundle, engine, beam)
    texts, sources = _sentences(bundle, input_file, data_dir)
    rows = []
    if not json:
        unit = "sentences" if options else "texts"
        facts = f"{len(sources)} {unit} of {statistics.mean(map(len, sources)):.1f} tokens"
        facts += f", beam {options.beam_size}" if options else ""
        console.result(f"{bundle.path}: {bundle.manifest.parameters:,} parameters, {facts}")
        console.result(_line(("engine", "batch", f"{unit}/s", *_HEAD)))
    for name, number_format in _engines(bundle, engine, formats):
        where = (str(bundle.path), name, number_format, threads)
        found = _in_new_process(*where, sources, options, batch_sizes, seconds)
        found["start_up_seconds"] = _start_up(bundle, name, number_format, texts[0])
        rows.append({"engine": name, "format": number_format, **found})
        if not json:
            _show(rows[-1])
    if json:
        search = {"beam_size": options.beam_size} if options else {}
        console.result_json({"path": str(bundle.path)} | search | {"rows": rows})


def _options(bundle: "Bundle", engine: str, beam: int | None) -> "SearchOptions | None":
    """Return how a model searches; None of a classifier, which does not."""
    from nmt_cli.errors import ConfigError
    from nmt_cli.search.loading import search_options

    if not bundle.manifest.facts.has_labels:
        return search_options(bundle, beam_size=beam)
    if engine == "tensorflow" or beam is not None:
        raise ConfigError("--beam and --engine tensorflow are not for classifiers")
    return None


def _engines(
    bundle: "Bundle", engine: str, formats: list[str] | None
) -> list[tuple[str, str | None]]:
    """Return the engines and number formats to measure."""
    known = list(bundle.manifest.ctranslate2.get("formats", {}))
    rows: list[tuple[str, str | None]] = []
    is_classifier = bundle.manifest.facts.has_labels
    if engine != "tensorflow":
        names = formats or known or ([None] if is_classifier else [])
        rows += [("ctranslate2", name) for name in names]
        for _, name in rows:
            bundle.ctranslate2_folder(name)  # or the error that names those it has
    if engine == "tensorflow" or (engine == "auto" and not formats and not is_classifier):
        rows.append(("tensorflow", None))
    return rows


def _sentences(
    bundle: "Bundle", input_file: str | None, data_dir: str | None
) -> tuple[list[str], list[list[int]]]:
    """Return what to measure with: the texts that a user would type, and source ids."""
    import itertools

    from nmt_cli.config.reading import load_config
    from nmt_cli.errors import DataError
    from nmt_cli.evaluation.number_formats import dev_examples
    from nmt_cli.files import read_lines
    from nmt_cli.search.labeller import texts_of
    from nmt_cli.terminal import console
    from nmt_cli.text.shards import build_encoder
    from nmt_cli.text.vocabulary import Vocabularies

    num_texts = bundle.manifest.classification.get("texts", 1)
    overrides = [f"data.dir={data_dir}"] if data_dir else None
    loaded = load_config(str(bundle.path / "config.yaml"), overrides)
    encoder = build_encoder(loaded.config, Vocabularies.load(bundle.path))
    if input_file is None:
        turns = [example.source for example in dev_examples(loaded, console.warn)]
    else:
        lines = enumerate(read_lines(input_file), start=1)
        turns = [texts_of(line, num_texts, number) for number, line in lines if line.strip()]
    turns = list(itertools.islice(turns, _MAX_SENTENCES))
    if not turns:
        raise DataError("nothing to measure with", hint="give lines of text with --input FILE")
    room = bundle.manifest.model["max_length"]
    typed = ["\t".join(turn[-num_texts:]) for turn in turns]
    return typed, [ids[-room:] for ids in encoder.encode_sources(turns)]


def _in_new_process(*arguments: Any) -> dict[str, Any]:
    """Return what `_measure` does, alone in a process, whose memory is then its own."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, *arguments).result()


def _measure(
    path: str,
    engine: str,
    number_format: str | None,
    threads: int | None,
    sources: list[list[int]],
    options: "SearchOptions | None",
    batch_sizes: list[int],
    seconds: float,
) -> dict[str, Any]:
    import resource

    from nmt_cli.evaluation.benchmark import measure_speed

    run = _loaded(Path(path), engine, number_format, threads, options)
    speeds = [vars(measure_speed(run, sources, n, seconds)) for n in batch_sizes]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"speeds": speeds, "peak_memory_mb": peak / (1e6 if sys.platform == "darwin" else 1e3)}


def _loaded(
    path: Path,
    engine: str,
    number_format: str | None,
    threads: int | None,
    options: "SearchOptions | None",
) -> "Callable[[Rows], int]":
    """Return what searches, or gives labels, and counts tokens; see `measure_speed`."""
    from nmt_cli.api.model import Model
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.search.loading import EngineOptions

    where = EngineOptions(engine=engine, number_format=number_format, threads=threads)
    model = Model(open_bundle(path), where)
    if options is None:
        scorer = model.labeller.scorer

        def label(batch: "Rows") -> int:
            scorer.logits(batch)
            return sum(map(len, batch))

        return label
    loaded = model.engine

    def search(batch: "Rows") -> int:
        return sum(len(hypotheses[0].ids) for hypotheses in loaded.search(batch, options))

    return search


def _start_up(bundle: "Bundle", engine: str, number_format: str | None, text: str) -> float:
    """Return the median time of a whole command for one sentence, in seconds."""
    import statistics
    import subprocess

    command = [sys.executable, "-m", "nmt_cli", bundle.manifest.facts.command]
    command += ["-m", str(bundle.path)]
    command += [] if bundle.manifest.facts.has_labels else ["--engine", engine]
    command += ["--format", number_format] if number_format else []
    times = []
    for _ in range(_START_UPS):
        started = time.perf_counter()
        subprocess.run(  # noqa: S603 - this very program
            command, input=f"{text}\n".encode(), check=True, capture_output=True
        )
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _show(row: dict[str, Any]) -> None:
    """Print an engine's rows; what belongs to all of them stands in the first."""
    from nmt_cli.terminal import console

    name = " ".join(filter(None, (row["engine"], row["format"])))
    once = (f"{row['start_up_seconds']:.2f}", f"{row['peak_memory_mb']:,.0f}")
    for speed in row["speeds"]:
        rates = (f"{speed['sentences_per_second']:,.1f}", f"{speed['tokens_per_second']:,.0f}")
        times = (f"{speed['p50_ms']:,.1f}", f"{speed['p95_ms']:,.1f}")
        console.result(_line((name, str(speed["batch_size"]), *rates, *times, *once)))
        name, once = "", ("", "")


def _line(cells: tuple[str, ...]) -> str:
    first, *others = cells
    return " ".join([f"{first:<24}", *(f"{cell:>11}" for cell in others)]).rstrip()
