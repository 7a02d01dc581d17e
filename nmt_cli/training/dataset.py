"""The stream of effective batches from any point of training on; the position is three numbers.

Threads work ahead: one prepares the next window while this one is used up, one pads the next
batches while the device computes. What they make depends on nothing but seed and cursor.
"""

import contextlib
import operator
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.errors import TrainingError, number_of
from nmt_cli.search.glossary import Glossary
from nmt_cli.text.batches import (
    Batch,
    EpochWindows,
    WindowPlan,
    assemble,
    check_usable,
    plan_window,
    take,
)
from nmt_cli.text.bpe_dropout import MergeDropout
from nmt_cli.text.noise import Noise
from nmt_cli.text.placeholders import PlaceholderLessons
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.term_lessons import TermLessons

_STEPS_AHEAD = 4
_WAIT_S = 0.1  # how long a thread takes at most to see that nobody wants more

Item = TypeVar("Item")
# (examples of a window, epoch, window) -> the examples to learn from
Change = Callable[[EncodedCorpus, int, int], EncodedCorpus]


class Cursor(NamedTuple):
    """Where training is in the data: the next effective batch. All count from 0.

    `step` counts effective batches within the window, `window` within the epoch; a corpus below
    half a million pairs has one window.
    """

    epoch: int = 0
    step: int = 0
    window: int = 0


class StepBatches(NamedTuple):
    """One effective batch: micro-batches whose gradients are added up, and the cursor after it."""

    micro_batches: list[Batch]
    after: Cursor


class Window(NamedTuple):
    """The examples of a window, their order, and the cursors of its beginning and of the next's."""

    corpus: EncodedCorpus
    plan: WindowPlan
    start: Cursor
    after: Cursor


def check_trainable(corpus: EncodedCorpus, config: Config) -> None:
    """Raise TrainingError when no pair is short enough, or weights leave an epoch without one."""
    check_usable(corpus, config.model.max_length, "train")
    sizes = corpus.sizes or (len(corpus),)
    weights = epoch_weights(sizes, config)
    if sum(map(operator.mul, sizes, weights)) < 1.0:
        raise TrainingError(
            f"data.train has {number_of(sum(sizes), 'pair')}, but with weight {max(weights):g} "
            f"an epoch has none of them",
            hint="give one corpus a weight of 1.0; the others are relative to it",
        )


def epoch_weights(sizes: Sequence[int], config: Config) -> list[float]:
    """Return how often an epoch sees each pair of each corpus.

    With `data.temperature` T a corpus of n pairs and weight w has a share like w * n^(1/T); the
    epoch stays as long as without (Arivazhagan et al. 2019, arXiv 1907.05019, section 4.2).
    """
    weights, temperature = [c.weight for c in config.data.train], config.data.temperature
    if temperature == 1.0:
        return weights
    wanted = [w * n ** (1 / temperature) for w, n in zip(weights, sizes, strict=True)]
    length = sum(map(operator.mul, weights, sizes)) / sum(wanted)
    # Rounded, as the last bits of a power are not the same on every machine.
    return [round(length * w / n, 6) if n else 0.0 for w, n in zip(wanted, sizes, strict=True)]


def changes_of(config: Config, encoder: Encoder, glossary: Glossary | None = None) -> list[Change]:
    """Return what is changed in training text anew each epoch: first its words, then its tokens."""
    changes: list[Change] = []
    if config.data.noise:
        changes.append(Noise(encoder, config.data.noise, config.seed).change)
    if config.data.placeholders:
        changes.append(PlaceholderLessons(encoder, config.seed).change)
    if config.data.glossary:
        sides = encoder.source.normalise, encoder.target.normalise
        terms_of = glossary.normalised(*sides).shared if glossary else None
        changes.append(TermLessons(encoder, config.seed, terms_of).change)
    if rate := config.tokenizer.dropout:
        changes.append(MergeDropout(encoder, rate, config.seed).change)
    return changes


def iter_steps(
    corpus: EncodedCorpus, config: Config, cursor: Cursor, changes: Sequence[Change] = ()
) -> Iterator[StepBatches]:
    """Yield effective batches without end, beginning at the cursor.

    `changes` are made one after the other in the examples, anew each epoch.
    """
    windows = _work_ahead(iter_windows(corpus, config, cursor, changes), 1)
    return _work_ahead(_iter_steps(windows, cursor.step), _STEPS_AHEAD)


def _iter_steps(windows: Iterator[Window], first: int) -> Iterator[StepBatches]:
    for corpus, plan, start, next_window in windows:
        for step in range(first, plan.num_steps):
            is_last = step + 1 == plan.num_steps
            after = next_window if is_last else start._replace(step=step + 1)
            yield StepBatches([assemble(corpus, i) for i in plan.micro_batches(step)], after)
        first = 0


def iter_windows(
    corpus: EncodedCorpus, config: Config, cursor: Cursor, changes: Sequence[Change] = ()
) -> Iterator[Window]:
    """Yield windows without end, beginning with the cursor's."""
    epoch, _, window = cursor
    sizes = corpus.sizes or (len(corpus),)
    weights = epoch_weights(sizes, config)
    while True:
        windows = EpochWindows(sizes, weights, config.seed, epoch)
        while window < len(windows):
            is_last = window + 1 == len(windows)
            indices = windows.examples(window)
            is_whole = len(indices) == len(corpus) and (np.diff(indices) == 1).all()
            examples = corpus if is_whole else take(corpus, indices)  # a small one is there whole
            for change in changes:
                examples = change(examples, epoch, window)
            plan = plan_window(examples, config, epoch, window)
            after = Cursor(epoch + 1) if is_last else Cursor(epoch, 0, window + 1)
            yield Window(examples, plan, Cursor(epoch, 0, window), after)
            window += 1
        epoch, window = epoch + 1, 0


def largest_batches(corpus: EncodedCorpus, config: Config) -> list[Batch]:
    """Return the micro-batches that need the most memory, of the first window that has any.

    Layers grow with the positions of a batch, attention with the square of its lengths; one batch
    may be the largest by both.
    """
    windows = iter_windows(corpus, config, Cursor())
    corpus, plan, _, _ = next(window for window in windows if window.plan.num_steps)
    rows = np.diff(plan.starts)
    source = np.maximum.reduceat(corpus.source_lengths[plan.order], plan.starts[:-1]).astype(int)
    target = np.maximum.reduceat(corpus.target_lengths[plan.order], plan.starts[:-1]).astype(int)
    by_layers = rows * (source + target)
    by_attention = rows * (source**2 + target**2 + source * target)
    largest = {int(np.argmax(by_layers)), int(np.argmax(by_attention))}
    return [assemble(corpus, plan.order[plan.starts[i] : plan.starts[i + 1]]) for i in largest]


class _Failure(NamedTuple):
    """What ended a thread's iterator."""

    error: BaseException


def _work_ahead(items: Iterator[Item], count: int) -> Iterator[Item]:
    """Yield the items of an endless iterator that a thread runs, up to `count` items ahead."""
    made: queue.Queue[Item | _Failure] = queue.Queue(count)
    is_over = threading.Event()

    def put(item: Item | _Failure) -> None:
        while not is_over.is_set():
            with contextlib.suppress(queue.Full):
                made.put(item, timeout=_WAIT_S)
                return

    def run() -> None:
        try:
            for item in items:
                put(item)
                if is_over.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 (raised where the items are used)
            put(_Failure(error))

    threading.Thread(target=run, daemon=True).start()
    try:
        while True:
            item = made.get()
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        is_over.set()
