"""Tests of `run_store.py`: what a store has of a run is always whole, and one machine's."""

import json
import shutil
import threading
import time

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import nmt_cli
from nmt_cli import stores
from nmt_cli.errors import ConfigError, TrainingError
from nmt_cli.events import Saved, Started
from nmt_cli.stores import fetched
from nmt_cli.training import run_store
from nmt_cli.training.checkpoint import Checkpoint, Checkpoints, Progress
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.run_store import RunStore

URL = "memory://bucket/runs"


@pytest.fixture(autouse=True)
def _clean(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(stores, "_PAUSES", ())
    monkeypatch.setattr(run_store, "_SIGN_S", 0.05)
    monkeypatch.setattr(run_store, "_SILENCE_S", 0.6)
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture
def machine(tmp_path):
    """A function that gives a run folder on a machine of its own."""

    def make(name: str) -> RunFolder:
        folder = RunFolder(tmp_path / name / "toy")
        folder.path.mkdir(parents=True)
        return folder

    return make


def kept(run, told=None, **options):
    told = [] if told is None else told
    return RunStore(URL, run, tell=told.append, warn=told.append, **options)


def reach(run: RunFolder, step: int, seed: int = 1) -> Saved:
    """Leave what training leaves at a step."""
    arrays = {"x": np.full(3, step, np.float32)}
    run.config.write_text(f"seed: {seed}\n")
    with run.events.open("a") as stream:
        stream.write(f'{{"step": {step}}}\n')
    run.model.mkdir(exist_ok=True)
    (run.model / "bundle.json").unlink(missing_ok=True)
    (run.model / "bundle.json").write_text(json.dumps({"step": step}))
    (run.path / "hashes.json").write_text("{}")
    run.shards.mkdir(exist_ok=True)
    (run.shards / "source.ids").write_text("much")
    path = Checkpoints(run.checkpoints, keep=2).save(
        Checkpoint(Progress(step=step), arrays, arrays, {"seed": seed})
    )
    return Saved(step, str(path))


def contents(run: RunFolder) -> dict[str, bytes]:
    files = (path for path in run.path.rglob("*") if path.is_file())
    found = {str(path.relative_to(run.path)): path.read_bytes() for path in files}
    return {name: found[name] for name in sorted(found) if not name.startswith(("shards", "hash"))}


def index() -> dict:
    return json.loads(MemoryFileSystem().cat_file("/bucket/runs/toy/nmt-run.json"))


def wait_for(what):
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_another_machine_goes_on_with_the_same_files(machine):
    first, second = machine("a"), machine("b")
    with kept(first) as store:
        for step in (10, 20, 30):
            store.follow(reach(first, step))
    assert sorted(path.name for path in first.path.iterdir() if path.name.startswith(".")) == []
    told = []
    with kept(second, told):
        assert told == [f"{URL}/toy: bringing step 30"]
        assert contents(second) == contents(first)
        assert [path.name for path in Checkpoints(second.checkpoints, 2).paths()] == [
            "step-00000020",
            "step-00000030",
        ]
    assert not MemoryFileSystem().exists("/bucket/runs/toy/lock.json")


def test_what_the_folder_has_more_of_is_kept(machine):
    first, second = machine("a"), machine("b")
    with kept(first) as store:
        store.follow(reach(first, 10))
    reach(second, 20)
    before = contents(second)
    with kept(second):
        assert contents(second) == before
    assert index()["step"] == 20


def test_an_upload_that_was_cut_is_not_taken(machine, monkeypatch):
    first, second = machine("a"), machine("b")
    with kept(first) as store:
        store.follow(reach(first, 10))
    before, write = contents(first), stores.Store.write

    def cut(self, name, content):
        if name == stores.INDEX:
            raise TrainingError("cut")
        write(self, name, content)

    monkeypatch.setattr(stores.Store, "write", cut)
    with pytest.raises(TrainingError, match="cut") as caught, kept(first) as store:
        store.follow(reach(first, 20))
    assert "run the same command again" in caught.value.hint
    monkeypatch.setattr(stores.Store, "write", write)
    with kept(second):
        assert contents(second) == before


def test_damage_is_named(machine):
    first = machine("a")
    with kept(first) as store:
        store.follow(reach(first, 10))
    digest, size = index()["files"]["events.jsonl"]
    MemoryFileSystem().pipe_file(f"/bucket/runs/toy/objects/{digest}", b"x" * size)
    with pytest.raises(TrainingError, match=f"{digest} is damaged"), kept(machine("b")):
        pass
    for content in (b"{", b"[]", b"{}"):
        MemoryFileSystem().pipe_file("/bucket/runs/toy/nmt-run.json", content)
        with pytest.raises(TrainingError, match=r"toy/nmt-run\.json: is damaged"):
            kept(machine(str(content))).__enter__()


def test_steps_do_not_wait_and_later_changes_do_not_matter(machine, monkeypatch):
    run, free, put = machine("a"), threading.Event(), stores.Store.put

    def slow(self, files):
        free.wait(20)
        put(self, files)

    monkeypatch.setattr(stores.Store, "put", slow)
    with kept(run) as store:
        for step in (10, 20, 30, 40):
            store.follow(reach(run, step))
        free.set()
    assert index()["step"] == 40
    second = machine("b")
    with kept(second):
        assert contents(second) == contents(run)
    objects = MemoryFileSystem().ls("/bucket/runs/toy/objects", detail=False)
    assert len(objects) <= 2 * len(index()["files"])


def test_a_store_that_fails_is_told_and_tried_again(machine, monkeypatch):
    run, told, put = machine("a"), [], MemoryFileSystem.put_file
    monkeypatch.setattr(MemoryFileSystem, "put_file", lambda *_, **__: 1 / 0)
    with kept(run, told) as store:
        store.follow(reach(run, 10))
        wait_for(lambda: store._problem)
        store.follow(Started(10, 1, "float32", [], {}))
        again = "it is tried again with the next checkpoint"
        assert told == [f"{URL}/toy: failed: division by zero; {again}"]
        monkeypatch.setattr(MemoryFileSystem, "put_file", put)
        store.follow(reach(run, 20))
        wait_for(lambda: MemoryFileSystem().exists("/bucket/runs/toy/nmt-run.json"))
    assert index()["step"] == 20


def test_a_run_that_another_machine_trains_is_refused(machine):
    with kept(machine("a")), pytest.raises(ConfigError, match=r"process \d+ on .* is training"):
        kept(machine("b")).__enter__()


def test_a_machine_that_is_gone_is_replaced_and_gives_up_when_it_comes_back(machine):
    first, told = machine("a"), []
    store = kept(first).__enter__()
    store._lock._released.set()  # it hangs
    time.sleep(0.1)
    with kept(machine("b"), told):
        assert "waiting for a sign of life" in told[0]
        store.follow(reach(first, 10))
        wait_for(lambda: store._lock.is_lost)
        with pytest.raises(TrainingError, match="another machine has taken this run"):
            store.follow(reach(first, 20))
        assert not MemoryFileSystem().exists("/bucket/runs/toy/nmt-run.json")


def test_the_same_folder_is_taken_at_once(machine):
    first, told = machine("a"), []
    store = kept(first).__enter__()
    store._lock._released.set()  # it was killed
    with kept(first, told):
        assert told == []


def test_another_run_of_the_same_name_is_refused(machine):
    first, second = machine("a"), machine("b")
    with kept(first) as store:
        store.follow(reach(first, 10))
    reach(second, 5, seed=2)
    before = contents(second)
    with pytest.raises(ConfigError, match=r"other settings than .*: seed$"), kept(second):
        pass
    assert contents(second) == before
    with kept(second, is_fresh=True) as store:
        store.follow(Started(0, 1, "float32", [], {}))
        assert not MemoryFileSystem().exists("/bucket/runs/toy/nmt-run.json")
        store.follow(reach(second, 8, seed=2))
    assert index()["step"] == 8


def test_of_a_run_commands_take_the_model(machine):
    run = machine("a")
    with kept(run) as store:
        store.follow(reach(run, 10))
    found = fetched(f"{URL}/toy")
    assert [str(p.relative_to(found)) for p in found.rglob("*") if p.is_file()] == [
        "model/bundle.json"
    ]


def test_from_python_too(toy_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = {"train.max_steps": 4, "train.eval_steps": 4, "train.checkpoint_steps": 2}

    def begin():
        return nmt_cli.train(toy_corpus / "toy.yaml", set=few, store=URL)

    list(begin())
    shutil.rmtree("runs")
    events = begin()
    assert next(event.step for event in events if isinstance(event, Started)) == 4
    events.close()
    wait_for(lambda: not MemoryFileSystem().exists("/bucket/runs/toy/lock.json"))
