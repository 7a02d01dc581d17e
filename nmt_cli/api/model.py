"""A trained model as a Python object: translate, score, classify, chat.

Nothing here prints or exits. Errors are raised as `NmtError`; warnings and notes go to functions
that the caller passes.
"""

import functools
import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from nmt_cli.bundle.finding import check_task, find_bundle
from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.tasks import CHAT, CLASSIFICATION, TRANSLATION
from nmt_cli.search.loading import (
    EngineOptions,
    described,
    load_engine,
    load_labeller,
    search_options,
)
from nmt_cli.search.options import ChatOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from nmt_cli.search.chat_session import ChatSession
    from nmt_cli.search.engine import Engine
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.search.labeller import Labelled, Labeller
    from nmt_cli.search.memory import Memory
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import ExplainedWord, PairScore, Translation, Translator
    from nmt_cli.text.vocabulary import Vocabularies


@dataclass(eq=False, repr=False)
class Model:
    """A trained model.

    It is loaded on first use. Several threads may share one: their calls run one after the other,
    since each uses all cores. It is pickled as its path and options.

    Args:
        bundle: The model folder.
        options: Engine, number format, threads and device.
        on_warning: Called with a line of text for anything unusual about an input.
        on_note: Called with a line of text that may be of interest.

    Example:
        with nmt_cli.load("runs/quickstart") as model:
            print(model.translate(["The old man reads a book."])[0].text)
    """

    bundle: Bundle
    options: EngineOptions = field(default_factory=EngineOptions)
    _: KW_ONLY
    on_warning: "Callable[[str], None]" = lambda _: None
    on_note: "Callable[[str], None]" = lambda _: None

    def __post_init__(self) -> None:
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        manifest = self.bundle.manifest
        return f"<{manifest.task} model {manifest.name}, {manifest.parameters:,} parameters>"

    def __reduce__(self) -> tuple[Any, ...]:
        paths = [str(one.path.resolve()) for one in (self.bundle, *self.bundle.partners)]
        backward = self.bundle.backward
        return _reopened, (paths, backward and str(backward.path.resolve()), self.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory; the next use loads the model again."""
        with self._lock:
            for name in ("vocabularies", "engine", "labeller"):
                self.__dict__.pop(name, None)

    @functools.cached_property
    def vocabularies(self) -> "Vocabularies":
        """The model's subwords."""
        return self.bundle.load_vocabularies()

    @functools.cached_property
    def engine(self) -> "Engine":
        """The search engine; see `search/engine.py`."""
        return load_engine(self.bundle, self.vocabularies, self.options, on_note=self.on_note)

    @functools.cached_property
    def labeller(self) -> "Labeller":
        """The labeller of a classifier."""
        return load_labeller(self.bundle, self.options)

    @property
    def engine_description(self) -> str:
        """A text that says which engine and number format are used, and why."""
        running = self.labeller.scorer if self.bundle.manifest.facts.has_labels else self.engine
        return described(running, self.bundle, self.options)

    def search_options(self, settings: Sequence[str] = (), **changes: Any) -> "SearchOptions":
        """Return the model's own search options with changes; see `search.loading`."""
        return search_options(self.bundle, settings, **changes)

    def translator(
        self,
        *,
        split: bool = True,
        glossary: "Glossary | str | Path | None" = None,
        memory: "Memory | None" = None,
    ) -> "Translator":
        """Return a translator; `split` makes it split lines unlike those of its training text.

        With a glossary, or the name of its file, its terms are written as that says. What a memory
        has is taken from it.
        """
        from nmt_cli.search.translator import Translator

        check_task(self.bundle, TRANSLATION)
        splitter = None
        if split:
            from nmt_cli.text.sentences import Splitter

            manifest = self.bundle.manifest
            longest = manifest.training.get("long_source", manifest.model["max_length"])
            if manifest.training.get("sentences") == 1:
                longest = 0
            splitter = Splitter(manifest.source_lang, int(longest))
        terms = None
        if glossary is not None:
            from nmt_cli.search.glossary import Glossary
            from nmt_cli.search.term_search import TermSearcher

            terms = TermSearcher(self.engine, self.vocabularies, Glossary.of(glossary))
        return Translator(self.engine, self.vocabularies, splitter, self.on_warning, terms, memory)

    def translate(
        self,
        texts: Iterable[str],
        *,
        split: bool = True,
        glossary: "Glossary | str | Path | None" = None,
        memory: "Memory | str | Path | None" = None,
        **search: Any,
    ) -> "list[Translation]":
        """Return a translation of each text, in order.

        Args:
            texts: Sentences or longer lines; line ends within one become spaces.
            split: See `translator`.
            glossary: A `Glossary`, or its file; `terms` of a translation tells what became of it.
            memory: A `Memory`, or its file; `match` of a translation tells what it has for a text.
            search: Search options such as `beam_size=5`; see `nmt help translate`. Of a model of
                several languages: `to="fr"` and `from_="en"`.

        Raises:
            ConfigError: An option is unknown, or its value is invalid; or the model has several
                target languages, and `to` does not say which.
            DataError: A file is no glossary or no memory.
            ModelFileError: It is not a translation model, or is damaged.
        """
        options = self.search_options(**search)
        with self._lock:
            known = self.memory(memory, options)
            translator = self.translator(split=split, glossary=glossary, memory=known)
            return [*translator.translate(_one_line_each(texts), options)]

    def memory(
        self, memory: "Memory | str | Path | None", options: "SearchOptions"
    ) -> "Memory | None":
        """Return a translation memory as it is, or read its file, for the languages of a search."""
        if not isinstance(memory, str | Path):
            return memory
        from nmt_cli.search.memory import Memory

        return Memory.read(memory, self.vocabularies.languages.way(options.from_, options.to))

    def score(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        length_penalty: float | None = None,
        to: str | None = None,
        from_: str | None = None,
    ) -> "list[PairScore]":
        """Return how likely the model finds each second text, given the first.

        Args:
            pairs: Each a source and its translation.
            length_penalty: Alpha of the score (default: the model's own; 0 gives
                log-probabilities).
            to: As for `translate`.
            from_: As for `translate`.
        """
        with self._lock:
            return [*self.iter_scores(pairs, length_penalty=length_penalty, to=to, from_=from_)]

    def iter_scores(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        length_penalty: float | None = None,
        to: str | None = None,
        from_: str | None = None,
    ) -> "Iterator[PairScore]":
        """Yield the results of `score` as pairs arrive."""
        from nmt_cli.search.translator import score_pairs

        check_task(self.bundle, TRANSLATION)
        search = self.search_options(to=to, from_=from_).override(length_penalty=length_penalty)
        return score_pairs(
            self.engine,
            self.vocabularies,
            pairs,
            length_penalty=search.length_penalty,
            way=(search.from_ or "", search.to or ""),
            on_warning=self.on_warning,
        )

    def explain(
        self, source: str, target: str, way: tuple[str, str] = ("", "")
    ) -> "list[ExplainedWord]":
        """Return each word of a translation with its probability and the words it comes from."""
        from nmt_cli.search.translator import explain_pair

        check_task(self.bundle, TRANSLATION)
        with self._lock:
            return explain_pair(self.engine, self.vocabularies, source, target, way)

    def classify(self, texts: "Iterable[str | tuple[str, str]]") -> "list[Labelled]":
        """Return the labels of each text, with the probabilities of all labels.

        Texts are pairs of texts if the model reads two.
        """
        rows = ["\t".join(text) if isinstance(text, tuple) else text for text in texts]
        with self._lock:
            return [*self.iter_labels([[*_one_line_each(rows)]])]

    def iter_labels(self, windows: Iterable[list[str]]) -> "Iterator[Labelled]":
        """Yield the labels of each line of windows of lines; two texts have a tab between them."""
        check_task(self.bundle, CLASSIFICATION)
        return self.labeller.label_windows(windows, on_warning=self.on_warning)

    def chat(self, *, seed: int | None = None, **options: Any) -> "ChatSession":
        """Return a new conversation.

        Its `reply(text)` and `stream(text)` answer, and `turns` has all that was said. A session is
        for one thread at a time.

        Args:
            seed: The same seed repeats a conversation, if no other runs meanwhile; None draws one.
            options: Search options such as `temperature=0.7`, and those of a conversation, such as
                `persona="I am a cook."` or `history_turns=5`.
        """
        from nmt_cli.search.chat_session import ChatSession

        check_task(self.bundle, CHAT)
        talk = ChatOptions.from_mapping(self.bundle.manifest.chat)
        seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
        search = self.search_options().override(seed=seed)
        with self._lock:
            self.engine.restart()
            session = ChatSession(
                self.engine, self.vocabularies, search, talk, on_warning=self.on_warning
            )
        session.set(**options)
        return session


def load(
    model: str | Path | Sequence[str | Path] | None = None,
    *,
    backward: str | Path | None = None,
    on_warning: "Callable[[str], None]" = lambda _: None,
    on_note: "Callable[[str], None]" = lambda _: None,
    **options: Any,
) -> Model:
    """Return a trained model.

    Args:
        model: A model folder, a run folder, or a shared file; several are an ensemble, whose
            probabilities are averaged. None is what `$NMT_MODEL` names, otherwise the newest below
            `runs/`.
        backward: A model of the other direction, which chooses among the hypotheses of a beam.
        on_warning: See `Model`.
        on_note: See `Model`.
        options: See `EngineOptions`: `engine`, `number_format`, `threads`, `device`.

    Raises:
        ConfigError: The value of an option is invalid.
        ModelFileError: There is no such model, or it is damaged.
    """
    bundle = find_bundle(model, backward=backward)
    return Model(bundle, EngineOptions(**options), on_warning=on_warning, on_note=on_note)


def _reopened(paths: list[str], backward: str | None, options: EngineOptions) -> Model:
    return Model(find_bundle(paths, backward=backward), options)


def _one_line_each(texts: Iterable[str]) -> Iterator[str]:
    return (" ".join(text.splitlines()) if "\n" in text or "\r" in text else text for text in texts)
