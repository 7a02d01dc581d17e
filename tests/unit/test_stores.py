"""Tests of `stores.py` on fsspec's store in memory, and on one that fails now and then."""

import json
import sys
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from nmt_cli import stores
from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError, DataError, ModelFileError
from nmt_cli.stores import Store, fetched, is_url, written
from nmt_cli.text.corpus import Corpora


class Flaky(MemoryFileSystem):
    """Fails at every third thing that it is asked to do."""

    protocol = "flaky"
    store, pseudo_dirs, asked = {}, [""], 0

    @classmethod
    def _strip_protocol(cls, path):
        return MemoryFileSystem._strip_protocol(str(path).replace("flaky://", "memory://"))

    @classmethod
    def fail(cls):
        cls.asked += 1
        if cls.asked % 3 == 1:
            raise OSError("connection reset by peer\nand more")

    def get_file(self, *args, **kwargs):
        self.fail()
        return super().get_file(*args, **kwargs)

    def put_file(self, *args, **kwargs):
        self.fail()
        return super().put_file(*args, **kwargs)

    def cat_file(self, *args, **kwargs):
        self.fail()
        return super().cat_file(*args, **kwargs)


@pytest.fixture(autouse=True)
def _clean(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(stores, "_PAUSES", (0.0, 0.0))
    Flaky.asked = 0  # each test sees the same failures, whatever ran before it
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    for kind in (MemoryFileSystem, Flaky):
        kind.store.clear()
        kind.pseudo_dirs[:] = [""]


@pytest.fixture(params=["memory", "flaky"])
def base(request):
    """The URL of a folder with two texts and one below."""
    store = fsspec.filesystem("memory" if request.param == "memory" else "flaky")
    for name in ("a.txt", "b.txt", "more/c.txt"):
        store.pipe_file(f"/bucket/in/{name}", name.encode())
    return f"{request.param}://bucket/in"


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_url_is_told_from_a_file():
    assert [is_url(name) for name in ("s3://b/x", "out/x", "-", None)] == [
        True,
        False,
        False,
        False,
    ]


def test_objects_folders_and_patterns_are_fetched(base):
    assert fetched(f"{base}/a.txt").read_text() == "a.txt"
    assert fetched(f"{base}/a.txt").name == "a.txt"
    assert names(fetched(base)) == names(fetched(f"{base}/")) == ["a.txt", "b.txt", "more/c.txt"]
    pattern = fetched(f"{base}/*.txt")
    assert pattern.name == "*.txt"
    assert sorted(path.name for path in pattern.parent.glob(pattern.name)) == ["a.txt", "b.txt"]


def test_a_glossary_comes_from_the_store_of_the_text(base):
    corpora = [{"source": "a.txt", "target": "b.txt"}]
    data = {"dir": base, "train": corpora, "dev": corpora, "glossary": "more/c.txt"}
    found = Corpora(Config.model_validate({"name": "x", "data": data}), Path(base))
    assert found.glossary.read_text() == "more/c.txt"
    assert [file.read_text() for file in found.files("train")] == ["a.txt", "b.txt", "more/c.txt"]


def test_what_is_there_is_not_fetched_again_until_it_changes(base, monkeypatch):
    first = fetched(f"{base}/a.txt")
    monkeypatch.setattr(Store, "get", lambda *_: pytest.fail("fetched again"))
    assert fetched(f"{base}/a.txt") == first
    monkeypatch.undo()
    store, path = fsspec.url_to_fs(f"{base}/a.txt")
    store.pipe_file(path, b"other")
    assert fetched(f"{base}/a.txt").read_text() == "other"


def test_what_is_cut_is_not_kept(base, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    whole = MemoryFileSystem.get_file

    def cut(self, source, target, **more):
        whole(self, source, target, **more)
        if source.endswith("b.txt"):
            with Path(target).open("r+b") as stream:
                stream.truncate(1)

    monkeypatch.setattr(MemoryFileSystem, "get_file", cut)
    with pytest.raises(DataError, match=r"b\.txt changed while it was read"):
        fetched(base)
    monkeypatch.setattr(MemoryFileSystem, "get_file", whole)
    assert (fetched(base) / "b.txt").read_text() == "b.txt"


@pytest.mark.parametrize("name", ["model/../../x", "/x"])
def test_what_leads_out_of_the_copy_is_refused(name):
    index = {"step": 1, "settings": {}, "files": {name: ["0", 1]}}
    MemoryFileSystem().pipe_file("/run/nmt-run.json", json.dumps(index).encode())
    with pytest.raises(ModelFileError, match="names that lead out of it"):
        fetched("memory://run", ModelFileError)


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("memory://bucket/none", "memory://bucket/none: there is no such object", None),
        ("memory://bucket/none*", r"memory://bucket/none\*: there is no such object", None),
        ("nothing://x/y", "nothing://x/y: Protocol not known: nothing", "s3fs"),
        ("ftp://me:secret@host/x", "must not have credentials", "environment"),
        ("bucket/x", "bucket/x: give a URL, such as s3://", None),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line(url, message, hint):
    with pytest.raises((DataError, ConfigError), match=message) as caught:
        fetched(url)
    assert "secret" not in str(caught.value)
    assert hint is None or hint in caught.value.hint


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ConfigError, match="Install s3fs") as caught:
        fetched("s3://bucket/x")
    assert "pip install s3fs" in caught.value.hint
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ConfigError, match="needs fsspec") as caught:
        fetched("s3://bucket/x")
    assert "nmt-cli[stores]" in caught.value.hint


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError("forbidden"), "memory://bucket: access is denied"),
        (RuntimeError("no route\nto host"), "memory://bucket: failed: no route$"),
    ],
)
def test_errors_of_a_library_name_the_url(error, message, monkeypatch):
    def find(*_, **__):
        raise error

    monkeypatch.setattr(MemoryFileSystem, "find", find)
    with pytest.raises(DataError, match=message):
        fetched("memory://bucket")


def test_an_output_is_put_when_it_is_whole(base):
    store, path = fsspec.url_to_fs(f"{base}/out.de")
    with written(f"{base}/out.de") as here:
        Path(here).write_text("rot")
        assert not store.exists(path)
    assert MemoryFileSystem.cat_file(store, path) == b"rot"
    with (
        pytest.raises(DataError, match=rf"^{base}/out\.de: wrong$"),
        written(f"{base}/out.de") as here,
    ):
        raise DataError(f"{here}: wrong")
    assert MemoryFileSystem.cat_file(store, path) == b"rot"
    with written("some.txt") as here:
        assert here == "some.txt"


def test_the_record_of_a_part_is_put_last(monkeypatch):
    put, order = Store.put, []
    monkeypatch.setattr(Store, "put", lambda s, files: (order.extend(files), put(s, files)))
    for number in (1, 2):
        with written("memory://bucket/out", f"{number}-of-2*") as here:
            folder = Path(f"{here}.parts")
            folder.mkdir(exist_ok=True)
            for ending in ("", ".json"):
                (folder / f"{number}-of-2{ending}").write_text("x")
    assert order == [f"out.parts/{n}-of-2{ending}" for n in (1, 2) for ending in ("", ".json")]
    with written("memory://bucket/out", "*") as here:
        assert len(names(Path(here).parent)) == 4
    assert len(order) == 4


def test_what_cannot_be_put_stays_on_the_disk(monkeypatch):
    def put_file(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)
    problem = pytest.raises(DataError, match="memory://bucket: failed: no network")
    with problem as caught, written("memory://bucket/out") as here:
        Path(here).write_text("rot")
    folder = Path(caught.value.hint.split()[-1])
    assert (folder / "out").read_text() == "rot"


@pytest.mark.parametrize("call", ["put_file", "pipe_file"])
def test_in_a_folder_half_of_a_file_is_never_seen(tmp_path, monkeypatch, call):
    def half(_, first, second, **__):
        path = first if call == "pipe_file" else second
        Path(path).write_bytes(b"ne")
        raise KeyboardInterrupt

    store, file = Store(f"file://{tmp_path}/store", DataError), tmp_path / "new"
    file.write_bytes(b"new")
    store.write("index", b"old")
    monkeypatch.setattr(LocalFileSystem, call, half)
    with pytest.raises(KeyboardInterrupt):
        store.put({"index": file}) if call == "put_file" else store.write("index", b"new")
    assert store.read("index") == b"old"
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["index"]


def test_what_a_killed_process_left_in_a_folder_is_not_copied(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "a.en").write_bytes(b"dog")
    (store / ".b.en.writing-1").write_bytes(b"ca")
    assert [path.name for path in fetched(f"file://{store}").iterdir()] == ["a.en"]


def test_only_one_creates():
    store = Store("memory://bucket", DataError)
    assert store.create("lock", b"1")
    assert store.create("lock", b"1")  # its own, of which it did not hear
    assert not store.create("lock", b"2")
    store.delete("lock", "none")
    assert store.create("lock", b"2")


def test_a_call_within_another_fails_once(monkeypatch):
    asked = []

    def fail(*_, **__):
        asked.append(1)
        raise RuntimeError("no network")

    for name in ("pipe_file", "cat_file"):
        monkeypatch.setattr(MemoryFileSystem, name, fail)
    with pytest.raises(DataError, match=r"^memory://bucket: failed: no network$"):
        Store("memory://bucket", DataError).create("lock", b"1")
    assert len(asked) == 4


def test_a_folder_without_a_model_is_not_copied(base, monkeypatch):
    monkeypatch.setattr(Store, "get", lambda *_: pytest.fail("copied"))
    with pytest.raises(ModelFileError, match=f"^{base}: contains no model") as caught:
        fetched(base, ModelFileError, is_model=True)
    assert "that of a run" in caught.value.hint
