"""`nmt export --huggingface`: what comes back of it, and what cannot be written.

Whether `transformers` gives the same logits and outputs is in tests/numerics/test_huggingface.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_bundles import own_bundle

from nmt_cli.errors import ConfigError
from nmt_cli.model.weights import sinusoids
from nmt_cli.pretrained.exporting import write_huggingface
from nmt_cli.pretrained.importing import import_model
from nmt_cli.text.special_tokens import never_written
from nmt_cli.text.vocabulary import Vocabularies

PUBLISHED = Path(__file__).parents[2] / "data" / "pretrained" / "marian"


def test_an_imported_model_comes_back_as_it_was(tmp_path):
    first = import_model(str(PUBLISHED), tmp_path / "first")
    assert write_huggingface(first, tmp_path / "written") == "MarianMTModel"
    again = import_model(str(tmp_path / "written"), tmp_path / "again")
    weights, expected = again.load_weights(), first.load_weights()
    assert weights.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(weights[name], array)
    both = [Vocabularies.load(bundle.path) for bundle in (first, again)]
    for side in ("source", "target"):
        assert getattr(both[0], side).to_json() == getattr(both[1], side).to_json()
    assert again.manifest.model == first.manifest.model
    assert again.manifest.decode == first.manifest.decode
    assert (again.manifest.source_lang, again.manifest.target_lang) == ("en", "de")


def test_what_is_written_is_what_was_published(tmp_path):
    write_huggingface(import_model(str(PUBLISHED), tmp_path / "bundle"), tmp_path / "written")
    found, expected = (
        load_file(f / "model.safetensors") for f in (tmp_path / "written", PUBLISHED)
    )
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
    vocabularies = [
        json.loads((f / "vocab.json").read_text()) for f in (tmp_path / "written", PUBLISHED)
    ]
    assert vocabularies[0] == vocabularies[1]
    configs = [
        json.loads((f / "config.json").read_text()) for f in (tmp_path / "written", PUBLISHED)
    ]
    same = configs[0].keys() & configs[1].keys() - {"activation_function"}  # silu is swish
    assert {k: configs[0][k] for k in same} == {k: configs[1][k] for k in same}


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_columns_are_put_where_sines_come_first(tmp_path, norm):
    bundle = own_bundle(tmp_path, norm=norm)
    write_huggingface(bundle, tmp_path / "written")
    tensors, weights = load_file(tmp_path / "written/model.safetensors"), bundle.load_weights()
    halves = [*range(0, 16, 2), *range(1, 16, 2)]
    np.testing.assert_array_equal(tensors["model.shared.weight"], weights["embedding"][:, halves])
    kernel = weights["decoder.layer2.cross_att.key_value"]
    np.testing.assert_array_equal(
        tensors["model.decoder.layers.1.encoder_attn.v_proj.weight"], kernel[halves, 16:].T
    )
    assert (tensors["final_logits_bias"][0, never_written(0)] < -9000).all()
    if norm == "pre":
        expected = sinusoids(40, 16)[:, halves]
        np.testing.assert_array_equal(tensors["model.encoder.embed_positions.weight"], expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"activation": "swiglu"}, "activation: swiglu"),
        ({"positions": "learned"}, "positions: learned"),
        ({"positions": "table"}, "positions: table"),  # moved from the sinusoids
        ({"embedding_norm": "both"}, "norms of embeddings"),
        ({"norm_epsilon": 0.001}, "norm_epsilon: 0.001"),
        ({"tie_embeddings": False}, "untied embeddings"),
        ({"joint": False}, "two vocabularies"),
        ({"task": "chat", "turn_embeddings": True}, "the task chat, turn embeddings"),
    ],
)
def test_what_is_not_written_is_told(tmp_path, changes, reason):
    bundle = own_bundle(tmp_path, **changes)
    with pytest.raises(ConfigError, match=f"--huggingface writes no model with .*{reason}"):
        write_huggingface(bundle, tmp_path / "written")
    assert not (tmp_path / "written").exists()


def test_a_folder_with_something_else_in_it_stays(tmp_path):
    bundle = own_bundle(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="exists already"):
        write_huggingface(bundle, tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
