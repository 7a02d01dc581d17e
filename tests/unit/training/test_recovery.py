"""Losses that are not finite, memory that is too small: a run goes on, and ends when it must."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.bundle.manifest import MANIFEST, as_text, read_manifest
from nmt_cli.errors import TrainingError
from nmt_cli.events import (
    Evaluated,
    Finished,
    MicroBatchesHalved,
    RolledBack,
    Saved,
    Skipped,
    StepDone,
)
from nmt_cli.tasks import losses
from nmt_cli.training import loop
from nmt_cli.training.checkpoint import Progress
from nmt_cli.training.loop import train
from nmt_cli.training.schedule import learning_rate

SMALL = (
    "data.test=[]",
    "model.d_model=16",
    "model.d_ff=16",
    "model.dropout=0.1",
    "train.max_steps=12",
    "train.tokens_per_batch=300",
    "train.eval_steps=100",
    "train.checkpoint_steps=4",
    "train.average_checkpoints=1",
    "decode.beam_size=1",
    "decode.max_length=6",
)


@pytest.fixture
def overflow_after(monkeypatch) -> Callable[[int, int], None]:
    """A function that says after which step, and how often, a weight becomes too large."""

    def arrange(number: int, times: int) -> None:
        take = loop._Session.step

        def one_step(session, batches):
            yield from take(session, batches)
            progress = session.state.progress
            if progress.step == number and len(progress.rolled_back_to) < times:
                weight = session.state.model.weights[0]
                weight.assign(tf.fill(weight.shape, 1e38))

        monkeypatch.setattr(loop._Session, "step", one_step)

    return arrange


def told(events, *kinds) -> list[tuple[str, int]]:
    return [(type(e).__name__, e.step) for e in events if isinstance(e, kinds)]


# --- not finite -----------------------------------------------------------------------------------


def test_three_steps_that_are_not_finite_lead_back_to_the_last_checkpoint(
    prepare_run, overflow_after
):
    overflow_after(6, times=1)
    prepared = prepare_run()
    events = list(train(prepared))

    assert told(events, StepDone, Skipped, RolledBack) == [
        *[("StepDone", n) for n in range(1, 7)],
        *[("Skipped", n) for n in (7, 8, 9)],
        ("RolledBack", 4),
        *[("StepDone", n) for n in range(5, 13)],
    ]
    (back,) = [e for e in events if isinstance(e, RolledBack)]
    assert (back.from_step, back.rate_factor) == (9, 0.5)
    for event in events[events.index(back) :]:
        if isinstance(event, StepDone):
            scheduled = learning_rate(event.step, prepared.config.train, 16)
            assert event.learning_rate == 0.5 * scheduled
    assert isinstance(events[-1], Finished)
    state = json.loads(Path("runs/toy/checkpoints/step-00000012/state.json").read_text())
    assert state["progress"]["skipped"] == 3
    assert state["progress"]["cursor"] == [0, 17, 0]  # nine batches, and eight others
    assert [e.step for e in events if isinstance(e, Saved)] == [4, 8, 12]


def test_steps_after_a_second_time_have_a_quarter_of_the_rate(prepare_run, overflow_after):
    overflow_after(6, times=2)
    prepared = prepare_run()
    steps = [e for e in train(prepared) if isinstance(e, StepDone)]
    assert [e.step for e in steps] == [*range(1, 7), 5, 6, *range(5, 13)]
    factors = [e.learning_rate / learning_rate(e.step, prepared.config.train, 16) for e in steps]
    assert factors == [1] * 6 + [0.5] * 2 + [0.25] * 8


def test_before_the_first_checkpoint_it_leads_back_to_the_start(prepare_run, overflow_after):
    overflow_after(2, times=1)
    prepared = prepare_run("train.max_steps=6", "train.checkpoint_steps=100")
    events = list(train(prepared))
    (back,) = [e for e in events if isinstance(e, RolledBack)]
    assert (back.step, back.from_step) == (0, 5)
    weights = load_file(Path("runs/toy/checkpoints/step-00000006/weights.safetensors"))
    assert all(np.abs(array).max() < 100 for array in weights.values())
    assert isinstance(events[-1], Finished)


def test_a_run_that_is_killed_meanwhile_ends_the_same(prepare_run, overflow_after):
    """Once after it went back, once among the skipped steps."""
    overflow_after(6, times=1)
    list(train(prepare_run("name=whole")))
    for kind, number in ((RolledBack, 4), (Skipped, 8)):
        events = train(prepare_run())
        for event in events:
            if isinstance(event, kind) and event.step == number:
                events.close()
                break
    events = list(train(prepare_run()))
    assert events[0].step == 4
    for file in ("weights", "optimizer"):
        one, other = (
            load_file(f"runs/{name}/checkpoints/step-00000012/{file}.safetensors")
            for name in ("whole", "toy")
        )
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name])
    logs = []
    for name in ("whole", "toy"):
        lines = map(json.loads, Path(f"runs/{name}/events.jsonl").read_text().splitlines())
        logs.append([(e["event"], e["step"]) for e in lines if e["event"] not in _TIMED])
    assert logs[0] == logs[1]
    assert ("RolledBack", 4) in logs[0]


_TIMED = ("Saved", "Started")  # one comes when it is written, one at each session


def test_a_stop_among_skipped_steps_loses_nothing(prepare_run, overflow_after):
    overflow_after(6, times=1)
    stopped: list = []
    for event in train(prepare_run(), lambda: told(stopped, Skipped)[-1:] == [("Skipped", 8)]):
        stopped.append(event)
    assert stopped[-1].reason == "stopped"
    events = list(train(prepare_run()))
    assert told(events, StepDone, Skipped, RolledBack)[:3] == [
        ("Skipped", 9),
        ("RolledBack", 4),
        ("StepDone", 5),
    ]


def test_going_back_a_third_time_ends_training_and_says_what_was_tried(prepare_run):
    """With a rate like this any weight is too large after one step, half of it or a quarter."""
    events: list = []
    with pytest.raises(TrainingError) as caught:
        events.extend(train(prepare_run("train.learning_rate=1e30", "train.warmup_steps=1")))
    assert told(events, RolledBack) == [("RolledBack", 0)] * 2
    assert [e.rate_factor for e in events if isinstance(e, RolledBack)] == [0.5, 0.25]
    assert len(told(events, Skipped)) == 9
    assert "3 times in a row" in str(caught.value)
    assert "back to step 0 at 0.5 of the learning rate" in str(caught.value)
    assert "at 0.25" in str(caught.value)
    assert "train.learning_rate" in caught.value.hint
    assert "--fresh" in caught.value.hint


def progress(step: int, in_a_row: int = 3, tried: tuple[int, ...] = ()) -> Progress:
    return Progress(step=step, skipped_in_a_row=in_a_row, rolled_back_to=tried)


def test_going_back_where_it_helped_nothing_goes_back_further():
    assert progress(9).limit_of_rollback() == 7  # a checkpoint of step 6 will do
    assert progress(9, tried=(4,)).limit_of_rollback() == 7
    assert progress(9, tried=(6,)).limit_of_rollback() == 6
    with pytest.raises(TrainingError):
        progress(9, tried=(4, 4)).limit_of_rollback()


def test_progress_is_counted():
    back = Progress(step=5, skipped=3, skipped_in_a_row=2)
    assert back.rate_factor == 1.0
    back.roll_back(Progress(step=4))
    assert (back.step, back.skipped, back.skipped_in_a_row) == (4, 3, 0)
    assert back.rolled_back_to == (4,)
    assert back.rate_factor == 0.5


# --- memory ---------------------------------------------------------------------------------------


@pytest.fixture
def memory_for(monkeypatch) -> Callable[[int], None]:
    """A function that says for how many rows of a micro-batch there is memory.

    More make the graph ask TensorFlow for more memory than any machine has.
    """

    def arrange(rows: int) -> None:
        real = losses.loss_sums

        def loss_sums(model, source, *others, **options):
            count = tf.cast(tf.shape(source)[0], tf.int64)
            nothing = tf.cond(
                count > rows,
                lambda: tf.reduce_sum(tf.fill([count * 2**40], 0.0)),
                lambda: tf.constant(0.0),
            )
            sums = real(model, source, *others, **options)
            return sums._replace(smoothed=sums.smoothed + nothing)

        monkeypatch.setattr(losses, "loss_sums", loss_sums)

    return arrange


def test_micro_batches_are_halved_until_they_fit_and_the_batch_stays_the_same(
    prepare_run, memory_for
):
    still = ("model.dropout=0.0", "train.max_steps=4")
    whole = [e for e in train(prepare_run("name=whole", *still)) if isinstance(e, StepDone)]
    memory_for(40)  # at first there are about a hundred
    events = list(train(prepare_run(*still)))

    halved = [e for e in events if isinstance(e, MicroBatchesHalved)]
    assert [(e.step, e.tokens_per_micro_batch, e.accumulate_steps) for e in halved] == [
        (0, 150, 2),
        (0, 75, 4),
    ]
    steps = [e for e in events if isinstance(e, StepDone)]
    assert [e.num_tokens for e in steps] == [e.num_tokens for e in whole]
    for one, other in zip(whole, steps, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-5)  # sums in another order
        assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-4)


@pytest.mark.slow
def test_a_resumed_run_knows_what_fits(prepare_run, memory_for):
    """With dropout, whose masks depend on the micro-batch: all is equal bit for bit."""
    memory_for(40)
    list(train(prepare_run("name=whole")))
    for event in train(prepare_run()):
        if isinstance(event, StepDone) and event.step == 6:
            break
    events = list(train(prepare_run()))
    assert events[0].step == 4
    assert not [e for e in events if isinstance(e, MicroBatchesHalved)]
    one, other = (
        load_file(f"runs/{name}/checkpoints/step-00000012/weights.safetensors")
        for name in ("whole", "toy")
    )
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


@pytest.mark.slow
def test_memory_that_is_too_small_for_one_pair_ends_training(prepare_run, memory_for):
    memory_for(0)
    with pytest.raises(TrainingError, match="too little memory, even for one pair") as caught:
        list(train(prepare_run()))
    assert "model.max_length" in caught.value.hint


def test_a_finished_run_that_goes_on_keeps_its_best_model_and_its_log_whole(prepare_run):
    often = "train.eval_steps=3"
    list(train(prepare_run("train.max_steps=4", often)))
    log, model = Path("runs/toy/events.jsonl"), Path("runs/toy/model")
    finished = log.read_bytes()
    training = open_bundle(model).manifest.training
    assert training["score"] is not None

    # The bundle may be an average, better than what checkpoints know of.
    manifest = read_manifest(model / MANIFEST)
    better = replace(manifest, training=training | {"score": 1e9})
    (model / MANIFEST).write_text(as_text(better))
    before = (model / "model.safetensors").read_bytes()
    for event in (events := train(prepare_run("train.max_steps=100", often))):
        if isinstance(event, Evaluated) and event.step == 6:  # before the next checkpoint
            events.close()
    assert len(log.read_bytes()) > len(finished)
    list(train(prepare_run("train.max_steps=8", often)))
    assert log.read_bytes().startswith(finished)
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [event["step"] for event in logged if event["event"] == "Evaluated"]
    assert steps.count(6) == 1
    assert (model / "model.safetensors").read_bytes() == before
