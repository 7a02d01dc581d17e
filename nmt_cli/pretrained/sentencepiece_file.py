"""A SentencePiece model and a published vocabulary -> `Subwords`, which reads and writes alike.

The first ids are our control tokens; the published tokens follow in their order, without those that
a control token stands for. A name that no text may make, such as that of a token of the other
side's model, begins with a space (`HIDDEN`): a text that is split has none.

Reference: Kudo 2018 (unigram segmentation), arXiv 1804.10959; Kudo and Richardson 2018
(SentencePiece), arXiv 1808.06226.
"""

import base64
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from sentencepiece.sentencepiece_model_pb2 import ModelProto, TrainerSpec
from tokenizers import Regex, Tokenizer, models, normalizers

from nmt_cli.errors import ModelFileError
from nmt_cli.files import os_errors_as
from nmt_cli.pretrained.character_map import read_character_map
from nmt_cli.pretrained.published import Published
from nmt_cli.pretrained.tokenizer_file import Merges
from nmt_cli.text.imported import SPACES, SPACES_AROUND, as_sentencepiece
from nmt_cli.text.special_tokens import HIDDEN, UNKNOWN
from nmt_cli.text.tokenizer import Subwords

_WRITTEN = (ModelProto.SentencePiece.NORMAL, ModelProto.SentencePiece.USER_DEFINED)
_ONE_SPACE = normalizers.Replace(Regex(SPACES), " ")
_NONE_AROUND = normalizers.Replace(Regex(SPACES_AROUND), "")  # tabs are no spaces


def read_subwords(path: Path, tokens: Sequence[str], tags: Sequence[str] = ()) -> Subwords:
    """Return subwords that split as a SentencePiece model does.

    Args:
        path: The `.spm` or `.model` file.
        tokens: The names of all ids, as `bart.numbered` gives them; `<unk>` is among them. Tokens
            of the model that are not among them are not used.
        tags: Those of languages, which follow the control tokens.

    Raises:
        ModelFileError: The file is missing, damaged, or of a kind that is not supported.
    """
    model = _parsed(path, TrainerSpec.UNIGRAM)
    if model.trainer_spec.treat_whitespace_as_suffix:
        raise ModelFileError(f"{path}: a word marker behind words is not supported")
    if UNKNOWN not in tokens:
        raise ModelFileError(f"{path}: its vocabulary has no {UNKNOWN}")
    scores = _scores(model)
    names = [n if n in scores or n.startswith(HIDDEN) else HIDDEN + n for n in tokens]
    if len({*names}) < len(names):
        raise ModelFileError(f"{path}: its vocabulary holds a token twice")
    vocabulary = [(name, scores.get(name, 0.0)) for name in names]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=tokens.index(UNKNOWN)))
    tokenizer.normalizer = _normalizer(model.normalizer_spec, path)
    prefix = "always" if model.normalizer_spec.add_dummy_prefix else "never"
    return Subwords(as_sentencepiece(tokenizer, prefix=prefix), tags)


def read_merges(path: Path) -> tuple[Merges, normalizers.Normalizer]:
    """Return the merges of a SentencePiece model of the BPE kind, and its normaliser.

    The likeliest piece is merged first; of its two parts any that are pieces. ModelFileError: The
    file is missing, damaged, or of another kind.
    """
    model = _parsed(path, TrainerSpec.BPE)
    scores = _scores(model)
    places = {piece: place for place, piece in enumerate(scores)}
    merges = []
    for piece, score in scores.items():
        halves = ((piece[:i], piece[i:]) for i in range(1, len(piece)))
        for left, right in halves:
            if left in scores and right in scores:
                merges.append((-score, len(left), len(right), places[left], left, right))
    found = [(left, right) for *_, left, right in sorted(merges)]
    return found, _normalizer(model.normalizer_spec, path)


def normalizer_of(published: Published) -> normalizers.Normalizer:
    """Return the normaliser of such a BPE model that was published as a `tokenizer.json`."""
    whole = published.tokenizer["normalizer"] or {"normalizers": []}
    steps = whole.get("normalizers", [whole])
    maps = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
    path = published.folder / "tokenizer.json"
    found = [read_character_map(base64.b64decode(encoded), path) for encoded in maps]
    return normalizers.Sequence([*found, _ONE_SPACE])


def subwords_of_merges(
    tokens: Sequence[str], merges: Merges, normalizer: normalizers.Normalizer, tags: Sequence[str]
) -> Subwords:
    """Return subwords that merge characters; `tokens` and `tags` as for `read_subwords`."""
    ids = {name: number for number, name in enumerate(tokens)}
    fitting = [pair for pair in merges if {*pair, "".join(pair)} <= ids.keys()]
    bpe = models.BPE(vocab=ids, merges=fitting, unk_token=UNKNOWN, fuse_unk=True)
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizer
    return Subwords(as_sentencepiece(tokenizer, prefix="always"), tags)


def piece_names(path: Path) -> list[str]:
    """Return the names of all pieces of a unigram model; ModelFileError if it is none."""
    return [piece.piece for piece in _parsed(path, TrainerSpec.UNIGRAM).pieces]


def _parsed(path: Path, kind: int) -> Any:
    with os_errors_as(ModelFileError, f"{path}: cannot be read"):
        content = path.read_bytes()
    try:
        model = ModelProto.FromString(content)
    except DecodeError as error:
        raise ModelFileError(f"{path}: not a SentencePiece model: {error}") from error
    if not (model.pieces and model.HasField("trainer_spec") and model.HasField("normalizer_spec")):
        raise ModelFileError(f"{path}: not a SentencePiece model, or cut short")
    if model.trainer_spec.model_type != kind or model.trainer_spec.byte_fallback:
        only = f"{TrainerSpec.ModelType.Name(kind)} models without byte fallback"
        raise ModelFileError(f"{path}: only {only} are supported")
    if not all(math.isfinite(piece.score) for piece in model.pieces):
        raise ModelFileError(f"{path}: the score of a token is not finite")
    return model


def _scores(model: Any) -> dict[str, float]:
    """Return the score of each piece that a text may make."""
    return {p.piece: p.score for p in model.pieces if p.type in _WRITTEN}


def _normalizer(spec: Any, path: Path) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = []
    if spec.precompiled_charsmap:
        steps.append(read_character_map(spec.precompiled_charsmap, path))
    if spec.remove_extra_whitespaces:
        steps += [_NONE_AROUND, _ONE_SPACE]
    return normalizers.Sequence(steps)
