"""The encoder, the decoder and their embeddings. The numbers are judged in `tests/numerics`."""

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.config.reading import load_config
from nmt_cli.model import transformer
from nmt_cli.model.layers import RandomStream, dropout
from nmt_cli.model.packing import Packing
from nmt_cli.model.transformer import Transformer

SOURCE = tf.constant([[7, 8, 9, 2], [6, 2, 0, 0]])
TARGET = tf.constant([[1, 7, 9, 10, 6], [1, 8, 0, 0, 0]])


def run(model, source=SOURCE, target=TARGET, *, random=None, maps=None):
    """Return the logits of a whole pass, [B, T, V]; zero at padding."""
    cache = model.start_cache(model.encode(source, random=random, maps=maps))
    states = model.decode(target, cache, random=random, maps=maps)
    return Packing.of(target).unpack(model.logits(states)).numpy()


def stream(*seed: int) -> RandomStream:
    """Return a stream of dropout seeds."""
    return RandomStream(tf.constant(seed, tf.int32))


def test_the_papers_base_model_has_63_to_65_million_parameters():
    """Vaswani et al. 2017, table 3, prints 65 million with its vocabulary of about 37,000."""
    config = load_config("transformer-base").config.model
    model = Transformer(config, source_vocab_size=37000, target_vocab_size=37000, joint=True)
    assert (config.encoder_layers, config.decoder_layers, config.num_heads) == (6, 6, 8)
    assert (config.d_model, config.d_ff, config.tie_embeddings) == (512, 2048, True)
    assert 63.0e6 <= model.count_params() <= 65.1e6


def test_every_layer_gives_its_attention_maps_by_kind(make_model):
    model = make_model(encoder_layers=2, decoder_layers=3)
    maps = {}

    run(model, maps=maps)

    assert {kind: [tuple(layer.shape) for layer in layers] for kind, layers in maps.items()} == {
        "encoder": 2 * [(2, 2, 4, 4)],
        "decoder": 3 * [(2, 2, 5, 5)],
        "cross": 3 * [(2, 2, 5, 4)],
    }
    for kind, layers in maps.items():
        # Five float32 roundings at most.
        np.testing.assert_allclose(tf.reduce_sum(layers, -1), 1.0, rtol=1e-6, err_msg=kind)


def test_attention_maps_give_padding_and_the_future_nothing(make_model):
    maps = {}
    run(make_model(), maps=maps)
    assert np.all(maps["encoder"][0].numpy()[1, :, :, 2:] == 0)
    assert np.all(maps["cross"][0].numpy()[1, :, :, 2:] == 0)
    own = maps["decoder"][0].numpy()
    assert np.all(np.triu(own[0], k=1) == 0)
    assert np.all(own[1, :, :, 2:] == 0)


def test_the_decoder_does_not_see_what_follows(make_model):
    model = make_model()
    other = TARGET.numpy()
    other[0, 3:] = [8, 8]
    first, second = run(model), run(model, target=tf.constant(other))
    np.testing.assert_array_equal(first[0, :3], second[0, :3])
    assert np.any(first[0, 3] != second[0, 3])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_padding_changes_nothing(make_model, norm):
    """More padding on the source gives the same logits at real positions."""
    model = make_model(norm=norm)
    wide = run(model, source=tf.pad(SOURCE, [[0, 0], [0, 3]]))
    # Sums over a longer row may be taken in another order.
    np.testing.assert_allclose(run(model), wide, atol=1e-6)


@pytest.mark.parametrize(
    ("joint", "tie", "tables"),
    [
        (True, True, {"embedding"}),
        (False, True, {"source_embedding", "target_embedding"}),
        (False, False, {"source_embedding", "target_embedding", "output_embedding"}),
        (True, False, {"source_embedding", "target_embedding", "output_embedding"}),
    ],
)
def test_which_embeddings_are_one(make_model, joint, tie, tables):
    model = make_model(joint=joint, tie_embeddings=tie)
    assert {w.name for w in model.weights if "embedding" in w.path} == tables
    assert (model.output_table is model.target_table) == tie


def test_separate_vocabularies_have_their_own_sizes(make_model):
    model = make_model(joint=False, source_vocab_size=20, target_vocab_size=13)
    assert run(model, source=tf.constant([[19, 2]]), target=tf.constant([[1]])).shape == (1, 1, 13)


def test_every_weight_gets_a_gradient(make_model):
    """Each part is used: none is left out of the pass."""
    for changes in ({}, {"norm": "post", "positions": "learned", "activation": "swiglu"}):
        model = make_model(tie_embeddings=False, **changes)
        with tf.GradientTape() as tape:
            states = model.decode(TARGET, model.start_cache(model.encode(SOURCE)))
            loss = tf.reduce_sum(model.logits(states)[:, 3] ** 2)
        gradients = tape.gradient(loss, [w.value for w in model.weights])
        for weight, gradient in zip(model.weights, gradients, strict=True):
            assert gradient is not None, weight.path
            assert np.any(tf.convert_to_tensor(gradient) != 0), weight.path


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout", "activation_dropout"])
def test_each_dropout_acts_and_follows_from_the_seed(make_model, kind):
    model = make_model(**{kind: 0.5})
    still = run(model)
    np.testing.assert_array_equal(still, run(model))
    first = run(model, random=stream(1, 2))
    assert np.any(first != still)
    np.testing.assert_array_equal(first, run(model, random=stream(1, 2)))
    assert np.any(first != run(model, random=stream(1, 3)))


def test_dropout_is_on_the_embeddings_and_on_every_sublayer(make_model, monkeypatch):
    """Section 5.4: on the sums of embeddings and positions, and on what each sublayer adds."""
    model, rates = make_model(dropout=0.5, encoder_layers=2, decoder_layers=3), []

    def spy(x, rate, random):
        rates.append(rate if random is not None else 0.0)
        return dropout(x, rate, random)

    monkeypatch.setattr(transformer, "dropout", spy)
    cache = model.start_cache(model.encode(SOURCE, random=stream(1, 2)))
    assert rates == [0.5] * (1 + 2 * 2)
    rates.clear()
    model.decode(TARGET, cache, random=stream(1, 3))
    assert rates == [0.5] * (1 + 3 * 3)


def test_in_bfloat16_states_are_narrow_and_logits_float32(make_model):
    narrow, wide = make_model(compute_dtype="bfloat16"), make_model()
    memory = narrow.encode(SOURCE)
    states = narrow.decode(TARGET, narrow.start_cache(memory))
    assert memory.states.dtype == states.dtype == tf.bfloat16
    assert narrow.logits(states).dtype == tf.float32
    exact = run(wide)
    # Bfloat16 keeps eight bits; a dozen roundings in a row lose less than a twentieth here.
    assert np.abs(run(narrow) - exact).max() < 0.05 * np.abs(exact).max()


def test_first_weights_follow_from_the_seed(make_model):
    np.testing.assert_array_equal(run(make_model(seed=3)), run(make_model(seed=3)))
    assert np.any(run(make_model(seed=3)) != run(make_model(seed=4)))


def test_learned_positions_may_have_an_odd_width(make_model):
    model = make_model(d_model=9, num_heads=3, positions="learned")
    assert run(model).shape == (2, 5, 11)


def test_embeddings_are_scaled_by_the_root_of_the_width(make_model):
    """Section 3.4: with positions at zero the embedding comes out sqrt(8) times as long."""
    model = make_model(positions="learned")
    model.encoder.positions.assign(tf.zeros([16, 8]))
    found = model.encoder.embed(model.source_table, SOURCE[0], 0, "float32", None)
    expected = tf.gather(tf.convert_to_tensor(model.source_table), SOURCE[0]) * np.sqrt(8)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_positions_begin_where_the_caller_says(make_model):
    model = make_model()
    whole = model.decoder.embed(model.target_table, TARGET[0], tf.range(5), "float32", None)
    part = model.decoder.embed(model.target_table, TARGET[0, 2:3], 2, "float32", None)
    np.testing.assert_array_equal(whole[2:3], part)
