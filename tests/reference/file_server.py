"""A web server on loopback that serves bytes from memory and misbehaves as told."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server has and how it behaves.

    Attributes:
        files: Path -> content.
        ranges: Whether it answers Range requests.
        etag: The version that it names; "" names none.
        break_after: For each of the next answers with content, the bytes after which the connection
            is closed.
        statuses: Status codes of the next answers, instead of the file.
        redirects: Path -> where it has moved.
        pause_s: Seconds between blocks of 1,000 bytes.
        headers: Sent in place of those that would be right.
        requests: The (path, Range header) of each request so far.
        conditions: The If-Range header of each.
    """

    files: dict[str, bytes]
    ranges: bool = True
    etag: str = '"1"'
    break_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    conditions: list[str | None] = field(default_factory=list)


@contextlib.contextmanager
def serving(site: Site) -> Iterator[str]:
    """Serve a site; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, site)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    wanted = handler.headers.get("Range")
    site.requests.append((handler.path, wanted))
    site.conditions.append(handler.headers.get("If-Range"))
    if handler.path in site.redirects:
        handler.send_response(302)
        for name, value in {"Location": site.redirects[handler.path], **site.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        return
    if site.statuses or handler.path not in site.files:
        handler.send_error(site.statuses.pop(0) if site.statuses else 404)
        return
    content = site.files[handler.path]
    condition = handler.headers.get("If-Range", site.etag)
    first = int(wanted[6:-1]) if wanted and site.ranges and condition == site.etag else 0
    if first >= len(content) > 0 and first:
        handler.send_response(416)
        handler.send_header("Content-Range", f"bytes */{len(content)}")
        handler.end_headers()
        return
    send(handler, site, content, first)


def send(handler: BaseHTTPRequestHandler, site: Site, content: bytes, first: int) -> None:
    handler.send_response(206 if first else 200)
    headers = {"Content-Length": str(len(content) - first)}
    if first:
        headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
    if site.etag:
        headers["ETag"] = site.etag
    for name, value in (headers | site.headers).items():
        handler.send_header(name, value)
    handler.end_headers()
    last = min(len(content), first + site.break_after.pop(0) if site.break_after else len(content))
    with contextlib.suppress(ConnectionError):  # the client has gone
        for begin in range(first, last, 1000):
            handler.wfile.write(content[begin : min(last, begin + 1000)])
            time.sleep(site.pause_s)
