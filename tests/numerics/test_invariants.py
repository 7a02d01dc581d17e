"""What must hold whatever the weights: equalities between two ways to the same number."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.model.layers import RandomStream
from nmt_cli.model.packing import Packing
from nmt_cli.model.weights import named_variables, read_weights
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import TensorFlowEngine
from nmt_cli.tasks.losses import loss_sums
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID

SOURCES = [[7, 8, 9, 10, EOS_ID], [6, EOS_ID], [9, 9, 6, EOS_ID], [10, 6, 7, 7, 8, EOS_ID]]
TARGETS = [[9, 7, EOS_ID], [8, 6, 6, 10, 7, EOS_ID], [EOS_ID], [6, 6, EOS_ID]]
FLOAT32 = 2e-5  # sums in another order, over logits of size ten

VARIANTS = {
    "pre": {},
    "post": {"norm": "post", "positions": "learned", "decoder_layers": 2},
    "untied": {"tie_embeddings": False, "activation": "swiglu"},
}
each_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())


def padded(rows, width=0) -> tf.Tensor:
    width = max(width, *map(len, rows))
    return tf.constant([row + [0] * (width - len(row)) for row in rows], tf.int32)


@pytest.fixture(scope="module")
def engine(make_pair) -> TensorFlowEngine:
    """With these weights greedy outputs end after 2 to 7 tokens, and a beam's at many lengths."""
    model, _ = make_pair(
        weights_seed=4,
        source_vocab_size=20,
        target_vocab_size=20,
        tie_embeddings=False,
        decoder_layers=2,
        max_length=40,
    )
    return TensorFlowEngine(model)


# --- cache ----------------------------------------------------------------------------------------


@each_variant
@pytest.mark.parametrize("beams", [1, 3])
def test_decoding_step_by_step_equals_the_full_pass(make_pair, changes, beams):
    """With a cache that has more room than is used, and padding at the end and in the middle."""
    model, _ = make_pair(**changes)
    rows_of_ids = [[BOS_ID, *target[:-1]] for target in TARGETS]
    rows_of_ids[2] = [BOS_ID, 7, 0, 9, 10]
    inputs = tf.repeat(padded(rows_of_ids), beams, axis=0)
    memory = model.encode(padded(SOURCES))
    repeated = model.encode(tf.repeat(padded(SOURCES), beams, axis=0))
    states = model.decode(inputs, model.start_cache(repeated))
    whole = Packing.of(inputs).unpack(model.logits(states)).numpy()

    cache = model.make_room(model.start_cache(memory), beams, tf.constant(9))
    real = inputs.numpy() != 0
    for position in range(inputs.shape[1]):
        states, cache = model.step(inputs[:, position], cache, tf.constant(position))
        found = model.logits(states).numpy()
        rows = real[:, position]
        np.testing.assert_allclose(found[rows], whole[rows, position], atol=FLOAT32)


def test_attention_maps_are_the_same_step_by_step(make_pair):
    model, _ = make_pair()
    inputs, memory = padded([[BOS_ID, 7, 9]]), model.encode(padded(SOURCES[:1]))
    whole = {}
    model.decode(inputs, model.start_cache(memory), maps=whole)
    cache = model.make_room(model.start_cache(memory), 1, tf.constant(3))
    for position in range(3):
        step = {}
        _, cache = model.step(inputs[:, position], cache, tf.constant(position), maps=step)
        assert step.keys() == whole.keys()
        for kind, layers in step.items():
            for here, layer in zip(layers, whole[kind], strict=True):
                np.testing.assert_allclose(here[0, :, 0], layer[0, :, position], atol=1e-6)


# --- searches -------------------------------------------------------------------------------------


def test_a_beam_of_one_is_greedy(engine):
    """It writes the likeliest token at each step, by steps of the model taken here one by one."""
    model, limit = engine.model, 20
    greedy = engine.search(SOURCES, SearchOptions(beam_size=1, max_length=limit))
    for source, found in zip(SOURCES, greedy, strict=True):
        memory = model.start_cache(model.encode(padded([source])))
        cache = model.make_room(memory, 1, tf.constant(limit))
        ids, log_prob = [BOS_ID], 0.0
        while len(ids) <= limit and ids[-1] != EOS_ID:
            states, cache = model.step(tf.constant(ids[-1:]), cache, tf.constant(len(ids) - 1))
            row = model.logits(states).numpy()[0].astype(float)
            banned = [*range(len(CONTROL_TOKENS))]
            banned.remove(EOS_ID)
            row[[*banned, *([EOS_ID] if len(ids) == 1 else [])]] = -np.inf
            ids.append(int(row.argmax()))
            log_prob += row[ids[-1]] - np.logaddexp.reduce(row)
        assert found[0].ids == ids[1:]
        assert found[0].score == pytest.approx(log_prob / len(ids[1:]), abs=FLOAT32)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_batch_of_one_equals_a_batch_of_many(engine, beam_size):
    options = SearchOptions(beam_size=beam_size, n_best=beam_size, max_length=30)
    together = engine.search(SOURCES, options)
    for source, found in zip(SOURCES, together, strict=True):
        (alone,) = engine.search([source], options)
        assert [h.ids for h in alone] == [h.ids for h in found]
        np.testing.assert_allclose([h.score for h in alone], [h.score for h in found], atol=FLOAT32)


@pytest.mark.parametrize("length_penalty", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_hypothesis_has_the_forced_score_of_its_tokens(engine, beam_size, length_penalty):
    """Those that end in `</s>`, no constraint acting."""
    options = SearchOptions(
        beam_size=beam_size,
        n_best=beam_size,
        min_length=0,
        max_length=30,
        length_penalty=length_penalty,
    )
    checked = 0
    for source, found in zip(SOURCES, engine.search(SOURCES, options), strict=True):
        ended = [hypothesis for hypothesis in found if hypothesis.ids[-1] == EOS_ID]
        forced = engine.score([source] * len(ended), [hypothesis.ids for hypothesis in ended])
        for hypothesis, scores in zip(ended, forced, strict=True):
            expected = sum(scores) / len(hypothesis.ids) ** length_penalty
            assert hypothesis.score == pytest.approx(expected, abs=FLOAT32, rel=1e-5)
        checked += len(ended)
    assert checked >= 3 * beam_size


def test_sampling_among_one_token_is_greedy(engine):
    options = SearchOptions(beam_size=1, max_length=20)
    greedy = [found[0].ids for found in engine.search(SOURCES, options)]
    for changes in ({"top_k": 1}, {"top_p": 1e-7}):
        sampled = dataclasses.replace(options, sample=True, seed=3, **changes)
        assert [found[0].ids for found in engine.search(SOURCES, sampled)] == greedy


# --- gradients ------------------------------------------------------------------------------------


def gradients(model, source, target, random=None) -> dict[str, np.ndarray]:
    with tf.GradientTape() as tape:
        sums = loss_sums(model, source, target, 0.1, random)
    variables = named_variables(model)
    found = tape.gradient(sums.smoothed, [variable.value for variable in variables.values()])
    return {name: tf.convert_to_tensor(g).numpy() for name, g in zip(variables, found, strict=True)}


@each_variant
def test_micro_batches_add_up_to_one_batch(make_pair, changes):
    model, _ = make_pair(**changes)
    whole = gradients(model, padded(SOURCES), padded(TARGETS))
    parts = [
        gradients(model, padded(SOURCES[rows]), padded(TARGETS[rows]))
        for rows in (slice(0, 1), slice(1, 4))
    ]
    for name, array in whole.items():
        scale = np.abs(array).max()
        added = parts[0][name] + parts[1][name]
        # The same terms in another order; the sums over them cancel in part.
        np.testing.assert_allclose(added, array, atol=1e-5 * max(scale, 1.0), err_msg=name)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_padding_gets_no_gradient(make_pair, norm):
    """Neither the pad token's embeddings nor the positions where only padding stands."""
    model, _ = make_pair(norm=norm, positions="learned", tie_embeddings=False, joint=False)
    found = gradients(model, padded(SOURCES, 9), padded(TARGETS, 10))
    longest_source, longest_input = max(map(len, SOURCES)), max(map(len, TARGETS))
    for name in ("source_embedding", "target_embedding"):
        assert np.all(found[name][0] == 0), name
        assert np.any(found[name] != 0), name
    for name, longest in (
        ("encoder.positions", longest_source),
        ("decoder.positions", longest_input),
    ):
        assert np.all(found[name][longest:] == 0), name
        assert np.all(np.any(found[name][:longest] != 0, axis=1)), name


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_more_padding_changes_no_gradient(make_pair, norm):
    model, _ = make_pair(norm=norm)
    narrow = gradients(model, padded(SOURCES), padded(TARGETS))
    wide = gradients(model, padded(SOURCES, 12), padded(TARGETS, 13))
    for name, array in narrow.items():
        scale = max(np.abs(array).max(), 1.0)
        np.testing.assert_allclose(wide[name], array, atol=1e-5 * scale, err_msg=name)


def test_gradients_repeat_bit_for_bit(make_pair):
    """With three kinds of dropout, from the same seed; another seed gives others."""
    rates = {"dropout": 0.2, "attention_dropout": 0.2, "activation_dropout": 0.2}
    runs = []
    for seed in (1, 1, 2):
        model, _ = make_pair(**rates)
        random = RandomStream(tf.constant([seed, 5], tf.int32))
        runs.append(gradients(model, padded(SOURCES), padded(TARGETS), random))
    for name, array in runs[0].items():
        np.testing.assert_array_equal(array, runs[1][name], err_msg=name)
    assert any(np.any(array != runs[2][name]) for name, array in runs[0].items())


def test_dropout_keeps_the_expected_loss_near(make_pair):
    """Scaled up after dropping: over many seeds the logits stay where they are."""
    model, _ = make_pair(dropout=0.02)

    def logits(random):
        memory = model.encode(padded(SOURCES), random=random)
        states = model.decode(padded([[BOS_ID]] * 4), model.start_cache(memory), random=random)
        return model.logits(states).numpy()

    still = logits(None)
    runs = [logits(RandomStream(tf.constant([7, i], tf.int32))) for i in range(30)]
    deviation = np.std(runs, axis=0) / np.sqrt(len(runs))
    # Five standard errors, and a little for the bend of softmax and norm.
    assert np.all(
        np.abs(np.mean(runs, axis=0) - still) < 5 * deviation + 0.05 * np.abs(still).max()
    )
    assert np.max(deviation) > 0


def test_weights_are_left_alone_by_all_of_this(engine):
    before = read_weights(engine.model)
    engine.search(SOURCES, SearchOptions(beam_size=3))
    engine.score(SOURCES, TARGETS)
    for name, array in read_weights(engine.model).items():
        np.testing.assert_array_equal(array, before[name])
