"""Starting from a bundle: its vocabulary, its weights, a new optimizer; what must fit."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.bundle.sharing import share
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.events import Evaluated, StepDone
from nmt_cli.pretrained.importing import import_model
from nmt_cli.training.fine_tuning import follow_start, open_start
from nmt_cli.training.loop import train
from nmt_cli.training.rehearsal import dry_run
from nmt_cli.training.run import prepare
from nmt_cli.training.run_folder import read_events

PUBLISHED = Path(__file__).parents[2] / "data" / "pretrained" / "marian"
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
    assert told[1] == f"train.from: tokenizer.vocab_size is {real}, not 300, as for that vocabulary"
    assert prepared.config.tokenizer.vocab_size == real
    events = list(train(prepared))
    scored = [e for e in events if isinstance(e, Evaluated)]
    assert [e.step for e in scored] == [0, 1, 2, 2]  # the last one of the average
    assert scored[0].score > 90  # a new model would score nothing
    assert events.index(scored[0]) < next(i for i, e in enumerate(events) if type(e) is StepDone)
    steps = [e for e in events if isinstance(e, StepDone)]
    assert [e.step for e in steps] == [1, 2]
    weights = load_file(prepared.folder.checkpoints / "step-00000002" / "weights.safetensors")
    for name, array in open_bundle(toy_bundle).load_weights().items():
        np.testing.assert_allclose(weights[name], array, atol=1e-5)  # two steps of 1e-6
    tuned = open_bundle(prepared.folder.model)
    texts = [(path / "tokenizer.json").read_text() for path in (tuned.path, toy_bundle)]
    assert texts[0] == texts[1]


def test_the_best_model_is_never_worse_than_the_one_it_began_with(tuning, toy_bundle):
    prepared, _ = tuning("train.learning_rate=0.5", "train.warmup_steps=1")
    *_, finished = train(prepared)
    assert "no step was better on dev" in finished.reason
    tuned = open_bundle(prepared.folder.model)
    assert tuned.manifest.training["step"] == 0
    for name, array in open_bundle(toy_bundle).load_weights().items():
        np.testing.assert_array_equal(tuned.load_weights()[name], array)


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tuning):
    """Also when it is stopped before the first checkpoint, after the start was scored."""
    faster = ("train.learning_rate=1e-3", "train.warmup_steps=1", "train.average_decay=0.9")
    whole, _ = tuning(*faster)
    list(train(whole))
    for asked in (1, 2):  # before step 1, and after it
        again, _ = tuning(*faster, f"name=stopped{asked}")
        counts = iter(range(9))
        list(train(again, lambda counts=counts, asked=asked: next(counts) >= asked))
        list(train(again))
        weights = [open_bundle(p.folder.model).load_weights() for p in (whole, again)]
        for name, array in weights[0].items():
            np.testing.assert_array_equal(weights[1][name], array)
        scores = [
            [e["score"] for e in read_events(p.folder.events) if e["event"] == "Evaluated"]
            for p in (whole, again)
        ]
        assert scores[0] == scores[1]


def test_a_model_without_weights_is_refused_before_the_text_is_read(
    toy_corpus, toy_bundle, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    share(open_bundle(toy_bundle), tmp_path / "m.zip", "float32", with_weights=False)
    settings = [f"train.from={tmp_path / 'm.zip'}", "data.train=[{source: no, target: no}]"]
    loaded = load_config(str(toy_corpus / "toy.yaml"), settings)
    how = {"tell": print, "warn": print, "is_fresh": False, "time_limit": math.inf}
    with pytest.raises(ModelFileError, match=r"m\.zip: this model was shared without its weights"):
        dry_run(loaded, **how)


@pytest.mark.parametrize("section", ["model: auto", "model: {dropout: auto}", ""])
def test_what_the_file_leaves_open_is_as_the_start_model_has_it(
    toy_corpus, toy_bundle, tmp_path, section
):
    text = (toy_corpus / "toy.yaml").read_text()
    before, after = text.split("tokenizer:")[0], text.split("train: {max_steps")[1]
    file = toy_corpus / f"open-{len(section)}.yaml"
    file.write_text(f"{before}tokenizer: auto\n{section}\ntrain: {{max_steps{after}")
    told: list[str] = []
    settings = [f"train.from={toy_bundle}", "name=open", f"data.dir={toy_corpus}"]
    loaded = load_config(str(file), settings)
    loaded, vocabularies = follow_start(loaded, open_start(loaded.config, tmp_path), told.append)
    model, there = loaded.config.model, open_bundle(toy_bundle).manifest.model
    free = {"max_length"} if section == "model: auto" else set()
    assert {k: v for k, v in model.model_dump().items() if k not in free} == {
        k: v for k, v in there.items() if k not in free
    }
    dropouts = {"model.dropout", "model.attention_dropout", "model.activation_dropout"}
    of_auto = {"model: auto": dropouts | {"model.max_length"}, "": set()}
    assert loaded.auto == of_auto.get(section, {"model.dropout"})
    assert vocabularies is not None
    assert len(told) == 1  # nothing that the file asked for is otherwise


@pytest.mark.parametrize(
    ("parts", "learned"),
    [
        ("[embeddings]", ("encoder.layer", "encoder.norm", "decoder.")),
        ("[embeddings, decoder]", ("encoder.layer", "encoder.norm")),
        ("[encoder, embeddings]", ("decoder.",)),
    ],
)
def test_frozen_parts_stay_and_have_no_state(tuning, toy_bundle, parts, learned):
    prepared, _ = tuning(f"train.freeze={parts}", "train.learning_rate=1e-3")
    list(train(prepared))
    folder = prepared.folder.checkpoints / "step-00000002"
    weights, start = load_file(folder / "weights.safetensors"), open_bundle(toy_bundle)
    changed = {n for n, array in start.load_weights().items() if (weights[n] != array).any()}
    assert changed == {name for name in weights if name.startswith(learned)}
    state = load_file(folder / "optimizer.safetensors")
    assert {name.partition(".")[2] for name in state} == changed


def test_what_cannot_be_frozen_is_told(tuning):
    for parts, message in (
        ("[embedings]", r"'embedings' is none of .* Did you mean 'embeddings'"),
        ("encoder", "train.freeze: should be a valid list"),
    ):
        with pytest.raises(ConfigError, match=message):
            tuning(f"train.freeze={parts}")
    prepared, _ = tuning("train.freeze=[embeddings, encoder, decoder]")
    with pytest.raises(ConfigError, match="nothing is left"):
        list(train(prepared))


def test_an_imported_model_learns_and_keeps_what_is_no_weight(toy_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = import_model(str(PUBLISHED), tmp_path / "imported")
    text = (toy_corpus / "toy.yaml").read_text()
    file = tmp_path / "tune.yaml"
    file.write_text(text.split("tokenizer:")[0] + "tokenizer: auto\nmodel: auto\ntrain: auto\n")
    settings = [f"train.from={start.path}", f"data.dir={toy_corpus}", "train.max_steps=3"]
    settings += ["train.average_decay=0.9", "train.tokens_per_batch=500"]
    loaded = load_config(str(file), settings)
    with pytest.raises(ConfigError, match=r"tokenizer\.dropout: the vocabulary of .* no merges"):
        prepare(load_config(str(file), [*settings, "tokenizer.dropout=0.1"]), tell=lambda _: None)
    prepared = prepare(loaded, tell=lambda _: None)
    assert prepared.config.train.learning_rate == 0.0016  # 0.1 / 16, and a quarter for post-norm
    list(train(prepared))
    tuned, before = open_bundle(prepared.folder.model), start.load_weights()
    assert tuned.manifest.model["norm_epsilon"] == 1e-5
    weights = load_file(prepared.folder.checkpoints / "step-00000003" / "weights.safetensors")
    assert (weights["output_bias"] == before["output_bias"]).all()
    assert (weights["embedding"] == before["embedding"]).all()  # 1,500 pairs
    name = "encoder.layer1.feed_forward.inner.kernel"
    assert (weights[name] != before[name]).any()


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
        with pytest.raises(
            ConfigError, match=r"runs/tuned/model is the model of this run"
        ) as caught:
            tuning(f"train.from={name}")
        assert "--set name=" in caught.value.hint
    tuning("train.from=runs/tuned", "name=other")


def test_a_model_that_is_not_there_is_told(tuning, tmp_path):
    with pytest.raises(ModelFileError, match="no such folder"):
        tuning(f"train.from={tmp_path / 'none'}")
