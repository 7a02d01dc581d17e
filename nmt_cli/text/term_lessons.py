"""Training text that tells a model what words of its source shall become.

In some sources `<term> Fahrrad </term>` stands for `bike`, where the translation has a form of
`Fahrrad`: Dinu et al. 2019, "Training Neural Machine Translation To Apply Terminology Constraints",
with tokens in place of source factors. `bike` itself goes, so that the model has nothing else to go
by. In use the terms of a glossary are written so (`search/term_search.py`).

The terms are those of a glossary that an example has, else words that translate each other: in each
pair of sentences, words are linked one to one, those first that come together most often (Melamed
2000, "Models of Translational Equivalence among Words"). Which ones is a function of seed, epoch,
window and place, so that a resumed run repeats it.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np

from nmt_cli.text.noise import Pair, Row, pair_of, with_pairs
from nmt_cli.text.placeholders import SignedSubwords, counts_of, linked, units_of
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.tokenizer import Subwords

_KEY = 6  # keeps these draws apart from others of a seed
_SHARE = 0.5  # of the examples
_MOST_TERMS = 4  # of an example
_SAMPLE = 5000  # examples that words are linked in
_LEAST = 5.0  # of the likeness of words that are linked
_STEM = 4  # letters that forms of a word begin with

Wanted = tuple[int, int, str]  # the place of a term in a source, and what it shall become
TermsOf = Callable[[str, str], list[Wanted]]  # (source, target) -> terms that both have


class TermLessons:
    """Writes in place of words of some sources what they become.

    An example that would be too long for the model stays as it is.
    """

    def __init__(self, encoder: Encoder, seed: int, terms_of: TermsOf | None = None) -> None:
        sides = encoder.source, encoder.target
        self._sides = [SignedSubwords(side) if side.placeholders else side for side in sides]
        self._longest = encoder.max_length
        self._seed = seed
        self._terms_of = terms_of or (lambda *_: [])

    def change(self, corpus: EncodedCorpus, epoch: int, window: int) -> EncodedCorpus:
        """Return a window's examples, in memory, with the terms of this epoch."""
        random = np.random.default_rng([self._seed, epoch, window, _KEY])
        chosen = np.flatnonzero(random.random(len(corpus)) < _SHARE).tolist()
        sample = range(0, len(corpus), max(1, len(corpus) // _SAMPLE))
        words = LinkedWords([self._texts(pair_of(corpus, i)) for i in sample])
        pairs: dict[int, Pair] = {}
        for i in chosen:
            pair = pair_of(corpus, i)
            texts = self._texts(pair)
            terms = self._terms_of(*texts) or words.some_of(*texts, random)
            source = annotated(self._sides[0], pair.source, terms)
            if len(source) <= self._longest:
                pairs[i] = pair._replace(source=source)
        return with_pairs(corpus, pairs)

    def _texts(self, pair: Pair) -> tuple[str, str]:
        return self._sides[0].decode(pair.source), self._sides[1].decode(pair.target)


class LinkedWords:
    """Words that translate each other, learnt from pairs of sentences.

    Two are alike as far as they come together more often than by chance: by their part of the
    mutual information of sources and targets, which also finds a rare translation of a common word.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        sources, self._targets, together = counts_of(pairs)
        chance = {(a, b): sources[a] * self._targets[b] / len(pairs) for a, b in together}
        likeness = {pair: n * math.log(n / chance[pair]) for pair, n in together.items()}
        self._likeness = {pair: value for pair, value in likeness.items() if value >= _LEAST}
        ordered = sorted(self._likeness, key=lambda pair: (self._likeness[pair], pair))
        self._usual = dict(ordered)  # for each word of a source the likeliest

    def some_of(self, source: str, target: str, random: np.random.Generator) -> list[Wanted]:
        """Return some words of a source and what they become in a target, rare words above all.

        A form of that is taken which is usual elsewhere, so that a model learns to inflect.
        """
        places, others = units_of(source), units_of(target)
        alike = (pair for pair in product(places, others) if pair in self._likeness)
        links = [*linked({pair: self._likeness[pair] for pair in alike}).items()]
        links += [(word, word) for word in places if word in others and word not in self._usual]
        if not links:
            return []
        count = min(int(random.geometric(0.5)), _MOST_TERMS, len(links))
        rarity = np.array([1 / (1 + self._targets[other]) for _, other in links])
        found = []
        for i in random.choice(len(links), count, replace=False, p=rarity / rarity.sum()):
            word, other = links[i]
            usual = self._usual.get(word, other)
            is_form = len(other) >= _STEM and usual.startswith(other[:_STEM])
            found.append((*places[word], usual if is_form else other))
        return found


def annotated(side: Subwords, source: Row, terms: Sequence[Wanted]) -> Row:
    """Return the ids of a source in which, for each term, stands what it shall become."""
    begin, end = side.term_marks
    places, made = token_places(side, source), list(source)
    for start, stop, form in sorted(terms, reverse=True):
        of_term = [i for i, (a, b) in enumerate(places) if a < stop and start < b]
        if of_term:
            first, after = of_term[0], of_term[-1] + 1
            made[first:after] = [begin, *side.encode(form), end]
    return made


def token_places(vocabulary: Subwords, ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return the place of each token in the text that they write.

    Tokens that are the bytes of one character share its place.
    """
    begun = [vocabulary.decode(ids[:count]) for count in range(len(ids) + 1)]
    # Where a character lacks bytes, the text is not as it will be.
    whole = [count for count, text in enumerate(begun) if begun[-1].startswith(text)]
    return [
        (len(begun[first]), len(begun[after]))
        for first, after in pairwise(whole)
        for _ in range(first, after)
    ]
