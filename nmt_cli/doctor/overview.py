"""A corpus as a whole: its languages, its size, what the vocabulary makes of it."""

from collections.abc import Iterator

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.doctor.chunk import Side
from nmt_cli.doctor.findings import Finding
from nmt_cli.doctor.languages import script_of
from nmt_cli.doctor.profile import MAIN_SCRIPT
from nmt_cli.doctor.result import CorpusRows
from nmt_cli.doctor.token_counts import TokenStatistics
from nmt_cli.text.corpus import Example
from nmt_cli.text.language_id import other_language
from nmt_cli.text.languages import Languages
from nmt_cli.text.scripts import NAMES

MIN_TRAIN, MIN_DEV = 1000, 100  # rows: with fewer, little can be learned or told


def language_findings(config: Config, sample: list[Example]) -> Iterator[Finding]:
    """Yield a warning for a side that is not in the language that the configuration names."""
    languages = Languages.of(config).default
    sides = ([e.source[-1] for e in sample], [e.target for e in sample])
    for name, language, lines in zip(("source", "target"), languages, sides, strict=True):
        key = f"data.{name}_lang is {language}"
        expected, shares = script_of(language), _script_shares(lines)
        if expected and shares[expected] < MAIN_SCRIPT:
            most = max(shares, key=lambda script: shares[script])
            message = f"{key}, but {shares[most]:.0%} of its letters are {most}"
        elif measured := other_language(" ".join(lines), language):
            message = f"{key}, but most of it looks like {measured}"
        else:
            continue
        yield Finding("language", "warning", None, None, f"{message}; are the sides swapped?")


def _script_shares(lines: list[str]) -> dict[str, float]:
    side = Side(lines)
    counts = np.bincount(side.scripts, minlength=len(NAMES))
    total = max(1, int(counts[1:].sum()))
    return {NAMES[i]: float(counts[i]) / total for i in range(1, len(NAMES))}


def size_findings(found: list[CorpusRows]) -> Iterator[Finding]:
    """Yield an error for a split without rows, a warning for one with few."""
    for name, least in (("train", MIN_TRAIN), ("dev", MIN_DEV), ("test", MIN_DEV)):
        corpora = [corpus for corpus in found if corpus.split == name]
        rows = sum(map(len, corpora))
        if corpora and not rows:
            yield Finding("size", "error", corpora[0].files[0], None, f"{name} has no rows")
        elif corpora and rows < least:
            why = "too little to learn much from" if name == "train" else "a rough measure"
            yield Finding("size", "warning", None, None, f"{name} has only {rows:,} rows: {why}")


def token_findings(
    config: Config, found: TokenStatistics, vocab_size: int, *, learned: bool, sides: int
) -> Iterator[Finding]:
    """Yield what the vocabulary makes of the text: of both sides, or of the source alone."""
    origin = "a vocabulary learned from a sample" if learned else "the run's vocabulary"
    names = ("source", "target")[:sides]
    words = [
        f"{n:.2f} in the {name}" for name, n in zip(names, found.tokens_per_word, strict=False)
    ]
    rare = [
        f"{share:.2%} of the {name}'s"
        for name, share in zip(names, found.bytes_share, strict=False)
    ]
    for check, message in (
        (
            "pieces-per-word",
            f"tokens a word: {', '.join(words)}, with {origin} of {vocab_size:,} tokens",
        ),
        (
            "coverage",
            f"{' and '.join(rare)} tokens are bytes of rare characters; the text uses "
            f"{found.used_share:.0%} of the vocabulary",
        ),
        (
            "truncation",
            f"99.9 % of the rows have at most {found.longest:,} tokens{' a side' * (sides > 1)}; "
            f"model.max_length {config.model.max_length:,} {'leaves out' if sides > 1 else 'cuts'} "
            f"{found.left_out_share:.2%} of them",
        ),
        (
            "padding",
            f"up to {found.padding_share:.1%} of the positions in batches of "
            f"{config.train.tokens_per_batch:,} tokens will be padding",
        ),
    ):
        yield Finding(check, "info", None, None, message)
