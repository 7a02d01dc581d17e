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

import nmt_cli
from nmt_cli.errors import ConfigError, DataError

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
    from nmt_cli.config.reading import load_config
    from nmt_cli.distributed.cluster import Cluster
    from nmt_cli.training.run import prepare

    nmt_cli.encode("many.yaml")
    cluster = Cluster(("127.0.0.1:1", "127.0.0.1:2"), index=1)
    prepared = prepare(load_config("many.yaml"), tell=lambda _: None, cluster=cluster)
    assert Path(prepared.train.source.filename).is_relative_to(run / STORE)
    assert not (run / "runs/many/worker-1/shards").exists()
    assert not list((run / "runs/many").glob("worker-1/tokenizer*"))
