"""Texts of many requests -> batches of one model.

A text waits until a thread is free, and never longer than a few milliseconds when one is. Then the
batch is made of the text that is due and others of about its length, so that a short one is not
held up by a long one. A request of many texts lets others in between: each of its texts is due
later than the one before, by the time that a batch of this model takes to come to it (start-time
fair queueing; Goyal et al. 1996, with the arrival for the virtual time).
"""

import contextlib
import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

from nmt_cli.server import metrics
from nmt_cli.server.requests import QueueFullError

_CHARACTERS_PER_SECOND = 20_000  # what one request may have before others of its arrival
_MIN_SPREAD = 40  # characters: texts up to that length count as equally long
_SPREAD = 2.0
_RETRY_SECONDS = 1  # until a place may be free
_MOST_PASSED = 256  # texts of another length that are looked at for one batch


@dataclass(eq=False)
class _Request:
    """The texts that one client waits for."""

    results: list[Any]
    left: int
    arrived: float = field(default_factory=time.monotonic)
    future: "Future[list[Any]]" = field(default_factory=Future)
    error: BaseException | None = None


class _Job(NamedTuple):
    """One text; the one that is due first is the smallest, since no two have the same number."""

    due: float
    number: int
    text: Sized
    place: int  # among the results of its request
    request: _Request


@dataclass(eq=False)
class Batcher:
    """Runs the texts of all requests through a function, in batches.

    A text is a string, or what has the length of one. The function takes texts and options, and
    returns a result for each text, in order. It is called from several threads at a time.
    """

    run: Callable[[list[Any], Any], Sequence[Any]]
    _: KW_ONLY
    name: str  # what batches are counted under
    threads: int  # batches at a time
    batch_characters: int  # most in a batch, the longest text counted for each
    wait: float  # seconds that a free thread waits for more texts, from the arrival of the first
    queue_characters: int  # most that wait; above that, requests are refused
    most_seconds: float  # that a request may have to wait; if it would be more, it is refused

    def __post_init__(self) -> None:
        self._queues: dict[Any, list[_Job]] = {}
        self._characters = 0
        self._rate = float(_CHARACTERS_PER_SECOND)  # that all threads run, learnt from batches
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._workers = [
            threading.Thread(target=self._work, daemon=True) for _ in range(self.threads)
        ]
        for worker in self._workers:
            worker.start()

    @property
    def is_well(self) -> bool:
        """Whether every thread runs: one that a bug has ended would leave requests waiting."""
        return all(worker.is_alive() for worker in self._workers)

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        return sum(map(len, self._queues.values()))

    def submit(self, texts: Sequence[Sized], options: Any) -> "Future[list[Any]]":
        """Queue the texts of a request; the future gets a result for each, in order.

        Args:
            texts: At least one.
            options: Hashable; texts with the same options share a batch.

        Raises:
            QueueFullError: Too much is waiting.
        """
        request = _Request([None] * len(texts), left=len(texts))
        size = sum(map(_weight, texts))
        with self._changed:
            room = min(self.queue_characters, self._rate * self.most_seconds)
            is_full = self._characters and self._characters + size > room
            if is_full or self._closed:  # else nobody would come for it
                raise QueueFullError(max(1, round(self._characters / self._rate)))
            self._characters += size
            due = request.arrived
            queue = self._queues.setdefault(options, [])
            for place, text in enumerate(texts):
                heapq.heappush(queue, _Job(due, next(self._numbers), text, place, request))
                due += _weight(text) / _CHARACTERS_PER_SECOND
            self._changed.notify()
        return request.future

    def close(self) -> None:
        """Run what waits, then end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            options, jobs = taken
            if jobs:
                self._answer(jobs, options)

    def _answer(self, jobs: list[_Job], options: Any) -> None:
        """Run a batch; a request whose last text it holds gets its results, or what went wrong."""
        begun = time.monotonic()
        try:
            results = self.run([job.text for job in jobs], options)
            found = list(zip(jobs, results, strict=True))
        except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
            for job in jobs:
                job.request.error = error
            found = [(job, None) for job in jobs]
        seconds = time.monotonic() - begun
        metrics.BATCH_TEXTS.labels(self.name).observe(len(jobs))
        metrics.BATCH_SECONDS.labels(self.name).observe(seconds)
        size, finished = sum(_weight(job.text) for job in jobs), []
        with self._changed:
            rate = size * self.threads / max(seconds, 1e-4)
            # A small batch that is slow says nothing: a larger one would not take much longer.
            if rate > self._rate or 2 * size > self.batch_characters:
                self._rate += 0.1 * (rate - self._rate)
            for job, result in found:
                job.request.results[job.place] = result
                job.request.left -= 1
                if not job.request.left:
                    finished.append(job.request)
        for request in finished:
            if request.future.set_running_or_notify_cancel():
                if request.error:
                    request.future.set_exception(request.error)
                else:
                    request.future.set_result(request.results)

    def _take(self) -> tuple[Any, list[_Job]] | None:
        """Wait for texts and return a batch of those with the same options; None at the end."""
        with self._changed:
            while True:
                left = None  # seconds that more is waited for; None has no end
                if self._characters:
                    options, queue = min(self._queues.items(), key=lambda known: known[1][0])
                    left = queue[0].request.arrived + self.wait - time.monotonic()
                    if left <= 0 or self._closed or self._is_full(queue):
                        break
                elif self._closed:
                    return None
                self._changed.wait(left)
            jobs = self._cut(queue)
            if not queue:
                del self._queues[options]
            self._characters -= sum(_weight(job.text) for job in jobs)
            if self._characters:  # a request wakes one thread, however many batches it makes
                self._changed.notify()
            return options, [job for job in jobs if not job.request.future.cancelled()]

    def _is_full(self, queue: list[_Job]) -> bool:
        return sum(_weight(job.text) for job in queue[:64]) >= self.batch_characters

    def _cut(self, queue: list[_Job]) -> list[_Job]:
        """Take the text that is due and those of about its length out of a queue."""
        head = heapq.heappop(queue)
        longest = max(_MIN_SPREAD, _SPREAD * len(head.text))
        shortest = 0 if len(head.text) <= _MIN_SPREAD else len(head.text) / _SPREAD
        jobs, passed, widest = [head], list[_Job](), _weight(head.text)
        while queue and len(passed) < _MOST_PASSED:
            job = heapq.heappop(queue)
            width = max(widest, _weight(job.text))
            if not shortest <= len(job.text) <= longest:
                passed.append(job)
            elif width * (len(jobs) + 1) <= self.batch_characters:
                jobs.append(job)
                widest = width
            else:
                passed.append(job)
                break
        for job in passed:
            heapq.heappush(queue, job)
        return jobs


@contextlib.contextmanager
def held(places: threading.BoundedSemaphore) -> Iterator[None]:
    """Hold one of the places of what runs beside the batches.

    Raises:
        QueueFullError: All are taken.
    """
    if not places.acquire(blocking=False):
        raise QueueFullError(_RETRY_SECONDS)
    try:
        yield
    finally:
        places.release()


def _weight(text: Sized) -> int:
    return len(text) + 1
