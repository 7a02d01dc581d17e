"""Training a classifier through the same loop: scores, resuming, several labels, transfer."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.events import Evaluated, Finished, StepDone
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.training.loop import train
from nmt_cli.training.run import prepare

quiet_tensorflow()

SMALL = (
    "train.max_steps=8",
    "train.eval_steps=4",
    "train.checkpoint_steps=2",
    "train.warmup_steps=2",
    "data.test=[]",
)


@pytest.fixture
def prepare_labels(label_corpus, tmp_path, monkeypatch):
    """A function that prepares a short run in an empty working folder."""
    monkeypatch.chdir(tmp_path)

    def run(*overrides: str, small=SMALL):
        loaded = load_config(str(label_corpus / "labels.yaml"), [*small, *overrides])
        return prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)

    return run


def evaluations(events) -> list[Evaluated]:
    return [event for event in events if isinstance(event, Evaluated)]


def weights(run: Path, step: int) -> dict[str, np.ndarray]:
    return load_file(run / "checkpoints" / f"step-{step:08d}" / "weights.safetensors")


def test_a_finished_run_leaves_a_bundle_with_labels_and_scores(label_bundle):
    bundle = open_bundle(label_bundle)
    bundle.verify()
    manifest = bundle.manifest
    assert manifest.task == "classification"
    assert manifest.classification["labels"] == ["bad", "good", "so so"]
    assert manifest.classification["texts"] == 1
    for split in ("dev", "test"):
        assert manifest.scores[split]["accuracy"]["score"] > 95
        assert manifest.scores[split]["macro_f1"]["signature"].startswith("examples:30|labels:3")
    assert load_config(str(label_bundle / "config.yaml")).config.classification.labels
    assert set(manifest.parts) == {"embedding", "encoder", "head"}


def test_evaluations_tell_the_scores_of_each_label(label_bundle):
    lines = (label_bundle.parent / "events.jsonl").read_text().splitlines()
    last = [e for e in map(json.loads, lines) if e["event"] == "Evaluated"][-1]
    assert [score["label"] for score in last["by_label"]] == ["bad", "good", "so so"]
    assert sum(score["support"] for score in last["by_label"]) == 30
    assert set(last["scores"]) == {"accuracy", "macro_f1"}
    assert last["samples"][0]["output"] in ("bad", "good", "so so")


def test_the_loss_falls_and_steps_count_examples(prepare_labels):
    steps = [e for e in train(prepare_labels()) if isinstance(e, StepDone)]
    assert steps[-1].loss < steps[0].loss
    assert 0.5 < steps[0].loss < 3  # log 3 for a model that takes all labels for equally likely
    assert all(20 < step.num_tokens < 80 for step in steps)


@pytest.mark.parametrize("best_by", ["accuracy", "macro_f1", "loss"])
def test_the_best_model_is_chosen_as_asked(prepare_labels, best_by):
    found = evaluations(train(prepare_labels(f"classification.best_by={best_by}")))
    for event in found:
        scores = {name: score.score for name, score in event.scores.items()}
        assert event.score == (scores | {"loss": -event.dev_loss})[best_by]


def test_a_stopped_run_goes_on_bit_for_bit(prepare_labels, label_corpus, tmp_path, monkeypatch):
    dropout = ("model.dropout=0.2", "classification.dropout=0.3", "tokenizer.dropout=0.1")
    whole = prepare_labels(*dropout)
    events = list(train(whole))
    (tmp_path / "again").mkdir()
    monkeypatch.chdir(tmp_path / "again")
    first = []
    for event in train(prepare_labels(*dropout), lambda: first[-1].step == 3):
        first.append(event)
    assert first[-1].reason == "stopped"
    killed = train(prepare_labels(*dropout))
    for event in killed:
        if isinstance(event, StepDone) and event.step == 5:
            killed.close()
            break
    list(train(prepare_labels(*dropout)))
    for step in (2, 4, 6, 8):
        one = weights(tmp_path / "runs" / "toy-labels", step)
        other = weights(tmp_path / "again" / "runs" / "toy-labels", step)
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)
    found, again = (
        open_bundle(folder / "runs" / "toy-labels" / "model").manifest
        for folder in (tmp_path, tmp_path / "again")
    )
    assert found.files["model.safetensors"] == again.files["model.safetensors"]
    assert found.scores == again.scores
    assert isinstance(events[-1], Finished)


def test_patience_ends_a_run(prepare_labels):
    *_, last = train(
        prepare_labels("train.patience=1", "train.learning_rate=1e-9", "train.eval_steps=2")
    )
    assert last.reason == "no better score in 1 evaluations"


def test_a_time_limit_ends_a_run(prepare_labels):
    *_, last = train(prepare_labels("train.max_steps=100000"), time_limit=6.0)
    assert last.reason.startswith(("the time is up", "no better score in 10 evaluations"))
    assert last.bundle


def test_a_model_that_says_always_the_same_is_warned_of(prepare_labels, tmp_path):
    """Next to all of its training texts have one label; those of dev do not."""
    rows = ["the dog was sad\tbad\n"] * 300 + ["the dog was fine\tgood\n", "it is blue\tso so\n"]
    (tmp_path / "one.tsv").write_text("".join(rows))
    found = evaluations(train(prepare_labels(f"data.train=[{{file: {tmp_path}/one.tsv}}]")))
    assert found[-1].warning == "every text gets the same label: 'bad'"


def test_balanced_weights_change_what_is_learned(prepare_labels):
    plain = next(e for e in train(prepare_labels()) if isinstance(e, StepDone))
    balanced = ("classification.class_weights=balanced", "name=balanced")
    other = next(e for e in train(prepare_labels(*balanced)) if isinstance(e, StepDone))
    assert plain.loss != other.loss


def test_several_labels_a_text_are_learned(prepare_labels, tmp_path):
    words = {"red": "colour", "big": "size", "old": "age"}
    random = np.random.default_rng(1)
    rows = []
    for _ in range(400):
        chosen = [word for word in words if random.random() < 0.5]
        rows.append(f"it is {' '.join(chosen)}\t{' ; '.join(words[w] for w in chosen)}\n")
    (tmp_path / "many.tsv").write_text("".join(rows))
    corpus = f"[{{file: {tmp_path}/many.tsv}}]"
    run = prepare_labels(
        f"data.train={corpus}", f"data.dev={corpus}", "classification.multi_label=true",
        "train.max_steps=60", "train.eval_steps=60", "train.average_checkpoints=1",
    )  # fmt: skip
    assert run.config.classification.labels == ["age", "colour", "size"]
    (found,) = evaluations(train(run))
    assert set(found.scores) == {"accuracy", "macro_f1", "micro_f1"}
    assert found.scores["accuracy"].score > 95


def test_sentence_pairs_are_learned_together(prepare_labels, tmp_path):
    random = np.random.default_rng(1)
    rows = ["a\tb\tlabel\n"]
    for _ in range(600):
        one, other = random.choice(["red", "blue"], 2)
        rows.append(f"it is {one}\tit is {other}\t{'same' if one == other else 'other'}\n")
    (tmp_path / "pairs.tsv").write_text("".join(rows))
    corpus = f"[{{file: {tmp_path}/pairs.tsv, columns: [a, b, label]}}]"
    run = prepare_labels(
        f"data.train={corpus}", f"data.dev={corpus}", "train.max_steps=200",
        "train.eval_steps=200", "train.average_checkpoints=1", "train.warmup_steps=20",
        "model.encoder_layers=2", "classification.pooling=first",
    )  # fmt: skip
    assert run.config.num_texts == 2
    (found,) = evaluations(train(run))
    assert found.scores["accuracy"].score > 95


def test_an_unknown_label_in_dev_ends_it_before_training(prepare_labels, tmp_path):
    (tmp_path / "dev.tsv").write_text("the dog was fine\tgood\nthe dog was odd\todd\n")
    with pytest.raises(DataError, match=r"dev\.tsv:2: unknown label 'odd'"):
        prepare_labels(f"data.dev=[{{file: {tmp_path}/dev.tsv}}]")


def test_a_label_that_looks_like_several_is_warned_of(prepare_labels, tmp_path):
    rows = [f"it is {word}\t{label}\n" for word in "abc" for label in ("one", "one; two")]
    (tmp_path / "joined.tsv").write_text("".join(rows))
    corpus = f"[{{file: {tmp_path}/joined.tsv}}]"
    warnings = prepare_labels(f"data.train={corpus}", f"data.dev={corpus}").warnings
    assert "'one; two' is taken for one label" in warnings[0]


def test_texts_that_are_not_read_to_their_ends_are_counted(label_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'red ' * n}\t{label}\n" for n in (2, 99) for label in ("one", "two")]
    (tmp_path / "long.tsv").write_text("".join(rows))
    corpus = f"[{{file: {tmp_path}/long.tsv}}]"
    settings = [*SMALL, f"data.train={corpus}", f"data.dev={corpus}", "model.max_length=20"]
    told = []
    prepare(load_config(str(label_corpus / "labels.yaml"), settings), tell=told.append)
    long = "texts of 20 tokens (model.max_length) or more, not read any further"
    assert f"{long}: 2 of train, 2 of dev" in told


def test_rows_of_train_can_be_held_out(prepare_labels):
    run = prepare_labels("data.dev=[{rows: 4}]", "data.test=[{rows: 5}]")
    assert len(run.dev_examples) >= 4
    assert not {e.source for e in run.dev_examples} & {
        e.source for e in run.corpora.iter_split("train")
    }


@pytest.mark.parametrize("freeze", [True, False])
def test_the_encoder_of_a_translation_model_is_where_it_begins(
    prepare_labels, toy_bundle, tmp_path, freeze
):
    """The toy model and this one share an architecture but for their decoder and head."""
    same = [f"model.{k}={v}" for k, v in (("d_model", 32), ("d_ff", 128), ("encoder_layers", 1))]
    run = prepare_labels(
        f"train.from={toy_bundle}", *same, f"classification.freeze_encoder={str(freeze).lower()}",
        "train.max_steps=2", "train.eval_steps=2",
    )  # fmt: skip
    list(train(run))
    start, found = open_bundle(toy_bundle).load_weights(), weights(run.folder.path, 2)
    assert run.vocabularies.source.vocab_size == len(start["embedding"])
    of_encoder = found.keys() - {"head.kernel", "head.bias"}
    assert of_encoder == {name for name in start if not name.startswith("decoder")}
    for name in of_encoder:
        assert (found[name] == start[name]).all() == freeze, name
        np.testing.assert_allclose(found[name], start[name], atol=0.05)
    slots = load_file(run.folder.checkpoints / "step-00000002" / "optimizer.safetensors")
    trained = {name.split(".", 1)[1] for name in slots}
    assert trained == ({"head.kernel", "head.bias"} if freeze else set(found))


def test_a_classifier_goes_on_from_another_with_its_labels_or_without(
    prepare_labels, label_bundle, tmp_path
):
    run = prepare_labels(f"train.from={label_bundle}", "train.max_steps=1")
    assert evaluations(train(run))[0].scores["accuracy"].score > 90
    names = "[bad, good, so so, odd]"
    settings = (f"train.from={label_bundle}", "name=other", f"classification.labels={names}")
    other = prepare_labels(*settings, "train.max_steps=1")
    list(train(other))
    assert weights(other.folder.path, 1)["head.bias"].shape == (4,)


def test_another_architecture_is_refused(prepare_labels, toy_bundle):
    with pytest.raises(ConfigError, match=r"train\.from: .* model\.d_model is 32 there"):
        prepare_labels(f"train.from={toy_bundle}")
