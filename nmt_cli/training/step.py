"""One optimizer step as graph code: gradients of each micro-batch, added up, then one update.

All sizes are dynamic, so each function is traced once for a whole run. All randomness is a function
of (seed, step, micro-batch), so a resumed run repeats an uninterrupted one.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.config import Config
from nmt_cli.model.layers import RandomStream
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.weights import named_variables
from nmt_cli.text.batches import Batch
from nmt_cli.training.loss import LossSums, loss_sums
from nmt_cli.training.optimizer import Adam

Tensor = Any
_IDS = tf.TensorSpec([None, None], tf.int32)
_SCALAR = tf.TensorSpec([], tf.float32)


class StepResult(NamedTuple):
    """What one step measured.

    Attributes:
        loss: Label-smoothed cross-entropy per target piece, in nats.
        gradient_norm: Before clipping.
        num_tokens: Target pieces in the effective batch, padding not counted.
    """

    loss: float
    gradient_norm: float
    num_tokens: int

    @property
    def is_finite(self) -> bool:
        """Whether the step was taken."""
        return math.isfinite(self.loss + self.gradient_norm)


class Gradients(NamedTuple):
    """Sums over an effective batch: of gradients by weight, of the loss, of target pieces."""

    total: list[Tensor]
    loss: Tensor
    num_tokens: Tensor


class Stepper:
    """The model's training step.

    Args:
        model: The model to train.
        optimizer: Its optimizer.
        config: Label smoothing and seed.
    """

    def __init__(self, model: Transformer, optimizer: Adam, config: Config) -> None:
        self._model = model
        self._optimizer = optimizer
        self._label_smoothing = config.train.label_smoothing
        self._seed = config.seed
        self._weights = [variable.value for variable in named_variables(model).values()]
        self._gradients = tf.function(
            self._gradients_of,
            autograph=False,
            input_signature=[_IDS, _IDS, tf.TensorSpec([3], tf.int32)],
        )
        shapes = [tf.TensorSpec(weight.shape, tf.float32) for weight in self._weights]
        self._update = tf.function(
            self._update_with, autograph=False, input_signature=[shapes, *[_SCALAR] * 4]
        )
        self._evaluate = tf.function(
            self._evaluate_on, autograph=False, input_signature=[_IDS, _IDS]
        )

    def step(self, micro_batches: Sequence[Batch], number: int, rate: float) -> StepResult:
        """Take optimizer step `number` (from 1) on one effective batch."""
        return self.update(self.gradients(micro_batches, number), number, rate)

    def gradients(self, micro_batches: Sequence[Batch], number: int) -> Gradients:
        """Add up the gradients of step `number`; changes nothing."""
        total: list[Tensor] = []
        loss = num_tokens = tf.constant(0.0)
        for index, batch in enumerate(micro_batches):
            seed = tf.constant([self._seed, number, index], tf.int32)
            gradients, sums = self._gradients(batch.source, batch.target, seed)
            total = [a + b for a, b in zip(total, gradients, strict=True)] if total else gradients
            loss, num_tokens = loss + sums.smoothed, num_tokens + sums.num_tokens
        return Gradients(total, loss, num_tokens)

    def update(self, gradients: Gradients, number: int, rate: float) -> StepResult:
        """Change the weights; if loss or gradient is not finite, they stay as they are."""
        norm = self._update(*gradients, tf.constant(rate), tf.constant(float(number)))
        tokens = int(gradients.num_tokens)
        return StepResult(float(gradients.loss) / tokens, float(norm), tokens)

    def evaluate(self, batches: Sequence[Batch]) -> float:
        """Return the cross-entropy per target piece, in nats, without dropout or smoothing."""
        sums = [self._evaluate(batch.source, batch.target) for batch in batches]
        return float(sum(s.plain for s in sums)) / float(sum(s.num_tokens for s in sums))

    def _gradients_of(
        self, source: Tensor, target: Tensor, seed: Tensor
    ) -> tuple[list[Tensor], LossSums]:
        random = RandomStream(tf.random.experimental.stateless_fold_in(seed[:2], seed[2]))
        with tf.GradientTape() as tape:
            sums = loss_sums(self._model, source, target, self._label_smoothing, random)
        gradients = tape.gradient(sums.smoothed, self._weights)
        return [tf.convert_to_tensor(gradient) for gradient in gradients], sums

    def _update_with(
        self, gradients: list[Tensor], loss: Tensor, num_tokens: Tensor, rate: Tensor, step: Tensor
    ) -> Tensor:
        averaged = [gradient / num_tokens for gradient in gradients]
        return self._optimizer.apply(averaged, loss, rate, step)

    def _evaluate_on(self, source: Tensor, target: Tensor) -> LossSums:
        return loss_sums(self._model, source, target, 0.0, None)
