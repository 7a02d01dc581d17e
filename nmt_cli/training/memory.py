"""Out of memory: micro-batches are cut in half, so that the effective batch stays what it was."""

from collections.abc import Sequence

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.text.batches import Batch, assemble, shares
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.training.dataset import Cursor, iter_windows


def largest_batches(corpus: EncodedCorpus, config: Config) -> list[Batch]:
    """Return the micro-batches that need the most memory, of the first window that has any.

    Layers grow with the positions of a batch, attention with the square of its lengths; one batch
    may be the largest by both.
    """
    windows = iter_windows(corpus, config, Cursor(), None)
    corpus, plan, _, _ = next(window for window in windows if window.plan.num_steps)
    rows = np.diff(plan.starts)
    source = np.maximum.reduceat(corpus.source_lengths[plan.order], plan.starts[:-1]).astype(int)
    target = np.maximum.reduceat(corpus.target_lengths[plan.order], plan.starts[:-1]).astype(int)
    by_layers = rows * (source + target)
    by_attention = rows * (source**2 + target**2 + source * target)
    largest = {int(np.argmax(by_layers)), int(np.argmax(by_attention))}
    return [assemble(corpus, plan.order[plan.starts[i] : plan.starts[i + 1]]) for i in largest]


def cut(batches: Sequence[Batch], halvings: int) -> list[Batch]:
    """Return batches cut in half by rows `halvings` times; a single row cannot be cut."""
    parts = list(batches)
    for _ in range(halvings):
        parts = [half for batch in parts for half in shares(batch, 2) if len(half.source)]
    return parts
