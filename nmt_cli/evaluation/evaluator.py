"""What `nmt evaluate` does: examples and models, or files of outputs -> scores side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.reading import load_config
from nmt_cli.encoding import UTF8
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.evaluation.comparison import Corpus, Evaluation, Result
from nmt_cli.evaluation.label_judging import Judged, LabelComparison, corpus_of, judge
from nmt_cli.evaluation.systems import System, load_system, model_facts, run, seen_by
from nmt_cli.files import read_lines
from nmt_cli.search.loading import EngineOptions, described, load_labeller
from nmt_cli.search.options import OF_SAMPLING
from nmt_cli.text.corpus import Corpora, Example

_ALL_TURNS = 1000


def _ignore(_: Any) -> None:
    """Drop what the caller does not want to know."""


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """How models are evaluated.

    Attributes:
        options: How and where they run.
        settings: Options of search, or of a conversation, such as "top_k=5".
        flags: Search options by name; None is not given.
        on_progress: Called with the number of examples that are done, and of all.
        on_note: Told, in one line, what may be of interest.
        on_engine: Told what each model runs on, and why.
    """

    options: EngineOptions = field(default_factory=EngineOptions)
    settings: Sequence[str] = ()
    flags: Mapping[str, Any] = field(default_factory=dict)
    on_progress: Callable[[int, int], None] = lambda done, total: None
    on_note: Callable[[str], None] = _ignore
    on_engine: Callable[[str], None] = _ignore

    def compare_texts(
        self, bundle: Bundle, examples: list[Example], language: str, others: Sequence[str] = ()
    ) -> Evaluation:
        """Return the scores of what a model writes for examples, beside those of others.

        Args:
            bundle: The model.
            examples: One or more.
            language: Code of the target language, or "".
            others: Models, files of outputs, and settings such as "beam_size=1,length_penalty=0.6"
                for the same model.

        Raises:
            ConfigError: An option, or what to compare with, does not fit the model.
            DataError: A file of outputs does not fit the examples.
            ModelFileError: A model is damaged, or for another task.
        """
        first = self._load(str(bundle.path), bundle, self.settings, self.flags)
        corpus = _corpus_of_model(first, examples, language)
        systems = [self._other(first, text) for text in others]
        return Evaluation(
            [
                _read_outputs(system, corpus)
                if isinstance(system, str)
                else run(system, examples, lambda done: self.on_progress(done, len(examples)))
                for system in (first, *systems)
            ],
            corpus,
        )

    def compare_labels(
        self, bundle: Bundle, examples: list[Example], others: Sequence[str] = ()
    ) -> LabelComparison:
        """Return the scores of a classifier's labels for examples; see `compare_texts`."""
        if self.settings or any(value is not None for value in self.flags.values()):
            raise ConfigError("--set and options of search are not for classifiers")
        first = self._judged(bundle, examples)
        corpus, labels = corpus_of(first), first.labels
        results = [Result(str(bundle.path), first.outputs(), settings=model_facts(bundle))]
        for text in others:
            if Path(text).is_file():
                results.append(_read_outputs(text, corpus))
                for number, output in enumerate(results[-1].outputs, start=1):
                    if problem := labels.problem(output, Path(text), number):
                        raise problem
                continue
            other = find_bundle(text, bundle.manifest.facts)
            if _labels_of(other) != _labels_of(bundle):
                raise ConfigError(
                    f"{other.path} gives other labels than {bundle.path}, or reads other texts",
                    hint="nmt info shows the labels of a model",
                )
            outputs = self._judged(other, examples).outputs()
            results.append(Result(str(other.path), outputs, settings=model_facts(other)))
        return LabelComparison(results, corpus, first)

    def _judged(self, bundle: Bundle, examples: list[Example]) -> Judged:
        labeller = load_labeller(bundle, self.options)
        self.on_engine(described(labeller.scorer, bundle, self.options))
        return judge(labeller, examples, lambda done: self.on_progress(done, len(examples)))

    def _load(
        self, name: str, bundle: Bundle, settings: Sequence[str], flags: Mapping[str, Any]
    ) -> System:
        system = load_system(name, bundle, settings, flags, self.options, self.on_note)
        self.on_engine(described(system.engine, bundle, self.options))
        return system

    def _other(self, first: System, text: str) -> System | str:
        """Return a model, other settings for the first, or the name of a file of outputs."""
        if Path(text).is_file():
            return text
        if "=" in text and not Path(text).exists():
            parts = text.split(",")
            flags = _without(self.flags, {part.partition("=")[0] for part in parts})
            try:
                return self._load(text, first.bundle, [*self.settings, *parts], flags)
            except ConfigError as error:
                problem = str(error).removeprefix(f"--set {text}: ")
                raise ConfigError(f"--compare {text}: {problem}", hint=error.hint) from error
        return self._load(text, find_bundle(text, first.bundle.manifest.facts), [], {})


def evaluate_outputs(
    files: Sequence[str], reference: str, source: str | None, language: str, encoding: str = UTF8
) -> Evaluation:
    """Return the scores of files of outputs, a line a segment.

    Args:
        files: The outputs; the first is what the others are compared with.
        reference: A file, too.
        source: Likewise, or None.
        language: Code of their language, or "".
        encoding: Of reference and source.

    Raises:
        DataError: A file cannot be read, or has another number of lines.
    """
    references = list(read_lines(reference, encoding=encoding))
    sources = list(read_lines(source, encoding=encoding)) if source is not None else None
    if sources is not None:
        _check_lines(source, sources, reference, references)
    corpus = Corpus(sources, references, language)
    return Evaluation([_read_outputs(name, corpus) for name in files], corpus)


def check_split(split: str) -> None:
    """Raise ConfigError unless there can be examples to score in a split of that name."""
    if split not in ("dev", "test"):
        raise ConfigError(f"--split must be dev or test (it is {split})")


def read_examples(
    bundle: Bundle,
    *,
    split: str = "test",
    source: str | None = None,
    reference: str | None = None,
    data_dir: str | None = None,
    encoding: str = UTF8,
) -> tuple[list[Example], str]:
    """Return the examples to score, with all of their conversation, and the target language.

    Args:
        bundle: The model, whose configuration names the text.
        split: "dev" or "test".
        source: A file of sources, in the place of the model's own text; with `reference`.
        reference: Their references.
        data_dir: Where the model's text is now; None is where it was.
        encoding: Of `source` and `reference`.

    Raises:
        DataError: A file cannot be read, or there is no such text.
    """
    overrides = [f"data.dir={data_dir}"] if data_dir else []
    if source and reference:
        names = [str(Path(name).resolve()) for name in (source, reference)]
        overrides.append(f"data.test=[{{source: '{names[0]}', target: '{names[1]}'}}]")
        overrides += [f"data.encoding={encoding}"] if encoding != UTF8 else []
        split = "test"
    loaded = load_config(str(bundle.path / "config.yaml"), overrides)
    chat = loaded.config.chat.model_copy(update={"history_turns": _ALL_TURNS})
    corpora = Corpora(loaded.config.model_copy(update={"chat": chat}), loaded.data_dir)
    corpora.files(split)
    examples = list(corpora.iter_split(split))
    if not examples:
        raise DataError(
            f"the configuration of {bundle.path} names no {split} corpus",
            hint="give --input and --reference, or --split dev",
        )
    return examples, loaded.config.data.target_lang


def _corpus_of_model(system: System, examples: list[Example], language: str) -> Corpus:
    """Return examples as the model's vocabulary writes them."""
    return Corpus(
        [" / ".join(seen_by(system, example).source) for example in examples],
        [system.encoder.target.normalise(example.target) for example in examples],
        language,
    )


def _read_outputs(file: str, corpus: Corpus) -> Result:
    outputs = list(read_lines(file))
    _check_lines(file, outputs, "the reference", corpus.references)
    return Result(file, outputs, settings={"file": file})


def _check_lines(name: str | None, lines: list[str], other: str, other_lines: list[str]) -> None:
    if len(lines) != len(other_lines):
        raise DataError(
            f"{name} has {len(lines)} lines, {other} has {len(other_lines)}",
            hint="line N of one file must belong to line N of the other",
        )


def _without(flags: Mapping[str, Any], named: set[str]) -> dict[str, Any]:
    """Return the flags that the settings of another system do not take the place of."""
    replaced = named | ({"beam_size"} if named & {"sample", *OF_SAMPLING} else set())
    return {name: value for name, value in flags.items() if name not in replaced}


def _labels_of(bundle: Bundle) -> tuple[Any, ...]:
    """Return what two classifiers must have in common to be compared."""
    settings = bundle.manifest.classification
    return sorted(settings["labels"]), settings["multi_label"], settings["texts"]
