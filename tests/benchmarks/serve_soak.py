"""Does `nmt serve` stay healthy for half an hour of mixed requests?

    python tests/benchmarks/serve_soak.py TRANSLATOR CHAT CLASSIFIER LINES [--minutes 30]

Each client draws one request after another: a sentence, a list, HTML, a long text, alternatives,
a reply (also streamed, some left in mid-stream), labels, scores, a few that are wrong, and one in
300 a file.
Prints JSON: requests by path and state, and the server's own megabytes (no pages of files): the
median of every tenth of the time, and by how much the last one is above the second. A single look
would not do: batches come and go, and memory is up to a third above or below it. Then a verdict,
which is also the exit code: no wrong answer, at most 3 % more memory, and an end as asked for.
"""

import argparse
import collections
import json
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import nmt_cli

PORT = 5073
_MOST_GROWTH = 3.0  # percent


class Clients:
    """Threads that ask until a time, and what they were answered."""

    def __init__(self, lines: Sequence[str], pair: dict[str, str], until: float) -> None:
        self._lines, self._pair, self._until = lines, pair, until
        self.answers = collections.Counter[str]()
        self._lock = threading.Lock()

    def run(self, count: int) -> None:
        """Ask from `count` threads until the time is over."""
        threads = [threading.Thread(target=self._client, args=(seed,)) for seed in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, seed: int) -> None:
        generator = random.Random(seed)
        while time.monotonic() < self._until:
            path, body, wanted, leaves = self._draw(generator)
            state = _ask(path, body, leaves)
            with self._lock:
                self.answers[f"{path} {state}{'' if state == wanted else ' UNEXPECTED'}"] += 1

    def _draw(self, generator: random.Random) -> tuple[str, dict[str, object] | bytes, int, bool]:
        """Return a path, a body, the state it deserves, and whether to leave in mid-answer."""
        texts = generator.sample(self._lines, 12)
        if generator.random() < 1 / 300:
            return "/translate_file", _form(self._pair, texts), 200, False
        said = {"role": "user", "content": generator.choice(["hello", "how are you?", texts[0]])}
        translated = [
            {"q": texts[0]},
            {"q": texts[0]},
            {"q": texts[: generator.randint(1, 12)]},
            {"q": f"<p>{texts[0]}<b>{texts[1]}</b></p>", "format": "html"},
            {"q": " ".join(texts * 4)},
            {"q": texts[0], "alternatives": 3},
        ]
        chat = {"messages": [said], "seed": generator.randint(0, 99), "temperature": 0.8}
        kinds: list[tuple[str, dict[str, object], int]] = [
            *(("/translate", body | self._pair, 200) for body in translated),
            ("/v1/chat/completions", chat, 200),
            ("/v1/chat/completions", chat | {"stream": True}, 200),
            ("/classify", {"texts": texts[:4]}, 200),
            ("/score", {"pairs": [[texts[0], texts[1]]]}, 200),
            ("/translate", {"q": 5} | self._pair, 400),
            ("/nowhere", {}, 404),
        ]
        path, body, wanted = generator.choice(kinds)
        return path, body, wanted, generator.random() < 0.05


def _form(pair: dict[str, str], texts: Sequence[str]) -> bytes:
    """Return a form with a page of texts as its file."""
    page = "".join(f"<p>{text} <b>{text}</b></p>\n" for text in texts)
    fields = {f'"{name}"': value for name, value in pair.items()}
    fields['"file"; filename="page.html"'] = page
    head = "Content-Disposition: form-data; name="
    parts = [f"--limit\r\n{head}{name}\r\n\r\n{value}\r\n" for name, value in fields.items()]
    return "".join([*parts, "--limit--\r\n"]).encode()


def _ask(path: str, body: dict[str, object] | bytes, leaves: bool) -> int:
    """Send one request, read its answer or its beginning, and return its state (0: none)."""
    is_form = isinstance(body, bytes)
    data = body if is_form else json.dumps(body).encode()
    kind = "multipart/form-data; boundary=limit" if is_form else "application/json"
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read(20 if leaves else -1)
            return answer.status
    except urllib.error.HTTPError as error:
        error.read()
        return error.code
    except OSError:
        return 0


def _own_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def _watch(server: subprocess.Popen[bytes], until: float, seen: list[float]) -> None:
    """Look at the memory every second."""
    while time.monotonic() < until and server.poll() is None:
        seen.append(_own_megabytes(server.pid))
        time.sleep(1)


def _judge(answers: collections.Counter[str], seen: list[float], state: int) -> bool:
    """Print what was seen, and whether that is well."""
    window = max(1, len(seen) // 10)
    medians = [statistics.median(seen[i : i + window]) for i in range(0, len(seen), window)]
    megabytes = [round(median, 1) for median in medians]
    print(json.dumps({"megabytes": megabytes, "answers": dict(answers)}, indent=1))
    growth = 100 * (statistics.median(seen[-window:]) / medians[:2][-1] - 1)
    errors = sum(count for name, count in answers.items() if "UNEXPECTED" in name)
    is_well = growth <= _MOST_GROWTH and not errors and state == 128 + signal.SIGTERM
    print(
        f"{'passed' if is_well else 'FAILED'}: memory {growth:+.1f} % (at most {_MOST_GROWTH:g}), "
        f"{errors} errors in {answers.total()} requests, exit code {state}"
    )
    return is_well


def main() -> None:
    """Serve, ask, and look at the memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs=3)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=16)
    arguments = parser.parse_args()
    manifest = nmt_cli.load(arguments.models[0]).bundle.manifest
    pair = {"source": manifest.source_lang, "target": manifest.target_lang}
    named = [word for model in arguments.models for word in ("-m", model)]
    command = [sys.executable, "-m", "nmt_cli", "serve", *named, "-q", "--port", str(PORT)]
    with subprocess.Popen(command) as server:
        while _ask("/detect", {"q": "a"}, leaves=False) != 200:
            assert server.poll() is None, "the server ended"
            time.sleep(0.1)
        until = time.monotonic() + 60 * arguments.minutes
        clients = Clients(arguments.lines.read_text(encoding="utf-8").splitlines(), pair, until)
        seen: list[float] = []
        watcher = threading.Thread(target=_watch, args=(server, until, seen))
        watcher.start()
        clients.run(arguments.clients)
        watcher.join()
        server.send_signal(signal.SIGTERM)
    sys.exit(not _judge(clients.answers, seen, server.returncode))


if __name__ == "__main__":
    main()
