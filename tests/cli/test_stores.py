"""URLs in place of files: the same bytes as with files. A folder is the store.

With S3's protocol, on this machine: `pip install s3fs 'moto[server]'`, then
`pytest -m slow tests/cli/test_stores.py`.
"""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import fsspec
import numpy as np
import pytest
from safetensors.numpy import load_file

CONFIG = """\
name: toy
task: translation
data: {dir: "URL/texts", source_lang: en, target_lang: de,
       train: [{source: train.en, target: train.de}], dev: [{source: dev.en, target: dev.de}]}
tokenizer: {vocab_size: 360}
model: {d_model: 16, d_ff: 16, num_heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.1,
        max_length: 24}
train: {max_steps: 60, tokens_per_batch: 300, warmup_steps: 9, precision: float32, lanes: 1,
        eval_steps: 20, checkpoint_steps: 5, keep_checkpoints: 3, average_checkpoints: 3}
decode: {beam_size: 1, max_length: 6}
"""
KILLED = """
import os, signal
from nmt_cli.cli import main
from nmt_cli.stores import Store
put = Store.put
def cut(self, files):
    put(self, dict([*files.items()][:-1]))
    os.kill(os.getpid(), signal.SIGKILL)
Store.put = cut
main()
"""


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.slow)])
def url(request, tmp_path, toy_bundle, toy_corpus, monkeypatch):
    """The URL of a store with the toy model, its text and lines to translate."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = tmp_path / "store"
    shutil.copytree(toy_corpus, store / "texts")
    shutil.copytree(toy_bundle, store / "models" / "en-de")
    (store / "in").mkdir()
    for name in ("a", "b"):
        (store / "in" / f"{name}.txt").write_text(f"red {name}\n" + "old dog\n" * 30)
    (store / "page.html").write_text("<p>red dog</p>")
    if request.param == "file":
        yield f"file://{store}"
        return
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    fs = fsspec.filesystem("s3")
    fs.makedirs("bucket", exist_ok=True)
    fs.put(str(store), f"bucket/{tmp_path.name}", recursive=True)
    yield f"s3://bucket/{tmp_path.name}"
    server.stop()


def read(url):
    """Return the content of an object, or None."""
    fs, path = fsspec.url_to_fs(url)
    fs.invalidate_cache()
    return fs.cat_file(path) if fs.exists(path) else None


def test_lines_models_and_parts(url, toy_bundle, tmp_path, run_nmt):
    def nmt(*arguments):
        done = run_nmt(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stderr

    nmt("translate", "-m", str(toy_bundle), "-i", "store/in/*.txt", "-o", "whole.de")
    far = ("translate", "-m", f"{url}/models/en-de", "-i", f"{url}/in/*.txt", "-o")
    nmt(*far, f"{url}/out.de")
    nmt(*far, f"{url}/out/")
    nmt(*far, f"{url}/parts.de", "--shard", "2/2")
    again = nmt(*far, f"{url}/parts.de", "--shard", "2/2")
    assert again == f"{url}/parts.de.parts/2-of-2 exists already\n"
    missing = run_nmt("join", f"{url}/parts.de", cwd=tmp_path)
    assert missing.returncode == 3
    assert f"error: {url}/parts.de: part 1-of-2 is missing" in missing.stderr
    nmt(*far, f"{url}/parts.de", "--shard", "1/2")
    assert nmt("join", f"{url}/parts.de", "--remove") == f"wrote {url}/parts.de from 2 parts\n"
    whole = (tmp_path / "whole.de").read_bytes()
    assert read(f"{url}/out.de") == read(f"{url}/parts.de") == whole
    assert b"".join(read(f"{url}/out/{name}.txt") for name in "ab") == whole
    assert read(f"{url}/parts.de.parts/1-of-2.json") is None


def test_documents_scores_and_errors(url, tmp_path, run_nmt):
    model = ("-m", f"{url}/models/en-de")
    page = ("-i", f"{url}/page.html", "-o", f"{url}/de.html")
    done = run_nmt("translate", *model, *page, cwd=tmp_path)
    assert (done.returncode, read(f"{url}/de.html")) == (0, b"<p>rot hund</p>"), done.stderr
    pairs = ("-i", f"{url}/texts/dev.en", "--reference", f"{url}/texts/dev.de")
    done = run_nmt("score", *model, *pairs, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (0, 12), done.stderr
    for arguments, code, message in (
        ((*model, "-i", f"{url}/none.txt"), 3, f"{url}/none.txt: there is no such object"),
        (("-m", f"{url}/models/none", "x"), 4, f"{url}/models/none: there is no such object"),
        (("-m", "nothing://x", "x"), 2, "nothing://x: Protocol not known: nothing"),
    ):
        done = run_nmt("translate", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr.splitlines()[0]) == (code, f"error: {message}")


def trained(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "runs/toy/checkpoints/step-00000060/weights.safetensors") | {
        f"model {name}": weight
        for name, weight in load_file(folder / "runs/toy/model/model.safetensors").items()
    }


def test_a_machine_that_is_gone_is_replaced(url, tmp_path, run_nmt):
    (tmp_path / "my.yaml").write_text(CONFIG.replace("URL", url))
    command = [sys.executable, "-m", "nmt_cli", "train", "../my.yaml"]
    for name in ("alone", "machine"):
        (tmp_path / name).mkdir()
    subprocess.run(command, cwd=tmp_path / "alone", check=True)

    command += ["--store", f"{url}/runs"]
    machine = tmp_path / "machine"
    process = subprocess.Popen(command, cwd=machine)
    while read(f"{url}/runs/toy/nmt-run.json") is None and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it was over too soon"
    (machine / "runs").rename(tmp_path / "gone")
    done = subprocess.run(command, cwd=machine, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{url}/runs/toy: bringing step " in done.stderr

    expected, found = trained(tmp_path / "alone"), trained(machine)
    assert expected.keys() == found.keys()
    assert all(np.array_equal(expected[name], found[name]) for name in expected)
    # Which number format is the fastest depends on the moment.
    command, alone = ["translate", "--format", "float32", "red dog", "-m"], tmp_path / "alone"
    done = run_nmt(*command, f"{url}/runs/toy", cwd=alone)
    near = run_nmt(*command, "runs/toy", cwd=alone)
    assert (done.returncode, done.stdout) == (0, near.stdout), done.stderr


def test_text_is_encoded_by_machines_that_share_nothing_else(url, tmp_path, run_nmt):
    config = tmp_path / "my.yaml"
    config.write_text(CONFIG.replace("URL", url))
    at = ("--store", f"{url}/runs")

    def tokenize(machine, *arguments):
        (tmp_path / machine).mkdir(exist_ok=True)
        return run_nmt("tokenize", str(config), *arguments, cwd=tmp_path / machine)

    assert tokenize("a", "--encode", "--shard", "1/2", *at).returncode == 2
    assert tokenize("a", *at).returncode == 0
    assert tokenize("a", "--encode", "--shard", "1/2", *at).returncode == 0
    options = ("tokenize", str(config), "--encode", "--shard", "2/2", *at)
    (tmp_path / "b").mkdir()
    killed = subprocess.run([sys.executable, "-c", KILLED, *options], cwd=tmp_path / "b")
    assert killed.returncode == -signal.SIGKILL
    done = tokenize("c", "--encode", *at)
    missing = f"error: {url}/runs/toy/shards/train-"
    assert (done.returncode, missing in done.stderr) == (3, True), done.stderr
    assert "part 2-of-2 is missing" in done.stderr
    done = tokenize("b", "--encode", "--shard", "2/2", *at)
    assert (done.returncode, "part 2-of-2 exists already" in done.stderr) == (0, True), done.stderr

    steps = ("--set", "train.max_steps=1")
    done = run_nmt("train", str(config), *steps, *at, cwd=tmp_path / "c")
    assert (done.returncode, "bringing 2 parts" in done.stderr) == (0, True), done.stderr
    tokenize("alone", "--encode")
    stored = {}
    for machine in ("alone", "c"):
        shards = tmp_path / machine / "runs/toy/shards"
        files = (file for file in shards.rglob("*") if file.is_file())
        stored[machine] = {str(file.relative_to(shards)): file.read_bytes() for file in files}
    assert stored["c"] == stored["alone"]


def test_machines_that_come_and_go_need_a_disk(run_nmt, tmp_path):
    machines = ("--workers", "127.0.0.1:2222,127.0.0.1:2223", "--worker-index", "0", "--elastic")
    done = run_nmt("train", *machines, "--store", "s3://bucket", cwd=tmp_path)
    assert (done.returncode, "not in a --store" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "command",
    [
        "translate --html", "translate --attention", "classify --attention", "evaluate --report",
        "plot schedule --output", "export --saved-model", "export --share", "export --app",
        "export --huggingface", "check --fix", "init", "import some/model",
        "data get multi30k-en-de --data-dir",
    ],
)  # fmt: skip
def test_what_is_not_put_into_a_store_is_refused(command, run_nmt, tmp_path):
    done = run_nmt(*command.split(), "s3://bucket/x.html", cwd=tmp_path)
    told = "error: s3://bucket/x.html: this is written to a file, not to a URL\n"
    assert (done.returncode, done.stderr) == (2, told)
