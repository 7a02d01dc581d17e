"""`nmt serve` and what it may meet: wrong types everywhere, slow and greedy clients, a reload."""

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import log_of, serving

from nmt_cli.server import own

LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3)
)
FIELDS = sorted({name for _, body in own.POSTS.values() for name in body.model_fields})
GOOD = {
    "/translate": {"q": "red", "source": "auto", "target": "de"},
    "/detect": {"q": "red"},
    "/suggest": {"q": "red", "s": "rot", "source": "en", "target": "de"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2},
    "/v2/translate": {"text": ["red"], "target_lang": "DE"},
    "/classify": {"texts": ["good"]},
    "/score": {"pairs": [["red", "red"]]},
    "/explain": {"q": "red", "translation": "red", "source": "en", "target": "de"},
    "/translate_file": {"source": "en", "target": "de", "file": "a file comes with a form"},
}


@pytest.fixture(scope="module")
def server(toy_bundle, toy_chat, label_bundle, tmp_path_factory):
    models = [part for path in (toy_bundle, toy_chat, label_bundle) for part in ("-m", str(path))]
    options = ["--suggestions", "better.jsonl", "-q"]
    with serving(*models, *options, cwd=tmp_path_factory.mktemp("abuse")) as (_, url):
        yield url


def connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def answer_to(url: str, sent: bytes) -> bytes:
    with connected(url) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(sent)
        return client.recv(65536)


def is_well(url: str) -> bool:
    return httpx.get(f"{url}/health", timeout=30).json() == {"status": "ok"}


def test_there_is_a_good_request_for_each_path(server):
    assert set(GOOD) == set(own.POSTS)
    for path in set(GOOD) - {"/suggest", "/translate_file"}:
        found = httpx.post(f"{server}{path}", json=GOOD[path], timeout=60)
        assert found.status_code == 200, (path, found.text)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=st.sampled_from(sorted(GOOD)), field=st.sampled_from(FIELDS), value=ANYTHING)
def test_any_value_of_any_field_is_an_answer_or_one_line(server, path, field, value):
    body = json.dumps(GOOD[path] | {field: value}).encode("utf-8", "surrogatepass")
    found = httpx.post(f"{server}{path}", content=body, timeout=60)
    assert found.status_code in (200, 400, 403, 404, 413), (found.status_code, found.text)
    assert "Traceback" not in found.text
    if found.status_code != 200:
        problem = found.json().get("error") or found.json()["message"]
        message = problem["message"] if isinstance(problem, dict) else problem
        assert message
        assert message.isprintable()


@pytest.mark.parametrize("path", sorted(GOOD))
def test_half_a_character_is_no_text(server, path):
    """JSON can say one, but nothing can write it: not the file of suggestions, nor an answer."""
    for field in own.POSTS[path][1].model_fields:
        body = json.dumps(GOOD[path] | {field: "red \ud800"}).encode()
        found = httpx.post(f"{server}{path}", content=body, timeout=60)
        assert found.status_code == 400, (field, found.text)
        assert found.json()


def test_what_an_error_repeats_is_printable(server):
    pair = {"source": "\x1b[2J", "target": "\u202e"}
    for path, words in (("/translate", {"q": "x"}), ("/explain", {"q": "x", "translation": "x"})):
        found = httpx.post(f"{server}{path}", json=words | pair, timeout=60)
        assert (found.status_code, found.json()["error"].isprintable()) == (400, True)


@pytest.mark.parametrize(
    "body",
    [
        b'{"q": "\xff\xfe", "source": "en", "target": "de"}',
        b'{"q": "a\\u0000b", "source": "en", "target": "de"}',
        b'{"q": "\\ud800", "source": "en", "target": "de"}',
        b'{"q": "x", "source": "en", "target": "de", "alternatives": ' + b"9" * 5000 + b"}",
        b"{" * 50_000,
        b'{"a":' * 50_000,
        b"q=%00%ff&source=en&target=de",
        b"null",
        b"\x00" * 1000,
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
def test_bytes_that_are_no_text(server, body, kind):
    found = httpx.post(f"{server}/translate", content=body, headers={"Content-Type": kind})
    assert found.status_code in (200, 400)
    assert found.status_code == 200 or found.json()["error"].isprintable()


def test_ten_megabytes_announced_or_not(server):
    def chunks():
        for _ in range(160):
            yield b"x" * 65536

    for body in (b"x" * 10_000_000, chunks()):
        with contextlib.suppress(httpx.WriteError):  # refused before all was sent
            assert httpx.post(f"{server}/translate", content=body).status_code == 413
    assert is_well(server)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: \x1b[2J\x07\r\n\r\n",
        b"GET /%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_heads_that_are_not_http(server, head):
    found = answer_to(server, head)
    assert b"X-Injected" not in found
    assert not found or found.startswith(b"HTTP/1.1 ")
    assert b"Traceback" not in found
    assert is_well(server)


def test_clients_that_keep_connections_open(server):
    """A thousand silent ones do not keep others out."""
    with contextlib.ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(connected(server))
        assert is_well(server)


def test_more_connections_than_files(toy_bundle, tmp_path):
    """The loop must not spin, nor fill the log; silent connections make room."""
    limit = ["bash", "-c", 'ulimit -n 700; exec "$@"', "limited"]
    with serving("-m", str(toy_bundle), "-q", cwd=tmp_path, before=limit) as (process, url):
        with contextlib.ExitStack() as stack:
            for _ in range(1000):
                stack.enter_context(connected(url))
            started = time.monotonic()
            assert is_well(url)
            assert time.monotonic() - started < 5
        process.terminate()
        assert len(log_of(process).read()) < 2000


def waiting_texts(server: str) -> float:
    text = httpx.get(f"{server}/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("nmt_waiting_texts{")]
    assert lines
    return sum(float(line.split()[-1]) for line in lines)


def test_clients_that_vanish_in_mid_stream(server):
    body = json.dumps(GOOD["/v1/chat/completions"] | {"stream": True, "n": 16}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(50):
        with connected(server) as client:
            client.sendall(head.encode() + body)
            client.recv(10)
    assert is_well(server)
    deadline = time.monotonic() + 30
    while waiting_texts(server):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_log_shows_what_was_sent_as_one_harmless_line(toy_bundle, tmp_path):
    with serving("-m", str(toy_bundle), "--log-text", cwd=tmp_path) as (process, url):
        nasty = "red\x1b]0;taken\x07\r\n2099-01-01 forged \u202e line"
        body = {"q": nasty, "source": "auto", "target": "de", "api_key": "secret"}
        httpx.post(f"{url}/translate", json=body, timeout=60)
        httpx.get(f"{url}/health")
        lines = []
        for line in log_of(process):
            lines.append(line)
            if "/health" in line and "200" in line and any("forged" in old for old in lines):
                break
    assert all(line.rstrip("\n").isprintable() for line in lines)
    assert not any(line.startswith("2099") or "secret" in line for line in lines)


def test_too_much_is_refused_and_it_recovers(toy_bundle, tmp_path):
    """Four times what fits: some come again later, the others are answered, then all is well."""
    limits = ["--queue-characters", "2000", "--threads", "1"]
    with serving("-m", str(toy_bundle), *limits, "-q", cwd=tmp_path) as (_, url):
        pair = httpx.get(f"{url}/languages").json()[0]
        body = {"q": "red dog " * 100, "source": pair["code"], "target": pair["targets"][0]}

        def ask(_: int) -> httpx.Response:
            return httpx.post(f"{url}/translate", json=body, timeout=60)

        with ThreadPoolExecutor(32) as pool:
            found = list(pool.map(ask, range(64)))
        assert {one.status_code for one in found} == {200, 429}
        refused = next(one for one in found if one.status_code == 429)
        assert int(refused.headers["retry-after"]) >= 1
        started = time.monotonic()
        while ask(0).status_code != 200:
            assert time.monotonic() - started < 10


def test_a_reload_under_load_loses_nothing(toy_bundle, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(toy_bundle, model)
    with serving("-m", str(model), "-q", cwd=tmp_path) as (process, url):
        pair = httpx.get(f"{url}/languages").json()[0]
        body = {"q": "red dog", "source": pair["code"], "target": pair["targets"][0]}
        found, is_over = [], threading.Event()

        def ask() -> None:
            with httpx.Client(timeout=60) as client:
                while not is_over.is_set():
                    found.append(client.post(f"{url}/translate", json=body))

        with ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask) for _ in range(4)]
            for second in range(1, 4):
                os.utime(model / "bundle.json", (second, second))
                time.sleep(1.2)
                process.send_signal(signal.SIGHUP)
            is_over.set()
            assert all(future.exception() is None for future in asking)
        assert len(found) > 10
        assert {(one.status_code, one.text) for one in found} == {(200, found[0].text)}


def test_sigterm_answers_what_was_accepted(toy_bundle, tmp_path):
    with serving("-m", str(toy_bundle), "--threads", "1", "-q", cwd=tmp_path) as (process, url):
        pair = httpx.get(f"{url}/languages").json()[0]
        texts = ["red dog two cats run"] * 1500
        body = {"q": texts, "source": pair["code"], "target": pair["targets"][0]}
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(httpx.post, f"{url}/translate", json=body, timeout=60)
            while not waiting_texts(url):
                assert not asked.done()
            process.terminate()
            assert len(asked.result().json()["translatedText"]) == len(texts)


def test_sigterm_may_come_again_and_again(toy_bundle, tmp_path):
    with serving("-m", str(toy_bundle), "-q", cwd=tmp_path) as (process, _):
        while process.poll() is None:
            process.terminate()
            time.sleep(0.004)
        assert process.returncode == 143


def test_a_path_says_what_it_takes(server):
    for method, path, status, allowed in (
        ("GET", "/translate", 405, "POST"),
        ("POST", "/languages", 405, "GET"),
        ("DELETE", "/v1/chat/completions", 405, "POST"),
        ("POST", "/nowhere", 404, None),
        ("GET", "/v1/nowhere", 404, None),
        ("GET", "/%00", 404, None),
        ("GET", "/" + "a" * 5000, 404, None),
        ("GET", "/" + "a/" * 5000, 404, None),
    ):
        found = httpx.request(method, f"{server}{path}")
        assert (found.status_code, found.headers.get("allow")) == (status, allowed), path
    assert httpx.get(f"{server}/v1/nowhere").json()["error"]["code"] is None


def test_a_stream_ends_when_its_time_is_over(babbling_chat, tmp_path):
    """Else clients that read slowly, or replies that never end, would hold all places."""
    body = GOOD["/v1/chat/completions"] | {"max_tokens": None, "stream": True, "n": 16}
    options = ["--timeout", "2", "--threads", "1", "-q"]
    with serving("-m", str(babbling_chat), *options, cwd=tmp_path) as (_, url):
        begun = time.monotonic()
        with (
            httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=60) as reply,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            assert "[DONE]" not in "".join(reply.iter_text())
        assert time.monotonic() - begun < 20
        short = GOOD["/v1/chat/completions"]
        assert httpx.post(f"{url}/v1/chat/completions", json=short, timeout=60).status_code == 200


def test_a_list_is_queued_as_a_whole(toy_bundle, tmp_path):
    """A list that is refused leaves none of its texts in the queue."""
    limits = ["--queue-characters", "30000", "--threads", "1", "--batch-tokens", "8"]
    with serving("-m", str(toy_bundle), *limits, "-q", cwd=tmp_path) as (_, url):
        pair = httpx.get(f"{url}/languages").json()[0]
        pair = {"source": pair["code"], "target": pair["targets"][0]}
        long = pair | {"q": ["red dog two cats run"] * 1000}
        with ThreadPoolExecutor(2) as pool:
            asked = pool.submit(httpx.post, f"{url}/translate", json=long, timeout=60)
            while not waiting_texts(url):
                assert not asked.done()
            other = pool.submit(httpx.post, f"{url}/translate", json=long, timeout=60)
            assert other.result().status_code == 429
            assert waiting_texts(url) <= 1000
            assert asked.result().status_code == 200


def test_the_official_client_comes_again_when_there_is_room(babbling_chat, tmp_path):
    """All places are taken by replies without end, until those who asked for them go away."""
    openai = pytest.importorskip("openai")
    ask = GOOD["/v1/chat/completions"] | {"model": ""}
    endless = json.dumps(ask | {"max_tokens": None, "stream": True}).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    sent = f"{head}Content-Length: {len(endless)}\r\n\r\n".encode() + endless
    states = []
    hooks = {"response": [lambda response: states.append(response.status_code)]}
    with (
        serving("-m", str(babbling_chat), "--threads", "1", "-q", cwd=tmp_path) as (_, url),
        httpx.Client(event_hooks=hooks, timeout=60) as wire,
        ThreadPoolExecutor(1) as pool,
    ):
        client = openai.OpenAI(
            base_url=f"{url}/v1", api_key="none", max_retries=20, http_client=wire
        )
        with contextlib.ExitStack() as stack:
            for _ in range(80):  # more than there are places
                taken = stack.enter_context(connected(url))
                taken.sendall(sent)
            assert taken.recv(12) == b"HTTP/1.1 429"
            reply = pool.submit(client.chat.completions.create, **ask)
            while not states:
                assert not reply.done()
                time.sleep(0.01)
        assert reply.result().choices
    assert (states[0], states[-1]) == (429, 200)


def test_files_that_are_none(server, toy_bundle):
    """Broken, huge, hostile: one line, and nothing of the server's own folders in it."""
    pair = httpx.get(f"{server}/languages").json()[0]
    form = {"source": pair["code"], "target": pair["targets"][0]}
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * (1 << 30))
    entity = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><xliff>&e;</xliff>'
    for name, content, status, words in (
        ("a.doc", b"x", 400, "is not translated"),
        ("a.pdf", b"%PDF", 400, "cannot be read as PDF"),
        ("", b"x", 422, ""),
        ("a.docx", b"no zip", 400, "is not a Word document"),
        ("a.docx", bomb.getvalue(), 400, "unpacks to more than"),
        ("a.xlf", entity, 400, "defines entities"),
        ("a.md", b"\xff", 400, "not valid UTF-8"),
        ("a.txt", b"\xff", 400, "not valid UTF-8"),
        ("a\r\nX: y.json", b"[" * 100_000, 400, "cannot be read"),
        ("a.html", b"<b>x</b>" * 100_000, 413, "characters"),
        ("a.html", b"x " * 100_000, 413, "characters"),
        ("a.html", b"x" * 3_000_000, 413, "bytes"),
    ):
        with contextlib.suppress(httpx.WriteError):  # refused before all was sent
            files = {"file": (name, content)}
            found = httpx.post(f"{server}/translate_file", data=form, files=files, timeout=60)
            told = found.json()["error"]
            if name:
                assert (found.status_code, words in told) == (status, True), (name, told)
            assert told.isprintable()
            assert "/tmp" not in told
    for name in ("x", "..", "%2e%2e", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%00"):
        request = f"GET /download_file/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert answer_to(server, request.encode()).startswith(b"HTTP/1.1 404")
    assert is_well(server)


def test_reading_a_file_ends_with_the_time_of_its_request(toy_bundle, tmp_path):
    """A file can be made so that its library reads for hours; its process must not go on."""
    with serving("-m", str(toy_bundle), "--timeout", "3", "-q", cwd=tmp_path) as (process, url):
        pair = httpx.get(f"{url}/languages").json()[0]
        form = {"source": pair["code"], "target": pair["targets"][0]}
        files = {"file": ("a.md", b"[" * 1_000_000)}
        for _ in range(9):  # more than may be read at a time
            found = httpx.post(f"{url}/translate_file", data=form, files=files, timeout=60)
            assert found.status_code == 503
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 30
        while children.exists() and len(children.read_text().split()) > 1:  # one tidies up
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_kept_files_go_with_the_server(toy_bundle, tmp_path):
    (tmp_path / "temporary").mkdir()
    before = ["env", f"TMPDIR={tmp_path / 'temporary'}"]
    with serving("-m", str(toy_bundle), "-q", cwd=tmp_path, before=before) as (_, url):
        pair = httpx.get(f"{url}/languages").json()[0]
        form = {"source": pair["code"], "target": pair["targets"][0]}
        files = {"file": ("a.html", b"<p>red dog</p>")}
        found = httpx.post(f"{url}/translate_file", data=form, files=files, timeout=60).json()
        assert httpx.get(found["translatedFileUrl"]).status_code == 200
        (folder,) = (tmp_path / "temporary").iterdir()
        assert folder.stat().st_mode & 0o77 == 0
        assert len([*folder.iterdir()]) == 1  # what was sent is gone
    assert not [*(tmp_path / "temporary").iterdir()]
