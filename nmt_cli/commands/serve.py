"""`nmt serve`: models on the network, for programs and in a browser."""

import sys
from pathlib import Path

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def serve(
    model: list[str] | None = opt.option("DIR", "A model; may be repeated.", "--model -m"),
    host: str = opt.option("H", "Address to listen on; 0.0.0.0 is all.", default="127.0.0.1"),
    port: int = opt.option("N", "Port; 0 takes a free one.", "--port -p", default=5000),
    api_key_file: str | None = opt.option("FILE", "API keys to accept, one per line."),
    allow_origin: list[str] | None = opt.option("URL", "Accept requests from its pages."),
    suggestions: str | None = opt.option("FILE", "Save suggestions as JSONL."),
    batch_tokens: opt.Batch = None,
    batch_wait: float = opt.option("MS", "Wait this long for more texts.", default=2.0),
    max_characters: int = opt.option("N", "Limit for one request.", default=100_000),
    queue_characters: int = opt.option("N", "Limit for waiting texts.", default=200_000),
    quota: int = opt.option("N", "Characters for DeepL clients.", default=1_000_000_000_000),
    timeout: float = opt.option("S", "Seconds per request.", default=60.0),
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    log_text: bool = opt.switch("--log-text", "Write the texts of requests to the log."),
    quiet: bool = opt.switch("--quiet -q", "Log warnings only."),
) -> None:
    """Serve models to programs that speak LibreTranslate, OpenAI or DeepL, and to a browser.

    One process answers all requests, and texts of several requests share a batch. After SIGTERM the
    server answers the requests it has accepted, then ends. A model whose files change is reloaded;
    SIGHUP reloads all models. Only this machine can reach the server unless --host says otherwise.

    Example: nmt serve -m runs/en-de -m runs/de-en --port 8080
    """
    from nmt_cli.search.loading import EngineOptions
    from nmt_cli.server.listening import listen, log_to, read_keys
    from nmt_cli.server.settings import Settings

    log_to(sys.stderr, quiet=quiet)
    settings = Settings(
        models=model or (),
        engine=EngineOptions(number_format=number_format, threads=threads, device=device),
        keys=read_keys(Path(api_key_file)) if api_key_file else (),
        origins=allow_origin or (),
        suggestions=Path(suggestions) if suggestions else None,
        log_text=log_text,
        batch_tokens=Settings.batch_tokens if batch_tokens is None else batch_tokens,
        batch_wait=batch_wait,
        max_characters=max_characters,
        queue_characters=queue_characters,
        quota=quota,
        timeout=timeout,
    )
    listen(settings, host, port, tell=console.note)
