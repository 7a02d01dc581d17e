"""What Marian, M2M-100, Blenderbot and others share in `transformers`: they all come after BART.

That is the keys of `config.json`, the names of the weights and the order of our ids: control tokens
first, then the published tokens without those that a control token stands for.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained.tensors import Tensors
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID

Array = npt.NDArray[np.float32]
_ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
_EPSILON = 1e-5  # of PyTorch's layer normalisation, which these configurations do not name
_NORMS = {"self_attn_layer_norm": "self_att", "encoder_attn_layer_norm": "cross_att"}
_NORMS |= {"final_layer_norm": "feed_forward"}


def model_section(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `model` section of our configuration, post-norm and without positions' kind.

    Raises:
        ModelFileError: Encoder and decoder differ in size, or the activation is not known.
    """
    sizes = ("encoder_attention_heads", "encoder_ffn_dim")
    if differing := [s[8:] for s in sizes if config[s] != config[f"decoder{s[7:]}"]]:
        raise ModelFileError(
            f"{folder}/config.json: not supported: a decoder of another {' and '.join(differing)}"
        )
    return {
        "d_model": config["d_model"],
        "d_ff": config["encoder_ffn_dim"],
        "num_heads": config["encoder_attention_heads"],
        "encoder_layers": config["encoder_layers"],
        "decoder_layers": config["decoder_layers"],
        "max_length": config["max_position_embeddings"],
        "dropout": config.get("dropout", 0.1),
        "attention_dropout": config.get("attention_dropout", 0.0),
        "activation_dropout": config.get("activation_dropout", 0.0),
        "activation": activation_of(folder, config.get("activation_function")),
        "norm": "post",
        "norm_epsilon": _EPSILON,
        "attention_bias": True,
        "output_bias": True,
        "tie_embeddings": bool(config.get("tie_word_embeddings", True)),
    }


def activation_of(folder: Path, name: Any) -> str:
    """Return our name of an activation; ModelFileError if it is not known."""
    if name not in _ACTIVATIONS:
        raise ModelFileError(
            f"{folder}/config.json: the activation {name} is not supported",
            hint=f"these are: {', '.join(_ACTIVATIONS)}",
        )
    return _ACTIVATIONS[name]


def control_order(*, start: int, eos: int) -> list[int]:
    """Return which published id each of our control tokens has; -1 is none."""
    order = [-1] * len(CONTROL_TOKENS)
    order[BOS_ID], order[EOS_ID] = start, eos
    return order


def order_of(
    names: Sequence[str],
    path: Path,
    *,
    start: int,
    eos: int,
    pad: int,
    tags: Sequence[str] = (),
) -> list[int]:
    """Return which published id each of our ids has; -1 is none.

    The `tags` are tokens of languages, which one side's vocabulary may lack. ModelFileError: the
    ids of the control tokens are not those of `names`, which `path` holds.
    """
    if not {start, eos, pad} <= set(range(len(names))):
        raise ModelFileError(f"{path}: does not hold the first token, the last and padding")
    known = {name: number for number, name in enumerate(names)}
    first = [*control_order(start=start, eos=eos), *(known.get(tag, -1) for tag in tags)]
    taken = {*first, pad}
    return [*first, *(i for i in range(len(names)) if i not in taken)]


def named(names: Sequence[str], order: Sequence[int], tags: Sequence[str] = ()) -> list[str]:
    """Return the names of all of our ids."""
    first = [*CONTROL_TOKENS, *tags]
    return [*first, *(names[i] for i in order[len(first) :])]


class Published:
    """Published tensors, each checked for its shape; `model` is that section of ours."""

    def __init__(self, tensors: Tensors, folder: Path, model: Mapping[str, Any]) -> None:
        self._tensors, self._folder, self._model = tensors, folder, model
        self._width, self._inner = model["d_model"], model["d_ff"]

    def tables(
        self, source_order: Sequence[int], target_order: Sequence[int], *, is_joint: bool
    ) -> Arrays:
        """Return the embeddings of both sides and of the output, and its bias."""
        is_tied = self._model["tie_embeddings"]
        arrays: Arrays = {}
        if is_joint and is_tied:
            arrays["embedding"] = self.table(source_order, "model.shared", "lm_head")
        else:
            sides = (("source", "encoder", source_order), ("target", "decoder", target_order))
            for side, part, order in sides:
                names = [f"model.{part}.embed_tokens", *(["model.shared"] if is_joint else [])]
                arrays[f"{side}_embedding"] = self.table(order, *names)
            if not is_tied:
                arrays["output_embedding"] = self.table(target_order, "lm_head", "model.shared")
        none = np.zeros(len(target_order), np.float32)
        bias = self._tensors.get("final_logits_bias", none).reshape(-1)
        return arrays | {"output_bias": rows(bias, target_order)}

    def stack(self, side: str) -> Arrays:
        """Return the layers of "encoder" or "decoder" and the norms around them."""
        arrays: Arrays = {}
        if self._model.get("embedding_norm", "none") in (side, "both"):
            arrays |= self.norm(f"model.{side}.layernorm_embedding", f"{side}.embedding_norm")
        for number in range(self._model[f"{side}_layers"]):
            arrays |= self._layer(side, number)
        if self._model["norm"] == "pre":
            arrays |= self.norm(f"model.{side}.layer_norm", f"{side}.norm")
        return arrays

    def _layer(self, side: str, number: int) -> Arrays:
        theirs, ours = f"model.{side}.layers.{number}", f"{side}.layer{number + 1}"
        found: Arrays = {}
        for norm, part in _NORMS.items():
            if side == "decoder" or part != "cross_att":
                found |= self.norm(f"{theirs}.{norm}", f"{ours}.{part}.norm")
        found |= self._attention(f"{theirs}.self_attn", f"{ours}.self_att", ("q", "k", "v"))
        if side == "decoder":
            cross = f"{ours}.cross_att"
            found |= self._attention(f"{theirs}.encoder_attn", cross, ("q",), ("k", "v"))
        d, ff = self._width, self._inner
        for linear, part, shape in (("fc1", "inner", (ff, d)), ("fc2", "outer", (d, ff))):
            name = f"{ours}.feed_forward.{part}"
            found[f"{name}.kernel"] = self.take(f"{theirs}.{linear}.weight", *shape).T
            found[f"{name}.bias"] = self.take(f"{theirs}.{linear}.bias", shape[0])
        return found

    def _attention(self, theirs: str, ours: str, *groups: Sequence[str]) -> Arrays:
        """Return the projections of an attention; those of a group lie side by side."""
        names = {"q": "query", "k": "key", "v": "value", "out": "output"}
        found: Arrays = {}
        for group in (*groups, ("out",)):
            name = f"{ours}.{'_'.join(names[part] for part in group)}"
            parts = [f"{theirs}.{part}_proj" for part in group]
            kernels = [self.take(f"{p}.weight", self._width, self._width).T for p in parts]
            biases = [self.take(f"{p}.bias", self._width) for p in parts]
            found[name] = np.concatenate(kernels, axis=1)
            found[f"{name}_bias"] = np.concatenate(biases)
        return found

    def norm(self, theirs: str, ours: str) -> Arrays:
        """Return the scale and the bias of a layer normalisation."""
        return {
            f"{ours}.scale": self.take(f"{theirs}.weight", self._width),
            f"{ours}.bias": self.take(f"{theirs}.bias", self._width),
        }

    def table(self, order: Sequence[int], *names: str) -> Array:
        """Return the first of some tables that is there, with its rows in our order."""
        known = [f"{name}.weight" for name in names if f"{name}.weight" in self._tensors]
        found = self.take((known or [f"{names[0]}.weight"])[0], None, self._width)
        if max(order) >= len(found):
            raise ModelFileError(
                f"{self._folder}: a table has {len(found):,} rows and its vocabulary more tokens"
            )
        return rows(found, order)

    def take(self, name: str, *shape: int | None) -> Array:
        """Return a tensor of this shape; None is any size."""
        if name not in self._tensors:
            raise ModelFileError(f"{self._folder}: the weights lack '{name}'")
        found = self._tensors[name]
        if len(found.shape) != len(shape) or any(
            wanted not in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
        ):
            raise ModelFileError(
                f"{self._folder}: '{name}' has shape {found.shape}, which config.json denies"
            )
        return found


def rows(array: Array, order: Sequence[int]) -> Array:
    """Return rows in another order; zeros for -1."""
    padded = np.concatenate([array, np.zeros_like(array[:1])])
    return np.asarray(padded[np.asarray(order)], np.float32)


def unscale_embeddings(arrays: Arrays, model: Mapping[str, Any]) -> None:
    """Change the weights of a model that does not scale its embeddings by sqrt(D), as ours does.

    Embeddings become smaller by that; where the output has the same table, the states that it reads
    become larger, by the norm that they come from.
    """
    root = np.float32(math.sqrt(model["d_model"]))
    for name in ("embedding", "source_embedding", "target_embedding"):
        if name in arrays:
            arrays[name] = arrays[name] / root
    if model["tie_embeddings"]:
        last = f"decoder.layer{model['decoder_layers']}.feed_forward.norm"
        name = "decoder.norm" if model["norm"] == "pre" else last
        for part in ("scale", "bias"):
            arrays[f"{name}.{part}"] = arrays[f"{name}.{part}"] * root
