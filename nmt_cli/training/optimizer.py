"""Adam (Kingma & Ba 2015, arXiv 1412.6980) with the betas for Transformers, or Muon; and clipping.

    m = beta1 m + (1 - beta1) g        v = beta2 v + (1 - beta2) g^2
    w = w - rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)

(algorithm 1 in the order of section 2's last paragraph); with decoupled weight decay, if any, taken
off first (Loshchilov & Hutter 2019, arXiv 1711.05101): w = w - rate * decay * w. And, if asked for,
a moving average of the weights (Polyak & Juditsky 1992; the decay is smaller at first, so that the
first weights are soon forgotten): a = d a + (1 - d) w with d = min(decay, (1 + t) / (10 + t)).

Muon (Jordan et al. 2024) takes steps that are equally long in every direction of a matrix.

    m = mu m + (1 - mu) g        u = mu m + (1 - mu) g
    w = w - rate * rms * sqrt(max(rows, columns)) * polar(u)

where polar(U S V^T) = U V^T leaves the singular directions of u and sets all their lengths to one,
also of those that few examples ask for, in which Adam hardly moves. The factor before it (Liu et
al. 2025, arXiv 2502.16982, section 2.2) gives the elements of a step the same root mean square,
whatever the shape of the matrix; Adam's is between 0.2 and 0.4. It is for the matrices between
hidden states; tables, vectors and output layers stay with Adam.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from nmt_cli.config.schema import TrainConfig
from nmt_cli.model.layers import num_fused
from nmt_cli.model.weights import Arrays, is_hidden_matrix
from nmt_cli.training.adapters import Adapters

Tensor = Any
BETA_1, BETA_2, EPSILON = 0.9, 0.98, 1e-9  # Vaswani et al. 2017, section 5.3


class Optimizer:
    """The optimizer's state and its step.

    Of the variables, by name, `optimizer` says what moves the matrices between hidden states (Adam
    moves all others); a `clip_norm`, `weight_decay` or `average_decay` of 0 does nothing. With a
    `lora_rank` adapters of the variables are moved, which must all be matrices. `sources` are the
    variables whose gradients are wanted, `weights` what is moved: these, or adapters of them.
    """

    def __init__(self, variables: dict[str, Any], config: TrainConfig) -> None:
        self._config = config
        self.sources = {name: variable.value for name, variable in variables.items()}
        rank = config.lora_rank
        self._adapters = Adapters(self.sources, rank) if rank else None
        self.weights = self.sources if self._adapters is None else self._adapters.weights
        hidden = [name for name, w in self.weights.items() if is_hidden_matrix(name, w)]
        self._by_muon = hidden if config.optimizer == "muon" else []
        zeros = {name: tf.zeros(weight.shape) for name, weight in self.weights.items()}
        self._m = {name: tf.Variable(zero, trainable=False) for name, zero in zeros.items()}
        by_adam = {name: zero for name, zero in zeros.items() if name not in self._by_muon}
        self._v = {name: tf.Variable(zero, trainable=False) for name, zero in by_adam.items()}
        averaged = self.sources if config.average_decay else {}
        self._average = {
            name: tf.Variable(tf.cast(weight, tf.float32), trainable=False)
            for name, weight in averaged.items()
        }

    def gradients_of_weights(self, of_sources: list[Tensor]) -> list[Tensor]:
        """Return the gradients of `weights`, of those of `sources`."""
        return of_sources if self._adapters is None else self._adapters.gradients(of_sources)

    def apply(self, gradients: list[Tensor], loss: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        """Take one step, or none if loss or gradient is not finite; call it inside a graph.

        `gradients` has one for each weight; `step` counts from 1; all scalars are float32. Returns
        the gradient's norm before clipping.
        """
        norm = tf.linalg.global_norm(gradients)
        is_finite = tf.math.is_finite(norm + loss)
        tf.cond(is_finite, lambda: self._update(gradients, norm, rate, step), lambda: is_finite)
        return norm

    def _update(self, gradients: list[Tensor], norm: Tensor, rate: Tensor, step: Tensor) -> Tensor:
        if self._config.clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self._config.clip_norm, use_norm=norm)
        by_name = dict(zip(self.weights, gradients, strict=True))
        before = [] if self._adapters is None else self._adapters.read()
        if self._config.weight_decay:
            for weight in self.weights.values():
                _subtract(weight, rate * self._config.weight_decay * weight)
        for name in self._v:
            self._step_by_adam(name, by_name[name], rate, step)
        momenta = {name: self._momentum(name, by_name[name]) for name in self._by_muon}
        for name, fall in steps(momenta, self._config.muon_rms, self._config.precision).items():
            _subtract(self.weights[name], rate * fall)
        if self._adapters is not None:
            for name, change in self._adapters.changes(before).items():
                _subtract(self.sources[name], -change)
        decay = tf.minimum(self._config.average_decay, (1.0 + step) / (10.0 + step))
        for name, average in self._average.items():
            _subtract(average, (1.0 - decay) * (average - self.sources[name]))
        return tf.constant(True)

    def _step_by_adam(self, name: str, gradient: Tensor, rate: Tensor, step: Tensor) -> None:
        tf.raw_ops.ResourceApplyAdam(
            var=self.weights[name].handle,
            m=self._m[name].handle,
            v=self._v[name].handle,
            beta1_power=tf.constant(BETA_1) ** step,
            beta2_power=tf.constant(BETA_2) ** step,
            lr=rate,
            beta1=BETA_1,
            beta2=BETA_2,
            epsilon=EPSILON,
            grad=gradient,
        )

    def _momentum(self, name: str, gradient: Tensor) -> Tensor:
        """Add a gradient to m; return Nesterov's look ahead of it."""
        m = self._m[name]
        _subtract(m, (1.0 - MU) * (m - gradient))
        return MU * m + (1.0 - MU) * gradient

    def reset(self) -> None:
        """Forget all earlier steps; the moving average is that of the weights as they are."""
        for variable in (*self._m.values(), *self._v.values()):
            variable.assign(tf.zeros_like(variable))
        if self._adapters is not None:
            self._adapters.reset()
        for name, average in self._average.items():
            average.assign(self.sources[name])

    def read_average(self) -> Arrays:
        """Return the moving average of every weight by name; nothing if there is none."""
        return {name: np.array(variable.numpy()) for name, variable in self._average.items()}

    def read_state(self) -> Arrays:
        """Return m, v (where Adam keeps it), averages and adapters as `m.NAME` and so on."""
        return {
            f"{kind}.{name}": np.array(variable.numpy())
            for kind, slots in self._slots().items()
            for name, variable in slots.items()
        }

    def assign_state(self, arrays: Arrays) -> None:
        """Set all that `read_state` returned."""
        for kind, slots in self._slots().items():
            for name, variable in slots.items():
                variable.assign(arrays[f"{kind}.{name}"])

    @property
    def variables(self) -> list[Any]:
        """All of the state."""
        return [variable for slots in self._slots().values() for variable in slots.values()]

    def _slots(self) -> dict[str, dict[str, Any]]:
        adapters = {} if self._adapters is None else self._adapters.weights
        return {"m": self._m, "v": self._v, "average": self._average, "adapter": adapters}


def _subtract(variable: Any, value: Tensor) -> None:
    """Change the replica that is at work; `assign_sub` wants to know how to change all."""
    tf.raw_ops.AssignSubVariableOp(resource=variable.handle, value=value)


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


def steps(momenta: Mapping[str, Tensor], rms: float, precision: str) -> dict[str, Tensor]:
    """Return by how much each weight falls at a rate of one, as Muon has it.

    `momenta` has u of each weight, [rows, columns], by its dotted name; `rms` is the root mean
    square of a step's elements. In bfloat16 it is as good (Jordan et al. 2024) and two to four
    times as fast where the processor has it.
    """
    # Each matrix by itself: TensorFlow gives them to the cores, which are better used so than by a
    # product of many at a time.
    found = {}
    for name, momentum in momenta.items():
        side_by_side = tf.split(momentum, num_fused(name), axis=1)
        parts = [rms * max(x.shape) ** 0.5 * polar(x, precision) for x in side_by_side]
        found[name] = tf.concat(parts, axis=1)
    return found


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
