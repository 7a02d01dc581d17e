"""Published vocabularies of byte-pair encoding and of word pieces -> `Subwords`, ids as published.

Of a `tokenizer.json` only the vocabulary, the merges and a few switches are taken, never how it
says that text is to be split: that is one of the known ways of `text/imported.py`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained.published import Published
from nmt_cli.text.imported import WORD_END, as_byte_bpe, as_small_bpe, as_word_pieces
from nmt_cli.text.special_tokens import CONTROL_TOKENS, HIDDEN
from nmt_cli.text.tokenizer import Subwords

FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "vocab.txt")
Merges = list[tuple[str, str]]
_CONTINUES = "@@"  # behind a token of BlenderbotSmall's that does not end a word
_MOST_UNMADE = 0.2  # of tokens: some, such as `<mask>`, are no text
_LEAST_NAMED = 0.95  # of the rows of a table, which may have been padded
_PIECE = "##"  # in front of a piece that does not begin a word


def read_ids(published: Published) -> dict[str, int]:
    """Return the published id of each token; ModelFileError if there is no vocabulary."""
    if state := published.tokenizer:
        added = state.get("added_tokens", ())
        ids: dict[str, int] = state["model"]["vocab"]
        return ids | {token["content"]: token["id"] for token in added}
    if published.has("vocab.txt"):
        return {name: i for i, name in enumerate(published.text("vocab.txt").split("\n")) if name}
    if published.has("vocab.json"):
        return published.json("vocab.json")
    raise ModelFileError(f"{published.folder}: holds no tokenizer.json, vocab.json or vocab.txt")


def in_order(ids: Mapping[str, int], path: Path) -> list[str]:
    """Return the names of ids; ModelFileError, which names the `path`, if they have gaps."""
    names = sorted(ids, key=ids.__getitem__)
    if [ids[name] for name in names] != list(range(len(names))):
        raise ModelFileError(f"{path}: its {len(names):,} tokens are not numbered from 0")
    return names


def read_names(published: Published) -> list[str]:
    """Return the published names of all ids; ModelFileError if many have none: a file was cut."""
    names = in_order(read_ids(published), published.folder)
    size = published.config.get("vocab_size") or 0
    if len(names) < _LEAST_NAMED * size:
        raise ModelFileError(
            f"{published.folder}: its vocabulary was cut short, or belongs to another model: "
            f"it has {len(names):,} of {size:,} tokens"
        )
    return names


def read_merges(published: Published) -> Merges:
    """Return the pairs of tokens that are merged, the first ones first."""
    if published.tokenizer:
        rows: list[Any] = published.tokenizer["model"]["merges"]
    else:
        rows = published.text("merges.txt").split("\n")
        rows = [row for row in rows[rows[0].startswith("#version") :] if row]
    pairs = (row.split(" ") if isinstance(row, str) else row for row in rows)
    return [(left, right) for left, right in pairs]


def byte_bpe(
    published: Published, tokens: Sequence[str], unknown: str, *, prefix_space: bool
) -> Subwords:
    """Return byte-level subwords with these names of all ids, as `bart.numbered` gives them.

    `prefix_space`: whether a space is put in front of a text, where no file says it.
    """
    key = "add_prefix_space"
    space = _setting(published, "pre_tokenizer", key, key, default=prefix_space)
    ids, merges = _ids(tokens, unknown), read_merges(published)
    _check_made(published, ids, merges)
    model = models.BPE(ids, merges, unk_token=HIDDEN + unknown)
    return Subwords(as_byte_bpe(Tokenizer(model), prefix_space=bool(space)))


def small_bpe(published: Published, tokens: Sequence[str], unknown: str) -> tuple[Subwords, int]:
    """Return BlenderbotSmall's subwords, and how many tokens it had to be given.

    Merges make tokens that its vocabulary lacks, which then stand for the unknown token.
    """
    head = len(CONTROL_TOKENS)
    names = [name.removesuffix(_CONTINUES) if name.endswith(_CONTINUES) else name + WORD_END
             for name in tokens[head:]]  # fmt: skip
    unknown += WORD_END
    ids, merges = _ids([*tokens[:head], *names], unknown), read_merges(published)
    _check_made(published, ids, merges)
    made = dict.fromkeys(part for pair in merges for part in (*pair, "".join(pair)))
    extra = [part for part in made if part not in ids]
    ids |= {part: number for number, part in enumerate(extra, len(tokens))}
    model = models.BPE(ids, merges, unk_token=HIDDEN + unknown, end_of_word_suffix=WORD_END)
    return Subwords(as_small_bpe(Tokenizer(model))), len(extra)


def _check_made(published: Published, ids: Mapping[str, int], merges: Merges) -> None:
    """Raise ModelFileError if many tokens come of no merge: a file without an end was cut short."""
    made = {"".join(pair) for pair in merges}
    longer = [name for name in ids if len(name.removesuffix(WORD_END)) > 1 and name[0] != HIDDEN]
    unmade = sum(name not in made for name in longer)
    if unmade > _MOST_UNMADE * len(longer):
        raise ModelFileError(
            f"{published.folder}: its merges were cut short, or belong to another vocabulary: "
            f"they make {len(longer) - unmade:,} of {len(longer):,} tokens"
        )


def word_pieces(published: Published, tokens: Sequence[str], unknown: str) -> Subwords:
    """Return word pieces with these names of all ids, as `bart.numbered` gives them."""
    part = "normalizer"
    lower = _setting(published, part, "lowercase", "do_lower_case", default=True)
    accents = _setting(published, part, "strip_accents", "strip_accents", default=None)
    key, config_key = "handle_chinese_chars", "tokenize_chinese_chars"
    chinese = _setting(published, part, key, config_key, default=True)
    ids = _ids(tokens, unknown)
    model = models.WordPiece(ids, unk_token=HIDDEN + unknown, continuing_subword_prefix=_PIECE)
    flags = {"lowercase": bool(lower), "strip_accents": accents, "chinese": bool(chinese)}
    return Subwords(as_word_pieces(Tokenizer(model), **flags))


def _ids(tokens: Sequence[str], unknown: str) -> dict[str, int]:
    """Return ids by names; that of the unknown token matches no text."""
    names = (HIDDEN + name if name == unknown else name for name in tokens)
    return {name: number for number, name in enumerate(names)}


def _setting(
    published: Published, part: str, key: str, config_key: str, *, default: bool | None
) -> Any:
    """Return a switch as `tokenizer.json` has it, else `tokenizer_config.json`."""
    found = (published.tokenizer.get(part) or {}).get(key)
    if found is None:
        found = published.json("tokenizer_config.json", default={}).get(config_key, default)
    return found if found is None or isinstance(found, bool) else default
