"""`nmt train`: tokenizer if missing, shards, model, evaluation, bundle. Run again = go on."""

import itertools
import math
import os
import re
import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.errors import ConfigError
from nmt_cli.terminal.options import (
    ConfigArgument,
    DataDirOption,
    SetOption,
    note_stand_in,
    with_data_dir,
)

if TYPE_CHECKING:
    from nmt_cli.config.pace import Lengths
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.config.schema import Config
    from nmt_cli.distributed.cluster import Cluster

_PART = re.compile(r"([0-9]+(?:[.][0-9]+)?)([smhd])")
_EXIT_S = 1.0  # for TensorFlow to leave
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def train(
    config: ConfigArgument = None,
    overrides: SetOption = None,
    data_dir: DataDirOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, build the model, train nothing.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the run's checkpoints and start over.")
    ] = False,
    limit: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="TIME", help="Be done by then, e.g. 90s, 30m or 2h, model and all."
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT,...", help="The machines that train together."),
    ] = None,
    worker_index: Annotated[
        int | None, typer.Option(metavar="N", help="Which of them this one is, from 0.")
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            "--cluster-token-file",
            metavar="FILE",
            help="A secret, the same on all, against strangers.",
        ),
    ] = None,
    is_trusted: Annotated[
        bool,
        typer.Option(
            "--trusted-network", help="Accept public addresses: nobody else reaches them."
        ),
    ] = False,
) -> None:
    """Train a model: from raw text to a model that translates or chats.

    The same command, run again, resumes from the last checkpoint. With --time
    the learning rate falls so that the run ends well within that time; what can
    be left out at the end, test scores, averages, other number formats, is done
    if it fits.

    Example: nmt train my.yaml --time 30m
    """
    started = time.monotonic()
    from nmt_cli.config.reading import load_config
    from nmt_cli.distributed.addresses import check_addresses
    from nmt_cli.distributed.cluster import find_cluster, read_token
    from nmt_cli.text.corpus import Corpora

    seconds = _seconds(limit)
    cluster = find_cluster(workers, worker_index, os.environ)
    check_addresses(cluster, is_trusted=is_trusted)
    if token_file is not None:
        cluster = replace(cluster, token=read_token(token_file))
    note_stand_in(config, "train")
    loaded = load_config(config, with_data_dir(overrides, data_dir))
    Corpora(loaded.config, loaded.data_dir).check_files()  # before there is a run folder
    if dry_run:
        options = [f"--set={setting}" for setting in with_data_dir(overrides, data_dir)]
        options += [f"--time={limit}"] if limit else []
        command = shlex.join(["nmt", "train", *filter(None, [config]), *options])
        _dry_run(loaded, command, fresh=fresh, time_limit=seconds)
    else:
        _train(loaded, cluster, fresh=fresh, time_limit=seconds, ends_at=started + seconds)


def _seconds(limit: str | None) -> float:
    """Return the seconds of a time such as 90s, 1h30m or 1.5h; infinity for None."""
    if limit is None:
        return math.inf
    parts = _PART.findall(limit)
    is_time = "".join(map("".join, parts)) == limit
    seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts) if is_time else 0
    if not 0.0 < seconds < math.inf:
        raise ConfigError(f"--time: '{limit}' is no time", hint="write it like 90s, 30m or 1h30m")
    return seconds


def _dry_run(loaded: "LoadedConfig", command: str, *, fresh: bool, time_limit: float) -> None:
    """Read every file, build the model, and say what would be trained."""
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.terminal import console

    quiet_tensorflow()
    from nmt_cli.tasks.task import task_of
    from nmt_cli.training.auto_values import mean_lengths, open_text, resolve, resolve_for_machine
    from nmt_cli.training.checkpoint import saved_settings
    from nmt_cli.training.device import ThisMachine
    from nmt_cli.training.run import as_begun, check_samples
    from nmt_cli.training.run_folder import RunFolder

    loaded, corpora = open_text(loaded)
    samples, counts = corpora.train_sample
    console.note(f"train: {sum(counts):,} pairs")
    for split in ("dev", "test"):
        console.note(f"{split}: {sum(1 for _ in corpora.iter_split(split)):,} pairs")
    machine = ThisMachine()
    config = resolve(
        loaded,
        corpora,
        tell=console.note,
        machine=machine,
        is_fresh=fresh,
        time_limit=time_limit,
    )
    begun = {} if fresh else saved_settings(RunFolder.of(config).checkpoints)
    config = as_begun(config, begun, tell=console.note)
    config = resolve_for_machine(config, tell=console.note, choose=machine.choices)
    check_samples(config, corpora, samples)
    lengths = mean_lengths([*itertools.chain.from_iterable(samples)], config)
    if not begun:
        _foretell(config, lengths, sum(counts), time_limit)
    size, joint = config.tokenizer.vocab_size, config.tokenizer.joint
    model = task_of(config.facts).build_model(
        config, source_vocab_size=size, target_vocab_size=size, joint=joint
    )
    console.note(f"model: {model.count_params():,} parameters with a vocabulary of {size:,}")
    console.note(f"all is well; train it with: {command}")


def _foretell(config: "Config", lengths: "Lengths", pairs: int, time_limit: float) -> None:
    """Say how long training takes here, or that a time limit cannot be enough."""
    from nmt_cli.terminal import console
    from nmt_cli.training.device import ThisMachine
    from nmt_cli.training.time_box import run_time, too_short

    if time_limit == math.inf:
        console.note(run_time(config, lengths, pairs, ThisMachine().pace()))
    elif warning := too_short(time_limit, config, lengths, pairs, ThisMachine().pace()):
        console.warn(warning)


def _train(
    loaded: "LoadedConfig", cluster: "Cluster", *, fresh: bool, time_limit: float, ends_at: float
) -> None:
    from nmt_cli.distributed.addresses import danger
    from nmt_cli.events import Waiting
    from nmt_cli.terminal import console
    from nmt_cli.terminal.training_view import StopRequest, TrainingReport, TrainingView
    from nmt_cli.training.device import ThisMachine, train_here
    from nmt_cli.training.run import prepare
    from nmt_cli.training.run_folder import RunFolder

    if cluster.size > 1:
        console.warn(danger(cluster))
    folder = RunFolder.of(loaded.config, cluster)
    is_new = fresh or not folder.has_begun
    with folder.locked(), StopRequest() as stop:
        with console.counting("pairs") as count:
            prepared = prepare(
                loaded,
                tell=console.note,
                on_encoded=lambda split, done: count(f"encoding {split}", done),
                machine=ThisMachine(cluster),
                cluster=cluster,
                is_fresh=fresh,
                time_limit=time_limit,
            )
        for warning in prepared.warnings:
            console.warn(warning)
        if is_new and cluster.size == 1:
            encoded = prepared.train
            _foretell(prepared.config, encoded.mean_lengths, len(encoded), time_limit)
        if cluster.size > 1:
            console.note(f"this is {cluster.name(cluster.index)}; waiting for the others")
        report = TrainingReport(prepared)
        with TrainingView(prepared.config, report) as view:
            left = ends_at - time.monotonic() - _EXIT_S
            for event in train_here(prepared, stop.number, time_limit=left):
                if not isinstance(event, Waiting):
                    stop.wait_for_step()
                report.follow(event)
                view.show(event)
    stop.exit_if_set(view.signal)
    if (late := time.monotonic() - ends_at) > 0:
        console.warn(f"--time was too short: the run took {late:,.0f} s longer")
