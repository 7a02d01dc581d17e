"""How much text there is and of what kind: one pass over the corpus that keeps a small sample.

What `presets.py` goes by. Only the pairs are counted one by one; everything else is estimated from
pairs that lie evenly over the corpus (files are often sorted, or several put one behind the other).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from nmt_cli.config import Config
from nmt_cli.presets import Pieces, Side, Text
from nmt_cli.text.corpus import Corpora, Example, texts
from nmt_cli.text.shards import Encoder
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary_cache import check_not_empty

_SAMPLE = 10_000  # pairs kept at least, where there are as many
_RARE = 1e-6  # characters of a smaller share are no part of the alphabet, nor are those seen once
_USUAL = 0.999
_UNCUT = 1 << 30
_SCRIPTS = {
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "Han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "Kana": "\u3040-\u30ff\u31f0-\u31ff",
    "Latin": "A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff",
    "Cyrillic": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Hebrew": "\u0590-\u05ff",
    "Devanagari": "\u0900-\u097f",
    "Thai": "\u0e00-\u0e7f",
}
_DENSE = ("Hangul", "Han", "Kana")  # about two characters a word


def sample_text(corpora: Corpora) -> tuple[Text, list[Example]]:
    """Return the size of the training text, and pairs that lie evenly over it.

    Raises:
        TrainingError: There is no pair.
        DataError: A file cannot be read.
    """
    check_not_empty(corpora)
    sample: list[Example] = []
    every, pairs = 1, 0
    for example in corpora.iter_split("train"):
        if pairs % every == 0:
            sample.append(example)
        pairs += 1
        if len(sample) == 2 * _SAMPLE:
            sample, every = sample[::2], every * 2
    scale = pairs / len(sample)
    sides = {name: _side(texts(sample, name), scale) for name in ("source", "target", "joint")}
    return Text(pairs, sides["source"], sides["target"], sides["joint"]), sample


def _side(lines: Iterator[str], scale: float) -> Side:
    """Return what the lines are made of; each stands for `scale` lines of the corpus."""
    characters: Counter[str] = Counter()
    words = 0
    for line in lines:
        characters.update(line)
        words += len(line.split())
    dense = sum(_count(characters, _SCRIPTS[name]) for name in _DENSE)
    least = max(2.0, characters.total() * _RARE)
    return Side(
        words=round(max(words, dense // 2) * scale),
        alphabet=sum(count >= least for count in characters.values()),
        scripts=_describe_scripts(characters),
    )


def _count(characters: Counter[str], ranges: str) -> int:
    return sum(characters[c] for c in re.findall(f"[{ranges}]", "".join(characters)))


def _describe_scripts(characters: Counter[str]) -> str:
    letters = sum(count for c, count in characters.items() if c.isalpha())
    shares = {
        name: _count(characters, ranges) / max(1, letters) for name, ranges in _SCRIPTS.items()
    }
    common = sorted((name for name in shares if shares[name] >= 0.01), key=lambda n: -shares[n])
    return ", ".join(f"{shares[name]:.0%} {name}" for name in common) or "no known script"


def count_pieces(sample: list[Example], config: Config, dev: Iterable[Example]) -> Pieces:
    """Return lengths in pieces, measured with a vocabulary of the right size for the sample.

    Args:
        sample: Training pairs.
        config: With the size of the vocabulary.
        dev: The development pairs.
    """
    subwords = Subwords.train(list(texts(sample, "joint")), config.tokenizer)
    is_chat = config.task == "chat"
    encoder = Encoder(subwords, subwords, is_chat, config.chat.persona, max_length=_UNCUT)
    sources = encoder.encode_sources([example.source for example in sample])
    targets = encoder.encode_targets([example.target for example in sample])
    lengths = np.array([list(map(len, sources)), list(map(len, targets))])
    dev_targets = encoder.encode_targets([example.target for example in dev])
    return Pieces(
        longest=int(np.quantile(lengths.max(axis=0), _USUAL, method="higher")),
        target_mean=float(lengths[1].mean()),
        dev=sum(map(len, dev_targets)),
    )
