"""BERT, ELECTRA, RoBERTa and XLM-RoBERTa: encoders to train a classifier from.

All are the encoder of Vaswani et al. with GELU, learned positions and normalised embeddings, to
whose sum BERT adds a vector that says which of two texts a token is of. Here all is of the first,
and that vector is part of the positions. A text is known by the state of its first token.

Reference: Devlin et al. 2019, arXiv 1810.04805; Clark et al. 2020, arXiv 2003.10555; Liu et al.
2019, arXiv 1907.11692; Conneau et al. 2020, arXiv 1911.02116.
"""

from typing import Any

import numpy as np

from nmt_cli.model.weights import Arrays
from nmt_cli.pretrained import bart, tokenizer_file
from nmt_cli.pretrained.published import Pretrained, Published
from nmt_cli.pretrained.sentencepiece_file import piece_names, read_subwords
from nmt_cli.pretrained.tensors import renamed
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_PIECES = "sentencepiece.bpe.model"
XLM_FILES = (_PIECES, "tokenizer_config.json")
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


def read_bert(published: Published) -> Pretrained:
    """Return a BERT or an ELECTRA; ModelFileError as `marian.read`."""
    names = tokenizer_file.read_names(published)
    roles = [*map(names.index, ("[CLS]", "[SEP]", "[PAD]"))]
    order, tokens = bart.numbered(names, roles, published.folder)
    subwords = tokenizer_file.word_pieces(published, tokens, "[UNK]")
    return _pretrained(published, order, subwords, first=0)


def read_roberta(published: Published) -> Pretrained:
    """Return a RoBERTa; ModelFileError as `marian.read`."""
    names = tokenizer_file.read_names(published)
    roles = [*map(names.index, ("<s>", "</s>", "<pad>"))]
    order, tokens = bart.numbered(names, roles, published.folder)
    subwords = tokenizer_file.byte_bpe(published, tokens, "<unk>", prefix_space=False)
    return _pretrained(published, order, subwords, first=roles[2] + 1)


def read_xlm_roberta(published: Published) -> Pretrained:
    """Return an XLM-RoBERTa; ModelFileError as `marian.read`."""
    path = published.folder / _PIECES
    # The names are those of SentencePiece, but for the first ones and the last.
    names = ["<s>", "<pad>", "</s>", "<unk>", *piece_names(path)[3:], "<mask>"]
    roles = [*map(names.index, ("<s>", "</s>", "<pad>"))]
    order, tokens = bart.numbered(names, roles, published.folder)
    return _pretrained(published, order, read_subwords(path, tokens), first=2)


def _pretrained(
    published: Published, order: list[int], subwords: Subwords, *, first: int
) -> Pretrained:
    """Return an encoder; `first` is the row of the first position, behind `<pad>` in RoBERTa."""
    config = published.config
    width, kind = config["hidden_size"], config.get("position_embedding_type", "absolute")
    kinds = {
        "embeddings of another width": config.get("embedding_size", width) != width,
        "positions that are relative": kind != "absolute",
    }
    bart.refuse(published.folder / "config.json", kinds)
    defaults = {"attention_dropout": 0.1, "activation": "gelu", "norm_epsilon": 1e-12}
    model = bart.section_by(_KEYS, config, published.folder, **defaults)
    model |= {"embedding_norm": "encoder", "positions": "learned"}
    model["decoder_layers"] = 1  # there is none
    model["max_length"] -= first
    return Pretrained(
        model=model,
        weights=_weights(published, model, order, first),
        vocabularies=Vocabularies(subwords, subwords),
        task="classification",
        sections={"classification": {"pooling": "first"}},
    )


def _weights(published: Published, model: dict[str, Any], order: list[int], first: int) -> Arrays:
    width = model["d_model"]
    published.tensors = renamed(published.tensors, _RENAMED)
    positions = published.take("position_embeddings.weight", None, width)
    segments = published.take("token_type_embeddings.weight", None, width)
    published.tensors["model.encoder.embed_positions.weight"] = positions[first:] + segments[0]
    table = bart.table(published, model, order, ["word_embeddings"])
    return {
        "embedding": table / np.float32(width**0.5),  # ours is scaled by that when it is read
        **bart.stack("encoder", published, model),
        # The outputs are for training to make.
        "head.kernel": np.zeros((width, 0), np.float32),
        "head.bias": np.zeros(0, np.float32),
    }
