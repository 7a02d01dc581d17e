"""A Hugging Face hub with one repository, for tests: as `huggingface_hub` asks the real one."""

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Collection, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextlib.contextmanager
def fake_hub(
    name: str, folder: Path, halting: Collection[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder as a repository; give the address and a list of the files that were sent.

    Of `halting` files one half is sent, and no more until they are taken out of it.
    """
    sent: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = self.path.split("?")[0].strip("/")
            if parts.startswith(f"api/models/{name}"):
                files = sorted(path for path in folder.iterdir() if path.is_file())
                tree = [
                    {"type": "file", "path": f.name, "size": f.stat().st_size, "oid": f.name}
                    for f in files
                ]
                siblings = [{"rfilename": file.name} for file in files]
                whole = {"id": name, "sha": COMMIT, "siblings": siblings}
                self._send(json.dumps(tree if "/tree/" in parts else whole).encode())
            elif parts.startswith(f"{name}/resolve/"):
                revision, file = parts.removeprefix(f"{name}/resolve/").split("/", 1)
                if revision not in ("main", COMMIT):
                    self._refuse("RevisionNotFound")
                elif (folder / file).is_file():
                    self._send((folder / file).read_bytes(), file)
                else:
                    self._refuse("EntryNotFound")
            else:
                self._refuse("RepoNotFound")

        do_HEAD = do_GET

        def _send(self, content: bytes, file: str = "") -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.end_headers()
            if self.command == "GET":
                half = len(content) // 2
                self.wfile.write(content[:half])
                self.wfile.flush()
                sent.append(file)
                while file in halting:
                    time.sleep(0.05)
                with contextlib.suppress(ConnectionError):  # of who was killed meanwhile
                    self.wfile.write(content[half:])

        def _refuse(self, code: str) -> None:
            self.send_response(404)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        server.server_close()
