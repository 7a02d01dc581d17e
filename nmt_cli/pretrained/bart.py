"""What Marian, M2M-100, Blenderbot and others share in `transformers`: they all come after BART.

That is the keys of `config.json`, the names of the weights and the order of our ids: control tokens
first, then the published tokens without those that a control token stands for.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained.layout import HEADS, INNER, PLACES, STATES, Array, stack_rows
from nmt_cli.pretrained.published import Published
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID, HIDDEN

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
_LARGEST = 1 << 17  # of any size: tables of positions are made before anything is compared
_SIZES = ("d_model", "d_ff", "num_heads", "encoder_layers", "decoder_layers", "max_length")


class Numbering(NamedTuple):
    """Our ids of a published vocabulary: control tokens, tags of languages, and all others."""

    published: list[int]  # which id each of ours has there; -1 is none
    tokens: list[str]  # the names of ours; those that no text may make begin with HIDDEN


def numbered(
    names: Sequence[str],
    roles: Sequence[int],
    path: Path,
    tags: Sequence[str] = (),
    unused: Collection[int] = (),
) -> Numbering:
    """Return our ids of a vocabulary with these `names`, of which some ids may be `unused`.

    The `roles` are the ids of the first token, the last and padding; ModelFileError, which names
    the `path`: they are not there. The `tags` are tokens of languages, which one side may lack.
    """
    if not all(role in range(len(names)) for role in roles):
        raise ModelFileError(f"{path}: lacks the first token, the last one or padding")
    known = {name: number for number, name in enumerate(names)}
    first = [-1] * len(CONTROL_TOKENS)
    first[BOS_ID], first[EOS_ID], pad = roles
    first += [known.get(tag, -1) for tag in tags]
    taken = {*first, pad, *unused}
    rest = [i for i in range(len(names)) if i not in taken]
    hidden = [HIDDEN + name for name in (*CONTROL_TOKENS, *tags)]
    return Numbering([*first, *rest], [*hidden, *(names[i] for i in rest)])


def model_section(published: Published) -> dict[str, Any]:
    """Return the `model` section of our configuration; ModelFileError as `section_by`."""
    config = published.config
    is_tied = bool(config.get("tie_word_embeddings", True))
    section = section_by(KEYS, config, published.folder)
    return section | {"output_bias": True, "tie_embeddings": is_tied}


def section_by(
    keys: Mapping[str, str], config: Mapping[str, Any], path: Path, **defaults: Any
) -> dict[str, Any]:
    """Return what `keys` know of the `model` section, each with the key of ours that it is.

    Norms are behind sublayers, and there are biases, if nothing else is said.

    Raises:
        ModelFileError: Encoder and decoder differ in size, or the activation is not known; it names
            the `path`.
    """
    model: dict[str, Any] = {}
    defaults = {**_DEFAULTS, **defaults}
    for theirs, ours in keys.items():
        if theirs not in config and ours in defaults:
            continue
        value = config[theirs]
        if ours == "activation" and str(value) not in _ACTIVATIONS:
            raise ModelFileError(
                f"{path}: the activation {value} is not supported",
                hint=f"supported are: {', '.join(_ACTIVATIONS)}",
            )
        if ours in _SIZES and (type(value) is not int or not 1 <= value <= _LARGEST):
            wanted = f"a whole number from 1 to {_LARGEST:,}"
            raise ModelFileError(f"{path}: {theirs} must be {wanted}, not {value!r}")
        is_other = model.setdefault(ours, value) != value
        refuse(path, {f"a decoder of another {theirs[8:]}": is_other})
    model = defaults | model
    model["activation"] = _ACTIVATIONS[model["activation"]]
    return model


def refuse(path: Path, kinds: Mapping[str, bool]) -> None:
    """Raise ModelFileError if a model is of one of some kinds that are not supported."""
    if found := [kind for kind, is_there in kinds.items() if is_there]:
        raise ModelFileError(f"{path}: not supported: {', '.join(found)}")


def weights_of(
    published: Published,
    model: Mapping[str, Any],
    orders: tuple[Sequence[int], Sequence[int]],
    positions: Array | None = None,
) -> Arrays:
    """Return all weights of an encoder and a decoder.

    `model` is that section of ours. `orders` are those of the ids of both sides; the same one twice
    is a vocabulary for both. Positions [max_length, D] are given where they are computed.
    """
    arrays = _tables(published, model, *orders)
    for side in ("encoder", "decoder"):
        arrays |= stack(side, published, model)
        if positions is not None:
            arrays[f"{side}.positions"] = positions
    if not published.config.get("scale_embedding"):
        _unscale_embeddings(arrays, model)
    return arrays


def _tables(
    published: Published, model: Mapping[str, Any], source: Sequence[int], target: Sequence[int]
) -> Arrays:
    """Return the embeddings of both sides and of the output, and its bias."""
    is_tied, is_joint = model["tie_embeddings"], source is target
    if is_joint and is_tied:
        wanted = {"embedding": (source, ["model.shared", "lm_head"])}
    else:
        shared = ["model.shared"] if is_joint else []
        wanted = {
            "source_embedding": (source, ["model.encoder.embed_tokens", *shared]),
            "target_embedding": (target, ["model.decoder.embed_tokens", *shared]),
        }
    if not is_tied:
        wanted["output_embedding"] = (target, ["lm_head", "model.shared"])
    arrays = {ours: table(published, model, *where) for ours, where in wanted.items()}
    none = np.zeros(len(target), np.float32)
    bias = published.tensors.get("final_logits_bias", none).reshape(-1)
    return arrays | {"output_bias": _rows(bias, target)}


def table(
    published: Published, model: Mapping[str, Any], order: Sequence[int], names: Sequence[str]
) -> Array:
    """Return the first of some tables that is there, with its rows in our order."""
    full = [f"{name}.weight" for name in names]
    name = next((name for name in full if name in published.tensors), full[0])
    found = published.take(name, None, model["d_model"])
    said = [published.config.get(key) for key in ("vocab_size", "decoder_vocab_size")]
    if any(said) and len(found) not in said:
        problem = f"'{name}' has {len(found):,} rows, not one for each of {said[0]:,} tokens"
        raise ModelFileError(f"{published.folder}: {problem}")
    if max(order) >= len(found):
        problem = f"'{name}' has {len(found):,} rows and its vocabulary more tokens"
        raise ModelFileError(f"{published.folder}: {problem}")
    return _rows(found, order)


def _rows(array: Array, order: Sequence[int]) -> Array:
    """Return rows in another order; zeros for -1."""
    padded = np.concatenate([array, np.zeros_like(array[:1])])
    return np.asarray(padded[np.asarray(order)], np.float32)


def stack(side: str, published: Published, model: Mapping[str, Any]) -> Arrays:
    """Return the layers of "encoder" or "decoder", its positions and the norms around it."""
    sizes = dict.fromkeys((STATES, HEADS), model["d_model"])
    sizes |= {INNER: model["d_ff"], PLACES: model["max_length"]}
    beyond = f"model.{side}.layers.{model[f'{side}_layers']}."
    if any(name.startswith(beyond) for name in published.tensors):
        problem = f"the weights have more layers of the {side} than config.json says"
        raise ModelFileError(f"{published.folder}: {problem}")
    return {
        row.ours: row.joined([published.take(n, *map(sizes.get, row.axes)) for n in row.theirs])
        for row in stack_rows(side, model)
    }


def _unscale_embeddings(arrays: Arrays, model: Mapping[str, Any]) -> None:
    """Change the weights of a model that does not scale its embeddings by sqrt(D), as ours does.

    Embeddings become smaller by that; where the output has the same table, the states that it reads
    become larger, by the norm that they come from.
    """
    root = np.float32(model["d_model"] ** 0.5)
    for name in {"embedding", "source_embedding", "target_embedding"} & arrays.keys():
        arrays[name] = arrays[name] / root
    if model["tie_embeddings"]:
        last = f"decoder.layer{model['decoder_layers']}.feed_forward.norm"
        name = "decoder.norm" if model["norm"] == "pre" else last
        for part in ("scale", "bias"):
            arrays[f"{name}.{part}"] = arrays[f"{name}.{part}"] * root
