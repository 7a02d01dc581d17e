"""What `nmt augment` does: trains models, lets them translate, and writes pairs to learn from.

Each stage writes its file at once or not at all, and is skipped when the file is there. So a
command that was killed resumes: training resumes by itself, and a beam search with one number
format gives the same bytes. A model is trained by `nmt train` with a configuration of its own.

References: Nguyen et al. 2020, data diversification (arXiv 1911.01986); Sennrich et al. 2016,
back-translation (arXiv 1511.06709); Edunov et al. 2018, sampling (arXiv 1808.09381); Caswell et
al. 2019, tags (arXiv 1906.06442); Kim and Rush 2016, interpolation (arXiv 1606.07947, section 3.3).
"""

import itertools
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.api.model import Model, load
from nmt_cli.augmentation.made_pairs import (
    Filter,
    Pair,
    lowest_scores,
    read_pairs,
    write_examples,
    write_pairs,
)
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.config.pace import seconds_of, spoken, step_seconds
from nmt_cli.config.reading import LoadedConfig, checked, to_yaml
from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.errors import ConfigError, DataError, NmtError
from nmt_cli.files import read_lines, remove_dir, sha256_of, write_text
from nmt_cli.text.corpus import Corpora
from nmt_cli.training.auto_values import mean_lengths, open_text, resolve
from nmt_cli.training.device import ThisMachine
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.time_box import run_seconds

DIVERSIFY, BACK_TRANSLATE, DISTIL = METHODS = ("diversify", "back-translate", "distil")
_FORWARD, _BACKWARD = "forward", "backward"
_HYPOTHESES = 5  # of a teacher, of which the one nearest to the reference is taken
_GIVEN, _MADE = "given-{}.jsonl", "made.jsonl"
_PLAN, _COUNTS = "plan.json", "counts.json"
_COLUMNS = ["source", "target"]
_SIGNALS = 128  # exit codes above it tell of a signal

Tell = Callable[[str], None]
Count = Callable[[str, int, int], None]  # (what is done, how many are, of how many)


class StoppedError(NmtError):
    """A training was stopped, or failed and has said why; the exit code is its own."""

    def __init__(self, name: str, code: int) -> None:
        was_stopped = code > _SIGNALS or code < 0
        why = "was stopped; the same command resumes" if was_stopped else "failed"
        super().__init__(f"the training of {name} {why}")
        self.exit_code = _SIGNALS - code if code < 0 else code


class _Maker(NamedTuple):
    """A model that makes pairs; trained if none is given."""

    direction: str
    number: int  # from 1
    given: str | None

    @property
    def name(self) -> str:
        return f"{self.direction}-{self.number}"


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """What to make, from what.

    Attributes:
        loaded: The configuration of the text, and of the models to train.
        method: One of `METHODS`.
        copies: How many models to train in each direction that the method needs.
        models: Models to use instead of trained ones, as `nmt_cli.load` takes them.
        monolingual: A file of lines in the target language, to translate back.
        is_sampled: Draw back-translations instead of searching for the best.
        tag: Put in front of the source of each made pair.
        drop: Share of each model's pairs to drop, those that it finds the least likely.
        time_limit: Of each training, as `nmt train --time` takes it.
        tell: Called with a line about each stage.
        progress: Gives a function that is called as a model translates.
    """

    loaded: LoadedConfig
    method: str
    copies: int = 1
    models: Sequence[str] = ()
    monolingual: Path | None = None
    is_sampled: bool = False
    tag: str = ""
    drop: float = 0.02
    time_limit: str | None = None
    tell: Tell = lambda _: None
    progress: Callable[[], AbstractContextManager[Count]] = lambda: nullcontext(lambda *_: None)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"--method must be one of {', '.join(METHODS)}")
        if not self.loaded.config.facts.is_parallel:
            raise ConfigError("nmt augment is for task: translation")
        if (self.monolingual is None) == (self.method == BACK_TRANSLATE):
            raise ConfigError(f"--monolingual FILE and --method {BACK_TRANSLATE} go together")
        if self.is_sampled and self.method == DISTIL:
            raise ConfigError(f"--sample cannot be combined with --method {DISTIL}")
        seconds_of(self.time_limit)  # before anything is written
        mono = self.monolingual
        if mono is not None and not mono.is_file():
            raise DataError(f"{mono}: no such file")
        if mono is not None and not any(line.strip() for line in read_lines(mono)):
            raise DataError(f"{mono}: has no text")
        data = self.loaded.config.data
        if len({data.way_of(corpus) for corpus in data.train}) > 1:
            raise ConfigError("nmt augment is for text of one direction, and there are several")
        if self.models and self.method == DIVERSIFY:
            raise ConfigError(f"--method {DIVERSIFY} trains its models; --model is for the others")

    @property
    def folder(self) -> Path:
        """Where everything is written."""
        return RunFolder.of(self.loaded.config).path / "augmented"

    @property
    def makers(self) -> list[_Maker]:
        """The models, in the order in which they are trained and used."""
        given: Sequence[str | None] = self.models or [None] * self.copies
        directions = {DIVERSIFY: (_FORWARD, _BACKWARD), DISTIL: (_FORWARD,)}
        return [
            _Maker(direction, number, model)
            for number, model in enumerate(given, start=1)
            for direction in directions.get(self.method, (_BACKWARD,))
        ]

    def run(self, *, is_fresh: bool = False) -> Path:
        """Make the pairs; return the configuration that learns from them.

        Args:
            is_fresh: Start over.

        Raises:
            StoppedError: A training was stopped, or failed.
            NmtError: A text or model cannot be read.
        """
        for maker in self.makers:
            if maker.given:
                self._check_direction(maker.given, maker)
        if is_fresh:
            self._forget()
        self._check_same()
        given = self._write_given()
        made = [self._made_by(maker, given) for maker in self.makers]
        counts = self._filtered(made, given)
        self.tell(counts)
        path = Path(f"{self.loaded.config.name}-augmented.yaml")
        write_text(path, self._config_text(given))
        return path

    def _forget(self) -> None:
        for run in (self._run_folder(m).path for m in self.makers if m.given is None):
            for folder in (run, *run.parent.glob(f"{run.name}-stage-*")):
                remove_dir(folder)
        remove_dir(self.folder)

    def _run_folder(self, maker: _Maker) -> RunFolder:
        config = self.loaded.config
        return RunFolder(RunFolder.of(config).path.parent / f"{config.name}-{maker.name}")

    def _write_given(self) -> list[Path]:
        """Write the text of the configuration as it is read; return the training corpora."""
        config, corpora = self.loaded.config, Corpora(self.loaded.config, self.loaded.data_dir)
        paths = [self.folder / _GIVEN.format(i + 1) for i in range(len(config.data.train))]
        for path, examples in zip(paths, corpora.iter_corpora("train"), strict=True):
            if not write_examples(path, examples):
                raise DataError(f"{path}: no pair of lines has text on both sides")
        for split in ("dev", "test"):
            if getattr(config.data, split):
                write_examples(self.folder / f"{split}.jsonl", corpora.iter_split(split))
        return paths

    def _check_same(self) -> None:
        """Raise ConfigError if an earlier command in this folder made its pairs otherwise."""
        mono, loaded = self.monolingual, self.loaded
        files = Corpora(loaded.config, loaded.data_dir).files("train")
        models = [find_bundle(model).path for model in self.models]
        plan: dict[str, Any] = {
            "the text": [sha256_of(path) for path in files],
            "the configuration": loaded.config.model_dump(mode="json", exclude={"data"}),
            "--method": self.method,
            "--model": [[str(path.resolve()), sha256_of(path / MANIFEST)] for path in models],
            "--monolingual": None if mono is None else sha256_of(mono),
            "--sample": self.is_sampled,
            "--tag": self.tag,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / _PLAN
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else plan
        changed = [name for name, value in plan.items() if before.get(name) != value]
        if changed:
            raise ConfigError(
                f"{self.folder} was made with other settings: {', '.join(changed)}",
                hint="set them back, or start over with --fresh",
            )
        write_text(path, json.dumps(plan, indent=1) + "\n")

    def _made_by(self, maker: _Maker, given: list[Path]) -> Path:
        """Return the file of a model's pairs; train the model and let it translate if need be."""
        path = self.folder / f"{maker.name}.jsonl"
        if path.exists():
            self.tell(f"{path}: reused")
            return path
        model = maker.given or self._train(maker, given)
        self._check_direction(model, maker)
        # One number format, however fast others are here: the same text gives the same bytes.
        with (
            load(model, engine="ctranslate2", number_format="float32") as loaded,
            self.progress() as count,
        ):
            write_pairs(path, self._pairs(loaded, maker, given, count))
        return path

    def _train(self, maker: _Maker, given: list[Path]) -> str:
        config = self.loaded.config
        folder = self._run_folder(maker)
        path = self.folder / f"{maker.name}.yaml"
        source, target = self._languages(maker)
        is_forward = maker.direction == _FORWARD
        data = self._data(given, _COLUMNS if is_forward else _COLUMNS[::-1])
        data |= {"test": [], "source_lang": source, "target_lang": target}
        values = {"name": folder.path.name, "seed": config.seed + maker.number, "data": data}
        if not is_forward:  # a model to start from is of the other direction
            values["train"] = config.train.model_dump() | {"from": None}
        write_text(path, self._yaml(values))
        limit = ["--time", self.time_limit] if self.time_limit else []
        self.tell(shlex.join(["nmt", "train", str(path), *limit]))
        command = [sys.executable, "-m", "nmt_cli", "train", str(path), *limit]
        if code := _exit_code(command):
            raise StoppedError(maker.name, code)
        return str(folder.model)

    def _languages(self, maker: _Maker) -> tuple[str, str]:
        """Return the languages of what a model reads and writes."""
        data = self.loaded.config.data
        way = data.source_lang, data.target_lang
        return way if maker.direction == _FORWARD else way[::-1]

    def _check_direction(self, model: str, maker: _Maker) -> None:
        """Raise ConfigError if a model translates the other way round."""
        bundle, (source, target) = find_bundle(model, TRANSLATION), self._languages(maker)
        there = bundle.manifest.source_lang, bundle.manifest.target_lang
        if all((source, target, *there)) and there != (source, target):
            raise ConfigError(
                f"--method {self.method} needs a model {source} -> {target}; "
                f"{bundle.path} translates {there[0]} -> {there[1]}"
            )

    def _pairs(
        self, model: Model, maker: _Maker, given: list[Path], count: Count
    ) -> Iterator[Pair]:
        """Yield the pairs that a model makes of the lines it has to translate."""
        lines = self._lines(maker, given)
        search: dict[str, Any] = {"n_best": 1}
        if self.method == DISTIL:
            search = {"n_best": _HYPOTHESES, "beam_size": _HYPOTHESES}
        if self.is_sampled:
            search |= {"sample": True, "beam_size": 1, "seed": self.loaded.config.seed}
        options = model.search_options(**search)
        found = model.translator(split=False).translate((text for _, text, _ in lines), options)
        for done, ((number, text, other), one) in enumerate(zip(lines, found, strict=True), 1):
            best = one.hypotheses[0]
            if self.method == DISTIL:
                best = max(one.hypotheses, key=lambda h: _nearness(h.text, other))
            sides = (best.text, text) if maker.direction == _BACKWARD else (text, best.text)
            yield {
                "source": self.tag + sides[0],
                "target": sides[1],
                "from": maker.name,
                "line": number,
                "score": round(best.score, 4),
            }
            count(f"{maker.name}: translating", done, len(lines))

    def _lines(self, maker: _Maker, given: list[Path]) -> list[tuple[int, str, str]]:
        """Return the number of each line to translate, its text, and what stands on its other side.

        Nothing stands beside text of one language.
        """
        if self.monolingual is not None:
            numbered = enumerate(read_lines(self.monolingual), start=1)
            return [(number, line, "") for number, line in numbered if line.strip()]
        here, there = _COLUMNS if maker.direction == _FORWARD else _COLUMNS[::-1]
        return [(n, pair[here], pair[there]) for n, pair in enumerate(read_pairs(given), start=1)]

    def _filtered(self, made: list[Path], given: list[Path]) -> str:
        """Write the pairs worth learning from; return in words what was kept and dropped."""
        # What a teacher wrote takes the place of the given text, with which it may agree.
        is_beside = self.method != DISTIL
        sieve = Filter(given, lowest_scores(made, self.drop), is_beside=is_beside)
        kept = 0

        def counted() -> Iterator[Pair]:
            nonlocal kept
            for kept, pair in enumerate(sieve.kept(read_pairs(made)), start=1):  # noqa: B007
                yield pair

        write_pairs(self.folder / _MADE, counted())
        counts = {"kept": kept, "dropped": dict(sieve.dropped)}
        write_text(self.folder / _COUNTS, json.dumps(counts, indent=1) + "\n")
        dropped = ", ".join(f"{n:,} {why}" for why, n in sieve.dropped.items())
        dropped = f"; dropped: {dropped}" if dropped else ""
        if not kept:
            raise DataError(f"{self.folder / _MADE}: no pair is worth learning from{dropped}")
        return f"made {kept:,} pairs{dropped}"

    def samples(self, count: int) -> list[Pair]:
        """Return some of the pairs that were kept, from the first ones."""
        return list(itertools.islice(read_pairs([self.folder / _MADE]), count))

    def _config_text(self, given: list[Path]) -> str:
        name = f"{self.loaded.config.name}-augmented"
        train = [] if self.method == DISTIL else given
        data = self._data([*train, self.folder / _MADE], _COLUMNS)
        head = (
            f"# Written by nmt augment --method {self.method}: {_MADE} has the pairs that were\n"
            "# made, each with the model and the line that it came from.\n"
        )
        return head + self._yaml({"name": name, "data": data})

    def _data(self, train: list[Path], columns: list[str]) -> dict[str, Any]:
        """Return the keys of `data` for files of this folder."""
        config = self.loaded.config
        weights = {_GIVEN.format(i): c.weight for i, c in enumerate(config.data.train, start=1)}
        splits = {s: [f"{s}.jsonl"] for s in ("dev", "test") if getattr(config.data, s)}
        corpora = {"train": [path.name for path in train], **splits}
        data: dict[str, Any] = {
            split: [{"file": name, "columns": columns} for name in names]
            for split, names in corpora.items()
        }
        for corpus in data["train"]:
            corpus["weight"] = weights.get(corpus["file"], 1.0)
        return data | {"dir": str(self.folder.resolve()), "encoding": "utf-8"}

    def _yaml(self, values: dict[str, Any]) -> str:
        tree = self.loaded.config.model_dump()
        tree |= values | {"data": tree["data"] | values["data"]}
        return to_yaml(checked(tree, "nmt augment"), self.loaded.auto)


def _exit_code(command: list[str]) -> int:
    """Run a command; a signal to stop reaches it, and is waited for while it saves."""
    with subprocess.Popen(command) as process:  # noqa: S603 (this program itself)
        before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            while True:
                try:
                    return process.wait()
                except KeyboardInterrupt:
                    continue  # the terminal has sent it to the command, too
        finally:
            signal.signal(signal.SIGTERM, before)


def foretell(plan: Augmentation) -> list[str]:
    """Return, line by line, what will be done and how long it takes here."""
    limit = seconds_of(plan.time_limit)
    loaded, corpora = open_text(plan.loaded)
    machine = ThisMachine()
    config = resolve(
        loaded, corpora, tell=lambda _: None, machine=machine, is_fresh=True, time_limit=limit
    )
    samples, counts = corpora.train_sample
    lengths, pairs = mean_lengths([*itertools.chain(*samples)], config), sum(counts)
    step = step_seconds(config, lengths, machine.pace())
    training = min(limit, run_seconds(config.train.max_steps, step, pairs))
    # A beam search takes about as long as an epoch of training.
    translating = step * pairs * lengths.target / config.train.tokens_per_batch
    lines, total = [], 0.0
    for maker in plan.makers:
        cost = 0.0 if maker.given else training
        what = f"use {maker.given}" if maker.given else f"train, about {spoken(cost)}"
        lines.append(f"{maker.name}: {what}; translate, about {spoken(translating)}")
        total += cost + translating
    return [*lines, f"together about {spoken(total)}, without the training that follows"]


def _nearness(hypothesis: str, reference: str) -> float:
    """Return how near an output comes to what a person wrote, as chrF."""
    from sacrebleu import sentence_chrf

    return float(sentence_chrf(hypothesis, [reference]).score)
