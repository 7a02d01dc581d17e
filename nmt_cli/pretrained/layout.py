"""Which of our weights is which of BART's: the same table serves to import and to export.

Several published tensors may lie side by side in one of ours. Published kernels are [out, in], ours
are [in, out].
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.model.weights import Arrays

Array = npt.NDArray[np.float32]
# Kinds of axes: columns of the hidden states, of all heads, of the feed-forward; positions.
STATES, HEADS, INNER, PLACES = "states", "heads", "inner", "places"


class _Module(NamedTuple):
    """A linear layer or a norm: our names of its weight and its bias, and its published parts."""

    weight: str
    bias: str
    theirs: tuple[str, ...]
    axes: tuple[str, ...]  # of each published weight; those of a bias are the first alone


def _norm(ours: str, theirs: str) -> _Module:
    return _Module(f"{ours}.scale", f"{ours}.bias", (theirs,), (STATES,))


def _linear(ours: str, theirs: tuple[str, ...], out: str, into: str) -> _Module:
    """Return a product of matrices; an attention's has no part of its own in our names."""
    kernel, bias = ("", "_bias") if "_att." in ours else (".kernel", ".bias")
    return _Module(ours + kernel, ours + bias, theirs, (out, into))


_QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_KV = ("encoder_attn.k_proj", "encoder_attn.v_proj")
_SELF = (
    _norm("self_att.norm", "self_attn_layer_norm"),
    _linear("self_att.query_key_value", _QKV, HEADS, STATES),
    _linear("self_att.output", ("self_attn.out_proj",), STATES, HEADS),
)
_CROSS = (
    _norm("cross_att.norm", "encoder_attn_layer_norm"),
    _linear("cross_att.query", ("encoder_attn.q_proj",), HEADS, STATES),
    _linear("cross_att.key_value", _KV, HEADS, STATES),
    _linear("cross_att.output", ("encoder_attn.out_proj",), STATES, HEADS),
)
_FEED_FORWARD = (
    _norm("feed_forward.norm", "final_layer_norm"),
    _linear("feed_forward.inner", ("fc1",), INNER, STATES),
    _linear("feed_forward.outer", ("fc2",), STATES, INNER),
)


class Row(NamedTuple):
    """One of our arrays, and the published tensors in it."""

    ours: str
    theirs: tuple[str, ...]
    axes: tuple[str, ...]  # of each published tensor

    def joined(self, tensors: list[Array]) -> Array:
        """Return ours of published tensors."""
        is_table = PLACES in self.axes
        return tensors[0] if is_table else np.concatenate([t.T for t in tensors], axis=-1)

    def parted(self, array: Array) -> Arrays:
        """Return the published tensors of ours."""
        parts = np.split(array, len(self.theirs), axis=-1)
        return {name: part.T for name, part in zip(self.theirs, parts, strict=True)}


def stack_rows(side: str, model: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of the "encoder" or "decoder" of a model: all but tables of tokens."""
    theirs = f"model.{side}"
    if model["positions"] == "learned":
        name = f"{theirs}.embed_positions.weight"
        yield Row(f"{side}.positions", (name,), (PLACES, STATES))
    if model.get("embedding_norm", "none") in (side, "both"):
        yield from _rows(_norm("embedding_norm", "layernorm_embedding"), side, theirs)
    if model["norm"] == "pre":
        yield from _rows(_norm("norm", "layer_norm"), side, theirs)
    for number in range(model[f"{side}_layers"]):
        for module in (*_SELF, *(_CROSS if side == "decoder" else ()), *_FEED_FORWARD):
            yield from _rows(module, f"{side}.layer{number + 1}", f"{theirs}.layers.{number}")


def _rows(module: _Module, ours: str, theirs: str) -> Iterator[Row]:
    for name, kind, axes in (
        (module.weight, "weight", module.axes),
        (module.bias, "bias", module.axes[:1]),
    ):
        published = tuple(f"{theirs}.{part}.{kind}" for part in module.theirs)
        yield Row(f"{ours}.{name}", published, axes)
