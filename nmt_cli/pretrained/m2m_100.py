"""M2M-100 and NLLB-200, in the layout of Hugging Face `transformers` (`model_type: m2m_100`).

The Transformer with norms before sublayers and biases in attention. A source begins with the token
of its language, an output is forced to begin with that of its own; the decoder starts from `</s>`,
so that row of the table becomes the one of `<s>` as well. Positions are fairseq's sinusoids: sines
in the first half of the columns, wave lengths up to 10,000 in half - 1 steps, counted from 2.

Reference: Fan et al. 2020, arXiv 2010.11125 (M2M-100); NLLB team 2022, arXiv 2207.04672.
"""

import re
from typing import Any

import numpy as np

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained import bart, sentencepiece_file, tokenizer_file
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.published import Pretrained, Published
from nmt_cli.text.languages import Languages
from nmt_cli.text.special_tokens import UNKNOWN
from nmt_cli.text.vocabulary import Vocabularies

_SPM = "sentencepiece.bpe.model"
_TOLD = ("special_tokens_map.json", "tokenizer_config.json")
FILES = (_SPM, "tokenizer.json", "vocab.json", *_TOLD)
# What M2M-100 knows, in the order of its ids, where no file lists them.
_PUBLISHED = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
    "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn "
    "mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn "
    "tr uk ur uz vi wo xh yi yo zh zu"
)
_TAG = re.compile(r"__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}")  # __de__, deu_Latn
_NO_TEXT = ("", "<s>", "<mask>")  # "" is an id without a token
_LONGEST_WAVE = 10_000.0
_FIRST_POSITION = 2


def read(published: Published) -> Pretrained:
    """Return an M2M-100 or NLLB; ModelFileError if its files are damaged or do not fit."""
    folder, config = published.folder, published.config
    ids, merges, normalizer = _read_tokenizer(published)
    names = [""] * config["vocab_size"]
    for name, number in ids.items():
        if not 0 <= number < len(names) or names[number]:
            raise ModelFileError(f"{folder}: the id of the token {name!r} does not fit config.json")
        names[number] = name
    tags = [name for name in names if _TAG.fullmatch(name)]
    eos, start = config["eos_token_id"], config.get("decoder_start_token_id", 2)
    if not tags or UNKNOWN not in ids or "</s>" not in ids or ids["</s>"] != eos or start != eos:
        raise ModelFileError(f"{folder}: lacks <unk>, </s> or the tokens of languages")
    unused = [number for number, name in enumerate(names) if name in _NO_TEXT]
    roles = start, eos, config["pad_token_id"]
    order, tokens = bart.numbered(names, roles, folder, tags, unused)
    subwords = sentencepiece_file.subwords_of_merges(tokens, merges, normalizer, tags)
    model = bart.model_section(published) | {"norm": "pre", "positions": "table"}
    positions = _positions(model["max_length"], model["d_model"])
    codes = {tag.strip("_"): tag for tag in tags}
    return Pretrained(
        model=model,
        weights=bart.weights_of(published, model, (order, order), positions),
        vocabularies=Vocabularies(subwords, subwords, Languages(codes, codes, is_forced=True)),
    )


def _read_tokenizer(published: Published) -> tuple[dict[str, int], tokenizer_file.Merges, Any]:
    """Return the ids of all named tokens, the merges, and what normalises a text."""
    if not published.has("vocab.json"):  # NLLB
        ids, merges = tokenizer_file.read_ids(published), tokenizer_file.read_merges(published)
        return ids, merges, sentencepiece_file.normalizer_of(published)
    ids = published.json("vocab.json")
    size = len(ids)
    for place, tag in enumerate(_told_tags(published)):  # they follow, in their order
        ids.setdefault(tag, size + place)
    return ids, *sentencepiece_file.read_merges(published.folder / _SPM)


def _told_tags(published: Published) -> list[str]:
    """Return the tokens of languages that a tokenizer's settings list."""
    for name in _TOLD:
        told = published.json(name, default={})
        for key in ("additional_special_tokens", "extra_special_tokens"):
            tags = [str(tag) for tag in told.get(key) or () if _TAG.fullmatch(str(tag))]
            if tags:
                return tags
    return [f"__{code}__" for code in _PUBLISHED.split()]


def _positions(length: int, d_model: int) -> Array:
    """Return fairseq's positions [length, d_model]."""
    half = d_model // 2
    rates = np.exp(np.arange(half) * -(np.log(_LONGEST_WAVE) / (half - 1)))
    angles = np.arange(_FIRST_POSITION, length + _FIRST_POSITION)[:, None] * rates
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    return np.pad(table, [(0, 0), (0, d_model % 2)])
