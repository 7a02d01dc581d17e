"""A run without its steps: what `nmt train --dry-run` does, and how long training takes here."""

import itertools
import math
from collections.abc import Callable, Collection

from nmt_cli.config.pace import Lengths
from nmt_cli.config.reading import LoadedConfig
from nmt_cli.config.schema import Config
from nmt_cli.files import sha256_of
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.tasks import task_of
from nmt_cli.training.auto_values import (
    label_warning,
    mean_lengths,
    open_text,
    resolve,
    resolve_for_machine,
)
from nmt_cli.training.checkpoint import saved_settings
from nmt_cli.training.device import ThisMachine
from nmt_cli.training.fine_tuning import follow_start, open_start
from nmt_cli.training.run import as_begun, check_samples, check_text_and_keys, text_hashes
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.time_box import expected_end, run_time, too_short

Tell = Callable[[str], None]


def dry_run(
    loaded: LoadedConfig, *, tell: Tell, warn: Tell, is_fresh: bool, time_limit: float
) -> bool:
    """Read every file, build the model, and tell what would be trained; write nothing.

    Return whether the time limit is enough to learn anything.
    """
    quiet_tensorflow()
    start = open_start(loaded.config, RunFolder.of(loaded.config).path)
    loaded, vocabularies = follow_start(loaded, start, tell)
    loaded, corpora = open_text(loaded)
    if warning := label_warning(loaded.config):
        warn(warning)
    samples, counts = corpora.train_sample
    tell(f"train: {sum(counts):,} {loaded.config.facts.examples}")
    for split in ("dev", "test"):
        tell(corpora.rows_told(split))
    machine = ThisMachine()
    config = resolve(
        loaded,
        corpora,
        tell=tell,
        machine=machine,
        is_fresh=is_fresh,
        time_limit=time_limit,
        vocabularies=vocabularies,
    )
    run = RunFolder.of(config)
    begun = {} if is_fresh else saved_settings(run.checkpoints)
    config = as_begun(config, begun, tell=tell)
    if begun:  # without `FileHashes`, which would write what it remembers
        check_text_and_keys(run, begun, config, text_hashes(corpora, sha256_of), start)
    config = resolve_for_machine(config, tell=tell, choose=machine.choices)
    check_samples(config, corpora, samples, vocabularies)
    lengths = mean_lengths([*itertools.chain.from_iterable(samples)], config, vocabularies)
    pairs = sum(counts)
    is_enough = bool(begun) or foretell(
        config, loaded.auto, lengths, pairs, time_limit, tell=tell, warn=warn
    )
    size, joint = config.tokenizer.vocab_size, config.tokenizer.joint
    sizes = {"source": size, "target": size, "joint": joint}
    sizes = sizes if vocabularies is None else vocabularies.describe()
    model = task_of(config.facts).build_model(config, sizes)
    tell(f"model: {model.count_params():,} parameters with a vocabulary of {size:,}")
    return is_enough


def foretell(
    config: Config,
    chosen: Collection[str],
    lengths: Lengths,
    pairs: int,
    time_limit: float,
    *,
    tell: Tell,
    warn: Tell,
) -> bool:
    """Tell how long training takes here, or warn that a time limit cannot be enough.

    `chosen` are the keys for which `auto` chose a value. Return whether the limit is enough.
    """
    pace = ThisMachine().pace()
    if time_limit == math.inf:
        tell(run_time(config, chosen, lengths, pairs, pace))
    elif warning := too_short(time_limit, config, lengths, pairs, pace):
        warn(warning)
        return False
    else:
        tell(expected_end(time_limit, config, chosen, lengths, pairs, pace))
    return True
