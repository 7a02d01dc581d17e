"""Subwords of much text: each word, as spaces separate them, is encoded once and looked up after.

Normal form, word boundaries and merges do not reach over a space, so the ids of a text are those of
its words one after the other. Looking them up is ten times as fast as encoding them, and most words
of a corpus are the same few thousand.
"""

from collections.abc import Sequence
from itertools import chain

from nmt_cli.text.tokenizer import WORD_MARKER, Subwords

_MOST_WORDS = 50_000  # some 20 MB
_LONGEST_WORD = 30  # characters; where there are no spaces, whole sentences would fill the memory


class WordCache(Subwords):
    """The same ids as those of the `Subwords` it is made from.

    Args:
        subwords: The vocabulary.
    """

    def __init__(self, subwords: Subwords) -> None:
        super().__init__(subwords.tokenizer)
        self._ids_of = _WordIds(subwords)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        ids_of = self._ids_of.__getitem__
        return [
            list(chain.from_iterable(map(ids_of, text.split(" ")))) if text else []
            for text in texts
        ]


class _WordIds(dict[str, list[int]]):
    """Word -> its ids with the marker in front; emptied when full."""

    def __init__(self, subwords: Subwords) -> None:
        super().__init__()
        self._encode = subwords.encode
        self._of_no_word = subwords.ids([WORD_MARKER])  # between two spaces

    def __missing__(self, word: str) -> list[int]:
        ids = self._encode(word) if word else self._of_no_word
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = ids
        return ids
