"""A native release of Marian's, as OPUS-MT has them: `*.npz`, `decoder.yml`, `*.spm`, `vocab.yml`.

Its weights get the names that `transformers` gives them, and `marian.py` does the rest. A decoder
of Marian's starts from a vector of zeros; here that is the row of a token `<pad>`, put behind the
others, which is never written. Layer normalisation has Marian's own epsilon, 1e-6; `transformers`
computes the same models with 1e-5.
"""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained import bart, marian
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.model import Family, Pretrained
from nmt_cli.pretrained.tensors import Tensors, finite
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID, UNKNOWN

_SETTINGS = "special:model.yml"  # an array of the file: its bytes
_EPSILON, _LENGTH = 1e-6, 512
_START = "<pad>"
# What must be as it is in all OPUS-MT models.
_FIXED = {
    "type": "transformer",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-train-position-embeddings": False,
}
_KEYS = {
    "dim-emb": "d_model",
    "transformer-dim-ffn": "d_ff",
    "transformer-heads": "num_heads",
    "enc-depth": "encoder_layers",
    "dec-depth": "decoder_layers",
    "transformer-ffn-activation": "activation",
}
_PARTS = {
    "self_W": "self_attn.{}_proj.weight",
    "self_b": "self_attn.{}_proj.bias",
    "context_W": "encoder_attn.{}_proj.weight",
    "context_b": "encoder_attn.{}_proj.bias",
    "ffn_W": "fc{}.weight",
    "ffn_b": "fc{}.bias",
    "self_Wo_ln_scale": "self_attn_layer_norm.weight",
    "self_Wo_ln_bias": "self_attn_layer_norm.bias",
    "context_Wo_ln_scale": "encoder_attn_layer_norm.weight",
    "context_Wo_ln_bias": "encoder_attn_layer_norm.bias",
    "ffn_ffn_ln_scale": "final_layer_norm.weight",
    "ffn_ffn_ln_bias": "final_layer_norm.bias",
}
_LAYER = re.compile(r"(encoder|decoder)_l(\d+)_(.+?)([qkvo12]?)")


def read(folder: Path, _: Mapping[str, Any]) -> Pretrained:
    """Return the model of a release.

    Raises:
        ModelFileError: A file is missing or damaged, they do not fit each other, or the model is of
            a kind that is not supported.
    """
    path = folder / _the_one(folder, "models", "*.npz")
    arrays = _read_arrays(path)
    settings = _settings(arrays, path)
    source, target = (_read_vocabulary(file) for file in _vocabularies(folder))
    names = ([*source, _START], [*target, _START])
    if names[0] == names[1]:
        names = names[0], names[0]
    config = {
        "pad_token_id": len(target),
        "eos_token_id": target.index(CONTROL_TOKENS[EOS_ID]),
        "scale_embedding": True,
    }
    model = _model_section(path, settings)
    return marian.assemble(folder, config, model, names, lambda: _renamed(arrays))


def _model_section(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    differing = [f"{k}: {settings.get(k)}" for k, v in _FIXED.items() if settings.get(k) != v]
    if differing:
        raise ModelFileError(f"{path}: not supported: {', '.join(differing)}")
    is_tied = settings.get("tied-embeddings") or settings.get("tied-embeddings-all")
    return bart.section_by(_KEYS, path, settings) | {
        "max_length": _LENGTH,
        "norm_epsilon": _EPSILON,
        "output_bias": True,
        "positions": "table",
        "tie_embeddings": bool(is_tied),
    }


def _settings(arrays: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the options that a model was trained with, which its file holds as text."""
    try:
        settings = yaml.safe_load(arrays[_SETTINGS].tobytes().rstrip(b"\0").decode())
    except (KeyError, ValueError, yaml.YAMLError) as error:
        raise ModelFileError(f"{path}: holds no settings of Marian's ({_SETTINGS})") from error
    if not isinstance(settings, dict):
        raise ModelFileError(f"{path}: holds no settings of Marian's ({_SETTINGS})")
    return settings


def _renamed(arrays: Mapping[str, Any]) -> Tensors:
    """Return weights by their names in `transformers`; kernels become [out, in]."""
    tensors: Tensors = {}
    for name, array in arrays.items():
        if found := _LAYER.fullmatch(name):
            side, number, part, letter = found.groups()
            layer = f"model.{side}.layers.{int(number) - 1}"
            written = _PARTS.get(part + letter) or _PARTS.get(part, "")
            written = written.format("out" if letter == "o" else letter)
            is_kernel = written.endswith(("proj.weight", "fc1.weight", "fc2.weight"))
            tensors[f"{layer}.{written}"] = array.T if is_kernel else array.reshape(-1)
        elif name.endswith("Wemb"):
            side = name.removesuffix("Wemb").removesuffix("_")
            ours = f"model.{side}.embed_tokens" if side else "model.shared"
            tensors[f"{ours}.weight"] = _with_start(array)
        elif name == "decoder_ff_logit_out_W":
            tensors["lm_head.weight"] = _with_start(array.T)
        elif name == "decoder_ff_logit_out_b":
            tensors["final_logits_bias"] = np.append(array, np.float32(0))
    return tensors


def _with_start(table: Array) -> Array:
    return np.concatenate([table, np.zeros_like(table[:1])])


def _read_arrays(path: Path) -> Tensors:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelFileError(f"{path}: damaged: {error}") from error
    return finite(arrays, path)


def _vocabularies(folder: Path) -> list[Path]:
    """Return the files of the vocabularies of source and target."""
    named = _decoder(folder).get("vocabs")
    names = named if isinstance(named, list) and len(named) == 2 else 2 * ["*vocab.yml"]
    files = [_the_only(folder, Path(str(name)).name) for name in names]
    if other := [file for file in files if file.suffix not in (".yml", ".yaml")]:
        raise ModelFileError(f"{other[0]}: only vocabularies in YAML are supported")
    return files


def _read_vocabulary(path: Path) -> list[str]:
    """Return the names of all ids of a file that has a line `name: id` for each."""
    try:
        # Without types: a token may be `no` or `1.5`. The loader of libyaml takes a tenth.
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        ids = {n: int(i) for n, i in yaml.load(path.read_bytes(), loader).items()}  # noqa: S506
    except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise ModelFileError(f"{path}: not a vocabulary: {reason}") from error
    if sorted(ids.values()) != list(range(len(ids))) or not {UNKNOWN, "</s>"} <= ids.keys():
        raise ModelFileError(f"{path}: its tokens are not numbered, or lack </s> or {UNKNOWN}")
    return sorted(ids, key=ids.__getitem__)


def _the_one(folder: Path, key: str, pattern: str) -> str:
    """Return the name of the file that `decoder.yml` names, or of the only one of a kind."""
    named = _decoder(folder).get(key)
    name = Path(str(named[0])).name if isinstance(named, list) and named else pattern
    return _the_only(folder, name).name


def _the_only(folder: Path, pattern: str) -> Path:
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise ModelFileError(f"{folder}: holds {len(files)} files {pattern}, where one is needed")
    return files[0]


def _decoder(folder: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load((folder / "decoder.yml").read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return {}  # without it, the names of the files say enough
    return found if isinstance(found, dict) else {}


FAMILY = Family("Marian, native", (), read)
