"""BERT, ELECTRA, RoBERTa and XLM-RoBERTa: encoders to train a classifier from.

All are the encoder of Vaswani et al. with GELU, learned positions and normalised embeddings, to
whose sum BERT adds a vector that says which of two texts a token is of. Here all is of the first,
and that vector is part of the positions. A text is known by the state of its first token.

Reference: Devlin et al. 2019, arXiv 1810.04805; Clark et al. 2020, arXiv 2003.10555; Liu et al.
2019, arXiv 1907.11692; Conneau et al. 2020, arXiv 1911.02116.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained import bart, tokenizer_file
from nmt_cli.pretrained.model import Family, Pretrained
from nmt_cli.pretrained.sentencepiece_file import piece_names, read_subwords
from nmt_cli.pretrained.tensors import Tensors, read_tensors
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_PIECES = "sentencepiece.bpe.model"
_KEYS = {
    "hidden_size": "d_model",
    "intermediate_size": "d_ff",
    "num_attention_heads": "num_heads",
    "num_hidden_layers": "encoder_layers",
    "max_position_embeddings": "max_length",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "hidden_act": "activation",
    "layer_norm_eps": "norm_epsilon",
}
_DEFAULTS: dict[str, Any] = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
_DEFAULTS |= {"hidden_act": "gelu", "layer_norm_eps": 1e-12}
_RENAMED = (
    (r".*\bembeddings\.LayerNorm", "model.encoder.layernorm_embedding"),
    (r".*\bencoder\.layer\.(\d+)\.", r"model.encoder.layers.\1."),
    (r"attention\.self\.([qkv])\w+", r"self_attn.\1_proj"),
    (r"attention\.output\.dense", "self_attn.out_proj"),
    (r"attention\.output\.LayerNorm", "self_attn_layer_norm"),
    (r"intermediate\.dense", "fc1"),
    (r"output\.dense", "fc2"),
    (r"output\.LayerNorm", "final_layer_norm"),
    (r".*\b(\w+_embeddings)\.weight", r"\1.weight"),
    (r"\.gamma$", ".weight"),  # as TensorFlow's files had it
    (r"\.beta$", ".bias"),
)


class _Tokens(NamedTuple):
    """How the text of a family becomes ids."""

    start: str
    end: str
    pad: str
    names: Callable[[Path], list[str]]  # published, of all ids
    subwords: Callable[[Path, Sequence[str]], Subwords]  # of our names of all ids


def _read(tokens: _Tokens) -> Callable[[Path, Mapping[str, Any]], Pretrained]:
    def read(folder: Path, config: Mapping[str, Any]) -> Pretrained:
        names = tokens.names(folder)
        start, end, pad = map(names.index, (tokens.start, tokens.end, tokens.pad))
        order = bart.order_of(names, folder, start=start, eos=end, pad=pad)
        tensors = _renamed(read_tensors(folder))
        # The first position of RoBERTa is that behind its `<pad>`; BERT's is 0.
        first = 0 if tokens.start == "[CLS]" else pad + 1
        model = _model_section(folder, config, first)
        subwords = tokens.subwords(folder, bart.named(names, order))
        return Pretrained(
            model=model,
            weights=_weights(tensors, folder, model, order, first),
            vocabularies=Vocabularies(subwords, subwords),
            task="classification",
            sections={"classification": {"pooling": "first"}},
        )

    return read


def _model_section(folder: Path, config: Mapping[str, Any], first: int) -> dict[str, Any]:
    width, kind = config["hidden_size"], config.get("position_embedding_type", "absolute")
    bart.check_supported(
        folder,
        embeddings_of_another_width=config.get("embedding_size", width) != width,
        positions_that_are_relative=kind != "absolute",
    )
    model = bart.section_by(_KEYS, folder, {**_DEFAULTS, **config})
    return model | {
        "decoder_layers": 1,  # there is none
        "max_length": model["max_length"] - first,
        "embedding_norm": "encoder",
        "positions": "learned",
    }


def _weights(
    tensors: Tensors, folder: Path, model: Mapping[str, Any], order: Sequence[int], first: int
) -> Arrays:
    width = model["d_model"]
    published = bart.Published(tensors, folder, model)
    positions = published.take("position_embeddings.weight", None, width)
    segments = published.take("token_type_embeddings.weight", None, width)
    tensors["model.encoder.embed_positions.weight"] = positions[first:] + segments[0]
    table = published.table(order, "word_embeddings")
    return {
        "embedding": table / np.float32(width**0.5),  # ours is scaled by that when it is read
        **published.stack("encoder"),
        # The outputs are for training to make.
        "head.kernel": np.zeros((width, 0), np.float32),
        "head.bias": np.zeros(0, np.float32),
    }


def _renamed(tensors: Tensors) -> Tensors:
    found: Tensors = {}
    for name, tensor in tensors.items():
        ours = name
        for pattern, replacement in _RENAMED:
            ours = re.sub(pattern, replacement, ours)
        found[ours] = tensor
    return found


def _word_pieces(folder: Path, tokens: Sequence[str]) -> Subwords:
    return tokenizer_file.word_pieces(folder, tokens, "[UNK]")


def _byte_bpe(folder: Path, tokens: Sequence[str]) -> Subwords:
    return tokenizer_file.byte_bpe(folder, tokens, "<unk>", prefix_space=False)


def _piece_names(folder: Path) -> list[str]:
    """Return the published names: those of SentencePiece, but for the first ones and the last."""
    return ["<s>", "<pad>", "</s>", "<unk>", *piece_names(folder / _PIECES)[3:], "<mask>"]


def _pieces(folder: Path, tokens: Sequence[str]) -> Subwords:
    return read_subwords(folder / _PIECES, tokens)


_OF_BERT = _Tokens("[CLS]", "[SEP]", "[PAD]", tokenizer_file.read_names, _word_pieces)
_OF_ROBERTA = _Tokens("<s>", "</s>", "<pad>", tokenizer_file.read_names, _byte_bpe)
_OF_XLM = _Tokens("<s>", "</s>", "<pad>", _piece_names, _pieces)
BERT = Family("BERT", tokenizer_file.FILES, _read(_OF_BERT))
ELECTRA = Family("ELECTRA", tokenizer_file.FILES, _read(_OF_BERT))
ROBERTA = Family("RoBERTa", tokenizer_file.FILES, _read(_OF_ROBERTA))
XLM_ROBERTA = Family("XLM-RoBERTa", (_PIECES, "tokenizer_config.json"), _read(_OF_XLM))
