"""The encoder alone, with a head that scores labels: one vector of all positions, then a product.

Shape letters are those of `layers.py`; `Y` counts labels.

Reference: the encoder of Vaswani et al. 2017, arXiv 1706.03762; a token in front to pool by: Devlin
et al. 2019, arXiv 1810.04805.
"""

import tensorflow as tf

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.layers import AttentionMaps, Dense, RandomStream, dropout
from nmt_cli.model.packing import Tensor
from nmt_cli.model.transformer import EncoderModel, Memory

_LOWEST = -1e9  # below any state


class Classifier(EncoderModel):
    """The whole model; the architecture's keys of the decoder have no meaning.

    `pooling` is "mean", "max" or "first"; `head_dropout` is between the pooled vector and the head.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        vocab_size: int,
        num_labels: int,
        pooling: str = "mean",
        head_dropout: float = 0.0,
        seed: int = 1,
        compute_dtype: str = "float32",
    ) -> None:
        super().__init__("classifier", config, seed, compute_dtype)
        self.pooling = pooling
        self.head_dropout = head_dropout
        self.source_table = self._normal("embedding", vocab_size, config.d_model)
        self.head = Dense("head", seed, config.d_model, num_labels)

    def call(
        self,
        source_ids: Tensor,
        *,
        random: RandomStream | None = None,
        maps: AttentionMaps | None = None,
    ) -> Tensor:
        """Return float32 logits [B, Y] of source ids [B, S]; see `EncoderModel.encode`."""
        vectors = pooled(self.encode(source_ids, random=random, maps=maps), self.pooling)
        return self.head(dropout(vectors, self.head_dropout, random))


def pooled(memory: Memory, pooling: str) -> Tensor:
    """Return one float32 vector a text, [B, D], of its real positions."""
    states = tf.cast(memory.packing.unpack(memory.states), tf.float32)  # [B, S, D], 0 at padding
    if pooling == "first":
        return states[:, 0]  # [B, D]
    is_real = memory.mask[:, :, None]  # [B, S, 1]
    if pooling == "max":
        return tf.reduce_max(tf.where(is_real, states, _LOWEST), axis=1)  # [B, D]
    return tf.reduce_sum(states, axis=1) / tf.reduce_sum(tf.cast(is_real, tf.float32), axis=1)
