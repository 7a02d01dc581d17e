"""Muon: steps that are equally long in every direction of a matrix (Jordan et al. 2024).

    m = mu m + (1 - mu) g        u = mu m + (1 - mu) g
    w = w - rate * rms * sqrt(max(rows, columns)) * polar(u)

where polar(U S V^T) = U V^T leaves the singular directions of u and sets all their lengths to one:
of those that few examples ask for, too, in which Adam hardly moves. The factor before it, of Liu et
al. 2025 (arXiv 2502.16982, section 2.2), gives the elements of a step the same root mean square,
whatever the shape of the matrix; Adam's is between 0.2 and 0.4. It is for the matrices between
hidden states; tables, vectors and output layers stay with Adam.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nmt_cli.model.layers import num_fused

Tensor = Any
MU = 0.95

# Newton-Schulz of degree 5, with the best coefficients for each round (Amsel et al. 2025, arXiv
# 2505.16932, algorithm 1): three bring singular values from 0.01 up to between 0.73 and 1.27, which
# is near enough. With the same ones in every round it took five to learn as much.
_ROUNDS = (
    (8.0934, -23.6204, 17.4462),
    (3.6366, -2.7219, 0.5365),
    (2.6613, -1.9772, 0.4526),
)
_TINY = 1e-7


def is_hidden_matrix(name: str, weight: Any) -> bool:
    """Return whether a weight, by its dotted name, maps hidden states to hidden states."""
    return len(weight.shape) == 2 and ".layer" in name


def steps(momenta: Mapping[str, Tensor], rms: float, precision: str) -> dict[str, Tensor]:
    """Return by how much each weight falls at a rate of one.

    Args:
        momenta: u of each weight, [rows, columns], by its dotted name.
        rms: Root mean square of the elements of each step.
        precision: What matrices are multiplied in, "float32" or "bfloat16"; the second is as good
            here (Jordan et al. 2024) and two to four times as fast where the processor has it.
    """
    # Each matrix by itself: TensorFlow gives them to the cores, which are better used so than by a
    # product of many at a time.
    return {
        name: tf.concat(
            [_step(matrix, rms, precision) for matrix in _matrices(name, momentum)], axis=1
        )
        for name, momentum in momenta.items()
    }


def _step(matrix: Tensor, rms: float, precision: str) -> Tensor:
    return rms * max(matrix.shape) ** 0.5 * polar(matrix, precision)


def polar(x: Tensor, precision: str = "float32") -> Tensor:
    """Return about the nearest matrix with orthonormal rows or columns, [rows, columns].

    All its singular values are between 0.73 and 1.27, but for those below a 100th of the norm.
    """
    is_tall = x.shape[0] > x.shape[1]
    x = tf.transpose(x) if is_tall else x
    x = tf.cast(x / (tf.norm(x) + _TINY), precision)
    for a, b, c in _ROUNDS:
        square = tf.matmul(x, x, transpose_b=True)
        x = a * x + tf.matmul(b * square + c * tf.matmul(square, square), x)
    return tf.cast(tf.transpose(x) if is_tall else x, tf.float32)


def _matrices(name: str, weight: Tensor) -> list[Tensor]:
    """Return the matrices that lie side by side in a weight."""
    parts: list[Tensor] = tf.split(weight, num_fused(name), axis=1)
    return parts
