"""How `nmt augment` makes its pairs: models are trained, translate, and what they wrote is sifted.

Each stage writes its file at once or not at all, and is skipped when the file is there. So a
command that was killed resumes: training resumes by itself, and a beam search with one number
format gives the same bytes. No text is in memory as a whole.
"""

import functools
import itertools
import json
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from nmt_cli.api.model import Model
from nmt_cli.augmentation.child import exit_code
from nmt_cli.augmentation.forecast import foretell
from nmt_cli.augmentation.made_pairs import (
    ALREADY_THERE,
    UNLIKELY,
    Filter,
    Pair,
    lowest_scores,
    read_pairs,
    write_examples,
    write_pairs,
)
from nmt_cli.augmentation.pairing import Pairing
from nmt_cli.augmentation.plan import Augmentation, Maker
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import PLAIN_FORMAT
from nmt_cli.config.reading import to_yaml
from nmt_cli.errors import ConfigError, DataError, NmtError, number_of
from nmt_cli.files import remove_dir, remove_leftovers, write_text
from nmt_cli.lines import on_ray
from nmt_cli.parts import Division, folder_of, join
from nmt_cli.resources import WINDOW_LINES
from nmt_cli.search.loading import EngineOptions
from nmt_cli.search.translator import full_windows
from nmt_cli.text.corpus import Corpora
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.stages import check_same, is_over, stages_of

_SAVING_S = 120  # for a training to save that was asked to stop
_SIGNALS = 128  # exit codes above it tell of a signal
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_USELESS = 0.5  # share of a model's pairs to drop that tells of a bad model

Tell = Callable[[str], None]
Count = Callable[[str, int, int], None]  # (what is done, how many are, of how many)
Progress = Callable[[], AbstractContextManager[Count]]


class StoppedError(NmtError):
    """A training was stopped, or failed and has said why; the exit code is its own.

    Attributes:
        signal: Number of the signal that asked it to stop; 0 if it failed.
    """

    def __init__(self, name: str, code: int, *, is_fresh: bool) -> None:
        self.exit_code = _SIGNALS - code if code < 0 else code
        number = self.exit_code - _SIGNALS
        self.signal = number if number in _STOPS else 0
        again = "the same command without --fresh" if is_fresh else "the same command"
        why = f"was stopped; {again} resumes" if self.signal else "failed"
        why = f"was killed by signal {number}" if number > 0 and not self.signal else why
        super().__init__(f"the training of {name} {why}")


def make(
    plan: Augmentation,
    *,
    cluster: on_ray.Cluster | None = None,
    tell: Tell = lambda _: None,
    progress: Progress = lambda: nullcontext(lambda *_: None),
) -> Path:
    """Make the pairs; return the configuration that learns from them.

    Args:
        plan: What to make.
        cluster: Where models translate, if not here; this machine trains them.
        tell: Called with a line about what it will cost, and about each stage.
        progress: Gives a function that is called as a model translates.

    Raises:
        ConfigError: Another process uses the run, or made pairs or trained a model there with other
            settings; or there is another file of the name of the configuration.
        StoppedError: A training was stopped, or failed.
        NmtError: A text or model cannot be read, or the cluster cannot be reached.
    """
    if cluster is not None:  # before hours of training
        on_ray.check(cluster)
    with plan.run.locked():
        for training in _trainings(plan):
            _wait_for(training, tell)
        lines = foretell(plan)
        path, text = _result(plan)
        if plan.is_fresh:
            _forget(plan)
        remove_leftovers(plan.folder)
        for line in lines:
            tell(line)
        plan.keep()
        _write_given(plan)
        for maker in plan.makers:
            _make_pairs(plan, maker, cluster, tell, progress)
        for line in _sift(plan):
            tell(line)
        write_text(path, text)
    return path


def _result(plan: Augmentation) -> tuple[Path, str]:
    """Return the file of the configuration that learns from the pairs, and its text.

    ConfigError: there is another one, which may be somebody's work.
    """
    path = Path(f"{plan.loaded.config.name}-augmented.yaml")
    head = (
        f"# Written by nmt augment --method {plan.method}: {plan.made.name} has the pairs\n"
        "# that were made, each with the model and the line that it came from.\n"
    )
    text = head + to_yaml(plan.result(), plan.loaded.auto)
    if path.exists() and not plan.is_fresh and path.read_bytes() != text.encode():
        raise ConfigError(
            f"{path}: exists already, and differs from what would be written",
            hint="rename it, or replace it and all that was made with --fresh",
        )
    return path, text


def samples(plan: Augmentation, count: int) -> list[Pair]:
    """Return some of the pairs that were kept, from the first ones."""
    return list(itertools.islice(read_pairs([plan.made]), count))


def _trainings(plan: Augmentation) -> list[RunFolder]:
    """Return the runs that are there, with those of their stages."""
    runs = [RunFolder.of(plan.training(m).config).path for m in plan.makers if not m.given]
    stages = [path for run in runs for path in run.parent.glob(f"{run.name}-stage-*")]
    return [RunFolder(path) for path in (*runs, *stages) if path.is_dir()]


def _wait_for(training: RunFolder, tell: Tell) -> None:
    """Wait while a training saves whose command was killed; ConfigError: it is not that."""
    for waited in itertools.count():
        try:
            with training.locked():
                return
        except ConfigError as error:
            if waited == _SAVING_S:
                raise
            if not waited:
                tell(f"{error}; waiting for it to save")
            time.sleep(1.0)


def _forget(plan: Augmentation) -> None:
    for training in _trainings(plan):
        remove_dir(training.path)
    remove_dir(plan.folder)


def _write_given(plan: Augmentation) -> None:
    """Write the text of the configuration as it is read."""
    config, corpora = plan.loaded.config, Corpora(plan.loaded.config, plan.loaded.data_dir)
    for path, examples in zip(plan.given, corpora.iter_corpora("train"), strict=True):
        if not write_examples(path, examples):
            raise DataError(f"{path}: no pair of lines has text on both sides")
    for split in ("dev", "test"):
        if getattr(config.data, split):
            write_examples(plan.folder / f"{split}.jsonl", corpora.iter_split(split))


def _make_pairs(
    plan: Augmentation,
    maker: Maker,
    cluster: on_ray.Cluster | None,
    tell: Tell,
    progress: Progress,
) -> None:
    """Write the pairs of a model, unless they are there; train it if need be."""
    path = plan.pairs_of(maker)
    if path.exists():
        tell(f"{path}: reused")
        remove_dir(folder_of(path))
        return
    bundle = find_bundle(maker.given or _train(plan, maker, tell))
    # One number format, however fast others are here: the same text gives the same bytes.
    has_plain = PLAIN_FORMAT in bundle.manifest.ctranslate2.get("formats", {})
    number_format = None if maker.given and not has_plain else PLAIN_FORMAT
    where = EngineOptions(engine="ctranslate2", number_format=number_format)
    if bundle.partners:
        where = EngineOptions(engine="tensorflow")
    lines = functools.partial(plan.lines, maker)
    with Model(bundle, where) as model, progress() as count:
        work = Pairing.of(plan, maker, model)
        counted = functools.partial(count, f"{maker.name}: translating")
        division = Division(path, work.depends_on(), lines)
        if cluster is not None:
            on_ray.run(work, [division], cluster, on_done=counted)
            return
        missing = division.missing()
        done = itertools.count(division.total - sum(len(part.lines) for part in missing) + 1)
        for part, items in division.with_items(missing):
            with part.written() as stream:
                for pair in work.found(full_windows(items, WINDOW_LINES)):
                    stream.write(work.line(pair))
                    counted(next(done), division.total)
        join(path)
        remove_dir(folder_of(path))


def _train(plan: Augmentation, maker: Maker, tell: Tell) -> str:
    """Train a model, or resume its training unless it is over; return its folder.

    ConfigError: a training of that name is over which had other text or settings.
    """
    training = plan.training(maker)
    folder = str(RunFolder.of(training.config).model)
    if is_over(training):  # perhaps since its time was up: there is no more
        check_same(stages_of(training)[-1])
        return folder
    path = plan.folder / f"{maker.name}.yaml"
    write_text(path, to_yaml(training.config, training.auto))
    arguments = ["train", str(path), *(["--time", plan.time_limit] if plan.time_limit else [])]
    tell(shlex.join(["nmt", *arguments]))
    if code := exit_code(arguments):
        raise StoppedError(maker.name, code, is_fresh=plan.is_fresh)
    return folder


def _sift(plan: Augmentation) -> Iterator[str]:
    """Write the pairs worth learning from; yield, a line a model, what was kept and dropped."""
    made = [plan.pairs_of(maker) for maker in plan.makers]
    sieve = Filter(
        plan.given, lowest_scores(made, plan.drop), is_beside=plan.is_beside, tag=plan.tag
    )
    kept = write_pairs(plan.made, sieve.kept(read_pairs(made)))
    counts: dict[str, Any] = {}
    for maker in plan.makers:
        dropped = {why: n for (name, why), n in sieve.dropped.items() if name == maker.name}
        num_kept = sieve.num_kept[maker.name]
        counts[maker.name] = {"kept": num_kept, "dropped": dropped}
        reasons = ", ".join(f"{n:,} {why}" for why, n in dropped.items()) or "none"
        yield f"{maker.name}: {number_of(num_kept, 'pair')} kept; dropped: {reasons}"
        useless = sum(n for why, n in dropped.items() if why not in (ALREADY_THERE, UNLIKELY))
        if useless > _USELESS * (num_kept + sum(dropped.values())):
            yield f"{maker.name} is too bad a model for this: most of its pairs are of no use"
    write_text(plan.folder / "counts.json", json.dumps(counts, indent=1) + "\n")
    if not kept:
        raise DataError(f"{plan.made}: no pair is worth learning from")
    yield f"made {number_of(kept, 'pair')}"
