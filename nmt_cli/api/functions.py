"""What `nmt train`, `evaluate`, `check` and `tokenize` do, as functions; they never print or exit.

Each takes a configuration as the commands do: a YAML file, or the name of a bundled one.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.pace import seconds_of
from nmt_cli.config.reading import LoadedConfig, load_config
from nmt_cli.encoding import UTF8
from nmt_cli.errors import DataError, TrainingError
from nmt_cli.files import os_errors_as
from nmt_cli.search.loading import EngineOptions
from nmt_cli.stores import Store
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.languages import Languages
from nmt_cli.training.auto_values import VOCAB_SIZE, resolve, unfilled
from nmt_cli.training.run_folder import RunFolder

if TYPE_CHECKING:
    from nmt_cli.doctor.result import Report
    from nmt_cli.evaluation.comparison import Evaluation
    from nmt_cli.evaluation.label_judging import LabelComparison
    from nmt_cli.events import Event
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.text.vocabulary import Vocabularies

Config = str | Path | None
Settings = Mapping[str, Any] | Sequence[str] | None


def configuration(
    config: Config, settings: Settings = None, data_dir: str | Path | None = None
) -> LoadedConfig:
    """Return a configuration with some keys changed.

    Args:
        config: A YAML file or a bundled name; None is the bundled sample.
        settings: Keys to change, as `{"train.max_steps": 200}` or `["train.max_steps=200"]`.
        data_dir: The folder of the text, in place of `data.dir`.

    Raises:
        ConfigError: It cannot be read, or has an unknown key or an invalid value.
    """
    if isinstance(settings, Mapping):
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in settings.items()}
        settings = [f"{name}={text}" for name, text in texts.items()]
    overrides = list(settings or ())
    overrides += [f"data.dir={data_dir}"] if data_dir is not None else []
    return load_config(None if config is None else str(config), overrides)


def train(
    config: Config = None,
    *,
    set: Settings = None,
    data_dir: str | Path | None = None,
    fresh: bool = False,
    time: str | float | None = None,
    store: str | None = None,
    should_stop: Callable[[], int] = lambda: 0,
    on_note: Callable[[str], None] = lambda _: None,
) -> "Iterator[Event]":
    """Train a model, or resume its training; yield events.

    Args:
        config: See `configuration`.
        set: Keys to change; see `configuration`.
        data_dir: The folder of the text.
        fresh: Discard the run's checkpoints and start over.
        time: Limit for the whole run, in seconds or as "30m".
        store: URL of a folder of an object store in which the run is kept, too.
        should_stop: Called after every step; if true, a checkpoint is saved and the run stops.
        on_note: Called with a line of text for each choice and stage.

    Yields:
        Events, frozen records of `nmt_cli.events`; the last of each stage is `Finished`.

    Raises:
        NmtError: Whatever `nmt train` reports as an error.

    Example:
        for event in nmt_cli.train("my.yaml", set={"train.max_steps": 200}):
            if isinstance(event, nmt_cli.events.Evaluated):
                print(event.step, event.scores["bleu"].score)
    """
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.training.device import ThisMachine
    from nmt_cli.training.run import prepare
    from nmt_cli.training.run_store import kept
    from nmt_cli.training.stages import stages_to_do

    limit = time if isinstance(time, int | float) else seconds_of(time)
    loaded = configuration(config, set, data_dir)
    for stage, time_limit, ends_at in stages_to_do(loaded, is_fresh=fresh, time_limit=limit):
        run = RunFolder.of(stage.config)
        keeping = kept(store, run, tell=on_note, warn=on_note, is_fresh=fresh)
        with run.locked(), keeping as follow:
            machine = ThisMachine()
            prepared = prepare(
                stage,
                tell=on_note,
                machine=machine,
                is_fresh=fresh,
                time_limit=time_limit,
                store=store,
            )
            for warning in prepared.warnings:
                on_note(warning)
            quiet_tensorflow()  # after faults of the text were found
            from nmt_cli.training.loop import train as train_prepared

            for event in train_prepared(prepared, should_stop, time_limit=ends_at - monotonic()):
                follow(event)
                yield event


def evaluate(
    model: str | Path | Sequence[str | Path] | Bundle | None = None,
    *,
    split: str = "test",
    source: str | None = None,
    reference: str | None = None,
    columns: Sequence[str] = (),
    encoding: str = UTF8,
    compare: Sequence[str] = (),
    noises: Sequence[str] = (),
    glossary: "Glossary | str | Path | None" = None,
    data_dir: str | None = None,
    target_lang: str | None = None,
    to: str | None = None,
    from_: str | None = None,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
    set: Sequence[str] = (),
    on_progress: Callable[[int, int], None] = lambda *_: None,
    on_note: Callable[[str], None] = lambda _: None,
    on_engine: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> "Evaluation | LabelComparison":
    """Return the scores of a model, and of others to compare it with if these are named.

    Args:
        model: See `load`; or a bundle that was already opened.
        split: Which text of the model's configuration: "dev" or "test".
        source: A file of sources instead; needs `reference` or `columns`.
        reference: The file of references for `source`.
        columns: The two columns of `source` if it is a table: headings, or numbers from 1.
        encoding: The encoding of these files, and of those of outputs.
        compare: Other models, files of outputs, or settings such as "beam_size=1".
        noises: Kinds of `config.schema.NOISES`, such as "typos", under which to score it as well.
        glossary: A glossary, or its file, with which to score it as well.
        data_dir: The folder of the model's text.
        target_lang: Code of the target language; default: the model's.
        to: The language to translate to, of a model of several; default: all that the text has.
        from_: The language to translate from.
        beam_size: Hypotheses kept at each step; 1 is greedy search.
        length_penalty: 0 favours short outputs.
        max_length: Longest output, in tokens.
        set: Search or chat options, such as "top_k=5".
        on_progress: Called with the number of examples done and their total.
        on_note: Called with a line of text that may be of interest.
        on_engine: Called with what each model runs on, and why.
        options: See `EngineOptions`.

    Raises:
        NmtError: Whatever `nmt evaluate` reports as an error.

    Example:
        print(nmt_cli.evaluate("runs/my").scores[0]["bleu"]["score"])
    """
    from nmt_cli.evaluation.evaluator import Evaluator, read_examples
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.tasks import task_of

    where = EngineOptions(**options)
    bundle = model if isinstance(model, Bundle) else find_bundle(model)
    examples, language = read_examples(
        bundle,
        split=split,
        source=source,
        reference=reference,
        columns=columns,
        data_dir=data_dir,
        encoding=encoding,
        way=(from_ or "", to or ""),
        on_note=on_note,
    )
    evaluator = Evaluator(
        bundle=bundle,
        examples=examples,
        language=target_lang or language,
        others=compare,
        encoding=encoding,
        noises=noises,
        glossary=None if glossary is None else Glossary.of(glossary),
        options=where,
        settings=set,
        flags={"beam_size": beam_size, "length_penalty": length_penalty, "max_length": max_length},
        on_progress=on_progress,
        on_note=on_note,
        on_engine=on_engine,
    )
    return task_of(bundle.manifest.facts).evaluate(evaluator)


def check(
    config: Config | LoadedConfig = None,
    *,
    set: Settings = None,
    data_dir: str | Path | None = None,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    on_note: Callable[[str], None] = lambda _: None,
) -> "Report":
    """Return what is wrong with the text of a configuration, where, and how often.

    Args:
        config: See `configuration`; or a configuration that was already loaded.
        set: Keys to change; see `configuration`.
        data_dir: The folder of the text.
        on_progress: Called with the name of the stage and the number of pairs done.
        on_note: Called with a line of text for each choice.

    Raises:
        NmtError: Whatever `nmt check` reports as an error.
    """
    from nmt_cli.doctor.checkup import check_up
    from nmt_cli.text.vocabulary import JOINT, SEPARATE, Vocabularies

    loaded = config if isinstance(config, LoadedConfig) else configuration(config, set, data_dir)
    folder = RunFolder.of(loaded.config)
    if folder.has_begun:  # the configuration with which its run was started
        resolved = resolve(loaded, Corpora(loaded.config, loaded.data_dir), tell=on_note)
        loaded = replace(loaded, config=resolved, auto=frozenset())
    vocabularies = None
    if any((folder.path / name).is_file() for name in (JOINT, SEPARATE[0])):
        vocabularies = Vocabularies.load(folder.path, Languages.of(loaded.config))
    return check_up(loaded, vocabularies, on_progress=on_progress)


@dataclass(frozen=True)
class Tokenized:
    """The vocabulary of a run folder; `is_new` if it was just trained; maybe a warning."""

    folder: Path
    vocabularies: "Vocabularies"
    is_new: bool
    warning: str | None


def tokenize(
    config: Config = None,
    *,
    set: Settings = None,
    data_dir: str | Path | None = None,
    store: str | None = None,
    on_note: Callable[[str], None] = lambda _: None,
) -> Tokenized:
    """Train the vocabulary of a configuration, or read the one that its run has.

    Args:
        config: See `configuration`.
        set: Keys to change; see `configuration`.
        data_dir: The folder of the text.
        store: URL of a folder of an object store where the vocabulary is kept, too.
        on_note: Called with a line of text for each choice.

    Raises:
        NmtError: Whatever `nmt tokenize` reports as an error.

    Example:
        print(nmt_cli.tokenize("my.yaml").vocabularies.source.encode("Good morning!"))
    """
    from nmt_cli.text.vocabulary_cache import FileHashes, bring, load_or_train, put

    loaded = configuration(config, set, data_dir)
    run = RunFolder.of(loaded.config)
    corpora = Corpora(loaded.config, loaded.data_dir)
    vocabulary_only = replace(loaded, auto=loaded.auto & {VOCAB_SIZE})
    resolved = resolve(vocabulary_only, corpora, tell=on_note)
    of_run = Store.of_run(store, loaded.config.name, DataError)
    with run.locked(), os_errors_as(TrainingError, f"{run.path}: cannot be written"):
        if of_run is not None and not run.has_begun:
            bring(resolved, corpora, run.path, FileHashes(run.path), of_run, on_note)
        found, is_new = load_or_train(resolved, corpora, run.path)
        if of_run is not None:
            put(run.path, of_run)
    warning = None if VOCAB_SIZE in loaded.auto else unfilled(resolved, found)
    return Tokenized(run.path, found, is_new, warning)
