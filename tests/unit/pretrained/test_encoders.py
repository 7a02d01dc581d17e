"""Imported encoders against what `transformers` makes of the same, and a classifier from one."""

import json
import shutil
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import tensorflow as tf

import nmt_cli
from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import ModelFileError
from nmt_cli.model.classifier import Classifier, pooled
from nmt_cli.model.weights import assign_weights
from nmt_cli.pretrained.importing import import_model
from nmt_cli.text.special_tokens import CONTROL_TOKENS
from nmt_cli.text.template import join_texts
from nmt_cli.text.vocabulary import Vocabularies

FOLDER = Path(__file__).parents[2] / "data" / "pretrained"
TOLERANCE = 1e-4  # of the largest number of a state


class Case:
    """A published encoder, its bundle, and ids of one as ids of the other."""

    def __init__(self, name: str, target: Path) -> None:
        self.answers = json.loads((FOLDER / name / "answers.json").read_text())
        self.bundle = import_model(FOLDER / name, target)
        self.subwords = Vocabularies.load(self.bundle.path).source
        names = self.answers["names"]
        roles = ("<pad>", "<s>", "</s>") if "<s>" in names else ("[PAD]", "[CLS]", "[SEP]")
        known = [names.index(role) for role in roles]
        self.theirs = [*known, None, None, None, *(i for i in range(len(names)) if i not in known)]

    def read(self, text: str) -> list[int]:
        """Return our ids of a text, as a classifier reads it."""
        ids = self.subwords.encode(text)
        return join_texts([ids], begins=True, max_length=self.bundle.manifest.model["max_length"])


@pytest.fixture(scope="module", params=["bert", "electra", "roberta", "xlm-roberta"])
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp("imported") / request.param)


def test_text_becomes_the_ids_of_the_published_tokenizer(case):
    for text, ids in zip(case.answers["texts"], case.answers["ids"], strict=True):
        assert [case.theirs[i] for i in case.read(text)] == ids, text


def test_no_text_makes_a_control_token(case):
    for text in (*case.subwords.all_tokens(), "[CLS] [SEP] [PAD]", "<s></s><pad>", "<user> <bot>"):
        assert not {*case.subwords.encode(text)} & {*range(len(CONTROL_TOKENS))}, text


def test_first_states_are_those_of_transformers_on_both_engines(case):
    rows = [case.read(text) for text in case.answers["texts"][:3]]
    expected = np.array(case.answers["first_states"])
    folder = case.bundle.ctranslate2_folder()
    fast = np.array(ctranslate2.Encoder(str(folder)).forward_batch(rows).last_hidden_state)
    config = ModelConfig(**case.bundle.manifest.model)
    model = Classifier(config, vocab_size=case.subwords.vocab_size, num_labels=0)
    assign_weights(model, case.bundle.load_weights())
    padded = [[*row, *[0] * (max(map(len, rows)) - len(row))] for row in rows]
    native = pooled(model.encode(tf.constant(padded)), "first").numpy()
    for found in (fast[:, 0], native):
        np.testing.assert_allclose(found, expected, atol=TOLERANCE * np.abs(expected).max())


def test_it_knows_no_labels_yet(case, tmp_path):
    folder = shutil.copytree(case.bundle.path, tmp_path / "my model")
    with pytest.raises(ModelFileError, match="is an encoder without labels") as error:
        nmt_cli.load(folder).classify(["A red dog"])
    assert error.value.hint.endswith(f"--from '{folder}'")


def test_a_classifier_is_trained_from_it(case, label_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {f"model.{key}": value for key, value in case.bundle.manifest.model.items()}
    settings |= {"name": "tuned", "train.from": str(case.bundle.path), "data.test": []}
    settings |= {"train.max_steps": 2, "train.eval_steps": 2, "train.checkpoint_steps": 2}
    settings |= {"classification.pooling": "first"}
    list(nmt_cli.train(label_corpus / "labels.yaml", set=settings))
    (found,) = nmt_cli.load("runs/tuned").classify(["the film was great"])
    assert set(found.probabilities) == {"good", "bad", "so so"}
    tuned = nmt_cli.load("runs/tuned").bundle.load_weights("encoder.positions")
    start = case.bundle.load_weights("encoder.positions")
    np.testing.assert_allclose(tuned["encoder.positions"], start["encoder.positions"], atol=0.1)
