"""One device, many devices, many machines: the same step for all (tf.distribute).

Each device holds a replica of all weights. A micro-batch is split by rows, each replica adds up
the gradients of its share, and every replica takes the same step by the sums of all, divided once
by the target tokens of the whole effective batch: nothing depends on how many replicas there are.

Every machine computes the same plan of batches. What only the first one, the chief, can know (what
an evaluation found, where a run resumes) is sent from there; what any may have met (out of memory,
a signal) is asked of all. All do these things in the same order, or they would wait for each other
without end.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.errors import ConfigError
from nmt_cli.text.batches import Batch, shares

Tensor = Any
Result = TypeVar("Result")


class Replicas:
    """The devices that share the work of each step; by default the one that is there."""

    def __init__(self, strategy: Any = None, cluster: Cluster = ALONE) -> None:
        self.cluster = cluster
        self._strategy = strategy or tf.distribute.get_strategy()
        self.count = self._strategy.num_replicas_in_sync  # on all machines
        self.num_local = self.count // cluster.size  # on this one
        self._first = cluster.index * self.num_local
        self._add_numbers = tf.function(
            self._added, autograph=False, input_signature=[tf.TensorSpec([None], tf.float32)]
        )

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Within the block each new variable is made on all local devices."""
        scope: contextlib.AbstractContextManager[Any] = self._strategy.scope()
        return scope

    def local_shares(self, batch: Batch) -> list[Batch]:
        """Return the parts of a micro-batch that are for the devices of this machine."""
        return shares(batch, self.count)[self._first : self._first + self.num_local]

    def run(self, function: Callable[[int, int], Result]) -> list[Result]:
        """Run a function on each local replica and return the results; call it inside a graph.

        The function gets the index of the replica on this machine and among all.
        """

        def on_replica() -> Result:
            own = tf.distribute.get_replica_context()
            replica = int(tf.get_static_value(own.replica_id_in_sync_group))
            return function(replica - self._first, replica)

        return list(self._strategy.experimental_local_results(self._strategy.run(on_replica)))

    def sum(self, tensors: Result) -> Result:
        """Add up a structure of tensors over all replicas; call it in what `run` runs."""
        if self.count == 1:
            return tensors
        # What came into the graph from outside is on no device, until the replica has its own.
        own = tf.nest.map_structure(tf.identity, tensors)
        reduce = tf.distribute.get_replica_context().all_reduce
        total: Result = reduce(tf.distribute.ReduceOp.SUM, own)
        return total

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set on any machine."""
        return any(self.numbers(flag))

    def numbers(self, number: int) -> list[int]:
        """Return a small whole number of each machine on every machine."""
        own = np.zeros(self.cluster.size)
        own[self.cluster.index] = number
        return [int(total) for total in self._add(own)]

    def texts(self, text: str) -> list[str]:
        """Return a text of each machine on every machine."""
        own, index = np.frombuffer(text.encode(), np.uint8), self.cluster.index
        ends = np.cumsum(self.numbers(own.size))
        joined = np.zeros(ends[-1])
        joined[ends[index] - own.size : ends[index]] = own
        parts = np.split(self._add(joined).astype(np.uint8), ends[:-1])
        return [part.tobytes().decode() for part in parts]

    def from_chief(self, text: str) -> str:
        """Return the chief's text on every machine."""
        return self.texts(text if self.cluster.is_chief else "")[0]

    def copy_from_chief(self, variables: Sequence[Any]) -> None:
        """Set variables on every machine to what they are on the chief."""
        if self.cluster.size == 1:
            return

        def copy(_: int, replica: int) -> Tensor:
            values = [tf.convert_to_tensor(variable) for variable in variables]
            sent = values if replica == 0 else [tf.zeros_like(value) for value in values]
            for variable, value in zip(variables, self.sum(sent), strict=True):
                tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)
            return tf.constant(True)

        tf.function(lambda: self.run(copy), autograph=False)()

    def _add(self, numbers: Any) -> npt.NDArray[np.int32]:
        """Add up small whole numbers over all machines; as float32, which GPUs exchange, too."""
        own = np.asarray(numbers, np.float32)
        total = own if self.cluster.size == 1 else np.asarray(self._add_numbers(own))
        return total.astype(np.int32)

    def _added(self, numbers: Tensor) -> Tensor:
        def add(local: int, _: int) -> Tensor:
            return self.sum(numbers if local == 0 else tf.zeros_like(numbers))

        return self.run(add)[0]


def connect(
    cluster: Cluster,
    devices: int | Literal["auto"],
    join: Callable[[], Any] = tf.distribute.get_strategy,
) -> Replicas:
    """Return the devices to train on; call it before TensorFlow runs anything.

    `devices` says how many GPUs of each machine to use, or "auto"; `join` connects several machines
    and returns TensorFlow's strategy. ConfigError: there are fewer GPUs.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if devices != "auto":
        if devices > max(1, len(gpus)):
            raise ConfigError(f"train.devices is {devices}, but this machine has {len(gpus)} GPUs")
        tf.config.set_visible_devices(gpus[:devices], "GPU")
    if cluster.size > 1:
        return Replicas(join(), cluster)
    local = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(local) > 1:
        return Replicas(tf.distribute.MirroredStrategy([device.name for device in local]))
    return Replicas()
