"""The run folder: what is prepared, what is used again, and the log."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.config_io import load_config
from nmt_cli.errors import DataError, TrainingError
from nmt_cli.text.corpus import Corpora
from nmt_cli.training.run import EventLog, RunFolder, prepare


@pytest.fixture
def corpus(toy_corpus, tmp_path, monkeypatch):
    """A copy of the toy corpus, in an empty working folder, that a test may change."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy_corpus, tmp_path / "corpus")
    return tmp_path / "corpus"


def run(corpus, *overrides):
    """Prepare and return what there is, what was told, and what was encoded."""
    told, encoded = [], []
    loaded = load_config(str(corpus / "toy.yaml"), list(overrides))
    prepared = prepare(
        loaded, tell=told.append, on_encoded=lambda split, done: encoded.append((split, done))
    )
    return prepared, told, encoded


def test_a_run_lies_below_runs(corpus):
    folder = RunFolder.of(load_config(str(corpus / "toy.yaml")).config)
    assert str(folder.path) == "runs/toy"
    assert [str(p) for p in (folder.checkpoints, folder.model, folder.events)] == [
        "runs/toy/checkpoints",
        "runs/toy/model",
        "runs/toy/events.jsonl",
    ]


def test_vocabulary_and_text_are_made_and_told(corpus):
    prepared, told, encoded = run(corpus)
    size = prepared.vocabularies.source.vocab_size
    assert told == [
        f"vocabulary: {size:,} pieces (trained)",
        "train: 1,500 pairs (encoded)",
        "dev: 12 pairs (encoded)",
    ]
    assert encoded == [("train", 1500), ("dev", 12)]
    assert (len(prepared.train), len(prepared.dev)) == (1500, 12)
    assert prepared.fingerprint.startswith("train-")


def test_a_second_run_uses_both_again(corpus):
    first, _, _ = run(corpus)
    second, told, encoded = run(corpus)
    assert [line.split()[-1] for line in told] == ["(reused)"] * 3
    assert encoded == []
    assert second.fingerprint == first.fingerprint
    assert second.vocabularies.source.to_json() == first.vocabularies.source.to_json()


def test_changed_development_text_is_encoded_anew(corpus):
    first, _, _ = run(corpus)
    for side in ("en", "de"):
        with (corpus / f"dev.{side}").open("a") as stream:
            stream.write("red\n" if side == "en" else "rot\n")
    second, told, _ = run(corpus)
    assert told[1:] == ["train: 1,500 pairs (reused)", "dev: 13 pairs (encoded)"]
    assert second.fingerprint == first.fingerprint
    shards = {path.name.split("-")[0] for path in (second.folder.path / "shards").iterdir()}
    assert shards == {"train", "dev"}
    assert len(list((second.folder.path / "shards").iterdir())) == 2  # the old ones are gone


def test_held_out_text_is_looked_for_once(corpus, monkeypatch):
    held_out = "data.dev=[{rows: 20}]"
    first, told, _ = run(corpus, held_out)
    assert told[1:] == ["train: 1,480 pairs (encoded)", "dev: 20 pairs (encoded)"]
    assert first.dev_examples == list(first.corpora.iter_split("dev"))
    monkeypatch.setattr(Corpora, "_read", None)
    assert run(corpus, held_out)[0].dev_examples == first.dev_examples


KILLED = """\
import os, signal, sys
from nmt_cli.config_io import load_config
from nmt_cli.text import shards
from nmt_cli.training.run import prepare

def on_encoded(split, done):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    shards._CHUNK = 100
    prepare(load_config(sys.argv[1]), tell=print, on_encoded=on_encoded)
"""


@pytest.mark.parametrize("done", [200, 1200])
def test_an_encoding_that_was_killed_begins_anew_and_leaves_nothing(corpus, done):
    """Among the first chunks, which are encoded in the process, or while workers do the others."""
    script = corpus.parent / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, script, corpus / "toy.yaml", str(done)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    killed = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    shards = corpus.parent / "runs" / "toy" / "shards"
    assert [path.name[:7] for path in shards.iterdir()] == [".train-"]

    prepared, told, _ = run(corpus)

    assert told[1:] == ["train: 1,500 pairs (encoded)", "dev: 12 pairs (encoded)"]
    assert prepared.train.target_offsets[-1] == len(prepared.train.target)
    assert sorted(path.name.split("-")[0] for path in shards.iterdir()) == ["dev", "train"]


def test_a_change_of_weights_encodes_nothing_anew(corpus):
    first, _, _ = run(corpus)
    second, _, encoded = run(corpus, "data.train.0.weight=2.0")
    assert encoded == []
    assert second.fingerprint == first.fingerprint


def test_another_vocabulary_encodes_all_anew(corpus):
    first, _, _ = run(corpus)
    second, told, _ = run(corpus, "tokenizer.vocab_size=300")
    assert [line.split()[-1] for line in told] == ["(trained)", "(encoded)", "(encoded)"]
    assert second.fingerprint != first.fingerprint


def test_only_a_chat_depends_on_the_models_length(corpus):
    """A conversation is cut to what the model reads; a sentence is not."""
    first, _, _ = run(corpus)
    assert run(corpus, "model.max_length=30")[0].fingerprint == first.fingerprint
    chat, _, _ = run(corpus, "task=chat")
    assert run(corpus, "task=chat", "model.max_length=30")[0].fingerprint != chat.fingerprint


def test_every_split_is_looked_for_before_anything_is_made(corpus):
    (corpus / "test.de").unlink()
    with pytest.raises(DataError, match=r"test\.de: no such file"):
        run(corpus)
    assert not (corpus.parent / "runs").exists()


def test_separate_vocabularies(corpus):
    prepared, _, _ = run(corpus, "tokenizer.joint=false")
    assert not prepared.vocabularies.joint
    assert prepared.encoder.source is not prepared.encoder.target


def test_a_folder_that_cannot_be_written_is_told(corpus):
    (corpus.parent / "runs").write_text("a file where a folder should be")
    with pytest.raises(TrainingError, match="runs/toy: cannot be written"):
        run(corpus)


def test_a_run_that_is_forgotten_keeps_its_text(corpus):
    prepared, _, _ = run(corpus)
    folder = prepared.folder
    folder.forget()  # there may be nothing to forget
    for made in (folder.checkpoints, folder.model):
        made.mkdir()
        (made / "file").write_text("x")
    folder.events.write_text("x")
    folder.forget()
    left = {path.name for path in folder.path.iterdir()}
    assert {"shards", "tokenizer.json"} <= left
    assert not {"checkpoints", "model", "events.jsonl"} & left


# --- the log --------------------------------------------------------------------------------------


def steps(path) -> list:
    return [json.loads(line)["step"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_events_are_appended_as_lines(tmp_path):
    path = tmp_path / "events.jsonl"
    log = EventLog(path, 0)
    log.append({"step": 1, "text": "señor\u2028ж"})
    assert json.loads(path.read_text(encoding="utf-8"))["text"] == "señor\u2028ж"
    assert "ж" in path.read_text(encoding="utf-8")  # readable, not escaped
    log.append({"step": 2})
    assert path.read_text(encoding="utf-8").count("\n") == 2


def test_a_resumed_log_ends_at_the_checkpoint(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    EventLog(path, 2).append({"step": 3, "again": True})
    assert steps(path) == [1, 2, 3]
    assert "again" in path.read_text()


@pytest.mark.parametrize(
    "tail", [b'{"step": 2', b'{"step": 2}', b"\x00\x00", b"\xff\xfe\n", b"[]\n", b"{}\n", b"oh\n"]
)
def test_what_a_crash_left_at_the_end_is_cut_off(tmp_path, tail):
    """A line without its end, or no event at all: the log must not stop a run."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"step": 1}\n' + tail)
    EventLog(path, 5).append({"step": 6})
    assert steps(path) == [1, 6]
