"""What changes the logits before the softmax, and how log-probabilities become scores.

All follows CTranslate2's rules, so that both engines give the same answers: the masks of options
act before the log-softmax, and a score is log-probability / length^alpha with `</s>` counted.
`logits` are [N, V], `sequences` [N, C] what each row has written before `position`, 0 beyond it.
"""

from typing import Any

import tensorflow as tf

from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID

Tensor = Any
IMPOSSIBLE = -1e9


def is_control(vocab_size: Tensor, num_tags: int) -> Tensor:
    """Return which tokens no output may hold, [V] bool: control tokens and tags of languages."""
    ids = tf.range(vocab_size)
    return (ids < len(CONTROL_TOKENS) + num_tags) & (ids != EOS_ID)


def end_too_early(vocab_size: Tensor, position: Tensor, floors: Tensor) -> Tensor:
    """Return [N, V] bool, True at `</s>` while a row has fewer tokens than its floor [N]."""
    is_end = tf.range(vocab_size) == EOS_ID
    return is_end[None, :] & (position < floors)[:, None]  # [N, V]


def forced(log_probs: Tensor, position: Tensor, prefixes: Tensor) -> Tensor:
    """Give the next token of each sentence's prefix probability one while there is one.

    Prefixes are [B, P], 0 after their end; or [1, P], which is that of every sentence.
    """
    padded = tf.pad(prefixes, [[0, 0], [0, 1]])  # [B, P+1]
    token = padded[:, tf.minimum(position, tf.shape(prefixes)[1])]  # [B]
    num_rows, vocab_size = tf.unstack(tf.shape(log_probs))
    token = tf.repeat(token, num_rows // tf.shape(token)[0])[:, None]  # [N, 1]
    only = tf.where(tf.range(vocab_size) == token, 0.0, IMPOSSIBLE)  # [N, V]
    return tf.where(token > 0, only, log_probs)


def sequences_blocked(
    logits: Tensor, sequences: Tensor, position: Tensor, suppressed: tuple[tuple[int, ...], ...]
) -> Tensor:
    """Forbid the last token of each suppressed row of ids where the others have been written."""
    tokens = tf.range(tf.shape(logits)[1])
    if alone := [row[0] for row in suppressed if len(row) == 1]:
        is_alone = tf.reduce_any(tokens[:, None] == tf.constant(alone), axis=1)  # [V]
        logits = tf.where(is_alone, IMPOSSIBLE, logits)
    for *before, last in (row for row in suppressed if len(row) > 1):
        matches = tf.fill([tf.shape(sequences)[0]], position >= len(before))  # [N]
        for distance, token in enumerate(reversed(before), start=1):
            written = tf.gather(sequences, tf.maximum(position - distance, 0), axis=1)  # [N]
            matches &= written == token
        logits = tf.where(matches[:, None] & (tokens == last)[None, :], IMPOSSIBLE, logits)
    return logits


def coverage_score(coverage: Tensor, mask: Tensor) -> Tensor:
    """Return sum over the source of log(min(coverage, 1)) (Wu et al. 2016, equation 14), [N].

    Coverage [N, S] is the attention that each source token got in all steps so far; the mask [N, S]
    is True at real tokens.
    """
    covered = mask & (coverage > 0.0)  # CTranslate2 leaves out what got nothing at all, too
    logs = tf.math.log(tf.where(covered, tf.minimum(coverage, 1.0), 1.0))
    return tf.reduce_sum(logs, axis=1)  # [N]


def repetition_penalised(logits: Tensor, sequences: Tensor, penalty: Tensor) -> Tensor:
    """Make tokens already written less likely (Keskar et al. 2019, section 4.1)."""
    written = _marked(sequences, sequences > 0, tf.shape(logits)[1])
    penalised = tf.where(logits > 0, logits / penalty, logits * penalty)
    return tf.where(written, penalised, logits)


def ngram_blocked(logits: Tensor, sequences: Tensor, position: Tensor, size: int) -> Tensor:
    """Forbid tokens that would complete `size` tokens already written in this order."""
    capacity = tf.shape(sequences)[1]
    num_starts = tf.maximum(capacity - size + 1, 0)
    starts = tf.range(num_starts)
    same = tf.fill([tf.shape(sequences)[0], num_starts], True)  # [N, starts]
    for offset in range(size - 1):
        column = tf.clip_by_value(position - size + 1 + offset, 0, capacity - 1)
        recent = tf.gather(sequences, column, axis=1)[:, None]  # [N, 1]
        same &= sequences[:, offset : offset + num_starts] == recent
    same &= (starts + size - 1 < position) & (position >= size - 1)
    completing = sequences[:, tf.minimum(size - 1, capacity) :]  # [N, starts]
    banned = _marked(completing, same, tf.shape(logits)[1])
    return tf.where(banned, IMPOSSIBLE, logits)


def _marked(ids: Tensor, where: Tensor, vocab_size: Tensor) -> Tensor:
    """Return [N, V] bool, True at the ids [N, C] of each row where `where` [N, C] holds."""
    rows, length = tf.unstack(tf.shape(ids))
    row_of = tf.repeat(tf.range(rows), length)  # [N*C]
    indices = tf.stack([row_of, tf.reshape(ids, [-1])], axis=1)  # [N*C, 2]
    counts = tf.scatter_nd(indices, tf.reshape(tf.cast(where, tf.int32), [-1]), [rows, vocab_size])
    return counts > 0


def normalised_score(log_prob: Tensor, length: Tensor, length_penalty: Tensor) -> Tensor:
    """Return log_prob / length^alpha, length with `</s>`."""
    return log_prob / tf.cast(length, tf.float32) ** length_penalty
