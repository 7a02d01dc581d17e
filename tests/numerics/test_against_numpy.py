"""The whole forward pass, its gradient and its searches against the NumPy reference.

The reference shares no line with `nmt_cli`, works in float64, one sentence at a time, and leaves
masked keys out of its sums.
"""

import numpy as np
import pytest
import tensorflow as tf
from exhaustive_search import best_sequences
from schedules_by_hand import label_smoothed_cross_entropy

from nmt_cli.model.ensemble import Ensemble
from nmt_cli.model.weights import assign_weights, named_variables, read_weights
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import TensorFlowEngine
from nmt_cli.tasks.losses import loss_sums
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID, PAD_ID

# The bound: largest difference over largest logit. Float32 keeps 6e-8 of a number, and a
# few dozen sums of ten terms each lose a little of that at every one.
TOLERANCE = 1e-5

CONVERSATION = [3, 9, 4, 9, 6, 3, 4, 7, 3, 9, EOS_ID]  # 3 and 4 are the speakers
SOURCES = [[7, 8, 9, 10, EOS_ID], [6, EOS_ID], CONVERSATION]
TARGETS = [[9, 7, EOS_ID], [8, 6, 6, 10, 7, EOS_ID], [EOS_ID]]
MAP_NAMES = {  # of the reference, by kind and number of the layer
    "cross": "decoder_layer{}_block2_decenc_att",
    "encoder": "encoder_layer{}_self_att",
    "decoder": "decoder_layer{}_block1_self_att",
}

VARIANTS = {
    "base": {},
    "post-norm": {"norm": "post"},
    "gelu": {"activation": "gelu"},
    "swiglu": {"activation": "swiglu"},
    "silu": {"activation": "silu"},
    "norm-epsilon": {"norm_epsilon": 0.1},
    "attention-bias": {"attention_bias": True},
    "output-bias": {"output_bias": True},
    "learned-positions": {"positions": "learned"},
    "table-of-positions": {"positions": "table"},
    "embedding-norm": {"embedding_norm": "both"},
    "embedding-norm-of-one-side": {"embedding_norm": "encoder", "norm": "post"},
    "turns": {"turn_embeddings": True},
    "untied": {"tie_embeddings": False},
    "separate-vocabularies": {"joint": False, "target_vocab_size": 14},
    "separate-and-untied": {"joint": False, "target_vocab_size": 14, "tie_embeddings": False},
    "deep-encoder": {"encoder_layers": 4, "decoder_layers": 1},
    "deep-decoder": {"encoder_layers": 1, "decoder_layers": 3, "norm": "post"},
    "one-head": {"num_heads": 1, "d_model": 6},
    "odd-width": {"num_heads": 3, "d_model": 9, "positions": "learned"},
    "all-others": {
        "norm": "post",
        "activation": "swiglu",
        "positions": "learned",
        "embedding_norm": "both",
        "turn_embeddings": True,
        "tie_embeddings": False,
        "norm_epsilon": 0.01,
        "attention_bias": True,
        "output_bias": True,
        "d_model": 16,
        "num_heads": 4,
        "encoder_layers": 2,
        "decoder_layers": 2,
    },
}
each_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())


def padded(rows) -> tf.Tensor:
    array = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for index, row in enumerate(rows):
        array[index, : len(row)] = row
    return tf.constant(array)


def decoder_inputs() -> list[list[int]]:
    return [[BOS_ID, *target[:-1]] for target in TARGETS]


def possible(logits) -> np.ndarray:
    """Return the columns of tokens that an output can hold; the others are far below."""
    never = [i for i in range(len(CONTROL_TOKENS)) if i != EOS_ID]
    assert logits[:, never].max() < -9000
    return np.delete(logits, never, axis=1)


@each_variant
def test_logits_equal_the_references(make_pair, changes):
    model, reference = make_pair(**changes)
    cache = model.start_cache(model.encode(padded(SOURCES)))
    found = possible(model.logits(model.decode(padded(decoder_inputs()), cache)).numpy())

    expected = [
        possible(reference.decode_logits(inputs, reference.encode(source), source))
        for source, inputs in zip(SOURCES, decoder_inputs(), strict=True)
    ]
    largest = max(np.abs(logits).max() for logits in expected)
    assert largest > 1  # a model in which something happens
    assert np.abs(found - np.concatenate(expected)).max() <= TOLERANCE * largest


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_attention_maps_equal_the_references(make_pair, norm):
    model, reference = make_pair(norm=norm, encoder_layers=2, decoder_layers=2)
    maps = {}
    cache = model.start_cache(model.encode(padded(SOURCES), maps=maps))
    model.decode(padded(decoder_inputs()), cache, maps=maps)
    for row, (source, inputs) in enumerate(zip(SOURCES, decoder_inputs(), strict=True)):
        expected = reference.attention_maps(source, inputs)
        assert len(expected) == sum(map(len, maps.values()))
        for kind, layers in maps.items():
            for number, layer in enumerate(layers, start=1):
                weights = expected[MAP_NAMES[kind].format(number)]
                _, queries, keys = weights.shape
                found = layer.numpy()[row, :, :queries, :keys]
                # Probabilities; their scores carry the error of the states that they come from.
                np.testing.assert_allclose(found, weights, atol=TOLERANCE, err_msg=kind)


def test_the_engines_attention_of_all_heads_equals_the_references(make_pair):
    """The engine reads a forced target; depth differs, so that no side is taken for the other."""
    model, reference = make_pair(encoder_layers=3, decoder_layers=2)
    source, target = SOURCES[0], TARGETS[1]
    expected = reference.attention_maps(source, [BOS_ID, *target[:-1]])
    found = TensorFlowEngine(model).attention_by_kind(source, target)
    assert {kind: len(weights) for kind, weights in found.items()} == {
        "cross": 2,
        "encoder": 3,
        "decoder": 2,
    }
    for kind, layers in found.items():
        np.testing.assert_allclose(layers.sum(-1), 1.0, atol=1e-6)  # float32, a few terms
        for number, weights in enumerate(layers, start=1):
            wanted = expected[MAP_NAMES[kind].format(number)]
            np.testing.assert_allclose(weights, wanted, atol=TOLERANCE)


def test_forced_scores_equal_the_references(make_pair):
    model, reference = make_pair(encoder_layers=2, decoder_layers=2)
    found = TensorFlowEngine(model).score(SOURCES, TARGETS)
    for scores, source, target in zip(found, SOURCES, TARGETS, strict=True):
        expected = reference.forced_score(source, target)
        assert sum(scores) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize(
    "name", ["base", "post-norm", "swiglu", "separate-and-untied", "all-others"]
)
def test_the_gradient_is_the_slope_of_the_references_loss(make_pair, name):
    """Central differences in float64 along random directions, label smoothing included."""
    model, reference = make_pair(weights_seed=2, **VARIANTS[name])  # seed 1 is at a kink of ReLU
    weights = {key: array.copy() for key, array in reference.weights.items()}
    with tf.GradientTape() as tape:
        sums = loss_sums(model, padded(SOURCES), padded(TARGETS), 0.1, None)
    variables = {name: v for name, v in named_variables(model).items() if v.trainable}
    tensors = tape.gradient(sums.smoothed, [v.value for v in variables.values()])
    names = zip(variables, tensors, strict=True)
    gradient = {key: tf.convert_to_tensor(g).numpy() for key, g in names}

    def loss(moved) -> float:
        reference.weights = moved
        return sum(
            label_smoothed_cross_entropy(
                reference.decode_logits(inputs, reference.encode(source), source),
                np.array(target),
                0.1,
                [EOS_ID, *range(len(CONTROL_TOKENS), int(model.output_table.shape[0]))],
            )
            for source, inputs, target in zip(SOURCES, decoder_inputs(), TARGETS, strict=True)
        )

    random = np.random.default_rng(0)
    for _ in range(3):
        direction = {key: random.normal(size=array.shape) for key, array in weights.items()}
        direction["output_bias"] = np.zeros_like(weights.get("output_bias", 0))  # is not trained
        step = 1e-7
        ahead, behind = (
            loss({key: weights[key] + sign * step * direction[key] for key in weights})
            for sign in (1, -1)
        )
        expected = (ahead - behind) / (2 * step)
        found = sum(float(np.sum(gradient[key] * direction[key])) for key in gradient)
        # Float32 against float64; the differences themselves are good to 1e-7.
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    reference.weights = weights


# --- searches -------------------------------------------------------------------------------------


def oracle(reference, source):
    """Return log-probabilities after a prefix."""
    memory = reference.encode(source)

    def next_log_probs(prefix):
        return reference.log_probs([BOS_ID, *prefix], memory, source)[-1]

    return next_log_probs


def test_greedy_search_equals_the_references(make_pair):
    model, reference = make_pair(encoder_layers=2, decoder_layers=2)
    options = SearchOptions(beam_size=1, max_length=12, min_length=0, length_penalty=0.0)
    found = TensorFlowEngine(model).search(SOURCES, options)
    for source, (best,) in zip(SOURCES, found, strict=True):
        next_log_probs, ids, total = oracle(reference, source), (), 0.0
        while len(ids) < 12 and EOS_ID not in ids:
            log_probs = next_log_probs(ids)
            total += float(np.max(log_probs))
            ids = (*ids, int(np.argmax(log_probs)))
        assert tuple(best.ids) == ids
        assert best.score == pytest.approx(total, rel=TOLERANCE, abs=TOLERANCE)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_wide_beam_finds_the_best_of_all_sequences(make_pair, length_penalty):
    """Vocabulary of four writable tokens, four positions: 4 + 12 + 36 + 108... sequences."""
    model, reference = make_pair(source_vocab_size=9, target_vocab_size=9)
    source = [7, 8, EOS_ID]
    options = SearchOptions(
        beam_size=130,
        n_best=1 if length_penalty == 0 else 10,
        max_length=4,
        min_length=0,
        length_penalty=length_penalty,
    )
    (found,) = TensorFlowEngine(model).search([source], options)
    expected = best_sequences(
        oracle(reference, source), EOS_ID, 9, 4, length_penalty, n=options.n_best
    )
    assert [tuple(h.ids) for h in found] == [ids for ids, _ in expected]
    np.testing.assert_allclose(
        [h.score for h in found], [score for _, score in expected], rtol=TOLERANCE, atol=TOLERANCE
    )


@pytest.fixture(scope="module")
def ensemble(make_pair):
    """Two models of different depth and width as one, and what it must give after a prefix."""
    sizes = {"source_vocab_size": 9, "target_vocab_size": 9}
    pairs = [
        make_pair(weights_seed=1, encoder_layers=2, max_length=40, **sizes),
        make_pair(
            weights_seed=2, decoder_layers=2, d_model=12, num_heads=3, max_length=30, **sizes
        ),
    ]
    models, references = zip(*pairs, strict=True)

    def oracle_of(source):
        nexts = [oracle(reference, source) for reference in references]
        return lambda prefix: np.log(np.mean([np.exp(one(prefix)) for one in nexts], axis=0))

    return TensorFlowEngine(Ensemble(models)), oracle_of


@pytest.mark.filterwarnings("ignore:divide by zero")  # tokens that no output can have
def test_an_ensemble_finds_the_best_by_the_mean_of_its_models_probabilities(ensemble):
    engine, oracle_of = ensemble
    options = SearchOptions(beam_size=130, n_best=10, max_length=4, min_length=0)
    source = [7, 8, EOS_ID]
    (found,) = engine.search([source], options)
    expected = best_sequences(oracle_of(source), EOS_ID, 9, 4, 1.0, n=10)
    assert [tuple(h.ids) for h in found] == [ids for ids, _ in expected]
    np.testing.assert_allclose(
        [h.score for h in found], [score for _, score in expected], rtol=TOLERANCE, atol=TOLERANCE
    )
    assert engine.max_length == 30  # what all of its models can read


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_an_ensemble_scores_and_attends_as_its_models_do_on_average(ensemble):
    engine, oracle_of = ensemble
    target = [8, 6, 6, 7, EOS_ID]
    ((scores,),) = [engine.score([SOURCES[1]], [target])]
    next_log_probs = oracle_of(SOURCES[1])
    expected = [next_log_probs(tuple(target[:i]))[token] for i, token in enumerate(target)]
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE)

    (weights,) = engine.attention([SOURCES[1]], [target])
    alone = [TensorFlowEngine(m).attention([SOURCES[1]], [target])[0] for m in engine.model._models]
    np.testing.assert_allclose(weights, np.mean(alone, axis=0), rtol=TOLERANCE, atol=TOLERANCE)


def test_an_ensemble_of_a_model_and_itself_is_that_model(make_pair):
    model, _ = make_pair(decoder_layers=2, target_vocab_size=20, source_vocab_size=20)
    options = SearchOptions(beam_size=3, n_best=3, max_length=12, coverage_penalty=0.3)
    alone = TensorFlowEngine(model).search(SOURCES, options)
    both = TensorFlowEngine(Ensemble([model, model])).search(SOURCES, options)
    assert [[h.ids for h in found] for found in both] == [[h.ids for h in f] for f in alone]


def test_the_reference_notices_a_changed_weight(make_pair):
    """The comparison above is sharp: one weight moved by a hundredth is too much."""
    model, reference = make_pair()
    weights = read_weights(model)
    weights["decoder.layer1.cross_att.key_value"][0, 0] += 0.01
    assign_weights(model, weights)
    cache = model.start_cache(model.encode(padded(SOURCES)))
    found = possible(model.logits(model.decode(padded(decoder_inputs()), cache)).numpy())
    expected = possible(
        reference.decode_logits(decoder_inputs()[0], reference.encode(SOURCES[0]), SOURCES[0])
    )
    assert np.abs(found[: len(expected)] - expected).max() > TOLERANCE * np.abs(expected).max()
