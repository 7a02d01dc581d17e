"""The losses: label-smoothed cross-entropy of target tokens, or of a classifier's labels.

Over tokens, without padding, the target distribution is (1 - eps) at the label plus eps / V at
each of the V tokens that an output can hold (Szegedy et al. 2016, section 7), which control tokens
are not (see `output_logits`). Written out,

    CE_smooth = CE + eps * (logit_label - mean logit)

and both terms of the bracket are one dot product of the decoder's state, with the label's row of
the output matrix and with its mean row. So smoothing needs no second pass over the [N, V] logits.

A classifier with one label an example: softmax over the Y labels, against (1 - eps) at the right
one plus eps / Y at each, times the weight of the right one. With several: Y decisions by sigmoid,
against 1 - eps / 2 and eps / 2, the mean of all; the weight counts where an example has the label.
Both are summed over examples.

A loss takes a model, source ids [B, S] and target ids [B, T] int32, padded with 0, the label
smoothing eps, and the seeds of the dropouts or None.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from nmt_cli.model.classifier import Classifier
from nmt_cli.model.layers import RandomStream
from nmt_cli.model.packing import Packing, Tensor
from nmt_cli.model.transformer import Transformer, shifted_right
from nmt_cli.tasks.output_layer import Agreement, output_loss
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.text.special_tokens import CONTROL_TOKENS, never_written

Weights = npt.NDArray[np.float32]


class LossSums(NamedTuple):
    """Sums over a batch's real target tokens; divide once, over the whole effective batch."""

    smoothed: Tensor  # scalar, label-smoothed cross-entropy in nats: what training minimises
    plain: Tensor  # scalar, cross-entropy in nats; exp(plain / num_tokens) is the perplexity
    num_tokens: Tensor  # scalar float, real target tokens with `</s>` (for labels: examples)


# (model, source ids, target ids, label smoothing, seeds of the dropouts or None) -> sums
LossFunction = Callable[[Any, Tensor, Tensor, float, RandomStream | None], LossSums]


def loss_sums(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    label_smoothing: float,
    random: RandomStream | None,
    agreement: Agreement | None = None,
) -> LossSums:
    """Run a Transformer on a batch and compare its predictions with the target.

    In training (with `random`) it may read the batch twice, and `agreement` weighs how much the two
    differ. They are one batch of twice the size.
    """
    if random is None:
        agreement = None
    if agreement is not None:
        source, target = (tf.concat([ids, ids], axis=0) for ids in (source, target))  # [2*B, ...]
    shifted = shifted_right(target)
    hidden = [_hidden(ids, agreement, random) for ids in (source, shifted)]
    cache = model.start_cache(model.encode(source, random=random, hidden=hidden[0]))
    states = model.decode(shifted, cache, random=random, hidden=hidden[1])  # [N, D]
    labels = Packing.of(target).pack(target)  # [N]
    if model.num_tags:  # an output's own language is forced, not predicted
        after = labels - len(CONTROL_TOKENS)
        is_predicted = (after < 0) | (after >= model.num_tags)
        states, labels = (tf.boolean_mask(x, is_predicted) for x in (states, labels))
    table = tf.convert_to_tensor(model.output_table)
    bias = tf.stop_gradient(model.output_bias)
    passes = [states]
    if agreement is not None:
        passes, (labels, _) = tf.split(states, 2), tf.split(labels, 2)
    loss, plain = output_loss(passes, table, bias, labels, agreement)
    mean_row, mean_bias = (_mean_row(x, model.num_tags) for x in (table, bias))
    shares = (1.0,) if agreement is None else agreement.shares
    for share, one in zip(shares, passes, strict=True):
        if share:
            wide = tf.cast(one, tf.float32)
            label_logits = tf.reduce_sum(wide * tf.gather(table, labels))
            label_logits += tf.reduce_sum(tf.gather(bias, labels))
            mean_logits = tf.reduce_sum(tf.linalg.matvec(wide, mean_row) + mean_bias)
            loss += share * label_smoothing * (label_logits - mean_logits)
    return LossSums(loss, plain, tf.cast(tf.size(labels), tf.float32))


def _hidden(ids: Tensor, agreement: Agreement | None, random: RandomStream | None) -> Tensor | None:
    """Return which tokens of a doubled batch [2*B, T] a cut-off hides, bool; None if none."""
    if agreement is None or random is None or not agreement.cutoff:
        return None
    first, second = tf.split(ids, 2)
    draws = tf.random.stateless_uniform(tf.shape(second), random.next_seed())
    return tf.concat([tf.zeros_like(first, tf.bool), draws < agreement.cutoff], axis=0)


def _mean_row(table: Tensor, num_tags: int) -> Tensor:
    """Return the mean [...] of the rows of a table [V, ...] whose tokens an output can hold."""
    never = never_written(num_tags)
    total = tf.reduce_sum(table, axis=0) - tf.reduce_sum(tf.gather(table, never), axis=0)
    return total / tf.cast(tf.shape(table)[0] - len(never), tf.float32)


def label_loss(
    model: Classifier,
    source: Tensor,
    target: Tensor,
    label_smoothing: float,
    random: RandomStream | None,
    *,
    multi_label: bool,
    weights: Weights,
) -> LossSums:
    """Run a classifier on a batch and compare its predictions with the labels, of weights [Y].

    The target holds the numbers of each example's labels from 1. The sums are over examples, whose
    number stands where that of tokens does.
    """
    logits = model(source, random=random)
    is_label = tf.reduce_sum(tf.one_hot(target - 1, len(weights)), axis=1)  # [B, Y]
    losses = _of_several if multi_label else _of_one
    plain = losses(logits, is_label, 0.0, np.ones_like(weights))
    smoothed = losses(logits, is_label, label_smoothing, weights)
    count = tf.cast(tf.shape(source)[0], tf.float32)
    return LossSums(tf.reduce_sum(smoothed), tf.reduce_sum(plain), count)


def _of_one(logits: Tensor, is_label: Tensor, eps: float, weights: Weights) -> Tensor:
    wanted = (1.0 - eps) * is_label + eps / len(weights)
    losses = -tf.reduce_sum(wanted * tf.nn.log_softmax(logits), axis=1)
    return losses * tf.linalg.matvec(is_label, weights)


def _of_several(logits: Tensor, is_label: Tensor, eps: float, weights: Weights) -> Tensor:
    wanted = (1.0 - eps) * is_label + eps / 2
    losses = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    return tf.reduce_mean((is_label * weights + 1.0 - is_label) * losses, axis=1)


def balanced_weights(corpus: EncodedCorpus, num_labels: int, *, multi_label: bool) -> Weights:
    """Return a weight for each label [Y] by which seldom and frequent ones count alike.

    With one label an example it is N / (Y n), n of the N examples having the label, so that the
    mean weight of an example is 1; with several, (N - n) / n. A label that no example has, or every
    one, weighs 1.
    """
    counts = np.bincount(corpus.target, minlength=num_labels + 1)[1:]
    with_examples = np.maximum(counts, 1)
    of_one = len(corpus) / (num_labels * with_examples)
    weights = (len(corpus) - counts) / with_examples if multi_label else of_one
    return np.where(counts * weights, weights, 1.0).astype(np.float32)
