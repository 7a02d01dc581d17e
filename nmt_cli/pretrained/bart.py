"""What Marian, M2M-100, Blenderbot and others share in `transformers`: they all come after BART.

That is the keys of `config.json`, the names of the weights and the order of our ids: control tokens
first, then the published tokens without those that a control token stands for.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained.layout import HEADS, INNER, PLACES, STATES, Array, stack_rows
from nmt_cli.pretrained.tensors import Tensors
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID

_ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
EPSILON = 1e-5  # of PyTorch's layer normalisation, which these configurations do not name
_DROPOUT = {"dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0}
_DEFAULTS = {"norm": "post", "norm_epsilon": EPSILON, "attention_bias": True, **_DROPOUT}
KEYS = {
    "d_model": "d_model",
    "encoder_ffn_dim": "d_ff",
    "decoder_ffn_dim": "d_ff",
    "encoder_attention_heads": "num_heads",
    "decoder_attention_heads": "num_heads",
    "encoder_layers": "encoder_layers",
    "decoder_layers": "decoder_layers",
    "max_position_embeddings": "max_length",
    "activation_function": "activation",
    **{kind: kind for kind in _DROPOUT},
}


def model_section(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `model` section of our configuration; ModelFileError as `section_by`."""
    is_tied = bool(config.get("tie_word_embeddings", True))
    return section_by(KEYS, folder, config) | {"output_bias": True, "tie_embeddings": is_tied}


def section_by(keys: Mapping[str, str], folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `keys` know of the `model` section, each with the key of ours that it is.

    Norms are behind sublayers, and there are biases, if nothing else is said.

    Raises:
        ModelFileError: Encoder and decoder differ in size, or the activation is not known.
    """
    model: dict[str, Any] = {}
    for theirs, ours in keys.items():
        if theirs not in config and ours in _DEFAULTS:
            continue
        value = config[theirs]
        if ours == "activation":
            value = _activation(folder, value)
        if model.setdefault(ours, value) != value:
            raise ModelFileError(f"{folder}: not supported: a decoder of another {theirs[8:]}")
    return _DEFAULTS | model


def _activation(folder: Path, name: Any) -> str:
    """Return our name of an activation; ModelFileError if it is not known."""
    if name not in _ACTIVATIONS:
        raise ModelFileError(
            f"{folder}: the activation {name} is not supported",
            hint=f"these are: {', '.join(_ACTIVATIONS)}",
        )
    return _ACTIVATIONS[name]


def check_supported(folder: Path, **kinds: bool) -> None:
    """Raise ModelFileError if a model is of one of some kinds that are not supported."""
    if found := [kind.replace("_", " ") for kind, is_there in kinds.items() if is_there]:
        raise ModelFileError(f"{folder}/config.json: not supported: {', '.join(found)}")


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
        self._width = model["d_model"]

    def weights(
        self, config: Mapping[str, Any], orders: Sequence[Sequence[int]], positions: Array | None
    ) -> Arrays:
        """Return all weights of an encoder and a decoder.

        `orders` are those of the ids of both sides; the same one twice is a vocabulary for both.
        Positions [max_length, D] are given where they are computed, not learned.
        """
        arrays = self._tables(*orders)
        for side in ("encoder", "decoder"):
            arrays |= self.stack(side)
            if positions is not None:
                arrays[f"{side}.positions"] = positions
        if not config.get("scale_embedding"):
            _unscale_embeddings(arrays, self._model)
        return arrays

    def _tables(self, source_order: Sequence[int], target_order: Sequence[int]) -> Arrays:
        """Return the embeddings of both sides and of the output, and its bias."""
        is_tied, is_joint = self._model["tie_embeddings"], source_order is target_order
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
        return arrays | {"output_bias": _rows(bias, target_order)}

    def stack(self, side: str) -> Arrays:
        """Return the layers of "encoder" or "decoder", its positions and the norms around it."""
        sizes = {STATES: self._width, HEADS: self._width, INNER: self._model["d_ff"]}
        sizes[PLACES] = self._model["max_length"]
        return {
            row.ours: row.joined([self.take(n, *(sizes[a] for a in row.axes)) for n in row.theirs])
            for row in stack_rows(side, self._model)
        }

    def table(self, order: Sequence[int], *names: str) -> Array:
        """Return the first of some tables that is there, with its rows in our order."""
        known = [f"{name}.weight" for name in names if f"{name}.weight" in self._tensors]
        found = self.take((known or [f"{names[0]}.weight"])[0], None, self._width)
        if max(order) >= len(found):
            raise ModelFileError(
                f"{self._folder}: a table has {len(found):,} rows and its vocabulary more tokens"
            )
        return _rows(found, order)

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


def _rows(array: Array, order: Sequence[int]) -> Array:
    """Return rows in another order; zeros for -1."""
    padded = np.concatenate([array, np.zeros_like(array[:1])])
    return np.asarray(padded[np.asarray(order)], np.float32)


def _unscale_embeddings(arrays: Arrays, model: Mapping[str, Any]) -> None:
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
