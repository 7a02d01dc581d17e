"""The stream of effective batches from any point of training on; the position is two numbers."""

from collections.abc import Iterator
from typing import NamedTuple

from nmt_cli.config import Config
from nmt_cli.text.batches import Batch, assemble, plan_epoch
from nmt_cli.text.shards import EncodedCorpus


class Cursor(NamedTuple):
    """Where training is in the data: the next effective batch.

    Attributes:
        epoch: From 0.
        step: Effective batch within the epoch, from 0.
    """

    epoch: int = 0
    step: int = 0


class StepBatches(NamedTuple):
    """One effective batch.

    Attributes:
        micro_batches: Its parts, whose gradients are added up.
        after: The cursor once it is done.
    """

    micro_batches: list[Batch]
    after: Cursor


def iter_steps(corpus: EncodedCorpus, config: Config, cursor: Cursor) -> Iterator[StepBatches]:
    """Yield effective batches without end, beginning at the cursor."""
    epoch, first = cursor
    while True:
        plan = plan_epoch(
            corpus,
            tokens_per_batch=config.train.tokens_per_batch,
            accumulate_steps=config.train.accumulate_steps,
            max_length=config.model.max_length,
            seed=config.seed,
            epoch=epoch,
        )
        for step in range(first, plan.num_steps):
            after = Cursor(epoch, step + 1) if step + 1 < plan.num_steps else Cursor(epoch + 1, 0)
            yield StepBatches([assemble(corpus, i) for i in plan.micro_batches(step)], after)
        epoch, first = epoch + 1, 0
