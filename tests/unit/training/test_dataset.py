"""Tests of nmt_cli/training/dataset.py: the endless stream, and going on in its middle."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from nmt_cli.config import Config
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.training.dataset import Cursor, StepBatches, iter_steps

RANDOM = np.random.default_rng(3)
LENGTHS = RANDOM.integers(2, 12, (2, 90))


def make_corpus() -> EncodedCorpus:
    """90 examples; the first piece of each is its number (from 1), so that it can be told."""

    def side(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = [[number, *([7] * (length - 1))] for number, length in enumerate(lengths, start=1)]
        return np.concatenate(rows).astype(np.uint16), np.cumsum([0, *lengths])

    return EncodedCorpus(*side(LENGTHS[0]), *side(LENGTHS[1]))


CORPUS = make_corpus()
START = Cursor()


def make_config(accumulate_steps: int = 2, **train) -> Config:
    data = {"train": [{"file": "a.tsv"}], "dev": [{"rows": 1}]}
    train = {"tokens_per_batch": 60, "accumulate_steps": accumulate_steps, **train}
    return Config.model_validate({"name": "x", "data": data, "train": train})


def take(count: int, cursor: Cursor = START, **train) -> list[StepBatches]:
    return list(itertools.islice(iter_steps(CORPUS, make_config(**train), cursor), count))


def flat(steps: list[StepBatches]) -> list[list[list[list[int]]]]:
    return [
        [[batch.source.tolist(), batch.target.tolist()] for batch in step.micro_batches]
        for step in steps
    ]


def numbers(steps: list[StepBatches]) -> list[int]:
    return [int(row[0]) for step in steps for b in step.micro_batches for row in b.target]


def steps_of_an_epoch(**train) -> int:
    return next(n for n, step in enumerate(take(200, **train), start=1) if step.after.epoch == 1)


@pytest.mark.parametrize("accumulate_steps", [1, 2, 3])
def test_an_epoch_holds_every_example_once_and_then_the_next_begins(accumulate_steps):
    count = steps_of_an_epoch(accumulate_steps=accumulate_steps)
    steps = take(2 * count, accumulate_steps=accumulate_steps)
    first, second = numbers(steps[:count]), numbers(steps[count:])
    assert sorted(first) == list(range(1, 91))
    assert first != second
    assert len(set(second)) == len(second)


def test_source_and_target_belong_together():
    for step in take(steps_of_an_epoch()):
        for batch in step.micro_batches:
            assert batch.source[:, 0].tolist() == batch.target[:, 0].tolist()


def test_the_cursor_says_what_comes_next():
    count = steps_of_an_epoch()
    cursors = [step.after for step in take(2 * count)]
    assert cursors[: count - 1] == [Cursor(0, step) for step in range(1, count)]
    assert cursors[count - 1] == Cursor(1, 0)
    assert cursors[count] == Cursor(1, 1)


@pytest.mark.parametrize("accumulate_steps", [1, 3])
def test_going_on_from_any_cursor_equals_never_having_stopped(accumulate_steps):
    count = 2 * steps_of_an_epoch(accumulate_steps=accumulate_steps) + 3
    whole = take(count, accumulate_steps=accumulate_steps)
    for done in range(1, count):
        cursor = whole[done - 1].after
        rest = take(count - done, cursor, accumulate_steps=accumulate_steps)
        assert flat(rest) == flat(whole[done:])
        assert [step.after for step in rest] == [step.after for step in whole[done:]]


def test_a_cursor_behind_the_end_of_its_epoch_begins_the_next():
    """As when the batch size was raised between two runs."""
    assert flat(take(3, Cursor(0, 10_000))) == flat(take(3, Cursor(1, 0)))


def test_each_seed_has_its_stream():
    def stream(seed: int) -> list[StepBatches]:
        config = make_config().model_copy(update={"seed": seed})
        return list(itertools.islice(iter_steps(CORPUS, config, Cursor()), 5))

    assert flat(stream(1)) == flat(stream(1)) == flat(take(5))
    assert flat(stream(1)) != flat(stream(2))


def test_examples_beyond_the_models_length_are_left_out():
    config = make_config()
    short = config.model_copy(update={"model": config.model.model_copy(update={"max_length": 8})})
    steps = itertools.islice(iter_steps(CORPUS, short, Cursor()), 50)
    longest = max(max(b.source.shape[1], b.target.shape[1]) for s in steps for b in s.micro_batches)
    assert longest == 8


def test_no_tensorflow_is_imported():
    code = "import sys, nmt_cli.training.dataset; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
