"""What a server counts, as Prometheus reads it."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counts requests, batches and tokens; may be told from any thread.

    Attributes:
        requests: By path and HTTP status.
        latency: Seconds until an answer has been sent, by path.
        batch_texts: Texts in a batch, by model.
        batch_seconds: Seconds that a batch took, by model.
        tokens: Written, by model.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("nmt_requests", "Requests.", ["path", "status"], registry=registry)
        self.latency = Histogram(
            "nmt_request_seconds", "Time to an answer.", ["path"], registry=registry
        )
        self.batch_texts = Histogram(
            "nmt_batch_texts", "Texts in a batch.", ["model"], buckets=_SIZES, registry=registry
        )
        self.batch_seconds = Histogram(
            "nmt_batch_seconds", "Time of a batch.", ["model"], registry=registry
        )
        self.tokens = Counter("nmt_tokens", "Tokens written.", ["model"], registry=registry)
        self._waiting = Gauge(
            "nmt_waiting_texts", "Texts that are waiting.", ["model"], registry=registry
        )

    def text(self, waiting: dict[str, int]) -> str:
        """Return all counts.

        Args:
            waiting: Texts that wait for each model now.
        """
        for model, count in waiting.items():
            self._waiting.labels(model).set(count)
        return generate_latest(self._registry).decode()
