"""When a step fails: losses that are not finite, and memory that runs out.

A step is skipped (Micikevicius et al. 2018, arXiv 1710.03740, section 3.2). Several in a row are
no accident: training goes back to a checkpoint and past the batches that failed (Chowdhery et al.
2022, arXiv 2204.02311, section 5.1), here with half the rate, too; a run that is killed meanwhile
does the same again. When memory runs out, micro-batches are cut in half, so that the effective
batch stays what it was.
"""

from collections.abc import Sequence

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.errors import TrainingError
from nmt_cli.text.batches import Batch, assemble, shares
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.training.checkpoint import Progress
from nmt_cli.training.dataset import Cursor, iter_windows

MAX_SKIPPED = 3  # in a row; then training goes back
MAX_ROLLBACKS = 2


def rate_factor(progress: Progress) -> float:
    """Return what the scheduled learning rate is multiplied by: halved at each rollback."""
    return float(0.5 ** len(progress.rolled_back_to))


def limit_of_rollback(progress: Progress) -> int:
    """Return the step before which to look for a checkpoint to go back to.

    That is the newest one, unless going back there helped nothing: no step was taken since.
    TrainingError: enough was tried.
    """
    tried, last_update = progress.rolled_back_to, progress.step - progress.skipped_in_a_row
    if len(tried) == MAX_ROLLBACKS:
        steps = ", then ".join(
            f"back to step {step:,} at {0.5**n:g} of the learning rate"
            for n, step in enumerate(tried, start=1)
        )
        raise TrainingError(
            f"the loss is not finite at step {progress.step:,}, {MAX_SKIPPED} times in a row, "
            f"though this was tried: {steps}",
            hint="lower train.learning_rate or raise train.warmup_steps, and start over with "
            "--fresh",
        )
    return last_update if last_update in tried else last_update + 1


def roll_back(progress: Progress, to: Progress) -> None:
    """Take the step of `to`, but the batches that come now.

    The best score stays, since the bundle that has it does.
    """
    progress.step, progress.skipped_in_a_row = to.step, 0
    progress.evaluated_step, progress.score = to.evaluated_step, to.score
    progress.rolled_back_to += (to.step,)


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
