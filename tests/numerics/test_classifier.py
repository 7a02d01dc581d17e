"""The classifier and its loss against the NumPy reference: encoder, pooling, head, gradient."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from numpy_transformer import Architecture, NumpyTransformer, log_softmax, random_weights

from nmt_cli.bundle.ctranslate2_form import EncoderConversion
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.classifier import Classifier
from nmt_cli.model.layers import RandomStream
from nmt_cli.model.weights import assign_weights, named_variables, read_weights
from nmt_cli.search.labeller import CTranslate2Scorer
from nmt_cli.search.tensorflow_engine import TensorFlowScorer
from nmt_cli.tasks.losses import balanced_weights, label_loss
from nmt_cli.text.shards import EncodedCorpus

SOURCES = [[1, 7, 8, 9, 10, 2], [6, 2], [9, 9, 2, 6, 2]]
ARCHITECTURES = {
    "base": {},
    "post-norm": {"norm": "post"},
    "learned-positions": {"positions": "learned"},
    "others": {"activation": "swiglu", "norm": "post", "encoder_layers": 3},
}
# Largest difference over the largest logit: sums of a few dozen float32 terms.
TOLERANCE = 1e-5
SIZES = {"d_model": 8, "d_ff": 12, "num_heads": 2, "encoder_layers": 1}


def padded() -> tf.Tensor:
    width = max(map(len, SOURCES))
    return tf.constant([row + [0] * (width - len(row)) for row in SOURCES])


@pytest.fixture
def make_classifier():
    """A function that makes a classifier of random weights, its logits by hand, its reference."""

    def make(pooling="mean", head_dropout=0.0, **changes):
        config = ModelConfig(**{**SIZES, **changes}, max_length=16, dropout=0.0)
        model = Classifier(
            config, vocab_size=11, num_labels=4, pooling=pooling, head_dropout=head_dropout
        )
        architecture = Architecture(
            config.d_model, config.d_ff, config.num_heads, config.encoder_layers, 1,
            norm=config.norm, activation=config.activation, positions=config.positions,
        )  # fmt: skip
        weights = random_weights(architecture, 11, 11, "all", 1, config.max_length)
        reference = NumpyTransformer(weights, architecture, never=())
        random = np.random.default_rng(5)
        head = {"head.kernel": random.normal(size=(8, 4)), "head.bias": random.normal(size=4)}
        kept = {name: w for name, w in weights.items() if not name.startswith("decoder")}
        assign_weights(model, {**kept, **head})
        return model, lambda: logits_by_hand(reference, pooling, head), reference

    return make


def logits_by_hand(
    reference: NumpyTransformer, pooling: str, head: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return the logits [B, Y], each text alone, so that no padding can matter."""
    rows = []
    for source in SOURCES:
        states = reference.encode(source)
        if pooling == "first":
            vector = states[0]
        elif pooling == "max":
            vector = [max(state[i] for state in states) for i in range(8)]
        else:
            vector = sum(states) / len(source)
        rows.append(np.asarray(vector) @ head["head.kernel"] + head["head.bias"])
    return np.array(rows)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
@pytest.mark.parametrize("changes", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def test_logits_equal_the_references(make_classifier, pooling, changes):
    model, by_hand, _ = make_classifier(pooling, **changes)
    found, expected = model(padded()).numpy(), by_hand()
    assert np.abs(found - expected).max() / np.abs(expected).max() < TOLERANCE


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_padding_changes_nothing(make_classifier, pooling):
    model, *_ = make_classifier(pooling)
    alone = model(tf.constant([SOURCES[1]])).numpy()[0]
    np.testing.assert_allclose(model(padded()).numpy()[1], alone, rtol=1e-5, atol=1e-6)


def test_the_heads_dropout_is_drawn_by_the_seed(make_classifier):
    model, *_ = make_classifier(head_dropout=0.5)
    one, same, other = (
        model(padded(), random=RandomStream(tf.constant(seed))).numpy()
        for seed in ([1, 1], [1, 1], [1, 2])
    )
    assert (one == same).all()
    assert (one != other).any()
    assert (model(padded()).numpy() == model(padded()).numpy()).all()


def test_the_weights_have_the_names_of_a_translation_models_encoder(make_classifier, make_model):
    model, *_ = make_classifier()
    names = set(named_variables(model))
    of_translation = {n for n in named_variables(make_model()) if not n.startswith("decoder")}
    assert names - of_translation == {"head.kernel", "head.bias"}
    assert of_translation <= names


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
@pytest.mark.parametrize("changes", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def test_the_fast_scorer_gives_the_references_logits(make_classifier, tmp_path, pooling, changes):
    model, by_hand, _ = make_classifier(pooling, **changes)
    weights, tokens = read_weights(model), [f"token{i}" for i in range(11)]
    EncoderConversion(model.config.model_dump(), weights, tokens, tokens).write(tmp_path / "ct2")
    scorer = CTranslate2Scorer(tmp_path / "ct2", weights, pooling, threads=1)
    found, expected = scorer.logits(SOURCES), by_hand()
    assert np.abs(found - expected).max() / np.abs(expected).max() < TOLERANCE
    again = scorer.logits(SOURCES[::-1] * 300)  # other batches, other neighbours
    np.testing.assert_allclose(again[-3:][::-1], found, rtol=1e-5, atol=1e-5)
    assert scorer.logits([]).shape == (0, 4)


def test_the_attention_of_all_heads_equals_the_references(make_classifier):
    model, _, reference = make_classifier(encoder_layers=3)
    for source in SOURCES:
        found = TensorFlowScorer(model).attention_by_kind(source)
        assert list(found) == ["encoder"]
        assert found["encoder"].shape == (3, 2, len(source), len(source))
        np.testing.assert_allclose(found["encoder"].sum(-1), 1.0, atol=1e-6)  # float32, few terms
        expected = reference.attention_maps(source, [1])
        for number, weights in enumerate(found["encoder"], start=1):
            wanted = expected[f"encoder_layer{number}_self_att"]
            np.testing.assert_allclose(weights, wanted, atol=TOLERANCE)


WEIGHTS = np.array([0.5, 1.0, 2.0, 1.5], np.float32)


def one_by_hand(logits, labels, eps, weights) -> float:
    total = 0.0
    for row, label in zip(logits, labels, strict=True):
        log_probs = log_softmax(row)
        target = [(1 - eps) * (i == label) + eps / 4 for i in range(4)]
        total -= weights[label] * sum(t * p for t, p in zip(target, log_probs, strict=True))
    return total


def several_by_hand(logits, rows, eps, weights) -> float:
    total = 0.0
    for row, labels in zip(logits, rows, strict=True):
        for i, logit in enumerate(row):
            p = 1 / (1 + np.exp(-logit))
            wanted = (1 - eps) * (i in labels) + eps / 2
            weight = weights[i] if i in labels else 1.0
            total -= weight * (wanted * np.log(p) + (1 - wanted) * np.log(1 - p)) / 4
    return total


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("weights", [np.ones(4, np.float32), WEIGHTS], ids=["even", "weighted"])
def test_the_loss_of_one_label_is_that_of_the_definition(make_classifier, eps, weights):
    model, by_hand, _ = make_classifier()
    labels = [2, 0, 3]
    sums = partial(label_loss, multi_label=False, weights=weights)(
        model, padded(), tf.constant([[label + 1] for label in labels]), eps, None
    )
    assert float(sums.smoothed) == pytest.approx(
        one_by_hand(by_hand(), labels, eps, weights), rel=1e-5
    )
    plain = one_by_hand(by_hand(), labels, 0.0, np.ones(4))
    assert float(sums.plain) == pytest.approx(plain, rel=1e-5)
    assert float(sums.num_tokens) == 3


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("weights", [np.ones(4, np.float32), WEIGHTS], ids=["even", "weighted"])
def test_the_loss_of_several_labels_is_that_of_the_definition(make_classifier, eps, weights):
    model, by_hand, _ = make_classifier()
    rows = [[0, 3], [], [1]]
    target = tf.constant([[1, 4], [0, 0], [2, 0]])
    sums = partial(label_loss, multi_label=True, weights=weights)(
        model, padded(), target, eps, None
    )
    expected = several_by_hand(by_hand(), rows, eps, weights)
    assert float(sums.smoothed) == pytest.approx(expected, rel=1e-5)
    assert float(sums.num_tokens) == 3


def test_examples_without_any_label_make_a_batch(make_classifier):
    model, by_hand, _ = make_classifier()
    target = tf.zeros([3, 0], tf.int32)
    sums = partial(label_loss, multi_label=True, weights=np.ones(4, np.float32))(
        model, padded(), target, 0.0, None
    )
    expected = several_by_hand(by_hand(), [[], [], []], 0.0, np.ones(4))
    assert float(sums.plain) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_the_gradient_is_the_slope_of_the_loss(make_classifier, pooling):
    """Against differences of the loss, for one number of the head, the encoder, the embedding."""
    model, *_ = make_classifier(pooling)
    loss = partial(label_loss, multi_label=False, weights=WEIGHTS)
    target = tf.constant([[3], [1], [4]])
    variables = named_variables(model)
    with tf.GradientTape() as tape:
        value = loss(model, padded(), target, 0.1, None).smoothed
    found = dict(zip(variables, tape.gradient(value, list(variables.values())), strict=True))
    weights = read_weights(model)
    for name, place in (("head.kernel", (2, 1)), ("encoder.layer1.self_att.output", (1, 2)),
                        ("embedding", (9, 3))):  # fmt: skip
        slopes = []
        for step in (1e-2, -1e-2):
            moved = {n: w.copy() for n, w in weights.items()}
            moved[name][place] += step
            assign_weights(model, moved)
            slopes.append(float(loss(model, padded(), target, 0.1, None).smoothed))
        slope = (slopes[0] - slopes[1]) / 2e-2
        gradient = tf.convert_to_tensor(found[name]).numpy()[place]
        assert gradient == pytest.approx(slope, rel=2e-2, abs=2e-3), name


def test_balanced_weights_are_those_of_the_definition():
    none = np.zeros(0, np.uint16)
    target = np.array([1, 1, 1, 3, 1], np.uint16)
    corpus = EncodedCorpus(none, np.zeros(6, np.int64), target, np.arange(6))
    one = balanced_weights(corpus, 3, multi_label=False)
    assert one.tolist() == pytest.approx([5 / 12, 1.0, 5 / 3])
    several = balanced_weights(corpus, 3, multi_label=True)
    assert several.tolist() == pytest.approx([1 / 4, 1.0, 4.0])
    everywhere = EncodedCorpus(none, np.zeros(3, np.int64), np.array([1, 1]), np.arange(3))
    assert balanced_weights(everywhere, 1, multi_label=True).tolist() == [1.0]


def test_balanced_weights_do_not_move_the_threshold_of_a_rare_label():
    """Without the label, the best output is the smoothed 0.05, however much the label weighs."""
    probabilities = np.linspace(0.01, 0.99, 99)
    weights = np.array([99.0], np.float32)
    for target, best in ((0, 0.05), (1, 0.95)):
        sums = [_label_loss_at(p, target, weights) for p in probabilities]
        assert probabilities[np.argmin(sums)] == pytest.approx(best, abs=1e-6)


def _label_loss_at(probability, target, weights):
    logits = tf.constant([[np.log(probability / (1 - probability))]], tf.float32)
    model, source = (lambda _, random: logits), np.zeros((1, 1), np.int32)
    labels = np.array([[target]], np.int32)
    return float(
        label_loss(model, source, labels, 0.1, None, multi_label=True, weights=weights).smoothed
    )
