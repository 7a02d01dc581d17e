"""Published vocabularies of byte-pair encoding and of word pieces -> `Subwords`, ids as published.

Of a `tokenizer.json` only the vocabulary, the merges and a few switches are taken, never how it
says that text is to be split: that is one of the known ways of `text/imported.py`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models

from nmt_cli.errors import ModelFileError
from nmt_cli.text.imported import WORD_END, as_byte_bpe, as_small_bpe, as_word_pieces
from nmt_cli.text.special_tokens import CONTROL_TOKENS, HIDDEN
from nmt_cli.text.tokenizer import Subwords

FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "vocab.txt")
_CONTINUES = "@@"  # behind a token of BlenderbotSmall's that does not end a word
_PIECE = "##"  # in front of a piece that does not begin a word


def read_names(folder: Path) -> list[str]:
    """Return the published names of all ids.

    Raises:
        ModelFileError: There is no vocabulary, or its ids are not 0, 1, 2, ...
    """
    state = _tokenizer_json(folder)
    try:
        if state:
            ids = dict(state["model"]["vocab"])
            ids |= {token["content"]: token["id"] for token in state.get("added_tokens", ())}
        elif (folder / "vocab.txt").exists():
            lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
            ids = {name: i for i, name in enumerate(lines) if name}
        else:
            ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        names = sorted(ids, key=ids.__getitem__)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{folder}: holds no vocabulary that can be read: {error}") from error
    if [ids[name] for name in names] != list(range(len(names))):
        raise ModelFileError(f"{folder}: the tokens of its vocabulary are not numbered from 0")
    return names


def read_merges(folder: Path) -> list[tuple[str, str]]:
    """Return the pairs of tokens that are merged, the first ones first."""
    state = _tokenizer_json(folder)
    try:
        if state:
            rows: list[Any] = state["model"]["merges"]
        else:
            rows = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
            rows = [row for row in rows[rows[0].startswith("#version") :] if row]
        pairs = [tuple(row.split(" ") if isinstance(row, str) else row) for row in rows]
        return [(left, right) for left, right in pairs]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{folder}: its merges cannot be read: {error}") from error


def byte_bpe(folder: Path, tokens: Sequence[str], unknown: str, *, prefix_space: bool) -> Subwords:
    """Return byte-level subwords with these names of all ids, control tokens first.

    `prefix_space`: whether a space is put in front of a text, where no file says it.
    """
    key = "add_prefix_space"
    space = _setting(folder, "pre_tokenizer", key, key, default=prefix_space)
    tokenizer = _bpe(folder, _hidden(tokens, unknown), read_merges(folder), unknown)
    return Subwords(as_byte_bpe(tokenizer, prefix_space=bool(space)))


def small_bpe(folder: Path, tokens: Sequence[str], unknown: str) -> tuple[Subwords, int]:
    """Return BlenderbotSmall's subwords, and how many tokens it had to be given.

    Merges make tokens that its vocabulary lacks, which then stand for the unknown token.
    """
    head = len(CONTROL_TOKENS)
    names = [name.removesuffix(_CONTINUES) if name.endswith(_CONTINUES) else name + WORD_END
             for name in tokens[head:]]  # fmt: skip
    names = _hidden([*tokens[:head], *names], unknown + WORD_END)
    merges, known = read_merges(folder), set(names)
    made = dict.fromkeys(part for pair in merges for part in (*pair, "".join(pair)))
    extra = [part for part in made if part not in known]
    tokenizer = _bpe(
        folder, [*names, *extra], merges, unknown + WORD_END, end_of_word_suffix=WORD_END
    )
    return Subwords(as_small_bpe(tokenizer)), len(extra)


def word_pieces(folder: Path, tokens: Sequence[str], unknown: str) -> Subwords:
    """Return word pieces with these names of all ids, control tokens first."""
    lower = _setting(folder, "normalizer", "lowercase", "do_lower_case", default=True)
    accents = _setting(folder, "normalizer", "strip_accents", "strip_accents", default=None)
    chinese = _setting(
        folder, "normalizer", "handle_chinese_chars", "tokenize_chinese_chars", default=True
    )
    ids = {name: i for i, name in enumerate(_hidden(tokens, unknown))}
    model = models.WordPiece(ids, unk_token=HIDDEN + unknown, continuing_subword_prefix=_PIECE)
    flags = {"lowercase": bool(lower), "strip_accents": accents, "chinese": bool(chinese)}
    return Subwords(as_word_pieces(Tokenizer(model), **flags))


def _bpe(
    folder: Path,
    names: Sequence[str],
    merges: list[tuple[str, str]],
    unknown: str,
    **options: str,
) -> Tokenizer:
    ids = {name: i for i, name in enumerate(names)}
    try:
        model = models.BPE(ids, merges, unk_token=HIDDEN + unknown, **options)
    except Exception as error:  # the library has no class of its own
        raise ModelFileError(f"{folder}: merges and vocabulary do not fit: {error}") from error
    return Tokenizer(model)


def _hidden(tokens: Sequence[str], unknown: str) -> list[str]:
    """Return names in which those of control tokens and of the unknown token match no text."""
    head = len(CONTROL_TOKENS)
    names = [HIDDEN + name for name in tokens[:head]]
    return names + [HIDDEN + name if name == unknown else name for name in tokens[head:]]


def _setting(folder: Path, part: str, key: str, config_key: str, *, default: bool | None) -> Any:
    """Return a switch as `tokenizer.json` has it, else `tokenizer_config.json`."""
    found = (_tokenizer_json(folder).get(part) or {}).get(key)
    if found is None:
        found = _json(folder / "tokenizer_config.json").get(config_key, default)
    return found if found is None or isinstance(found, bool) else default


def _tokenizer_json(folder: Path) -> dict[str, Any]:
    return _json(folder / "tokenizer.json")


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}
