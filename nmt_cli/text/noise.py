"""Training text as people type it: in lower case, without the full stop, with typing mistakes.

A model that only ever saw tidy text breaks on such input. `data.noise` changes a share of the
source texts, anew each epoch; lines that are merged or split change their translations, too. What
it makes is a function of seed, epoch, window and place, so that a resumed run repeats it.

It begins with the tokens on disk, which give the text back (`Subwords.decode`), and changes a text
before BPE-dropout splits it.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import NOISES
from nmt_cli.text.batches import Ids, Indices
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID
from nmt_cli.text.tokenizer import Subwords

_KEY = 4  # keeps these draws apart from those of the order and of BPE-dropout
_WORDS_A_TYPO = 10
FINAL = ".!?\u3002\uff01\uff1f\u2026\u0964"  # and those of Chinese, Japanese and Hindi
_SENTENCE_END = re.compile(rf"(?<=[{FINAL}])\s+")
_KANA_OR_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]$")
# On a keyboard with English letters; other letters are swapped, doubled or left out.
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

Random = np.random.Generator
Row = list[int]


def lower_case(text: str, _: Random) -> str:
    """Return the text in lower case."""
    return text.lower()


def capitals(text: str, _: Random) -> str:
    """Return the text in capitals."""
    return text.upper()


def title_case(text: str, _: Random) -> str:
    """Return the text with a capital at the beginning of every word."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def final_punctuation(text: str, _: Random) -> str:
    """Return the text without the mark that ends it, or with a full stop if it had none."""
    bare = text.rstrip(FINAL)
    if bare != text and bare.strip():
        return bare.rstrip()
    full_stop = "。" if _KANA_OR_HAN.search(text) else "."
    return text + full_stop if text[-1:].isalnum() else text


def typos(text: str, random: Random) -> str:
    """Return the text with a typing mistake in every tenth word, and in one word at least."""
    words = text.split(" ")
    for at in random.permutation(len(words))[: max(1, len(words) // _WORDS_A_TYPO)]:
        words[at] = _mistyped(words[at], random)
    return " ".join(words)


def _mistyped(word: str, random: Random) -> str:
    """Swap two letters, leave one out, double one, or hit the key beside one."""
    letters = [i for i, char in enumerate(word) if char.isalpha()]
    if len(letters) < 2:
        return word
    at = int(random.choice(letters[:-1]))
    mistakes = [
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[: at + 1] + word[at:],
    ]
    if beside := _keys_beside(word[at]):
        mistakes.append(word[:at] + str(random.choice(beside)) + word[at + 1 :])
    return mistakes[random.integers(len(mistakes))]


def _keys_beside(letter: str) -> list[str]:
    row = next((row for row in _ROWS if letter.lower() in row), "")
    at = row.find(letter.lower())
    found = row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    return list(found.upper() if letter.isupper() else found)


# What changes a source text alone.
CHANGES: dict[str, Callable[[str, Random], str]] = {
    change.__name__: change
    for change in (lower_case, capitals, title_case, final_punctuation, typos)
}
# What changes both sides: an example with the next one, or one of its sentences alone.
_MERGED, _SPLIT = NOISES[len(CHANGES) :]


def with_noise(examples: Sequence[Example], kind: str, seed: int = 1) -> list[Example]:
    """Return each example with a noise of `NOISES`; merged and split ones have other targets."""
    random = np.random.default_rng(seed)
    if kind == _MERGED:
        pairs = itertools.zip_longest(examples, examples[1:])
        return [_together(one, other) if other else one for one, other in pairs]
    if kind == _SPLIT:
        return [_sentence_of(example, random) for example in examples]
    change = CHANGES[kind]
    return [e._replace(source=(*e.source[:-1], change(e.source[-1], random))) for e in examples]


def _together(one: Example, other: Example) -> Example:
    if one.way != other.way:
        return one
    sides = zip((*one.source, one.target), (*other.source, other.target), strict=True)
    *source, target = map(" ".join, sides)
    return one._replace(source=tuple(source), target=target)


def _sentence_of(example: Example, random: Random) -> Example:
    found = _one_of_both(example.source[-1], example.target, random)
    return example._replace(source=(found[0],), target=found[1]) if found else example


def _one_of_both(source: str, target: str, random: Random) -> tuple[str, str] | None:
    """Return a sentence of two texts that have as many; else None."""
    sources, targets = (_SENTENCE_END.split(text.strip()) for text in (source, target))
    if len(sources) != len(targets):
        return None
    at = random.integers(len(sources))
    return sources[at], targets[at]


class Noise:
    """Changes shares of a corpus, as `data.noise` says; each example in one way at most.

    An example that would be too long for the model stays as it is.
    """

    def __init__(self, encoder: Encoder, shares: Mapping[str, float], seed: int) -> None:
        self._sides = encoder.source, encoder.target
        self._longest = encoder.max_length
        self._kinds = tuple(shares)
        self._bounds = np.cumsum(list(shares.values()))
        self._seed = seed

    def change(self, corpus: EncodedCorpus, epoch: int, window: int) -> EncodedCorpus:
        """Return a window's examples, in memory, with the noise of this epoch."""
        random = np.random.default_rng([self._seed, epoch, window, _KEY])
        kinds = np.searchsorted(self._bounds, random.random(len(corpus)), side="right")
        pairs: dict[int, Pair] = {}
        for i in map(int, np.flatnonzero(kinds < len(self._kinds))):
            pair, kind = pair_of(corpus, i), self._kinds[kinds[i]]
            if kind in CHANGES:
                text = CHANGES[kind](self._sides[0].decode(pair.source), random)
                pair = pair._replace(source=rewritten(self._sides[0], text, pair.source))
            elif kind == _SPLIT:
                pair = self._one_sentence(pair, random)
            elif i + 1 < len(corpus):
                pair = self._joined(pair, pair_of(corpus, i + 1))
            if max(map(len, pair)) <= self._longest:
                pairs[i] = pair
        return with_pairs(corpus, pairs)

    def _one_sentence(self, pair: "Pair", random: Random) -> "Pair":
        source, target = (side.decode(ids) for side, ids in zip(self._sides, pair, strict=True))
        if (found := _one_of_both(source, target, random)) is None:
            return pair
        chosen = zip(self._sides, found, pair, strict=True)
        return Pair(*(rewritten(*of_side) for of_side in chosen))

    def _joined(self, pair: "Pair", other: "Pair") -> "Pair":
        """Return two examples as one, if they are in the same languages."""
        tags, others = ([*map(_tags_of, self._sides, one)] for one in (pair, other))
        if tags != others:
            return pair
        return Pair(*(a[:-1] + b[len(t) :] for a, b, t in zip(pair, other, tags, strict=True)))


class Pair(NamedTuple):
    """The ids of an example, each side with what tells its language and with `</s>`."""

    source: Row
    target: Row


def rewritten(side: Subwords, text: str, before: Row) -> Row:
    """Return the ids of a side's new text, or those before if there is nothing left."""
    ids = side.encode(text)
    return [*_tags_of(side, before), *ids, EOS_ID] if ids else before


def _tags_of(side: Subwords, ids: Row) -> Row:
    """Return what stands before the text of a side: the languages that are meant."""
    first_text = len(CONTROL_TOKENS) + len(side.tags)
    return list(itertools.takewhile(lambda i: i < first_text and i != EOS_ID, ids))


def pair_of(corpus: EncodedCorpus, i: int) -> Pair:
    """Return the ids of an example."""
    source, target = corpus.source_offsets, corpus.target_offsets
    return Pair(
        corpus.source[source[i] : source[i + 1]].tolist(),
        corpus.target[target[i] : target[i + 1]].tolist(),
    )


def with_pairs(corpus: EncodedCorpus, pairs: Mapping[int, Pair]) -> EncodedCorpus:
    """Return examples, in memory, with others in some places, given in order."""
    sources, targets = ({i: pair[side] for i, pair in pairs.items()} for side in (0, 1))
    source = _with_rows(corpus.source, corpus.source_offsets, sources)
    target = _with_rows(corpus.target, corpus.target_offsets, targets)
    return EncodedCorpus(*source, *target, sizes=corpus.sizes)


def _with_rows(ids: Ids, offsets: Indices, rows: Mapping[int, Row]) -> tuple[Ids, Indices]:
    """Return ids and offsets with other rows in some places, given in order."""
    lengths = np.diff(offsets)
    parts, end = [], 0
    for i, row in rows.items():
        parts += [ids[end : offsets[i]], np.array(row, ids.dtype)]
        end, lengths[i] = offsets[i + 1], len(row)
    return np.concatenate([*parts, ids[end:]]), np.cumsum(np.append(0, lengths))
