"""How `nmt serve` does with many clients, beside CTranslate2 alone and other servers.

    python tests/benchmarks/serve_load.py MODEL LINES [--clients 64] [--requests 2000]
    python tests/benchmarks/serve_load.py random data/en-de/test.en [--eole eole/bin/python]
    python tests/benchmarks/serve_load.py MODEL LINES --overload

`random` makes a model of the size of Multi30k's first, with random weights (`make_multi30k.py`).
All get the same lines, a sentence a request, each client its next one when the last was answered.
Lines that are longer than the model reads are left out: only `nmt serve` splits them.
(a) CTranslate2's `translate_batch` on all lines in one call, in this process. (b) `nmt serve`.
(c) What people write themselves: FastAPI (`pip install fastapi`) and a call of CTranslate2 for each
request alone. (d) With --eole, the server of Eole, with a random model of the same size, made by
one step of `eole train`; it gets the lines as subwords, and has none to make. Its environment is

    python3 -m venv eole && eole/bin/pip install eole==0.6.4 aiohttp

With --overload, only `nmt serve` is measured: how many requests of eight lines a second it answers,
then what becomes of four times as many for 20 seconds, whoever is answered or not, and how long it
takes after that until a sentence is answered as fast as before (twice the time at most).
"""

import argparse
import asyncio
import functools
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import make_multi30k
import yaml

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
found = nmt_cli.load(sys.argv[1]).search_options()
longest = min(bundle.manifest.model["max_length"], found.max_length)
options = {"beam_size": found.beam_size, "max_decoding_length": longest}
options["min_decoding_length"] = found.min_length
class Body(BaseModel):
    q: str
app = FastAPI()
@app.post("/translate")
def translate(body: Body):
    tokens = tokenizer.encode(body.q, add_special_tokens=False).tokens + ["</s>"]
    (found,) = translator.translate_batch([tokens], **options)
    ids = [tokenizer.token_to_id(token) for token in found.hypotheses[0]]
    return {"translatedText": tokenizer.decode(ids)}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


EOLE_TRAINING = """
src_vocab: {folder}/vocabulary
tgt_vocab: {folder}/vocabulary
share_vocab: true
src_vocab_size: 100000
tgt_vocab_size: 100000
data: {{corpus_1: {{path_src: {folder}/lines, path_tgt: {folder}/lines}}}}
training:
  model_path: {folder}/model
  train_steps: 1
  save_checkpoint_steps: 1
  batch_size: 8
  bucket_size: 64
  num_workers: 0
  optim: adam
  learning_rate: 0.001
model:
  architecture: transformer
  hidden_size: 128
  transformer_ff: 256
  heads: 4
  layers: 4
  share_embeddings: true
  share_decoder_embeddings: true
  embeddings: {{word_vec_size: 128, position_encoding_type: SinusoidalInterleaved}}
"""


_FIRST_PORT = 5081
_OVERLOAD = 4
_OVERLOAD_SECONDS = 20
_LINES_A_REQUEST = 8


@dataclass(frozen=True)
class Server:
    """How a server is started, and asked for the translation of a line."""

    name: str
    command: list[str]  # to which the port is added
    path: str
    body: Callable[[str], dict[str, Any]]  # what it is sent, as JSON


def main() -> None:
    """Measure, and print sentences a second with their ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("lines", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--eole", help="the Python of an environment with Eole; with `random`")
    parser.add_argument("--overload", action="store_true", help="four times too many requests")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.model == "random":
            arguments.model = f"{folder}/own"
            script = [sys.executable, make_multi30k.__file__]
            subprocess.run([*script, arguments.lines, arguments.model], check=True)
        elif arguments.eole:
            parser.error("--eole has no model but a random one")
        _compare(arguments, Path(folder))


def _compare(arguments: argparse.Namespace, folder: Path) -> None:
    model = arguments.model
    lines = arguments.lines.read_text(encoding="utf-8").splitlines()
    direct, lines, pair = _direct(model, lines, arguments.requests)
    print(f"translate_batch alone: {direct:.1f} sentences/s", flush=True)
    own = [sys.executable, "-m", "nmt_cli", "serve", "-m", model, "-q", "--port"]
    ours = Server("nmt serve", own, "/translate", lambda line: {"q": line} | pair)
    if arguments.overload:
        _served(ours, _FIRST_PORT, lambda: _overload(ours, _FIRST_PORT, lines, arguments.clients))
        return
    plain = [sys.executable, "-c", PLAIN_APP, model]
    servers = [ours, Server("one at a time", plain, "/translate", lambda line: {"q": line})]
    if arguments.eole:
        servers.append(_eole(arguments.eole, model, lines, arguments.clients, folder / "eole"))
    for port, server in enumerate(servers, _FIRST_PORT):
        load = functools.partial(_load, server, port, lines, arguments.clients)
        rate, times = _served(server, port, load)
        print(
            f"{server.name}: {rate:.1f} sentences/s, {rate / direct:.2f} of translate_batch; "
            f"{_percentiles(times)} with {arguments.clients} clients",
            flush=True,
        )


def _percentiles(times: Sequence[float]) -> str:
    p50, p99 = (1000 * statistics.quantiles(times, n=100)[i] for i in (49, 98))
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"


def _eole(python: str, model: str, lines: Sequence[str], clients: int, folder: Path) -> Server:
    """Make a random model of Eole's with the vocabulary of ours; return its server."""
    folder.mkdir()
    with nmt_cli.load(model) as loaded:
        subwords = loaded.vocabularies.source
        encoded = zip(lines, subwords.encode_batch(list(lines)), strict=True)
        pieces = {line: " ".join(subwords.tokens(ids)) for line, ids in encoded}
        vocabulary = [token for token in subwords.all_tokens() if not token.isspace()]
    (folder / "vocabulary").write_text("".join(f"{token}\t1\n" for token in vocabulary))
    (folder / "lines").write_text("".join(f"{row}\n" for row in pieces.values()))
    (folder / "train.yaml").write_text(EOLE_TRAINING.format(folder=folder))
    eole = [python, "-m", "eole.bin.main"]
    subprocess.run([*eole, "train", "-c", str(folder / "train.yaml")], check=True)
    served = {"id": "random", "path": str(folder / "model"), "preload": True}
    served["config"] = {"batch_size": clients, "batch_type": "sents"}
    served_models = {"models_root": str(folder), "models": [served]}
    (folder / "serve.yaml").write_text(yaml.safe_dump(served_models))
    length = make_multi30k.TOKENS
    search = {"beam_size": 5, "min_length": length, "max_length": length, "max_length_ratio": 0}
    command = [*eole, "serve", "-c", str(folder / "serve.yaml"), "--host", "127.0.0.1", "--port"]
    ask = {"model": "random"} | search
    return Server("Eole", command, "/infer", lambda line: ask | {"inputs": pieces[line]})


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


def _served(server: Server, port: int, load: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Return what a load comes to that is put on a server."""
    command = [*server.command, str(port)]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            while not _listens(port):
                assert process.poll() is None, "the server ended"
                time.sleep(0.1)
            return asyncio.run(load())
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
    server: Server, port: int, lines: Sequence[str], clients: int
) -> tuple[float, list[float]]:
    """Return requests a second, and the seconds that each took."""
    waiting, times = iter(lines), list[float]()
    warm_up = (_client(server, port, iter(lines[:2]), []) for _ in range(clients))
    await asyncio.gather(*warm_up)
    started = time.perf_counter()
    await asyncio.gather(*(_client(server, port, waiting, times) for _ in range(clients)))
    return len(times) / (time.perf_counter() - started), times


async def _overload(server: Server, port: int, lines: Sequence[str], clients: int) -> None:
    """Ask four times as much as can be answered; print what became of it."""
    step = _LINES_A_REQUEST
    requests = ["\n".join(lines[i : i + step]) for i in range(0, len(lines) - step, step)]
    rate, _ = await _load(server, port, requests, clients)
    alone: list[float] = []
    await _client(server, port, iter(lines[:20]), alone)
    usual = statistics.median(alone)
    print(f"{server.name}: {rate:.1f} requests/s; a sentence alone takes {1000 * usual:.0f} ms")
    asked = []
    started = time.perf_counter()
    while (passed := time.perf_counter() - started) < _OVERLOAD_SECONDS:
        while len(asked) < _OVERLOAD * rate * passed:
            text = requests[len(asked) % len(requests)]
            asked.append(asyncio.create_task(_once(server, port, text)))
        await asyncio.sleep(0.005)
    ended = time.perf_counter()
    while (found := await _once(server, port, lines[0]))[0] != 200 or found[1] > 2 * usual:
        await asyncio.sleep(0.05)
    recovered = time.perf_counter() - ended
    answers = await asyncio.gather(*asked)
    times = [seconds for state, seconds in answers if state == 200]
    refused = sum(state == 429 for state, _ in answers)
    print(
        f"{len(asked) / passed:.1f} requests/s for {passed:.0f} s: {len(times)} accepted, "
        f"{refused} refused, {len(answers) - len(times) - refused} neither; accepted ones "
        f"{_percentiles(times)}; as fast as before {recovered:.1f} s after the last"
    )


async def _once(server: Server, port: int, line: str) -> tuple[int, float]:
    """Return the state and the seconds of a request on a connection of its own."""
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = await _ask(reader, writer, server, line)
    writer.close()
    return int(answer.split()[1]), time.perf_counter() - started


async def _client(server: Server, port: int, lines: Iterator[str], times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for line in lines:
        started = time.perf_counter()
        answer = await _ask(reader, writer, server, line)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        times.append(time.perf_counter() - started)
    writer.close()


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server, line: str
) -> bytes:
    """Send a request, read its answer, and return the head of it."""
    body = json.dumps(server.body(line)).encode()
    head = f"POST {server.path} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return answer


if __name__ == "__main__":
    main()
