"""Target ids one by one -> text, each character as soon as it is whole.

A character outside the vocabulary is written as its UTF-8 bytes, up to four ids. Its bytes are held
back until they are all there; those that never make a character are left out.
"""

import unicodedata

from nmt_cli.text.special_tokens import BYTE_TOKENS
from nmt_cli.text.tokenizer import Subwords

_LOOP_WORDS, _LOOP_TIMES = 4, 4  # a loop: up to so many words, so many times in a row
_WAITING = "\ue000"  # the first half of an escape of the vocabulary's


class TextStream:
    """The text of a reply that is still being written.

    It begins and ends with a visible character, and is one line: control characters, which a
    terminal could obey, become spaces.

    Attributes:
        text: All text so far.

    Args:
        subwords: The target's vocabulary.
    """

    def __init__(self, subwords: Subwords) -> None:
        self.text = ""
        self._subwords = subwords
        self._byte_of = {i: byte for byte, i in enumerate(subwords.ids(BYTE_TOKENS))}
        self._ids: list[int] = []
        self._open: list[int] = []  # bytes of a character that is not whole

    def add(self, token: int) -> str:
        """Take the next id; return the text that is now certain to follow, perhaps none."""
        if token in self._byte_of:
            self._add_byte(token)
        else:
            self._open.clear()
            self._ids.append(token)
        if self._open:
            return ""
        shown = _visible(self._subwords.decode(self._ids))
        new = shown[len(self.text) :]
        self.text += new
        return new

    def _add_byte(self, token: int) -> None:
        self._open.append(token)
        try:
            bytes(self._byte_of[i] for i in self._open).decode("utf-8")
        except UnicodeDecodeError as error:
            if "unexpected end" in error.reason:
                return
            start_over = len(self._open) > 1  # the byte may be the first of another character
            self._open.clear()
            if start_over:
                self._add_byte(token)
            return
        self._ids += self._open
        self._open.clear()


def _visible(text: str) -> str:
    """Return the text with spaces for control characters, and none at its ends."""
    plain = "".join(" " if unicodedata.category(char) == "Cc" else char for char in text)
    return plain.strip().removesuffix(_WAITING).rstrip()


def has_loop(text: str) -> bool:
    """Return whether one to four words come at least four times in a row."""
    words = text.split()
    for size in range(1, _LOOP_WORDS + 1):
        equal = 0  # words in a row that equal the one `size` before
        for word, before in zip(words[size:], words, strict=False):
            equal = equal + 1 if word == before else 0
            if equal == size * (_LOOP_TIMES - 1):
                return True
    return False
