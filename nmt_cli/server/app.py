"""The server: routes, who may ask, what an error looks like in each dialect, start and end."""

import asyncio
import contextlib
import ctypes
import itertools
import logging
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from importlib import resources
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
from nmt_cli.server import metrics, own
from nmt_cli.server.requests import RequestBody, RequestError, check_key, checked, read_values
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.settings import Settings

_RELOAD_SECONDS = 1.0
_TURNS_TO_TRIM = 5
_MALLOPT = {  # parameters of malloc.h, and their values
    -8: available_cores(),  # M_ARENA_MAX: else eight a core, each with holes
    # M_MMAP_THRESHOLD: large blocks are mapped apart, and go when they are freed. Among the others,
    # those of batches and the 160 MB that CTranslate2 takes for each seed would leave holes.
    -3: 1 << 20,
    -1: 1 << 25,  # M_TRIM_THRESHOLD: below that, free memory is given back from time to time
}
_SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-resource-policy": "same-origin",
}
_LOG = logging.getLogger("nmt.serve")
_METHODS = dict.fromkeys(own.POSTS, "POST") | dict.fromkeys(own.GETS, "GET")
_DOWNLOADS = re.compile("/download_file/[^/]*")
# asked before there is a key, or with a name that nobody can guess
_OPEN_PATHS = {"/health", "/frontend/settings", "/download_file/{name}"}


def create(settings: Settings) -> Starlette:
    """Return the server's application; its models are loaded here.

    Raises:
        ModelFileError: A model cannot be loaded.
    """
    for parameter, value in _MALLOPT.items():
        _tell_malloc("mallopt", parameter, value)
    page = StaticFiles(directory=str(resources.files("nmt_cli.server") / "page"), html=True)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.origins,
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
    )
    app = Starlette(
        routes=[
            *(Route(p, _answering(p, *post), methods=["POST"]) for p, post in own.POSTS.items()),
            *(Route(p, _answering(p, get)) for p, get in own.GETS.items()),
            Mount("/", page),
        ],
        lifespan=_lifespan,
        exception_handlers={HTTPException: _not_found},
        middleware=[Middleware(_Outside, settings=settings), cors],
    )
    app.state.models = ServedModels(settings)
    return app


def _answering(
    path: str,
    answer: Callable[[ServedModels, Any], Any],
    body: type[RequestBody] | None = None,
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Return an endpoint that checks key and body, and tells errors."""

    async def endpoint(request: Request) -> Response:
        models: ServedModels = request.app.state.models
        try:
            query = {**request.query_params, **request.path_params}
            values = await read_values(request) if body else query
            if path not in _OPEN_PATHS:
                check_key(request, values, models.settings.keys)
            asked = checked(body, values) if body else values
            # What was read is logged, not what came: that may hold a key.
            if isinstance(asked, RequestBody) and models.settings.log_text:
                _LOG.info("%s %r", path, asked.model_dump(exclude_unset=True))
            found = await _unless_gone(request, answer(models, asked))
            return found if isinstance(found, Response) else JSONResponse(found)
        except Exception as error:  # noqa: BLE001 - told to the client, a bug to the log alone
            return _error(request, error)

    return endpoint


async def _unless_gone(request: Request, answer: Coroutine[Any, Any, Any]) -> Any:
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


def _error(request: Request, problem: Exception) -> Response:
    """Return an error as the dialect of its path has it."""
    path, error = request.url.path, _told(problem)
    status, message = error.status, str(error)
    content: dict[str, Any] = {"error": message}
    if path.startswith("/v1/"):
        otherwise = "invalid_request_error" if status < 500 else "api_error"
        kind = {403: "authentication_error", 429: "rate_limit_error"}.get(status, otherwise)
        code = {404: "model_not_found", 403: "invalid_api_key"}.get(status)
        code = code if error.param or status == 403 else None
        told = {"message": message, "type": kind, "param": error.param, "code": code}
        content, status = {"error": told}, 401 if status == 403 else status
    elif path.startswith("/v2/"):
        content = {"message": message}
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse(content, status_code=status, headers=headers)


def _told(error: Exception) -> RequestError:
    """Return what a client is told of an error."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, NmtError):
        return RequestError(400 if isinstance(error, ConfigError | DataError) else 500, str(error))
    _LOG.error("this is a bug in nmt", exc_info=error)
    return RequestError(500, "the server failed; its log says why")


async def _not_found(request: Request, _error_of_routing: Exception) -> Response:
    """Answer what no route took: `StaticFiles` gets all that is left, whatever its method."""
    if (method := _METHODS.get(request.url.path)) is None:
        return _error(request, RequestError(404, "there is no such page"))
    response = _error(request, RequestError(405, f"this path takes {method} only"))
    response.headers["Allow"] = method
    return response


class _Outside:
    """Around every answer: who may ask, how long it may take, headers, counts and the log."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._origins = settings.origins
        self._hosts = {*settings.hosts, *map(_host_of, settings.origins)} if settings.hosts else ()
        self._seconds = settings.timeout

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
            path = _DOWNLOADS.sub("/download_file/{name}", scope["path"])
            path = path if path in _METHODS else "*"
            metrics.REQUESTS.labels(path, status).inc()
            metrics.LATENCY.labels(path).observe(seconds)
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
    hung_up = asyncio.Event()
    changes = asyncio.create_task(_looking_after(models, hung_up))
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        # Not in a thread, as in tests.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up.set)
    try:
        yield
    finally:
        changes.cancel()
        await asyncio.to_thread(models.close)


async def _looking_after(models: ServedModels, hung_up: asyncio.Event) -> None:
    for turn in itertools.count(1):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(hung_up.wait(), _RELOAD_SECONDS)
        is_asked = hung_up.is_set()
        hung_up.clear()
        await asyncio.to_thread(models.reload, unchanged=is_asked)
        await asyncio.to_thread(models.files.drop_old)
        if turn % _TURNS_TO_TRIM == 0:
            await asyncio.to_thread(_tell_malloc, "malloc_trim", 0)  # what was freed


def _tell_malloc(function: str, *arguments: int) -> None:
    """Call a function of glibc's; other systems do not have it."""
    if called := sys.platform == "linux" and getattr(ctypes.CDLL(None), function, None):
        called(*arguments)
