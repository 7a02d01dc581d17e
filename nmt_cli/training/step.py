"""One optimizer step as graph code: gradients of each micro-batch, added up, then one update.

All sizes are dynamic, so each function is traced once for a whole run. All randomness is a function
of (seed, step, micro-batch, replica, lane), so a resumed run repeats an uninterrupted one.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.config.schema import Config
from nmt_cli.distributed.replicas import Replicas
from nmt_cli.model.layers import RandomStream
from nmt_cli.tasks.losses import LossFunction, LossSums, loss_sums
from nmt_cli.text.batches import Batch, shares
from nmt_cli.training.optimizer import Optimizer

Tensor = Any
_IDS = tf.TensorSpec([None, None], tf.int32)
_SCALAR = tf.TensorSpec([], tf.float32)


class StepResult(NamedTuple):
    """What one step measured.

    `loss` is label-smoothed cross-entropy per target token, in nats; `gradient_norm` is before
    clipping; `num_tokens` counts target tokens without padding, or examples that have labels.
    """

    loss: float
    gradient_norm: float
    num_tokens: int

    @property
    def is_finite(self) -> bool:
        """Whether the step was taken."""
        return math.isfinite(self.loss + self.gradient_norm)


class Gradients(NamedTuple):
    """Sums over a replica's share of batches: of gradients by weight, of the loss, of tokens."""

    total: list[Tensor]
    loss: Tensor
    num_tokens: Tensor


class Stepper:
    """The model's training step.

    `config` has label smoothing, seed, and the lanes that a replica's share of a micro-batch is cut
    into ("auto" must have become a number); model and optimizer were made on `replicas`.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Optimizer,
        config: Config,
        replicas: Replicas | None = None,
        loss: LossFunction = loss_sums,
    ) -> None:
        self._replicas = replicas or Replicas()
        self._model = model
        self._optimizer = optimizer
        self._label_smoothing = config.train.label_smoothing
        self._seed = config.seed
        self._loss = loss
        self._sources = list(optimizer.sources.values())
        self._num_lanes = int(config.train.lanes)
        lanes = [Batch(_IDS, _IDS)] * self._num_lanes
        # A function of its own, so that it is traced once for all lanes.
        self._lane = tf.function(
            self._lane_gradients,
            autograph=False,
            input_signature=[Batch(_IDS, _IDS), tf.TensorSpec([2], tf.int32)],
        )
        self._gradients = tf.function(
            self._gradients_of,
            autograph=False,
            input_signature=[[lanes] * self._replicas.num_local, tf.TensorSpec([3], tf.int32)],
        )
        weights = optimizer.weights.values()
        shapes = [tf.TensorSpec(weight.shape, tf.float32) for weight in weights]
        sums = [Gradients(shapes, _SCALAR, _SCALAR)] * self._replicas.num_local
        self._add = tf.function(self._added, autograph=False, input_signature=[sums, sums])
        self._update = tf.function(
            self._update_with, autograph=False, input_signature=[sums, _SCALAR, _SCALAR]
        )
        self._evaluate = tf.function(
            self._evaluate_on, autograph=False, input_signature=[_IDS, _IDS]
        )

    def step(self, micro_batches: Sequence[Batch], number: int, rate: float) -> StepResult:
        """Take optimizer step `number` (from 1) on one effective batch."""
        return self.update(self.gradients(micro_batches, number), number, rate)

    def gradients(self, micro_batches: Sequence[Batch], number: int) -> list[Gradients]:
        """Add up the gradients of step `number` on each local replica; changes nothing."""
        total: list[Gradients] = []
        for index, batch in enumerate(micro_batches):
            seed = tf.constant([self._seed, number, index * self._replicas.count], tf.int32)
            local = self._replicas.local_shares(batch)
            found = self._gradients([shares(share, self._num_lanes) for share in local], seed)
            total = self._add(total, found) if total else found
        return total

    def update(self, gradients: Sequence[Gradients], number: int, rate: float) -> StepResult:
        """Change the weights; if loss or gradient is not finite, they stay as they are."""
        loss, num_tokens, norm = self._update(
            gradients, tf.constant(rate), tf.constant(float(number))
        )
        tokens = int(num_tokens)
        return StepResult(float(loss) / tokens, float(norm), tokens)

    def evaluate(self, batches: Sequence[Batch]) -> float:
        """Return the cross-entropy per target token, in nats, without dropout or smoothing."""
        sums = [self._evaluate(batch.source, batch.target) for batch in batches]
        return float(sum(s.plain for s in sums)) / float(sum(s.num_tokens for s in sums))

    def _gradients_of(self, lanes: list[list[Batch]], seed: Tensor) -> list[Gradients]:
        def on_replica(local: int, replica: int) -> Gradients:
            first = (seed[2] + replica) * self._num_lanes
            # No lane needs another's results, so TensorFlow runs them side by side.
            found = [
                self._lane(batch, tf.random.experimental.stateless_fold_in(seed[:2], first + lane))
                for lane, batch in enumerate(lanes[local])
            ]
            total: Gradients = tf.nest.map_structure(lambda *parts: tf.add_n(parts), *found)
            return total

        return self._replicas.run(on_replica)

    def _lane_gradients(self, batch: Batch, seed: Tensor) -> Gradients:
        random = RandomStream(seed)
        with tf.GradientTape() as tape:
            sums = self._loss(
                self._model, batch.source, batch.target, self._label_smoothing, random
            )
        gradients = tape.gradient(sums.smoothed, self._sources)
        total = [tf.convert_to_tensor(gradient) for gradient in gradients]
        total = self._optimizer.gradients_of_weights(total)
        return Gradients(total, sums.smoothed, sums.num_tokens)

    def _added(self, total: list[Gradients], found: list[Gradients]) -> list[Gradients]:
        def on_replica(local: int, _: int) -> Gradients:
            added: Gradients = tf.nest.map_structure(tf.add, total[local], found[local])
            return added

        return self._replicas.run(on_replica)

    def _update_with(
        self, gradients: list[Gradients], rate: Tensor, step: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        def on_replica(local: int, _: int) -> tuple[Tensor, Tensor, Tensor]:
            total, loss, num_tokens = self._replicas.sum(gradients[local])
            averaged = [gradient / num_tokens for gradient in total]
            return loss, num_tokens, self._optimizer.apply(averaged, loss, rate, step)

        return self._replicas.run(on_replica)[0]

    def _evaluate_on(self, source: Tensor, target: Tensor) -> LossSums:
        return self._loss(self._model, source, target, 0.0, None)
