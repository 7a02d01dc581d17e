"""The models that are served: found by name, task or languages, and replaced when they change."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.api.model import Model
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.config.tasks import TRANSLATION, TaskFacts
from nmt_cli.errors import ConfigError, NmtError
from nmt_cli.resources import available_cores
from nmt_cli.search.loading import EngineOptions
from nmt_cli.server.batching import Batcher, QueueFullError
from nmt_cli.server.metrics import Metrics
from nmt_cli.text.languages import Way

if TYPE_CHECKING:
    from nmt_cli.search.chat_session import ChatSession

UNKNOWN_LANGUAGE = "und"  # ISO 639-2: undetermined
_CHARACTERS_PER_TOKEN = 4
BATCH_TOKENS = 1024
_RETRY_SECONDS = 1


@dataclass(frozen=True)
class Limits:
    """How much is accepted, and how it is batched.

    Attributes:
        threads: Processor cores; 0 is all.
        batch_tokens: Most source tokens in a batch, about.
        batch_wait: Seconds that a free core waits for more texts.
        queue_characters: Most characters that wait for a model.
        queue_chats: Most replies that wait for a model.
    """

    threads: int = 0
    batch_tokens: int = BATCH_TOKENS
    batch_wait: float = 0.002
    queue_characters: int = 200_000
    queue_chats: int = 64

    def __post_init__(self) -> None:
        """Raise ConfigError for the first value out of range."""
        for option, value, least, most in (
            ("--batch-tokens", self.batch_tokens, 1, 1 << 20),
            ("--batch-wait", 1000 * self.batch_wait, 0, 10_000),
            ("--queue-characters", self.queue_characters, 1, 1 << 40),
        ):
            if not least <= value <= most:
                raise ConfigError(f"{option} must be {least:,} to {most:,} (it is {value:g})")


class ServedModel:
    """A model in memory, with its queue.

    Attributes:
        name: What clients call it.
        model: The model.
        facts: Its task.
        ways: Codes of source and target of each way in which it translates.
    """

    def __init__(self, name: str, model: Model, limits: Limits, metrics: Metrics) -> None:
        self.name = name
        self.model = model
        manifest = model.bundle.manifest
        self.facts = manifest.facts
        known = manifest.known_languages
        self.ways = [
            (source, target)
            for source in known.source or [UNKNOWN_LANGUAGE]
            for target in known.target or [UNKNOWN_LANGUAGE]
            if source != target or not known.tokens
        ]
        self._metrics = metrics
        self._seeded = threading.Lock()
        self.created = int((model.bundle.path / MANIFEST).stat().st_mtime)
        threads = limits.threads or available_cores()
        self._free = threading.BoundedSemaphore(threads + limits.queue_chats)
        self._talks = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.batcher = Batcher(
            self._runner(),
            threads=threads,
            batch_characters=limits.batch_tokens * _CHARACTERS_PER_TOKEN,
            wait=limits.batch_wait,
            queue_characters=limits.queue_characters,
            on_batch=self._count_batch,
        )

    async def run(self, texts: Sequence[str], options: Any = None) -> list[Any]:
        """Return a result for each text: a `Translation`, or a `Labelled`."""
        return await asyncio.wrap_future(self.batcher.submit(texts, options)) if texts else []

    def languages_of(self, way: Way) -> dict[str, str]:
        """Return the search options that choose a way; a model of one needs none."""
        if not self.model.bundle.manifest.languages:
            return {}
        return dict(zip(("from_", "to"), way, strict=True))

    def num_tokens(self, text: str) -> int:
        """Return how many tokens a text has, without `</s>`."""
        return len(self.model.vocabularies.target.encode(text))

    def count_tokens(self, count: int) -> None:
        """Count tokens that were written for a request."""
        self._metrics.tokens.labels(self.name).inc(count)

    def _count_batch(self, size: int, seconds: float) -> None:
        self._metrics.batch_texts.labels(self.name).observe(size)
        self._metrics.batch_seconds.labels(self.name).observe(seconds)

    def conversation(
        self, turns: Sequence[str], *, seed: int | None, **options: Any
    ) -> "ChatSession":
        """Return a conversation in which some turns were already said.

        Args:
            turns: The user's and the bot's, oldest first.
            seed: Repeats what is drawn; None draws anything.
            options: See `Model.chat`.
        """
        session = self.model.chat(seed=seed or 0, **options)
        session.search = replace(session.search, seed=seed)
        session.turns = list(turns)
        return session

    async def aside(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns that runs beside the batches, when a core is free."""
        with self.place():
            return await asyncio.get_running_loop().run_in_executor(self._talks, function)

    async def stream(self, session: "ChatSession", text: str) -> AsyncGenerator[str, None]:
        """Yield a reply as it is written. Whoever stops reading ends the search."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[str | BaseException | None] = asyncio.Queue()
        stopped = threading.Event()

        def tell(item: str | BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(arrived.put_nowait, item)

        def write() -> None:
            try:
                with self._alone(session), contextlib.closing(session.stream(text)) as written:
                    for chunk in written:
                        tell(chunk)
                        if stopped.is_set():
                            break
                tell(None)
            except BaseException as error:  # noqa: BLE001 - the reader raises it
                tell(error)

        done = loop.run_in_executor(self._talks, write)
        try:
            while (item := await arrived.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            stopped.set()
            await asyncio.shield(asyncio.wait([done]))

    def close(self) -> None:
        """Answer what waits, then let go of the memory."""
        self.batcher.close()
        self._talks.shutdown()

    def _runner(self) -> Callable[[list[str], Any], Sequence[Any]]:
        """Return what a batch runs through. Loads the model."""
        if self.facts.has_labels:
            labeller = self.model.labeller
            return lambda texts, _options: [*labeller.label_windows([texts])]
        if self.facts.is_parallel:
            translator = self.model.translator()
            options = self.model.search_options(**self.languages_of(self.ways[0]))
            list(translator.translate(["."], options))  # the first is slower
            return lambda texts, options: [*translator.translate(texts, options)]
        self.model.engine.restart()
        return lambda texts, _options: texts

    @contextlib.contextmanager
    def _alone(self, session: "ChatSession") -> Iterator[None]:
        """Keep what is drawn for a seed from what others draw."""
        if session.search.seed is None:
            yield
            return
        with self._seeded:
            session.engine.restart()
            yield

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places of what runs beside the batches.

        Raises:
            QueueFullError: All are taken.
        """
        if not self._free.acquire(blocking=False):
            raise QueueFullError(_RETRY_SECONDS)
        try:
            yield
        finally:
            self._free.release()


class ServedModels:
    """All models of a server, in the order in which they were named.

    Args:
        named: Model folders, run folders or shared files; none is the newest model.
        engine: How and where they run.
        limits: See `Limits`.
        metrics: Told of batches.

    Raises:
        ModelFileError: One of them cannot be loaded.
    """

    def __init__(
        self, named: Sequence[str], engine: EngineOptions, limits: Limits, metrics: Metrics
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._metrics = metrics
        self._served: list[ServedModel] = []
        for model in named or [""]:
            bundle = find_bundle(model or None)
            self._served.append(self._load(str(bundle.path), self._free_name(bundle.manifest.name)))

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(tuple(self._served))

    def of_task(self, *tasks: TaskFacts) -> list[ServedModel]:
        """Return the models of some tasks."""
        return [served for served in self if served.facts in tasks]

    def named(self, name: str | None, task: TaskFacts) -> ServedModel | None:
        """Return the model of a task with that name, or the first one when none is named."""
        found = self.of_task(task)
        return next((served for served in found if name in (None, "", served.name)), None)

    def for_pair(self, source: str, target: str) -> tuple[ServedModel, Way] | None:
        """Return the first model that translates from one language to another, and its way.

        Args:
            source: A code such as "de", "DE" or "de-AT". A model that does not know its language
                takes any.
            target: Likewise.
        """
        for served in self.of_task(TRANSLATION):
            for way in served.ways:
                if _is_language(source, way[0]) and _is_language(target, way[1]):
                    return served, way
        return None

    def reload_changed(self, tell: Callable[[str], None], *, all_of_them: bool = False) -> None:
        """Load anew what was written since; requests that have begun keep the model they have.

        Args:
            tell: Told, in one line, what was loaded, or why it could not be.
            all_of_them: Load those as well that have not changed.
        """
        for number, served in enumerate(self):
            path = served.model.bundle.path
            try:
                if not all_of_them and int((path / MANIFEST).stat().st_mtime) == served.created:
                    continue
                self._served[number] = self._load(str(path), served.name)
            except (NmtError, OSError) as error:
                served.created = _changed_at(path, served.created)
                tell(f"{path}: {error}; the model loaded before stays in use")
                continue
            tell(f"{path}: reloaded")
            served.close()

    def close(self) -> None:
        """Answer what waits, then let go of the memory."""
        for served in self:
            served.close()

    def _load(self, path: str, name: str) -> ServedModel:
        model = Model(find_bundle(path), self._engine)
        return ServedModel(name, model, self._limits, self._metrics)

    def _free_name(self, name: str) -> str:
        taken = {served.name for served in self._served}
        names = [name, *(f"{name}-{i}" for i in range(2, len(taken) + 2))]
        return next(free for free in names if free not in taken)


def _is_language(asked: str, known: str) -> bool:
    asked, known = asked.lower().replace("_", "-"), known.lower().replace("_", "-")
    return known == UNKNOWN_LANGUAGE or asked == known or asked.split("-")[0] == known.split("-")[0]


def _changed_at(path: Path, otherwise: int) -> int:
    try:
        return int((path / MANIFEST).stat().st_mtime)
    except OSError:
        return otherwise
