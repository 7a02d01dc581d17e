"""A socket, an event loop and a way to end: what runs the application."""

import contextlib
import errno
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nmt_cli.errors import ConfigError
from nmt_cli.server.app import create
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.settings import Settings

_MOST_CONNECTIONS = 4000  # open at a time; fewer where the process may open fewer files
_LARGEST_PORT = 65_535
_BACKLOG = 128  # accepted in one turn of the loop
_TURNS = 4  # from the one that accepts a connection to the one that has closed it
_OTHER_FILES = _TURNS * _BACKLOG + 88
_HEAD_SECONDS = 10  # until the head of a request has come
_IDLE_SECONDS = 20  # until it begins, after the answer to another one
_DRAIN_SECONDS = 30
_TERMINATED = 128 + signal.SIGTERM
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 with an end to connections that send no request in time, or idle when all are taken.

    There must always be room for one more file: else asyncio fails to accept, again and again.
    """

    most = _MOST_CONNECTIONS

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = self.loop.call_later(_HEAD_SECONDS, self._close_if_idle)
        if len(self.connections) > self.most:
            others: Any = (other for other in self.connections if other is not self)
            next((other for other in others if other._is_idle()), self).transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._late.cancel()
        self._late = self.loop.call_later(_IDLE_SECONDS + _HEAD_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self._is_idle():
            self.transport.close()

    def _is_idle(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not self.transport.is_closing()


def _allow_connections() -> int:
    """Let this process open as many files as it may; return how many connections that makes."""
    try:
        import resource  # noqa: PLC0415 - not on Windows

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MOST_CONNECTIONS + _OTHER_FILES
        allowed = wanted if most == resource.RLIM_INFINITY else min(most, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    except (ImportError, OSError, ValueError):
        return _MOST_CONNECTIONS
    return max(1, allowed - _OTHER_FILES)


def listen(settings: Settings, host: str, port: int, *, tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        settings: See `Settings`.
        host: The address to listen on.
        port: The port; 0 is any that is free.
        tell: Told, in lines, where the server is and how to ask it.

    Raises:
        ConfigError: The address or the port cannot be had.
        ModelFileError: A model cannot be loaded.
        SystemExit: After SIGTERM, with 143.
    """
    if _is_loopback(host):
        settings = replace(settings, hosts=(*_LOOPBACK, host))
    with _bound(host, port) as listening:
        app = create(settings)
        port = listening.getsockname()[1]
        for line in _greeting(app.state.models, host, port):
            tell(line)
        _Protocol.most = _allow_connections()
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        )
        signal.signal(signal.SIGTERM, _end)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _end(_number: int, _frame: Any) -> None:
    """End the process; a second signal would raise anywhere, and leave a traceback."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(_TERMINATED)


def log_to(stream: Any, *, quiet: bool) -> None:
    """Write what happens as lines with the time; control characters are made visible there."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_OneLine("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    # asyncio warns of each write to a client that has gone, which is nobody's fault.
    own = logging.WARNING if quiet else logging.INFO
    levels = {"nmt.serve": own, "uvicorn.error": logging.WARNING, "asyncio": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)


class _OneLine(logging.Formatter):
    """A line for each event, whatever a client sent."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        text = super().formatMessage(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def read_keys(path: Path) -> list[str]:
    """Return the keys of a file, one a line; blank lines and those that begin with # are none.

    Raises:
        ConfigError: The file cannot be read, or has no key.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--api-key-file {path}: cannot be read: {error}") from error
    if keys := [line.strip() for line in lines if line.strip() and not line.startswith("#")]:
        return keys
    raise ConfigError(f"--api-key-file {path}: contains no key")


def _bound(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _LARGEST_PORT:  # the system would take the rest of a division
        raise ConfigError(f"--port must be from 0 to {_LARGEST_PORT} (it is {port})")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        both = family == socket.AF_INET6  # `::` is IPv4 as well
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        hint = "--port 0 takes a free one" if error.errno == errno.EADDRINUSE else None
        said = str(error.strerror or error).partition(" (while")[0]  # without the address again
        raise ConfigError(f"{host}:{port}: {said}", hint=hint) from error


def _greeting(models: ServedModels, host: str, port: int) -> Iterator[str]:
    name = f"[{host}]" if ":" in host else host
    url = f"http://{name}:{port}"
    for served in models:
        yield f"{served.facts.name} {served.name}: {served.model.bundle.path}"
    yield f"serving on {url}   (open it in a browser; Ctrl-C stops)"
    first, has_keys = next(iter(models)), bool(models.settings.keys)
    path, example = first.facts.request
    values = ("The old man reads a book.", *first.ways[0])
    for hole, value in zip(("{text}", "{source}", "{target}"), values, strict=True):
        example = example.replace(hole, value)
    key = " -H 'Authorization: Bearer KEY'" if has_keys else ""
    yield f"try: curl {url}{path} -H 'Content-Type: application/json'{key} -d '{example}'"
    if not has_keys and not _is_loopback(host):
        yield "warning: anyone who can reach this address can use it (see --api-key-file)"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
