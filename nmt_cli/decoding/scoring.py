"""What changes the logits before the softmax, and how log-probabilities become scores.

All follows CTranslate2's rules, so that both engines give the same answers: masks act before the
log-softmax, and a score is log-probability / length^alpha with `</s>` counted.
"""

from typing import Any

import tensorflow as tf

from nmt_cli.text.tokenizer import CONTROL_TOKENS, EOS_ID

Tensor = Any
IMPOSSIBLE = -1e9


def is_control(vocab_size: Tensor) -> Tensor:
    """Return which pieces are control tokens that no output may hold, [V] bool."""
    ids = tf.range(vocab_size)
    return (ids < len(CONTROL_TOKENS)) & (ids != EOS_ID)


def end_too_early(vocab_size: Tensor, position: Tensor, min_length: Tensor) -> Tensor:
    """Return [V] bool, True at `</s>` while fewer than `min_length` pieces are written."""
    return (tf.range(vocab_size) == EOS_ID) & (position < min_length)


def repetition_penalised(logits: Tensor, sequences: Tensor, penalty: Tensor) -> Tensor:
    """Make pieces already written less likely (Keskar et al. 2019, section 4.1).

    Args:
        logits: [N, V].
        sequences: [N, C] what each row has written, 0 where nothing is.
        penalty: Scalar above 1.
    """
    written = _marked(sequences, sequences > 0, tf.shape(logits)[1])
    penalised = tf.where(logits > 0, logits / penalty, logits * penalty)
    return tf.where(written, penalised, logits)


def ngram_blocked(logits: Tensor, sequences: Tensor, position: Tensor, size: int) -> Tensor:
    """Forbid pieces that would complete n pieces already written in this order.

    Args:
        logits: [N, V].
        sequences: [N, C] what each row has written before `position`.
        position: Scalar, the number of pieces written.
        size: n, at least 1.
    """
    capacity = tf.shape(sequences)[1]
    num_starts = tf.maximum(capacity - size + 1, 0)
    starts = tf.range(num_starts)
    same = tf.fill([tf.shape(sequences)[0], num_starts], True)
    for offset in range(size - 1):
        column = tf.clip_by_value(position - size + 1 + offset, 0, capacity - 1)
        recent = tf.gather(sequences, column, axis=1)[:, None]  # [N, 1]
        same &= sequences[:, offset : offset + num_starts] == recent
    same &= (starts + size - 1 < position) & (position >= size - 1)
    completing = sequences[:, tf.minimum(size - 1, capacity) :]
    banned = _marked(completing, same, tf.shape(logits)[1])
    return tf.where(banned, IMPOSSIBLE, logits)


def _marked(ids: Tensor, where: Tensor, vocab_size: Tensor) -> Tensor:
    """Return [N, V] bool, True at the ids [N, C] of each row where `where` [N, C] holds."""
    rows_and_columns = tf.where(where)
    rows = tf.cast(rows_and_columns[:, 0], tf.int32)
    pieces = tf.gather_nd(ids, rows_and_columns)
    counts = tf.scatter_nd(
        tf.stack([rows, pieces], axis=1), tf.ones_like(pieces), [tf.shape(ids)[0], vocab_size]
    )
    return counts > 0


def normalised_score(log_prob: Tensor, length: Tensor, length_penalty: Tensor) -> Tensor:
    """Return log_prob / length^alpha, length with `</s>`."""
    return log_prob / tf.cast(length, tf.float32) ** length_penalty
