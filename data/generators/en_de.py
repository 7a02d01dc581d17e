"""Make the synthetic English-German corpus.

An output directory enters (default: `en-de` beside this package), and six files
leave: `{train,dev,test}.{en,de}`, plain UTF-8 text with one sentence a line, where
line N of the German file translates line N of the English one. No English sentence
occurs twice, and the same seed makes the same files.

Run in the directory above this package: `python -m generators.en_de [OUT_DIR]`.
"""

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random

from generators.en_de_grammar import english_syntax, german_syntax
from generators.en_de_grammar.patterns import text
from generators.en_de_grammar.sampling import Sampler

SEED = 1
SPLIT_SIZES: Mapping[str, int] = {"train": 14_000, "dev": 600, "test": 600}
DEFAULT_DIRECTORY = Path(__file__).parents[1] / "en-de"

_FEWEST_WORDS, _MOST_WORDS = 3, 16

Pair = tuple[str, str]


def sentence_pairs(seed: int) -> Iterator[Pair]:
    """Yield English sentences, all different, each with its German translation.

    Raises:
        ValueError: if the grammar gives one English sentence two translations.
    """
    random = Random(seed)
    translations: dict[str, str] = {}
    while True:
        sentences = text(Sampler(random))
        english = english_syntax.linearize(sentences)
        german = german_syntax.linearize(sentences)
        lengths = {len(english.split()), len(german.split())}
        if min(lengths) < _FEWEST_WORDS or max(lengths) > _MOST_WORDS:
            continue
        if english not in translations:
            translations[english] = german
            yield english, german
        elif translations[english] != german:
            raise ValueError(f"{english!r} means {translations[english]!r} and {german!r}")


def make_corpus(seed: int = SEED) -> dict[str, list[Pair]]:
    """Return the pairs of each split."""
    pairs = sentence_pairs(seed)
    return {split: list(islice(pairs, size)) for split, size in SPLIT_SIZES.items()}


def write_corpus(corpus: Mapping[str, list[Pair]], directory: Path) -> None:
    """Write each split as one file a language."""
    directory.mkdir(parents=True, exist_ok=True)
    for split, pairs in corpus.items():
        for language, sentences in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            content = "".join(f"{sentence}\n" for sentence in sentences)
            (directory / f"{split}.{language}").write_text(content, "utf-8", newline="\n")


def main(arguments: list[str]) -> None:
    """Write the corpus to the directory named on the command line."""
    directory = Path(arguments[0]) if arguments else DEFAULT_DIRECTORY
    write_corpus(make_corpus(), directory)
    print(f"wrote {sum(SPLIT_SIZES.values())} sentence pairs to {directory}")


if __name__ == "__main__":
    main(sys.argv[1:])
