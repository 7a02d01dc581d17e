"""Placeholders: tokens that stand for words which come out of a translation as they went in.

In a text, signs stand for them. Only `SignedSubwords` takes a sign for its placeholder; to any
other vocabulary it is a rare character, so no text that a person writes makes one.

`data.placeholders` teaches a model to copy them from ordinary text. Anew each epoch, some examples
have placeholders in place of what both sides share (numbers, names, links), in place of words that
translate each other, around such words as tags are, and at the beginning or the end of both sides.
The words are found by competitive linking (Melamed 2000, "Models of Translational Equivalence among
Words", section 4). What is made is a function of seed, epoch, window and place, so that a resumed
run repeats it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from nmt_cli.text.noise import FINAL, Pair, pair_of, rewritten, with_pairs
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.special_tokens import BYTE_TOKENS, SIGNS
from nmt_cli.text.tokenizer import Subwords

NUMBER = r"\d+(?:[.,:/]\d+)*"
# Words of a plain text that stay as they are: addresses, code, placeholders of programs.
# Nothing in them may be looked for from each character to the end: that takes for ever.
PROTECTED = (
    r"(?i:(?:https?|s?ftps?|wss?|ssh|git|file)://|mailto:|www\.)[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]",
    r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+",
    r"``?[^`\n]+``?",  # code of Markdown and reStructuredText
    r":[a-z][\w:+.-]{0,64}:`[^`\n]+`",  # a role of reStructuredText
    r"%\(\w+\)[#0 +-]{0,5}\d{0,9}(?:\.\d{1,9})?[diouxXeEfFgGcrs]",
    r"%(?:\d{1,9}\$)?[#0+-]{0,5}\d{0,9}(?:\.\d{1,9})?(?:hh|h|ll|l|z)?[diouxXeEfFgGcrs@](?![a-z])",
    r"%(?:L?\d{1,2}|n)(?!\w)",  # of Qt
    r"\{\{[^{}\n]+\}\}",
    r"\{%[^{}\n]*%\}",
    r"[$%#]?\{[^{}\s]*\}",
    r"\{\s*\w+\s*,\s*(?:number|date|time)\b[^{}\n]*\}",
    r"\$t\([^()\n]*\)",  # the text of another key, in catalogues of i18next, and of Vue
    r"@(?:\.\w{1,20})?:[\w.]*\w",
    r"</?(?:[A-Za-z][^<>]*|\d{1,3}\s?/?)>",  # react-i18next numbers its tags
    r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);",
)
_STAYING = re.compile("|".join((*PROTECTED, NUMBER)))
_UNITS = re.compile("|".join((*PROTECTED, NUMBER, r"[^\W_]+(?:[-'.][^\W_]+)*")))
_KEY = 5  # keeps these draws apart from others of a seed
_SHARE = 0.2  # of the examples
_AS_IN_USE = 0.5  # of those with numbers, code or the like on both sides, which then all go
_WRAPPED = 0.25  # of the words, which then stay, with a placeholder on either side
_AT_AN_EDGE = 0.2  # of the examples with other placeholders
_MOST_WORDS = 4  # of an example: those that stay take two placeholders, and one may be at an edge
_LINKED = 2000  # examples that words are linked in
_LEAST_PAIRS, _LEAST_DICE = 4, 0.3  # of words that are linked

Place = tuple[int, int]
Units = dict[str, Place]  # words and the like of a text, with their places
Edit = tuple[int, int, str]


class SignedSubwords(Subwords):
    """A vocabulary for texts in which signs stand for its placeholders."""

    def __init__(self, subwords: Subwords) -> None:
        super().__init__(subwords.tokenizer, subwords.tags)
        first = BYTE_TOKENS[0]
        rows = (tuple(byte + self.ids([first])[0] for byte in sign.encode()) for sign in SIGNS)
        self._bytes_of = dict(zip(self.placeholders, rows, strict=True))
        self._token_of = {row: token for token, row in self._bytes_of.items()}
        self.placeholders = ()  # none that its texts do not make

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self._with_tokens(super().encode(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts."""
        return [self._with_tokens(ids) for ids in super().encode_batch(texts)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        return super().decode([byte for i in ids for byte in self._bytes_of.get(i, (i,))])

    def _with_tokens(self, ids: Sequence[int]) -> list[int]:
        """Return ids with a placeholder for the three bytes of each sign."""
        made: list[int] = []
        for i in ids:
            made.append(i)
            if (token := self._token_of.get(tuple(made[-3:]))) is not None:
                made[-3:] = [token]
        return made


class PlaceholderLessons:
    """Puts placeholders into both sides of some examples of a corpus.

    An example that would be too long for the model stays as it is.
    """

    def __init__(self, encoder: Encoder, seed: int) -> None:
        self._sides = SignedSubwords(encoder.source), SignedSubwords(encoder.target)
        self._longest = encoder.max_length
        self._seed = seed

    def change(self, corpus: EncodedCorpus, epoch: int, window: int) -> EncodedCorpus:
        """Return a window's examples, in memory, with the placeholders of this epoch."""
        random = np.random.default_rng([self._seed, epoch, window, _KEY])
        chosen = np.flatnonzero(random.random(len(corpus)) < _SHARE).tolist()
        linked = range(0, len(corpus), max(1, len(corpus) // _LINKED))
        partners = linked_words(self._texts(pair_of(corpus, i)) for i in linked)
        pairs: dict[int, Pair] = {}
        for i in chosen:
            pair = pair_of(corpus, i)
            made = with_placeholders(self._texts(pair), partners, random)
            sides = zip(self._sides, made, pair, strict=True)
            new = Pair(*(rewritten(*side) for side in sides))
            if max(map(len, new)) <= self._longest:
                pairs[i] = new
        return with_pairs(corpus, pairs)

    def _texts(self, pair: Pair) -> tuple[str, str]:
        return self._sides[0].decode(pair.source), self._sides[1].decode(pair.target)


def with_placeholders(
    texts: tuple[str, str], partners: dict[str, str], random: np.random.Generator
) -> tuple[str, str]:
    """Return a source and its translation with the same signs on both sides, one at least.

    `partners` are the words that translate each other; see `linked_words`.
    """
    source, target = map(units_of, texts)
    likeliest = {unit: unit if unit in target else partners.get(unit, "") for unit in source}
    words = [
        (unit, other)
        for unit, other in likeliest.items()
        if other in target and (other == unit or other not in source)  # each but once
    ]
    staying = [(unit, unit) for unit in source if unit in target and _STAYING.fullmatch(unit)]
    signs = iter(random.permutation(list(SIGNS)).tolist())
    edits: tuple[list[Edit], list[Edit]] = ([], [])
    is_as_in_use = bool(staying) and random.random() < _AS_IN_USE
    count = min(int(random.geometric(0.5)), _MOST_WORDS)
    if is_as_in_use:
        words, count = staying, len(SIGNS)
    for number in random.permutation(len(words))[:count]:
        places = [side[word] for side, word in zip((source, target), words[number], strict=True)]
        if not is_as_in_use and random.random() < _WRAPPED:
            before, after = next(signs) + " ", " " + next(signs)
            for of_side, (start, end) in zip(edits, places, strict=True):
                of_side += [(start, start, before), (end, end, after)]
        else:
            sign = next(signs)
            for of_side, (start, end) in zip(edits, places, strict=True):
                of_side.append((start, end, sign))
    if not words or (count < _MOST_WORDS and random.random() < _AT_AN_EDGE):
        sign, is_first = next(signs), random.random() < 0.5
        for of_side, text in zip(edits, texts, strict=True):
            end = len(text.rstrip(FINAL + " "))
            of_side.append((0, 0, f"{sign} ") if is_first else (end, end, f" {sign}"))
    return _edited(texts[0], edits[0]), _edited(texts[1], edits[1])


def linked_words(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return words of sources and those of their translations that come with them most often."""
    sources, targets, together = counts_of(pairs)
    dice = {
        pair: 2 * count / (sources[pair[0]] + targets[pair[1]]) for pair, count in together.items()
    }
    return linked({pair: value for pair, value in dice.items() if value >= _LEAST_DICE})


def linked(likeness: Mapping[tuple[str, str], float]) -> dict[str, str]:
    """Return pairs of words, the likeliest first, that have no word in common."""
    found: dict[str, str] = {}
    taken = set()
    for word, other in sorted(likeness, key=lambda pair: (-likeness[pair], pair)):
        if word not in found and other not in taken:
            found[word] = other
            taken.add(other)
    return found


def counts_of(
    pairs: Iterable[tuple[str, str]],
) -> tuple[Counter[str], Counter[str], dict[tuple[str, str], int]]:
    """Return how many sources, targets and pairs have each word, and each two; not if very few."""
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        source, target = map(units_of, pair)
        sources.update(source.keys())
        targets.update(target.keys())
        together.update(product(source, target))
    often = {pair: count for pair, count in together.items() if count >= _LEAST_PAIRS}
    return sources, targets, often


def units_of(text: str) -> Units:
    """Return the words and the like that a text has once, with their places."""
    found = list(_UNITS.finditer(text))
    counts = Counter(match[0] for match in found)
    return {match[0]: match.span() for match in found if counts[match[0]] == 1}


def _edited(text: str, edits: Iterable[Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text
