"""What `nmt evaluate` does: examples and models, or files of outputs -> scores side by side."""

import functools
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.reading import RUN_CONFIG, load_config
from nmt_cli.config.text_memory import changed_files
from nmt_cli.encoding import AUTO, UTF8
from nmt_cli.errors import ConfigError, DataError, number_of
from nmt_cli.evaluation.comparison import Corpus, Evaluation, Result
from nmt_cli.evaluation.label_judging import Judged, LabelComparison, corpus_of, judge
from nmt_cli.evaluation.outputs import decode_examples, perplexity
from nmt_cli.evaluation.scores import diversity
from nmt_cli.files import read_lines
from nmt_cli.search.chat_session import ChatSession
from nmt_cli.search.glossary import Glossary
from nmt_cli.search.loading import (
    EngineOptions,
    described,
    load_engine,
    load_labeller,
    search_options,
)
from nmt_cli.search.options import ChatOptions, SearchOptions, read_settings
from nmt_cli.search.term_search import TermSearcher
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.labels import Labels
from nmt_cli.text.languages import Way
from nmt_cli.text.noise import CHANGES, with_noise
from nmt_cli.text.shards import Encoder, build_encoder

if TYPE_CHECKING:
    from nmt_cli.search.engine import Engine

_ALL_TURNS = 1000
_DECODED_AT_A_TIME = 250  # examples between two movements of the progress line


@dataclass(frozen=True)
class _System:
    """A model that is ready, with its settings; one that chats has a session."""

    name: str
    bundle: Bundle
    engine: "Engine"
    encoder: Encoder
    search: SearchOptions
    session: ChatSession | None
    terms: TermSearcher | None = None

    def run(self, examples: list[Example], on_progress: Callable[[int, int], None]) -> Result:
        """Return what the model makes of examples, and what it alone can tell."""
        outputs: list[str] = []
        seconds: list[float] = []
        started = time.perf_counter()
        for some in self._outputs(examples):
            outputs += some
            seconds.append(time.perf_counter() - started)
            on_progress(len(outputs), len(examples))
            started = time.perf_counter()
        facts: dict[str, Any] = {}
        settings = _model_facts(self.bundle)
        settings |= {"engine": self.engine.description, "search": _listed(self.search.typed())}
        if self.session is not None:
            whole = [example.is_whole() for example in examples]
            seen = [self.seen_by(example) for example in itertools.compress(examples, whole)]
            if (known := perplexity(self.engine, self.encoder, seen)) is not None:
                facts["perplexity"] = known
            facts |= asdict(diversity([*itertools.compress(outputs, whole)]))
            facts["latency_ms"] = 1e3 * statistics.median(itertools.compress(seconds, whole))
            settings["chat"] = _listed(asdict(self.session.options))
        return Result(self.name, outputs, facts, settings)

    def seen_by(self, example: Example) -> Example:
        """Return an example with as much of its conversation as the model sees."""
        if self.session is None:
            return example
        turns = self.session.options.history_turns + 1
        return example._replace(source=example.source[-turns:])

    def corpus(self, examples: list[Example], language: str) -> Corpus:
        """Return examples as the model's vocabulary writes them."""
        ways = [example.way for example in examples]
        return Corpus(
            [" / ".join(self.seen_by(example).source) for example in examples],
            [self.encoder.target.normalise(example.target) for example in examples],
            language,
            ways if len(set(ways)) > 1 else (),
        )

    def _outputs(self, examples: list[Example]) -> Iterator[list[str]]:
        """Yield some outputs at a time; replies one by one, as in a conversation.

        A blank text has a blank output.
        """
        if self.session is None:
            for start in range(0, len(examples), _DECODED_AT_A_TIME):
                some = examples[start : start + _DECODED_AT_A_TIME]
                yield decode_examples(self.engine, self.encoder, some, self.search, self.terms)
            return
        for example in examples:
            *self.session.turns, text = example.source
            yield [self.session.reply(text).text if text.strip() else ""]


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """What is evaluated, and how."""

    bundle: Bundle  # the model
    examples: list[Example]  # one or more that have text on both sides, and maybe blank ones
    language: str  # code of the target language, or ""
    # what it is compared with: models, files of outputs, and settings for the same model such
    # as "beam_size=4,length_penalty=0.6"
    others: Sequence[str] = ()
    encoding: str = UTF8  # of the files of outputs
    noises: Sequence[str] = ()  # kinds of noise under which the model is scored as well
    glossary: Glossary | None = None  # with which the model is scored as well
    options: EngineOptions = field(default_factory=EngineOptions)  # how and where models run
    settings: Sequence[str] = ()  # options of search, or of a conversation, such as "top_k=5"
    # search options by name; None is not given
    flags: Mapping[str, Any] = field(default_factory=dict)
    # called with the number of examples that are done, and of all
    on_progress: Callable[[int, int], None] = lambda done, total: None
    on_note: Callable[[str], None] = lambda _: None  # told, in one line, what may be of interest
    on_engine: Callable[[str], None] = lambda _: None  # told what each model runs on, and why

    def compare_texts(self) -> Evaluation:
        """Return the scores of what a model writes, beside those of others.

        Raises:
            ConfigError: An option, or what to compare with, does not fit the model.
            DataError: A file of outputs does not fit the examples.
            ModelFileError: A model is damaged, or for another task.
        """
        first = self._load(str(self.bundle.path), self.bundle, self.settings, self.flags)
        if first.session is not None and self.glossary is not None:
            raise ConfigError("--glossary is for translation models")
        corpus = first.corpus(self.examples, self.language)
        if corpus.ways and self.others:
            raise ConfigError(
                "--compare is for one direction, and there are several",
                hint=f"choose one with --to: {', '.join(sorted({to for _, to in corpus.ways}))}",
            )
        systems = [first, *map(self._other, self.others)]
        results = [
            _read_outputs(system, len(self.examples), self.encoding)
            if isinstance(system, str)
            else system.run(self.examples, self.on_progress)
            for system in systems
        ]
        # A reply answers its turn alone: a chat's are neither merged nor split.
        for kind in (k for k in self.noises if first.session is None or k in CHANGES):
            noisy = with_noise(self.examples, kind)
            own = first.corpus(noisy, self.language)
            found = first.run(noisy, self.on_progress)
            results.append(
                replace(found, name=kind, sources=own.sources, references=own.references)
            )
        if self.glossary is not None:
            terms = TermSearcher(first.engine, first.encoder.vocabularies, self.glossary)
            found = replace(first, terms=terms).run(self.examples, self.on_progress)
            results.append(replace(found, name="with the glossary"))
            results = with_terms(results, corpus, self.glossary)
        return Evaluation(results, corpus)

    def compare_labels(self) -> LabelComparison:
        """Return the scores of a classifier's labels, beside others; see `compare_texts`."""
        if self.settings or any(value is not None for value in self.flags.values()):
            raise ConfigError("--set and search options are not for classifiers")
        if self.noises:
            raise ConfigError("--noise is not for classifiers")
        if self.glossary is not None:
            raise ConfigError("--glossary is for translation models")
        bundle, first = self.bundle, self._judged(self.bundle)
        corpus = corpus_of(first)
        results = [Result(bundle.named, first.outputs(), settings=_model_facts(bundle))]
        for text in self.others:
            if Path(text).is_file():
                results.append(self._read_labels(text, first.labels))
                continue
            other = find_bundle(text, bundle.manifest.facts)
            if _labels_of(other) != _labels_of(bundle):
                raise ConfigError(
                    f"{other.named} has other labels than {bundle.named}, or reads other texts",
                    hint="nmt info shows the labels of a model",
                )
            outputs = self._judged(other).outputs()
            results.append(Result(other.named, outputs, settings=_model_facts(other)))
        return LabelComparison(results, corpus, first)

    def _judged(self, bundle: Bundle) -> Judged:
        examples = [*itertools.compress(self.examples, self._are_labelled)]
        labeller, total = load_labeller(bundle, self.options), len(examples)
        self.on_engine(described(labeller.scorer, bundle, self.options))
        if cut := labeller.num_cut([example.source for example in examples]):
            self.on_note(
                f"{bundle.named} does not read {cut:,} of {number_of(total, 'text')} to the end "
                f"(model.max_length is {labeller.max_length:,})"
            )
        return judge(labeller, examples, lambda done: self.on_progress(done, total))

    def _read_labels(self, file: str, labels: Labels) -> Result:
        """Return the labels in a file of outputs, without those of examples that have none."""
        found = _read_outputs(file, len(self.examples), self.encoding)
        lines = itertools.compress(enumerate(found.outputs, start=1), self._are_labelled)
        outputs = []
        for number, output in lines:
            if problem := labels.problem(output, Path(file), number):
                raise problem
            outputs.append(output)
        return replace(found, outputs=outputs)

    @property
    def _are_labelled(self) -> list[bool]:
        """Of each example whether it can be scored: it has a text, and a label."""
        may_lack_target = self.bundle.manifest.classification["multi_label"]
        return [e.is_whole(may_lack_target=may_lack_target) for e in self.examples]

    def _load(
        self,
        name: str,
        bundle: Bundle,
        settings: Sequence[str] = (),
        flags: Mapping[str, Any] = MappingProxyType({}),
        changes: Sequence[str] = (),
    ) -> _System:
        """Return a model that searches with settings and flags, and then with changes to them."""
        vocabularies = bundle.load_vocabularies()
        engine = load_engine(bundle, vocabularies, self.options, on_note=self.on_note)
        config = load_config(str(bundle.path / RUN_CONFIG)).config
        encoder, session = build_encoder(config, vocabularies), None
        if encoder.is_chat:
            search, talk = search_options(bundle), bundle.manifest.chat
            session = ChatSession(engine, vocabularies, search, ChatOptions.from_mapping(talk))
            session.set(*settings, **flags)
            session.set(*changes)
            search = session.search
        else:
            search = search_options(bundle, settings, **flags)
            is_ranked = bundle.backward is not None
            search = search.asked(read_settings(changes, SearchOptions), is_ranked=is_ranked)
            if search.n_best > 1:
                raise ConfigError("n_best: no effect: the best output is scored")
        self.on_engine(described(engine, bundle, self.options))
        return _System(name, bundle, engine, encoder, search, session)

    def _other(self, text: str) -> _System | str:
        """Return a model, other settings for the first, or the name of a file of outputs."""
        # Of a text too long for a name `Path` raises; these are false.
        if os.path.isfile(text):  # noqa: PTH113
            return text
        if "=" in text and not os.path.exists(text):  # noqa: PTH110
            try:
                return self._load(text, self.bundle, self.settings, self.flags, text.split(","))
            except ConfigError as error:
                raise ConfigError(f"--compare {text}: {error}", hint=error.hint) from error
        return self._load(text, find_bundle(text, self.bundle.manifest.facts))


def evaluate_outputs(
    files: Sequence[str],
    reference: str,
    source: str | None,
    language: str,
    encoding: str = UTF8,
    glossary: Glossary | None = None,
) -> Evaluation:
    """Return the scores of files of outputs, a line a segment; the first is the baseline."""
    if glossary is not None and source is None:
        raise ConfigError("--glossary needs the source lines: --input")
    references = list(read_lines(reference, encoding=encoding))
    if not references:
        raise DataError(f"{reference}: has no lines")
    sources = list(read_lines(source, encoding=encoding)) if source is not None else None
    if sources is not None:
        _check_lines(source, len(sources), reference, len(references))
    corpus = Corpus(sources, references, language)
    results = [_read_outputs(name, len(references), encoding) for name in files]
    if glossary is not None:
        results = with_terms(results, corpus, glossary)
    return Evaluation(results, corpus)


def with_terms(results: list[Result], corpus: Corpus, glossary: Glossary) -> list[Result]:
    """Return results with the share of terms that are right in them.

    A term counts where a source has it and the reference one of its translations; it is right where
    the output has one, too.
    """
    sources = corpus.sources or []
    expected = [
        [term for term in glossary.terms_in(source) if term.match(reference)]
        for source, reference in zip(sources, corpus.references, strict=True)
    ]
    count = sum(map(len, expected))
    found = []
    for result in results:
        if result.references not in (None, corpus.references):
            found.append(result)
            continue
        pairs = zip(expected, result.outputs, strict=True)
        right = sum(term.match(output) is not None for terms, output in pairs for term in terms)
        facts = {"terms": count} | ({"terms_right": right / count} if count else {})
        found.append(replace(result, facts=result.facts | facts))
    return found


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
    columns: Sequence[str] = (),
    data_dir: str | None = None,
    encoding: str = UTF8,
    way: Way = ("", ""),
    on_note: Callable[[str], None] = lambda _: None,
) -> tuple[list[Example], str]:
    """Return the examples to score, with all of their conversation, and the target language.

    `source` and `reference`, files in an encoding, take the place of the model's own text, which
    lies in `data_dir` if not where it was; of that text, a `way` takes one direction. With
    `columns` the source is a table that has both. Each line of these files is an example. `on_note`
    is called with a line about each file of the model's own text that is not as it was.

    Raises:
        ConfigError: The model does not know a language of the way.
        DataError: A file cannot be read, or there is no such text.
    """
    overrides = [f"data.dir={data_dir}"] if data_dir else []
    languages = bundle.manifest.known_languages
    is_given = source is not None and (reference is not None or bool(columns))
    if any(way) or (is_given and languages.tokens):
        way = languages.way(*way)
    if is_given:
        paths = [str(Path(name).resolve()) for name in (source, reference) if name is not None]
        names = [int(name) if name.isdecimal() else name for name in columns]
        table = {"file": paths[0], "columns": names}
        corpus = table if columns else dict(zip(("source", "target"), paths, strict=True))
        overrides.append(f"data.test={json.dumps([corpus])}")
        overrides += [f"data.encoding={encoding}"] if encoding != UTF8 else []
        split = "test"
    loaded = load_config(str(bundle.path / RUN_CONFIG), overrides)
    chat = loaded.config.chat.model_copy(update={"history_turns": _ALL_TURNS})
    corpora = Corpora(loaded.config.model_copy(update={"chat": chat}), loaded.data_dir)
    files = corpora.files(split)
    for file in [] if is_given else changed_files(bundle.path, files):
        on_note(f"{file}: this text has changed since training")
    named = reference or source
    examples = _of_lines(corpora, named) if is_given else list(corpora.iter_split(split))
    if languages.tokens and is_given:
        examples = [example._replace(way=way) for example in examples]
    elif languages.tokens and any(way):
        told = [e.way if any(e.way) else languages.default for e in examples]
        is_wanted = [all(a in ("", b) for a, b in zip(way, of, strict=True)) for of in told]
        examples = list(itertools.compress(examples, is_wanted))
    if not examples and any(way):
        raise DataError(f"{bundle.named}: no {split} corpus is {'-'.join(filter(None, way))}")
    if not examples:
        raise DataError(
            f"the configuration of {bundle.named} has no {split} corpus",
            hint="give --input and --reference, or --split dev",
        )
    targets = sorted({example.way[1] for example in examples} - {""})
    return examples, ", ".join(targets) or bundle.manifest.target_lang


def _of_lines(corpora: Corpora, file: str | None) -> list[Example]:
    """Return the examples of files that were named, blank ones too: line N has the number N."""
    (corpus,) = corpora.config.data.test
    examples = list(corpora.iter_all(corpus))
    if not examples:
        raise DataError(f"{file}: has no {'rows' if corpus.columns else 'lines'}")
    if not any(e.is_whole(may_lack_target=corpora.may_lack_target) for e in examples):
        raise DataError(f"{file}: no pair of lines has text on both sides")
    return examples


def _read_outputs(file: str, count: int, encoding: str) -> Result:
    """Return the outputs in a file, as many as there are references.

    What nmt wrote is UTF-8, whatever it read; others may be in the encoding.
    """
    mend = None
    if file == "-" and encoding != AUTO:  # which can be read only once: line by line
        mend = functools.partial(str, encoding=encoding, errors="replace")
    try:
        outputs = list(read_lines(file, mend=mend))
    except DataError:
        if file == "-":
            raise
        outputs = list(read_lines(file, encoding=encoding))
    _check_lines(file, len(outputs), "the reference", count)
    return Result(file, outputs, settings={"file": file})


def _check_lines(name: str | None, count: int, other: str, other_count: int) -> None:
    if count != other_count:
        raise DataError(
            f"{name} has {number_of(count, 'line')}, {other} has {other_count:,}",
            hint="line N of one file must belong to line N of the other",
        )


def _labels_of(bundle: Bundle) -> tuple[Any, ...]:
    """Return what two classifiers must have in common to be compared."""
    settings = bundle.manifest.classification
    return sorted(settings["labels"]), settings["multi_label"], settings["texts"]


def _model_facts(bundle: Bundle) -> dict[str, str]:
    """Return what a model is, for people."""
    manifest = bundle.manifest
    others = "".join(f" and {partner.named}" for partner in bundle.partners)
    others += f", chosen by {bundle.backward.named}" if bundle.backward else ""
    return {
        "model": f"{bundle.named} ({manifest.name}, {manifest.parameters:,} parameters){others}",
        "trained": f"best at step {manifest.training.get('step', 0):,}, "
        f"fingerprint {manifest.training.get('fingerprint', 'not known')}",
    }


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)
