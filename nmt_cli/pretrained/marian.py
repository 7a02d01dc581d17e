"""Marian and OPUS-MT, in the layout of Hugging Face `transformers` (`model_type: marian`).

The Transformer of Vaswani et al. with biases in attention, SiLU, norms behind sublayers, sinusoids
whose sines come first, and a bias of the output. Its decoder starts from `<pad>`, so that row of
the table becomes the one of `<s>`.

Reference: Junczys-Dowmunt et al. 2018 (Marian), arXiv 1804.00344; Tiedemann and Thottingal 2020
(OPUS-MT), EAMT.
"""

import re
from typing import Any

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import sinusoids
from nmt_cli.pretrained import bart
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.published import Pretrained, Published
from nmt_cli.pretrained.sentencepiece_file import read_subwords
from nmt_cli.pretrained.tokenizer_file import in_order
from nmt_cli.text.languages import Languages
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

FILES = ("source.spm", "target.spm", "vocab.json", "target_vocab.json", "tokenizer_config.json")
_TAG = re.compile(">>[^<>]+<<")  # of a target language, which a source then begins with


def read(published: Published) -> Pretrained:
    """Return a model of Marian's.

    Raises:
        ModelFileError: A file is missing or damaged, they do not fit each other, or the model is of
            a kind that is not supported.
    """
    config = published.config
    names = _read_names(published, "vocab.json", config["vocab_size"])
    target_names = names
    if not config.get("share_encoder_decoder_embeddings", True):
        size = config.get("decoder_vocab_size") or config["vocab_size"]
        target_names = _read_names(published, "target_vocab.json", size)
    kinds = {
        "norms before sublayers": bool(config.get("normalize_before")),
        "a norm of the embeddings": bool(config.get("normalize_embedding")),
    }
    bart.refuse(published.folder / "config.json", kinds)
    model = bart.model_section(published) | {"positions": "table"}
    return assemble(published, model, (names, target_names))


def assemble(
    published: Published, model: dict[str, Any], names: tuple[list[str], list[str]]
) -> Pretrained:
    """Return a model of its parts; `names` are those of all published ids of both sides."""
    folder, config = published.folder, published.config
    tags = [name for name in names[0] if _TAG.fullmatch(name)]
    pad, eos = config["pad_token_id"], config["eos_token_id"]
    roles = config.get("decoder_start_token_id", pad), eos, pad
    source, target = (bart.numbered(n, roles, folder / "vocab.json", tags) for n in names)
    if names[0] is names[1]:
        target = source
    if {side[eos] for side in names} != {CONTROL_TOKENS[EOS_ID]}:
        raise ModelFileError(f"{folder}/vocab.json: does not hold </s> where config.json says")
    settings = published.json("tokenizer_config.json", default={})
    source_lang = str(settings.get("source_lang") or "")
    target_lang = str(settings.get("target_lang") or "")
    orders = source.published, target.published
    positions = halved_sinusoids(model["max_length"], model["d_model"])
    return Pretrained(
        model=model,
        weights=bart.weights_of(published, model, orders, positions),
        vocabularies=Vocabularies(
            read_subwords(folder / "source.spm", source.tokens, tags),
            read_subwords(folder / "target.spm", target.tokens, tags),
            Languages({source_lang: ""} if source_lang else {}, {tag[2:-2]: tag for tag in tags}),
        ),
        languages=("", "") if tags else (source_lang, target_lang),
    )


def _read_names(published: Published, file: str, size: int) -> list[str]:
    names = in_order(published.json(file), published.folder / file)
    if len(names) != size:
        problem = f"has {len(names):,} tokens, where config.json says {size}"
        raise ModelFileError(f"{published.folder / file}: {problem}")
    return names


def halved_sinusoids(length: int, d_model: int) -> Array:
    """Return positions [length, d_model] with all sines in the first half of the columns."""
    return sinusoids(length, d_model)[:, [*range(0, d_model, 2), *range(1, d_model, 2)]]
