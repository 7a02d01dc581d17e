"""A glossary of 100 terms out of the dev text of Multi30k, for `nmt evaluate --glossary`.

A term is an English noun that the text has a few times, and the German noun that its references
have where the model looks at it, if no other word gives this noun more often. 75 are words that
the model writes in another way in some line, 25 are words that it writes as the reference does.
Forms of a term are also the nouns of the references that differ in the ending (`Hund`, `Hunde`),
and those that are composed with it (`*hund`).

    python tests/benchmarks/make_glossary.py MODEL val.en val.de > terms.tsv
"""

import collections
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import nmt_cli
from nmt_cli.search.glossary import Term
from nmt_cli.search.translator import Part, TextHypothesis, aligned

LEAST, MOST = 2, 25  # lines that have a word; of the least, also the reference one of the forms
OTHERWISE, AGREED = 75, 25  # terms
SHORTEST = 4  # letters of a noun that is looked for at the end of others, as in `Sandstrand`
SHARE = 0.5  # of a word's lines whose reference has one of the forms
Counts = dict[str, collections.Counter[str]]


def main() -> None:
    """Write the glossary to standard output."""
    path, *files = sys.argv[1:]
    sources, references = (Path(file).read_text().splitlines() for file in files)
    model = nmt_cli.load(path)
    outputs = [found.text for found in model.translate(sources)]
    nouns, lines = _nouns(model, sources, references)
    origins: Counts = collections.defaultdict(collections.Counter)
    for word, found in nouns.items():
        for noun, count in found.items():
            origins[noun][word] += count
    terms: list[tuple[int, str, list[str]]] = []
    for word, found in sorted(nouns.items()):
        forms = _forms(found, origins)
        term = Term((0, 0), word, (tuple(forms),))
        having = [i for i in lines[word] if term.match(references[i])]
        is_usual = len(having) >= max(LEAST, SHARE * len(lines[word]))
        is_own = origins[forms[0]].most_common(1)[0][0] == word
        is_noun = _is_noun(word, [sources[i] for i in lines[word]])
        if not (is_usual and is_own and is_noun and len(lines[word]) <= MOST):
            continue
        terms.append((sum(not term.match(outputs[i]) for i in having), word, forms))
    # The words that the model misses most, and as many that it never misses, in all the alphabet.
    otherwise = sorted(terms, key=lambda term: (-term[0], term[1]))[:OTHERWISE]
    agreed = [term for term in terms if term[0] == 0]
    for _, word, forms in sorted([*otherwise, *agreed[:: len(agreed) // AGREED][:AGREED]]):
        print(f"{word}\t{'|'.join(forms)}")


def _nouns(
    model: nmt_cli.Model, sources: list[str], references: list[str]
) -> tuple[Counts, dict[str, list[int]]]:
    """Return the nouns of the references by the word that they come from, and its lines."""
    both = model.vocabularies
    pairs = zip(sources, references, strict=True)
    parts = [Part([*both.source.encode(s), 2], [*both.target.encode(t), 2]) for s, t in pairs]
    found = [TextHypothesis("", 0.0, [], [part]) for part in parts]
    nouns: Counts = collections.defaultdict(collections.Counter)
    lines: dict[str, list[int]] = collections.defaultdict(list)
    for i, (row,) in enumerate(aligned(model.engine, both, found)):
        words = [word.strip(",.\"'") for word in sources[i].split()]
        written = [word.strip(",.\"'") for word in references[i].split()]
        for word in dict.fromkeys(words):
            lines[word].append(i)
        for s, t in row.pairs():
            word, noun = words[s], written[t]
            if t and noun.isalpha() and noun.istitle() and word.isalpha() and word.islower():
                nouns[word][noun] += 1
    return nouns, lines


def _forms(nouns: collections.Counter[str], known: Iterable[str]) -> list[str]:
    """Return the commonest of some nouns, first, and all known ones that differ in the ending."""
    first = nouns.most_common(1)[0][0]
    others = [
        noun
        for noun in known
        if 0 < abs(len(noun) - len(first)) <= 2
        and (
            _plain(noun).startswith(_plain(first))
            or (_plain(first).startswith(_plain(noun)) and len(first) - len(noun) in (1, 2))
        )
    ]
    compounds = [f"*{first.lower()}"] if len(first) >= SHORTEST else []
    return [first, *sorted(others), *compounds]


def _is_noun(word: str, lines: list[str]) -> bool:
    """Return whether an English word mostly has a word such as `the` shortly before it."""
    before = "an?|the|his|her|their|some|of|in|on|with|two"
    found = re.compile(rf"\b(?:{before})(?: \w+)? {word}\b", re.IGNORECASE)
    return sum(bool(found.search(line)) for line in lines) >= SHARE * len(lines)


def _plain(noun: str) -> str:
    return noun.translate(str.maketrans("äöüÄÖÜ", "aouAOU"))


if __name__ == "__main__":
    main()
