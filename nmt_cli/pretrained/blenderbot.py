"""BlenderbotSmall and Blenderbot: chat models (`model_type: blenderbot-small`, `blenderbot`).

Transformers with GELU, biases in attention and learned positions. The small one normalises the
encoder's embeddings after positions were added, those of the decoder before. The latter is a
function of the token alone, so here it is in the decoder's table, which the output then has not in
common. The large one has norms before sublayers.

In a conversation the oldest turn comes first. Between turns the small one has `__newln__`, as
ParlAI trained it, and no `</s>` behind them; the large one a second space, and `</s>`.

Reference: Roller et al. 2020, "Recipes for building an open-domain chatbot", arXiv 2004.13637.
"""

from typing import Any

import numpy as np

from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained import bart, tokenizer_file
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.published import Pretrained, Published
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_NEVER = -1e4
_UNKNOWN = "__unk__"  # of the small one


def read_small(published: Published) -> Pretrained:
    """Return a BlenderbotSmall; ModelFileError as `marian.read`."""
    section = {"positions": "learned", "embedding_norm": "encoder", "tie_embeddings": False}
    model = bart.model_section(published) | section
    order, tokens = _numbered(published)
    subwords, added = tokenizer_file.small_bpe(published, tokens, _UNKNOWN)
    order += [order[tokens.index(_UNKNOWN)]] * added
    published.tensors["model.decoder.embed_tokens.weight"] = _normalised_table(published, model)
    weights = bart.weights_of(published, model, (order, order))
    weights["output_bias"][len(order) - added :] = _NEVER
    return _pretrained(published, model, weights, subwords)


def read_large(published: Published) -> Pretrained:
    """Return a Blenderbot; ModelFileError as `marian.read`."""
    model = bart.model_section(published) | {"positions": "learned", "norm": "pre"}
    order, tokens = _numbered(published)
    weights = bart.weights_of(published, model, (order, order))
    subwords = tokenizer_file.byte_bpe(published, tokens, "<unk>", prefix_space=True)
    return _pretrained(published, model, weights, subwords)


def _numbered(published: Published) -> bart.Numbering:
    config, names = published.config, tokenizer_file.read_names(published)
    start = config.get("decoder_start_token_id", config["bos_token_id"])
    roles = start, config["eos_token_id"], config["pad_token_id"]
    return bart.numbered(names, roles, published.folder / "vocab.json")


def _normalised_table(published: Published, model: dict[str, Any]) -> Array:
    """Return the decoder's embeddings [V, D] behind their norm."""
    width = model["d_model"]
    root = np.float32(width**0.5 if published.config.get("scale_embedding") else 1.0)
    table = root * published.take("model.shared.weight", None, width)
    norm = "model.decoder.layernorm_embedding"
    scale, bias = (published.take(f"{norm}.{part}", width) for part in ("weight", "bias"))
    centred = table - table.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + model["norm_epsilon"])
    return np.asarray(centred / deviation * scale + bias, np.float32) / root


def _pretrained(
    published: Published, model: dict[str, Any], weights: Arrays, subwords: Subwords
) -> Pretrained:
    return Pretrained(
        model=model,
        weights=weights,
        vocabularies=Vocabularies(subwords, subwords),
        languages=("en", "en"),
        task="chat",
        sections={"chat": {"format": published.config["model_type"]}},
    )
