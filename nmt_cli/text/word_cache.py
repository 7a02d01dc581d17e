"""Subwords of much text: each word, as spaces separate them, is encoded once and looked up after.

Normal form, word boundaries and merges do not reach over a space, so the ids of a text are those of
its words one after the other. Looking them up is much faster than encoding them, and even in a few
thousand lines most words come several times.
"""

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from nmt_cli.text.special_tokens import WORD_MARKER
from nmt_cli.text.tokenizer import Subwords

_MOST_CHARACTERS = 2_000_000  # of the words that are kept: some 100 MB
_WORDS_IN_A_TEXT = 50  # new words are encoded so many at once


class WordCache(Subwords):
    """The same ids as those of the `Subwords` it is made from.

    Args:
        subwords: The vocabulary.
    """

    def __init__(self, subwords: Subwords) -> None:
        super().__init__(subwords.tokenizer)
        self._begins_word = np.array([p.startswith(WORD_MARKER) for p in subwords.all_tokens()])
        self._between_spaces = {"": subwords.ids([WORD_MARKER])}
        self._forget()

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        rows = [text.split(" ") if text else [] for text in texts]
        words = set().union(*rows)
        if self._characters > _MOST_CHARACTERS:
            self._forget()
        new = list(words.difference(self._ids_of))
        self._ids_of.update(zip(new, self._encode_words(new), strict=True))
        self._characters += sum(map(len, new))
        ids_of = self._ids_of.__getitem__
        return [list(chain.from_iterable(map(ids_of, row))) for row in rows]

    def _forget(self) -> None:
        self._ids_of: dict[str, list[int]] = dict(self._between_spaces)
        self._characters = 0

    def _encode_words(self, words: list[str]) -> list[list[int]]:
        starts = range(0, len(words), _WORDS_IN_A_TEXT)
        groups = [words[first : first + _WORDS_IN_A_TEXT] for first in starts]
        encoded = super().encode_batch([" ".join(group) for group in groups])
        return list(chain.from_iterable(map(self._ids_of_each, groups, encoded)))

    def _ids_of_each(self, words: list[str], ids: list[int]) -> list[list[int]]:
        """Cut the ids of a text into those of its words: each begins with the marker."""
        begins = np.flatnonzero(self._begins_word[ids]).tolist()
        if len(begins) > len(words):  # NFKC made a space within a word
            return [self.encode(word) for word in words]
        return [ids[first:end] for first, end in pairwise([*begins, len(ids)])]
