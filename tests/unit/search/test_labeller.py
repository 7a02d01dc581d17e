"""Lines -> labels, with a scorer whose logits are known."""

from dataclasses import replace

import numpy as np
import pytest

from nmt_cli.bundle.folder import Bundle, open_bundle
from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.errors import DataError, ModelFileError
from nmt_cli.search.labeller import Labeller, given_labels, label_flags, pooled, probabilities
from nmt_cli.search.loading import EngineOptions, load_labeller
from nmt_cli.text.labels import Labels
from nmt_cli.text.special_tokens import BOS_ID, EOS_ID
from nmt_cli.text.tokenizer import Subwords

SETTINGS = {
    "labels": ["a", "b", "c"], "multi_label": False, "separator": ";", "threshold": 0.5,
    "pooling": "mean", "texts": 1,
}  # fmt: skip


class Characters:
    """A vocabulary of one token a character."""

    def encode_batch(self, texts):
        return [[ord(character) for character in text] for text in texts]


class LastToken:
    """Favours the label that the text's last token names, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def logits(self, sources):
        self.asked += sources
        rows = np.zeros((len(sources), 3), np.float32)
        for row, source in zip(rows, sources, strict=True):
            row["abc".find(chr(source[-2]))] = 3.0
        return rows


@pytest.fixture
def labeller():
    def labeller(**settings) -> Labeller:
        return Labeller(LastToken(), Characters(), SETTINGS | settings, max_length=6)

    return labeller


def test_labels_that_the_weights_do_not_have_are_refused(label_bundle):
    bundle = open_bundle(label_bundle)
    fewer = bundle.manifest.classification | {"labels": ["good", "bad"]}
    changed = Bundle(bundle.path, replace(bundle.manifest, classification=fewer))
    with pytest.raises(ModelFileError, match="its outputs are not those of its labels"):
        load_labeller(changed, EngineOptions())


@pytest.mark.parametrize(
    "shapes",
    [
        {"kernel": (16, 3)},
        {"bias": (3,)},
        {"kernel": (5, 3), "bias": (3,)},
        {"kernel": (3,), "bias": (3,)},
        {"kernel": (16, 3), "bias": (2, 3)},
    ],
)
def test_outputs_that_do_not_fit_are_refused(label_bundle, monkeypatch, shapes):
    head = {f"head.{name}": np.zeros(shape, np.float32) for name, shape in shapes.items()}
    monkeypatch.setattr(Bundle, "load_weights", lambda *_: head)
    with pytest.raises(ModelFileError, match="its outputs are not those of its labels"):
        load_labeller(open_bundle(label_bundle), EngineOptions())


def labels_of(labeller, *lines) -> list[list[str]]:
    return [found.labels for found in labeller.label_windows([list(lines)])]


def test_every_line_gets_the_likeliest_label(labeller):
    assert labels_of(labeller(), "xa", "xc", "b") == [["a"], ["c"], ["b"]]


def test_a_text_in_capitals_is_read_in_usual_case():
    subwords = Subwords.train(["the old dog"] * 20, TokenizerConfig(vocab_size=300))
    made = Labeller(LastToken(), subwords, SETTINGS, max_length=20)
    assert made.encode([("THE OLD DOG",)]) == made.encode([("the old dog",)])


def test_a_blank_line_gets_none_and_does_not_ask_the_model(labeller):
    made = labeller()
    found = list(made.label_windows([["", " b", "\t"], [" "]]))
    assert [(f.source, f.labels) for f in found] == [("", []), (" b", ["b"]), ("\t", []), (" ", [])]
    assert found[0].probabilities == {}
    assert made.scorer.asked == [[ord("b"), EOS_ID]]


def test_probabilities_come_likeliest_first_and_sum_to_one(labeller):
    (found,) = labeller().label_windows([["b"]])
    assert list(found.probabilities) == ["b", "a", "c"]
    assert found.probabilities["b"] == pytest.approx(np.exp(3) / (np.exp(3) + 2))
    assert sum(found.probabilities.values()) == pytest.approx(1)


def test_several_labels_are_those_from_the_threshold_on(labeller):
    assert labels_of(labeller(multi_label=True), "b") == [["b", "a", "c"]]  # 0 is one half
    assert labels_of(labeller(multi_label=True, threshold=0.6), "b") == [["b"]]
    assert labels_of(labeller(multi_label=True, threshold=0.99), "b") == [[]]


def test_a_long_text_loses_its_end_and_first_pooling_gets_its_token(labeller):
    made = labeller(pooling="first")
    list(made.label_windows([["abcdefgh"]]))
    assert made.scorer.asked == [[BOS_ID, *map(ord, "abcd"), EOS_ID]]


@pytest.mark.parametrize(
    ("settings", "line", "told"),
    [
        ({}, "abcde", []),
        ({}, "abcdef", ["line 3 has 6 tokens; the model reads 5 of them"]),
        ({"pooling": "first"}, "abcde", ["line 3 has 5 tokens; the model reads 4 of them"]),
        ({"texts": 2}, "ab\tab", []),
        ({"texts": 2}, "abcd\tab", ["line 3 has 6 tokens; the model reads 4 of them"]),
    ],
)
def test_a_text_that_loses_its_end_is_told(labeller, settings, line, told):
    warnings = []
    window = ["", "", line]
    list(labeller(**settings).label_windows([window], on_warning=warnings.append))
    assert [warning.partition(" and ignores")[0] for warning in warnings] == told


def test_a_pair_has_a_tab_between_its_texts(labeller):
    made = labeller(texts=2)
    assert labels_of(made, "a\tb") == [["b"]]
    assert made.scorer.asked == [[ord("a"), EOS_ID, ord("b"), EOS_ID]]
    with pytest.raises(DataError, match=r"line 3 is one text; this model reads two"):
        list(made.label_windows([["a\tb", ""], ["c"]]))


def test_probabilities_of_large_logits_are_finite():
    logits = np.array([[1000.0, -1000.0]], np.float32)
    for multi_label in (False, True):
        np.testing.assert_allclose(probabilities(logits, multi_label=multi_label), [[1, 0]])


def test_the_first_of_equally_likely_labels_is_given():
    flags = given_labels(np.array([[0.4, 0.4, 0.2]]), multi_label=False, threshold=0.5)
    assert flags.tolist() == [[True, False, False]]


def test_flags_of_label_texts():
    labels = Labels(("a", "b"), ";")
    assert label_flags(["b;a", "", "b"], labels).tolist() == [[1, 1], [0, 0], [0, 1]]


def test_pooling_leaves_padding_out():
    states = np.array([[[1.0, -5.0], [3.0, -1.0], [99.0, 99.0]]], np.float32)
    lengths = np.array([2])
    assert pooled(states, lengths, "mean").tolist() == [[2.0, -3.0]]
    assert pooled(states, lengths, "max").tolist() == [[3.0, -1.0]]
    assert pooled(states, lengths, "first").tolist() == [[1.0, -5.0]]
