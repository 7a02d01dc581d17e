"""BlenderbotSmall and Blenderbot: chat models (`model_type: blenderbot-small`, `blenderbot`).

Transformers with GELU, biases in attention and learned positions. The small one normalises the
encoder's embeddings after positions were added, those of the decoder before. The latter is a
function of the token alone, so here it is in the decoder's table, which the output then has not in
common. The large one has norms before sublayers.

In a conversation the oldest turn comes first. Between turns the small one has `__newln__`, as
ParlAI trained it, and no `</s>` behind them; the large one a second space, and `</s>`.

Reference: Roller et al. 2020, "Recipes for building an open-domain chatbot", arXiv 2004.13637.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained import bart, tokenizer_file
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.model import Family, Pretrained
from nmt_cli.pretrained.tensors import read_tensors
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_NEVER = -1e4


def read_small(folder: Path, config: Mapping[str, Any]) -> Pretrained:
    """Return a BlenderbotSmall; ModelFileError as `marian.read`."""
    section = bart.model_section(folder, config)
    model = section | {
        "positions": "learned",
        "embedding_norm": "encoder",
        "tie_embeddings": False,
    }
    names = tokenizer_file.read_names(folder)
    order = _order(folder, config, names)
    tokens = bart.named(names, order)
    subwords, added = tokenizer_file.small_bpe(folder, tokens, "__unk__")
    order += [names.index("__unk__")] * added
    tensors = read_tensors(folder)
    published = bart.Published(tensors, folder, model)
    scale = np.float32(model["d_model"] ** 0.5 if config.get("scale_embedding") else 1.0)
    table = scale * published.take("model.shared.weight", None, model["d_model"])
    norm = [
        published.take(f"model.decoder.layernorm_embedding.{part}", model["d_model"])
        for part in ("weight", "bias")
    ]
    tensors["model.decoder.embed_tokens.weight"] = _normalised(table, model, *norm) / scale
    weights = published.weights(config, (order, order), None)
    weights["output_bias"][len(order) - added :] = _NEVER
    return _pretrained(config, model, weights, subwords)


def read_large(folder: Path, config: Mapping[str, Any]) -> Pretrained:
    """Return a Blenderbot; ModelFileError as `marian.read`."""
    model = bart.model_section(folder, config) | {"positions": "learned", "norm": "pre"}
    names = tokenizer_file.read_names(folder)
    order = _order(folder, config, names)
    published = bart.Published(read_tensors(folder), folder, model)
    weights = published.weights(config, (order, order), None)
    subwords = tokenizer_file.byte_bpe(folder, bart.named(names, order), "<unk>", prefix_space=True)
    return _pretrained(config, model, weights, subwords)


def _pretrained(
    config: Mapping[str, Any], model: dict[str, Any], weights: Arrays, subwords: Subwords
) -> Pretrained:
    return Pretrained(
        model=model,
        weights=weights,
        vocabularies=Vocabularies(subwords, subwords),
        languages=("en", "en"),
        task="chat",
        sections={"chat": {"format": config["model_type"]}},
    )


def _order(folder: Path, config: Mapping[str, Any], names: list[str]) -> list[int]:
    start = config.get("decoder_start_token_id", config["bos_token_id"])
    ids = {"start": start, "eos": config["eos_token_id"], "pad": config["pad_token_id"]}
    return bart.order_of(names, folder / "vocab.json", **ids)


def _normalised(table: Array, model: Mapping[str, Any], scale: Array, bias: Array) -> Array:
    centred = table - table.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + model["norm_epsilon"])
    return np.asarray(centred / deviation * scale + bias, np.float32)


SMALL = Family("BlenderbotSmall", tokenizer_file.FILES, read_small)
LARGE = Family("Blenderbot", tokenizer_file.FILES, read_large)
