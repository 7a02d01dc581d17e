"""Whole trainings, on the samples and on real data: minutes to hours, so never in the default run.

pytest -m slow tests/quality                                     the bundled samples
NMT_REAL_DATA=FOLDER pytest -m slow tests/quality                and Multi30k in FOLDER/multi30k
"""

import json
import os
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def train_and_describe(run_nmt, cwd: Path, *arguments: str) -> tuple[dict, float]:
    """Train in `cwd`; return what `nmt info --json` says and the seconds it took."""
    begin = time.monotonic()
    done = run_nmt("train", *arguments, cwd=cwd, timeout=4 * 3600)
    assert done.returncode == 0, done.stderr
    seconds = time.monotonic() - begin
    info = json.loads(run_nmt("info", "--json", cwd=cwd).stdout)
    print(f"{' '.join(arguments)}: {seconds:.0f} s, {info['scores']}")
    return info, seconds


def test_the_sample_translation_reaches_85_bleu_in_five_minutes(run_nmt, tmp_path):
    info, seconds = train_and_describe(run_nmt, tmp_path)
    assert info["scores"]["test"]["bleu"]["score"] >= 85
    assert seconds < 300


def test_the_sample_chat_answers_what_it_was_asked_in_five_minutes(run_nmt, tmp_path):
    _, seconds = train_and_describe(run_nmt, tmp_path, "chat")
    asked = "My name is Anna.\nWhat is my name?\n"
    done = run_nmt("chat", "--beam", "4", cwd=tmp_path, input=asked)
    assert "Anna" in done.stdout.splitlines()[1]
    assert seconds < 300


@pytest.mark.skipif("NMT_REAL_DATA" not in os.environ, reason="needs NMT_REAL_DATA=FOLDER")
def test_multi30k_reaches_its_bleu(run_nmt, tmp_path):
    folder = Path(os.environ["NMT_REAL_DATA"], "multi30k").resolve()
    info, seconds = train_and_describe(
        run_nmt, tmp_path, "multi30k-en-de", "--set", f"data.dir={folder}"
    )
    assert info["scores"]["test"]["bleu"]["score"] >= 39.5
    assert seconds < 2 * 3600
