"""Label-smoothed cross-entropy, summed over real target pieces (Szegedy et al. 2016, section 7).

The target distribution is (1 - eps) at the label plus eps / V over the V pieces that an output can
hold. Control tokens are none of these: with a share of eps they would keep probability that no
search can use, and the engines, which take it out in different ways, would disagree. Written out,

    CE_smooth = CE + eps * (logit_label - mean logit)

and both terms of the bracket are one dot product of the decoder's state, with the label's row of
the output matrix and with its mean row. So smoothing needs no second pass over the [N, V] logits.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.model.layers import Packing, RandomStream
from nmt_cli.model.transformer import Transformer, shifted_right
from nmt_cli.text.tokenizer import CONTROL_TOKENS, EOS_ID

Tensor = Any


class LossSums(NamedTuple):
    """Sums over a batch's real target pieces; divide once, over the whole effective batch.

    Attributes:
        smoothed: Scalar, label-smoothed cross-entropy in nats: what training minimises.
        plain: Scalar, cross-entropy in nats; exp(plain / num_tokens) is the perplexity.
        num_tokens: Scalar float, real target pieces with `</s>`.
    """

    smoothed: Tensor
    plain: Tensor
    num_tokens: Tensor


def loss_sums(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    label_smoothing: float,
    random: RandomStream | None,
) -> LossSums:
    """Run the model on a batch and compare its predictions with the target.

    Args:
        model: The Transformer.
        source: [B, S] int32 source ids, padded with 0.
        target: [B, T] int32 target ids with `</s>`, padded with 0.
        label_smoothing: eps.
        random: Seeds of the dropouts, or None for none.
    """
    cache = model.start_cache(model.encode(source, random=random))
    states = model.decode(shifted_right(target), cache, random=random)  # [N, D]
    labels = Packing.of(target).pack(target)  # [N]
    plain = tf.reduce_sum(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model.logits(states))
    )
    wide = tf.cast(states, tf.float32)
    table = tf.convert_to_tensor(model.output_table)
    label_logits = tf.reduce_sum(wide * tf.gather(table, labels))
    mean_logits = tf.reduce_sum(tf.linalg.matvec(wide, _mean_row(table)))
    smoothed = plain + label_smoothing * (label_logits - mean_logits)
    return LossSums(smoothed, plain, tf.cast(tf.size(labels), tf.float32))


def _mean_row(table: Tensor) -> Tensor:
    """Return the mean [D] of the rows of a table [V, D] whose pieces an output can hold."""
    never = [i for i in range(len(CONTROL_TOKENS)) if i != EOS_ID]
    total = tf.reduce_sum(table, axis=0) - tf.reduce_sum(tf.gather(table, never), axis=0)
    return total / tf.cast(tf.shape(table)[0] - len(never), tf.float32)
