"""Going on with a run: what must be as it was begun with, and what may change."""

import dataclasses
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config.auto import Choice
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.training.auto_values import AnyMachine
from nmt_cli.training.checkpoint import Checkpoint, Checkpoints, Progress
from nmt_cli.training.rehearsal import dry_run
from nmt_cli.training.run import prepare

ARRAYS = {"x": np.zeros(2, np.float32)}


@pytest.fixture
def corpus(toy_corpus, tmp_path, monkeypatch):
    """A copy of the toy corpus, in an empty working folder, that a test may change."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy_corpus, tmp_path / "corpus")
    return tmp_path / "corpus"


def run(corpus, *overrides, **options):
    """Prepare the toy run and return what there is, and what was told."""
    told = []
    loaded = load_config(str(corpus / "toy.yaml"), list(overrides))
    return prepare(loaded, tell=told.append, on_encoded=lambda *_: None, **options), told


def begin(prepared):
    """Leave the checkpoint that training would; return the run folder."""
    state = Checkpoint(Progress(step=5), ARRAYS, ARRAYS, dict(prepared.settings))
    Checkpoints(prepared.folder.checkpoints, keep=1).save(state)
    return prepared.folder.path


def contents(folder):
    """Return what is in the files below a folder, by path; its cache of hashes apart."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "hashes.json"]
    return {path: path.read_bytes() for path in files}


def test_changed_settings_are_named_before_anything_is_written(corpus):
    before = contents(folder := begin(run(corpus)[0]))
    changed = ["tokenizer.vocab_size=300", "model.dropout=0.2", "seed=3"]
    with pytest.raises(ConfigError) as caught:
        run(corpus, "train.max_steps=80", *changed)
    names = ", ".join(sorted(change.split("=")[0] for change in changed))
    assert str(caught.value) == f"runs/toy was started with other settings: {names}"
    assert "--fresh" in caught.value.hint
    assert contents(folder) == before
    run(corpus, *changed, is_fresh=True)


def test_changed_text_is_named_before_anything_is_written(corpus):
    before = contents(folder := begin(run(corpus)[0]))
    for side in ("en", "de"):
        with (corpus / f"train.{side}").open("a") as stream:
            stream.write("red\n")
    with pytest.raises(ConfigError, match=r"other settings: the training text$"):
        run(corpus)
    assert contents(folder) == before


def test_changed_development_text_is_named(corpus):
    folder = begin(run(corpus)[0])
    for side in ("en", "de"):
        with (corpus / f"dev.{side}").open("a") as stream:
            stream.write("red\n")
    hashes = (folder / "hashes.json").read_bytes()
    with pytest.raises(ConfigError, match=r"other settings: the development text$"):
        run(corpus)
    assert (folder / "hashes.json").read_bytes() == hashes  # by which `evaluate` tells it


def test_a_dry_run_names_what_training_would_refuse(corpus):
    before = contents(folder := begin(run(corpus)[0]))
    for side in ("en", "de"):
        with (corpus / f"dev.{side}").open("a") as stream:
            stream.write("red\n")
    loaded = load_config(str(corpus / "toy.yaml"), ["model.d_ff=24"])
    how = {"tell": list[str]().append, "warn": pytest.fail, "time_limit": math.inf}
    with pytest.raises(ConfigError, match=r"settings: model\.d_ff, the development text$"):
        dry_run(loaded, is_fresh=False, **how)
    assert contents(folder) == before
    dry_run(loaded, is_fresh=True, **how)


def flip_byte(path):
    """Change a letter in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("damage", [flip_byte, truncate, Path.unlink])
@pytest.mark.parametrize("older", [False, True])
def test_a_damaged_vocabulary_is_made_again(corpus, damage, older):
    first = run(corpus)[0]
    folder = begin(first)
    if older:  # without checksum: what cannot be read shows
        key = json.loads((folder / "tokenizer.key").read_text())
        del key["crc32"]
        (folder / "tokenizer.key").write_text(json.dumps(key))
        damage = truncate if damage is flip_byte else damage
    damage(folder / "tokenizer.json")
    again, told = run(corpus)
    assert told[0].endswith("tokens (trained)")
    assert again.settings == first.settings


def test_a_damaged_key_of_the_vocabulary_stops_no_run(corpus):
    first = run(corpus)[0]
    (begin(first) / "tokenizer.key").write_bytes(b"\xff{")
    again, told = run(corpus)
    assert told[0].endswith("tokens (trained)")
    assert again.settings == first.settings
    (again.folder.path / "tokenizer.key").unlink()
    with pytest.raises(ConfigError, match=r"tokenizer\.vocab_size"):
        run(corpus, "tokenizer.vocab_size=300")


SHARDS = ["source.ids", "source.offsets", "target.ids", "target.offsets", "meta.json", "crc32.json"]


DAMAGE = [
    *[("train", name, damage) for name in SHARDS for damage in (flip_byte, truncate)],
    ("train", "source.ids", Path.unlink),
    ("dev", "examples.jsonl", flip_byte),
]


@pytest.mark.parametrize(("split", "file", "damage"), DAMAGE)
def test_damaged_shards_are_encoded_again(corpus, split, file, damage):
    first, _ = run(corpus)
    (folder,) = first.folder.shards.glob(f"{split}-*")
    before = contents(folder)
    damage(folder / file)
    again, told = run(corpus)
    assert contents(folder) == before
    assert again.dev_examples == first.dev_examples
    assert f"{split}: the encoded text was damaged or not complete" in told
    assert [line.split()[-1] for line in run(corpus)[1]] == ["(reused)"] * 3


def test_shards_without_checksums_are_not_trusted(corpus):
    first, _ = run(corpus)
    (folder,) = first.folder.shards.glob("train-*")
    before = contents(folder)
    (folder / "crc32.json").unlink()
    truncate(folder / "source.ids")
    assert "train: the encoded text was damaged or not complete" in run(corpus)[1]
    assert contents(folder) == before


def test_a_changed_vocabulary_is_named(corpus):
    """That of an earlier version, without a checksum; another is trained again."""
    folder = begin(run(corpus)[0])
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["normalizer"]["normalizers"].insert(1, {"type": "Lowercase"})
    path.write_text(json.dumps(tokenizer))
    key = json.loads((folder / "tokenizer.key").read_text())
    del key["crc32"]
    (folder / "tokenizer.key").write_text(json.dumps(key))
    with pytest.raises(ConfigError, match=r"other settings: the vocabulary$"):
        run(corpus)


def test_a_refusal_comes_before_tensorflow(corpus):
    begin(run(corpus)[0])
    script = (
        "import sys; from nmt_cli.commands.train import train; from nmt_cli.errors import *\n"
        f"try: train({str(corpus / 'toy.yaml')!r}, ['seed=3', 'train.precision=auto'],\n"
        "    data_dir=None, start=None, dry_run=False, fresh=False, limit=None, workers=None,\n"
        "    worker_index=None, token_file=None, is_trusted=False, elastic=False, store=None)\n"
        "except ConfigError as error: print(error, 'tensorflow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("other settings: seed False\n")


def test_what_no_result_depends_on_may_change(corpus):
    first = run(corpus)[0]
    begin(first).rename("runs/other")
    corpus.rename(corpus.with_name("moved"))
    changes = ["name=other", "data.source_lang=eng", "data.target_lang=deu", "data.dir=."]
    again, told = run(corpus.with_name("moved"), *changes)
    assert (again.folder.path.name, again.settings) == ("other", first.settings)
    assert [line.split()[-1] for line in told] == ["(reused)"] * 3


@pytest.mark.parametrize("wanted", ["5000", "real"])
def test_a_vocabulary_that_the_text_did_not_fill_is_no_change(corpus, wanted):
    first = run(corpus, "tokenizer.vocab_size=5000")[0]
    begin(first)
    real = str(first.config.tokenizer.vocab_size)
    again, _ = run(corpus, f"tokenizer.vocab_size={real if wanted == 'real' else wanted}")
    assert again.settings == first.settings


class Chosen(AnyMachine):
    def __init__(self, precision: str, lanes: int) -> None:
        self.found = {
            "train.precision": Choice(precision, "it is fast"),
            "train.lanes": Choice(lanes, "4 cores"),
        }

    def choices(self, _):
        return self.found


class TestWhatTheMachineDecides:
    OPEN = ("train.precision=auto", "train.lanes=auto")

    def test_what_is_open_is_chosen_and_told(self, corpus):
        prepared, told = run(corpus, *self.OPEN, machine=Chosen("bfloat16", 4))
        assert prepared.config.train.precision == "bfloat16"
        assert prepared.settings["train.precision"] == "bfloat16"
        assert prepared.settings["train.lanes"] == prepared.config.train.lanes == 4
        assert told[-2:] == [
            "auto: train.precision = bfloat16 (it is fast)",
            "auto: train.lanes = 4 (4 cores)",
        ]

    def test_what_is_set_stays(self, corpus):
        prepared, told = run(corpus, "train.lanes=3", machine=Chosen("bfloat16", 4))
        assert prepared.config.train.precision == "float32"
        assert prepared.config.train.lanes == 3
        assert not [line for line in told if line.startswith("auto: ")]

    def test_a_run_keeps_it_on_another_machine(self, corpus):
        begin(run(corpus, *self.OPEN, machine=Chosen("bfloat16", 4))[0])
        again, told = run(corpus, *self.OPEN, machine=AnyMachine())
        assert again.config.train.precision == "bfloat16"
        assert again.config.train.lanes == 4
        assert told[:2] == [
            "auto: train.precision = bfloat16 (this run was started with it)",
            "auto: train.lanes = 4 (this run was started with it)",
        ]
        with pytest.raises(ConfigError, match=r"other settings: train\.lanes.*, train\.precision"):
            run(corpus)  # which says float32

    def test_a_fresh_start_chooses_anew(self, corpus):
        begin(run(corpus, *self.OPEN, machine=Chosen("bfloat16", 4))[0])
        anew = run(corpus, *self.OPEN, is_fresh=True)[0]
        assert anew.config.train.precision == "float32"
        assert anew.config.train.lanes == 1

    def test_a_run_of_an_earlier_version_goes_on_in_one_lane(self, corpus):
        prepared = run(corpus, *self.OPEN)[0]
        before = {key: of for key, of in prepared.settings.items() if key != "train.lanes"}
        begin(dataclasses.replace(prepared, settings=before))
        again, _ = run(corpus, *self.OPEN, machine=Chosen("float32", 4))
        assert again.config.train.lanes == 1


def test_settings_of_a_damaged_checkpoint_are_those_of_the_one_before(corpus):
    prepared = run(corpus)[0]
    begin(prepared)
    damaged = prepared.folder.checkpoints / "step-00000009"
    damaged.mkdir()
    (damaged / "state.json").write_text('{"own_sha256": "x", "settings": {}}')
    with pytest.raises(ConfigError, match=r"other settings: seed$"):
        run(corpus, "seed=2")


def test_checkpoints_that_tell_less_are_compared_in_what_they_tell(corpus):
    """Those of earlier versions have a hash of text and vocabulary together."""
    prepared = run(corpus)[0]
    older = {"seed": 1, "name": "x", "fingerprint": prepared.fingerprint}
    state = Checkpoint(Progress(step=5), ARRAYS, ARRAYS, older)
    Checkpoints(prepared.folder.checkpoints, keep=1).save(state)
    run(corpus)
    with pytest.raises(ConfigError, match=r"other settings: seed$"):
        run(corpus, "seed=2")
    with (corpus / "train.en").open("a") as source, (corpus / "train.de").open("a") as target:
        source.write("red\n")
        target.write("rot\n")
    with pytest.raises(ConfigError, match=r"other settings: fingerprint$"):
        run(corpus)


def test_a_checkpoint_that_cannot_be_read_is_told(corpus):
    """It may be whole: the disk may only be away."""
    prepared = run(corpus)[0]
    state = begin(prepared) / "checkpoints" / "step-00000005" / "state.json"
    state.unlink()
    state.mkdir()
    with pytest.raises(TrainingError, match="step-00000005: cannot be read"):
        run(corpus)
