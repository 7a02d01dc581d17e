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


# Products of matrices and norms (of one axis), each with a bias: `_rows` adds the ends of names.
_QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_KV = ("encoder_attn.k_proj", "encoder_attn.v_proj")
_SELF = (
    Row("self_att.norm", ("self_attn_layer_norm",), (STATES,)),
    Row("self_att.query_key_value", _QKV, (HEADS, STATES)),
    Row("self_att.output", ("self_attn.out_proj",), (STATES, HEADS)),
)
_CROSS = (
    Row("cross_att.norm", ("encoder_attn_layer_norm",), (STATES,)),
    Row("cross_att.query", ("encoder_attn.q_proj",), (HEADS, STATES)),
    Row("cross_att.key_value", _KV, (HEADS, STATES)),
    Row("cross_att.output", ("encoder_attn.out_proj",), (STATES, HEADS)),
)
_FEED_FORWARD = (
    Row("feed_forward.norm", ("final_layer_norm",), (STATES,)),
    Row("feed_forward.inner", ("fc1",), (INNER, STATES)),
    Row("feed_forward.outer", ("fc2",), (STATES, INNER)),
)
_EMBEDDING_NORM = Row("embedding_norm", ("layernorm_embedding",), (STATES,))
_LAST_NORM = Row("norm", ("layer_norm",), (STATES,))


def stack_rows(side: str, model: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of the "encoder" or "decoder" of a model: all but tables of tokens."""
    theirs = f"model.{side}"
    if model["positions"] == "learned":
        name = f"{theirs}.embed_positions.weight"
        yield Row(f"{side}.positions", (name,), (PLACES, STATES))
    if model.get("embedding_norm", "none") in (side, "both"):
        yield from _rows(_EMBEDDING_NORM, side, theirs)
    if model["norm"] == "pre":
        yield from _rows(_LAST_NORM, side, theirs)
    for number in range(model[f"{side}_layers"]):
        for module in (*_SELF, *(_CROSS if side == "decoder" else ()), *_FEED_FORWARD):
            yield from _rows(module, f"{side}.layer{number + 1}", f"{theirs}.layers.{number}")


def _rows(module: Row, ours: str, theirs: str) -> Iterator[Row]:
    """Yield the weight and the bias of a module; an attention's has no part of its own in ours."""
    weight, bias = (".scale", ".bias") if len(module.axes) == 1 else (".kernel", ".bias")
    if "_att." in module.ours and weight == ".kernel":
        weight, bias = "", "_bias"
    for end, kind, axes in ((weight, "weight", module.axes), (bias, "bias", module.axes[:1])):
        published = tuple(f"{theirs}.{part}.{kind}" for part in module.theirs)
        yield Row(f"{ours}.{module.ours}{end}", published, axes)
