"""What `nmt augment` is going to do, and about how long that takes on this machine.

Files that were made before and steps of training that were taken are not counted again; a file that
was begun is, as a whole.
"""

import functools
import itertools
import math
from dataclasses import replace
from typing import NamedTuple

from nmt_cli.augmentation.plan import DISTIL, HYPOTHESES, Augmentation, Maker
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.config.pace import (
    Lengths,
    Machine,
    measure_machine,
    search_seconds,
    seconds_of,
    spoken,
    step_seconds,
)
from nmt_cli.config.reading import RUN_CONFIG, LoadedConfig, load_config, with_values
from nmt_cli.config.schema import Config
from nmt_cli.search.ctranslate2_engine import has_gpu
from nmt_cli.text.corpus import Corpora, Example, sample_evenly
from nmt_cli.text.languages import Way
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.training.auto_values import AnyMachine, made_choices, mean_lengths, resolve
from nmt_cli.training.checkpoint import step_of
from nmt_cli.training.device import ThisMachine
from nmt_cli.training.fine_tuning import follow_start, open_start
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.stages import is_over, stages_left
from nmt_cli.training.time_box import run_seconds


def foretell(plan: Augmentation) -> list[str]:
    """Return, line by line, what will be done and how long it takes here.

    Raises:
        ConfigError: Pairs were made there with other settings.
        NmtError: The text or a model cannot be read.
    """
    if not plan.is_fresh:
        plan.check_same()
    Corpora(plan.loaded.config, plan.loaded.data_dir).check_files()
    lines, seconds = Forecast(plan).making()
    if len({corpus.weight for corpus in plan.loaded.config.data.train}) > 1:
        lines.append("the weights of data.train do not apply to made pairs, which all weigh 1")
    return [*lines, f"together {_about(seconds)}, without the training that follows"]


def this_machine() -> AnyMachine:
    """Return what trains here; TensorFlow, which takes memory, only looks at it if it has a GPU."""
    return ThisMachine() if has_gpu() else _Processor()


class _Processor(AnyMachine):
    """A machine that trains on its processor, which is measured without TensorFlow."""

    @functools.cached_property
    def _measured(self) -> Machine:
        return measure_machine()

    def pace(self) -> Machine:
        """See `AnyMachine`."""
        return self._measured


class _Model(NamedTuple):
    """A model that translates: how long until it is there, and what decides how fast it is."""

    told: str
    seconds: float
    config: Config
    lengths: Lengths  # of the text of the configuration, as the model reads and writes it
    size: int = 1  # how many models it is, if an ensemble


class Forecast:
    """Knows the text and the machine; asks for each only when something depends on it."""

    def __init__(self, plan: Augmentation) -> None:
        self._plan = plan
        self._corpora = Corpora(plan.loaded.config, plan.loaded.data_dir)
        self._machine = this_machine()

    @property
    def pace(self) -> Machine:
        """How fast this machine is."""
        return self._machine.pace()

    @functools.cached_property
    def _text(self) -> tuple[list[Example], int]:
        """Examples that lie evenly over the training text, and how many it has."""
        samples, counts = self._corpora.train_sample
        return [*itertools.chain.from_iterable(samples)], sum(counts)

    def making(self) -> tuple[list[str], float]:
        """Return what each model takes, and the seconds of all."""
        plan, lines, total = self._plan, [], 0.0
        for maker in plan.makers:
            if plan.pairs_of(maker).exists() and not plan.is_fresh:
                lines.append(f"{maker.name}: made before, is reused")
                continue
            model = self.given(maker) if maker.given else self.trained(maker)
            lengths, count = self.translated(maker, model.lengths)
            seconds = count * model.size * self._seconds_a_line(model.config, lengths)
            lines.append(
                f"{maker.name}: {model.told}; translate {count:,} lines, {_about(seconds)}"
            )
            total += model.seconds + seconds
        return lines, total

    def _seconds_a_line(self, config: Config, lengths: Lengths) -> float:
        """Return what it takes to translate a line and to score what came out."""
        beam_size = config.decode.beam_size
        if self._plan.method == DISTIL:
            beam_size = HYPOTHESES
        elif self._plan.is_sampled:
            beam_size = 1
        sizes = (beam_size, 1)
        return sum(search_seconds(config, lengths, self.pace, beam_size=size) for size in sizes)

    def learning(self) -> float:
        """Return the seconds of the training that follows, if all is kept that is made."""
        plan = self._plan
        times = int(plan.is_beside) + len(plan.makers)
        config = plan.loaded.config
        train = [corpus.model_dump() for corpus in config.data.train] * times
        loaded = replace(
            plan.loaded, config=with_values(config, {"data.train": train}, plan.method)
        )
        corpora = Corpora(loaded.config, loaded.data_dir)
        config, _ = made_choices(loaded, corpora, self._machine, math.inf)
        step = step_seconds(config, mean_lengths(self._text[0], config), self.pace)
        return run_seconds(config.train.max_steps, step, times * self._text[1])

    def given(self, maker: Maker) -> _Model:
        """Return what there is to know of a model that is given."""
        bundle = find_bundle(maker.given)
        config = load_config(str(bundle.path / RUN_CONFIG)).config
        way = bundle.manifest.known_languages.way(self._plan.from_, self._plan.to)
        lengths = self._lengths(maker, config, bundle.load_vocabularies(), way)
        told = f"use {' and '.join(maker.given)}"
        return _Model(told, 0.0, config, lengths, size=len(bundle.all))

    def trained(self, maker: Maker) -> _Model:
        """Return what there is to know of a model that is trained, in all of its stages."""
        plan, limit = self._plan, seconds_of(self._plan.time_limit)
        training = plan.training(maker)
        stages = stages_left(training, is_fresh=plan.is_fresh)
        config, lengths = self._resolved(maker, training, stages[-1], limit)
        step, seconds, counts = step_seconds(config, lengths, self.pace), 0.0, []
        for stage in stages:
            steps = (config if stage is stages[-1] else stage.config).train.max_steps
            if stage is stages[0] and not plan.is_fresh:
                steps = _steps_left(stage, steps)
            if steps:
                ways = len(stage.config.data.train) / len(training.config.data.train)
                seconds += run_seconds(steps, step, round(self._text[1] * ways))
                counts.append(f"{steps:,}")
        if not counts:
            return _Model("is trained", 0.0, config, lengths)
        most = "up to " if seconds > limit else ""
        seconds = min(limit, seconds)
        told = f"train {most}{' + '.join(counts)} steps, {_about(seconds)}"
        return _Model(told, seconds, config, lengths)

    def _resolved(
        self, maker: Maker, training: LoadedConfig, last: LoadedConfig, limit: float
    ) -> tuple[Config, Lengths]:
        """Return what a training's last stage chooses, and the lengths of the text for it."""
        start = open_start(training.config, RunFolder.of(training.config).path)
        loaded, vocabularies = follow_start(last, start, lambda _: None)
        config = resolve(
            loaded,
            self._corpora,
            tell=lambda _: None,
            machine=self._machine,
            is_fresh=self._plan.is_fresh,
            time_limit=limit,
            vocabularies=vocabularies,
        )
        return config, self._lengths(maker, config, vocabularies)

    def _lengths(
        self, maker: Maker, config: Config, vocabularies: Vocabularies | None, way: Way = ("", "")
    ) -> Lengths:
        """Return mean lengths of the text of the configuration, as a model reads and writes it."""
        pairs = [(example.source[-1], example.target) for example in self._text[0]]
        sides = pairs if maker.is_forward else [pair[::-1] for pair in pairs]
        sample = [Example((read,), written, way) for read, written in sides]
        return mean_lengths(sample, config, vocabularies)

    def translated(self, maker: Maker, lengths: Lengths) -> tuple[Lengths, int]:
        """Return mean lengths of the lines to translate, and how many there are.

        Lines of one language are as many times longer in tokens as they are in characters.
        """
        pairs, count = self._text
        if self._plan.monolingual is None:
            return lengths, count
        lines, count = sample_evenly(line.text for line in self._plan.lines(maker))
        there = [pair.source[-1] if maker.is_forward else pair.target for pair in pairs]
        times = (sum(map(len, lines)) / len(lines)) / (sum(map(len, there)) / len(there))
        return Lengths(lengths.source * times, lengths.target * times), count


def _steps_left(stage: LoadedConfig, steps: int) -> int:
    """Return how many of a stage's steps are still to be taken."""
    if is_over(stage):
        return 0
    checkpoints = RunFolder.of(stage.config).checkpoints.glob("step-*")
    return max(0, steps - max(map(step_of, checkpoints), default=0))


def _about(seconds: float) -> str:
    return f"about {spoken(seconds)}"
