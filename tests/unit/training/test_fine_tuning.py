"""Starting from a bundle: its vocabulary, its weights, a new optimizer; what must fit."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.events import Evaluated, StepDone
from nmt_cli.training.loop import train
from nmt_cli.training.run import prepare

TUNE = (
    "name=tuned",
    "tokenizer.vocab_size=300",  # would be another vocabulary
    "model.dropout=0.1",
    "train.max_steps=2",
    "train.eval_steps=1",
    "train.checkpoint_steps=1",
    "train.learning_rate=1e-6",
    "data.test=[]",
)


@pytest.fixture
def tuning(toy_corpus, toy_bundle, tmp_path, monkeypatch):
    """A function that prepares a run from the toy model, and what it told."""
    monkeypatch.chdir(tmp_path)

    def run(*overrides: str):
        told: list[str] = []
        settings = [f"train.from={toy_bundle}", *TUNE, *overrides]
        loaded = load_config(str(toy_corpus / "toy.yaml"), settings)
        return prepare(loaded, tell=told.append, on_encoded=lambda *_: None), told

    return run


def test_training_goes_on_from_the_model(tuning, toy_bundle):
    prepared, told = tuning()
    assert told[0].endswith(f"(of {toy_bundle})")
    real = open_bundle(toy_bundle).manifest.vocabulary["source"]
    assert told[1] == f"train.from: tokenizer.vocab_size is {real}, not 300, as that vocabulary is"
    assert prepared.config.tokenizer.vocab_size == real
    events = list(train(prepared))
    first = next(e for e in events if isinstance(e, Evaluated))
    assert first.step == 1
    assert first.score > 90  # a new model would score nothing
    steps = [e for e in events if isinstance(e, StepDone)]
    assert [e.step for e in steps] == [1, 2]
    weights = load_file(prepared.folder.checkpoints / "step-00000002" / "weights.safetensors")
    for name, array in open_bundle(toy_bundle).load_weights().items():
        np.testing.assert_allclose(weights[name], array, atol=1e-5)  # two steps of 1e-6
    tuned = open_bundle(prepared.folder.model)
    texts = [(path / "tokenizer.json").read_text() for path in (tuned.path, toy_bundle)]
    assert texts[0] == texts[1]


def test_another_architecture_is_told_key_by_key(tuning):
    with pytest.raises(ConfigError) as caught:
        tuning("model.d_ff=64", "model.norm=post", "model.max_length=99")
    message = str(caught.value)
    assert "model.d_ff is 128 there and 64 here" in message
    assert 'model.norm is "pre" there and "post" here' in message
    assert "max_length" not in message  # computed positions have no weights
    assert "dropout" not in message
    assert "--set model.d_ff=128" in caught.value.hint


def test_an_older_model_has_no_turns(tuning, toy_bundle, tmp_path):
    """Its manifest was written before there was such a key."""
    older = tmp_path / "older"
    shutil.copytree(toy_bundle, older)
    manifest = json.loads((older / "bundle.json").read_text())
    del manifest["crc32"]
    del manifest["model"]["turn_embeddings"]
    (older / "bundle.json").write_text(json.dumps(manifest))
    turns = ("task=chat", "model.turn_embeddings=true", "data.test=[]")
    with pytest.raises(ConfigError, match=r"turn_embeddings is false there and true here"):
        tuning(f"train.from={older}", *turns)
    tuning(f"train.from={older}")


def test_the_vocabulary_is_as_it_is_whatever_the_settings_say(tuning):
    other = ["joint=false", "normalization=nfkc", "lowercase=true", "vocab_size=900"]
    prepared, told = tuning(*(f"tokenizer.{setting}" for setting in other), "tokenizer.dropout=0.1")
    kept = prepared.config.tokenizer
    assert (kept.joint, kept.normalization, kept.lowercase, kept.dropout) == (
        True,
        "nfc",
        False,
        0.1,
    )
    assert kept.vocab_size == prepared.vocabularies.source.vocab_size
    for key in ("joint is true, not false", 'normalization is "nfc", not "nfkc"', "lowercase is"):
        assert f"tokenizer.{key}" in told[1]
    assert prepared.warnings == []


def test_learned_positions_have_a_length(tuning):
    with pytest.raises(ConfigError, match=r"model\.max_length is 24 there and 99 here"):
        tuning("model.positions=learned", "model.max_length=99")


def test_a_runs_own_model_is_told(tuning, toy_bundle, tmp_path):
    own = tmp_path / "runs" / "tuned" / "model"
    shutil.copytree(toy_bundle, own)
    for name in ("runs/tuned", str(own)):
        with pytest.raises(ConfigError, match=r"runs/tuned/model is this run's own") as caught:
            tuning(f"train.from={name}")
        assert "--set name=" in caught.value.hint
    tuning("train.from=runs/tuned", "name=other")


def test_a_model_that_is_not_there_is_told(tuning, tmp_path):
    with pytest.raises(ModelFileError, match="no such folder"):
        tuning(f"train.from={tmp_path / 'none'}")
