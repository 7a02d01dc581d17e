"""How `nmt serve` does with many clients, beside CTranslate2 alone and a server without batches.

    python tests/benchmarks/serve_load.py MODEL LINES [--clients 64] [--requests 2000]

All get the same lines, a sentence a request, each client its next one when the last was answered.
Lines that are longer than the model reads are left out: only `nmt serve` splits them.
(a) CTranslate2's `translate_batch` on all lines in one call, in this process. (b) `nmt serve`.
(c) What people write themselves: FastAPI (`pip install fastapi`) and a call of CTranslate2 for each
request alone.
"""

import argparse
import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import nmt_cli

PLAIN_APP = """
import sys, ctranslate2, tokenizers, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
import nmt_cli
from nmt_cli.bundle.finding import find_bundle
bundle = find_bundle(sys.argv[1])
form = bundle.ctranslate2_folder(None)
translator = ctranslate2.Translator(str(form), inter_threads=2, intra_threads=1)
tokenizer = tokenizers.Tokenizer.from_file(str(bundle.path / "tokenizer.json"))
longest = bundle.manifest.model["max_length"]
beam = nmt_cli.load(sys.argv[1]).search_options().beam_size
class Body(BaseModel):
    q: str
app = FastAPI()
@app.post("/translate")
def translate(body: Body):
    tokens = tokenizer.encode(body.q, add_special_tokens=False).tokens + ["</s>"]
    (found,) = translator.translate_batch([tokens], beam_size=beam, max_decoding_length=longest)
    ids = [tokenizer.token_to_id(token) for token in found.hypotheses[0]]
    return {"translatedText": tokenizer.decode(ids)}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def main() -> None:
    """Measure, and print sentences a second with their ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("lines", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    arguments = parser.parse_args()
    lines = arguments.lines.read_text(encoding="utf-8").splitlines()
    direct, lines, pair = _direct(arguments.model, lines, arguments.requests)
    print(f"translate_batch alone: {direct:.1f} sentences/s")
    serve = [sys.executable, "-m", "nmt_cli", "serve", "-m", arguments.model, "-q", "--port"]
    plain = [sys.executable, "-c", PLAIN_APP, arguments.model]
    for name, command, port in (("nmt serve", serve, 5071), ("one at a time", plain, 5072)):
        rate, times = _served([*command, str(port)], port, lines, arguments.clients, pair)
        p50, p99 = (1000 * statistics.quantiles(times, n=100)[i] for i in (49, 98))
        print(
            f"{name}: {rate:.1f} sentences/s, {rate / direct:.2f} of translate_batch; "
            f"p50 {p50:.0f} ms, p99 {p99:.0f} ms with {arguments.clients} clients"
        )


def _direct(
    model: str, lines: Sequence[str], count: int
) -> tuple[float, list[str], dict[str, str]]:
    """Return sentences a second, so many lines that the model can read, and the languages."""
    with nmt_cli.load(model) as loaded:
        options = loaded.search_options()
        encoded = zip(lines, loaded.vocabularies.source.encode_batch(list(lines)), strict=True)
        read = [(line, [*ids, 2]) for line, ids in encoded if len(ids) < loaded.engine.max_length]
        print(f"{len(lines) - len(read)} of {len(lines)} lines are too long and left out")
        read = (read * (count // len(read) + 1))[:count]
        sources = [ids for _, ids in read]
        loaded.engine.search(sources[:64], options)
        started = time.perf_counter()
        loaded.engine.search(sources, options)
        rate = count / (time.perf_counter() - started)
        manifest = loaded.bundle.manifest
        pair = {"source": manifest.source_lang, "target": manifest.target_lang}
        return rate, [line for line, _ in read], pair


def _served(
    command: list[str], port: int, lines: Sequence[str], clients: int, pair: dict[str, str]
) -> tuple[float, list[float]]:
    """Return sentences a second, and the seconds that each request took."""
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            while not _listens(port):
                assert process.poll() is None, "the server ended"
                time.sleep(0.1)
            return asyncio.run(_load(port, lines, clients, pair))
        except AssertionError:
            log.seek(0)
            print(log.read(), file=sys.stderr)
            raise
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


async def _load(
    port: int, lines: Sequence[str], clients: int, pair: dict[str, str]
) -> tuple[float, list[float]]:
    waiting, times = iter(lines), list[float]()
    await asyncio.gather(
        *(_client(port, iter(lines[:2]), [], pair) for _ in range(clients))
    )  # warm-up
    started = time.perf_counter()
    await asyncio.gather(*(_client(port, waiting, times, pair) for _ in range(clients)))
    return len(times) / (time.perf_counter() - started), times


async def _client(
    port: int, lines: Iterator[str], times: list[float], pair: dict[str, str]
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for line in lines:
        body = json.dumps({"q": line} | pair).encode()
        started = time.perf_counter()
        head = f"POST /translate HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}"
        writer.write(head.encode() + b"\r\nContent-Type: application/json\r\n\r\n" + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - started)
    writer.close()


if __name__ == "__main__":
    main()
