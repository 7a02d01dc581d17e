"""How fast a model is: time per call, sentences and tokens a second, at several batch sizes."""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Rows = Sequence[Sequence[int]]


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
