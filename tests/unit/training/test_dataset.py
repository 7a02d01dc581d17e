"""Tests of nmt_cli/training/dataset.py: the endless stream, and going on in its middle."""

import dataclasses
import itertools
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest

from nmt_cli.config.schema import Config, TokenizerConfig
from nmt_cli.errors import TrainingError
from nmt_cli.text.batches import take as copy_of
from nmt_cli.text.bpe_dropout import MergeDropout
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.training.dataset import Cursor, StepBatches, check_trainable, iter_steps

RANDOM = np.random.default_rng(3)
LENGTHS = RANDOM.integers(2, 12, (2, 90))


def make_corpus() -> EncodedCorpus:
    """90 examples; the first token of each is its number (from 1), so that it can be told."""

    def side(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = [[number, *([7] * (length - 1))] for number, length in enumerate(lengths, start=1)]
        return np.concatenate(rows).astype(np.uint16), np.cumsum([0, *lengths])

    return EncodedCorpus(*side(LENGTHS[0]), *side(LENGTHS[1]))


CORPUS = make_corpus()
START = Cursor()


def make_config(accumulate_steps: int = 2, weights: tuple[float, ...] = (1.0,), **train) -> Config:
    files = [{"file": "a.tsv", "weight": weight} for weight in weights]
    train = {"tokens_per_batch": 60, "accumulate_steps": accumulate_steps, **train}
    data = {"train": files, "dev": [{"rows": 1}]}
    return Config.model_validate({"name": "x", "data": data, "train": train})


def take(count: int, cursor: Cursor = START, corpus=CORPUS, **config) -> list[StepBatches]:
    return list(itertools.islice(iter_steps(corpus, make_config(**config), cursor), count))


@pytest.fixture
def small_windows(monkeypatch):
    """An epoch of the 90 examples has five windows, and a window is copied in three blocks."""
    monkeypatch.setattr("nmt_cli.text.batches._WINDOW", 20)
    monkeypatch.setattr("nmt_cli.text.batches._BLOCK", 7)


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


@pytest.mark.usefixtures("small_windows")
def test_so_it_does_in_windows():
    test_an_epoch_holds_every_example_once_and_then_the_next_begins(2)
    steps = take(steps_of_an_epoch())
    windows = [numbers(list(of)) for _, of in itertools.groupby(steps, lambda s: s.after.window)]
    assert len(windows) == 6  # the cursor after the last step is in the first again
    for window in windows[:3]:
        assert max(window) - min(window) > 45  # each is drawn from all of the corpus


def test_source_and_target_belong_together():
    assert_they_do()


@pytest.mark.usefixtures("small_windows")
def test_source_and_target_belong_together_in_windows():
    assert_they_do()


def assert_they_do():
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


@pytest.mark.usefixtures("small_windows")
def test_going_on_in_any_window_equals_never_having_stopped():
    test_going_on_from_any_cursor_equals_never_having_stopped(2)


def test_a_checkpoint_from_before_there_were_windows_goes_on():
    assert flat(take(3, Cursor(*[1, 4]))) == flat(take(3, Cursor(1, 4, 0)))


@pytest.mark.parametrize("windows", ["one", "several"])
def test_corpora_are_mixed_by_their_weights(windows, request):
    """40 examples at 2.0, 30 at 0.5, none, and 20 at 1.0: 80 + 15 + 0 + 20 in each epoch."""
    if windows == "several":
        request.getfixturevalue("small_windows")
    corpus = dataclasses.replace(CORPUS, sizes=(40, 30, 0, 20))
    weights = (2.0, 0.5, 3.0, 1.0)
    halves = []
    for epoch in range(4):
        steps = take(200, Cursor(epoch), corpus, weights=weights)
        seen = Counter(numbers([step for step in steps if step.after <= Cursor(epoch + 1)]))
        assert {seen[n] for n in range(1, 41)} == {2}
        assert {seen[n] for n in range(71, 91)} == {1}
        assert seen.total() == 80 + 15 + 20
        halves.append({n for n in range(41, 71) if seen[n]})
    assert halves[0] | halves[1] == halves[2] | halves[3] == set(range(41, 71))
    assert halves[0] not in (halves[2], halves[3])


def test_epochs_without_a_pair_are_passed_over():
    """One of 90 pairs in every fifth epoch or so, and only one is short enough."""
    config = make_config(weights=(0.003,))
    shortest = int(np.maximum(*LENGTHS).min())
    model = config.model.model_copy(update={"max_length": shortest})
    steps = iter_steps(CORPUS, config.model_copy(update={"model": model}), START)
    fitting = set(np.flatnonzero(np.maximum(*LENGTHS) == shortest) + 1)
    assert {*numbers(list(itertools.islice(steps, 5)))} <= fitting


def test_no_usable_pair_is_told_with_the_limit():
    model = make_config().model.model_copy(update={"max_length": 2})
    config = make_config().model_copy(update={"model": model})
    longer = copy_of(CORPUS, np.flatnonzero(LENGTHS[0] > 2))
    with pytest.raises(TrainingError, match=r"longer than model\.max_length \(2 tokens\)"):
        check_trainable(longer, config)


@pytest.mark.parametrize("weights", [(0.01,), (0.02, 0.03)])
def test_weights_that_leave_an_epoch_empty_are_told(weights):
    sizes = (90,) if len(weights) == 1 else (10, 20)
    corpus = dataclasses.replace(CORPUS, sizes=sizes)
    with pytest.raises(TrainingError, match=rf"weight {max(weights)} .* none of them") as caught:
        check_trainable(corpus, make_config(weights=weights))
    assert caught.value.exit_code == 5
    assert "weight" in caught.value.hint
    check_trainable(corpus, make_config(weights=(*weights[:-1], 1.0)))


def test_what_goes_wrong_ahead_is_told():
    config = make_config(weights=(1.0, 1.0))
    broken = dataclasses.replace(CORPUS, target=None)
    with pytest.raises(TypeError):
        next(iter_steps(broken, config, START))


def test_no_thread_outlives_the_stream():
    steps = iter_steps(CORPUS, make_config(), START)
    next(steps)
    before = threading.active_count()
    steps.close()
    ends = time.monotonic() + 10
    while threading.active_count() > before - 2:
        assert time.monotonic() < ends
        time.sleep(0.02)


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


@pytest.fixture(scope="module")
def encoded() -> tuple[EncodedCorpus, Encoder]:
    """90 lines whose words can be split in several ways."""
    lines = [f"the {name}s see {name}s" for name in ("dog", "cat", "bird") for _ in range(30)]
    subwords = Subwords.train(lines, TokenizerConfig(vocab_size=300))
    rows = [[*ids, 2] for ids in subwords.encode_batch(lines)]
    side = np.concatenate(rows).astype(np.uint16), np.cumsum([0, *map(len, rows)])
    return EncodedCorpus(*side, *side), Encoder(subwords, subwords, False, None, 99)


@pytest.mark.usefixtures("small_windows")
def test_words_are_split_anew_each_epoch_and_going_on_repeats_it(encoded):
    corpus, encoder = encoded
    config = make_config()
    dropout = MergeDropout(encoder, 0.3, seed=1)

    def steps(cursor: Cursor, count: int) -> list[StepBatches]:
        return list(itertools.islice(iter_steps(corpus, config, cursor, [dropout.change]), count))

    whole = steps(START, 60)
    for done in (1, 17, 33):
        assert flat(steps(whole[done - 1].after, 60 - done)) == flat(whole[done:])
    epoch = [step for step in whole if step.after <= Cursor(1)]
    rows = [row.tolist() for step in epoch for b in step.micro_batches for row in b.target]
    texts = Counter(map(encoder.target.decode, rows))
    assert texts == Counter({f"the {name}s see {name}s": 30 for name in ("dog", "cat", "bird")})
    tokens = {tuple(row) for step in whole for b in step.micro_batches for row in b.target.tolist()}
    assert len(tokens) > 20


def test_no_tensorflow_is_imported():
    code = "import sys, nmt_cli.training.dataset; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
