"""Lines in capitals, read as they are usually written.

BPE knows words as training text writes them. It splits "A DOG RUNS" nearly into single letters,
which a model hardly ever saw. In a line that is all in capitals, or in Title Case, each word gets
the case in which the vocabulary needs the fewest tokens for it. That keeps `NATO`, and the nouns of
German. The translation comes out in usual case, too.
"""

import re
from collections.abc import Sequence

from nmt_cli.text.tokenizer import Subwords

_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?:['\u2019][^\W\d_]+)*(?!\w)")
_BEFORE_SENTENCE = re.compile(r"(?:^|[.!?…]\s+)\W*")
_FEWEST_WORDS = 3  # of a line in Title Case: two may well be a name
_LEAST_SHARE = 1 / 3  # of the words need fewer tokens in another case, or the line stays as it is


def in_usual_case(text: str, subwords: Subwords, fixed: Sequence[tuple[int, int]] = ()) -> str:
    """Return a line in capitals or Title Case as it is usually written; any other as it is.

    Words that overlap a `fixed` span of characters stay as they are. The number of words does too.
    """
    words = [*_WORD.finditer(text)]
    if not _is_unusual(text, words):
        return text
    rows = [(word[0], word[0].lower(), word[0].capitalize()) for word in words]
    ids = iter(subwords.encode_batch([form for row in rows for form in row]))
    beginnings = {found.end() for found in _BEFORE_SENTENCE.finditer(text)}
    parts, end, num_shorter = [], 0, 0
    for word, row in zip(words, rows, strict=True):
        costs = {form: _cost(next(ids)) for form in row}
        usual = min(row, key=costs.__getitem__)
        num_shorter += costs[usual][0] < costs[word[0]][0]
        if word.start() in beginnings and usual == row[1] and costs[row[2]][0] <= costs[usual][0]:
            usual = row[2]
        if any(start < word.end() and word.start() < stop for start, stop in fixed):
            usual = word[0]
        parts += [text[end : word.start()], usual]
        end = word.end()
    return "".join([*parts, text[end:]]) if num_shorter >= _LEAST_SHARE * len(words) else text


def _is_unusual(text: str, words: Sequence[re.Match[str]]) -> bool:
    """Return whether each word begins with a capital, and there are enough to tell."""
    if any(word[0][0].islower() or word[0].upper() == word[0].lower() for word in words):
        return False
    return len(words) >= _FEWEST_WORDS or (bool(words) and text.isupper())


def _cost(ids: Sequence[int]) -> tuple[int, int]:
    """Return the number of tokens, and how late one that is a whole word came into the vocabulary.

    Early ones are frequent.
    """
    return len(ids), ids[0] if len(ids) == 1 else 0
