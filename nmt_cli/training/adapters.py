"""Low-rank adapters: instead of a matrix W [inputs, outputs], two small ones learn, as W + A B.

A [inputs, rank] is drawn from N(0, 1/inputs), B [rank, outputs] begins with zeros. With G the
gradient of W, that of A is G B^T and that of B is A^T G: G is gone as soon as they are known, and
only A and B have a state of the optimizer. The model's weights always hold the sum, which moves by
what a step changes of A B; so whatever reads them, a score, a bundle, an average, sees plain
matrices.

Reference: Hu et al. 2021, arXiv 2106.09685 (LoRA), section 4.1; here alpha is the rank.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Tensor = Any


class Adapters:
    """The adapters of some matrices, which are tf variables by name; `weights` are A and B."""

    def __init__(self, matrices: Mapping[str, Any], rank: int) -> None:
        self._matrices = matrices
        self.weights: dict[str, Any] = {}
        for name, matrix in matrices.items():
            rows, columns = matrix.shape
            first = {"down": _first(name, rows, rank), "up": np.zeros((rank, columns), np.float32)}
            for part, value in first.items():
                self.weights[f"{name}.{part}"] = tf.Variable(value, trainable=False)

    def reset(self) -> None:
        """Forget what was learned."""
        for name, weight in self.weights.items():
            matrix, _, part = name.rpartition(".")
            weight.assign(_first(matrix, *weight.shape) if part == "down" else 0.0 * weight)

    def gradients(self, of_matrices: Sequence[Tensor]) -> list[Tensor]:
        """Return the gradients of `weights`, of those of the matrices."""
        found = []
        for name, gradient in zip(self._matrices, of_matrices, strict=True):
            down, up = self._parts(name)
            found.append(tf.matmul(gradient, up, transpose_b=True))
            found.append(tf.matmul(down, gradient, transpose_a=True))
        return found

    def read(self) -> list[tuple[Tensor, Tensor]]:
        """Return A and B of each matrix as they are now."""
        both = map(self._parts, self._matrices)
        return [(tf.identity(down), tf.identity(up)) for down, up in both]

    def changes(self, before: Sequence[tuple[Tensor, Tensor]]) -> dict[str, Tensor]:
        """Return by how much each A B has grown since A and B were `before`."""
        found = {}
        for name, (old_down, old_up) in zip(self._matrices, before, strict=True):
            down, up = self._parts(name)
            found[name] = tf.matmul(down, up - old_up) + tf.matmul(down - old_down, old_up)
        return found

    def _parts(self, name: str) -> tuple[Tensor, Tensor]:
        parts = (self.weights[f"{name}.{part}"] for part in ("down", "up"))
        down, up = map(tf.convert_to_tensor, parts)
        return down, up


def _first(name: str, rows: int, rank: int) -> Any:
    """Return the first A of a matrix, which follows from its name."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return random.normal(0.0, rows**-0.5, (rows, rank)).astype(np.float32)
