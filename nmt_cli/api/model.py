"""A trained model as a Python object: translate, score, classify, chat.

Nothing here prints or exits. What goes wrong is raised as an `NmtError`; what is worth knowing is
told to the functions that the caller passes.
"""

import functools
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
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
    from nmt_cli.search.labeller import Labelled, Labeller
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import ExplainedWord, PairScore, Translation, Translator
    from nmt_cli.text.sentences import Splitter
    from nmt_cli.text.vocabulary import Vocabularies


def _ignore(_: str) -> None:
    """Drop a message that the caller does not want."""


class Model:
    """A trained model.

    What it needs is loaded when it is first used. Several threads may share one: their calls wait
    for each other, as each of them uses all cores. Pickled, it travels as a path and its options.

    Args:
        bundle: The model folder.
        options: How and where it runs.
        on_warning: Told, in one line, of anything unusual about an input.
        on_note: Told, in one line, what may be of interest.

    Example:
        with nmt_cli.load("runs/quickstart") as model:
            print(model.translate(["The old man reads a book."])[0].text)
    """

    def __init__(
        self,
        bundle: Bundle,
        options: EngineOptions | None = None,
        *,
        on_warning: "Callable[[str], None]" = _ignore,
        on_note: "Callable[[str], None]" = _ignore,
    ) -> None:
        self.bundle = bundle
        self.options = options or EngineOptions()
        self._on_warning = on_warning
        self._on_note = on_note
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        manifest = self.bundle.manifest
        return f"<{manifest.task} model {manifest.name}, {manifest.parameters:,} parameters>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self.bundle.path.resolve()), self.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the memory; the next use loads the model again."""
        with self._lock:
            for name in ("vocabularies", "engine", "labeller"):
                self.__dict__.pop(name, None)

    @functools.cached_property
    def vocabularies(self) -> "Vocabularies":
        """The model's subwords."""
        from nmt_cli.text.vocabulary import Vocabularies

        return Vocabularies.load(self.bundle.path)

    @functools.cached_property
    def engine(self) -> "Engine":
        """What searches: see `search/engine.py`."""
        return load_engine(self.bundle, self.vocabularies, self.options, on_note=self._on_note)

    @functools.cached_property
    def labeller(self) -> "Labeller":
        """What gives labels, of a classifier."""
        return load_labeller(self.bundle, self.options)

    @property
    def engine_description(self) -> str:
        """What the model runs on, and why, for people."""
        running = self.labeller.scorer if self.bundle.manifest.facts.has_labels else self.engine
        return described(running, self.bundle, self.options)

    def search_options(self, settings: Sequence[str] = (), **changes: Any) -> "SearchOptions":
        """Return the model's own search options with changes; see `search.loading`."""
        return search_options(self.bundle, settings, **changes)

    def translator(self, *, split: bool = True) -> "Translator":
        """Return what translates lines; `split` ones longer than those of the training text."""
        from nmt_cli.search.translator import Translator

        check_task(self.bundle, TRANSLATION)
        splitter = self._splitter() if split else None
        warn = self._on_warning
        return Translator(self.engine, self.vocabularies, splitter=splitter, on_warning=warn)

    def translate(
        self, texts: Iterable[str], *, split: bool = True, **search: Any
    ) -> "list[Translation]":
        """Return a translation of each text, in order.

        Args:
            texts: Sentences or longer lines; line ends within one become spaces.
            split: See `translator`.
            search: Search options such as `beam_size=5`; see `nmt help translate`.

        Raises:
            ConfigError: There is no such option, or it cannot have that value.
            ModelFileError: It is no translation model, or damaged.
        """
        options = self.search_options(**search)
        with self._lock:
            return [*self.translator(split=split).translate(_one_line_each(texts), options)]

    def score(
        self, pairs: Iterable[tuple[str, str]], *, length_penalty: float | None = None
    ) -> "list[PairScore]":
        """Return how likely the model finds each second text, given the first.

        Args:
            pairs: Sources with their translations.
            length_penalty: alpha of the score; None is the model's own, 0 a plain log-probability.
        """
        with self._lock:
            return [*self.iter_scores(pairs, length_penalty=length_penalty)]

    def iter_scores(
        self, pairs: Iterable[tuple[str, str]], *, length_penalty: float | None = None
    ) -> "Iterator[PairScore]":
        """Yield what `score` returns, as pairs come."""
        from nmt_cli.search.translator import score_pairs

        check_task(self.bundle, TRANSLATION)
        alpha = self.search_options(length_penalty=length_penalty).length_penalty
        return score_pairs(
            self.engine, self.vocabularies, pairs, length_penalty=alpha, on_warning=self._on_warning
        )

    def explain(self, source: str, target: str) -> "list[ExplainedWord]":
        """Return each word of a translation with its probability and the words it comes from."""
        from nmt_cli.search.translator import explain_pair

        check_task(self.bundle, TRANSLATION)
        with self._lock:
            return explain_pair(self.engine, self.vocabularies, source, target)

    def classify(self, texts: "Iterable[str | tuple[str, str]]") -> "list[Labelled]":
        """Return the labels of each text, with the probabilities of all labels.

        Args:
            texts: Texts, or pairs of texts where the model reads two.
        """
        check_task(self.bundle, CLASSIFICATION)
        rows = ["\t".join(text) if isinstance(text, tuple) else text for text in texts]
        with self._lock:
            lines = [*_one_line_each(rows)]
            return [*self.labeller.label_windows([lines], on_warning=self._on_warning)]

    def chat(self, *, seed: int | None = None, **options: Any) -> "ChatSession":
        """Return a conversation that begins.

        Its `reply(text)` and `stream(text)` answer, and `turns` is what was said. A session is for
        one thread at a time.

        Args:
            seed: Repeats a sampled conversation, if no other is held meanwhile; None draws one.
            options: Search options such as `temperature=0.7`, and those of a conversation, such as
                `persona="I am a cook."` or `history_turns=5`.
        """
        from nmt_cli.search.chat_session import ChatSession

        check_task(self.bundle, CHAT)
        talk = ChatOptions.from_mapping(self.bundle.manifest.chat)
        of_talk = {name: options.pop(name) for name in talk.names() if name in options}
        seed = secrets.randbelow(1 << 31) if seed is None else seed
        search = self.search_options(seed=seed, **options)
        with self._lock:
            self.engine.restart()
            return ChatSession(
                self.engine,
                self.vocabularies,
                search,
                talk.override(**of_talk),
                on_warning=self._on_warning,
            )

    def _splitter(self) -> "Splitter":
        from nmt_cli.text.sentences import Splitter

        manifest = self.bundle.manifest
        longest = manifest.training.get("long_source", manifest.model["max_length"])
        return Splitter(manifest.source_lang, int(longest))


def load(
    model: str | Path | None = None,
    *,
    on_warning: "Callable[[str], None]" = _ignore,
    on_note: "Callable[[str], None]" = _ignore,
    **options: Any,
) -> Model:
    """Return a model that was trained.

    Args:
        model: A model folder, a run folder, or a file that was made to be shared; None is the
            newest below `runs/`, or what `$NMT_MODEL` names.
        on_warning: See `Model`.
        on_note: See `Model`.
        options: See `EngineOptions`: `engine`, `number_format`, `threads`, `device`.

    Raises:
        ConfigError: An option has no such value.
        ModelFileError: There is no such model, or it is damaged.
    """
    bundle = find_bundle(None if model is None else str(model))
    return Model(bundle, EngineOptions(**options), on_warning=on_warning, on_note=on_note)


def _reopened(path: str, options: EngineOptions) -> Model:
    return Model(find_bundle(path), options)


def _one_line_each(texts: Iterable[str]) -> Iterator[str]:
    return (" ".join(text.splitlines()) if "\n" in text or "\r" in text else text for text in texts)
