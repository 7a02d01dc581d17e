"""The training loop on the toy corpus: its events, its files, and going on after a stop."""

import contextlib
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_cli.bundle.folder import PLAIN_FORMAT, open_bundle
from nmt_cli.config.reading import load_config
from nmt_cli.errors import TrainingError
from nmt_cli.evaluation.scores import corpus_scores
from nmt_cli.events import Evaluated, Finished, Saved, Started, StepDone
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.search.ctranslate2_engine import CTranslate2Engine
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.training import checkpoint, chief
from nmt_cli.training.loop import train
from nmt_cli.training.run import Prepared, prepare

quiet_tensorflow()

# A model that learns nothing worth knowing, quickly: one greedy graph, no test corpus.
SMALL = (
    "data.test=[]",
    "model.d_model=16",
    "model.d_ff=16",
    "model.max_length=20",
    "train.max_steps=12",
    "train.tokens_per_batch=300",
    "train.eval_steps=4",
    "train.checkpoint_steps=4",
    "train.average_checkpoints=2",
    "decode.beam_size=1",
    "decode.max_length=6",
)


def names(events) -> list[str]:
    return [type(event).__name__ for event in events]


def logged(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


# --- a whole run ----------------------------------------------------------------------------------


def test_a_finished_run_leaves_what_it_promises(toy_bundle):
    run = toy_bundle.parent
    folders = {path.name for path in run.iterdir()}
    assert {"config.yaml", "events.jsonl", "checkpoints", "model", "shards"} <= folders
    assert [path.name for path in sorted((run / "checkpoints").iterdir())] == [
        "step-00000150",  # one of the best; only two were evaluated
        "step-00000250",
        "step-00000275",
        "step-00000300",
    ]
    assert load_config(str(run / "config.yaml")).config.name == "toy"
    bundle = open_bundle(toy_bundle)
    bundle.verify()
    assert bundle.manifest.training["finished_step"] == 300
    assert bundle.manifest.training["pairs"] == 1500
    for split in ("dev", "test"):
        assert bundle.manifest.scores[split]["bleu"]["score"] > 90
        assert "tok:13a" in bundle.manifest.scores[split]["bleu"]["signature"]


def test_events_come_in_order_and_are_logged(toy_bundle):
    events = logged(toy_bundle.parent)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "Started"
    assert kinds[-1] == "Finished"
    told = [e["step"] for e in events if e["event"] != "Saved"]  # that comes when it is on disk
    assert told == sorted(told)
    steps = [e for e in events if e["event"] == "StepDone"]
    assert [e["step"] for e in steps] == list(range(10, 301, 10))
    assert steps[-1]["loss"] < steps[0]["loss"] / 2
    assert [e["step"] for e in events if e["event"] == "Saved"] == list(range(25, 301, 25))
    evaluated = [e for e in events if e["event"] == "Evaluated"]
    assert [(e["step"], e["label"]) for e in evaluated] == [
        (150, "dev"),
        (300, "dev"),
        (300, "dev, average of the last 3 checkpoints"),
        (300, "dev, average of the best 2 checkpoints"),
    ]
    assert all(len(e["samples"]) == 4 for e in evaluated)
    assert set(evaluated[0]["samples"][0]) == {"source", "output", "reference"}
    finished = events[-1]
    assert finished["reason"] == "train.max_steps (300) reached"
    assert finished["scores"]["bleu"]["score"] > 90
    for step in steps:
        assert 0 <= step["padding"] < 1
        assert step["num_tokens"] > 0
        assert step["seconds"] > 0


def test_the_learning_rate_of_each_step_is_the_schedules(toy_bundle):
    steps = [e for e in logged(toy_bundle.parent) if e["event"] == "StepDone"]
    assert steps[4]["learning_rate"] == 5e-3  # step 50, where the warm-up ends
    assert steps[-1]["learning_rate"] == pytest.approx(5e-3 * (50 / 300) ** 0.5)


def test_a_finished_run_that_is_run_again_trains_no_more(
    toy_bundle, toy_corpus, tmp_path, monkeypatch
):
    shutil.copytree(toy_bundle.parents[2], tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    before = (Path("runs/toy/model/model.safetensors")).read_bytes()
    loaded = load_config(str(toy_corpus / "toy.yaml"))
    prepared = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)

    events = list(train(prepared))

    assert names(events) == ["Started", "Finished"]
    assert events[0].step == 300
    assert events[-1].scores["bleu"].score > 90  # told again, not computed again
    assert Path("runs/toy/model/model.safetensors").read_bytes() == before


# --- going on -------------------------------------------------------------------------------------

# Everything random at once: three kinds of dropout, hidden tokens, and two micro-batches a step.
# Evaluations and checkpoints at different steps; an epoch has about thirty steps. As a chat model,
# because that is chosen by its loss, which differs at each evaluation even when the model can do
# nothing yet.
RESUME = (
    "task=chat",
    "train.consistency=simcut",
    "model.dropout=0.1",
    "model.attention_dropout=0.1",
    "model.activation_dropout=0.1",
    "train.accumulate_steps=2",
    "train.lanes=2",
    "train.tokens_per_batch=500",
    "train.max_steps=14",
    "train.eval_steps=3",
    "train.checkpoint_steps=4",
    "train.keep_checkpoints=4",
    "train.average_checkpoints=4",
    "train.average_decay=0.9",
    "train.learning_rate=2e-2",
    "train.warmup_steps=4",
)


@pytest.fixture(scope="module")
def resumed_and_not(toy_corpus, tmp_path_factory) -> tuple[Path, Path, list[list]]:
    """Two run folders of the same configuration, and the events of each session of the second.

    The first ran at one go. The second was stopped after step 6, then killed after step 10 (its
    last two steps are lost), then ran to the end; each time with new objects.
    """
    patch = pytest.MonkeyPatch()
    folders, sessions = [], []

    def session():
        loaded = load_config(str(toy_corpus / "toy.yaml"), [*SMALL, *RESUME])
        return prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)

    for name in ("at-one-go", "in-three"):
        folder = tmp_path_factory.mktemp(name)
        patch.chdir(folder)
        if name == "in-three":
            first = []
            for event in train(session(), lambda events=first: events[-1].step == 6):
                first.append(event)
            second = []
            killed = train(session())
            for event in killed:
                second.append(event)
                if isinstance(event, StepDone) and event.step == 10:
                    killed.close()
                    break
            sessions = [first, second]
        sessions.append(list(train(session())))
        folders.append(folder / "runs" / "toy")
    patch.undo()
    return folders[0], folders[1], sessions


def test_a_stopped_run_saves_and_says_so(resumed_and_not):
    _, _, (first, _, _) = resumed_and_not
    assert isinstance(first[-1], Finished)
    assert (first[-1].step, first[-1].reason, first[-1].bundle) == (6, "stopped", None)
    assert isinstance(first[-2], Saved)
    assert first[-2].step == 6


def test_a_run_goes_on_at_the_exact_batch(resumed_and_not):
    _, _, (_, second, third) = resumed_and_not
    assert isinstance(second[0], Started)
    assert second[0].step == 6
    assert isinstance(second[1], Evaluated)  # due at step 6, but the stop came first
    assert second[1].step == 6
    assert isinstance(second[2], StepDone)
    assert (second[2].step, second[2].epoch) == (7, 0)  # within the epoch, not at its end
    assert third[0].step == 8  # what was done after the last checkpoint is done again
    assert third[1].step == 9


def test_a_resumed_run_ends_with_the_same_state_bit_for_bit(resumed_and_not):
    whole, resumed, _ = resumed_and_not
    checkpoints = [sorted((run / "checkpoints").iterdir()) for run in (whole, resumed)]
    assert [p.name for p in checkpoints[0]] == [p.name for p in checkpoints[1]]
    assert [p.name for p in checkpoints[0]] == [f"step-{n:08d}" for n in (4, 8, 12, 14)]
    for one, other in zip(*checkpoints, strict=True):
        for file in ("weights.safetensors", "optimizer.safetensors"):
            arrays, arrays_again = load_file(one / file), load_file(other / file)
            assert arrays.keys() == arrays_again.keys()
            for name, array in arrays.items():
                np.testing.assert_array_equal(array, arrays_again[name], err_msg=name)
        state, state_again = (json.loads((p / "state.json").read_text()) for p in (one, other))
        for each in (state, state_again):
            assert each["progress"].pop("seconds") > 0
            assert each["progress"].pop("log_bytes") > 0
            assert each.pop("own_sha256")  # of these, too
        assert state == state_again
        assert state["progress"]["best_score"] < 0


def test_a_resumed_run_ends_with_the_same_bundle(resumed_and_not):
    """The average of the last checkpoints too: that of the stop at step 6 has no part in it."""
    whole, resumed, _ = resumed_and_not
    manifests = []
    for run in (whole, resumed):
        bundle = open_bundle(run / "model")
        manifests.append((bundle.manifest.files["model.safetensors"], bundle.manifest.scores))
    assert manifests[0] == manifests[1]


def test_a_resumed_run_has_the_same_log(resumed_and_not):
    """Steps and scores are there once each, with equal numbers; times aside."""
    logs = []
    for run in resumed_and_not[:2]:
        kept = [e for e in logged(run) if e["event"] in ("StepDone", "Evaluated")]
        for event in kept:
            event.pop("seconds", None)
        logs.append(kept)
    assert logs[0] == logs[1]
    evaluated = [e for e in logs[0] if e["event"] == "Evaluated"]
    assert [e["step"] for e in evaluated] == [3, 6, 9, 12, 14, 14, 14, 14]
    assert len({e["score"] for e in evaluated}) == 8


def test_dropout_was_on_in_these_runs(resumed_and_not, prepare_run):
    """Without it the first step has another loss: the equality above is no accident."""
    _, _, (first, _, _) = resumed_and_not
    still = [f"model.{kind}=0.0" for kind in ("dropout", "attention_dropout", "activation_dropout")]
    events = train(prepare_run(*RESUME, *still))
    assert isinstance(next(events), Started)
    assert next(events).loss != first[1].loss


def test_a_chat_model_is_chosen_by_its_loss(resumed_and_not):
    """A reply has no single reference, so there is no score to show but there are samples."""
    whole, _, sessions = resumed_and_not
    evaluated = [e for session in sessions for e in session if isinstance(e, Evaluated)]
    assert all(event.scores == {} for event in evaluated)
    assert all(event.score == -event.dev_loss for event in evaluated)
    assert all(event.is_best for event in evaluated[:2])
    assert evaluated[0].samples[0].source
    best = open_bundle(whole / "model").manifest
    assert best.task == "chat"
    assert best.training["dev_loss"] == min(
        e["dev_loss"] for e in logged(whole) if e["event"] == "Evaluated"
    )


# --- what may have happened in between ------------------------------------------------------------


@pytest.fixture
def stopped_run(resumed_and_not, tmp_path, prepare_run) -> Callable[..., Prepared]:
    """A function that prepares the finished run of `RESUME` again, with changes."""
    shutil.copytree(resumed_and_not[0].parent, tmp_path / "runs")

    def again(*overrides: str, **options: bool) -> Prepared:
        return prepare_run(*RESUME, *overrides, **options)

    return again


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_is_used(stopped_run):
    weights = Path("runs/toy/checkpoints/step-00000014/weights.safetensors")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)

    events = train(stopped_run())

    started = next(events)
    assert started.step == 12
    (warning,) = started.warnings
    assert "step-00000014: damaged" in warning


@pytest.mark.parametrize("lost", ["model", "model/tokenizer.json"])
def test_a_run_whose_model_is_lost_keeps_the_best_from_there_on(stopped_run, lost):
    lost = Path("runs/toy", lost)
    shutil.rmtree(lost) if lost.is_dir() else lost.write_text("{}")

    started, *_, finished = train(stopped_run())

    (warning,) = started.warnings
    assert "the best model so far is lost" in warning
    assert (started.step, finished.step) == (14, 14)
    bundle = open_bundle(Path("runs/toy/model"))
    bundle.verify()
    assert bundle.manifest.training["finished_step"] == 14


def test_a_fresh_start_deletes_nothing_before_training_begins(stopped_run):
    made = [Path("runs/toy", name) for name in ("checkpoints", "model", "events.jsonl")]
    prepared = stopped_run("train.learning_rate=1e-3", is_fresh=True)
    assert all(path.exists() for path in made)
    events = train(prepared)
    assert next(events).step == 0
    assert not any(path.exists() for path in made[:2])
    assert [event["event"] for event in logged(Path("runs/toy"))] == ["Started"]


def test_settings_that_may_change_let_a_run_go_on(stopped_run):
    changes = ("train.max_steps=15", "train.patience=99", "decode.beam_size=2", "data.test=[]")
    assert next(train(stopped_run(*changes))).step == 14


# --- writing while training goes on ---------------------------------------------------------------


@pytest.fixture
def slow_writes(monkeypatch) -> threading.Event:
    """Checkpoints wait, in the writer's thread, until the event is set."""
    may_write, save = threading.Event(), checkpoint.Checkpoints.save

    def patiently(*args, **kwargs):
        assert may_write.wait(timeout=60)
        return save(*args, **kwargs)

    monkeypatch.setattr(checkpoint.Checkpoints, "save", patiently)
    return may_write


def test_training_goes_on_while_a_checkpoint_is_written(prepare_run, slow_writes):
    """What is written is the state of its step, not of the step at which it was written."""
    slow_writes.set()
    whole = list(train(prepare_run("name=whole")))
    slow_writes.clear()
    events, seen = train(prepare_run()), []
    for event in events:
        seen.append(event)
        if isinstance(event, StepDone) and event.step == 6:
            slow_writes.set()
            break
    assert Saved not in map(type, seen)  # step 4's is being written
    seen += events
    assert [e.step for e in seen if isinstance(e, Saved)] == [4, 8, 12]
    losses = [[e.loss for e in each if isinstance(e, StepDone)] for each in (whole, seen)]
    assert losses[0] == losses[1]
    for step in (4, 8, 12):
        one, other = (
            load_file(f"runs/{name}/checkpoints/step-{step:08d}/weights.safetensors")
            for name in ("whole", "toy")
        )
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name])


def test_a_stop_waits_for_what_is_being_written(prepare_run, slow_writes):
    asked = []

    def stop() -> bool:
        asked.append(True)
        if len(asked) == 6:  # before the first step, and after each
            threading.Timer(0.2, slow_writes.set).start()
        return len(asked) >= 6

    events = list(train(prepare_run("train.eval_steps=100"), stop))
    assert [(type(e).__name__, e.step) for e in events[-3:]] == [
        ("Saved", 4),
        ("Saved", 5),
        ("Finished", 5),
    ]
    assert Path("runs/toy/checkpoints/step-00000005-stopped").is_dir()


def test_a_stop_during_the_last_scoring_leaves_it_to_the_next_session(prepare_run):
    """And one during an evaluation on dev is in `RESUME` above."""
    last = "data.test=[{source: test.en, target: test.de}]"
    events = []
    # The dev texts make one batch; it is decoded at each evaluation, then comes the test text.
    for event in train(prepare_run(last), lambda: names(events).count("Evaluated") == 4):
        events.append(event)
    assert names(events)[-2:] == ["Evaluated", "Finished"]
    assert events[-1].reason == "stopped"
    assert "finished_step" not in open_bundle(Path("runs/toy/model")).manifest.training
    again = list(train(prepare_run(last)))
    assert names(again)[:2] == ["Started", "Evaluated"]
    assert again[1] == events[-2]
    assert again[-1].scores
    evaluated = [e["label"] for e in logged(Path("runs/toy")) if e["event"] == "Evaluated"]
    assert evaluated == ["dev"] * 3 + ["dev, average of the last 2 checkpoints"]


def test_the_last_scores_are_of_what_translating_gives(prepare_run):
    """Also of a model that rarely ends, whose outputs on dev are kept short."""
    test_text = "data.test=[{source: test.en, target: test.de}]"
    longer = ("train.max_steps=30", "train.warmup_steps=10")
    prepared = prepare_run(test_text, *longer, "model.max_length=90", "decode.max_length=80")
    *_, finished = train(prepared)
    bundle = open_bundle(prepared.folder.model)
    engine = CTranslate2Engine(
        bundle.ctranslate2_folder(PLAIN_FORMAT), prepared.vocabularies, max_length=90
    )
    options = SearchOptions.from_mapping(bundle.manifest.decode)
    examples = list(prepared.corpora.iter_split("test"))
    sources = [example.source[0] for example in examples]
    found = Translator(engine, prepared.vocabularies).translate(sources, options)
    outputs = [translation.hypotheses[0].text for translation in found]
    assert max(len(prepared.vocabularies.target.encode(text)) for text in outputs) > 60
    references = [example.target for example in examples]
    assert finished.scores["chrf"].score > 0
    assert finished.scores == corpus_scores(outputs, references, "de")


def test_a_checkpoint_folder_that_goes_away_is_made_again(prepare_run):
    events = train(prepare_run())
    while not isinstance(next(events), Saved):
        pass
    shutil.rmtree("runs/toy/checkpoints")
    assert isinstance(list(events)[-1], Finished)
    left = [path.name for path in sorted(Path("runs/toy/checkpoints").iterdir())]
    assert left == ["step-00000008", "step-00000012"]


def test_a_run_folder_that_goes_away_leaves_nothing_broken(prepare_run):
    """A checkpoint that comes next makes the folder anew; any other file ends the run."""
    events = train(prepare_run())
    while not isinstance(next(events), Saved):
        pass
    shutil.rmtree("runs")
    with contextlib.suppress(TrainingError):
        list(events)
    assert isinstance(list(train(prepare_run()))[-1], Finished)


# --- ends -----------------------------------------------------------------------------------------


def test_a_full_disk_ends_training_and_the_older_checkpoint_stays(prepare_run, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    prepared = prepare_run("train.eval_steps=100", "train.checkpoint_steps=2")
    events = train(prepared)
    while not isinstance(next(events), Saved):
        pass
    with monkeypatch.context() as patch:
        patch.setattr("nmt_cli.training.checkpoint.save_file", full)
        with pytest.raises(TrainingError, match=r"step-00000004.*No space left on device"):
            list(events)
    assert [p.name for p in sorted(prepared.folder.checkpoints.iterdir())] == ["step-00000002"]
    assert next(train(prepare_run("train.eval_steps=100"))).step == 2


@pytest.mark.parametrize("last", [False, True])
def test_a_full_disk_while_the_bundle_is_written_is_told(prepare_run, monkeypatch, last):
    """At an evaluation, and at the very end."""

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    events = train(prepare_run("train.max_steps=2", "train.average_checkpoints=1"))
    if last:
        while not isinstance(next(events), Saved):
            pass
    monkeypatch.setattr(chief, "save_bundle", full)
    with pytest.raises(TrainingError, match=r"model: cannot be written.*No space left"):
        list(events)


def test_patience_ends_a_run_that_does_not_get_better(prepare_run):
    """With no rate to speak of, the second and third evaluations equal the first."""
    events = list(
        train(
            prepare_run(
                "train.learning_rate=1e-30",
                "train.eval_steps=1",
                "train.patience=2",
                "train.average_checkpoints=1",
            )
        )
    )
    evaluated = [event for event in events if isinstance(event, Evaluated)]
    assert [event.is_best for event in evaluated] == [True, False, False]
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "no better score in 2 evaluations"
    assert events[-1].step == 3
    saved = [event.step for event in events if isinstance(event, Saved)]
    assert saved == [3]  # the end is always saved


def test_a_stop_before_the_first_step_leaves_no_checkpoint(prepare_run):
    events = list(train(prepare_run(), lambda: True))
    assert names(events) == ["Started", "Finished"]
    assert not list(Path("runs/toy").glob("checkpoints/*"))


def test_a_run_that_is_over_before_its_first_evaluation_still_leaves_a_model(prepare_run):
    """Stopped at step 1 of many; then the user says that this is enough."""
    first = []
    for event in train(prepare_run("train.eval_steps=100"), lambda: "StepDone" in names(first)):
        first.append(event)
    assert names(first) == ["Started", "StepDone", "Saved", "Finished"]
    again = list(train(prepare_run("train.eval_steps=100", "train.max_steps=1")))
    assert names(again)[-1] == "Finished"
    assert open_bundle(Path("runs/toy/model")).manifest.training["finished_step"] == 1
    assert names(list(train(prepare_run("train.eval_steps=100", "train.max_steps=1")))) == [
        "Started",
        "Finished",
    ]


def test_a_log_that_cannot_be_written_ends_training(prepare_run, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    events = train(prepare_run())
    next(events)
    monkeypatch.setattr("nmt_cli.training.run_folder.EventLog.append", full)
    with pytest.raises(TrainingError, match=r"events\.jsonl: cannot be written.*No space"):
        list(events)
