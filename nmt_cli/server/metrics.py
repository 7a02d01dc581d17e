"""What a server counts, as Prometheus reads it. May be told from any thread."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()  # its own: the usual one also counts what Python does
REQUESTS = Counter("nmt_requests", "Requests.", ["path", "status"], registry=REGISTRY)
LATENCY = Histogram("nmt_request_seconds", "Time to an answer.", ["path"], registry=REGISTRY)
BATCH_TEXTS = Histogram(
    "nmt_batch_texts",
    "Texts in a batch.",
    ["model"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    registry=REGISTRY,
)
BATCH_SECONDS = Histogram("nmt_batch_seconds", "Time of a batch.", ["model"], registry=REGISTRY)
TOKENS = Counter("nmt_tokens", "Tokens written.", ["model"], registry=REGISTRY)
WAITING = Gauge("nmt_waiting_texts", "Texts that are waiting.", ["model"], registry=REGISTRY)
