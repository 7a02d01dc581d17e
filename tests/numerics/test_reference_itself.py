"""The references are references only if they are right: their own tests.

`tests/reference/` is compared with numbers printed elsewhere, with properties that the papers
state, and with CTranslate2, an implementation by other people that shares no line with it. Nothing
of `nmt_cli` is used here.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
from ctranslate2.specs import TransformerSpec, attention_spec, common_spec, transformer_spec
from exhaustive_search import all_sequences, best_sequences
from numpy_transformer import (
    PAD_ID,
    START_ID,
    Architecture,
    NumpyTransformer,
    Tied,
    causal_mask,
    gelu,
    layer_norm,
    log_softmax,
    padding_mask,
    random_weights,
    relu,
    scaled_dot_product_attention,
    silu,
    sinusoidal_positions,
    weight_shapes,
)
from schedules_by_hand import (
    adam_step,
    constant,
    cosine,
    inverse_sqrt,
    label_smoothed_cross_entropy,
    noam,
)

END_ID = 2
VOCAB_SIZE = 9
ROUNDING = 1e-14  # of sums of numbers around 1 in another order, which may themselves be near 0
MAX_LENGTH = 16
SOURCE = [5, 3, 8, 4, END_ID]
TARGET = [7, 7, 3, 6, END_ID]

PRE_NORM = Architecture(16, 24, 4, encoder_layers=2, decoder_layers=3)
POST_NORM = Architecture(16, 24, 2, encoder_layers=2, decoder_layers=1, norm="post")
GELU = Architecture(
    16, 24, 4, encoder_layers=3, decoder_layers=2, activation="gelu", positions="learned"
)
SWIGLU = Architecture(
    16, 24, 2, encoder_layers=1, decoder_layers=2, norm="post", activation="swiglu"
)
MODELS = [
    pytest.param(PRE_NORM, "all", id="pre-relu-sinusoidal-tied"),
    pytest.param(POST_NORM, "output", id="post-relu-sinusoidal-output-tied"),
    pytest.param(GELU, "none", id="pre-gelu-learned-untied"),
    pytest.param(SWIGLU, "none", id="post-swiglu-sinusoidal-untied"),
]


def build_model(architecture: Architecture, tied: Tied = "all") -> NumpyTransformer:
    """Make a small model with random weights."""
    weights = random_weights(architecture, VOCAB_SIZE, VOCAB_SIZE, tied, 1, MAX_LENGTH)
    return NumpyTransformer(weights, architecture)


# --- the parts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "weights", "output"),
    [
        ([0, 10, 0], [0, 1, 0, 0], [10, 0]),
        ([0, 0, 10], [0, 0, 0.5, 0.5], [550, 5.5]),
        ([10, 10, 0], [0.5, 0.5, 0, 0], [5.5, 0]),
    ],
)
def test_attention_gives_the_values_of_the_tensorflow_tutorial(query, weights, output):
    """Values: "Transformer model for language understanding", tensorflow.org/text/tutorials."""
    keys = np.array([[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]])
    values = np.array([[1, 0], [10, 0], [100, 5], [1000, 6]])
    everything = np.full((1, 4), True)

    found = scaled_dot_product_attention(np.array([query]), keys, values, everything)

    # The other keys keep exp(-100 / sqrt(3)) = 8e-26.
    np.testing.assert_allclose(found[0], [output], atol=1e-12)
    np.testing.assert_allclose(found[1], [weights], atol=1e-12)


def test_attention_gives_a_key_that_is_not_permitted_exactly_nothing():
    """A masked key has weight zero, not a small one, and the others share its part."""
    keys = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    permitted = np.array([[True, False, True]])
    _, weights = scaled_dot_product_attention(np.array([[5.0, 6.0]]), keys, keys, permitted)
    assert weights.tolist() == [[0.5, 0.0, 0.5]]


def test_positions_interleave_sines_and_cosines():
    """Row 1 at width 4 has the angles 1 / 10000^0 and 1 / 10000^(2/4)."""
    table = sinusoidal_positions(2, 4)
    assert table[0].tolist() == [0, 1, 0, 1]
    expected = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    np.testing.assert_allclose(table[1], expected, rtol=1e-15)


def test_layer_norm_divides_by_the_biased_deviation():
    """[100, 300] has mean 200 and, divided by two and not by one, deviation 100."""
    scale, bias = np.array([2.0, 4.0]), np.array([0.0, 5.0])
    found = layer_norm(np.array([[100.0, 300.0]]), scale, bias)
    np.testing.assert_allclose(found, [[-2.0, 9.0]], rtol=1e-9)  # epsilon is far below 100^2


def test_layer_norm_adds_epsilon_to_the_variance():
    """A variance as small as epsilon, 1e-6, makes the divisor sqrt(2e-6)."""
    found = layer_norm(np.array([[1e-3, 3e-3]]), scale=np.ones(2), bias=np.zeros(2))
    np.testing.assert_allclose(found, [[-math.sqrt(0.5), math.sqrt(0.5)]], rtol=1e-12)


def test_activations_at_one():
    """Phi(1) is 0.8413 in every table of the normal distribution, sigmoid(1) is 0.7311."""
    x = np.array([-1.0, 0.0, 1.0])
    assert relu(x).tolist() == [0, 0, 1]
    np.testing.assert_allclose(gelu(x), [-0.158655253931457, 0, 0.841344746068543], atol=1e-15)
    np.testing.assert_allclose(silu(x), [-0.268941421369995, 0, 0.731058578630005], atol=1e-15)


def test_masks_hide_padding_and_the_future():
    """True means that a query (row) may see a key (column)."""
    assert padding_mask(2, [5, 6, PAD_ID]).tolist() == [[True, True, False]] * 2
    assert causal_mask([START_ID, 5, PAD_ID]).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, False],
    ]


# --- the model --------------------------------------------------------------------------------


@pytest.mark.parametrize(("architecture", "tied"), MODELS)
def test_attention_maps_are_distributions(architecture, tied):
    """Every layer gives a map for each head; each row of it sums to one."""
    maps = build_model(architecture, tied).attention_maps(SOURCE, [START_ID, *TARGET[:-1]])

    expected = {f"encoder_layer{n + 1}_self_att" for n in range(architecture.encoder_layers)}
    for n in range(architecture.decoder_layers):
        expected |= {f"decoder_layer{n + 1}_block1_self_att"}
        expected |= {f"decoder_layer{n + 1}_block2_decenc_att"}
    assert set(maps) == expected
    for weights in maps.values():
        assert weights.shape == (architecture.num_heads, 5, 5)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-14)


@pytest.mark.parametrize(("architecture", "tied"), MODELS)
def test_no_position_sees_the_target_after_it(architecture, tied):
    """Changing the decoder's input at t + 1 leaves the logits up to t, and changes those after."""
    model = build_model(architecture, tied)
    memory = model.encode(SOURCE)
    before = model.decode_logits([START_ID, 3, 4, 5], memory, SOURCE)
    after = model.decode_logits([START_ID, 3, 8, 5], memory, SOURCE)

    np.testing.assert_array_equal(after[:2], before[:2])
    assert np.abs(after[2:] - before[2:]).max(axis=1).min() > 0.01


@pytest.mark.parametrize(("architecture", "tied"), MODELS)
def test_padding_changes_nothing(architecture, tied):
    """Padding to the right of source and target leaves the real positions as they were."""
    model = build_model(architecture, tied)
    padded_source = [*SOURCE, PAD_ID, PAD_ID]
    target = [START_ID, *TARGET[:-1]]
    memory = model.encode(SOURCE)
    padded_memory = model.encode(padded_source)

    # The matrix products may be summed in another order.
    np.testing.assert_allclose(padded_memory[: len(SOURCE)], memory, rtol=1e-12, atol=ROUNDING)
    np.testing.assert_allclose(
        model.decode_logits([*target, PAD_ID], padded_memory, padded_source)[: len(target)],
        model.decode_logits(target, memory, SOURCE),
        rtol=1e-12,
        atol=ROUNDING,
    )


def test_a_source_position_hidden_by_padding_has_no_weight():
    """Nobody looks at padding in the source, in any layer."""
    maps = build_model(PRE_NORM).attention_maps([*SOURCE, PAD_ID], [START_ID, 4])
    for name, weights in maps.items():
        if not name.endswith("block1_self_att"):
            assert not weights[:, :, -1].any()


def test_forced_score_adds_up_the_tokens_given_the_ones_before():
    """The score is the sum of log P(y_t | y_1 .. y_t-1), each taken from a run of its own."""
    model = build_model(PRE_NORM)
    memory = model.encode(SOURCE)
    expected = sum(
        model.log_probs([START_ID, *TARGET[:t]], memory, SOURCE)[-1, token]
        for t, token in enumerate(TARGET)
    )
    assert model.forced_score(SOURCE, TARGET) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("architecture", "tied"), MODELS)
def test_every_weight_matters(architecture, tied):
    """A change of any one array changes the score: none is ignored."""
    weights = random_weights(architecture, VOCAB_SIZE, VOCAB_SIZE, tied, 1, MAX_LENGTH)
    score = NumpyTransformer(weights, architecture).forced_score(SOURCE, TARGET)
    generator = np.random.default_rng(2)
    for name, array in weights.items():
        changed = weights | {name: array + 0.1 * generator.standard_normal(array.shape)}
        other = NumpyTransformer(changed, architecture).forced_score(SOURCE, TARGET)
        assert abs(other - score) > 1e-4, name


def test_a_tied_table_serves_source_target_and_output():
    """Three equal tables under their own names are the same model as one under all three."""
    tied = random_weights(PRE_NORM, VOCAB_SIZE, VOCAB_SIZE, "all", 1, MAX_LENGTH)
    table = tied["embedding"]
    others = {name: array for name, array in tied.items() if name != "embedding"}
    half = others | {"source_embedding": table, "target_embedding": table}
    none = half | {"output_embedding": table}

    scores = {
        NumpyTransformer(weights, PRE_NORM).forced_score(SOURCE, TARGET)
        for weights in (tied, half, none)
    }
    assert len(scores) == 1


def test_one_table_needs_vocabularies_of_one_size():
    """A three-way tie with two sizes is a mistake of the test that asks for it."""
    with pytest.raises(ValueError, match="9 and 7 tokens"):
        weight_shapes(PRE_NORM, 9, 7, "all", MAX_LENGTH)


# --- against CTranslate2 ------------------------------------------------------------------------

# CTranslate2 computes in float32, with a unit round-off of 6e-8. Log-probabilities near ten after
# a handful of layers turn that into 1e-6; the tanh form of GELU, a likely mistake, is 1e-4 off.
CTRANSLATE2_TOLERANCE = 1e-5

TOKENS = ["<pad>", "<s>", "</s>", *(f"token{i}" for i in range(3, VOCAB_SIZE))]
ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,  # the erf form; GELUTanh is the approximation
    "swiglu": common_spec.Activation.SWISH,
}
Weights = dict[str, np.ndarray]


def _fill_linear(
    spec: common_spec.LinearSpec, kernel: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """Set a linear map; CTranslate2 stores kernels [out, in]."""
    spec.weight = kernel.T
    if bias is not None:
        spec.bias = bias


def _fill_norm(spec: common_spec.LayerNormSpec, weights: Weights, name: str) -> None:
    """Set a layer norm."""
    spec.gamma = weights[f"{name}.scale"]
    spec.beta = weights[f"{name}.bias"]


def _fill_attention(
    spec: attention_spec.MultiHeadAttentionSpec, weights: Weights, name: str, parts: Sequence[str]
) -> None:
    """Set an attention sublayer from its kernels in CTranslate2's order."""
    _fill_norm(spec.layer_norm, weights, f"{name}.norm")
    for linear, part in zip(spec.linear, parts, strict=True):
        _fill_linear(linear, weights[f"{name}.{part}"])


def _fill_feed_forward(
    spec: transformer_spec.FeedForwardSpec, weights: Weights, name: str, gated: bool
) -> None:
    """Set a feed-forward sublayer; the activation acts on `linear_0`, in SwiGLU the gate."""
    linears = [(spec.linear_0, "gate" if gated else "inner"), (spec.linear_1, "outer")]
    if gated:
        linears.append((spec.linear_0_noact, "inner"))
    _fill_norm(spec.layer_norm, weights, f"{name}.norm")
    for linear, part in linears:
        _fill_linear(linear, weights[f"{name}.{part}.kernel"], weights[f"{name}.{part}.bias"])


def _fill_stack(
    spec: transformer_spec.TransformerEncoderSpec | transformer_spec.TransformerDecoderSpec,
    model: NumpyTransformer,
    side: str,
) -> None:
    """Set the layers of the encoder or of the decoder, their norm and their positions."""
    architecture, weights = model.architecture, model.weights
    spec.scale_embeddings = True
    spec.position_encodings.encodings = (
        weights[f"{side}.positions"]
        if architecture.positions == "learned"
        else sinusoidal_positions(MAX_LENGTH, architecture.d_model)
    )
    if architecture.norm == "pre":
        _fill_norm(spec.layer_norm, weights, f"{side}.norm")
    for n, layer in enumerate(spec.layer, start=1):
        name = f"{side}.layer{n}"
        _fill_attention(
            layer.self_attention, weights, f"{name}.self_att", ["query_key_value", "output"]
        )
        if side == "decoder":
            _fill_attention(
                layer.attention, weights, f"{name}.cross_att", ["query", "key_value", "output"]
            )
        _fill_feed_forward(
            layer.ffn, weights, f"{name}.feed_forward", architecture.activation == "swiglu"
        )


def build_translator(
    directory: Path,
    model: NumpyTransformer,
    activation: common_spec.Activation | None = None,
    layer_norm_epsilon: float = 1e-6,
) -> ctranslate2.Translator:
    """Give CTranslate2 the weights of `model`, or with an option changed, of a near miss."""
    architecture, weights = model.architecture, model.weights
    spec = TransformerSpec.from_config(
        (architecture.encoder_layers, architecture.decoder_layers),
        architecture.num_heads,
        pre_norm=architecture.norm == "pre",
        activation=ACTIVATIONS[architecture.activation] if activation is None else activation,
        ffn_glu=architecture.activation == "swiglu",
        alignment_heads=0,  # attention is the mean over the heads of the last decoder layer
    )
    _fill_stack(spec.encoder, model, "encoder")
    _fill_stack(spec.decoder, model, "decoder")
    tied = weights.get("embedding")
    target = weights.get("target_embedding", tied)
    spec.encoder.embeddings[0].weight = weights.get("source_embedding", tied)
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = weights.get("output_embedding", target)
    spec.config.layer_norm_epsilon = layer_norm_epsilon
    spec.register_source_vocabulary(TOKENS)
    spec.register_target_vocabulary(TOKENS)
    spec.validate()
    directory.mkdir(exist_ok=True)
    spec.save(str(directory))
    return ctranslate2.Translator(str(directory), compute_type="float32")


def to_tokens(ids: Sequence[int]) -> list[str]:
    """Name the tokens, which is how CTranslate2 wants them."""
    return [TOKENS[i] for i in ids]


def score_differences(model: NumpyTransformer, translator: ctranslate2.Translator) -> list[float]:
    """Score two pairs of unequal length in one batch; differ token by token from the reference."""
    sources = [SOURCE, [3, END_ID]]
    targets = [TARGET, [8, 4, 8, 3, 5, 6, END_ID]]
    results = translator.score_batch(
        [to_tokens(source) for source in sources],
        [to_tokens(target[:-1]) for target in targets],  # CTranslate2 appends and scores `</s>`
    )
    differences = []
    for source, target, result in zip(sources, targets, results, strict=True):
        expected = model.log_probs([START_ID, *target[:-1]], model.encode(source), source)
        for t, token in enumerate(target):
            differences.append(result.log_probs[t] - expected[t, token])
        differences.append(sum(result.log_probs) - model.forced_score(source, target))
    return differences


@pytest.mark.parametrize(("architecture", "tied"), MODELS)
def test_ctranslate2_gives_the_same_log_probabilities(tmp_path, architecture, tied):
    """Every token of both pairs, and their sums, agree."""
    model = build_model(architecture, tied)
    differences = score_differences(model, build_translator(tmp_path, model))
    np.testing.assert_allclose(differences, 0, atol=CTRANSLATE2_TOLERANCE)


@pytest.mark.parametrize(
    "near_miss",
    [{"activation": common_spec.Activation.GELUTanh}, {"layer_norm_epsilon": 1e-5}],
    ids=["tanh-form-of-gelu", "layer-norm-epsilon-1e-5"],
)
def test_the_comparison_with_ctranslate2_notices_a_near_miss(tmp_path, near_miss):
    """The tolerance tells the contract from the usual confusions, once their effect is not tiny.

    Epsilon counts where states are small: what enters the layers is divided by a thousand.
    """
    weights = random_weights(GELU, VOCAB_SIZE, VOCAB_SIZE, "none", 1, MAX_LENGTH)
    for name in ("source_embedding", "target_embedding", "encoder.positions", "decoder.positions"):
        weights[name] /= 1000
    model = NumpyTransformer(weights, GELU)

    exact = score_differences(model, build_translator(tmp_path / "exact", model))
    missed = score_differences(model, build_translator(tmp_path / "missed", model, **near_miss))
    np.testing.assert_allclose(exact, 0, atol=CTRANSLATE2_TOLERANCE)
    assert np.abs(missed).max() > 5 * CTRANSLATE2_TOLERANCE


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_ctranslate2_finds_the_best_of_all_sequences(tmp_path, length_penalty):
    """A beam that holds every prefix is an exhaustive search: sequences, scores, attention.

    Generated padding is the one place where the two differ, and no user can want it: the
    reference hides it from later positions and CTranslate2 does not. So it is suppressed, before
    the softmax.
    """
    max_length, n = 3, 20
    model = build_model(PRE_NORM)
    memory = model.encode(SOURCE)

    def next_log_probs(prefix: tuple[int, ...]) -> np.ndarray:
        logits = model.decode_logits([START_ID, *prefix], memory, SOURCE)[-1]
        logits[[PAD_ID, START_ID]] = -np.inf
        return log_softmax(logits)

    expected = best_sequences(next_log_probs, END_ID, VOCAB_SIZE, max_length, length_penalty, n)
    (found,) = build_translator(tmp_path, model).translate_batch(
        [to_tokens(SOURCE)],
        beam_size=VOCAB_SIZE**max_length,
        num_hypotheses=n,
        length_penalty=length_penalty,
        max_decoding_length=max_length,
        min_decoding_length=0,
        suppress_sequences=[["<pad>"], ["<s>"]],
        return_end_token=True,
        return_scores=True,
        return_attention=True,
    )

    assert found.hypotheses == [to_tokens(ids) for ids, _ in expected]
    np.testing.assert_allclose(
        found.scores, [score for _, score in expected], atol=CTRANSLATE2_TOLERANCE
    )
    for (ids, _), attention in zip(expected, found.attention, strict=True):
        maps = model.attention_maps(SOURCE, [START_ID, *ids[:-1]])
        mean_over_heads = maps["decoder_layer3_block2_decenc_att"].mean(axis=0)
        np.testing.assert_allclose(attention, mean_over_heads, atol=CTRANSLATE2_TOLERANCE)


# --- exhaustive search --------------------------------------------------------------------------

END_PROBABILITY = 0.4


def _memoryless(prefix: tuple[int, ...]) -> np.ndarray:
    """Give token 0 (the end) probability 0.4 and token 1 probability 0.6, whatever came before."""
    return np.log([END_PROBABILITY, 1 - END_PROBABILITY])


@pytest.mark.parametrize(
    ("length_penalty", "expected"),
    [
        (0.0, [((0,), math.log(0.4)), ((1, 1), math.log(0.36)), ((1, 0), math.log(0.24))]),
        (1.0, [((1, 1), math.log(0.36) / 2), ((1, 0), math.log(0.24) / 2), ((0,), math.log(0.4))]),
    ],
)
def test_exhaustive_search_by_hand(length_penalty, expected):
    """Three sequences of at most two tokens; dividing by the length reverses their order."""
    found = best_sequences(_memoryless, 0, 2, 2, length_penalty, n=9)
    assert [ids for ids, _ in found] == [ids for ids, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected])
    assert best_sequences(_memoryless, 0, 2, 2, length_penalty, n=1) == found[:1]


def test_exhaustive_search_visits_each_sequence_once():
    """The sequences are an exhaustive choice: distinct, and their probabilities sum to one."""
    sequences = dict(all_sequences(lambda _: np.log(np.full(3, 1 / 3)), 2, 3, max_length=4))
    assert len(sequences) == 1 + 2 + 4 + 8 + 16  # ended after 1, 2, 3, 4 tokens, or cut at 4
    assert sum(math.exp(log_prob) for log_prob in sequences.values()) == pytest.approx(1)


def test_exhaustive_search_orders_equal_scores_by_ids():
    """With nothing to choose between them, the smaller ids come first."""
    found = best_sequences(lambda _: np.log(np.full(3, 1 / 3)), 2, 3, 1, 0.0, n=3)
    assert [ids for ids, _ in found] == [(0,), (1,), (2,)]


# --- learning rates, loss, optimizer ------------------------------------------------------------


def test_noam_peaks_at_the_end_of_the_warm_up():
    """For d_model 128 and 4,000 steps the highest rate is (128 * 4000)^-0.5 = 1.39754e-3."""
    rates = {step: noam(step, 128, 4000, 1.0) for step in range(1, 10_001)}
    assert max(rates, key=rates.__getitem__) == 4000
    assert rates[4000] == pytest.approx(1.39754e-3, abs=5e-9)  # half a unit of the last digit
    assert rates[1] == pytest.approx(rates[4000] / 4000)
    assert noam(16_000, 128, 4000, 2.0) == pytest.approx(rates[4000])  # half as high, twice


def test_inverse_sqrt_is_noam_by_another_parameter():
    """With the peak of `noam` as its own, it is the same curve."""
    peak = noam(4000, 128, 4000, 2.0)
    for step in (1, 1000, 3999, 4000, 4001, 100_000):
        assert inverse_sqrt(step, peak, 4000) == pytest.approx(noam(step, 128, 4000, 2.0))


def test_cosine_at_its_milestones():
    """Half-way up, at the top, at a third (cos 60 degrees), half-way down, at the end, after."""
    rates = [cosine(step, 8.0, 100, 400, final=2.0) for step in (50, 100, 200, 250, 400, 999)]
    assert rates == pytest.approx([4.0, 8.0, 6.5, 5.0, 2.0, 2.0])
    assert cosine(1, 8.0, 0, 2) == pytest.approx(4.0)


def test_constant_rises_and_stays():
    """Without a warm-up it is the same from the first step."""
    assert [constant(step, 8.0, 4) for step in (1, 3, 4, 5, 999)] == [2.0, 6.0, 8.0, 8.0, 8.0]
    assert constant(1, 8.0) == 8.0


def test_label_smoothed_cross_entropy_by_hand():
    """Logits 0 and log 3 are probabilities 1/4 and 3/4; 0.1 smoothed over two is 0.05 each."""
    logits = np.array([[0.0, math.log(3)], [math.log(3), 0.0]])
    right = -(0.05 * math.log(0.25) + 0.95 * math.log(0.75))
    wrong = -(0.95 * math.log(0.25) + 0.05 * math.log(0.75))
    found = label_smoothed_cross_entropy(logits, np.array([1, 1]), 0.1)
    assert found == pytest.approx(right + wrong)
    assert label_smoothed_cross_entropy(logits, np.array([1, 0]), 0.0) == pytest.approx(
        -2 * math.log(0.75)
    )


def test_label_smoothed_cross_entropy_of_large_logits_is_finite():
    """Logits beyond the range of exp are no trouble."""
    logits = np.array([[1000.0, 0.0]])
    assert label_smoothed_cross_entropy(logits, np.array([1]), 0.0) == pytest.approx(1000)


def test_adam_is_algorithm_1_with_epsilon_hat():
    """The efficient order equals the printed algorithm if eps is eps-hat / sqrt(1 - beta2^t)."""
    rate, beta1, beta2, eps = 0.1, 0.9, 0.98, 1e-3
    parameter, m, v = 1.0, 0.0, 0.0
    expected, first, second = 1.0, 0.0, 0.0
    for t, gradient in enumerate([0.5, -2.0, 1e-3, 0.0, 4.0], start=1):
        parameter, m, v = adam_step(parameter, gradient, m, v, t, rate, beta1, beta2, eps)

        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
        first_hat = first / (1 - beta1**t)
        second_hat = second / (1 - beta2**t)
        printed_eps = eps / math.sqrt(1 - beta2**t)
        expected -= rate * first_hat / (math.sqrt(second_hat) + printed_eps)
        assert parameter == pytest.approx(expected, rel=1e-12)


def test_adam_begins_with_a_step_of_the_rate():
    """Bias correction makes the first step as long as the rate, whatever the gradient's size."""
    for gradient in (1e-4, 1e4):
        parameter, _, _ = adam_step(0.0, gradient, 0.0, 0.0, 1, 0.1, 0.9, 0.98, eps=0.0)
        assert parameter == pytest.approx(-0.1)
