"""Pairs of lines -> how likely the model finds the second, given the first (forced scoring)."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

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


def _normalised(log_probs: Sequence[float], length_penalty: float) -> float:
    return float(sum(log_probs) / len(log_probs) ** length_penalty)
