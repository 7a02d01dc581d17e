"""`nmt bench`: start-up, latency, throughput and memory of a model on this machine."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.commands.loading import (
    BeamOption,
    EngineOption,
    JsonOption,
    ModelOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.bundle import Bundle
    from nmt_cli.decoding.options import SearchOptions

_MAX_SENTENCES = 1000
_START_UPS = 3
_HEAD = ("engine", "batch", "sentences/s", "tokens/s", "p50 ms", "p95 ms", "start s", "memory MB")


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
    """Measure how fast a model translates or answers here, with each engine and number format.

    Sentences come from --input, or from the model's development data. Each engine runs in a process
    of its own. Times are those of a call with one batch; start is a whole command for one sentence,
    memory the most that the process ever held.

    Example: nmt bench -i sentences.txt --format int8 --batch 1,32
    """
    import statistics

    from nmt_cli import console
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import check_engine, search_options
    from nmt_cli.errors import ConfigError

    check_engine(engine)
    batch_sizes = [int(size) if size.strip().isdecimal() else 0 for size in batch.split(",")]
    if min(batch_sizes) < 1:
        raise ConfigError(f"--batch must be sizes such as 1,8,64 (it is {batch})")
    if not seconds > 0:
        raise ConfigError(f"--seconds must be above 0 (it is {seconds})")
    bundle = find_bundle(model, ("translation", "chat"))
    options = search_options(bundle, beam_size=beam)
    texts, sources = _sentences(bundle, input_file, data_dir)
    rows = []
    if not json:
        pieces = statistics.mean(map(len, sources))
        facts = f"{len(sources)} sentences of {pieces:.1f} pieces, beam {options.beam_size}"
        console.result(f"{bundle.path}: {bundle.manifest.parameters:,} parameters, {facts}")
        console.result(_line(_HEAD))
    for name, number_format in _engines(bundle, engine, formats):
        where = (str(bundle.path), name, number_format, threads)
        found = _in_new_process(*where, sources, options, batch_sizes, seconds)
        found["start_up_seconds"] = _start_up(bundle, name, number_format, texts[0])
        rows.append({"engine": name, "format": number_format, **found})
        if not json:
            _show(rows[-1])
    if json:
        console.result_json(
            {"path": str(bundle.path), "beam_size": options.beam_size, "rows": rows}
        )


def _engines(
    bundle: "Bundle", engine: str, formats: list[str] | None
) -> list[tuple[str, str | None]]:
    """Return the engines and number formats to measure."""
    known = list(bundle.manifest.ctranslate2.get("formats", {}))
    rows: list[tuple[str, str | None]] = []
    if engine != "tensorflow":
        rows += [("ctranslate2", name) for name in formats or known]
        for _, name in rows:
            bundle.ctranslate2_folder(name)  # or the error that names those it has
    if engine == "tensorflow" or (engine == "auto" and not formats):
        rows.append(("tensorflow", None))
    return rows


def _sentences(
    bundle: "Bundle", input_file: str | None, data_dir: str | None
) -> tuple[list[str], list[list[int]]]:
    """Return what to measure with: the texts that a user would type, and source ids."""
    import itertools

    from nmt_cli.commands.loading import dev_examples
    from nmt_cli.config_io import load_config
    from nmt_cli.errors import DataError
    from nmt_cli.files import read_lines
    from nmt_cli.text.encoders import build_encoder
    from nmt_cli.text.vocabulary import Vocabularies

    overrides = [f"data.dir={data_dir}"] if data_dir else None
    loaded = load_config(str(bundle.path / "config.yaml"), overrides)
    encoder = build_encoder(loaded.config, Vocabularies.load(bundle.path))
    if input_file is None:
        turns = [example.source for example in dev_examples(loaded)]
    else:
        turns = [(line,) for line in read_lines(input_file) if line.strip()]
    turns = list(itertools.islice(turns, _MAX_SENTENCES))
    if not turns:
        raise DataError("nothing to measure with", hint="give lines of text with --input FILE")
    room = bundle.manifest.model["max_length"]
    return [turn[-1] for turn in turns], [ids[-room:] for ids in encoder.encode_sources(turns)]


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
    options: "SearchOptions",
    batch_sizes: list[int],
    seconds: float,
) -> dict[str, Any]:
    import resource

    from nmt_cli.bundle import open_bundle
    from nmt_cli.commands.loading import load_model
    from nmt_cli.decoding.benchmark import measure_speed

    loaded, _ = load_model(
        open_bundle(Path(path)), engine=engine, number_format=number_format, threads=threads
    )
    speeds = [vars(measure_speed(loaded, sources, options, n, seconds)) for n in batch_sizes]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"speeds": speeds, "peak_memory_mb": peak / (1e6 if sys.platform == "darwin" else 1e3)}


def _start_up(bundle: "Bundle", engine: str, number_format: str | None, text: str) -> float:
    """Return the median time of a whole command for one sentence, in seconds."""
    import statistics
    import subprocess

    command = [sys.executable, "-m", "nmt_cli"]
    command += ["chat" if bundle.manifest.task == "chat" else "translate"]
    command += ["-m", str(bundle.path), "--engine", engine]
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
    from nmt_cli import console

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
