"""The kinds of vocabularies that `nmt import` writes, beside nmt's own: how each splits and joins.

A file that came from elsewhere is read only if it is of one of these kinds to the letter: a pattern
of somebody else's might never come to an end.

Reference: Sennrich et al. 2016 (byte-pair encoding), arXiv 1508.07909; Radford et al. 2019 (of
bytes); Schuster and Nakajima 2012 (word pieces); Kudo 2018 (unigrams), arXiv 1804.10959.
"""

import json
from collections.abc import Iterator
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from nmt_cli.text.special_tokens import HIDDEN, UNKNOWN, WORD_MARKER

SPACES, SPACES_AROUND = " {2,}", r"\A +| +\z"  # the only patterns in a normaliser
_PREFIXES = ("always", "never")  # whether a text begins with a word marker that it does not have
WORD_END = "</w>"  # behind a token that ends a word
_HIDE = decoders.Replace(Regex(f"^{HIDDEN}.*$"), "")  # control tokens and `<unk>` are no text


def is_imported(tokenizer: Tokenizer) -> bool:
    """Return whether a vocabulary is not of nmt's own kind, which has a token for each byte."""
    model = tokenizer.model
    return not (isinstance(model, models.BPE) and model.byte_fallback)


def is_known(tokenizer: Tokenizer) -> bool:
    """Return whether a vocabulary is of one of the kinds here."""
    found = steps_of(tokenizer)
    kind = type(tokenizer.model).__name__
    return _is_sentencepiece(found) or found in map(steps_of, _twins(kind, found["normalizer"]))


def steps_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return how a vocabulary splits and joins, as its file says it."""
    parts = {name: getattr(tokenizer, name) for name in ("normalizer", "pre_tokenizer", "decoder")}
    return {name: part and json.loads(part.__getstate__()) for name, part in parts.items()}


def as_sentencepiece(tokenizer: Tokenizer, *, prefix: str) -> Tokenizer:
    """Write spaces as word markers, as SentencePiece does, and no hidden names."""
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(WORD_MARKER, prefix)
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(Regex(f"^{HIDDEN}({UNKNOWN}$)?"), ""),
            decoders.Metaspace(WORD_MARKER, prefix),
        ]
    )
    return tokenizer


def as_small_bpe(tokenizer: Tokenizer) -> Tokenizer:
    """Split words at spaces and before punctuation, as BlenderbotSmall does; in lower case."""
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex("[.,!?()]"), "merged_with_next"),
            pre_tokenizers.Split("'", "isolated"),
        ]
    )
    tokenizer.decoder = decoders.Sequence([_HIDE, decoders.BPEDecoder(WORD_END)])
    return tokenizer


def as_byte_bpe(tokenizer: Tokenizer, *, prefix_space: bool) -> Tokenizer:
    """Split UTF-8 bytes, which stand as printable characters, as GPT-2 does."""
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    steps = [_HIDE, decoders.ByteLevel()]
    tokenizer.decoder = decoders.Sequence(
        [*steps, decoders.Strip(" ", 1, 0)] if prefix_space else steps
    )
    return tokenizer


def as_word_pieces(
    tokenizer: Tokenizer, *, lowercase: bool, strip_accents: bool | None, chinese: bool
) -> Tokenizer:
    """Split words into pieces, the longest first, as BERT does."""
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=chinese,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.Sequence([_HIDE, decoders.WordPiece(cleanup=False)])
    return tokenizer


def _twins(kind: str, normalizer: Any) -> Iterator[Tokenizer]:
    """Yield tokenizers, of nothing yet, that split and join as those of a kind of model may."""
    if kind == "WordPiece" and normalizer and normalizer["type"] == "BertNormalizer":
        yield as_word_pieces(
            _blank(),
            lowercase=normalizer["lowercase"],
            strip_accents=normalizer["strip_accents"],
            chinese=normalizer["handle_chinese_chars"],
        )
    if kind == "BPE":
        yield as_small_bpe(_blank())
        for prefix_space in (False, True):
            yield as_byte_bpe(_blank(), prefix_space=prefix_space)


def _blank() -> Tokenizer:
    return Tokenizer(models.BPE())


def _is_sentencepiece(found: dict[str, Any]) -> bool:
    """Return whether the parts of a vocabulary are SentencePiece's, whose charsmaps differ."""
    steps = (found["normalizer"] or {}).get("normalizers", ())
    patterns = [step["pattern"] for step in steps if step["type"] == "Replace"]
    twins = [steps_of(as_sentencepiece(_blank(), prefix=prefix)) for prefix in _PREFIXES]
    return (
        {step["type"] for step in steps} <= {"Precompiled", "Strip", "Replace"}
        and all(pattern in ({"Regex": SPACES}, {"Regex": SPACES_AROUND}) for pattern in patterns)
        and any(found == twin | {"normalizer": found["normalizer"]} for twin in twins)
    )
