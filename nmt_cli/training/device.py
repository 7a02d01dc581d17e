"""What the machine at hand is, and what it computes fast.

TensorFlow is imported on first use, so problems with the text are reported before.
"""

import contextlib
import functools
import platform
from importlib.metadata import version
from typing import Any

from nmt_cli.bundle.folder import versions
from nmt_cli.config import pace
from nmt_cli.config.auto import Choice, Device
from nmt_cli.config.schema import Config
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.model.tensorflow_setup import find_device, quiet_tensorflow
from nmt_cli.resources import available_cores, processor_facts, processor_flags
from nmt_cli.training.auto_values import LANES, PRECISION, AnyMachine

_BFLOAT16_CPU_FLAGS = {"avx512_bf16", "amx_bf16"}
_BFLOAT16_GPU_CAPABILITY = (8, 0)
_SIDE = 2048  # of a matrix that a GPU is measured with
_WIDEST_IN_LANES, _MOST_LANES, _FEWEST_TOKENS = 128, 8, 128


class ThisMachine(AnyMachine):
    """See `AnyMachine`; many machines must choose alike, so their pace is the usual one."""

    def __init__(self, cluster: Cluster = ALONE) -> None:
        self._is_alone = cluster.size == 1

    def device(self) -> Device:
        """See `AnyMachine`."""
        _tensorflow()
        return find_device()

    def pace(self) -> pace.Machine:
        """See `AnyMachine`."""
        return _measured() if self._is_alone else super().pace()

    def choices(self, config: Config) -> dict[str, Choice]:
        """See `AnyMachine`."""
        return {PRECISION: choose_precision(config), LANES: choose_lanes(config)}


def _tensorflow() -> Any:
    quiet_tensorflow()
    import tensorflow

    return tensorflow


@functools.cache
def _measured() -> pace.Machine:
    """Return what the device that trains here computes in a second; measured once a process."""
    tf = _tensorflow()
    if find_device() == "cpu":
        return pace.measure_machine()
    square = tf.ones([_SIDE, _SIDE])
    return pace.Machine(
        products=pace.rate(lambda: (square @ square)[0, 0].numpy(), _SIDE**3),
        elements=pace.rate(lambda: (square * 1.0)[0, 0].numpy(), _SIDE**2),
    )


def describe_environment(replicas: int) -> dict[str, str]:
    """Return what a run depends on beside its settings, for people; `replicas` on all machines."""
    tf = _tensorflow()
    gpus = [
        tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name)
        for gpu in tf.config.list_physical_devices("GPU")
    ]
    processor = processor_facts().get("model name") or platform.machine()
    return {
        **versions(),
        "keras": version("keras"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "device": ", ".join(gpus) or f"processor: {processor}",
        "replicas": str(replicas),
        "threads": str(available_cores()),
    }


def choose_lanes(config: Config) -> Choice:
    """Return one lane a core for a small model: its products are too small to share one of them.

    On two cores a step of a model of width 128 is 1.1 to 1.5 times as fast; at widths of 256 and
    512 there is no difference.
    """
    width = config.model.d_model
    tokens = config.train.tokens_per_batch // config.train.accumulate_steps
    _tensorflow()
    if find_device() == "gpu":
        return Choice(1, "a GPU computes the whole batch at once")
    if width > _WIDEST_IN_LANES:
        return Choice(1, f"d_model {width}: each operation keeps all cores busy")
    cores, most = available_cores(), min(_MOST_LANES, max(1, tokens // _FEWEST_TOKENS))
    return Choice(min(cores, most), f"{cores} cores, micro-batches of {tokens:,} tokens")


def share_cores(lanes: int) -> None:
    """Give each lane of a training step its share of the cores.

    Call it before TensorFlow runs anything; where it has, in a program of one's own, it keeps the
    threads that it has.
    """
    tf = _tensorflow()
    if lanes > 1:
        cores = max(1, available_cores() // lanes)
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(cores)


def choose_precision(config: Config) -> Choice:
    """Return bfloat16 where processor or GPU multiply matrices in it; elsewhere it is slower.

    So it is on a processor for narrow models, whose products are small beside what else a step
    does: at a width of 64 a step took 1.4 times as long, at 128 1.06 times, at 256 0.83 times.
    """
    tf, width = _tensorflow(), config.model.d_model
    if find_device() == "cpu" and width <= _WIDEST_IN_LANES:
        return Choice(
            "float32", f"d_model {width}: matrix products are the smaller part of the work"
        )
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        fast = details.get("compute_capability", (0, 0)) >= _BFLOAT16_GPU_CAPABILITY
    else:
        fast = bool(_BFLOAT16_CPU_FLAGS & processor_flags())
    device = "GPU" if gpus else "processor"
    if fast:
        return Choice("bfloat16", f"the {device} supports it for matrix products")
    return Choice("float32", f"the {device} does not support bfloat16 for matrix products")
