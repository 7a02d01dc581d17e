"""Tests of `nmt serve` by its real clients, over a real socket."""

import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import docx
import httpx
import pytest
from office_files import PIECES, POWERPOINT, libreoffice, office
from pdf_files import pdf
from serving import log_of, serving

import nmt_cli
from nmt_cli.server import own

KEYS = "# keys\nsecret-1\nsecret-2\n"


@pytest.fixture(scope="module")
def server(toy_bundle, toy_chat, label_bundle, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    models = [part for path in (toy_bundle, toy_chat, label_bundle) for part in ("-m", str(path))]
    with serving(*models, "--suggestions", "better.jsonl", "-q", cwd=folder) as (_, url):
        yield url


@pytest.fixture(scope="module")
def locked(toy_bundle, toy_chat, tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    (folder / "keys").write_text(KEYS)
    options = ["--api-key-file", "keys", "--allow-origin", "https://good.example"]
    models = ["-m", str(toy_bundle), "-m", str(toy_chat)]
    with serving(*models, *options, "-q", cwd=folder) as (_, url):
        yield url


@pytest.fixture(scope="module")
def alone(toy_bundle):
    """What the model says without a server."""
    with nmt_cli.load(toy_bundle) as model:
        lines = ["red dog", "two cats run", "blue fish", "red", "a dog"]
        yield {found.source: found.text for found in model.translate(lines)}


PAGE = "<html><body><h1>dog <b>big</b> cat</h1>\n<p>cat sees <i>bird</i> &amp; 5</p></body></html>"


def as_a_file(bundle, folder, name: str, content: str | bytes) -> bytes:
    """What `nmt translate` makes of a document."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with nmt_cli.load(bundle) as model:
        nmt_cli.translate_document(folder / name, folder / f"out-{name}", model)
    return (folder / f"out-{name}").read_bytes()


def languages(url: str) -> tuple[str, str]:
    header = {"Authorization": "Bearer secret-1"}
    source, target = httpx.get(f"{url}/languages", headers=header).json()
    assert target["targets"] == []
    assert source["targets"] == [target["code"]]
    return source["code"], target["code"]


class TestLibreTranslate:
    def test_a_text_and_a_list(self, server, alone):
        source, target = languages(server)
        body = {"q": "red dog", "source": source, "target": target, "unknown": {"is": "ignored"}}
        found = httpx.post(f"{server}/translate", json=body)
        assert found.json() == {"translatedText": alone["red dog"]}
        found = httpx.post(f"{server}/translate", json=body | {"q": list(alone)})
        assert found.json() == {"translatedText": list(alone.values())}

    @pytest.mark.parametrize("how", ["params", "data"])
    def test_query_strings_and_forms(self, server, alone, how):
        source, target = languages(server)
        values = {"q": "red dog", "source": source, "target": target, "alternatives": "2"}
        found = httpx.post(f"{server}/translate", **{how: values}).json()
        assert found["translatedText"] == alone["red dog"]
        assert 0 < len(found["alternatives"]) <= 2
        assert alone["red dog"] not in found["alternatives"]

    def test_a_language_that_is_to_be_told(self, server):
        _, target = languages(server)
        body = {"q": ["red dog", "blue fish"], "source": "auto", "target": target}
        answer = httpx.post(f"{server}/translate", json=body, timeout=60).json()
        found = answer["detectedLanguage"]
        assert len(found) == 2
        assert all(0 <= one["confidence"] <= 100 for one in found)

    def test_lines_stay(self, server, alone):
        source, target = languages(server)
        pair = {"source": source, "target": target}
        lines = "  red dog\r\n\nblue fish\n"
        found = httpx.post(f"{server}/translate", json=pair | {"q": lines}).json()
        red, blue = alone["red dog"], alone["blue fish"]
        assert found["translatedText"] == f"  {red}\r\n\n{blue}\n"

    def test_html_is_translated_as_a_file_is(self, server, toy_bundle, tmp_path):
        source, target = languages(server)
        body = {"q": PAGE, "source": source, "target": target, "format": "html"}
        found = httpx.post(f"{server}/translate", json=body).json()
        assert found["translatedText"] == as_a_file(toy_bundle, tmp_path, "a.html", PAGE).decode()
        assert "<b>dick</b>" in found["translatedText"]
        found = httpx.post(f"{server}/translate", json=body | {"alternatives": 2}).json()
        for other in found["alternatives"]:
            assert re.findall("<[^>]*>", other) == re.findall("<[^>]*>", PAGE)
        assert httpx.post(f"{server}/translate", json=body | {"q": "<p>5</p>"}).json() == {
            "translatedText": "<p>5</p>"
        }

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.html", PAGE),
            ("dog big.po", 'msgid "big dog %s"\nmsgstr ""\n'),
            ("a.SRT", "1\n00:00:01,000 --> 00:00:02,000\nbig dog\n"),
            ("../a.md", "# dog *big* cat\n"),
            ("a.txt", "big dog\n\n  cat\n"),
            ("a.odt", libreoffice(".odt", ["big dog", PIECES["c"].replace("TEXT", "cat")])),
            ("a.PPTX", office(POWERPOINT, ["<a:r><a:t>big dog</a:t></a:r>"])),
        ],
    )
    def test_a_file_is_translated_as_it_says_in_its_manual(
        self, server, toy_bundle, tmp_path, name, content
    ):
        (tmp_path / "sent").write_bytes(content if isinstance(content, bytes) else content.encode())
        source, target = languages(server)
        form = [f"file=@sent;filename={name}", f"source={source}", f"target={target}", "api_key=x"]
        command = ["curl", "-sS", *(word for value in form for word in ("-F", value))]
        told = subprocess.check_output([*command, f"{server}/translate_file"], cwd=tmp_path)
        fetched = httpx.get(json.loads(told)["translatedFileUrl"])
        if name == "a.txt":
            wanted = b"dick hund\n\n  katze\n"
            assert re.sub(b"[a-z]+", b"", fetched.content) == re.sub(b"[a-z]+", b"", wanted)
        else:
            wanted = as_a_file(toy_bundle, tmp_path, name.removeprefix("../").lower(), content)
            assert fetched.content == wanted
        stem, ending = name.removeprefix("../").lower().split(".")
        assert fetched.headers["content-disposition"].startswith("attachment; ")
        assert f"{stem.replace(' ', '%20')}.{target}.{ending}" in (
            fetched.headers["content-disposition"].replace(" ", "%20").lower()
        )

    def test_a_pdf_file_comes_back_as_a_word_document(self, server):
        source, target = languages(server)
        files = {"file": ("a.pdf", pdf([[(60, 700, 10, "big dog")]]))}
        form = {"source": source, "target": target, "api_key": "secret-1"}
        told = httpx.post(f"{server}/translate_file", data=form, files=files).json()
        fetched = httpx.get(told["translatedFileUrl"])
        assert f"a.{target}.docx" in fetched.headers["content-disposition"]
        document = docx.Document(io.BytesIO(fetched.content))
        assert [one.text for one in document.paragraphs] == ["dick hund"]

    def test_it_says_which_files_it_translates(self, server):
        told = httpx.get(f"{server}/frontend/settings").json()
        assert told["filesTranslation"]
        assert {".txt", ".html", ".docx", ".po", ".srt"} <= set(told["supportedFilesFormat"])
        assert {".pptx", ".odt", ".pdf"} <= set(told["supportedFilesFormat"])
        assert ".doc" not in told["supportedFilesFormat"]

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b'{"q": ', 400),
            (b"[1]", 400),
            (b"\xff\xfe", 400),
            (b"[" * 100_000, 400),
            (b'{"q": 5, "source": "en", "target": "de"}', 400),
            (b'{"q": "x", "source": "en", "target": "no-such"}', 400),
            (b'{"q": "x", "source": "auto", "target": "no-such"}', 400),
            (b'{"q": "x", "source": "en", "target": "de", "alternatives": 1e999}', 400),
            (b'{"q": "' + b"x" * 3_000_000 + b'"}', 413),
            (json.dumps({"q": ["x"] * 5000, "source": "en", "target": "de"}).encode(), 413),
        ],
    )
    def test_errors_are_one_line(self, server, body, status):
        found = httpx.post(f"{server}/translate", content=body)
        assert found.status_code == status
        assert list(found.json()) == ["error"]
        assert "\n" not in found.json()["error"]

    def test_its_python_client(self, server, alone):
        client = pytest.importorskip("libretranslatepy").LibreTranslateAPI(f"{server}/")
        source, target = languages(server)
        assert client.translate("red dog", source, target) == alone["red dog"]
        assert client.languages()[0]["code"] == source
        assert client.detect("the dog is in the house")[0]["confidence"] >= 0

    def test_deep_translator(self, server, alone):
        found = pytest.importorskip("deep_translator").LibreTranslator
        client = found(source="en", target="de", custom_url=f"{server}/", api_key="x")
        source, target = languages(server)
        client._source, client._target = source, target
        assert client.translate("red dog") == alone["red dog"]

    def test_a_better_translation_is_kept(self, server, tmp_path_factory):
        body = {"q": "red dog", "s": "besser", "source": "en", "target": "de"}
        assert httpx.post(f"{server}/suggest", json=body).json() == {"success": True}
        (kept,) = tmp_path_factory.getbasetemp().glob("serve0/better.jsonl")
        assert json.loads(kept.read_text())["target"] == "besser"


class TestDeepL:
    def test_the_official_client(self, locked, alone):
        deepl = pytest.importorskip("deepl")
        source, target = languages(locked)
        client = deepl.DeepLClient("secret-1", server_url=locked)
        found = client.translate_text(["red dog", "blue fish"], target_lang=target.upper())
        assert [one.text for one in found] == [alone["red dog"], alone["blue fish"]]
        assert found[0].detected_source_lang == source.upper()
        assert found[0].billed_characters == len("red dog")
        assert client.get_source_languages()[0].code == source.upper()
        assert client.get_usage().character.count >= len("red dog")

    def test_tags_follow_their_words(self, locked):
        client = pytest.importorskip("deepl").DeepLClient("secret-1", server_url=locked)
        _, target = languages(locked)
        for handling, page in (("html", PAGE), ("xml", "<x>dog <y>big</y> cat</x> bird <z/>")):
            found = client.translate_text(page, target_lang=target.upper(), tag_handling=handling)
            assert re.findall("<[^>]*>", found.text) == re.findall("<[^>]*>", page)
            assert re.search("<[by]>dick</[by]>", found.text)

    def test_a_wrong_key(self, locked):
        deepl = pytest.importorskip("deepl")
        with pytest.raises(deepl.AuthorizationException):
            deepl.DeepLClient("wrong", server_url=locked).translate_text("x", target_lang="DE")


class TestOpenAI:
    @pytest.fixture
    def client(self, locked):
        openai = pytest.importorskip("openai")
        return openai.OpenAI(base_url=f"{locked}/v1", api_key="secret-2", max_retries=0)

    def test_a_reply_whole_and_streamed(self, client):
        (model,) = client.models.list().data
        ask = {"model": model.id, "messages": [{"role": "user", "content": "hello"}]}
        whole = client.chat.completions.create(**ask, temperature=0)
        assert whole.choices[0].message.content
        assert whole.choices[0].finish_reason in ("stop", "length")
        assert whole.usage.total_tokens > whole.usage.completion_tokens > 0
        chunks = list(
            client.chat.completions.create(
                **ask, temperature=0, stream=True, stream_options={"include_usage": True}
            )
        )
        assert chunks[0].choices[0].delta.role == "assistant"
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text == whole.choices[0].message.content
        assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason
        assert chunks[-1].choices == []
        assert chunks[-1].usage == whole.usage

    def test_seeds_lengths_and_stops(self, client):
        ask = {"model": "", "messages": [{"role": "user", "content": "hello"}], "temperature": 1.5}
        first, again = (client.chat.completions.create(**ask, seed=7, n=3) for _ in range(2))
        said = [choice.message.content for choice in first.choices]
        assert said == [choice.message.content for choice in again.choices]
        assert len(said) == 3
        short = client.chat.completions.create(**ask, max_tokens=1).choices[0]
        assert short.finish_reason == "length"
        stop = said[0][1:2]
        ended = client.chat.completions.create(**ask, seed=7, stop=[stop]).choices[0]
        assert ended.message.content == said[0][: said[0].index(stop)]

    def test_errors_have_their_types(self, client):
        import openai

        ask = {"model": "", "messages": [{"role": "user", "content": "hello"}]}
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(**ask | {"model": "gpt-4"})
        with pytest.raises(openai.BadRequestError) as error:
            client.chat.completions.create(**ask, temperature=9)
        assert error.value.param == "temperature"
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="wrong").models.list()


def test_deepl_clients_have_a_quota(toy_bundle, tmp_path):
    deepl = pytest.importorskip("deepl")
    with serving("-m", str(toy_bundle), "--quota", "10", "-q", cwd=tmp_path) as (_, url):
        client = deepl.DeepLClient("any", server_url=url)
        _, target = languages(url)
        assert client.translate_text("red dog", target_lang=target.upper()).text
        assert (client.get_usage().character.count, client.get_usage().character.limit) == (7, 10)
        with pytest.raises(deepl.QuotaExceededException):
            client.translate_text("red dog", target_lang=target.upper())


def test_labels_scores_and_words(server):
    found = httpx.post(f"{server}/classify", json={"texts": ["good", "bad"]}).json()["results"]
    assert all(sum(one["probabilities"].values()) == pytest.approx(1, abs=1e-3) for one in found)
    pairs = {"pairs": [["red dog", "red dog"], ["red", "x"]]}
    found = httpx.post(f"{server}/score", json=pairs).json()["results"]
    assert found[0]["score"] == pytest.approx(sum(found[0]["log_probs"]) / len(found[0]["tokens"]))
    source, target = languages(server)
    body = {"q": "red dog", "translation": "x y", "source": source, "target": target}
    words = httpx.post(f"{server}/explain", json=body).json()["words"]
    assert [word["text"] for word in words] == ["x", "y"]
    assert all(0 <= word["probability"] <= 1 for word in words)
    assert {word["from"] for word in words} <= {"red", "dog", ""}


def test_many_clients_get_what_each_would_get_alone(server, alone):
    source, target = languages(server)

    def ask(number: int) -> bool:
        line = list(alone)[number % len(alone)]
        body = {"q": line, "source": source, "target": target}
        found = httpx.post(f"{server}/translate", json=body, timeout=60).json()
        return found == {"translatedText": alone[line]}

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(200)))
    text = httpx.get(f"{server}/metrics").text
    assert 'nmt_requests_total{path="/translate",status="200"}' in text
    assert "nmt_batch_texts_bucket" in text


def test_pages_from_elsewhere_may_not_ask(locked):
    header = {"Authorization": "Bearer secret-1"}
    models = f"{locked}/v1/models"
    assert httpx.get(models, headers=header).status_code == 200
    assert httpx.get(models, headers=header | {"Origin": "https://evil.example"}).status_code >= 401
    good = httpx.get(models, headers=header | {"Origin": "https://good.example"})
    assert good.headers["access-control-allow-origin"] == "https://good.example"
    assert httpx.get(models).status_code == 401


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:5000", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:5000", 403),
        ("[", 403),
    ],
)
def test_a_name_that_is_made_to_mean_this_machine_does_not_help(server, name, status):
    assert httpx.get(f"{server}/languages", headers={"Host": name}).status_code == status
    for origin in ("http://evil.example", "http://["):
        rebound = {"Host": name, "Origin": origin}
        assert httpx.get(f"{server}/languages", headers=rebound).status_code == 403


def test_a_proxy_may_pass_on_the_name_of_an_allowed_origin(locked):
    headers = {"Authorization": "Bearer secret-1", "Host": "good.example"}
    assert httpx.get(f"{locked}/v1/models", headers=headers).status_code == 200


def test_the_page_loads_nothing_from_elsewhere(server):
    page = httpx.get(f"{server}/")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert "http" not in page.text.replace("http-equiv", "")
    assert httpx.get(f"{server}/../../etc/passwd").status_code == 404
    assert httpx.get(f"{server}/%2e%2e/%2e%2e/app.py").status_code == 404


def test_every_request_is_described(server):
    paths = httpx.get(f"{server}/openapi.json").json()["paths"]
    described = {path: method for path, methods in paths.items() for method in methods}
    assert described == dict.fromkeys(own.POSTS, "post") | dict.fromkeys(own.GETS, "get")
    assert all(one["summary"] for methods in paths.values() for one in methods.values())
    (parameter,) = paths["/download_file/{name}"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("name", "path", True)


def test_half_requests_and_clients_that_go_away_hurt_nobody(server):
    address = server.removeprefix("http://").split(":")
    for sent in (b"", b"POST /translate HTTP/1.1\r\n", b"\x00\xff" * 50, b"GET / HTTP/9\r\n\r\n"):
        with socket.create_connection((address[0], int(address[1]))) as client:
            client.sendall(sent)
    with httpx.Client() as client:
        body = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
        with client.stream("POST", f"{server}/v1/chat/completions", json=body) as reply:
            next(reply.iter_bytes())
    assert httpx.get(f"{server}/health").json() == {"status": "ok"}


def test_a_model_that_changes_is_loaded_anew(toy_bundle, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(toy_bundle, model)
    with serving("-m", str(model), cwd=tmp_path) as (process, url):
        log = log_of(process)
        os.utime(model / "bundle.json", (1, 1))
        assert any("reloaded" in line for line in log)
        assert httpx.get(f"{url}/languages").status_code == 200
        (model / "bundle.json").write_text("{}")
        assert any("stays in use" in line for line in log)
        source, target = languages(url)
        body = {"q": "red", "source": source, "target": target}
        assert httpx.post(f"{url}/translate", json=body).status_code == 200
        process.send_signal(signal.SIGHUP)
        assert any("stays in use" in line for line in log)


def test_what_cannot_be_served_is_told_in_one_line(toy_bundle, run_nmt, tmp_path):
    (tmp_path / "empty").write_text("# none\n")
    for arguments, code, words in (
        (["-m", "no-such"], 4, "no such folder"),
        (["-m", str(toy_bundle), "--host", "no.such.host.invalid"], 2, "no.such.host.invalid"),
        (["-m", str(toy_bundle), "--api-key-file", "empty"], 2, "contains no key"),
        (["-m", str(toy_bundle), "--port", "99999"], 2, "--port must be from 0 to 65535"),
        (["-m", str(toy_bundle), "--timeout", "0"], 2, "--timeout"),
        (["-m", str(toy_bundle), "--batch-tokens", "2147483648"], 2, "(it is 2,147,483,648)"),
        (["-m", str(toy_bundle), "--quota", "0"], 2, "--quota"),
    ):
        done = run_nmt("serve", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("error:")) == (code, 1)
        assert words in done.stderr


def test_the_curl_line_that_it_prints_works(toy_bundle, tmp_path):
    command = [sys.executable, "-m", "nmt_cli", "serve", "--port", "0", "-m", str(toy_bundle)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        line = next(line for line in log_of(process) if line.startswith("try: "))
        assert "translatedText" in subprocess.check_output(
            ["curl", "-s", "--retry", "20", "--retry-connrefused", *shlex.split(line)[2:]],
            text=True,
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)


def test_it_never_imports_tensorflow(toy_bundle, tmp_path):
    code = (
        "import sys; from nmt_cli.server.app import create; "
        "from nmt_cli.server.settings import Settings; "
        f"create(Settings(models=[{str(toy_bundle)!r}])); "
        "sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
