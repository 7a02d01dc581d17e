"""Pairs of lines -> how likely the model finds the second, given the first (forced scoring)."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from nmt_cli.search.alignment import word_attention, word_pairs, words_of
from nmt_cli.search.engine import Engine
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

_WINDOW = 2048  # pairs that are scored together


@dataclass(frozen=True)
class PairScore:
    """How likely the model finds a target.

    Attributes:
        score: Sum of `log_probs` / length^alpha, as a search would give; see `SearchOptions`.
        tokens: The target's tokens, with `</s>`.
        log_probs: Natural logarithm of each token's probability given those before it.
    """

    score: float
    tokens: list[str]
    log_probs: list[float]


def score_pairs(
    engine: Engine,
    vocabularies: Vocabularies,
    pairs: Iterable[tuple[str, str]],
    *,
    length_penalty: float,
    on_warning: Callable[[str], None] = lambda _: None,
) -> Iterator[PairScore]:
    """Yield one score a pair, in order.

    Args:
        engine: Scores.
        vocabularies: The model's subwords.
        pairs: Source and target lines.
        length_penalty: alpha; 0 gives plain log-probabilities.
        on_warning: Told, in one line, of a side that is longer than the model reads.
    """
    numbered = enumerate(pairs, start=1)
    room = engine.max_length - 1
    while window := list(itertools.islice(numbered, _WINDOW)):
        sides = (
            vocabularies.source.encode_batch([pair[0] for _, pair in window]),
            vocabularies.target.encode_batch([pair[1] for _, pair in window]),
        )
        for (number, _), *ids in zip(window, *sides, strict=True):
            if max(map(len, ids)) > room:
                on_warning(f"pair {number} is longer than {room} tokens; only these are scored")
        sources, targets = ([[*row[:room], EOS_ID] for row in side] for side in sides)
        for target, log_probs in zip(targets, engine.score(sources, targets), strict=True):
            tokens = vocabularies.target.tokens(target)
            yield PairScore(_normalised(log_probs, length_penalty), tokens, log_probs)


@dataclass(frozen=True)
class ExplainedWord:
    """A word of a translation.

    Attributes:
        text: The word.
        probability: Of its tokens together, given the source and the words before it.
        source: The source word that it attends to most; "" where there is none.
    """

    text: str
    probability: float
    source: str


def explain_pair(
    engine: Engine, vocabularies: Vocabularies, source: str, target: str
) -> list[ExplainedWord]:
    """Return each word of a target line; words beyond what the model reads are left out."""
    room = engine.max_length - 1
    read = [*vocabularies.source.encode(source)[:room], EOS_ID]
    written = [*vocabularies.target.encode(target)[:room], EOS_ID]
    (log_probs,) = engine.score([read], [written])
    (attention,) = engine.attention([read], [written])
    sources = words_of(vocabularies.source.tokens(read))
    targets = words_of(vocabularies.target.tokens(written))
    origins = {t: s for s, t in word_pairs(word_attention(attention, sources, targets))}
    return [
        ExplainedWord(
            vocabularies.target.decode([written[i] for i in word]).strip(),
            math.exp(sum(log_probs[i] for i in word)),
            vocabularies.source.decode([read[i] for i in sources[origins[t]]]).strip()
            if t in origins
            else "",
        )
        for t, word in enumerate(targets)
    ]


def _normalised(log_probs: Sequence[float], length_penalty: float) -> float:
    return float(sum(log_probs) / len(log_probs) ** length_penalty)
