"""Checkpoints: whole or not there, verified, pruned, averaged."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

import nmt_cli
from nmt_cli.errors import TrainingError
from nmt_cli.training.checkpoint import Checkpoint, Checkpoints, Progress, average, changed_settings
from nmt_cli.training.dataset import Cursor


def arrays(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "b.kernel": random.normal(size=(3, 4)).astype(np.float32),
        "a.bias": random.normal(size=4).astype(np.float32),
    }


def checkpoint(step: int, **facts) -> Checkpoint:
    progress = Progress(
        step=step,
        cursor=Cursor(2, step),
        best_score=12.5,
        best_step=step - 1,
        evaluations_since_best=3,
        seconds=1.25,
    )
    optimizer = {f"m.{name}": array for name, array in arrays(100 + step).items()}
    return Checkpoint(
        progress, arrays(step), optimizer, {"seed": 1, "train.max": [1, "x"]}, **facts
    )


@pytest.fixture
def store(tmp_path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints", keep=3)


def assert_same(found: Checkpoint | None, expected: Checkpoint) -> None:
    assert found is not None
    assert found.progress == expected.progress
    assert isinstance(found.progress.cursor, Cursor)
    assert found.settings == expected.settings
    assert found.is_regular == expected.is_regular
    for kind in ("weights", "optimizer"):
        one, other = getattr(found, kind), getattr(expected, kind)
        assert one.keys() == other.keys()
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name])


def names(store: Checkpoints) -> list[str]:
    return [path.name for path in store.paths()]


def scored(step: int, score: float | None, evaluated_step: int | None = None) -> Checkpoint:
    evaluated_step = step if evaluated_step is None else evaluated_step
    progress = Progress(step=step, evaluated_step=evaluated_step, score=score)
    return Checkpoint(progress, arrays(step), arrays(100 + step), {})


def test_what_is_saved_is_loaded(store):
    path = store.save(checkpoint(7))
    assert path.name == "step-00000007"
    assert {file.name for file in path.iterdir()} == {
        "weights.safetensors",
        "optimizer.safetensors",
        "state.json",
    }
    found, warnings = store.load_latest()
    assert_same(found, checkpoint(7))
    assert warnings == []


def test_progress_before_the_first_evaluation_is_kept(store):
    first = Checkpoint(Progress(step=1), arrays(1), arrays(2), {})
    store.save(first)
    found, _ = store.load_latest()
    assert found.progress.best_score is None


def test_without_a_checkpoint_there_is_none(store):
    assert store.load_latest() == (None, [])
    assert store.paths() == []


def test_the_newest_is_loaded_and_the_oldest_are_deleted(store):
    for step in (5, 9, 10, 100, 1000):
        store.save(checkpoint(step))
    assert names(store) == ["step-00000010", "step-00000100", "step-00001000"]
    assert_same(store.load_latest()[0], checkpoint(1000))


def test_one_written_at_a_stop_neither_displaces_nor_outlives_the_regular_ones(store):
    """So the average at the end is that of a run which was never stopped."""
    for step in (5, 10, 15):
        store.save(checkpoint(step))
    store.save(checkpoint(17, is_regular=False))
    assert len(names(store)) == 4
    assert_same(store.load_latest()[0], checkpoint(17, is_regular=False))
    store.save(checkpoint(18, is_regular=False))
    assert_same(store.load_latest()[0], checkpoint(18, is_regular=False))
    assert len(names(store)) == 4
    store.save(checkpoint(20))
    assert names(store) == ["step-00000010", "step-00000015", "step-00000020"]


def steps(paths) -> list[int]:
    return [int(path.name.split("-")[1]) for path in paths]


def test_the_best_stay_beside_the_last(tmp_path):
    store = Checkpoints(tmp_path / "checkpoints", keep=2, keep_best=2)
    for step, score in enumerate([5.0, 9.0, 7.0, 9.0, 1.0, 2.0], start=1):
        store.save(scored(step, score))
    assert steps(store.paths()) == [2, 4, 5, 6]
    assert steps(store.last(2)) == [5, 6]
    assert steps(store.best(2)) == [2, 4]
    assert steps(store.best(1)) == [4]  # of equal ones the later
    assert steps(store.best(9)) == [2, 4, 5, 6]
    store.save(scored(7, 8.0))
    assert steps(store.paths()) == [2, 4, 6, 7]


def test_only_what_was_evaluated_itself_is_among_the_best(tmp_path):
    store = Checkpoints(tmp_path / "checkpoints", keep=9, keep_best=2)
    store.save(scored(1, 9.0, evaluated_step=0))
    store.save(scored(2, None))
    store.save(scored(3, float("nan")))
    store.save(scored(4, 1.0))
    store.save(scored(5, 8.0))
    (store.paths()[-1] / "state.json").write_text("{")
    irregular = scored(6, 9.0)
    store.save(Checkpoint(**{**vars(irregular), "is_regular": False}))
    assert steps(store.best(9)) == [4]
    assert steps(store.last(2)) == [4, 5]


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def wrong_kind(path):
    path.write_text("[1]")


def without_a_key(path):
    state = json.loads(path.read_text())
    del state["progress"]["cursor"]
    path.write_text(json.dumps(state))


def another_step(path):
    path.write_text(path.read_text().replace('"step": 2', '"step": 3'))


def with_an_unknown_key(path):
    state = json.loads(path.read_text())
    state["progress"]["colour"] = 1
    path.write_text(json.dumps(state))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("weights.safetensors", flip_a_bit),
        ("weights.safetensors", truncate),
        ("weights.safetensors", os.remove),
        ("optimizer.safetensors", flip_a_bit),
        ("optimizer.safetensors", os.remove),
        ("state.json", truncate),
        ("state.json", os.remove),
        ("state.json", wrong_kind),
        ("state.json", without_a_key),
        ("state.json", with_an_unknown_key),
        ("state.json", another_step),
    ],
)
def test_a_damaged_one_is_set_aside_and_the_one_before_is_used(store, file, damage):
    store.save(checkpoint(1))
    path = store.save(checkpoint(2))
    damage(path / file)

    found, warnings = store.load_latest()

    assert_same(found, checkpoint(1))
    (warning,) = warnings
    assert warning.startswith(f"{path}: damaged (")
    assert warning.endswith("set aside as damaged-step-00000002")
    assert not path.exists()
    assert (path.parent / "damaged-step-00000002").is_dir()
    assert store.load_latest()[1] == []  # told once


def test_when_all_are_damaged_nothing_starts_over_by_itself(store):
    for step in (1, 2):
        flip_a_bit(store.save(checkpoint(step)) / "weights.safetensors")
    for _ in range(2):  # the second time they are already set aside
        with pytest.raises(TrainingError, match="all checkpoints are damaged") as caught:
            store.load_latest()
        assert "--fresh" in caught.value.hint


def test_one_damaged_twice_is_set_aside_twice(store):
    store.save(checkpoint(1))
    for _ in range(2):
        flip_a_bit(store.save(checkpoint(2)) / "weights.safetensors")
        assert store.load_latest()[0].progress.step == 1


def test_what_cannot_be_read_now_is_not_set_aside(store, monkeypatch):
    path = store.save(checkpoint(1))

    def broken(*_args):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("nmt_cli.training.checkpoint.load_file", broken)
    with pytest.raises(TrainingError, match="step-00000001: cannot be read: Input/output error"):
        store.load_latest()
    assert path.is_dir()


def test_what_a_killed_process_left_is_removed(store, tmp_path):
    store.save(checkpoint(1))
    leftover = tmp_path / "checkpoints" / ".step-00000002.writing-abc"
    leftover.mkdir()
    (leftover / "weights.safetensors").write_bytes(b"half")
    assert_same(store.load_latest()[0], checkpoint(1))
    assert not leftover.exists()


def full_disk(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_disk_in_rust(*_args, **_kwargs):
    raise SafetensorError("I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize(
    ("where", "failure"),
    [
        ("save_file", full_disk),
        ("save_file", full_disk_in_rust),
        ("sha256_of", full_disk),
        ("json.dumps", full_disk),
    ],
)
def test_a_full_disk_is_told_and_the_older_one_stays(store, monkeypatch, where, failure):
    store.save(checkpoint(1))
    with monkeypatch.context() as patch:
        patch.setattr(f"nmt_cli.training.checkpoint.{where}", failure)
        with pytest.raises(TrainingError, match="No space left on device") as caught:
            store.save(checkpoint(2))
    assert "step-00000002: the checkpoint cannot be written" in str(caught.value)
    assert "last checkpoint is intact" in caught.value.hint
    assert names(store) == ["step-00000001"]
    assert list(store.paths()[0].parent.glob(".*")) == []  # nothing half-written stays
    assert_same(store.load_latest()[0], checkpoint(1))
    store.save(checkpoint(2))
    assert_same(store.load_latest()[0], checkpoint(2))


def test_a_real_limit_on_file_sizes_is_told(store):
    """The kernel's own refusal, in a process of its own."""
    code = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import numpy as np
import nmt_cli
from nmt_cli.errors import TrainingError
from nmt_cli.training.checkpoint import Checkpoint, Checkpoints, Progress
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
big = {"w": np.zeros(10000, np.float32)}
try:
    Checkpoints(Path(sys.argv[1]), 3).save(Checkpoint(Progress(step=2), big, big, {}))
except TrainingError as error:
    print(error)
"""
    store.save(checkpoint(1))
    folder = store.paths()[0].parent
    root = str(Path(nmt_cli.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), root], capture_output=True, text=True, check=True
    )
    assert "the checkpoint cannot be written" in done.stdout
    assert "File too large" in done.stdout
    assert_same(store.load_latest()[0], checkpoint(1))


def test_the_average_is_that_of_numpy(store):
    for step in (1, 2, 3):
        store.save(checkpoint(step))
    for count in (1, 2, 3, 10):
        steps = [1, 2, 3][-count:]
        found = average(store.last(count))
        for name, array in found.items():
            wide = np.mean([arrays(step)[name].astype(np.float64) for step in steps], axis=0)
            np.testing.assert_array_equal(array, wide.astype(np.float32))
            assert array.dtype == np.float32


def test_a_damaged_one_has_no_part_in_an_average(store):
    """It is set aside and told, so the next run averages without it."""
    for step in (1, 2, 3):
        store.save(checkpoint(step))
    damaged = store.paths()[1]
    flip_a_bit(damaged / "weights.safetensors")
    with pytest.raises(TrainingError, match=f"{damaged.name}: damaged") as caught:
        average(store.last(3))
    assert "run the same command again" in caught.value.hint
    assert names(store) == ["step-00000001", "step-00000003"]
    assert average(store.last(3)).keys() == arrays(1).keys()


def test_a_checkpoint_of_the_same_step_is_replaced(store):
    store.save(checkpoint(1))
    changed = Checkpoint(Progress(step=1), arrays(50), arrays(51), {})
    store.save(changed)
    assert_same(store.load_latest()[0], changed)
    shutil.rmtree(store.paths()[0])


def test_changed_settings_are_named():
    before = {"seed": 1, "model.d_model": 8, "gone": 0, "same": [1]}
    now = {"seed": 2, "model.d_model": 8, "new": 0, "same": [1]}
    assert list(changed_settings(before, now)) == ["gone", "new", "seed"]
    assert list(changed_settings(before, before)) == []
