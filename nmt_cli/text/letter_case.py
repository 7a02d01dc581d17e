"""Lines in capitals, read as they are usually written.

BPE knows words as training text writes them. It splits "A DOG RUNS" nearly into single letters,
which a model hardly ever saw. In a line that is all in capitals, or in Title Case, each word gets
the case in which the vocabulary needs the fewest tokens for it. That keeps `NATO`, and the nouns of
German. The translation comes out in usual case, too.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from nmt_cli.text.tokenizer import Subwords

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_NO_LETTER = re.compile(r"[\d_]")  # in a word such as B2B, which stays as it is
_BEFORE_SENTENCE = re.compile(r"(?:^|[.!?…]\s+)\W*")
_FEWEST_WORDS = 3  # of a line in Title Case: two may well be a name
_LEAST_SHARE = 1 / 3  # of the words need fewer tokens in another case, or the line stays as it is


Places = Iterable[tuple[int, int]]


def in_usual_case(
    text: str, subwords: Subwords, fixed: Callable[[str], Places] = lambda _: ()
) -> str:
    """Return a line in capitals or Title Case as it is usually written; any other as it is.

    Words stay as they are where they overlap one of the spans of characters that `fixed` returns
    for the line. The number of words stays in any case.
    """
    words = _unusual_words(text)
    if not words:
        return text
    kept = [*fixed(text)]
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
        if any(start < word.end() and word.start() < stop for start, stop in kept):
            usual = word[0]
        parts += [text[end : word.start()], usual]
        end = word.end()
    return "".join([*parts, text[end:]]) if num_shorter >= _LEAST_SHARE * len(words) else text


def _unusual_words(text: str) -> list[re.Match[str]]:
    """Return the words of a line if each begins with a capital, and there are enough to tell."""
    words = []
    for word in _WORD.finditer(text):
        if _NO_LETTER.search(word[0]):
            continue
        if word[0][0].islower() or word[0].upper() == word[0].lower():
            return []
        words.append(word)
    return words if len(words) >= _FEWEST_WORDS or text.isupper() else []


def _cost(ids: Sequence[int]) -> tuple[int, int]:
    """Return the number of tokens, and how late one that is a whole word came into the vocabulary.

    Early ones are frequent.
    """
    return len(ids), ids[0] if len(ids) == 1 else 0
