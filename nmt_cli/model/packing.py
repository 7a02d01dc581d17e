"""A padded batch <-> its real positions, one after the other: what lets layers skip padding.

Shapes are written with the letters of `layers.py`.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.text.special_tokens import PAD_ID

Tensor = Any  # TensorFlow ships no types


def padding_mask(ids: Tensor) -> Tensor:
    """Return which ids are real: [B, S] int32 -> [B, S] bool."""
    return tf.not_equal(ids, PAD_ID)


class Packing(NamedTuple):
    """Where the real positions of a padded batch lie.

    All layers but attention work on each position by itself. So they get the N real ones alone,
    [N, D], and no time goes into padding; attention lays them out by sentence, [B, T, ...].
    """

    shape: Tensor  # [2] int32, B and T
    rows: Tensor = None  # [N] int32 indices in the flattened batch; None when all are real

    @classmethod
    def of(cls, ids: Tensor) -> "Packing":
        """Return where the ids [B, T] are not padding."""
        real = tf.where(tf.reshape(padding_mask(ids), [-1]))  # [N, 1]
        return cls(tf.shape(ids), tf.cast(real[:, 0], tf.int32))

    def pack(self, x: Tensor) -> Tensor:
        """Return the real positions of x: [B, T, ...] -> [N, ...]."""
        flat = tf.reshape(x, [-1, *x.shape[2:]])  # [B*T, ...]
        return flat if self.rows is None else tf.gather(flat, self.rows)  # [N, ...]

    def unpack(self, x: Tensor) -> Tensor:
        """Return x by sentence, zero at padding: [N, W] -> [B, T, W]."""
        batch, length = tf.unstack(self.shape)
        if self.rows is not None:
            x = tf.scatter_nd(self.rows[:, None], x, [batch * length, x.shape[-1]])  # [B*T, W]
        return tf.reshape(x, [batch, length, x.shape[-1]])  # [B, T, W]

    def positions(self) -> Tensor:
        """Return the index of each real position in its sentence, [N]."""
        batch, length = tf.unstack(self.shape)
        flat = tf.range(batch * length) if self.rows is None else self.rows
        return flat % length

    def split_heads(self, x: Tensor, num_heads: int, fused: int = 1) -> list[Tensor]:
        """Return each of the fused projections of x [N, fused*H*P] by head, [B, H, T, P].

        At padding there are any numbers.
        """
        batch, length = tf.unstack(self.shape)
        width = x.shape[-1] // (fused * num_heads)
        if self.rows is None:
            parts = tf.reshape(x, [batch, length, fused, num_heads, width])  # [B, T, fused, H, P]
            return list(tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4])))  # each [B, H, T, P]
        rows, packed = self._moves(num_heads)

        @tf.custom_gradient
        def split(x: Tensor) -> tuple[list[Tensor], Any]:
            outputs = [
                _gather_parts(
                    x, (rows * fused + i) * num_heads + tf.range(num_heads)[:, None], width
                )
                for i in range(fused)
            ]
            return outputs, lambda *up: tf.concat([_joined(part, packed) for part in up], axis=-1)

        return list(split(x))

    def join_heads(self, x: Tensor) -> Tensor:
        """Return the real positions of x with heads side by side: [B, H, T, P] -> [N, H*P]."""
        num_heads, width = x.shape[1], x.shape[3]
        if self.rows is None:
            return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [-1, num_heads * width])  # [B*T, H*P]
        rows, packed = self._moves(num_heads)
        parts = rows * num_heads + tf.range(num_heads)[:, None]  # [B, H, T]
        is_real = tf.cast(self._is_real(), x.dtype)[:, None, :, None]  # [B, 1, T, 1]

        @tf.custom_gradient
        def join(x: Tensor) -> tuple[Tensor, Any]:
            return _joined(x, packed), lambda up: _gather_parts(up, parts, width) * is_real

        return join(x)

    def _is_real(self) -> Tensor:
        """Return 1 at real positions, else 0, [B, T] int32."""
        ones = tf.ones_like(self.rows)
        real = tf.scatter_nd(self.rows[:, None], ones, [tf.reduce_prod(self.shape)])  # [B*T]
        return tf.reshape(real, self.shape)  # [B, T]

    def _moves(self, num_heads: int) -> tuple[Tensor, Tensor]:
        """Return where each position's numbers come from, on the way to heads and back.

        Returns:
            [B, 1, T] the row of N that a position gets. Padding gets some real position's: no mask
            lets anything look at it.
            [N, H] the part of the flattened [B, H, T] that a row gets from each head.
        """
        length = self.shape[1]
        order = tf.cumsum(tf.reshape(self._is_real(), [-1])) - 1  # [B*T]
        rows = tf.reshape(tf.maximum(order, 0), self.shape)[:, None, :]  # [B, 1, T]
        sentence, position = self.rows // length, self.rows % length
        heads = sentence[:, None] * num_heads + tf.range(num_heads)  # [N, H]
        return rows, heads * length + position[:, None]  # [B, 1, T], [N, H]


def _gather_parts(x: Tensor, indices: Tensor, width: int) -> Tensor:
    """Return parts of `width` numbers of x, [..., width], by their indices [...]."""
    return tf.gather(tf.reshape(x, [-1, width]), indices)  # [..., width]


def _joined(x: Tensor, packed: Tensor) -> Tensor:
    """Return the parts [B, H, T, P] of each real position side by side, [N, H*P]."""
    parts = _gather_parts(x, packed, x.shape[-1])  # [N, H, P]
    return tf.reshape(parts, [-1, packed.shape[1] * x.shape[-1]])  # [N, H*P]
