"""A training corpus encoded in shares: the bytes of one process, killed ones, parts amiss."""

import gzip
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import nmt_cli
from nmt_cli import stores
from nmt_cli.config.reading import load_config
from nmt_cli.distributed.cluster import Cluster
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.text import vocabulary_cache
from nmt_cli.training.run import prepare

CONFIG = """\
name: many
data:
  source_lang: en
  target_lang: de
  train:
    - {source: a.en, target: a.de}
    - {source: blank.en, target: blank.de}
    - {file: b.tsv.gz}
  dev: [{rows: 20}]
tokenizer: {vocab_size: 330}
"""
STORE = "runs/many/shards"
URL, THERE = "memory://bucket/runs", "/bucket/runs/many"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder, chance = tmp_path_factory.mktemp("text"), random.Random(5)

    def line():
        return " ".join(chance.choices(("red", "dog", "two", "fish", "Häuser"), k=9))

    pairs = [(line(), line() if number % 50 else " ") for number in range(900)]
    for side, name in enumerate(("en", "de")):
        lines = (pair[side] for pair in pairs[:500])
        (folder / f"a.{name}").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"blank.{name}").write_text("\n" * 3)
    with gzip.open(folder / "b.tsv.gz", "wt") as stream:
        stream.writelines("\t".join(pair) + "\n" for pair in pairs[500:])
    (folder / "many.yaml").write_text(CONFIG)
    return folder


def copy_text(text: Path, folder: Path) -> None:
    shutil.copytree(text, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs"))


@pytest.fixture
def run(text, tmp_path, monkeypatch):
    """A copy of the text in an empty working folder, where there is a vocabulary."""
    copy_text(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    nmt_cli.tokenize("many.yaml")
    return tmp_path


@pytest.fixture(scope="module")
def whole(text):
    """What is on the disk when one process encoded it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(text)
        nmt_cli.encode("many.yaml")
    return stored(text)


def stored(folder: Path) -> dict[str, bytes]:
    files = (file for file in (folder / STORE).rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(files)}


def encode_all(total: int, *, but: int = 0) -> Path:
    """Encode all shares in random order; return the folder of the parts."""
    numbers = [number for number in range(1, total + 1) if number != but]
    for number in random.Random(total).sample(numbers, len(numbers)):
        nmt_cli.encode("many.yaml", shard=f"{number}/{total}")
    (parts,) = Path(STORE).glob("train-*.parts")
    return parts


@pytest.mark.parametrize("total", [1, 2, 3, 7])
def test_shares_become_the_bytes_of_one_process(whole, run, total):
    encode_all(total)
    nmt_cli.encode("many.yaml")
    assert stored(run) == whole


def test_more_shares_than_pairs_are_no_trouble(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"data.dev": "[{source: a.en, target: a.de}]"}
    settings["data.train"] = "[{source: few.en, target: few.de}, {source: no.en, target: no.de}]"
    for name in ("a.en", "a.de", "many.yaml"):
        shutil.copy(text / name, name)
    for name in ("few.en", "few.de"):
        Path(name).write_text("red dog\ntwo fish\n")
    for name in ("no.en", "no.de"):
        Path(name).write_text("\n")
    nmt_cli.encode("many.yaml", set=settings)
    expected = stored(tmp_path)
    shutil.rmtree(STORE)
    for number in range(1, 6):
        nmt_cli.encode("many.yaml", set=settings, shard=f"{number}/5")
    nmt_cli.encode("many.yaml", set=settings)
    assert stored(tmp_path) == expected


def test_what_was_killed_is_made_again_and_what_is_there_is_not(whole, run, run_nmt):
    command = [sys.executable, "-c", "from nmt_cli.text import shards; shards._CHUNK = 1\n"
               "import nmt_cli, time\nnmt_cli.encode('many.yaml', shard='2/3', "
               "on_encoded=lambda *_: time.sleep(0.05))"]  # fmt: skip
    process = subprocess.Popen(command)
    while not list(Path(STORE).glob("train-*.parts/.2-of-3.writing-*/target.ids")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    parts = encode_all(3)
    assert not list(parts.glob(".*"))
    before = {file: file.stat().st_mtime_ns for file in parts.rglob("*")}
    done = run_nmt("tokenize", "many.yaml", "--encode", "--shard", "2/3", cwd=run)
    assert (done.returncode, "part 2-of-3 exists already" in done.stderr) == (0, True)
    assert before == {file: file.stat().st_mtime_ns for file in parts.rglob("*")}
    nmt_cli.encode("many.yaml")
    assert stored(run) == whole
    nmt_cli.encode("many.yaml", shard="2/3")
    assert stored(run) == whole


def test_a_part_that_is_missing_is_named_by_who_needs_it(run, run_nmt):
    encode_all(3, but=2)
    done = run_nmt("train", "many.yaml", "--set", "train.max_steps=1", cwd=run)
    assert done.returncode == 3
    assert "part 2-of-3 is missing" in done.stderr
    assert "--shard 2/3" in done.stderr
    assert not [folder for folder in Path(STORE).iterdir() if folder.suffix != ".parts"]


def _damaged(parts: Path) -> None:
    with (parts / "1-of-2" / "target.ids").open("r+b") as stream:
        stream.write(b"\x07\x07")


def _foreign(parts: Path) -> None:
    nmt_cli.encode("many.yaml", set={"name": "other", "seed": 7}, shard="1/2")
    (other,) = Path("runs/other/shards").glob("train-*.parts")
    shutil.rmtree(parts / "1-of-2")
    for name in ("1-of-2", "1-of-2.json"):
        (other / name).replace(parts / name)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_damaged, "1-of-2: is not as it was written"),
        (_foreign, "part 1-of-2 is of another text or vocabulary"),
    ],
)
def test_a_part_that_is_damaged_or_foreign_is_named(run, change, told):
    parts = encode_all(2)
    nmt_cli.tokenize("many.yaml", set={"name": "other", "seed": 7})
    change(parts)
    with pytest.raises(DataError, match=told):
        nmt_cli.encode("many.yaml")


def test_the_vocabulary_comes_first(text, tmp_path, monkeypatch):
    copy_text(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="has no vocabulary of this text") as caught:
        nmt_cli.encode("many.yaml", shard="1/2")
    assert "nmt tokenize" in str(caught.value.hint)


def test_a_worker_on_the_same_disk_reads_what_the_chief_has(run):
    nmt_cli.encode("many.yaml")
    cluster = Cluster(("127.0.0.1:1", "127.0.0.1:2"), index=1)
    prepared = prepare(load_config("many.yaml"), tell=lambda _: None, cluster=cluster)
    assert Path(prepared.train.source.filename).is_relative_to(run / STORE)
    assert not (run / "runs/many/worker-1/shards").exists()
    assert not list((run / "runs/many").glob("worker-1/tokenizer*"))


@pytest.fixture
def machine(text, tmp_path, monkeypatch):
    """A function that begins work on a machine of its own; the store is empty."""
    monkeypatch.setattr(stores, "_PAUSES", ())
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]

    def begin(name: str) -> Path:
        copy_text(text, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name

    return begin


def put_all(machine, total: int, *, but: int = 0) -> None:
    """Put a vocabulary and shares in random order, each from a machine of its own."""
    machine("first")
    nmt_cli.tokenize("many.yaml", store=URL)
    for number in random.Random(total).sample(range(1, total + 1), total):
        if number != but:
            machine(f"of-{number}")
            nmt_cli.encode("many.yaml", shard=f"{number}/{total}", store=URL)


def in_store(pattern: str) -> list[str]:
    return sorted(MemoryFileSystem().glob(f"{THERE}/{pattern}"))


def told_by(call) -> list[str]:
    told = []
    call(on_note=told.append)
    return told


@pytest.mark.parametrize("total", [1, 3])
def test_a_store_gives_every_machine_the_bytes_of_one_process(whole, machine, total):
    put_all(machine, total)
    folder = machine("last")
    nmt_cli.encode("many.yaml", store=URL)
    assert stored(folder) == whole
    cluster = Cluster(("127.0.0.1:1", "127.0.0.1:2"), index=1)
    told, folder = [], machine("worker")
    prepare(load_config("many.yaml"), tell=told.append, cluster=cluster, store=URL)
    assert f"{URL}/many: bringing {total} parts of the encoded text" in told
    (folder / "runs/many/worker-1/shards").rename(folder / STORE)
    assert stored(folder) == whole


def test_without_shares_all_is_put_as_one_part(whole, machine):
    machine("first")
    with pytest.raises(ConfigError, match=f"{URL}/many: has no vocabulary") as caught:
        nmt_cli.encode("many.yaml", store=URL)
    assert f"nmt tokenize CONFIG --store {URL}" in str(caught.value.hint)
    nmt_cli.tokenize("many.yaml", store=URL)
    folder = machine("second")
    nmt_cli.encode("many.yaml", store=URL)
    assert stored(folder) == whole
    assert [name.rpartition("/")[2] for name in in_store("shards/*/*.json")] == ["1-of-1.json"]
    assert (
        MemoryFileSystem().cat_file(f"{THERE}/tokenizer.json")
        == (folder / "runs/many/tokenizer.json").read_bytes()
    )


def test_a_part_in_the_store_is_not_made_again(machine, monkeypatch):
    put_all(machine, 2)
    machine("another")
    monkeypatch.setattr(stores.Store, "put", lambda *_: pytest.fail("put again"))
    told = told_by(lambda **to: nmt_cli.encode("many.yaml", shard="1/2", store=URL, **to))
    assert told[-1].endswith("part 1-of-2 exists already")
    assert not list(Path(STORE).glob("*/*"))
    nmt_cli.tokenize("many.yaml", store=URL)


def test_an_upload_that_was_killed_goes_on_without_encoding(whole, machine, monkeypatch):
    put_all(machine, 2, but=2)
    folder, put = machine("killed"), stores.Store.put

    def cut(self, files):
        put(self, {name: file for name, file in files.items() if not name.endswith("2.json")})
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stores.Store, "put", cut)
        with pytest.raises(KeyboardInterrupt):
            nmt_cli.encode("many.yaml", shard="2/2", store=URL)
    assert in_store("shards/*/2-of-2/*")
    machine("early")
    with pytest.raises(DataError, match=f"^{URL}/many/shards/train-.*: part 2-of-2 is missing"):
        nmt_cli.encode("many.yaml", store=URL)
    monkeypatch.chdir(folder)
    told = told_by(lambda **to: nmt_cli.encode("many.yaml", shard="2/2", store=URL, **to))
    assert told[-1].endswith("part 2-of-2 exists already")
    nmt_cli.encode("many.yaml", store=URL)
    assert stored(folder) == whole


def test_a_damaged_part_in_the_store_is_named_and_made_again(whole, machine):
    put_all(machine, 2)
    (ids,) = in_store("shards/*/1-of-2/target.ids")
    content = bytearray(MemoryFileSystem().cat_file(ids))
    content[5] ^= 1
    MemoryFileSystem().pipe_file(ids, bytes(content))
    folder = machine("last")
    for _ in range(2):
        with pytest.raises(DataError, match=f"^{URL}/many/.*1-of-2: is not as it was written"):
            nmt_cli.encode("many.yaml", store=URL)
    nmt_cli.encode("many.yaml", shard="1/2", store=URL)
    nmt_cli.encode("many.yaml", store=URL)
    assert stored(folder) == whole


def test_what_a_person_deleted_in_the_store_is_put_again(machine):
    put_all(machine, 2)
    nmt_cli.encode("many.yaml", shard="1/2")  # without a store
    MemoryFileSystem().rm(in_store("shards/*/1-of-2"), recursive=True)
    nmt_cli.encode("many.yaml", shard="1/2", store=URL)
    assert len(in_store("shards/*/1-of-2/*")) == 6


def test_what_is_of_another_text_is_named(whole, machine):
    put_all(machine, 2)
    folder = machine("other")
    with (folder / "a.en").open("a") as source, (folder / "a.de").open("a") as target:
        source.write("one more\n")
        target.write("noch einer\n")
    foreign = f"{URL}/many: not used: its vocabulary is of another text or other settings"
    told = []
    with pytest.raises(ConfigError, match=f"{URL}/many: has no vocabulary of this text"):
        nmt_cli.encode("many.yaml", shard="1/2", store=URL, on_note=told.append)
    assert foreign in told
    (parts,) = (name.rpartition("/")[2] for name in in_store("shards/*"))
    told.clear()
    prepare(load_config("many.yaml"), tell=told.append, store=URL)
    assert foreign in told
    assert f"{URL}/many/shards: not used, as of another text or vocabulary: {parts}" in told
    assert any("(trained)" in line for line in told)
    assert any("(encoded)" in line for line in told)


def test_a_part_that_was_copied_from_another_run_is_named(machine):
    put_all(machine, 2)
    (record,) = in_store("shards/*/2-of-2.json")
    foreign = MemoryFileSystem().cat_file(record).replace(b'"train-', b'"train-f')
    MemoryFileSystem().pipe_file(record, foreign)
    machine("last")
    with pytest.raises(DataError, match="part 2-of-2 is of another text or vocabulary"):
        nmt_cli.encode("many.yaml", store=URL)


def test_bringing_parts_that_was_killed_goes_on(whole, machine, monkeypatch):
    put_all(machine, 3)
    folder, got, get_file = machine("last"), [], MemoryFileSystem.get_file

    def get(self, source, *args, **kwargs):
        got.append(source)
        if len(got) == 12:
            raise KeyboardInterrupt
        get_file(self, source, *args, **kwargs)

    monkeypatch.setattr(MemoryFileSystem, "get_file", get)
    with pytest.raises(KeyboardInterrupt):
        nmt_cli.encode("many.yaml", store=URL)
    nmt_cli.encode("many.yaml", store=URL)
    assert stored(folder) == whole
    assert len(got) == 3 * 7 + 1


def test_a_run_that_has_begun_keeps_its_vocabulary(machine, monkeypatch):
    machine("first")
    nmt_cli.tokenize("many.yaml", store=URL)
    Path("runs/many/checkpoints/step-00000001").mkdir(parents=True)
    Path("runs/many/config.yaml").touch()
    monkeypatch.setattr(vocabulary_cache, "bring", lambda *_: pytest.fail("brought"))
    nmt_cli.tokenize("many.yaml", store=URL)
