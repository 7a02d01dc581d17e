"""A run on this machine: prepared with what the machine is, and trained on its cores."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from nmt_cli.config.reading import LoadedConfig
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.events import Event
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.training.machine import choose_for_machine, find_device, measure_machine
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
