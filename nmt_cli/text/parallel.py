"""Chunks of examples -> their ids, in order, on all cores, with a few chunks in memory at a time.

The first chunks are encoded in this process: most corpora are done before others would have
started. The rest goes to worker processes, which import no TensorFlow and end with this one.
"""

import multiprocessing
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import spawn
from typing import Any, TypeVar

from nmt_cli.errors import TrainingError
from nmt_cli.resources import available_cores

_HERE = 5  # chunks that are encoded in this process
_WAITING = 3  # chunks a worker that are encoded, or read and waiting

Chunk = TypeVar("Chunk")
Encoded = TypeVar("Encoded")

_work: Callable[..., object]  # of a worker process, set once at its start


def map_in_order(
    build: Callable[..., Callable[[Chunk], Encoded]],
    arguments: Sequence[object],
    chunks: Iterable[Chunk],
) -> Iterator[Encoded]:
    """Yield `build(*arguments)(chunk)` for each chunk; the function is built once a process.

    `build` is a function of a module, and its arguments can be pickled. Chunks are read no further
    ahead than the workers need. TrainingError: a worker process was ended from outside.
    """
    remaining, function = iter(chunks), build(*arguments)
    yield from map(function, islice(remaining, _HERE))
    for first in remaining:  # there are more
        rest = chain([first], remaining)
        if _can_start():
            yield from _in_workers(build, arguments, rest)
        else:
            yield from map(function, rest)


def _can_start() -> bool:
    """Return whether Python starts as another process."""
    command = [os.fsdecode(spawn.get_executable()), "-c", "print('here')"]
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError:
        return False
    return ran.stdout.strip() == b"here"


def _in_workers(
    build: Callable[..., Callable[[Chunk], Encoded]],
    arguments: Sequence[object],
    chunks: Iterator[Chunk],
) -> Iterator[Encoded]:
    workers = available_cores()
    context = multiprocessing.get_context("spawn")
    # Not as `initargs`: Python waits for ever for a worker that ends before it has read those, if
    # they are more than a pipe holds.
    work = context.Queue()
    for _ in range(workers):
        work.put((build, arguments))
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(work,))
    waiting: deque[Future[Encoded]] = deque()
    try:
        for chunk in chunks:
            waiting.append(_submitted(pool, chunk))
            if len(waiting) >= _WAITING * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise TrainingError(
            "a process that encodes text was killed",
            hint="is there too little memory? Run the same command again",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
        work.cancel_join_thread()  # of workers that were not needed


def _submitted(pool: ProcessPoolExecutor, chunk: Any) -> "Future[Any]":
    try:
        return pool.submit(_run, chunk)
    except OSError as error:  # its pipes were closed while it started another worker
        raise BrokenProcessPool(str(error)) from error


def _start_worker(work: "multiprocessing.Queue[Any]") -> None:
    global _work
    # The main process decides when to stop.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a worker a core is enough
    build, arguments = work.get()
    _work = build(*arguments)


def _end_with_parent() -> None:
    """Leave when the main process is gone, even if it was killed; nobody else would tell."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(chunk: Any) -> Any:
    return _work(chunk)
