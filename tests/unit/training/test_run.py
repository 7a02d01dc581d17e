"""The run folder: what is prepared, what is used again, and the log."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config.reading import auto_keys, load_config, to_yaml
from nmt_cli.errors import ConfigError, DataError, TrainingError
from nmt_cli.text.corpus import Corpora
from nmt_cli.training.auto_values import AnyMachine
from nmt_cli.training.run import check_samples, prepare
from nmt_cli.training.run_folder import EventLog, RunFolder


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
        f"vocabulary: {size:,} tokens (trained)",
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
from nmt_cli.config.reading import load_config
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
    assert [line.split()[-1] for line in told[:3]] == ["(trained)", "(encoded)", "(encoded)"]
    assert second.fingerprint != first.fingerprint


def test_only_a_chat_depends_on_the_models_length(corpus):
    """A conversation is cut to what the model reads; a sentence is not."""
    first, _, _ = run(corpus)
    assert run(corpus, "model.max_length=30")[0].fingerprint == first.fingerprint
    chat, _, _ = run(corpus, "task=chat")
    assert run(corpus, "task=chat", "model.max_length=30")[0].fingerprint != chat.fingerprint


@pytest.mark.parametrize("change", ["borrowed_history=0.3", "history_turns=2"])
def test_a_chats_text_settings_encode_it_anew(corpus, change):
    chat, _, _ = run(corpus, "task=chat")
    again, _, encoded = run(corpus, "task=chat", f"chat.{change}")
    assert {split for split, _ in encoded} == {"train", "dev"}
    assert again.fingerprint != chat.fingerprint


def test_every_split_is_looked_for_before_anything_is_made(corpus):
    (corpus / "test.de").unlink()
    with pytest.raises(DataError, match=r"test\.de: no such file"):
        run(corpus)
    assert not (corpus.parent / "runs").exists()


def test_separate_vocabularies(corpus):
    prepared, _, _ = run(corpus, "tokenizer.joint=false")
    assert not prepared.vocabularies.joint
    assert prepared.encoder.source is not prepared.encoder.target


def test_the_real_size_of_the_vocabulary_is_told_and_kept(corpus):
    first, _, _ = run(corpus, "tokenizer.vocab_size=5000")
    size = first.vocabularies.source.vocab_size
    assert size < 5000
    assert first.config.tokenizer.vocab_size == size
    assert first.warnings == [f"the text fills only {size:,} of tokenizer.vocab_size 5,000"]
    for wanted in (5000, size):  # the file's, and that of the run's config.yaml
        again, told, _ = run(corpus, f"tokenizer.vocab_size={wanted}")
        assert [line.split()[-1] for line in told] == ["(reused)"] * 3
        assert again.config == first.config


def test_a_vocabulary_that_is_filled_warns_of_nothing(corpus):
    prepared, _, _ = run(corpus, "tokenizer.vocab_size=300")
    assert prepared.config.tokenizer.vocab_size == 300
    assert prepared.warnings == []


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.max_length=2"], r"every pair of train is longer than model\.max_length \(2 "),
        (["model.max_length=9"], r"every pair of dev is longer than model\.max_length \(9 "),
        (["data.train.0.weight=0.001", "data.dev=[{rows: 600}]"], "weight 0.001 an epoch has none"),
    ],
)
def test_text_that_cannot_be_used_is_told_at_once(corpus, overrides, message):
    for split, times in (("train", 2), ("dev", 9)):
        for side in ("en", "de"):
            path = corpus / f"{split}.{side}"
            lines = path.read_text().splitlines()
            path.write_text("".join(" ".join([line] * times) + "\n" for line in lines))
    with pytest.raises(TrainingError, match=message) as caught:
        run(corpus, *overrides)
    assert caught.value.exit_code == 5
    loaded = load_config(str(corpus / "toy.yaml"), overrides)
    corpora = Corpora(loaded.config, loaded.data_dir)
    with pytest.raises(TrainingError, match=message):
        check_samples(loaded.config, corpora, [list(c) for c in corpora.iter_corpora("train")])


def test_what_is_left_out_is_told(corpus):
    for name, lines in {"train.en": "\nred\n", "train.de": "rot\n\n"}.items():
        with (corpus / name).open("a") as stream:
            stream.write(lines)
    prepared, told, _ = run(corpus, "model.max_length=4")
    lengths = [
        np.maximum(c.source_lengths, c.target_lengths) for c in (prepared.train, prepared.dev)
    ]
    train, dev = (int((longer > 4).sum()) for longer in lengths)
    assert train > 0 < dev
    assert told[-1] == (
        f"pairs left out: {train} of train longer than model.max_length (4 tokens), "
        f"{dev} of dev longer than model.max_length (4 tokens), 2 of train without text on one side"
    )
    assert run(corpus, "model.max_length=4")[1][-1] == told[-1]  # of shards that are used again


class TestAuto:
    ALL = ("tokenizer.vocab_size=auto", "model=auto", "train=auto")

    def test_every_choice_is_told_with_its_reason_and_none_is_left_open(self, corpus):
        prepared, told, _ = run(corpus, *self.ALL)
        choices = [line for line in told if line.startswith("auto: ")]
        assert len(choices) == sum(map(len, auto_keys().values())) + 2
        assert choices[-2:] == [
            "auto: train.precision = float32 (every device supports it)",
            "auto: train.lanes = 1 (every device supports it)",
        ]
        assert "auto: model.d_model = 128 (1,500 pairs on a CPU)" in choices
        assert prepared.warnings == []
        assert prepared.config.train.precision == "float32"

    def test_a_key_that_is_fixed_stays(self, corpus):
        prepared, told, _ = run(corpus, *self.ALL, "model.d_model=32", "train.max_steps=7")
        assert prepared.config.model.d_model == 32
        assert prepared.config.model.d_ff == 64
        assert (prepared.config.train.max_steps, prepared.config.train.eval_steps) == (7, 7)
        assert not [line for line in told if "model.d_model =" in line]

    def test_the_device_is_asked_only_when_something_depends_on_it(self, corpus):
        class Silent(AnyMachine):
            def device(self):
                raise AssertionError

        loaded = load_config(str(corpus / "toy.yaml"), ["tokenizer.vocab_size=auto"])
        prepare(loaded, tell=lambda _: None, machine=Silent())

    def test_a_run_that_goes_on_keeps_its_choices_on_any_device(self, corpus):
        first, _, _ = run(corpus, *self.ALL)
        self.begin(first)
        loaded = load_config(str(corpus / "toy.yaml"), list(self.ALL))
        told = []

        class Gpu(AnyMachine):
            def device(self):
                return "gpu"

        again = prepare(loaded, tell=told.append, machine=Gpu())
        assert again.config == first.config
        assert again.fingerprint == first.fingerprint
        assert told[0] == "auto: as in runs/toy/config.yaml, with which this run was started"
        assert [line.split()[-1] for line in told[1:4]] == ["(reused)"] * 3

    def test_a_key_may_be_changed_by_hand_midway(self, corpus):
        self.begin(run(corpus, *self.ALL)[0])
        assert run(corpus, *self.ALL, "train.max_steps=9")[0].config.train.max_steps == 9
        with pytest.raises(
            ConfigError, match=r"runs/toy/config\.yaml: model\.num_heads: must divide"
        ):
            run(corpus, *self.ALL, "model.num_heads=3")

    def test_a_run_that_is_forgotten_chooses_anew(self, corpus):
        first, _, _ = run(corpus, *self.ALL)
        self.begin(first)
        first.folder.forget()
        for side in ("en", "de"):
            (corpus / f"train.{side}").write_text("red\n" * 30_000)
        assert run(corpus, *self.ALL)[0].config.model.encoder_layers == 4

    def test_changed_text_keeps_the_choices_and_changes_the_fingerprint(self, corpus):
        """What is compared to the settings in a checkpoint."""
        first, _, _ = run(corpus, *self.ALL)
        self.begin(first)
        for side in ("en", "de"):
            (corpus / f"train.{side}").write_text("red bird\n" * 30_000)
        again, _, _ = run(corpus, *self.ALL)
        assert again.config.model == first.config.model
        assert again.fingerprint != first.fingerprint

    def test_an_empty_corpus_is_told(self, corpus):
        for side in ("en", "de"):
            (corpus / f"train.{side}").write_text("\n")
        with pytest.raises(TrainingError, match="no pair of lines has text on both sides"):
            run(corpus, *self.ALL)

    def test_a_chat_gets_choices_too(self, corpus):
        prepared, _, _ = run(corpus, *self.ALL, "task=chat")
        assert prepared.encoder.max_length == prepared.config.model.max_length

    def begin(self, prepared):
        """Leave what the training loop does: the resolved configuration and a checkpoint."""
        prepared.folder.config.write_text(to_yaml(prepared.config))
        (prepared.folder.checkpoints / "step-00000005").mkdir(parents=True)


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
    (folder.model / "bundle.json").write_text("what was best")
    folder.forget()
    left = {path.name for path in folder.path.iterdir()}
    assert {"shards", "tokenizer.json"} <= left
    assert folder.previous.read_text() == "what was best"  # for the next report to compare with
    folder.forget()
    assert folder.previous.read_text() == "what was best"
    assert not {"checkpoints", "model", "events.jsonl"} & left


# --- the lock -------------------------------------------------------------------------------------

_HOLD = """
import sys, time
from pathlib import Path
from nmt_cli.training.run_folder import RunFolder
with RunFolder(Path(sys.argv[1])).locked():
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_lock_goes_with_its_process_however_that_ends(tmp_path):
    folder = RunFolder(tmp_path / "runs" / "x")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder.path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(ConfigError, match=rf"runs/x: process {holder.pid} on \S+ is") as caught:
            folder.locked().__enter__()
        assert "--set name=" in caught.value.hint
        holder.kill()
    with folder.locked():
        assert (folder.path / "lock").read_text().startswith(f"process {os.getpid()} on ")
    with folder.locked():
        pass


def test_a_lock_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "runs").write_text("a file where a folder should be")
    with (
        pytest.raises(TrainingError, match="runs/x: cannot be written"),
        RunFolder(tmp_path / "runs" / "x").locked(),
    ):
        pass


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
    assert log.size == path.stat().st_size
    log.flush()


def test_a_resumed_log_ends_where_it_ended_at_the_checkpoint(tmp_path):
    """However often a step comes in it: a run that was rolled back has steps twice."""
    path = tmp_path / "events.jsonl"
    log = EventLog(path, 0)
    for step in (1, 2, 1):
        log.append({"step": step})
    kept = log.size
    log.append({"step": 2})
    resumed = EventLog(path, kept)
    assert resumed.size == kept
    resumed.append({"step": 3})
    assert steps(path) == [1, 2, 1, 3]


@pytest.mark.parametrize("tail", [b'{"step": 2', b'{"step": 2}', b"\x00\x00", b"\xff\xfe", b""])
@pytest.mark.parametrize("kept", [None, 11, 13, 99])
def test_a_line_that_a_crash_cut_short_goes(tmp_path, tail, kept):
    """It must not stop a run."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"step": 1}\n' + tail)
    EventLog(path, kept).append({"step": 6})
    assert steps(path) == ([6] if kept == 11 else [1, 6])
