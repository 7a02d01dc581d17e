"""How fast a model is: time per call, sentences and tokens a second, at several batch sizes."""

import itertools
import math
import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.bundle.folder import Bundle, open_bundle
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.evaluation.number_formats import dev_examples
from nmt_cli.files import read_lines
from nmt_cli.search.labeller import texts_of
from nmt_cli.search.loading import EngineOptions, load_engine, load_labeller, search_options
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.encoders import build_encoder
from nmt_cli.text.vocabulary import Vocabularies

Rows = Sequence[Sequence[int]]
_MAX_SENTENCES = 1000
_START_UPS = 3


@dataclass(frozen=True)
class Speed:
    """What calls with so many sources each took.

    Attributes:
        batch_size: Sources in a call.
        sentences_per_second: Of all calls together.
        tokens_per_second: Tokens, as `measure_speed` is told to count them.
        p50_ms: Median time of a call in milliseconds.
        p95_ms: What 95 % of the calls stayed below.
    """

    batch_size: int
    sentences_per_second: float
    tokens_per_second: float
    p50_ms: float
    p95_ms: float


def measure_speed(
    run: Callable[[Rows], int], sources: Rows, batch_size: int, max_seconds: float
) -> Speed:
    """Run a model over the sources once, in input order, or over as many as the time allows.

    Args:
        run: Takes sources and returns how many tokens came of it: those of the best hypotheses, or
            of what a classifier read. A first call warms it up and does not count.
        sources: Source ids with `</s>`; at least one.
        batch_size: Sources in a call; the last call may have fewer.
        max_seconds: No call begins later than this.
    """
    run(sources[:batch_size])
    seconds: list[float] = []
    sentences = tokens = 0
    for batch in _batches(sources, batch_size):
        started = time.perf_counter()
        count = run(batch)
        seconds.append(time.perf_counter() - started)
        sentences += len(batch)
        tokens += count
        if sum(seconds) > max_seconds:
            break
    return Speed(
        batch_size=batch_size,
        sentences_per_second=sentences / sum(seconds),
        tokens_per_second=tokens / sum(seconds),
        p50_ms=1000 * statistics.median(seconds),
        p95_ms=1000 * _percentile(seconds, 0.95),
    )


def _batches(sources: Rows, size: int) -> Iterator[Rows]:
    for start in range(0, len(sources), size):
        yield sources[start : start + size]


def _percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def benched_options(bundle: Bundle, engine: str, beam: int | None) -> SearchOptions | None:
    """Return how a model searches; None of a classifier, which does not."""
    if not bundle.manifest.facts.has_labels:
        return search_options(bundle, beam_size=beam)
    if engine == "tensorflow" or beam is not None:
        raise ConfigError("--beam and --engine tensorflow are not for classifiers")
    return None


def benched_engines(
    bundle: Bundle, engine: str, formats: list[str] | None
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


def benched_sentences(
    bundle: Bundle,
    input_file: str | None,
    data_dir: str | None,
    on_warning: Callable[[str], None],
) -> tuple[list[str], list[list[int]]]:
    """Return what to measure with: the texts that a user would type, and source ids."""
    num_texts = bundle.manifest.classification.get("texts", 1)
    overrides = [f"data.dir={data_dir}"] if data_dir else None
    loaded = load_config(str(bundle.path / "config.yaml"), overrides)
    encoder = build_encoder(loaded.config, Vocabularies.load(bundle.path))
    if input_file is None:
        turns = [example.source for example in dev_examples(loaded, on_warning)]
    else:
        lines = enumerate(read_lines(input_file), start=1)
        turns = [texts_of(line, num_texts, number) for number, line in lines if line.strip()]
    turns = list(itertools.islice(turns, _MAX_SENTENCES))
    if not turns:
        raise DataError("nothing to measure with", hint="give lines of text with --input FILE")
    room = bundle.manifest.model["max_length"]
    typed = ["\t".join(turn[-num_texts:]) for turn in turns]
    return typed, [ids[-room:] for ids in encoder.encode_sources(turns)]


def measure_apart(*arguments: Any) -> dict[str, Any]:
    """Return what `_measure` does, alone in a process, whose memory is then its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, *arguments).result()


def _measure(
    path: str,
    engine: str,
    number_format: str | None,
    threads: int | None,
    sources: list[list[int]],
    options: SearchOptions | None,
    batch_sizes: list[int],
    seconds: float,
) -> dict[str, Any]:

    run = _loaded(Path(path), engine, number_format, threads, options)
    speeds = [vars(measure_speed(run, sources, n, seconds)) for n in batch_sizes]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"speeds": speeds, "peak_memory_mb": peak / (1e6 if sys.platform == "darwin" else 1e3)}


def _loaded(
    path: Path,
    engine: str,
    number_format: str | None,
    threads: int | None,
    options: SearchOptions | None,
) -> Callable[[Rows], int]:
    """Return what searches, or gives labels, and counts tokens; see `measure_speed`."""
    where = EngineOptions(engine=engine, number_format=number_format, threads=threads)
    bundle = open_bundle(path)
    if options is None:
        scorer = load_labeller(bundle, where).scorer

        def label(batch: Rows) -> int:
            scorer.logits(batch)
            return sum(map(len, batch))

        return label
    loaded = load_engine(bundle, Vocabularies.load(path), where)

    def search(batch: Rows) -> int:
        return sum(len(hypotheses[0].ids) for hypotheses in loaded.search(batch, options))

    return search


def start_up_seconds(bundle: Bundle, engine: str, number_format: str | None, text: str) -> float:
    """Return the median time of a whole command for one sentence, in seconds."""
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
