"""Whether a folder is what `ctranslate2_form.py` writes, before CTranslate2 reads it.

CTranslate2 trusts `model.bin`: a size in it that does not fit ends the process, and so does the
number of a layer that is not there. So the layers, and the names, shapes and sizes of all
variables, are held against the manifest, and the values of those that are a single number.
"""

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from nmt_cli.errors import ModelFileError
from nmt_cli.text.special_tokens import CONTROL_TOKENS

_VERSION = 6  # of the file format
# What `config.json` says beside an epsilon: of an encoder, and more of what has a decoder, too.
_OF_ENCODER = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<pad>",
    "multi_query_attention": False,
}
_OF_DECODER = {"add_source_bos": False, "add_source_eos": False, "decoder_start_token": "<s>"}
_WHOLE = "TransformerSpec"
_SPECS = {_WHOLE: _OF_ENCODER | _OF_DECODER, "TransformerEncoderSpec": _OF_ENCODER}
_BYTES = (4, 1, 2, 4, 2, 2)  # of a number: float32, int8, int16, int32, float16, bfloat16
_ACTIVATIONS = {"relu": 0, "gelu": 3, "silu": 2, "swiglu": 2}  # as CTranslate2 counts them
_MOST_NAMES = 1 << 16
_LAYER = re.compile(r"/layer_[0-9]")


def check_folder(folder: Path, model: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> None:
    """Check the sizes and types of everything that CTranslate2 reads against the manifest's.

    Raises:
        ModelFileError: A file is damaged or is not of this model.
    """
    file = folder / "model.bin"
    try:
        if odd := [entry.name for entry in folder.iterdir() if not entry.is_file()]:
            raise ValueError(f"not an ordinary file: {odd[0]}")
        with file.open("rb") as stream:
            spec = _check_variables(stream, file.stat().st_size, model, vocabulary)
        for file in sorted(folder.glob("*.json")):
            values = json.loads(file.read_text(encoding="utf-8"))
            if file.name == "config.json":
                _check_config(values, _SPECS[spec])
            else:
                _check_tokens(file, values, vocabulary)
    except (OSError, ValueError, RecursionError, struct.error) as error:
        raise ModelFileError(
            f"{file}: damaged: {error}", hint=f"nmt export --format {folder.name} writes it again"
        ) from error


def _check_config(values: Any, wanted: Mapping[str, Any]) -> None:
    more = dict(values) if isinstance(values, dict) else {}
    found = {key: more.pop(key, None) for key in wanted}
    epsilon = more.pop("layer_norm_epsilon", None)
    # 0 equals False, but is none. Another version of CTranslate2 may have more, which must be off.
    is_ours = json.dumps(found) == json.dumps(wanted)
    is_ours &= all(value is None or value is False for value in more.values())
    if not is_ours or not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise ValueError("not a configuration that nmt wrote")


def _check_tokens(file: Path, values: Any, vocabulary: Mapping[str, Any]) -> None:
    if not isinstance(values, list) or not all(isinstance(token, str) for token in values):
        raise ValueError("not a list of tokens")
    elif file.name != "source_2_vocabulary.json" and len(values) != _tokens(file.name, vocabulary):
        raise ValueError(f"{len(values)} tokens, not {_tokens(file.name, vocabulary)}")
    elif not file.name.startswith("source_") and tuple(values[:3]) != CONTROL_TOKENS[:3]:
        raise ValueError(f"its first tokens are not {' '.join(CONTROL_TOKENS[:3])}")


def _tokens(name: str, vocabulary: Mapping[str, Any]) -> int:
    return int(vocabulary["target" if name.startswith("target") else "source"])


def _check_variables(
    stream: IO[bytes], size: int, model: Mapping[str, Any], vocabulary: Mapping[str, Any]
) -> str:
    """Check what `model.bin` has, and return what it is."""
    version, spec = _number(stream, "I"), _text(stream)
    if version != _VERSION or spec not in _SPECS:
        raise ValueError(f"not a model that nmt wrote (version {version}, {spec[:40]!r})")
    _number(stream, "I")  # the specification's revision
    shapes, settings = _shapes(model, vocabulary), _settings(model, spec)
    variables: dict[str, tuple[int, ...]] = {}
    for _ in range(_count(stream)):
        name = _text(stream)
        shape = tuple(_number(stream, "I") for _ in range(min(_number(stream, "B"), 4)))
        kind, length = _number(stream, "B"), _number(stream, "I")
        if kind >= len(_BYTES) or math.prod(shape) * _BYTES[kind] != length:
            raise ValueError(f"'{name}' does not have the size of its shape {shape}")
        _check_shape(name, shape, shapes)
        if shape or name.endswith("_scale"):  # the numbers of the model
            stream.seek(length, 1)
        else:
            value = int.from_bytes(stream.read(length), "little", signed=True)
            wanted = settings.get(name.rpartition("/")[2], 0)
            if value != wanted:
                raise ValueError(f"'{name}' is {value}, not {wanted}")
        variables[name] = shape
    names = set(variables)
    for _ in range(_count(stream)):
        alias, name = _text(stream), _text(stream)
        if name not in variables:
            raise ValueError(f"'{alias}' is an alias of '{name}', which is missing")
        _check_shape(alias, variables[name], shapes)
        names.add(alias)
    if stream.tell() != size:
        raise ValueError(f"{size} bytes, of which {stream.tell()} belong to the model")
    _check_layers(names, "encoder", model["encoder_layers"])
    _check_layers(names, "decoder", model["decoder_layers"] if spec == _WHOLE else 0)
    return spec


def _check_layers(names: Iterable[str], side: str, count: int) -> None:
    found = {name.split("/")[1] for name in names if _LAYER.match(name.removeprefix(side))}
    if found != {f"layer_{n}" for n in range(count)}:
        raise ValueError(f"{len(found)} layers in the {side}, not {count}")


def _check_shape(name: str, shape: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check a variable against the longest known ending of its name.

    A bias and the scales of a weight have a number for each of its rows.
    """
    if not shape:
        return
    stem = name.removesuffix("_scale")
    parts = (stem.removesuffix("bias") + "weight" if stem.endswith("/bias") else stem).split("/")
    endings = ("/".join(parts[-count:]) for count in (3, 2, 1))
    wanted = next((shapes[ending] for ending in endings if ending in shapes), ())
    if name.endswith(("/bias", "_scale")):
        wanted = wanted[:1]
    if len(shape) != len(wanted) or any(
        b not in (a, -1) for a, b in zip(shape, wanted, strict=True)
    ):
        raise ValueError(f"'{name}' has shape {shape}, expected {wanted}")


def _shapes(model: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of variables by the ends of their names; -1 is any number."""
    d, ff = model["d_model"], model["d_ff"]
    return {
        "embeddings_0/weight": (vocabulary["source"], d),
        "embeddings_1/weight": (-1, d),
        "decoder/embeddings/weight": (vocabulary["target"], d),
        "projection/weight": (vocabulary["target"], d),
        "encodings": (model["max_length"], d),
        "gamma": (d,),
        "beta": (d,),
        "self_attention/linear_0/weight": (3 * d, d),
        "self_attention/linear_1/weight": (d, d),
        "attention/linear_0/weight": (d, d),
        "attention/linear_1/weight": (2 * d, d),
        "attention/linear_2/weight": (d, d),
        "linear_0/weight": (ff, d),
        "linear_0_noact/weight": (ff, d),
        "linear_1/weight": (d, ff),
    }


def _settings(model: Mapping[str, Any], spec: str) -> dict[str, int]:
    """Return the values that are not 0 of what is a single number, by the ends of their names."""
    return {
        "num_heads": model["num_heads"],
        "pre_norm": int(model["norm"] == "pre"),
        "activation": _ACTIVATIONS[model["activation"]],
        "scale_embeddings": 1,
        "embeddings_merge": int(spec == _WHOLE),  # the sum, where there can be several
        "alignment_layer": -1,
    }


def _number(stream: IO[bytes], code: str) -> int:
    return int(struct.unpack(f"<{code}", stream.read(struct.calcsize(code)))[0])


def _count(stream: IO[bytes]) -> int:
    count = _number(stream, "I")
    if count > _MOST_NAMES:
        raise ValueError(f"{count} variables")
    return count


def _text(stream: IO[bytes]) -> str:
    raw = stream.read(_number(stream, "H"))
    if not raw.endswith(b"\0") or b"\0" in raw[:-1]:
        raise ValueError("a name does not end")
    return raw[:-1].decode("utf-8")
