"""A run on this machine: prepared with what the machine is, and trained on its cores.

TensorFlow is imported when it is asked: a problem with the text is told before.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from nmt_cli.config.auto import Choice, Device
from nmt_cli.config.pace import Lengths, Machine
from nmt_cli.config.reading import LoadedConfig
from nmt_cli.config.schema import Config
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.events import Event
from nmt_cli.model import tensorflow_setup
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.statistics import sample_evenly
from nmt_cli.training.auto_values import (
    mean_lengths,
    resolve,
    resolve_for_machine,
    resolve_labels,
)
from nmt_cli.training.run import Prepared, check_samples, prepare
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.time_box import run_time, too_short


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


def dry_run(
    loaded: LoadedConfig,
    *,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    is_fresh: bool,
    time_limit: float,
) -> None:
    """Read every file, build the model, and tell what would be trained, and how long."""
    quiet_tensorflow()
    from nmt_cli.tasks.task import task_of
    from nmt_cli.training.checkpoint import saved_settings
    from nmt_cli.training.resume import as_begun

    loaded = resolve_labels(loaded)
    corpora = Corpora(loaded.config, loaded.data_dir)
    samples, counts = zip(*map(sample_evenly, corpora.iter_corpora("train")), strict=True)
    tell(f"train: {sum(counts):,} pairs")
    for split in ("dev", "test"):
        tell(f"{split}: {sum(1 for _ in corpora.iter_split(split)):,} pairs")
    config = resolve(
        loaded,
        corpora,
        tell=tell,
        find_device=find_device,
        is_fresh=is_fresh,
        time_limit=time_limit,
        measure_machine=measure_machine,
    )
    begun = {} if is_fresh else saved_settings(RunFolder.of(config).checkpoints)
    config = as_begun(config, begun, tell=tell)
    config = resolve_for_machine(config, tell=tell, choose=choose_for_machine)
    check_samples(config, corpora, list(samples))
    lengths = mean_lengths([*itertools.chain.from_iterable(samples)], config)
    if not begun:
        foretell(config, lengths, sum(counts), time_limit, tell, warn)
    size, joint = config.tokenizer.vocab_size, config.tokenizer.joint
    model = task_of(config.facts).build_model(
        config, {"source": size, "target": size, "joint": joint}
    )
    tell(f"model: {model.count_params():,} parameters with a vocabulary of {size:,}")


def foretell(
    config: Config,
    lengths: Lengths,
    pairs: int,
    time_limit: float,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Say how long training takes here, or that a time limit cannot be enough."""
    if time_limit == math.inf:
        tell(run_time(config, lengths, pairs, measure_machine()))
    elif warning := too_short(time_limit, config, lengths, pairs, measure_machine()):
        warn(warning)


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
