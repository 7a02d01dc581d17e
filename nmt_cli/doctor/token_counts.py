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
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_SHORTEST_TOKENS = 0.001  # quantile of characters a token
_ENDLESS = 2**31 - 1


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of lines that may be too long."""

    vocabularies: Vocabularies  # of both sides
    max_length: int  # the longest side that the model takes, in tokens with `</s>`
    # characters a token that next to no line is below, by side: a line of fewer than `max_length`
    # times that is not looked at
    shortest: tuple[float, float]


def study_tokens(
    sample: Sequence[Example], vocabularies: Vocabularies, config: Config, *, learned: bool
) -> tuple[list[Finding], TokenCounter]:
    """Return what the vocabulary makes of the text, and what counts the tokens of all rows.

    The sample is at least one training pair; `learned`: the vocabularies were learned from it.
    """
    texts = ([example.source[-1] for example in sample], [example.target for example in sample])
    subwords = (vocabularies.source, vocabularies.target)
    encoded = [of.encode_batch(lines) for of, lines in zip(subwords, texts, strict=True)]
    shortest = (_shortest(encoded[0], texts[0]), _shortest(encoded[1], texts[1]))
    flat = [np.array([i for ids in side for i in ids], np.int64) for side in encoded]
    used = [np.unique(ids) for ids in flat]
    num_used = len(np.union1d(*used)) if vocabularies.joint else sum(map(len, used))
    size = sum({id(one): one.vocab_size for one in subwords}.values())
    has_labels = config.facts.has_labels
    sides = [
        (name, len(ids) / max(1, sum(len(text.split()) for text in lines)), _byte_share(ids, of))
        for name, ids, lines, of in zip(("source", "target"), flat, texts, subwords, strict=True)
    ][: 1 if has_labels else 2]
    words = ", ".join(f"{tokens:.2f} in the {name}" for name, tokens, _ in sides)
    rare = " and ".join(f"{share:.2%} of the {name}'s" for name, _, share in sides)
    origin = "learned from a sample" if learned else "that of the run"
    findings = {
        "pieces-per-word": f"tokens a word: {words}, with a vocabulary of "
        f"{vocabularies.largest:,} tokens ({origin})",
        "coverage": f"{rare} tokens are bytes of rare characters; the text uses "
        f"{num_used / size:.0%} of the vocabulary",
        **_lengths(sample, vocabularies, config),
    }
    infos = [Finding(check, "info", message) for check, message in findings.items()]
    return infos, TokenCounter(vocabularies, config.model.max_length, shortest)


def _byte_share(ids: Ints, subwords: Subwords) -> float:
    """Return the share of tokens that are bytes: of characters that the vocabulary lacks."""
    special = len(CONTROL_TOKENS) + len(subwords.tags) + len(subwords.unmade)
    first_word = special + len(BYTE_TOKENS)
    return float(((ids > EOS_ID) & (ids < first_word)).mean()) if len(ids) else 0.0


def _lengths(
    sample: Sequence[Example], vocabularies: Vocabularies, config: Config
) -> dict[str, str]:
    """Return what to tell of rows that are too long, and of padding."""
    has_labels = config.facts.has_labels
    whole = _ENDLESS if has_labels else None  # others are left out, not cut
    encoder = build_encoder(config, vocabularies, max_length=whole)
    lengths = np.array([list(map(len, side)) for side in encoder.encode_examples(sample)])
    too_long = (lengths > config.model.max_length).any(axis=0)
    longest = int(np.quantile(lengths.max(axis=0), 0.999, method="higher"))
    padding = _padding_share(lengths[:, ~too_long], config)
    return {
        "truncation": f"99.9 % of the rows have at most {longest:,} tokens"
        f"{'' if has_labels else ' a side'}; model.max_length {config.model.max_length:,} "
        f"{'cuts' if has_labels else 'leaves out'} {too_long.mean():.2%} of them",
        "padding": f"up to {padding:.1%} of the positions in batches of "
        f"{config.train.tokens_per_batch:,} tokens will be padding",
    }


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


def too_long(chunk: Chunk, counter: TokenCounter) -> Iterator[Marks]:
    """Find lines with more tokens than the model takes."""
    subwords = (counter.vocabularies.source, counter.vocabularies.target)
    for number, side in enumerate(chunk.sides):
        characters = np.array([len(line) for line in side.lines])
        may_be = np.flatnonzero(characters >= counter.shortest[number] * counter.max_length)
        # Without the bytes that are not UTF-8.
        texts = [side.lines[row].encode("utf-8", "replace").decode("utf-8") for row in may_be]
        lengths = np.array([len(ids) + 1 for ids in subwords[number].encode_batch(texts)], np.int64)
        long = lengths > counter.max_length
        pairs = zip(map(int, may_be[long]), lengths[long], strict=True)
        marks = Marks.of("too-long", number, {row: f"{count:,} tokens" for row, count in pairs})
        yield marks._replace(ranks=lengths[long])
