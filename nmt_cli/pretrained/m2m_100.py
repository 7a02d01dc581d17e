"""M2M-100 and NLLB-200, in the layout of Hugging Face `transformers` (`model_type: m2m_100`).

The Transformer with norms before sublayers and biases in attention. A source begins with the token
of its language, an output is forced to begin with that of its own; the decoder starts from `</s>`,
so that row of the table becomes the one of `<s>` as well. Positions are fairseq's sinusoids: sines
in the first half of the columns, wave lengths up to 10,000 in half - 1 steps, counted from 2.

Reference: Fan et al. 2020, arXiv 2010.11125 (M2M-100); NLLB team 2022, arXiv 2207.04672.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained import bart
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.model import Family, Pretrained
from nmt_cli.pretrained.sentencepiece_file import read_merges, read_published, subwords_of_merges
from nmt_cli.pretrained.tensors import read_tensors
from nmt_cli.text.languages import Languages
from nmt_cli.text.special_tokens import UNKNOWN
from nmt_cli.text.vocabulary import Vocabularies

_SPM, _JSON = "sentencepiece.bpe.model", "tokenizer.json"
_TOLD = ("special_tokens_map.json", "tokenizer_config.json")
_FILES = (_SPM, _JSON, "vocab.json", *_TOLD)
# What M2M-100 knows, in the order of its ids, where no file lists them.
_PUBLISHED = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
    "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn "
    "mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn "
    "tr uk ur uz vi wo xh yi yo zh zu"
)
_TAG = re.compile(r"__(?P<code>[a-z]{2,3})__|[a-z]{3}_[A-Z][a-z]{3}")  # __de__, deu_Latn
_NO_TEXT = ("<s>", "<pad>", "</s>", "<mask>")
_LONGEST_WAVE = 10_000.0
_FIRST_POSITION = 2


def read(folder: Path, config: Mapping[str, Any]) -> Pretrained:
    """Return the model of a folder whose `config.json` is given.

    Raises:
        ModelFileError: A file is missing or damaged, or they do not fit each other.
    """
    ids, merges, normalizer = _read_tokenizer(folder)
    names: list[str | None] = [None] * config["vocab_size"]
    for name, number in ids.items():
        if not 0 <= number < len(names) or names[number] is not None:
            raise ModelFileError(f"{folder}: the id of the token {name!r} does not fit config.json")
        names[number] = name
    tags = {name: number for number, name in enumerate(names) if name and _TAG.fullmatch(name)}
    eos, start = config["eos_token_id"], config.get("decoder_start_token_id", 2)
    if not tags or UNKNOWN not in ids or "</s>" not in ids or ids["</s>"] != eos or start != eos:
        raise ModelFileError(f"{folder}: lacks <unk>, </s> or the tokens of languages")
    text = [i for i, name in enumerate(names) if name and name not in (*tags, *_NO_TEXT)]
    order = [*bart.control_order(start=start, eos=eos), *tags.values(), *text]
    subwords = subwords_of_merges(
        [names[i] or "" for i in text], merges, normalizer, tags=list(tags)
    )
    model = bart.model_section(folder, config) | {"norm": "pre", "positions": "table"}
    positions = _positions(model["max_length"], model["d_model"])
    published = bart.Published(read_tensors(folder), folder, model)
    weights = published.weights(config, (order, order), positions)
    codes = {_code(tag): tag for tag in tags}
    return Pretrained(
        model=model,
        weights=weights,
        vocabularies=Vocabularies(subwords, subwords, Languages(codes, codes, is_forced=True)),
    )


def _code(tag: str) -> str:
    found = _TAG.fullmatch(tag)
    return (found and found["code"]) or tag


def _read_tokenizer(folder: Path) -> tuple[dict[str, int], list[tuple[str, str]], Any]:
    """Return the ids of all named tokens, the merges, and what normalises a text."""
    if (folder / _JSON).is_file() and not (folder / "vocab.json").is_file():
        return read_published(folder / _JSON)  # NLLB
    try:
        ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        size = len(ids)
        for place, tag in enumerate(_told_tags(folder)):  # they follow, in their order
            ids.setdefault(tag, size + place)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{folder}/vocab.json: not a vocabulary: {error}") from error
    return ids, *read_merges(folder / _SPM)


def _told_tags(folder: Path) -> list[str]:
    """Return the tokens of languages that a tokenizer's settings list."""
    for name in _TOLD:
        if (folder / name).is_file():
            told = json.loads((folder / name).read_text(encoding="utf-8"))
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


FAMILY = Family("M2M-100, NLLB-200", _FILES, read)
