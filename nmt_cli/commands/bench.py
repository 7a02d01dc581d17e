"""`nmt bench`: start-up, latency, throughput and memory of a model on this machine."""

from typing import Any

from nmt_cli.errors import ConfigError, number_of
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

_HEAD = ("tokens/s", "p50 ms", "p95 ms", "start s", "memory MB")


def bench(
    model: opt.Model = None,
    input_file: str | None = opt.option("FILE", "Measure with these lines.", "--input -i"),
    data_dir: opt.DataDir = None,
    engine: opt.Engine = "auto",
    formats: opt.Formats = None,
    batch: str = opt.option("N,N,...", "Batch sizes, in sentences.", default="1,8,64"),
    to: opt.To = None,
    from_: opt.From = None,
    beam: opt.Beam = None,
    threads: opt.Threads = None,
    seconds: float = opt.option("S", "Longest time for one measurement.", default=5.0),
    json: opt.Json = False,
) -> None:
    """Measure how fast a model works here, with each engine and number format.

    Sentences come from --input, or from the model's development text. Each engine runs in its own
    process. Latency is the time of one batch, start the time of a whole command for one sentence,
    and memory the peak of the process. Tokens per second counts output tokens; for a classifier,
    which always runs on CTranslate2, input tokens.

    Example: nmt bench -i sentences.txt --format int8 --batch 1,32

    Example: nmt bench -m runs/sentiment --batch 1,256
    """
    import statistics

    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.evaluation.benchmark import engines_of, measure, search_options_of
    from nmt_cli.evaluation.number_formats import sentences
    from nmt_cli.search.loading import EngineOptions

    EngineOptions(engine=engine, threads=threads)  # raises the error for a wrong value
    batch_sizes = [int(size) if size.strip().isdecimal() else 0 for size in batch.split(",")]
    if min(batch_sizes) < 1:
        raise ConfigError(f"--batch must be a list of sizes such as 1,8,64 (it is {batch})")
    if not seconds > 0:
        raise ConfigError(f"--seconds must be above 0 (it is {seconds})")
    bundle = find_bundle(model)
    options = search_options_of(bundle, engine, beam, to, from_)
    direction = bundle.load_vocabularies().direction(from_, to)
    if options is not None:
        options = options.override(prefix=direction.output)
    texts, sources = sentences(bundle, input_file, data_dir, console.warn, direction)
    engines = engines_of(bundle, engine, formats, console.note)
    rows = []
    if not json:
        unit = "sentence" if options else "text"
        mean = statistics.mean(map(len, sources))
        facts = f"{number_of(len(sources), unit)} of {mean:.1f} tokens"
        facts += f", beam {options.beam_size}" if options else ""
        console.result(f"{bundle.named}: {bundle.manifest.parameters:,} parameters, {facts}")
        console.result(_line(("engine", "batch", f"{unit}s/s", *_HEAD)))
    for name, number_format in engines:
        where = EngineOptions(engine=name, number_format=number_format, threads=threads)
        rows.append(measure(bundle, where, texts[0], sources, options, batch_sizes, seconds))
        if not json:
            _show(rows[-1])
    if json:
        search = {"beam_size": options.beam_size} if options else {}
        console.result_json({"path": str(bundle.path)} | search | {"rows": rows})


def _show(row: dict[str, Any]) -> None:
    """Print an engine's rows; the first also shows what is the same for all of them."""
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
