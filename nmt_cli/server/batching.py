"""Texts of many requests -> batches of one model.

A text waits until a core is free, and never longer than a few milliseconds when one is. Then the
batch is made of the text that is due and others of about its length, so that a short one is not
held up by a long one. A request of many texts lets others in between: each of its texts is due
later than the one before, by the time that a batch of this model takes to come to it (start-time
fair queueing; Goyal et al. 1996, with the arrival for the virtual time).
"""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from nmt_cli.errors import NmtError

_CHARACTERS_PER_SECOND = 20_000  # what one request may have before others of its arrival
_MIN_SPREAD = 40  # characters: texts up to that length count as equally long
_SPREAD = 2.0
_MOST_PASSED = 256  # texts of another length that are looked at for one batch


class QueueFullError(NmtError):
    """Too much is waiting.

    Attributes:
        retry_after: Seconds until it is worth another try.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests are waiting; try again in {retry_after} s")
        self.retry_after = retry_after


@dataclass
class _Request:
    """The texts that one client waits for."""

    arrived: float
    results: list[Any]
    future: "Future[list[Any]]"
    left: int


@dataclass(order=True)
class _Job:
    """One text; the one that is due first is the smallest."""

    due: float
    number: int
    text: str = field(compare=False)
    index: int = field(compare=False)
    request: _Request = field(compare=False)


class Batcher:
    """Runs the texts of all requests through a function, in batches.

    Args:
        run: Takes texts and options, returns a result for each, in order. Called from several
            threads at a time.
        threads: Batches at a time.
        batch_characters: Most characters in a batch, the longest text counted for each.
        wait: Seconds that a free thread waits for more texts, from the arrival of the first.
        queue_characters: Most characters that wait; above that, requests are refused.
        on_batch: Told the size of each batch and its seconds.

    Attributes:
        waiting: Texts in the queue.
    """

    def __init__(
        self,
        run: Callable[[list[str], Any], Sequence[Any]],
        *,
        threads: int,
        batch_characters: int,
        wait: float,
        queue_characters: int,
        on_batch: Callable[[int, float], None] = lambda _size, _seconds: None,
    ) -> None:
        self._run = run
        self._batch_characters = batch_characters
        self._wait = wait
        self._queue_characters = queue_characters
        self._on_batch = on_batch
        self._queues: dict[Any, list[_Job]] = {}
        self._characters = 0
        self._rate = float(_CHARACTERS_PER_SECOND)
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def is_well(self) -> bool:
        """Whether every thread runs: one that a bug has ended would leave requests waiting."""
        return all(thread.is_alive() for thread in self._threads)

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        return sum(map(len, self._queues.values()))

    def submit(self, texts: Sequence[str], options: Any) -> "Future[list[Any]]":
        """Queue the texts of a request; the future gets a result for each, in order.

        Args:
            texts: At least one.
            options: Hashable; texts with the same options share a batch.

        Raises:
            QueueFullError: Too much is waiting.
        """
        future: Future[list[Any]] = Future()
        request = _Request(time.monotonic(), [None] * len(texts), future, len(texts))
        size = sum(map(_weight, texts))
        with self._changed:
            if self._characters and self._characters + size > self._queue_characters:
                raise QueueFullError(max(1, round(self._characters / self._rate)))
            self._characters += size
            due = request.arrived
            queue = self._queues.setdefault(options, [])
            for index, text in enumerate(texts):
                heapq.heappush(queue, _Job(due, next(self._numbers), text, index, request))
                due += _weight(text) / _CHARACTERS_PER_SECOND
            self._changed.notify()
        return future

    def close(self) -> None:
        """Run what waits, then end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            options, jobs = taken
            try:
                self._answer(jobs, options)
            except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
                for job in jobs:
                    if _is_awaited(job.request.future):
                        job.request.future.set_exception(error)

    def _answer(self, jobs: list[_Job], options: Any) -> None:
        """Run a batch; a request whose last text it holds gets its results."""
        if not jobs:
            return
        begun = time.monotonic()
        results = self._run([job.text for job in jobs], options)
        seconds = time.monotonic() - begun
        self._on_batch(len(jobs), seconds)
        with self._changed:
            size = sum(_weight(job.text) for job in jobs)
            self._rate += 0.1 * (size * len(self._threads) / max(seconds, 1e-4) - self._rate)
            finished = [
                job.request for job, result in zip(jobs, results, strict=True) if _keep(job, result)
            ]
        for request in finished:
            if _is_awaited(request.future):
                request.future.set_result(request.results)

    def _take(self) -> tuple[Any, list[_Job]] | None:
        """Wait for texts and return a batch of those with the same options; None at the end."""
        with self._changed:
            while True:
                while not self._characters:
                    if self._closed:
                        return None
                    self._changed.wait()
                options = min(self._queues, key=lambda known: self._queues[known][0])
                queue = self._queues[options]
                left = queue[0].request.arrived + self._wait - time.monotonic()
                if left <= 0 or self._closed or self._is_full(queue):
                    break
                self._changed.wait(left)
            jobs = self._cut(queue)
            if not queue:
                del self._queues[options]
            self._characters -= sum(_weight(job.text) for job in jobs)
            return options, [job for job in jobs if not job.request.future.cancelled()]

    def _is_full(self, queue: list[_Job]) -> bool:
        return sum(_weight(job.text) for job in queue[:64]) >= self._batch_characters

    def _cut(self, queue: list[_Job]) -> list[_Job]:
        """Take the text that is due and those of about its length out of a queue."""
        head = heapq.heappop(queue)
        longest = max(_MIN_SPREAD, _SPREAD * len(head.text))
        shortest = 0 if len(head.text) <= _MIN_SPREAD else len(head.text) / _SPREAD
        jobs, passed = [head], list[_Job]()
        widest = _weight(head.text)
        while queue and len(passed) < _MOST_PASSED:
            job = heapq.heappop(queue)
            if not shortest <= len(job.text) <= longest:
                passed.append(job)
            elif max(widest, _weight(job.text)) * (len(jobs) + 1) <= self._batch_characters:
                jobs.append(job)
                widest = max(widest, _weight(job.text))
            else:
                passed.append(job)
                break
        for job in passed:
            heapq.heappush(queue, job)
        return jobs


def _weight(text: str) -> int:
    return len(text) + 1


def _keep(job: _Job, result: Any) -> bool:
    """Put a result in its request's place; return whether that was the last one."""
    job.request.results[job.index] = result
    job.request.left -= 1
    return job.request.left == 0


def _is_awaited(future: "Future[list[Any]]") -> bool:
    """Return whether a future may be set; from then on it cannot be cancelled any more."""
    return not future.done() and future.set_running_or_notify_cancel()
