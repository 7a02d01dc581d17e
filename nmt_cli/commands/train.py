"""`nmt train`: from text to a model; the same command, run again, resumes."""

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError, number_of
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.distributed.cluster import Cluster
    from nmt_cli.distributed.membership import Generation
    from nmt_cli.training.stages import Stage

_EXIT_S = 1.0  # for TensorFlow to leave


def train(
    config: opt.Config = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    start: str | None = opt.option("DIR", "Fine-tune this model; sets train.from.", "--from"),
    dry_run: bool = opt.switch("--dry-run", "Check everything, but do not train."),
    fresh: bool = opt.switch("--fresh", "Discard the run's checkpoints and start over."),
    limit: str | None = opt.option("TIME", "Limit for the whole run, e.g. 90s, 30m, 2h.", "--time"),
    workers: str | None = opt.option(
        "HOST:PORT,...", "The machines that train together; auto asks Slurm or Kubernetes."
    ),
    worker_index: int | None = opt.option("N", "Number of this machine, from 0."),
    token_file: str | None = opt.option(
        "FILE", "A secret that all machines share.", "--cluster-token-file"
    ),
    is_trusted: bool = opt.switch(
        "--trusted-network", "The network is private: accept any address."
    ),
    elastic: bool = opt.switch("--elastic", "Continue without machines that are lost."),
    store: opt.Store = None,
) -> None:
    """Train a model on raw text: for translation, chat or classification.

    The same command, run again, resumes from the last checkpoint. With --time the learning rate
    falls so that the run ends within that time. Test scores, averages of checkpoints and other
    number formats are left out if there is no time for them.

    --from fine-tunes a trained or imported model on your text. It keeps the sizes and the
    vocabulary of that model, and `auto` chooses a lower learning rate and fewer steps.

    --elastic, with machines that share the folder `runs`: when one is lost, the others continue
    from the last checkpoint, and it joins them when it comes back. One that gets SIGTERM or Ctrl-C
    leaves after a checkpoint.

    --store s3://BUCKET/FOLDER copies each checkpoint there while training continues. On another
    machine the same command resumes from it.

    Example: nmt train my.yaml --time 30m

    Example: nmt train my.yaml --from runs/general
    """
    started = time.monotonic()
    from nmt_cli.config.pace import seconds_of
    from nmt_cli.config.reading import load_config
    from nmt_cli.distributed.addresses import check_addresses
    from nmt_cli.distributed.cluster import find_cluster, read_token
    from nmt_cli.distributed.launchers import launched
    from nmt_cli.text.corpus import Corpora
    from nmt_cli.training.stages import stages_left, stages_to_do

    seconds = seconds_of(limit)
    cluster = find_cluster(*launched(workers, worker_index, os.environ), os.environ)
    check_addresses(cluster, is_trusted=is_trusted)
    if token_file is not None:
        cluster = replace(cluster, token=read_token(token_file))
    opt.note_stand_in(config, "train")
    settings = opt.with_data_dir(overrides, data_dir)
    tuning = [f"train.from={json.dumps(start)}"] if start is not None else []
    loaded = load_config(config, settings + tuning)
    Corpora(loaded.config, loaded.data_dir).check_files()  # before there is a run folder
    if loaded.config.train.stages and cluster.size > 1:
        raise ConfigError("train.stages is for one machine")
    if elastic and cluster.size == 1:
        raise ConfigError("--elastic is for several machines", hint="name them with --workers")
    if elastic and fresh:
        raise ConfigError(
            "--elastic resumes whenever a machine begins; --fresh would start over each time",
            hint="delete the run folder, or give the run another name: --set name=NAME",
        )
    if elastic and store is not None:
        raise ConfigError(
            "--elastic keeps runs on a disk that all machines share, not in a --store"
        )
    stages = stages_to_do(loaded, is_fresh=fresh, time_limit=seconds, started=started)
    if not dry_run:
        for stage in stages:
            _note_stage(stage.loaded, loaded)
            if elastic:
                _train_elastic(stage, cluster)
            else:
                _train(stage, cluster, fresh=fresh, store=store)
        return
    _note_stage((first := next(stages)).loaded, loaded)
    is_enough = _rehearse(first, fresh=fresh)
    for later in stages_left(loaded, is_fresh=fresh)[1:]:  # what they start from is not there yet
        steps = number_of(later.config.train.max_steps, "step")
        steps = "steps chosen when it begins" if "train.max_steps" in later.auto else steps
        console.note(f"then: {later.config.name}, {steps}")
    if not is_enough:
        console.note("everything but the time is fine")
        return
    command = shlex.join(["nmt", *(word for word in sys.argv[1:] if word != "--dry-run")])
    console.note(f"everything is fine; train with: {command}")


def _note_stage(stage: "LoadedConfig", loaded: "LoadedConfig") -> None:
    total = len(loaded.config.train.stages) + 1
    if stage.config.name != loaded.config.name:
        number = stage.config.name.rpartition("-")[2]
        console.note(f"stage {number} of {total}: {stage.config.name}")
    elif total > 1:
        console.note(f"stage {total} of {total}: {stage.config.name}")


def _rehearse(stage: "Stage", *, fresh: bool) -> bool:
    from nmt_cli.training.rehearsal import dry_run

    loaded, limit, _ = stage
    return dry_run(loaded, tell=console.note, warn=console.warn, is_fresh=fresh, time_limit=limit)


def _train_elastic(stage: "Stage", cluster: "Cluster") -> None:
    from nmt_cli.distributed.elastic import Supervisor
    from nmt_cli.distributed.membership import Membership
    from nmt_cli.training.run_folder import RunFolder

    run = RunFolder.of(stage.loaded.config)
    members = Membership(run.elastic, run.checkpoints, cluster, console.note)

    def train_part(part: "Cluster", generation: "Generation", asked: Callable[[], int]) -> None:
        _train(stage, part, fresh=False, of=cluster, news=generation.told, asked=asked)

    Supervisor(members, cluster, train_part, console.note).run()


def _train(
    stage: "Stage",
    cluster: "Cluster",
    *,
    fresh: bool,
    store: str | None = None,
    of: "Cluster | None" = None,
    news: Callable[[int], str] = lambda _: "",
    asked: Callable[[], int] = lambda: 0,
) -> None:
    """Train with the machines of a cluster, which may be some of those `of` another one.

    `news` returns what to tell when training goes on after a step; `asked` is like `StopRequest`.
    """
    from nmt_cli.distributed.addresses import danger
    from nmt_cli.events import Waiting
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.terminal.training_view import StopRequest, TrainingReport, TrainingView
    from nmt_cli.training.device import ThisMachine
    from nmt_cli.training.rehearsal import foretell
    from nmt_cli.training.run import prepare
    from nmt_cli.training.run_folder import RunFolder
    from nmt_cli.training.run_store import kept

    loaded, time_limit, ends_at = stage
    if cluster.size > 1:
        console.warn(danger(cluster))
    folder = RunFolder.of(loaded.config, cluster)
    url = store if cluster.is_chief else None
    keeping = kept(url, folder, tell=console.note, warn=console.warn, is_fresh=fresh)
    with folder.locked(), StopRequest() as stop, keeping as follow:
        is_new = fresh or not folder.has_begun
        with console.counting("pairs") as count:
            prepared = prepare(
                loaded,
                tell=console.note,
                on_encoded=lambda split, done: count(f"encoding {split}", done),
                machine=ThisMachine(of or cluster),
                cluster=cluster,
                is_fresh=fresh,
                time_limit=time_limit,
                store=store,
            )
        if prepared.config.data.test and cluster.is_chief:
            console.note(prepared.corpora.rows_told("test"))
        for warning in prepared.warnings:
            console.warn(warning)
        if is_new and cluster.size == 1:
            foretell(
                prepared.config,
                loaded.auto,
                prepared.train.mean_lengths,
                len(prepared.train),
                time_limit,
                tell=console.note,
                warn=console.warn,
            )
        if cluster.size > 1:
            console.note(f"this is {cluster.name(cluster.index)}; waiting for the others")
        quiet_tensorflow()  # after faults of the text were found
        from nmt_cli.training.loop import train as train_prepared

        report = TrainingReport(prepared)
        with TrainingView(prepared.config, report, news, ends_at) as view:
            left, number = ends_at - time.monotonic() - _EXIT_S, lambda: stop.number() or asked()
            for event in train_prepared(prepared, number, time_limit=left):
                if not isinstance(event, Waiting):
                    stop.wait_for_step()
                report.follow(event)
                view.show(event)
                follow(event)
    stop.exit_if_set(view.signal or asked())
    if (late := time.monotonic() - ends_at) >= 1:
        console.warn(f"--time was too short: the run took {late:,.0f} s longer")
