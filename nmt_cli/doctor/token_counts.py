"""What the vocabulary makes of the text: tokens a word, coverage, length, padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.doctor.chunk import Chunk, Ints
from nmt_cli.doctor.findings import Finding, Marks
from nmt_cli.text.batches import plan_window
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import EncodedCorpus, build_encoder
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS, EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

_SHORTEST_TOKENS = 0.001  # quantile of characters a token
_ENDLESS = 2**31 - 1
_FIRST_WORD_TOKEN = len(CONTROL_TOKENS) + len(BYTE_TOKENS)


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of lines that may be too long.

    Attributes:
        vocabularies: Of both sides.
        max_length: The longest side that the model takes, in tokens with `</s>`.
        shortest: Characters a token that next to no line is below, by side: a line of fewer
            than `max_length` times that is not looked at.
    """

    vocabularies: Vocabularies
    max_length: int
    shortest: tuple[float, float]


@dataclass(frozen=True)
class TokenStatistics:
    """What a sample of the training pairs becomes.

    Attributes:
        tokens_per_word: Tokens of a word between spaces, by side.
        bytes_share: Share of the tokens that are single bytes: of characters that the vocabulary
            lacks; by side.
        used_share: Share of the vocabulary's tokens that the sample uses.
        left_out_share: Share of the pairs with a side longer than the model takes.
        longest: Tokens that 99.9 % of the sides stay within.
        padding_share: Share of a batch's positions that hold no token.
        shortest: See `TokenCounter`.
    """

    tokens_per_word: tuple[float, float]
    bytes_share: tuple[float, float]
    used_share: float
    left_out_share: float
    longest: int
    padding_share: float
    shortest: tuple[float, float]


def token_statistics(
    sample: Sequence[Example], vocabularies: Vocabularies, config: Config
) -> TokenStatistics:
    """Return what a sample of at least one pair becomes with a configuration without `auto`."""
    whole = _ENDLESS if config.facts.has_labels else None  # others are left out, not cut
    encoder = build_encoder(config, vocabularies, max_length=whole)
    sides = encoder.encode_examples(sample)
    texts = ([example.source[-1] for example in sample], [example.target for example in sample])
    single = [encoder.source.encode_batch(texts[0]), encoder.target.encode_batch(texts[1])]
    flat = [np.array([i for ids in side for i in ids], np.int64) for side in single]
    lengths = np.array([list(map(len, side)) for side in sides])
    first_word = _FIRST_WORD_TOKEN + len(vocabularies.source.tags)
    used = [np.unique(ids) for ids in flat]
    num_used = len(np.union1d(*used)) if vocabularies.joint else sum(map(len, used))
    size = sum({id(v): v.vocab_size for v in (vocabularies.source, vocabularies.target)}.values())
    too_long = (lengths > config.model.max_length).any(axis=0)
    return TokenStatistics(
        tokens_per_word=_by_side(
            len(ids) / max(1, sum(len(text.split()) for text in side))
            for ids, side in zip(flat, texts, strict=True)
        ),
        bytes_share=_by_side(
            float(((ids > EOS_ID) & (ids < first_word)).mean()) if len(ids) else 0.0 for ids in flat
        ),
        used_share=num_used / size,
        left_out_share=float(too_long.mean()),
        longest=int(np.quantile(lengths.max(axis=0), 0.999, method="higher")),
        padding_share=_padding_share(lengths[:, ~too_long], config),
        shortest=_by_side(_shortest(ids, side) for ids, side in zip(single, texts, strict=True)),
    )


def _by_side(values: Iterator[float]) -> tuple[float, float]:
    source, target = values
    return source, target


def _shortest(encoded: Sequence[Sequence[int]], texts: Sequence[str]) -> float:
    ratios = [len(text) / len(ids) for ids, text in zip(encoded, texts, strict=True) if ids]
    return float(np.quantile(ratios, _SHORTEST_TOKENS)) if ratios else 0.0


def _padding_share(lengths: Ints, config: Config) -> float:
    """Return the share of positions without a token in the batches of an epoch of the sample."""
    if not lengths.size:
        return 0.0
    source, target = (np.concatenate(([0], np.cumsum(side))) for side in lengths)
    nothing = np.zeros(0, np.uint16)
    plan = plan_window(EncodedCorpus(nothing, source, nothing, target), config)
    ordered = lengths[:, plan.order]  # [2, N]
    rows = np.diff(plan.starts)
    positions = (np.maximum.reduceat(ordered, plan.starts[:-1], axis=1) * rows).sum()
    return 1.0 - float(ordered.sum() / positions)


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


def too_long(chunk: Chunk, counter: TokenCounter) -> Iterator[Marks]:
    """Find lines with more tokens than the model takes."""
    subwords = (counter.vocabularies.source, counter.vocabularies.target)
    for number, side in enumerate(chunk.sides):
        characters = np.array([len(line) for line in side.lines])
        may_be = np.flatnonzero(characters >= counter.shortest[number] * counter.max_length)
        texts = [_as_text(side.lines[row]) for row in may_be]
        lengths = np.array([len(ids) + 1 for ids in subwords[number].encode_batch(texts)], np.int64)
        long = lengths > counter.max_length
        pairs = zip(map(int, may_be[long]), lengths[long], strict=True)
        marks = Marks.of("too-long", number, {row: f"{count:,} tokens" for row, count in pairs})
        yield marks._replace(ranks=lengths[long])


def _as_text(line: str) -> str:
    """Return a line without the bytes that are not UTF-8."""
    return line.encode("utf-8", "replace").decode("utf-8")
