"""SentencePiece's map of characters -> a normaliser of `tokenizers`, which trusts it blindly.

A damaged map would end the process at the first text that leads out of it. So all steps that a text
may take are looked at here, when a model is imported.

A map is the size of a trie in bytes, the trie, and the texts that it leads to, with a zero behind
each. The trie is an array of units of 32 bits, as darts-clone writes it: the unit at `i` has its
children at `base ^ byte`, where `base` is `i ^ offset`. If a character may end there, the unit at
`base` says where its text begins.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import normalizers

from nmt_cli.errors import ModelFileError

_TEXT = 1 << 31  # marks a unit that says where a text begins
_ENDS, _FAR = 1 << 8, 1 << 9  # a character may end there; the offset is 256 times as large
_LEADING_BITS, _INSIDE = 0b1100_0000, 0b1000_0000  # of a byte that does not begin a character


def read_character_map(content: bytes, path: Path) -> normalizers.Precompiled:
    """Return the normaliser; ModelFileError, which names the `path`, if a text could lead out."""
    normalizer = normalizers.Precompiled(content)  # the sizes fit, or this raises
    end = 4 + int.from_bytes(content[:4], "little") // 4 * 4
    units = np.frombuffer(content[4:end], "<u4").astype(np.int64)
    if not _stays_inside(units, np.frombuffer(content[end:], np.uint8)):
        raise ModelFileError(f"{path}: its map of characters is damaged")
    return normalizer


def _stays_inside(units: npt.NDArray[Any], texts: npt.NDArray[Any]) -> bool:
    """Return whether all steps lead to units, and all ends to the beginning of a character."""
    if not len(units):
        return False
    is_step = units < _TEXT
    is_step[0] = True  # the first one of every text
    offsets = np.where(units & _FAR, units >> 10 << 8, units >> 10)
    bases = np.arange(len(units)) ^ offsets
    if (bases[is_step] | 255).max() >= len(units):
        return False
    begins = units[bases[is_step & (units & _ENDS > 0)]] & (_TEXT - 1)
    is_inside = bool((begins < len(texts)).all())
    return is_inside and bool((texts[begins] & _LEADING_BITS != _INSIDE).all())
