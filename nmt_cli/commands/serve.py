"""`nmt serve`: models on the network, for programs and in a browser."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="DIR", help="A model; may be repeated."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="Address to listen on; 0.0.0.0 is all.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", metavar="N", help="Port; 0 takes a free one.")
    ] = 5000,
    api_key_file: Annotated[
        str | None,
        typer.Option("--api-key-file", metavar="FILE", help="API keys to accept, one per line."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", metavar="URL", help="Accept requests from its pages."),
    ] = None,
    suggestions: Annotated[
        str | None,
        typer.Option("--suggestions", metavar="FILE", help="Save suggestions as JSONL."),
    ] = None,
    batch_tokens: opt.Batch = None,
    batch_wait: Annotated[
        float, typer.Option("--batch-wait", metavar="MS", help="Wait this long for more texts.")
    ] = 2.0,
    max_characters: Annotated[
        int, typer.Option("--max-characters", metavar="N", help="Limit for one request.")
    ] = 100_000,
    queue_characters: Annotated[
        int, typer.Option("--queue-characters", metavar="N", help="Limit for waiting texts.")
    ] = 200_000,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", help="Seconds per request.")
    ] = 60.0,
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    log_text: Annotated[
        bool, typer.Option("--log-text", help="Write the texts of requests to the log.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log warnings only.")] = False,
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
        timeout=timeout,
    )
    listen(settings, host, port, tell=console.note)
