"""How fast an engine is: time per call, sentences and pieces a second, at several batch sizes."""

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt_cli.decoding.engine import Searcher
from nmt_cli.decoding.options import SearchOptions


@dataclass(frozen=True)
class Speed:
    """What calls with so many sources each took.

    Attributes:
        batch_size: Sources in a call.
        sentences_per_second: Of all calls together.
        tokens_per_second: Target pieces, with `</s>`, that the best hypotheses have.
        p50_ms: Median time of a call in milliseconds.
        p95_ms: What 95 % of the calls stayed below.
    """

    batch_size: int
    sentences_per_second: float
    tokens_per_second: float
    p50_ms: float
    p95_ms: float


def measure_speed(
    engine: Searcher,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    batch_size: int,
    max_seconds: float,
) -> Speed:
    """Search for the sources once, in input order, or for as many as the time allows.

    Args:
        engine: What searches; a first call warms it up and does not count.
        sources: Source ids with `</s>`; at least one.
        options: The search options.
        batch_size: Sources in a call; the last call may have fewer.
        max_seconds: No call begins later than this.
    """
    engine.search(sources[:batch_size], options)
    seconds: list[float] = []
    sentences = tokens = 0
    for batch in _batches(sources, batch_size):
        started = time.perf_counter()
        found = engine.search(batch, options)
        seconds.append(time.perf_counter() - started)
        sentences += len(batch)
        tokens += sum(len(hypotheses[0].ids) for hypotheses in found)
        if sum(seconds) > max_seconds:
            break
    return Speed(
        batch_size=batch_size,
        sentences_per_second=sentences / sum(seconds),
        tokens_per_second=tokens / sum(seconds),
        p50_ms=1000 * statistics.median(seconds),
        p95_ms=1000 * _percentile(seconds, 0.95),
    )


def _batches(sources: Sequence[Sequence[int]], size: int) -> Iterator[Sequence[Sequence[int]]]:
    for start in range(0, len(sources), size):
        yield sources[start : start + size]


def _percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]
