"""Development and test rows taken out of train: by a seeded hash, and with nothing of them left in.

With several directions, a source of dev or test is no target of train either, nor the other way
round: the files may be the same ones swapped.

A row's hash is that of its source without case, spaces and signs, so rows with the same source are
always in the same split. In a translation corpus a row whose target is one of dev's or test's is
left out of the other splits, too; stock answers of a chat, and very short targets, are no leak.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError, number_of

_ASCII_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_SPLITS = ("dev", "test")
TELLING_LENGTH = 8  # letters and digits of a target from which on it gives a sentence away


def held_out_rows(config: Config) -> dict[str, int]:
    """Return how many rows of train are wanted for dev and for test."""
    return {s: sum(corpus.rows or 0 for corpus in getattr(config.data, s)) for s in _SPLITS}


def too_many_held_out(rows: Mapping[str, int], in_train: int) -> str:
    """Return what is wrong where dev and test would leave nothing of train."""
    takers = [split for split in _SPLITS if rows[split]]
    take = "take" if takers[1:] else "takes"
    out = f"{' and '.join(takers)} {take} {number_of(sum(rows.values()), 'row')} out of train"
    return f"{out}, which has only {in_train}"


class HeldOut:
    """Tells which split a row of train belongs to.

    Args:
        pairs: The (source, target) texts of all of train.
        rows: Rows wanted for "dev" and "test"; DataError when nothing is left to train on.
        seed: Other seeds take other rows.
        by_target: Whether no target may be in two splits either.
        both_ways: Whether sources and targets may be the same texts.
    """

    def __init__(
        self,
        pairs: Iterable[tuple[str, str]],
        rows: dict[str, int],
        seed: int,
        *,
        by_target: bool,
        both_ways: bool = False,
    ) -> None:
        self._key, self._by_target, self._both_ways = str(seed).encode(), by_target, both_ways
        columns = [("source", np.uint64), ("target", np.uint64)]
        hashes = np.fromiter(
            ((self._hash(_fold(s)), self._hash_target(t)) for s, t in pairs), columns
        )
        wanted = sum(rows.values())
        if wanted >= len(hashes):
            raise DataError(too_many_held_out(rows, len(hashes)))
        ends = np.cumsum([rows[split] for split in _SPLITS])
        lowest = np.partition(hashes["source"], np.maximum(ends, 1) - 1)
        self._limits = [int(lowest[end - 1]) if end else -1 for end in ends]
        sides = ("source", "target") if both_ways else ("target",)
        taken = [hashes[hashes["source"] <= limit] for limit in self._limits]
        self._texts = [
            {number for side in sides for number in rows[side].tolist()} - {0} for rows in taken
        ]

    def split_of(self, source: str, target: str) -> str | None:
        """Return "train", "dev" or "test"; None for a row that may be in none of them."""
        number = self._hash(_fold(source))
        if number <= self._limits[0]:
            return "dev"
        is_test = number <= self._limits[1]
        texts = (target, source) if self._both_ways else (target,)
        if not self._texts[0 if is_test else 1].isdisjoint(map(self._hash_target, texts)):
            return None
        return "test" if is_test else "train"

    def _hash_target(self, target: str) -> int:
        folded = _fold(target) if self._by_target else b""
        return self._hash(folded) if len(folded.decode()) >= TELLING_LENGTH else 0

    def _hash(self, folded: bytes) -> int:
        digest = hashlib.blake2b(folded, digest_size=8, key=self._key)
        return int.from_bytes(digest.digest())


def _fold(text: str) -> bytes:
    if text.isascii():  # the same folding, a few times faster
        return text.lower().encode().translate(None, delete=_ASCII_SIGNS)
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, text)).encode()
