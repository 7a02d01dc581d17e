"""A native release of Marian's, as OPUS-MT has them: `*.npz`, `decoder.yml`, `*.spm`, `vocab.yml`.

Its weights get the names that `transformers` gives them, and `marian.py` does the rest. A decoder
of Marian's starts from a vector of zeros; here that is the row of a token `<pad>`, put behind the
others, which is never written. Layer normalisation has Marian's own epsilon, 1e-6; `transformers`
computes the same models with 1e-5.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained import bart, marian
from nmt_cli.pretrained.published import Pretrained, Published
from nmt_cli.pretrained.tensors import Tensors, finite, renamed
from nmt_cli.pretrained.tokenizer_file import in_order
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID

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
_RENAMED = (
    (r"^(encoder|decoder)_l(\d+)_", lambda m: f"model.{m[1]}.layers.{int(m[2]) - 1}."),
    (r"\bself_", "self_attn_"),
    (r"\bcontext_", "encoder_attn_"),
    (r"attn_Wo_ln_(\w+)$", r"attn_layer_norm.\1"),
    (r"ffn_ffn_ln_(\w+)$", r"final_layer_norm.\1"),
    (r"attn_([Wb])o$", r"attn.out_proj.\1"),
    (r"attn_([Wb])([qkv])$", r"attn.\2_proj.\1"),
    (r"\bffn_([Wb])([12])$", r"fc\2.\1"),
    (r"\.(W|scale)$", ".weight"),
    (r"\.b$", ".bias"),
    (r"^Wemb$", "model.shared.weight"),
    (r"^(\w+)_Wemb$", r"model.\1.embed_tokens.weight"),
    (r"^decoder_ff_logit_out_W$", "lm_head.weight"),
    (r"^decoder_ff_logit_out_b$", "final_logits_bias"),
)
_OF_TOKENS = ("shared.weight", "embed_tokens.weight", "lm_head.weight", "logits_bias")


def read(published: Published) -> Pretrained:
    """Return the model of a release; ModelFileError as `marian.read`."""
    weights, *vocabularies = _files(published)
    arrays, settings = _read_release(weights)
    model = _model_section(settings, weights)
    source, target = map(_read_names, vocabularies)
    names = ([*source, _START], [*target, _START])
    if source == target:
        names = names[0], names[0]
    published.config = {
        "vocab_size": len(names[0]),
        "decoder_vocab_size": len(names[1]),
        "pad_token_id": len(target),
        "eos_token_id": target.index(CONTROL_TOKENS[EOS_ID]),
        "scale_embedding": True,
    }
    published.tensors = _tensors(arrays)
    return marian.assemble(published, model, names)


def _model_section(settings: Mapping[str, Any], path: Path) -> dict[str, Any]:
    differing = [f"{k}: {settings.get(k)}" for k, v in _FIXED.items() if settings.get(k) != v]
    bart.refuse(path, dict.fromkeys(differing, True))
    is_tied = settings.get("tied-embeddings") or settings.get("tied-embeddings-all")
    return bart.section_by(_KEYS, settings, path) | {
        "max_length": _LENGTH,
        "norm_epsilon": _EPSILON,
        "output_bias": True,
        "positions": "table",
        "tie_embeddings": bool(is_tied),
    }


def _files(published: Published) -> list[Path]:
    """Return the files of the weights and of the vocabularies of source and target.

    They are those that `decoder.yml` names; where it does not, the only one of its kind.
    """
    folder = published.folder
    decoder: dict[str, Any] = {}
    if published.has("decoder.yml"):
        decoder = yaml.safe_load(published.text("decoder.yml")) or {}
    first, *_ = decoder.get("models", ["*.npz"])
    source, target = decoder.get("vocabs", 2 * ["*vocab.yml"])
    files = []
    for name in (Path(name).name for name in (first, source, target)):
        found = sorted(folder.glob(name))
        if len(found) != 1:
            raise ModelFileError(f"{folder}: holds {len(found)} files {name}, where one is needed")
        files += found
    if other := [file for file in files[1:] if file.suffix not in (".yml", ".yaml")]:
        raise ModelFileError(f"{other[0]}: only vocabularies in YAML are supported")
    return files


def _read_release(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """Return the weights of a model, and the options it was trained with, which are text there."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelFileError(f"{path}: damaged: {error}") from error
    settings = yaml.safe_load(arrays.pop(_SETTINGS).tobytes().rstrip(b"\0").decode())
    return finite(arrays, path), settings


def _read_names(path: Path) -> list[str]:
    """Return the names of all ids of a file that has a line `name: id` for each."""
    try:
        # Without types: a token may be `no` or `1.5`. The loader of libyaml takes a tenth.
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        ids = {n: int(i) for n, i in yaml.load(path.read_bytes(), loader).items()}  # noqa: S506
    except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise ModelFileError(f"{path}: not a vocabulary: {reason}") from error
    return in_order(ids, path)


def _tensors(arrays: Tensors) -> Tensors:
    """Return weights as `transformers` has them: kernels [out, in], a row of zeros for `<pad>`."""
    found = renamed(arrays, _RENAMED)
    for name, array in found.items():
        is_kernel = name.endswith(("proj.weight", "fc1.weight", "fc2.weight", "lm_head.weight"))
        is_row = array.shape[0] == 1  # a bias or a norm
        found[name] = array.T if is_kernel else array.reshape(-1) if is_row else array
        if name.endswith(_OF_TOKENS):
            found[name] = np.concatenate([found[name], np.zeros_like(found[name][:1])])
    return found
