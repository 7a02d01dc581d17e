"""A line -> its sentences and the white space between them."""

import math
from collections.abc import Iterable

from sentencex import segment

_USUAL = 0.95  # share of a text's lines that have as many sentences as its usual line, or fewer


class Splitter:
    """Splits lines of more than `longest` tokens, with `</s>`: than what the model was trained on.

    A model that saw sentences translates the first sentences of a paragraph and forgets the rest:
    if it saw one in a line, `longest` is 0, and every line of several is split. Otherwise lines as
    long as training lines are left whole, so that a model that was trained on paragraphs gets what
    it knows. An unknown language is split like English.
    """

    def __init__(self, language: str, longest: int) -> None:
        self._language = language
        self._longest = longest

    def is_long(self, num_tokens: int) -> bool:
        """Return whether a line of that many tokens, with `</s>`, is to be split."""
        return num_tokens > self._longest

    def split(self, text: str, language: str | None = None) -> list[tuple[str, str]]:
        """Return the sentences of a text, each with the white space after it.

        A language is that of the text, if it is not the splitter's own.
        """
        language = (language or self._language).replace("_", "-").split("-")[0].lower() or "en"
        # sentencex panics beside white space of several bytes, such as U+2028.
        plain = "".join(" " if char.isspace() else char for char in text)
        found: list[tuple[str, str]] = []
        start = 0
        for length in map(len, segment(language, plain)):
            sentence, start = text[start : start + length], start + length
            words = sentence.rstrip()
            if words or not found:
                found.append((words, sentence[len(words) :]))
            else:  # nothing but space: it belongs to the sentence before
                found[-1] = (found[-1][0], found[-1][1] + sentence)
        return found


def usual_sentences(lines: Iterable[str], language: str) -> int:
    """Return how many sentences a line of a text has: 19 of 20 have no more."""
    splitter = Splitter(language, 0)
    counts = [len(splitter.split(line.strip())) for line in lines if line.strip()]
    return sorted(counts)[math.ceil(_USUAL * (len(counts) - 1))] if counts else 1
