"""`nmt bench` as a subprocess, and its arithmetic."""

import json
import shutil
import time
from dataclasses import replace

import pytest

from nmt_cli.bundle.folder import WEIGHTS, open_bundle
from nmt_cli.bundle.manifest import MANIFEST, as_text, read_manifest
from nmt_cli.errors import ModelFileError, NmtError
from nmt_cli.evaluation.benchmark import engines_of, measure_speed


def test_bench_shows_a_table(run_nmt, toy_bundle, tmp_path):
    (tmp_path / "s").write_text("a dog\n\nthe cat sees a bird\n" * 3)
    done = run_nmt("bench", "-m", str(toy_bundle), "-i", "s", "--batch", "1,4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    title, head, *rows = done.stdout.splitlines()
    assert "6 sentences of" in title
    assert head.split()[:3] == ["engine", "batch", "sentences/s"]
    assert rows[0].split()[:3] == ["ctranslate2", "float32", "1"]
    assert rows[-2].split()[:2] == ["tensorflow", "1"]
    assert {row.split()[0] for row in rows[1::2]} == {"4"}


def test_bench_as_json_with_the_models_own_data(run_nmt, toy_bundle, toy_corpus, tmp_path):
    options = ("--format", "float32", "--batch", "2", "--data-dir", str(toy_corpus), "--json")
    done = run_nmt("bench", "-m", str(toy_bundle), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["engine"], row["format"]) == ("ctranslate2", "float32")
    assert 0.1 < row["start_up_seconds"] < 60
    assert 20 < row["peak_memory_mb"] < 2000
    (speed,) = row["speeds"]
    assert speed["batch_size"] == 2
    assert 0 < speed["p50_ms"] <= speed["p95_ms"]
    assert speed["tokens_per_second"] > speed["sentences_per_second"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--batch", "0"), 2, "--batch must be a list of sizes such as 1,8,64 (it is 0)"),
        (("--batch", "4,x"), 2, "(it is 4,x)"),
        (("--seconds", "0"), 2, "--seconds must be above 0"),
        (("--engine", "tensorflwo"), 2, "Did you mean 'tensorflow'?"),
        (("-i", "blank"), 3, "no text to measure with"),
        (("-i", "missing"), 3, "missing: cannot be read"),
        (("-i", "s", "--format", "int9"), 2, "--format must be one of"),
    ],
)
def test_bench_says_what_is_wrong(run_nmt, toy_bundle, tmp_path, arguments, code, message):
    (tmp_path / "s").write_text("a dog\n")
    (tmp_path / "blank").write_text("\n \n")
    done = run_nmt("bench", "-m", str(toy_bundle), *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_bench_of_a_classifier(run_nmt, label_bundle, label_corpus, tmp_path):
    options = ("-m", str(label_bundle), "--data-dir", str(label_corpus), "--batch", "1,8")
    done = run_nmt("bench", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    title, head, *rows = done.stdout.splitlines()
    assert "30 texts of" in title
    assert "beam" not in title
    assert head.split()[:3] == ["engine", "batch", "texts/s"]
    assert {row.split()[0] for row in rows[1::2]} == {"8"}
    assert not any("tensorflow" in row for row in rows)
    done = run_nmt("bench", *options, "--format", "float32", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert "beam_size" not in found
    (row,) = found["rows"]
    assert 20 < row["peak_memory_mb"] < 2000
    tokens = row["speeds"][0]["tokens_per_second"] / row["speeds"][0]["sentences_per_second"]
    assert f" of {tokens:.1f} tokens" in title  # all texts, once


def test_bench_of_a_classifier_of_pairs(run_nmt, pair_bundle, tmp_path):
    (tmp_path / "s").write_text("dog\tbig cat\n\nbird\tdog\n")
    options = ("-m", str(pair_bundle), "-i", "s", "--format", "float32", "--batch", "2")
    done = run_nmt("bench", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 texts of" in done.stdout
    (tmp_path / "s").write_text("dog\tcat\nbird\n")
    done = run_nmt("bench", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "line 2 is one text; this model reads two" in done.stderr


@pytest.mark.parametrize("option", ["--beam=2", "--engine=tensorflow"])
def test_a_classifier_has_no_search(run_nmt, label_bundle, tmp_path, option):
    done = run_nmt("bench", "-m", str(label_bundle), option, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not for classifiers" in done.stderr


def test_an_engine_that_cannot_run_is_known_before(toy_bundle, tmp_path, monkeypatch):
    folder = shutil.copytree(toy_bundle, tmp_path / "model")
    manifest = read_manifest(folder / MANIFEST)
    files = {name: known for name, known in manifest.files.items() if name != WEIGHTS}
    (folder / MANIFEST).write_text(as_text(replace(manifest, files=files)), "utf-8")
    told = []
    rows = engines_of(open_bundle(folder), "auto", None, told.append)
    assert {name for name, _ in rows} == {"ctranslate2"}
    assert "shared without its weights" in told.pop()
    with pytest.raises(ModelFileError, match="without its weights"):
        engines_of(open_bundle(folder), "tensorflow", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert engines_of(open_bundle(toy_bundle), "auto", None, told.append) == rows
    assert told == ["tensorflow is left out: this needs tensorflow, which is not installed"]
    with pytest.raises(NmtError, match="which is not installed"):
        engines_of(open_bundle(toy_bundle), "tensorflow", None)


class SlowModel:
    """Takes ten milliseconds for a source and writes two tokens."""

    def __init__(self):
        self.calls = []

    def run(self, sources) -> int:
        self.calls.append(len(sources))
        time.sleep(0.01 * len(sources))
        return 2 * len(sources)


def test_speed_counts_sentences_and_tokens_but_not_the_first_call():
    model = SlowModel()
    speed = measure_speed(model.run, [[7, 2]] * 5, 2, max_seconds=9)
    assert model.calls == [2, 2, 2, 1]
    assert speed.tokens_per_second == pytest.approx(2 * speed.sentences_per_second)
    assert 0 < speed.sentences_per_second <= 100
    assert 20 <= speed.p50_ms <= speed.p95_ms


def test_no_call_begins_after_the_time():
    model = SlowModel()
    measure_speed(model.run, [[7, 2]] * 50, 1, max_seconds=0.015)
    assert len(model.calls) == 3
