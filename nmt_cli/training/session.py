"""A run on this machine: prepared with what the machine is, and trained on its cores.

TensorFlow is imported when it is asked: a problem with the text is told before.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

from nmt_cli.config.auto import Choice, Device
from nmt_cli.config.pace import Machine
from nmt_cli.config.reading import LoadedConfig
from nmt_cli.config.schema import Config
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.events import Event
from nmt_cli.model import tensorflow_setup
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.training.run import Prepared, prepare


def prepare_here(
    loaded: LoadedConfig,
    *,
    tell: Callable[[str], None],
    on_encoded: Callable[[str, int], Any] = lambda split, done: None,
    cluster: Cluster = ALONE,
    is_fresh: bool = False,
    time_limit: float = math.inf,
) -> Prepared:
    """Return what a run needs; see `prepare`."""
    return prepare(
        loaded,
        tell=tell,
        on_encoded=on_encoded,
        find_device=find_device,
        choose_for_machine=choose_for_machine,
        cluster=cluster,
        is_fresh=is_fresh,
        time_limit=time_limit,
        measure_machine=measure_machine,
    )


def train_here(
    prepared: Prepared, should_stop: Callable[[], int], *, time_limit: float
) -> Iterator[Event]:
    """Yield the events of a run; see `loop.train`."""
    quiet_tensorflow()
    from nmt_cli.training.device import share_cores
    from nmt_cli.training.loop import train

    share_cores(int(prepared.config.train.lanes))
    yield from train(prepared, should_stop, time_limit=time_limit)


def find_device() -> Device:
    """Return what trains here."""
    quiet_tensorflow()
    return tensorflow_setup.find_device()


def choose_for_machine(config: Config) -> dict[str, Choice]:
    """Return the keys that the machine decides, with values for this one."""
    quiet_tensorflow()
    from nmt_cli.training.device import choose_for_machine

    return choose_for_machine(config)


@functools.cache
def measure_machine() -> Machine:
    """Return how fast this machine is; measured once a process."""
    quiet_tensorflow()
    from nmt_cli.training.device import measure_machine

    return measure_machine()
