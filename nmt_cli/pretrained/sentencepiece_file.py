"""A SentencePiece model and a published vocabulary -> `Subwords`, which reads and writes alike.

The first ids are our control tokens; the published tokens follow in their order, without those that
a control token stands for. A name that no text may make, such as that of a token of the other
side's model, begins with a space (`HIDDEN`): a text that is split has none.

Reference: Kudo 2018 (unigram segmentation), arXiv 1804.10959; Kudo and Richardson 2018
(SentencePiece), arXiv 1808.06226.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, models, normalizers

from nmt_cli.errors import ModelFileError
from nmt_cli.text.imported import IMPORTED_PATTERN, as_sentencepiece
from nmt_cli.text.special_tokens import CONTROL_TOKENS, HIDDEN, UNKNOWN
from nmt_cli.text.tokenizer import Subwords

_UNIGRAM, _BPE = 1, 2  # of `TrainerSpec.ModelType`
_NORMAL, _USER_DEFINED = 1, 4  # of `SentencePiece.Type`


def read_subwords(path: Path, tokens: Sequence[str], tags: Sequence[str] = ()) -> Subwords:
    """Return subwords that split as a SentencePiece model does.

    Args:
        path: The `.spm` or `.model` file.
        tokens: The names of all ids, those of the control tokens first; `<unk>` is among them.
            Tokens of the model that are not among them are not used.
        tags: Those of languages, which follow the control tokens.

    Raises:
        ModelFileError: The file is missing, damaged, or of a kind that is not supported.
    """
    model = _parsed(path)
    if model.trainer_spec.model_type != _UNIGRAM or model.trainer_spec.byte_fallback:
        raise ModelFileError(f"{path}: only unigram models without byte fallback are supported")
    if model.trainer_spec.treat_whitespace_as_suffix:
        raise ModelFileError(f"{path}: a word marker behind words is not supported")
    scores = {p.piece: p.score for p in model.pieces if p.type in (_NORMAL, _USER_DEFINED)}
    head = len(CONTROL_TOKENS) + len(tags)
    names = [name if name in scores else HIDDEN + name for name in tokens[head:]]
    vocabulary = [(HIDDEN + name, 0.0) for name in tokens[:head]]
    vocabulary += [(name, scores.get(name, 0.0)) for name in names]
    if len({name for name, _ in vocabulary}) < len(vocabulary):
        raise ModelFileError(f"{path}: its vocabulary holds a token twice")
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=tokens.index(UNKNOWN)))
    tokenizer.normalizer = normalizers.Sequence(_normalizers(model.normalizer_spec))
    prefix = "always" if model.normalizer_spec.add_dummy_prefix else "never"
    return Subwords(as_sentencepiece(tokenizer, prefix=prefix), tags)


def read_merges(path: Path) -> tuple[list[tuple[str, str]], normalizers.Normalizer]:
    """Return the merges of a SentencePiece model of the BPE kind, and its normaliser.

    The likeliest piece is merged first; of its two parts any that are pieces.

    Raises:
        ModelFileError: The file is missing, damaged, or of another kind.
    """
    model = _parsed(path)
    if model.trainer_spec.model_type != _BPE or model.trainer_spec.byte_fallback:
        raise ModelFileError(f"{path}: only BPE models without byte fallback are supported")
    scores = {p.piece: p.score for p in model.pieces if p.type in (_NORMAL, _USER_DEFINED)}
    places = {piece: place for place, piece in enumerate(scores)}
    merges = []
    for piece, score in scores.items():
        halves = ((piece[:i], piece[i:]) for i in range(1, len(piece)))
        for left, right in halves:
            if left in scores and right in scores:
                merges.append((-score, len(left), len(right), places[left], left, right))
    found = [(left, right) for *_, left, right in sorted(merges)]
    return found, normalizers.Sequence(_normalizers(model.normalizer_spec))


def read_published(
    path: Path,
) -> tuple[dict[str, int], list[tuple[str, str]], normalizers.Normalizer]:
    """Return the ids, the merges and the normaliser of a `tokenizer.json` that is such a BPE model.

    Raises:
        ModelFileError: The file is missing, damaged, or of another kind.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        model, normalizer = values["model"], values["normalizer"] or {"normalizers": []}
        ids = {str(name): int(number) for name, number in model["vocab"].items()}
        ids |= {str(token["content"]): int(token["id"]) for token in values["added_tokens"]}
        pairs = (m.split(" ") if isinstance(m, str) else m for m in model["merges"])
        merges = [(str(left), str(right)) for left, right in pairs]
        steps = normalizer.get("normalizers", [normalizer])
        charsmaps = [step for step in steps if step["type"] == "Precompiled"]
        found = [_from_json(step) for step in charsmaps]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a tokenizer of merges: {error!r}") from error
    found.append(normalizers.Replace(Regex(IMPORTED_PATTERN), " "))
    return ids, merges, normalizers.Sequence(found)


def _from_json(step: dict[str, Any]) -> normalizers.Normalizer:
    """Return a normaliser; `tokenizers` reads one from JSON as a part of a tokenizer alone."""
    whole = json.loads(Tokenizer(models.BPE()).to_str()) | {"normalizer": step}
    try:
        found: normalizers.Normalizer = Tokenizer.from_str(json.dumps(whole)).normalizer
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(error) from error
    return found


def subwords_of_merges(
    names: Sequence[str],
    merges: Sequence[tuple[str, str]],
    normalizer: normalizers.Normalizer,
    tags: Sequence[str],
) -> Subwords:
    """Return subwords that merge characters; `names` are those of all ids behind the tags."""
    hidden = [HIDDEN + name for name in (*CONTROL_TOKENS, *tags)]
    ids = {name: number for number, name in enumerate([*hidden, *names])}
    fitting = [pair for pair in merges if {*pair, "".join(pair)} <= ids.keys()]
    bpe = models.BPE(vocab=ids, merges=fitting, unk_token=UNKNOWN, fuse_unk=True)
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizer
    return Subwords(as_sentencepiece(tokenizer, prefix="always"), tags)


def piece_names(path: Path) -> list[str]:
    """Return the names of all pieces; ModelFileError if that is no SentencePiece model."""
    return [piece.piece for piece in _parsed(path).pieces]


def _parsed(path: Path) -> Any:
    model = sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except (DecodeError, OSError) as error:
        raise ModelFileError(f"{path}: not a SentencePiece model: {error}") from error
    if not model.pieces:
        raise ModelFileError(f"{path}: not a SentencePiece model: it has no tokens")
    return model


def _normalizers(spec: Any) -> list[normalizers.Normalizer]:
    steps: list[normalizers.Normalizer] = []
    if spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
    if spec.remove_extra_whitespaces:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(IMPORTED_PATTERN), " ")]
    return steps
