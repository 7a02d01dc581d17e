"""The server: routes, who may ask, what an error looks like in each dialect, start and end."""

import asyncio
import contextlib
import ctypes
import itertools
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_cli.errors import ConfigError, DataError, NmtError
from nmt_cli.resources import available_cores
from nmt_cli.search.loading import EngineOptions
from nmt_cli.server import own
from nmt_cli.server.batching import QueueFullError
from nmt_cli.server.metrics import Metrics
from nmt_cli.server.requests import RequestError, RequestLimits, Values, check_key, read_values
from nmt_cli.server.serving import Limits, ServedModels

Endpoint = Callable[..., Any]
_RELOAD_SECONDS = 1.0
_TURNS_TO_TRIM = 20
_ARENA_MAX = -8  # of malloc.h
_SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-resource-policy": "same-origin",
}
_LOG = logging.getLogger("nmt.serve")
_OPEN_PATHS = {"/health", "/frontend/settings"}  # asked before there is a key


@dataclass(frozen=True)
class Settings:
    """What a server is told when it starts.

    Attributes:
        models: Model folders, run folders or shared files; none is the newest model.
        engine: How and where they run.
        limits: How much is accepted at a time.
        request: How much one request may hold.
        keys: Who may ask; none is everyone.
        origins: Pages elsewhere that may ask.
        hosts: Names by which the server may be asked, beside those of `origins`; none is any. A
            page elsewhere can make a name of its own mean this machine, but not change the name.
        suggestions: Where better translations are kept; None refuses them.
        log_text: Whether the log shows what was asked.
    """

    models: Sequence[str] = ()
    engine: EngineOptions = field(default_factory=EngineOptions)
    limits: Limits = field(default_factory=Limits)
    request: RequestLimits = field(default_factory=RequestLimits)
    keys: Sequence[str] = ()
    origins: Sequence[str] = ()
    hosts: Sequence[str] = ()
    suggestions: Path | None = None
    log_text: bool = False


def create(settings: Settings) -> Starlette:
    """Return the server's application; its models are loaded here.

    Raises:
        ModelFileError: A model cannot be loaded.
    """
    _tell_malloc("mallopt", _ARENA_MAX, available_cores())  # else eight a core, each with holes
    metrics = Metrics()
    routes: list[Route | Mount] = [
        Route(path, _answering(answer, reads=True), methods=["POST"])
        for path, (answer, _) in own.POSTS.items()
    ]
    routes += [Route(path, _answering(answer, reads=False)) for path, answer in own.GETS.items()]
    page = resources.files("nmt_cli.server") / "page"
    routes.append(Mount("/", StaticFiles(directory=str(page), html=True)))
    app = Starlette(
        routes=routes,
        lifespan=_lifespan,
        exception_handlers={HTTPException: _not_found},
        middleware=[
            Middleware(
                _Outside,
                metrics=metrics,
                settings=settings,
            ),
            Middleware(
                CORSMiddleware,
                allow_origins=settings.origins,
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
            ),
        ],
    )
    app.state.models = ServedModels(settings.models, settings.engine, settings.limits, metrics)
    app.state.metrics = metrics
    app.state.limits = settings.request
    app.state.keys = [key.encode() for key in settings.keys]
    app.state.suggestions = settings.suggestions
    app.state.log_text = settings.log_text
    app.state.writing = asyncio.Lock()
    app.state.billed = 0
    return app


def _answering(answer: Endpoint, *, reads: bool) -> Callable[[Request], Any]:
    """Return an endpoint that checks the key, watches the clock, and tells errors."""

    async def endpoint(request: Request) -> Response:
        limits: RequestLimits = request.app.state.limits
        try:
            values = await read_values(request, limits) if reads else request.query_params
            if request.url.path not in _OPEN_PATHS:
                check_key(_key(request, values), request.app.state.keys)
            if request.app.state.log_text:
                _LOG.info("%s %r", request.url.path, dict(values))
            asked = (request, values) if reads else (request,)
            found: Response = await _unless_gone(request, answer(*asked))
            return found
        except QueueFullError as error:
            full = RequestError(429, str(error), retry_after=error.retry_after)
            return _error(request, full)
        except RequestError as error:
            return _error(request, error)
        except (ConfigError, DataError) as error:
            return _error(request, RequestError(400, str(error)))
        except NmtError as error:
            return _error(request, RequestError(500, str(error)))
        except Exception:  # noqa: BLE001 - told to the log, not to the client
            _LOG.exception("this is a bug in nmt")
            return _error(request, RequestError(500, "the server failed; its log says why"))

    return endpoint


async def _unless_gone(request: Request, answer: Any) -> Any:
    """Return an answer, or end its making when the client goes away meanwhile."""
    task = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise RequestError(499, "the client went away")
    finally:
        gone.cancel()
        task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _key(request: Request, values: Values) -> str:
    """Return the key that a client gave, in any dialect's way."""
    header = request.headers.get("authorization", "")
    for scheme in ("Bearer ", "DeepL-Auth-Key "):
        if header.startswith(scheme):
            return header.removeprefix(scheme).strip()
    given = values.get("api_key", "") or values.get("apiKey", "")
    return given if isinstance(given, str) else ""


def _error(request: Request, error: RequestError) -> Response:
    """Return an error as the dialect of its path has it."""
    path = request.url.path
    content: dict[str, Any] = {"error": error.message}
    if path.startswith("/v1/"):
        otherwise = "invalid_request_error" if error.status < 500 else "api_error"
        told = {403: "authentication_error", 429: "rate_limit_error"}.get(error.status, otherwise)
        code = {404: "model_not_found", 403: "invalid_api_key"}.get(error.status)
        content = {"error": {"message": error.message, "type": told, "param": error.param}}
        content["error"]["code"] = code if error.param or error.status == 403 else None
    elif path.startswith("/v2/"):
        content = {"message": error.message}
    status = 401 if path.startswith("/v1/") and error.status == 403 else error.status
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse(content, status_code=status, headers=headers)


async def _not_found(request: Request, _error_of_routing: Exception) -> Response:
    """Answer what no route took: `StaticFiles` gets all that is left, whatever its method."""
    methods = dict.fromkeys(own.POSTS, "POST") | dict.fromkeys(own.GETS, "GET")
    if (method := methods.get(request.url.path)) is None:
        return _error(request, RequestError(404, "there is no such page"))
    response = _error(request, RequestError(405, f"this path takes {method} only"))
    response.headers["Allow"] = method
    return response


class _Outside:
    """Around every answer: who may ask, how long it may take, headers, counts and the log."""

    def __init__(self, app: ASGIApp, metrics: Metrics, settings: Settings) -> None:
        self._app = app
        self._metrics = metrics
        self._origins = settings.origins
        self._hosts = {*settings.hosts, *map(_host_of, settings.origins)} if settings.hosts else ()
        self._seconds = settings.request.seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 0

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [(k.encode(), v.encode()) for k, v in _SECURITY.items()]
            await send(message)

        try:
            async with asyncio.timeout(self._seconds):
                if refused := self._refused(scope):
                    told = RequestError(403, f"{refused} (--allow-origin)")
                    await _error(Request(scope), told)(scope, receive, answered)
                else:
                    await self._app(scope, receive, answered)
        except TimeoutError:
            if not status:  # else uvicorn cuts the answer off, and its client notices
                late = RequestError(503, f"not answered within {self._seconds:g} s")
                await _error(Request(scope), late)(scope, receive, answered)
        finally:
            seconds = time.perf_counter() - begun
            path = scope["path"] if scope["path"] in own.POSTS or scope["path"] in own.GETS else "*"
            self._metrics.requests.labels(path, status).inc()
            self._metrics.latency.labels(path).observe(seconds)
            _LOG.info("%s %s %d %.0f ms", scope["method"], path, status, 1000 * seconds)

    def _refused(self, scope: Scope) -> str | None:
        """Return why a browser's request is none for this server, if so."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin, host = headers.get(b"origin"), headers.get(b"host", "")
        if "*" in self._origins or origin in self._origins:
            return None
        if self._hosts and host and _host_of(f"//{host}") not in self._hosts:
            return "this server does not have that name"
        if origin is not None and origin.partition("://")[2] != host:
            return "requests from pages of that origin are not allowed"
        return None


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@contextlib.asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Watch the models' files while the server runs; answer what waits when it ends."""
    models: ServedModels = app.state.models
    changes = asyncio.create_task(_looking_after(models))
    loop = asyncio.get_running_loop()
    again = lambda: loop.run_in_executor(None, _reload_all, models)  # noqa: E731
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGHUP, again)  # not in a thread, as in tests
    try:
        yield
    finally:
        changes.cancel()
        await asyncio.to_thread(models.close)


async def _looking_after(models: ServedModels) -> None:
    for turn in itertools.count(1):
        await asyncio.sleep(_RELOAD_SECONDS)
        await asyncio.to_thread(models.reload_changed, _LOG.warning)
        if turn % _TURNS_TO_TRIM == 0:
            await asyncio.to_thread(_tell_malloc, "malloc_trim", 0)  # what was freed


def _tell_malloc(function: str, *arguments: int) -> None:
    """Call a function of glibc's; other systems do not have it."""
    if called := sys.platform == "linux" and getattr(ctypes.CDLL(None), function, None):
        called(*arguments)


def _reload_all(models: ServedModels) -> None:
    models.reload_changed(_LOG.warning, all_of_them=True)
