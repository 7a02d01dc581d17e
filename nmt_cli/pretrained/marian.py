"""Marian and OPUS-MT, in the layout of Hugging Face `transformers` (`model_type: marian`).

The Transformer of Vaswani et al. with biases in attention, SiLU, norms behind sublayers, sinusoids
whose sines come first, and a bias of the output. Its decoder starts from `<pad>`, so that row of
the table becomes the one of `<s>`.

Reference: Junczys-Dowmunt et al. 2018 (Marian), arXiv 1804.00344; Tiedemann and Thottingal 2020
(OPUS-MT), EAMT.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import sinusoids
from nmt_cli.pretrained import bart
from nmt_cli.pretrained.layout import Array
from nmt_cli.pretrained.model import Family, Pretrained
from nmt_cli.pretrained.sentencepiece_file import read_subwords
from nmt_cli.pretrained.tensors import Tensors, read_tensors
from nmt_cli.text.languages import Languages
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID, UNKNOWN
from nmt_cli.text.vocabulary import Vocabularies

_FILES = ("source.spm", "target.spm", "vocab.json", "target_vocab.json", "tokenizer_config.json")
_TAG = re.compile(">>[^<>]+<<")  # of a target language


def read(folder: Path, config: Mapping[str, Any]) -> Pretrained:
    """Return the model of a folder whose `config.json` is given.

    Raises:
        ModelFileError: A file is missing or damaged, they do not fit each other, or the model is of
            a kind that is not supported.
    """
    names = _read_vocabulary(folder / "vocab.json", config["vocab_size"])
    target_names = names
    if not config.get("share_encoder_decoder_embeddings", True):
        size = config.get("decoder_vocab_size") or config["vocab_size"]
        target_names = _read_vocabulary(folder / "target_vocab.json", size)
    bart.check_supported(
        folder,
        norms_before_sublayers=bool(config.get("normalize_before")),
        a_norm_of_the_embeddings=bool(config.get("normalize_embedding")),
    )
    model = bart.model_section(folder, config) | {"positions": "table"}
    return assemble(folder, config, model, (names, target_names), lambda: read_tensors(folder))


def assemble(
    folder: Path,
    config: Mapping[str, Any],
    model: dict[str, Any],
    names: tuple[list[str], list[str]],
    tensors: Callable[[], Tensors],
) -> Pretrained:
    """Return a model of its parts; `names` are those of all published ids of both sides."""
    tags = [name for name in names[0] if _TAG.fullmatch(name)]
    pad, eos = config["pad_token_id"], config["eos_token_id"]
    ids = {"pad": pad, "eos": eos, "start": config.get("decoder_start_token_id", pad)}
    orders = [bart.order_of(side, folder / "vocab.json", **ids, tags=tags) for side in names]
    if names[0] is names[1]:
        orders[1] = orders[0]
    if {side[eos] for side in names} != {CONTROL_TOKENS[EOS_ID]}:
        raise ModelFileError(f"{folder}/vocab.json: does not hold </s> where config.json says")
    languages = _languages(folder)
    published = bart.Published(tensors(), folder, model)
    positions = halved_sinusoids(model["max_length"], model["d_model"])
    weights = published.weights(config, orders, positions)
    return Pretrained(
        model=model,
        weights=weights,
        vocabularies=Vocabularies(
            read_subwords(folder / "source.spm", bart.named(names[0], orders[0], tags), tags),
            read_subwords(folder / "target.spm", bart.named(names[1], orders[1], tags), tags),
            _languages_of(tags, languages[0]),
        ),
        languages=("", "") if tags else languages,
    )


def _languages_of(tags: list[str], source: str) -> Languages:
    """Return the languages of a model whose sources begin with `>>deu<<` for German output."""
    return Languages({source: ""} if source else {}, {tag[2:-2]: tag for tag in tags})


def _read_vocabulary(path: Path, size: int) -> list[str]:
    """Return the names of all ids."""
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
        names = sorted(ids, key=ids.__getitem__)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a vocabulary: {error}") from error
    if sorted(ids.values()) != list(range(len(ids))) or len(ids) != size:
        raise ModelFileError(f"{path}: its {len(ids):,} tokens are not numbered 0 to {size - 1:,}")
    if UNKNOWN not in ids:
        raise ModelFileError(f"{path}: has no {UNKNOWN}")
    return names


def _languages(folder: Path) -> tuple[str, str]:
    try:
        known = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        return str(known.get("source_lang") or ""), str(known.get("target_lang") or "")
    except (OSError, ValueError, AttributeError):
        return "", ""


def halved_sinusoids(length: int, d_model: int) -> Array:
    """Return positions [length, d_model] with all sines in the first half of the columns."""
    return sinusoids(length, d_model)[:, [*range(0, d_model, 2), *range(1, d_model, 2)]]


FAMILY = Family("Marian, OPUS-MT", _FILES, read)
