"""A native release of Marian's, written by hand from the weights of the other layout."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained.importing import import_model
from nmt_cli.text.vocabulary import Vocabularies

PUBLISHED = Path(__file__).parents[2] / "data" / "pretrained" / "marian"
SETTINGS = {
    "type": "transformer",
    "dim-emb": 16,
    "transformer-dim-ffn": 24,
    "transformer-heads": 2,
    "enc-depth": 2,
    "dec-depth": 1,
    "transformer-ffn-activation": "swish",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-train-position-embeddings": False,
    "tied-embeddings-all": True,
}
RENAMED = (
    (r"model\.(\w+)\.layers\.(\d+)\.", lambda m: f"{m[1]}_l{int(m[2]) + 1}_"),
    (r"self_attn\.(\w)\w*_proj\.weight", r"self_W\1"),
    (r"self_attn\.(\w)\w*_proj\.bias", r"self_b\1"),
    (r"encoder_attn\.(\w)\w*_proj\.weight", r"context_W\1"),
    (r"encoder_attn\.(\w)\w*_proj\.bias", r"context_b\1"),
    (r"fc(\d)\.weight", r"ffn_W\1"),
    (r"fc(\d)\.bias", r"ffn_b\1"),
    (r"self_attn_layer_norm\.weight", "self_Wo_ln_scale"),
    (r"self_attn_layer_norm\.bias", "self_Wo_ln_bias"),
    (r"encoder_attn_layer_norm\.weight", "context_Wo_ln_scale"),
    (r"encoder_attn_layer_norm\.bias", "context_Wo_ln_bias"),
    (r"final_layer_norm\.weight", "ffn_ffn_ln_scale"),
    (r"final_layer_norm\.bias", "ffn_ffn_ln_bias"),
    (r"model\.shared\.weight", "Wemb"),
    (r"final_logits_bias", "decoder_ff_logit_out_b"),
)


def write_release(folder: Path, **changes) -> Path:
    """Write the published model as Marian would; the row of `<pad>`, the last one, is left out."""
    folder.mkdir()
    arrays = {}
    for name, array in load_file(PUBLISHED / "model.safetensors").items():
        written = name
        for pattern, replacement in RENAMED:
            written = re.sub(pattern, replacement, written)
        is_table = written in ("Wemb", "decoder_ff_logit_out_b")
        if written != name:
            arrays[written] = array[:-1] if written == "Wemb" else np.atleast_2d(array).T
            if array.ndim == 1 or written == "decoder_ff_logit_out_b":
                row = np.atleast_2d(array)
                arrays[written] = row[:, :-1] if is_table else row
    settings = yaml.safe_dump(SETTINGS | changes).encode() + b"\0"
    arrays["special:model.yml"] = np.frombuffer(settings, np.int8)
    np.savez(folder / "opus.model1.npz.best-perplexity.npz", **arrays)
    names = json.loads((PUBLISHED / "vocab.json").read_text())
    del names["<pad>"]
    (folder / "opus.vocab.yml").write_text(yaml.safe_dump(names, allow_unicode=True))
    decoder = {"models": ["opus.model1.npz.best-perplexity.npz"], "vocabs": 2 * ["opus.vocab.yml"]}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    for name in ("source.spm", "target.spm"):
        shutil.copy(PUBLISHED / name, folder)
    return folder


def test_it_equals_the_same_weights_in_the_other_format(tmp_path):
    """But for `<s>`, which Marian gives no weights, and the epsilon of its normalisation."""
    native = import_model(write_release(tmp_path / "opus"), tmp_path / "native")
    other = import_model(PUBLISHED, tmp_path / "other")
    found, expected = native.load_weights(), other.load_weights()
    assert found.keys() == expected.keys()
    assert not found["embedding"][1].any()
    expected["embedding"][1] = 0
    expected["output_bias"][1] = 0
    for name, array in found.items():
        np.testing.assert_array_equal(array[:64], expected[name][:64], err_msg=name)
    assert native.manifest.model["norm_epsilon"] == 1e-6
    differing = {k for k, v in other.manifest.model.items() if native.manifest.model[k] != v}
    assert differing == {"norm_epsilon", "max_length"}
    texts = [Vocabularies.load(bundle.path).source.to_json() for bundle in (native, other)]
    assert texts[0] == texts[1]


def cut_vocabulary(path: Path) -> None:
    """Leave the last tokens out, as if the file had been cut at the end of a line."""
    ids = sorted(yaml.safe_load(path.read_text()).items(), key=lambda item: item[1])
    path.write_text(yaml.safe_dump(dict(ids[:-20]), allow_unicode=True))


BREAKAGES = {
    "cut short": lambda d: next(d.glob("*.npz")).write_bytes(b"PK"),
    "no settings": lambda d: np.savez(next(d.glob("*.npz")), Wemb=np.ones((2, 2))),
    "code": lambda d: np.savez(
        next(d.glob("*.npz")), allow_pickle=True, Wemb=np.array([print], object)
    ),
    "no vocabulary": lambda d: (d / "opus.vocab.yml").unlink(),
    "vocabulary cut short": lambda d: cut_vocabulary(d / "opus.vocab.yml"),
    "damaged vocabulary": lambda d: (d / "opus.vocab.yml").write_text("{a: [\n"),
    "two weights": lambda d: [
        (d / "decoder.yml").unlink(),
        shutil.copy(next(d.glob("*.npz")), d / "b.npz"),
    ],
}


@pytest.mark.parametrize("break_it", BREAKAGES.values(), ids=BREAKAGES)
def test_what_is_damaged_is_one_line_and_leaves_nothing(tmp_path, break_it):
    break_it(write_release(tmp_path / "opus"))
    with pytest.raises(ModelFileError) as error:
        import_model(tmp_path / "opus", tmp_path / "bundle")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "bundle").exists()


def test_another_kind_of_transformer_is_refused(tmp_path):
    release = write_release(tmp_path / "opus", **{"transformer-preprocess": "n"})
    with pytest.raises(ModelFileError, match="not supported: transformer-preprocess: n"):
        import_model(release, tmp_path / "bundle")
