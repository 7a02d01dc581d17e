"""How fast a model is here: start-up, time per call, sentences and tokens a second, memory."""

import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.bundle.folder import Bundle, open_bundle
from nmt_cli.errors import ConfigError, NmtError
from nmt_cli.model.tensorflow_setup import check_installed
from nmt_cli.search.engine import Rows
from nmt_cli.search.loading import EngineOptions, load_engine, load_labeller, search_options
from nmt_cli.search.options import SearchOptions

_START_UPS = 3


@dataclass(frozen=True)
class Speed:
    """What calls with so many sources each took."""

    batch_size: int  # sources in a call
    sentences_per_second: float  # of all calls together
    tokens_per_second: float  # tokens, as `measure_speed` is told to count them
    p50_ms: float  # median time of a call in milliseconds
    p95_ms: float  # what 95 % of the calls stayed below


def search_options_of(
    bundle: Bundle, engine: str, beam: int | None, to: str | None, from_: str | None
) -> SearchOptions | None:
    """Return how a model searches; None of a classifier, which does not."""
    if not bundle.manifest.facts.has_labels:
        return search_options(bundle, beam_size=beam, to=to, from_=from_)
    if engine == "tensorflow" or beam is not None:
        raise ConfigError("--beam and --engine tensorflow are not for classifiers")
    return None


def engines_of(
    bundle: Bundle,
    engine: str,
    formats: list[str] | None,
    on_note: Callable[[str], None] = lambda _: None,
) -> list[tuple[str, str | None]]:
    """Return the engines and number formats to measure; `on_note` is told of what cannot be.

    Raises:
        ModelFileError: The model lacks what an engine that was asked for needs, or the only one.
        NmtError: TensorFlow is needed and not installed.
    """
    is_classifier = bundle.manifest.facts.has_labels
    rows: list[tuple[str, str | None]] = []
    if engine != "tensorflow":
        known = list(bundle.manifest.ctranslate2.get("formats", {}))
        for name in formats or known or ([None] if is_classifier else []):
            bundle.ctranslate2_folder(name)  # or the error that names those it has
            rows.append(("ctranslate2", name))
    if engine == "tensorflow" or (engine == "auto" and not formats and not is_classifier):
        try:
            bundle.check_has_weights()
            check_installed()
            rows.append(("tensorflow", None))
        except NmtError as error:
            if not rows:
                raise
            on_note(f"tensorflow is left out: {error}")
    return rows


def measure(
    bundle: Bundle,
    where: EngineOptions,
    text: str,
    sources: Rows,
    options: SearchOptions | None,
    *work: Any,
) -> dict[str, Any]:
    """Return what an engine takes, alone in a process, whose memory is then its own.

    A whole command is timed with a text, all else with source ids; `work` is batch sizes and
    seconds, as `_measured` takes them.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(_measured, bundle.path, where, sources, options, *work).result()
    start_up = {"start_up_seconds": _start_up(bundle, where, text, options)}
    return {"engine": where.engine, "format": where.number_format} | found | start_up


def _measured(
    path: Path,
    where: EngineOptions,
    sources: Rows,
    options: SearchOptions | None,
    batch_sizes: list[int],
    seconds: float,
) -> dict[str, Any]:
    run = _loaded(open_bundle(path), where, options)
    speeds = [vars(measure_speed(run, sources, n, seconds)) for n in batch_sizes]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"speeds": speeds, "peak_memory_mb": peak / (1e6 if sys.platform == "darwin" else 1e3)}


def _loaded(
    bundle: Bundle, where: EngineOptions, options: SearchOptions | None
) -> Callable[[Rows], int]:
    """Return what searches, or gives labels, and counts tokens; see `measure_speed`."""
    if options is None:
        scorer = load_labeller(bundle, where).scorer

        def label(batch: Rows) -> int:
            scorer.logits(batch)
            return sum(map(len, batch))

        return label
    engine = load_engine(bundle, bundle.load_vocabularies(), where)
    return lambda batch: sum(len(found[0].ids) for found in engine.search(batch, options))


def _start_up(
    bundle: Bundle, where: EngineOptions, text: str, options: SearchOptions | None
) -> float:
    """Return the median time of a whole command for one sentence, in seconds."""
    facts = bundle.manifest.facts
    command = [sys.executable, "-m", "nmt_cli", facts.command, "-m", str(bundle.path)]
    command += [] if facts.has_labels else ["--engine", where.engine]
    command += ["--format", where.number_format] if where.number_format else []
    if options is not None and (options.to or options.from_):
        command += ["--to", options.to or "", "--from", options.from_ or ""]
    times = []
    for _ in range(_START_UPS):
        started = time.perf_counter()
        subprocess.run(  # noqa: S603 - this very program
            command, input=f"{text}\n".encode(), check=True, capture_output=True
        )
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def measure_speed(
    run: Callable[[Rows], int], sources: Rows, batch_size: int, max_seconds: float
) -> Speed:
    """Run a model over the sources once, in input order, or over as many as the time allows.

    `run` returns how many tokens came of some sources: those of the best hypotheses, or those that
    a classifier read. A first call warms it up and does not count; none begins after `max_seconds`.
    """
    run(sources[:batch_size])
    seconds: list[float] = []
    sentences = tokens = 0
    for first in range(0, len(sources), batch_size):
        batch = sources[first : first + batch_size]
        started = time.perf_counter()
        tokens += run(batch)
        seconds.append(time.perf_counter() - started)
        sentences += len(batch)
        if sum(seconds) > max_seconds:
            break
    return Speed(
        batch_size=batch_size,
        sentences_per_second=sentences / sum(seconds),
        tokens_per_second=tokens / sum(seconds),
        p50_ms=1000 * float(np.median(seconds)),
        p95_ms=1000 * float(np.quantile(seconds, 0.95, method="inverted_cdf")),
    )
