"""Muon: steps that are equally long in every direction of a matrix (Jordan et al. 2024).

    m = mu m + (1 - mu) g        u = mu m + (1 - mu) g
    w = w - rate * rms * sqrt(max(rows, columns)) * polar(u)

where polar(U S V^T) = U V^T leaves the singular directions of u and sets all their lengths to one:
of those that few examples ask for, too, in which Adam hardly moves. The factor before it, of Liu et
al. 2025 (arXiv 2502.16982, section 2.2), gives the elements of a step the same root mean square,
whatever the shape of the matrix; Adam's is between 0.2 and 0.4. It is for the matrices between
hidden states; tables, vectors and output layers stay with Adam.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nmt_cli.model.layers import num_fused

Tensor = Any
MU = 0.95

# Newton-Schulz of degree 5, Jordan's coefficients: five rounds bring singular values from 0.002
# up to between about 0.7 and 1.2, which is near enough.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ROUNDS = 5
_TINY = 1e-7


def is_hidden_matrix(name: str, weight: Any) -> bool:
    """Return whether a weight, by its dotted name, maps hidden states to hidden states."""
    return len(weight.shape) == 2 and ".layer" in name


def steps(momenta: Mapping[str, Tensor], rms: float) -> dict[str, Tensor]:
    """Return by how much each weight falls at a rate of one.

    Args:
        momenta: u of each weight, [rows, columns], by its dotted name.
        rms: Root mean square of the elements of each step.
    """
    parts = {name: _matrices(name, momentum) for name, momentum in momenta.items()}
    by_shape: dict[tuple[int, int], list[Tensor]] = defaultdict(list)
    for matrices in parts.values():
        for matrix in matrices:
            by_shape[tuple(matrix.shape)].append(matrix)
    # Matrices of one shape together: a product of many is faster than many products.
    found = {
        shape: iter(tf.unstack(rms * max(shape) ** 0.5 * polar(tf.stack(matrices))))
        for shape, matrices in by_shape.items()
    }
    return {
        name: tf.concat([next(found[tuple(matrix.shape)]) for matrix in matrices], axis=1)
        for name, matrices in parts.items()
    }


def polar(x: Tensor) -> Tensor:
    """Return about the nearest matrix with orthonormal rows or columns of each [K, rows, columns].

    All its singular values are between about 0.7 and 1.2, but for those below a 500th of the norm.
    """
    is_tall = x.shape[1] > x.shape[2]
    x = tf.linalg.matrix_transpose(x) if is_tall else x
    x /= tf.norm(x, axis=[1, 2], keepdims=True) + _TINY
    for _ in range(_ROUNDS):
        square = tf.matmul(x, x, transpose_b=True)
        x = _A * x + tf.matmul(_B * square + _C * tf.matmul(square, square), x)
    return tf.linalg.matrix_transpose(x) if is_tall else x


def _matrices(name: str, weight: Tensor) -> list[Tensor]:
    """Return the matrices that lie side by side in a weight."""
    parts: list[Tensor] = tf.split(weight, num_fused(name), axis=1)
    return parts
