"""The SavedModel: what it gives when loaded anew, beside the engine it was made of."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.search.options import SearchOptions
from nmt_cli.search.saved_model import SavedModelEngine, save_serving_model
from nmt_cli.search.tensorflow_engine import TensorFlowEngine
from nmt_cli.text.special_tokens import EOS_ID

OPTIONS = SearchOptions(
    beam_size=3, max_length=50, max_length_ratio=2.5, min_length_ratio=0.5, length_penalty=0.7
)
SOURCES = [[7, 8, 9, EOS_ID], [6, EOS_ID], [*range(6, 20), EOS_ID]]
SCORE = 1e-4


@pytest.fixture(scope="module")
def saved(make_pair, tmp_path_factory):
    """A model and the folder it was written to."""
    model, _ = make_pair(target_vocab_size=20, source_vocab_size=20, max_length=64)
    folder = tmp_path_factory.mktemp("serving") / "1"
    save_serving_model(model, OPTIONS, folder)
    return model, folder


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_loaded_model_finds_what_the_engine_finds(saved, beam_size):
    """Limits and floors that count the source's tokens, outputs beyond the first room."""
    model, folder = saved
    options = dataclasses.replace(OPTIONS, beam_size=beam_size, n_best=beam_size)
    expected = TensorFlowEngine(model).search(SOURCES, options)
    found = SavedModelEngine(folder, max_length=64).search(SOURCES, options)
    assert max(len(h.ids) for hypotheses in found for h in hypotheses) > 32
    for ours, theirs in zip(found, expected, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        np.testing.assert_allclose([h.score for h in ours], [h.score for h in theirs], atol=SCORE)


def test_signatures_have_the_names_and_shapes_that_are_documented(saved):
    _, folder = saved
    signatures = tf.saved_model.load(str(folder)).signatures
    ids = tf.constant([[7, 8, EOS_ID], [9, EOS_ID, 0]])
    assert set(signatures) == {"greedy", "beam", "serving_default"}
    greedy, beam = signatures["greedy"](ids=ids), signatures["beam"](ids=ids)
    assert greedy["ids"].shape[0] == 2
    assert greedy["scores"].shape == [2]
    assert beam["ids"].shape[:2] == [2, 3]
    assert beam["scores"].shape == [2, 3]
    default = signatures["serving_default"](ids=ids)
    np.testing.assert_array_equal(default["ids"], beam["ids"])


@pytest.mark.parametrize("beam_size", [1, 3])
def test_an_output_may_have_to_begin_with_something(make_pair, tmp_path, beam_size):
    model, _ = make_pair(target_vocab_size=20, source_vocab_size=20, max_length=64)
    save_serving_model(model, OPTIONS, tmp_path / "1", has_prefix=True)
    engines = SavedModelEngine(tmp_path / "1", max_length=64), TensorFlowEngine(model)
    for prefix in ((9, 8), (7,), ()):
        options = dataclasses.replace(OPTIONS, beam_size=beam_size, prefix=prefix)
        ours, theirs = (engine.search(SOURCES, options) for engine in engines)
        assert [h.ids for h, *_ in ours] == [h.ids for h, *_ in theirs]
        assert all(tuple(h.ids[: len(prefix)]) == prefix for h, *_ in ours)


def test_the_saved_model_does_not_follow_the_weights(make_pair, tmp_path):
    model, _ = make_pair(target_vocab_size=20, source_vocab_size=20, max_length=64)
    save_serving_model(model, OPTIONS, tmp_path / "1")
    expected = TensorFlowEngine(model).search(SOURCES, OPTIONS)
    for weight in model.trainable_weights:
        weight.assign(tf.zeros_like(weight))
    found = SavedModelEngine(tmp_path / "1", max_length=64).search(SOURCES, OPTIONS)
    assert [f[0].ids for f in found] == [e[0].ids for e in expected]


def test_it_holds_what_training_leaves_as_it_is(make_pair, tmp_path):
    """A table of positions and the bias of the output are weights, but not trained."""
    options = {"positions": "table", "output_bias": True, "max_length": 64}
    model, _ = make_pair(target_vocab_size=20, source_vocab_size=20, **options)
    save_serving_model(model, OPTIONS, tmp_path / "1")
    expected = TensorFlowEngine(model).search(SOURCES, OPTIONS)
    found = SavedModelEngine(tmp_path / "1", max_length=64).search(SOURCES, OPTIONS)
    assert [row[0].ids for row in found] == [row[0].ids for row in expected]
