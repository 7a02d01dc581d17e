"""How much text there is and of what kind: one pass over the corpus that keeps a small sample.

What `config/auto.py` goes by. Only the pairs are counted one by one; all else is estimated from
pairs that lie evenly over the corpus (files are often sorted, or several put one behind the other).
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from nmt_cli.config.auto import Side, Text, TokenLengths
from nmt_cli.config.pace import Lengths
from nmt_cli.config.schema import Config
from nmt_cli.text.corpus import Corpora, Example, texts
from nmt_cli.text.scripts import NAMES, script_table
from nmt_cli.text.shards import build_encoder
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_RARE = 1e-6  # characters of a smaller share are no part of the alphabet, nor are those seen once
_USUAL = 0.999
_UNCUT = 1 << 30
_DENSE = ("Hangul", "Han", "Kana")  # about two characters a word


def sample_text(corpora: Corpora) -> tuple[Text, list[Example]]:
    """Return the size of the training text, and pairs that lie evenly over it."""
    samples, counts = corpora.train_sample
    sample = list(itertools.chain.from_iterable(samples))
    return describe_text(sample, sum(counts)), sample


def describe_text(sample: list[Example], pairs: int) -> Text:
    """Return the size of the text that a sample was taken from, `pairs` in all."""
    scale = pairs / len(sample)
    sides = {name: _side(texts(sample, name), scale) for name in ("source", "target", "joint")}
    return Text(pairs, sides["source"], sides["target"], sides["joint"])


def _side(lines: Iterator[str], scale: float) -> Side:
    """Return what the lines are made of; each stands for `scale` lines of the corpus."""
    characters: Counter[str] = Counter()
    words = 0
    for line in lines:
        characters.update(line)
        words += len(line.split())
    codes, counts = np.array(list(map(ord, characters)), int), list(characters.values())
    found = np.bincount(script_table()[codes], counts, len(NAMES)).astype(int)
    in_script = dict(zip(NAMES[1:], found[1:].tolist(), strict=True))
    letters = sum(count for c, count in characters.items() if c.isalpha())
    shares = {name: count / max(1, letters) for name, count in in_script.items()}
    common = sorted((name for name in shares if shares[name] >= 0.01), key=lambda n: -shares[n])
    dense = sum(in_script[name] for name in _DENSE)
    least = max(2.0, characters.total() * _RARE)
    return Side(
        words=round(max(words, dense // 2) * scale),
        alphabet=sum(count >= least for count in characters.values()),
        scripts=", ".join(f"{shares[name]:.0%} {name}" for name in common) or "no known script",
    )


def count_tokens(
    sample: list[Example],
    config: Config,
    dev: Iterable[Example],
    vocabularies: Vocabularies | None = None,
) -> TokenLengths:
    """Return lengths in tokens; without vocabularies with one of the right size for the sample."""
    if vocabularies is None:
        subwords = Subwords.train(list(texts(sample, "joint")), config.tokenizer)
        vocabularies = Vocabularies(subwords, subwords)
    encoder = build_encoder(config, vocabularies, max_length=_UNCUT)
    sources, targets = encoder.encode_examples(sample)
    lengths = np.array([list(map(len, sources)), list(map(len, targets))])
    if encoder.has_labels:
        of_dev = encoder.encode_sources([example.source for example in dev])
    else:
        of_dev = encoder.encode_targets([example.target for example in dev])
    return TokenLengths(
        longest=int(np.quantile(lengths.max(axis=0), _USUAL, method="higher")),
        mean=Lengths(lengths[0].mean(), 0 if encoder.has_labels else lengths[1].mean()),
        dev=sum(map(len, of_dev)),
    )
