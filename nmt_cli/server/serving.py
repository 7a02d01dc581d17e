"""The models that are served: found by name, task or languages, and replaced when they change."""

import asyncio
import contextlib
import functools
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nmt_cli.api.model import Model
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.config.tasks import TRANSLATION, TaskFacts
from nmt_cli.documents.inline import Inline
from nmt_cli.documents.masking import MarkedTranslator
from nmt_cli.errors import NmtError
from nmt_cli.server import metrics
from nmt_cli.server.batching import Batcher, held
from nmt_cli.server.keeping import KeptFiles
from nmt_cli.server.requests import RequestError
from nmt_cli.server.settings import Settings
from nmt_cli.text.language_id import language_code
from nmt_cli.text.languages import Way

if TYPE_CHECKING:
    from nmt_cli.documents.inline import Filled
    from nmt_cli.search.chat_session import ChatSession
    from nmt_cli.search.options import SearchOptions

_UNKNOWN_LANGUAGE = "und"  # ISO 639-2: undetermined
_CHARACTERS_PER_TOKEN = 4
_SHARE_OF_WAITING = 1 / 6  # of the time of a request, so that what is accepted is answered
_MOST_CHATS = 64  # replies that wait for a model
_MOST_LISTED = 20  # ways in an error
_MOST_OPTIONS = 256  # kinds of requests of a model of many languages
_LOG = logging.getLogger("nmt.serve")


class ServedModel:
    """A model in memory, with its queue."""

    def __init__(self, name: str, model: Model, settings: Settings) -> None:
        self.name = name  # what clients call it
        self.model = model
        manifest = model.bundle.manifest
        self.facts = manifest.facts
        known = manifest.known_languages
        # Codes of source and target of each way in which it translates.
        self.ways = [
            (source, target)
            for source in known.source or [_UNKNOWN_LANGUAGE]
            for target in known.target or [_UNKNOWN_LANGUAGE]
            if source != target or not known.tokens
        ]
        self.written = _written(model)
        # Made once for each kind of request: that takes longer than all else before the queue.
        self.options = functools.lru_cache(_MOST_OPTIONS)(self._options)
        self._seeded = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.threads + _MOST_CHATS)
        self._aside = ThreadPoolExecutor(settings.threads, thread_name_prefix=name)
        self.batcher = batcher = Batcher(
            self._runner(),
            name=name,
            # One more than the engine runs: it has the next batch when one ends, and need not wait
            # until Python has taken that one's results.
            threads=settings.threads + 1,
            batch_characters=settings.batch_tokens * _CHARACTERS_PER_TOKEN,
            wait=settings.batch_wait / 1000,
            queue_characters=settings.queue_characters,
            most_seconds=settings.timeout * _SHARE_OF_WAITING,
        )
        metrics.WAITING.labels(name).set_function(lambda: batcher.waiting)

    def _runner(self) -> Callable[[list[Any], Any], Sequence[Any]]:
        """Return what a batch runs through. Loads the model."""
        if self.facts.has_labels:
            labeller = self.model.labeller
            return lambda texts, _options: [*labeller.label_windows([texts])]
        if self.facts.is_parallel:
            translator = MarkedTranslator(self.model, self.options(self.ways[0], 0))
            translator.translate([Inline(".")])  # the first is slower
            written = metrics.TOKENS.labels(self.name)

            def translate(texts: list[Inline], options: Any) -> "list[list[Filled]]":
                found = replace(translator, options=options).translate(texts)
                written.inc(sum(len(hypotheses[0].tokens) for hypotheses, _ in found))
                return [filled for _, filled in found]

            return translate
        self.model.engine.restart()
        return lambda texts, _options: texts

    async def run(self, texts: Sequence[Any], options: Any = None) -> list[Any]:
        """Return a result for each text: of an `Inline` its translations, of a line its labels."""
        return await asyncio.wrap_future(self.batcher.submit(texts, options)) if texts else []

    def _options(self, way: Way, alternatives: int) -> "SearchOptions":
        """Return how to search one way, for a translation and so many others."""
        search: dict[str, Any] = {"n_best": alternatives + 1} if alternatives else {}
        return self.model.search_options(**search, **self.languages_of(way))

    def languages_of(self, way: Way) -> dict[str, str]:
        """Return the search options that choose a way; a model of one needs none."""
        has_choice = bool(self.model.bundle.manifest.languages)
        return dict(zip(("from_", "to"), way, strict=True)) if has_choice else {}

    def num_tokens(self, text: str) -> int:
        """Return how many tokens a text has, without `</s>`."""
        return len(self.model.vocabularies.target.encode(text))

    async def aside(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns that runs beside the batches, when a core is free."""
        with self.place():
            return await asyncio.get_running_loop().run_in_executor(self._aside, function)

    async def stream(self, session: "ChatSession", text: str) -> AsyncGenerator[str, None]:
        """Yield a reply as it is written. Whoever stops reading ends the search."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[str | None] = asyncio.Queue()
        stopped = threading.Event()
        is_seeded = session.search.seed is not None

        def write() -> None:
            # What is drawn for a seed is kept from what others draw.
            with self._seeded if is_seeded else contextlib.nullcontext():
                if is_seeded:
                    session.engine.restart()
                with contextlib.closing(session.stream(text)) as written:
                    for chunk in written:
                        loop.call_soon_threadsafe(arrived.put_nowait, chunk)
                        if stopped.is_set():
                            break

        done = loop.run_in_executor(self._aside, write)
        done.add_done_callback(lambda _: arrived.put_nowait(None))
        try:
            while (chunk := await arrived.get()) is not None:
                yield chunk
            done.result()  # raises what the search did
        finally:
            stopped.set()
            await asyncio.shield(asyncio.wait([done]))

    def place(self) -> contextlib.AbstractContextManager[None]:
        """Hold one of the places of what runs beside the batches; see `held`."""
        return held(self._places)


class ServedModels:
    """All models of a server, in the order in which they were named.

    Raises:
        ModelFileError: One of them cannot be loaded.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.files = KeptFiles()
        self.billed = 0  # characters that were translated for clients of DeepL's API
        self._served: list[ServedModel] = []
        for named in settings.models or [""]:
            model = self._load(named)
            name = self._free_name(model.bundle.manifest.name)
            self._served.append(ServedModel(name, model, settings))

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(tuple(self._served))

    def of_task(self, task: TaskFacts) -> list[ServedModel]:
        """Return the models of a task."""
        return [served for served in self if served.facts is task]

    def named(self, name: str, task: TaskFacts) -> ServedModel:
        """Return the model of a task with that name, or the first one for an empty name.

        Raises:
            RequestError: There is none.
        """
        for served in self.of_task(task):
            if name in ("", served.name):
                return served
        raise RequestError(404, f"no such {task.name} model is served: {name!r}", param="model")

    def ways(self) -> Iterator[tuple[ServedModel, Way]]:
        """Yield each model of translation with each way in which it translates."""
        return ((served, way) for served in self.of_task(TRANSLATION) for way in served.ways)

    def sources_of(self, target: str) -> list[str]:
        """Return the languages that can be translated to one."""
        ways = (way for _, way in self.ways())
        return list(dict.fromkeys(way[0] for way in ways if _is_language(target, way[1])))

    def for_pair(self, source: str, target: str) -> tuple[ServedModel, Way]:
        """Return the first model that translates from one language to another, and its way.

        Args:
            source: A code such as "de", "DE" or "de-AT". A model that does not know its language
                takes any.
            target: Likewise.

        Raises:
            RequestError: There is none.
        """
        for served, way in self.ways():
            if _is_language(source, way[0]) and _is_language(target, way[1]):
                return served, way
        known = [f"{a}-{b}" for _, (a, b) in self.ways()]
        pairs = ", ".join(known[:_MOST_LISTED]) + (", ..." if known[_MOST_LISTED:] else "")
        message = f"no model translates from {source!r} to {target!r}"
        raise RequestError(400, f"{message} (served: {pairs or 'none'})", param="target")

    def reload(self, *, unchanged: bool = False) -> None:
        """Load anew what was written since; requests that have begun keep the model they have.

        Args:
            unchanged: Load those as well that have not changed.
        """
        for number, served in enumerate(self):
            path, written = served.model.bundle.path, _written(served.model)
            if written == served.written and not unchanged:
                continue
            try:
                model = self._load(str(path))
                self._served[number] = ServedModel(served.name, model, self.settings)
            except (NmtError, OSError) as error:
                served.written = written
                _LOG.warning("%s: %s; the model loaded before stays in use", path, error)
            else:
                _LOG.warning("%s: reloaded", path)
                served.batcher.close()

    def close(self) -> None:
        """Answer what waits, and delete the files."""
        for served in self:
            served.batcher.close()
        self.files.close()

    def _load(self, named: str) -> Model:
        return Model(find_bundle(named or None), self.settings.engine)

    def _free_name(self, name: str) -> str:
        taken = {served.name for served in self._served}
        names = [name, *(f"{name}-{i}" for i in range(2, len(taken) + 2))]
        return next(free for free in names if free not in taken)


def _is_language(asked: str, known: str) -> bool:
    return known == _UNKNOWN_LANGUAGE or language_code(asked) == language_code(known)


def _written(model: Model) -> int:
    """Return when a model was written, in seconds since 1970; 0 if it is not there any more."""
    try:
        return int((model.bundle.path / MANIFEST).stat().st_mtime)
    except OSError:
        return 0
