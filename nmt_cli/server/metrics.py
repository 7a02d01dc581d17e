"""What a server counts, as Prometheus reads it (text format 0.0.4)."""

import bisect
import threading
from collections import Counter
from collections.abc import Iterable

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class _Histogram:
    """Counts of values up to each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect.bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        total = 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self._sum:.6f}"
        yield f"{name}_count{{{labels}}} {total}"


class Metrics:
    """Counts requests and batches; may be told from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._latency: dict[str, _Histogram] = {}
        self._sizes: dict[str, _Histogram] = {}
        self._batches: dict[str, _Histogram] = {}
        self._tokens: Counter[str] = Counter()

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[path, status] += 1
            self._latency.setdefault(path, _Histogram(_SECONDS)).add(seconds)

    def batch(self, model: str, size: int, seconds: float) -> None:
        """Count a batch of so many texts."""
        with self._lock:
            self._sizes.setdefault(model, _Histogram(_SIZES)).add(size)
            self._batches.setdefault(model, _Histogram(_SECONDS)).add(seconds)

    def tokens(self, model: str, count: int) -> None:
        """Count tokens that a model wrote."""
        with self._lock:
            self._tokens[model] += count

    def text(self, waiting: dict[str, int]) -> str:
        """Return all counts.

        Args:
            waiting: Texts that wait for each model now.
        """
        with self._lock:
            lines = ["# TYPE nmt_requests_total counter"]
            lines += [
                f'nmt_requests_total{{path="{path}",status="{status}"}} {count}'
                for (path, status), count in sorted(self._requests.items())
            ]
            for name, label, histograms in (
                ("nmt_request_seconds", "path", self._latency),
                ("nmt_batch_texts", "model", self._sizes),
                ("nmt_batch_seconds", "model", self._batches),
            ):
                lines.append(f"# TYPE {name} histogram")
                for key, histogram in histograms.items():
                    lines += histogram.lines(name, f'{label}="{_escaped(key)}"')
            lines.append("# TYPE nmt_tokens_total counter")
            lines += [
                f'nmt_tokens_total{{model="{_escaped(name)}"}} {count}'
                for name, count in self._tokens.items()
            ]
            lines.append("# TYPE nmt_waiting_texts gauge")
            lines += [
                f'nmt_waiting_texts{{model="{_escaped(name)}"}} {count}'
                for name, count in waiting.items()
            ]
        return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
