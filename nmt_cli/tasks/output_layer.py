"""The output layer and the loss over it, a chunk of positions at a time.

All logits, [N, V], would be by far the largest array of a step. So each chunk's share of the
gradient is taken from its logits at once, and memory does not grow with V.

A text may be read in two passes, which dropout or a cut-off makes differ. With p and q what they
predict, the loss then has KL(p || q), KL(q || p) or both beside the cross-entropy.

Reference: Liang et al. 2021 (R-Drop), arXiv 2106.14448; Gao et al. 2022 (SimCut), arXiv 2206.02368.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.config.schema import TrainConfig
from nmt_cli.model.packing import Tensor
from nmt_cli.model.transformer import output_logits

_CHUNK_LOGITS = 1 << 23  # 32 MB in float32
_MIN_CHUNK = 256
_SMALLEST = 1.2e-38  # normal float32


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far two passes over the same text shall agree in what they predict, p and q."""

    shares: tuple[float, float]  # of the cross-entropy of each pass in the loss
    forward: float  # the weight of KL(p || q)
    backward: float  # the weight of KL(q || p)
    # share of the tokens, on both sides, whose embeddings the second pass does not see
    cutoff: float


def agreement_of(train: TrainConfig) -> Agreement | None:
    """Return what `train.consistency` asks for.

    R-Drop (Liang et al. 2021, arXiv 2106.14448, equation 4) compares two passes that differ by
    their dropout alone; here all of it is halved. SimCut (Gao et al. 2022, arXiv 2206.02368,
    equation 8) compares a pass with one that lacks some of the tokens.
    """
    weight = train.consistency_weight
    if train.consistency == "rdrop":
        each = weight / 4
        return Agreement(shares=(0.5, 0.5), forward=each, backward=each, cutoff=0.0)
    if train.consistency == "simcut":
        return Agreement(shares=(1.0, 0.0), forward=weight, backward=0.0, cutoff=train.cutoff)
    return None


def output_loss(
    passes: Sequence[Tensor],
    table: Tensor,
    bias: Tensor,
    labels: Tensor,
    agreement: Agreement | None,
) -> tuple[Tensor, Tensor]:
    """Return the loss of the output layer, and the cross-entropy in it, both summed.

    Args:
        passes: States [N, D] of each pass.
        table: [V, D].
        bias: Of the logits, [V]; it is not trained.
        labels: [N].
        agreement: How far two passes shall agree; None for one pass.

    The gradient of the logits is the softmax, less 1 at the label. The products with that 1 are
    rows of the table and of the states, so nothing but the softmax is ever made of the logits.
    """
    compare = _compare_one if agreement is None else functools.partial(_compare_two, agreement)
    shares = (1.0,) if agreement is None else agreement.shares

    @tf.custom_gradient
    def loss_of(table: Tensor, *passes: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        narrow = tf.cast(table, passes[0].dtype)
        sums = _sums(passes, table, narrow, bias, labels, compare)
        of_table, of_passes = sums.of_table, []
        for share, one, written in zip(shares, passes, sums.of_passes, strict=True):
            of_pass = written.concat()  # [N, D]
            if share:
                of_pass -= tf.cast(share, narrow.dtype) * tf.gather(narrow, labels)
                wide = share * tf.cast(one, tf.float32)
                of_table -= tf.math.unsorted_segment_sum(wide, labels, tf.shape(table)[0])
            of_passes.append(of_pass)

        def gradient(upstream: Tensor, _: Tensor) -> list[Tensor]:
            narrowed = tf.cast(upstream, narrow.dtype)
            return [upstream * of_table, *(narrowed * of_pass for of_pass in of_passes)]

        return (sums.loss, sums.plain), gradient

    loss, plain = loss_of(table, *passes)
    return loss, tf.stop_gradient(plain)


class _Sums(NamedTuple):
    """Sums over chunks."""

    start: Tensor  # of the next chunk
    loss: Tensor
    plain: Tensor
    of_passes: tuple[Any, ...]  # arrays of chunks: gradients of each pass's states [n, D]
    of_table: Tensor  # its gradient [V, D], float32


# (logits of each pass [n, V], labels [n]) -> loss, cross-entropy, gradients of the logits; the
# gradients leave out what the labels alone say
_Compare = Callable[[list[Tensor], Tensor], tuple[Tensor, Tensor, list[Tensor]]]


def _sums(
    passes: Sequence[Tensor],
    table: Tensor,
    narrow: Tensor,
    bias: Tensor,
    labels: Tensor,
    compare: _Compare,
) -> _Sums:
    """Return the sums over all chunks; `narrow` is the table in the number format of the states."""
    size, rows = tf.shape(labels)[0], max(_MIN_CHUNK, _CHUNK_LOGITS // table.shape[0])
    rows = max(_MIN_CHUNK, rows // len(passes))

    def add_chunk(sums: _Sums) -> tuple[_Sums]:
        chunk = slice(sums.start, sums.start + rows)
        logits = [output_logits(one[chunk], narrow, bias) for one in passes]
        loss, plain, found = compare(logits, labels[chunk])
        found = [tf.cast(gradient, narrow.dtype) for gradient in found]  # [n, V]
        of_table = sums.of_table
        for one, gradient in zip(passes, found, strict=True):
            of_chunk = tf.matmul(gradient, one[chunk], transpose_a=True)  # [V, D]
            of_table += tf.cast(of_chunk, tf.float32)
        number = sums.start // rows
        of_passes = (
            written.write(number, tf.matmul(gradient, narrow))
            for written, gradient in zip(sums.of_passes, found, strict=True)
        )
        return (
            _Sums(
                sums.start + rows, sums.loss + loss, sums.plain + plain, tuple(of_passes), of_table
            ),
        )

    chunks = functools.partial(
        tf.TensorArray,
        narrow.dtype,
        size=(size + rows - 1) // rows,
        infer_shape=False,
        element_shape=[None, narrow.shape[1]],
    )
    zero, empty = tf.constant(0.0), tuple(chunks() for _ in passes)
    first = _Sums(tf.constant(0), zero, zero, empty, tf.zeros_like(table))
    sums: tuple[_Sums] = tf.while_loop(
        lambda sums: sums.start < size, add_chunk, (first,), parallel_iterations=1
    )
    return sums[0]


def _compare_one(logits: list[Tensor], labels: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
    softmax = tf.nn.softmax(logits[0])
    of_label = tf.gather(softmax, labels, batch_dims=1)
    loss = -tf.reduce_sum(tf.math.log(tf.maximum(of_label, _SMALLEST)))  # 87 nats each at the most
    return loss, loss, [softmax]


def _compare_two(
    agreement: Agreement, logits: list[Tensor], labels: Tensor
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Compare two passes with the labels and with each other.

    The gradient of KL(p || q) is p (log p - log q - KL) for the logits of p, and q - p for those
    of q.
    """
    logs = [tf.nn.log_softmax(one) for one in logits]  # [n, V]
    p, q = map(tf.exp, logs)
    gradients = [share * one for share, one in zip(agreement.shares, (p, q), strict=True)]
    of_labels = [tf.reduce_sum(tf.gather(log, labels, batch_dims=1)) for log in logs]
    plain = -sum(share * one for share, one in zip(agreement.shares, of_labels, strict=True))
    loss, apart = plain, logs[0] - logs[1]
    for weight, one, other, difference, at in (
        (agreement.forward, p, q, apart, 0),
        (agreement.backward, q, p, -apart, 1),
    ):
        if weight:
            divergence = tf.reduce_sum(one * difference, axis=1, keepdims=True)  # [n, 1]
            loss += weight * tf.reduce_sum(divergence)
            gradients[at] += weight * one * (difference - divergence)
            gradients[1 - at] += weight * (other - one)
    return loss, plain, gradients
