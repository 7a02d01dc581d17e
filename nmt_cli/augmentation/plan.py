"""What `nmt augment` shall make: of which text, with which models, and where it will lie.

A model that is not given is trained by `nmt train`, with a configuration of its own, on the text as
it was read.

References: Nguyen et al. 2020, data diversification (arXiv 1911.01986); Sennrich et al. 2016,
back-translation (arXiv 1511.06709); Edunov et al. 2018, sampling (arXiv 1808.09381); Caswell et
al. 2019, tags (arXiv 1906.06442); Kim and Rush 2016, interpolation (arXiv 1606.07947, section 3.3).
"""

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.augmentation.made_pairs import read_pairs
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.config.pace import seconds_of
from nmt_cli.config.reading import LoadedConfig, auto_keys, checked
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.files import read_lines, sha256_of, write_text
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.languages import Way
from nmt_cli.training.checkpoint import changed_shared
from nmt_cli.training.run_folder import RunFolder

DIVERSIFY, BACK_TRANSLATE, DISTIL = METHODS = ("diversify", "back-translate", "distil")
HYPOTHESES = 5  # of a teacher, of which the one nearest to the reference is taken
_SIDES = ("source", "target")
_GIVEN = "given-{}.jsonl"
_MOST_DROPPED = 0.9
_MOST_COPIES = 100


class Maker(NamedTuple):
    """A model that makes pairs, or an ensemble; trained if none is given."""

    is_forward: bool
    number: int  # from 1
    given: Sequence[str]

    @property
    def name(self) -> str:
        """What its files and its run are called."""
        if self.given:
            return f"model-{self.number}"
        return f"{'forward' if self.is_forward else 'backward'}-{self.number}"

    @property
    def sides(self) -> tuple[str, ...]:
        """The side of a pair that it reads, and the one that it writes."""
        return _SIDES if self.is_forward else _SIDES[::-1]


class Line(NamedTuple):
    """A line to translate, where it stands, and the text on its other side, if there is any."""

    file: str
    number: int  # from 1
    text: str
    other: str


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """What to make, from what; checked, and nothing is written.

    Raises:
        ConfigError: Two of them do not go together; or a model does not know a language, or
            translates another way.
        DataError: The monolingual file is missing, cannot be read, or has no text.
        ModelFileError: A model is missing or damaged, or not for translation.
    """

    loaded: LoadedConfig  # the configuration of the text, and of the models to train
    method: str  # one of `METHODS`
    copies: int = 1  # how many models to train in each direction that the method needs
    # models to use instead of trained ones, or to diversify beside them, as `nmt_cli.load` takes
    # them; to distil, they are one ensemble
    models: Sequence[str] = ()
    # the language that these translate to, where they know several; `from_` what from
    to: str | None = None
    from_: str | None = None
    # a file of lines in the target language, to translate back, or in the source language, to
    # distil
    monolingual: Path | None = None
    is_sampled: bool = False  # draw back-translations instead of searching for the best
    tag: str = ""  # put in front of the source of each made pair
    drop: float = 0.02  # share of each model's pairs to drop, those that it finds the least likely
    time_limit: str | None = None  # of each training, as `nmt train --time` takes it
    is_fresh: bool = False  # start over

    def __post_init__(self) -> None:
        self._check_options()
        seconds_of(self.time_limit)
        mono = self.monolingual
        if mono is not None and not mono.is_file():
            raise DataError(f"{mono}: {'is not a file' if mono.exists() else 'no such file'}")
        if mono is not None and next(self._monolingual_lines(mono), None) is None:
            raise DataError(f"{mono}: has no text")
        for maker in self.makers:
            self._check_way(maker)

    def _check_options(self) -> None:
        data, mono = self.loaded.config.data, self.monolingual
        if self.method not in METHODS:
            raise ConfigError(
                f"--method {self.method}: not one of {', '.join(METHODS)}."
                f"{did_you_mean(self.method, METHODS)}"
            )
        if self.copies < (least := int(not self.models)):
            without = " without --model" if least else ""
            raise ConfigError(f"--copies must be at least {least}{without} (it is {self.copies})")
        if self.copies > _MOST_COPIES:
            raise ConfigError(f"--copies must be at most {_MOST_COPIES} (it is {self.copies})")
        if not 0 <= self.drop <= _MOST_DROPPED:
            raise ConfigError(f"--drop must be 0 to {_MOST_DROPPED} (it is {self.drop:g})")
        if not self.loaded.config.facts.is_parallel:
            raise ConfigError("nmt augment is for task: translation")
        if mono is None and self.method == BACK_TRANSLATE:
            raise ConfigError(
                f"--method {BACK_TRANSLATE} needs --monolingual FILE, lines in the target language"
            )
        if mono and self.method == DIVERSIFY:
            raise ConfigError(
                f"--monolingual FILE needs --method {BACK_TRANSLATE}, "
                f"or {DISTIL} for lines in the source language"
            )
        if self.is_sampled and self.method == DISTIL:
            raise ConfigError(f"--sample cannot be combined with --method {DISTIL}")
        if len({data.way_of(corpus) for corpus in data.train}) > 1:
            raise ConfigError("nmt augment is for text of one direction, and there are several")
        if (self.to or self.from_) and not self.models:
            raise ConfigError("--to and --from are for a --model that knows several languages")

    def _check_way(self, maker: Maker) -> None:
        """Raise ConfigError if a given model translates another way than it has to."""
        if not maker.given:
            return
        bundle = find_bundle(maker.given, TRANSLATION)
        languages = bundle.manifest.known_languages
        there, wanted = languages.way(self.from_, self.to), self._way_of(maker)
        # Who names languages may know that the model has other codes for those of the text; but to
        # diversify, these tell the direction.
        may_differ = (self.to or self.from_) and self.method != DIVERSIFY
        known = {*languages.source, *languages.target} | (set() if may_differ else {*wanted})
        told = ((a, b) for a, b in zip(there, wanted, strict=True) if a and b)
        if any(a != b and b in known for a, b in told):
            raise ConfigError(
                f"--method {self.method} needs a model {_arrow(wanted)}; "
                f"{bundle.named} translates {_arrow(there)}"
            )

    def _way_of(self, maker: Maker) -> Way:
        """Return the languages of the text that a model has to read and to write."""
        data = self.loaded.config.data
        source, target = data.way_of(data.train[0])
        return (source, target) if maker.is_forward else (target, source)

    @property
    def run(self) -> RunFolder:
        """The run of the configuration."""
        return RunFolder.of(self.loaded.config)

    @property
    def folder(self) -> Path:
        """Where everything is written."""
        return self.run.path / "augmented"

    @property
    def given(self) -> list[Path]:
        """The text of the configuration, as it was read; a file for each corpus."""
        count = len(self.loaded.config.data.train)
        return [self.folder / _GIVEN.format(number) for number in range(1, count + 1)]

    @property
    def made(self) -> Path:
        """The pairs that are worth learning from."""
        return self.folder / "made.jsonl"

    @functools.cached_property
    def makers(self) -> list[Maker]:
        """The models, in the order in which they are trained and used."""
        ways = {DIVERSIFY: (True, False), DISTIL: (True,), BACK_TRANSLATE: (False,)}[self.method]
        if self.models and self.method == DISTIL:
            return [Maker(True, 1, self.models)]
        given = [Maker(self._is_forward(m), n, [m]) for n, m in enumerate(self.models, start=1)]
        if self.models and self.method == BACK_TRANSLATE:
            return given
        trained = range(1, self.copies + 1)
        return [*given, *(Maker(is_forward, n, ()) for n in trained for is_forward in ways)]

    def _is_forward(self, model: str) -> bool:
        """Return whether a given model shall translate as the text does, and not back."""
        if self.method == BACK_TRANSLATE:
            return False
        languages = find_bundle([model], TRANSLATION).manifest.known_languages
        there, data = languages.way(self.from_, self.to), self.loaded.config.data
        way = data.way_of(data.train[0])
        fits = [_may_be(there, way), _may_be(there, way[::-1])]
        if all(fits):
            raise ConfigError(
                f"--model {model}: its languages and those of the text do not say which way it "
                "translates",
                hint="set data.source_lang and data.target_lang; a model must have its own, too",
            )
        return not fits[1]

    @property
    def is_beside(self) -> bool:
        """Whether made pairs stand beside the given ones, and not in their place."""
        return self.method != DISTIL or self.monolingual is not None

    def pairs_of(self, maker: Maker) -> Path:
        """Return the file of all pairs that a model makes."""
        return self.folder / f"{maker.name}.jsonl"

    def lines(self, maker: Maker) -> Iterator[Line]:
        """Yield the lines that a model has to translate; `given` must be there by then."""
        if self.monolingual is not None:
            yield from self._monolingual_lines(self.monolingual)
            return
        here, there = maker.sides
        for path in self.given:
            for number, pair in enumerate(read_pairs([path]), start=1):
                yield Line(path.name, number, pair[here], pair[there])

    def _monolingual_lines(self, path: Path) -> Iterator[Line]:
        lines = read_lines(path, encoding=self.loaded.config.data.encoding)
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield Line(path.name, number, line, "")

    def training(self, maker: Maker) -> LoadedConfig:
        """Return the configuration that a model is trained with."""
        config = self.loaded.config
        data = self._data(self.given, maker) | {"test": [], "glossary": False}
        train, auto = config.train.model_dump(exclude_unset=True), self.loaded.auto
        if config.train.start is not None and not maker.is_forward:
            # A model to start from is of the other direction, and so is what suits it.
            train |= {"from": None, "freeze": [], "lora_rank": 0}
            train.pop("learning_rate", None)
            auto |= {"train.learning_rate", *_open_keys(config, "model", "tokenizer")}
        name, seed = f"{config.name}-{maker.name}", config.seed + maker.number
        return replace(
            self.loaded,
            config=self._config({"name": name, "seed": seed, "train": train}, data),
            data_dir=self.folder,
            auto=auto,
        )

    def result(self) -> Config:
        """Return the configuration that learns from what was made."""
        train, loaded = [*(self.given if self.is_beside else []), self.made], self.loaded
        data = self._data(train, Maker(True, 1, ()))
        if terms := Corpora(loaded.config, loaded.data_dir).glossary:
            data["glossary"] = str(terms.resolve())
        return self._config({"name": f"{loaded.config.name}-augmented"}, data)

    def _data(self, train: list[Path], maker: Maker) -> dict[str, Any]:
        """Return the keys of `data` for files of this folder, read as a model reads them."""
        data, (source, target) = self.loaded.config.data, self._way_of(maker)
        weights = dict(zip(self.given, (corpus.weight for corpus in data.train), strict=True))
        files = {
            "train": train,
            **{s: [self.folder / f"{s}.jsonl"] for s in ("dev", "test") if getattr(data, s)},
        }
        corpora: dict[str, Any] = {
            split: [{"file": path.name, "columns": [*maker.sides]} for path in paths]
            for split, paths in files.items()
        }
        for corpus, path in zip(corpora["train"], train, strict=True):
            corpus["weight"] = weights.get(path, 1.0)
        languages = {"source_lang": source, "target_lang": target}
        return corpora | languages | {"dir": str(self.folder.resolve()), "encoding": "utf-8"}

    def _config(self, values: dict[str, Any], data: dict[str, Any]) -> Config:
        tree = self.loaded.config.model_dump(exclude_unset=True)  # what else is of `train.from`
        return checked(tree | values | {"data": tree["data"] | data}, "nmt augment")

    def check_same(self) -> None:
        """Raise ConfigError if an earlier command in this folder made its pairs otherwise.

        DataError: what it left is damaged.
        """
        if not self._kept.exists():
            return
        try:
            before = json.loads(self._kept.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{self._kept}: damaged", hint="start over with --fresh") from error
        if changed := changed_shared(before, self._settings()):
            raise ConfigError(
                f"{self.folder} was made with other settings: {', '.join(changed)}",
                hint="set them back, give the run another name: --set name=NAME, or start over "
                "with --fresh",
            )

    def keep(self) -> None:
        """Write what `check_same` compares."""
        write_text(self._kept, json.dumps(self._settings(), indent=1) + "\n")

    @property
    def _kept(self) -> Path:
        return self.folder / "plan.json"

    def _settings(self) -> dict[str, Any]:
        """Return all that decides what is made, by what a user would call it."""
        mono, loaded = self.monolingual, self.loaded
        corpora = Corpora(loaded.config, loaded.data_dir)
        models = [find_bundle(model).path for model in self.models]
        tree = loaded.config.model_dump(mode="json", exclude={"data": {"dir", "licence"}})
        return _dotted(tree) | {
            "the text": [sha256_of(path) for s in ("train", "dev") for path in corpora.files(s)],
            "--method": self.method,
            "--model": [[str(path.resolve()), sha256_of(path / MANIFEST)] for path in models],
            "--to": self.to,
            "--from": self.from_,
            "--monolingual": None if mono is None else sha256_of(mono),
            "--sample": self.is_sampled,
            "--tag": self.tag,
        }


def _may_be(way: Way, other: Way) -> bool:
    """Return whether two ways are the same as far as both tell their languages."""
    return all(a == b for a, b in zip(way, other, strict=True) if a and b)


def _open_keys(config: Config, *sections: str) -> set[str]:
    """Return the keys of sections that `auto` may choose and the file does not give."""
    known = {name: getattr(config, name).model_fields_set for name in sections}
    return {f"{s}.{key}" for s in sections for key in auto_keys()[s] if key not in known[s]}


def _dotted(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a configuration as `section.key`, or `key` where it has no section."""
    sections = {name: value for name, value in tree.items() if isinstance(value, dict)}
    keys = {f"{s}.{key}": value for s, found in sections.items() for key, value in found.items()}
    return keys | {name: value for name, value in tree.items() if name not in sections}


def _arrow(way: Way) -> str:
    return " -> ".join(filter(None, way))
