"""Decoding by trying everything: the oracle for greedy and beam search.

In: a function that gives the next token's log-probabilities after a prefix. Out: the best
sequences there are. The cost is `vocab_size ** max_length`, so keep both small.

Reference:
    Wu et al. 2016, "Google's Neural Machine Translation System", arXiv 1609.08144, section 7:
    why a score is divided by a power of the length. The divisor here is the plain
    `length ** length_penalty`.
"""

from collections.abc import Callable, Iterator

import numpy as np

Ids = tuple[int, ...]


def best_sequences(
    next_log_probs: Callable[[Ids], np.ndarray],
    end_id: int,
    vocab_size: int,
    max_length: int,
    length_penalty: float,
    n: int,
) -> list[tuple[Ids, float]]:
    """Score every sequence and return the best.

    Args:
        next_log_probs: Prefix (generated ids, without a start token) -> log-probabilities of
            the next token, [V]; -inf forbids a token, and what holds one comes last.
        end_id: The token that ends a sequence.
        vocab_size: V.
        max_length: Most tokens in a sequence, `end_id` counted; a sequence that has not ended
            by then is cut there and competes as it is.
        length_penalty: Exponent of the length (tokens with `end_id`) that divides a sum.
        n: How many to return.

    Returns:
        Up to `n` pairs (ids with their `end_id`, score), best first, equal scores by ids.
    """
    scored = [
        (ids, log_prob / len(ids) ** length_penalty)
        for ids, log_prob in all_sequences(next_log_probs, end_id, vocab_size, max_length)
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:n]


def all_sequences(
    next_log_probs: Callable[[Ids], np.ndarray],
    end_id: int,
    vocab_size: int,
    max_length: int,
    prefix: Ids = (),
    prefix_log_prob: float = 0.0,
) -> Iterator[tuple[Ids, float]]:
    """Walk the tree of sequences depth first.

    Args:
        next_log_probs: As in `best_sequences`.
        end_id: As in `best_sequences`.
        vocab_size: V.
        max_length: As in `best_sequences`.
        prefix: Where the walk stands; shorter than `max_length` and not ended.
        prefix_log_prob: Log-probability of `prefix`.

    Yields:
        Each complete sequence that begins with `prefix`, with its log-probability.
    """
    log_probs = next_log_probs(prefix)
    for token in range(vocab_size):
        ids = (*prefix, token)
        log_prob = prefix_log_prob + float(log_probs[token])
        if token == end_id or len(ids) == max_length:
            yield ids, log_prob
        else:
            yield from all_sequences(next_log_probs, end_id, vocab_size, max_length, ids, log_prob)
