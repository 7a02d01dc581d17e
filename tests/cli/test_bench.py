"""`nmt bench` as a subprocess, and its arithmetic."""

import json
import time

import pytest

from nmt_cli.decoding.benchmark import measure_speed
from nmt_cli.decoding.engine import Hypothesis
from nmt_cli.decoding.options import SearchOptions


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
        (("--batch", "0"), 2, "--batch must be sizes such as 1,8,64 (it is 0)"),
        (("--batch", "4,x"), 2, "(it is 4,x)"),
        (("--seconds", "0"), 2, "--seconds must be above 0"),
        (("--engine", "tensorflwo"), 2, "Did you mean 'tensorflow'?"),
        (("-i", "blank"), 3, "nothing to measure with"),
        (("-i", "missing"), 3, "missing: cannot be read"),
        (("-i", "s", "--format", "int9"), 4, "int9"),
    ],
)
def test_bench_says_what_is_wrong(run_nmt, toy_bundle, tmp_path, arguments, code, message):
    (tmp_path / "s").write_text("a dog\n")
    (tmp_path / "blank").write_text("\n \n")
    done = run_nmt("bench", "-m", str(toy_bundle), *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


class SlowEngine:
    """Takes ten milliseconds for a source and writes two pieces."""

    max_length = 9

    def __init__(self):
        self.calls = []

    def search(self, sources, options, *, first_index=0):
        self.calls.append(len(sources))
        time.sleep(0.01 * len(sources))
        return [[Hypothesis([7, 2], 0.0)] for _ in sources]


def test_speed_counts_sentences_and_pieces_but_not_the_first_call():
    engine = SlowEngine()
    speed = measure_speed(engine, [[7, 2]] * 5, SearchOptions(), 2, max_seconds=9)
    assert engine.calls == [2, 2, 2, 1]
    assert speed.tokens_per_second == pytest.approx(2 * speed.sentences_per_second)
    assert 0 < speed.sentences_per_second <= 100
    assert 20 <= speed.p50_ms <= speed.p95_ms


def test_no_call_begins_after_the_time():
    engine = SlowEngine()
    measure_speed(engine, [[7, 2]] * 50, SearchOptions(), 1, max_seconds=0.015)
    assert len(engine.calls) == 3
