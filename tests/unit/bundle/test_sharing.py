"""A model as one file: what is in it, and what a stranger's file may not hold."""

import gzip
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import WEIGHTS, open_bundle
from nmt_cli.bundle.sharing import ENDINGS, share, unpacked
from nmt_cli.config.tasks import CLASSIFICATION, TRANSLATION
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.search.loading import EngineOptions, load_labeller


@pytest.fixture
def bundle(toy_bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return open_bundle(toy_bundle)


@pytest.mark.parametrize("name", ["my model.zip", "M.ZIP", "m.TAR.gz", "m.tar.zst", "folder"])
@pytest.mark.parametrize("with_weights", [True, False])
def test_what_is_shared_is_a_model_again(bundle, tmp_path, name, with_weights):
    target = tmp_path / name
    share(bundle, target, "float32", with_weights=with_weights)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == [name]
    found = find_bundle(str(target), TRANSLATION)
    found.verify()
    assert list(found.manifest.ctranslate2["formats"]) == ["float32"]
    here, there = (b.ctranslate2_folder("float32") / "model.bin" for b in (bundle, found))
    assert here.read_bytes() == there.read_bytes()
    assert ("-m 'my model.zip'" in (found.path / "README.md").read_text()) == (name[:2] == "my")
    if with_weights:
        assert found.load_weights().keys() == bundle.load_weights().keys()
    else:
        with pytest.raises(ModelFileError, match="shared without its weights"):
            found.load_weights()


def test_what_needs_the_weights_names_the_file_and_a_way_out(bundle, tmp_path):
    share(bundle, tmp_path / "m.zip", "float32", with_weights=False)
    found = find_bundle(str(tmp_path / "m.zip"))
    with pytest.raises(ModelFileError) as caught:
        share(found, tmp_path / "again.zip", "float32", with_weights=True)
    assert str(caught.value) == f"{tmp_path / 'm.zip'}: this model was shared without its weights"
    assert not (tmp_path / "again.zip").exists()
    with pytest.raises(ModelFileError, match=f"{tmp_path / 'm.zip'}: has no form") as caught:
        found.ctranslate2_folder("int8")
    wanted = "it has float32; ask the sender for: nmt export --share FILE --format int8"
    assert caught.value.hint == wanted
    (found.path / "ctranslate2/float32/model.bin").unlink()
    with pytest.raises(ModelFileError, match=r"model\.bin") as caught:
        found.ctranslate2_folder()
    assert "ask its sender" in caught.value.hint


def test_a_file_is_unpacked_once(bundle, tmp_path):
    share(bundle, tmp_path / "m.zip", "float32", with_weights=False)
    first = unpacked(tmp_path / "m.zip").path
    stamp = first.stat().st_mtime_ns
    shutil.copy(tmp_path / "m.zip", tmp_path / "copy.zip")
    assert unpacked(tmp_path / "copy.zip").path == first
    assert first.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("name", ["m.zip", "m.tar.gz", "link.zip"])
def test_who_may_read_an_older_file_may_read_the_new_one(bundle, tmp_path, name):
    (tmp_path / "link.zip").symlink_to(tmp_path / "linked.zip")
    older = (tmp_path / name).resolve()
    older.write_bytes(b"")
    older.chmod(0o640)
    share(bundle, tmp_path / name, "float32", with_weights=False)
    assert older.stat().st_size > 0
    assert older.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.zip").is_symlink()


@pytest.mark.parametrize("name", ["m.tar.xz", "there", "m.tar", "m.RAR", "m.7z", "m.tar.bz2"])
def test_what_cannot_be_written_is_told(bundle, tmp_path, name):
    (tmp_path / "there").mkdir()
    with pytest.raises(ConfigError, match="--share") as caught:
        share(bundle, tmp_path / name, "float32", with_weights=False)
    assert all(ending in caught.value.hint for ending in ENDINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_known_by_what_is_in_it(bundle, tmp_path, monkeypatch, ending):
    share(bundle, tmp_path / f"m{ending}", "float32", with_weights=False)
    for number, name in enumerate(("plain", "m.zip", "m.tar.zst")):
        (tmp_path / f"m{ending}").replace(tmp_path / name)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache {number}"))
        unpacked(tmp_path / name).verify()
        (tmp_path / name).replace(tmp_path / f"m{ending}")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: shutil.rmtree(folder / "ctranslate2"),
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        lambda folder: (folder / "bundle.json").unlink(),
        lambda folder: flip(folder / WEIGHTS),
        lambda folder: flip(folder / "ctranslate2/float32/model.bin"),
    ],
)
def test_what_was_damaged_in_the_cache_is_unpacked_again(bundle, tmp_path, damage):
    share(bundle, tmp_path / "m.zip", "float32", with_weights=True)
    damage(unpacked(tmp_path / "m.zip").path)
    unpacked(tmp_path / "m.zip").verify()


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


LARGE = 1 << 20  # once a megabyte is more than a small file may become


def zip_of(path: Path, *names: str, size: int = 1) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "x" * size)
    return path


def tar_of(path: Path, compression: str = "", **fields: object) -> Path:
    """Write a .tar.gz with one entry; `compression` is that of the tar within it."""
    with gzip.open(path, "wb") as packed, tarfile.open(None, f"w|{compression}", packed) as archive:
        info = tarfile.TarInfo("x")
        for name, value in fields.items():
            setattr(info, name, value)
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    return path


def encrypted(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\3\4") + 6] |= 1
    content[content.find(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: zip_of(path / "a.zip", "../x"), "it holds '../x'"),
        (lambda path: zip_of(path / "a.zip", "/x"), "it holds '/x'"),
        (lambda path: zip_of(path / "a.zip", "x\ny"), "it holds"),
        (lambda path: zip_of(path / "a.zip", *map(str, range(1001))), "it contains too much"),
        (lambda path: zip_of(path / "a.zip", "y"), "bundle.json"),
        (
            lambda path: tar_of(path / "a.tgz", type=tarfile.SYMTYPE, linkname="/"),
            "not a regular file",
        ),
        (lambda path: tar_of(path / "a.tgz", type=tarfile.FIFOTYPE), "not a regular file"),
        (lambda path: tar_of(path / "a.tgz", type=tarfile.CHRTYPE), "not a regular file"),
        (lambda path: zip_of(path / "a.zip", "x", size=LARGE), "it contains too much"),
        (lambda path: tar_of(path / "a.tgz", size=LARGE), "it contains too much"),
        (lambda path: tar_of(path / "a.tgz", "xz", size=1), "not a shared model"),
        (lambda path: shutil.copy("/bin/sh", path / "a.zip"), "not a shared model"),
        (lambda path: shutil.copy("/bin/sh", path / "a.tar.zst"), "not a shared model"),
        (lambda path: shutil.copy(__file__, path / "small.yaml"), "not a shared model"),
        (lambda path: encrypted(zip_of(path / "a.zip", "x")), "is encrypted, or packed"),
    ],
)
def test_what_is_no_model_is_refused_and_nothing_stays(bundle, tmp_path, monkeypatch, make, told):
    monkeypatch.setattr("nmt_cli.files._UNPACKED_AT_LEAST", LARGE // 2)
    file = Path(make(tmp_path))
    with pytest.raises(ModelFileError) as caught:
        unpacked(file)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{file}: ")
    assert not list((tmp_path / "cache").glob("*/models/*"))


def test_a_header_of_a_tar_may_not_be_a_bomb_either(bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_cli.files._UNPACKED_AT_LEAST", LARGE // 2)
    headers = {"comment": "x" * LARGE}
    with tarfile.open(tmp_path / "a.tgz", "w:gz", pax_headers=headers):
        pass
    with pytest.raises(ModelFileError, match="it contains too much"):
        unpacked(tmp_path / "a.tgz")


CHANGED = "not a shared model: ctranslate2/float32/model.bin: its content changed (wrong sha256)"


@pytest.mark.parametrize("cut", [100, 1000])
@pytest.mark.parametrize("ending", ["zip", "tar.gz", "tar.zst"])
def test_a_damaged_file_is_told(bundle, tmp_path, cut, ending):
    share(bundle, tmp_path / f"m.{ending}", "float32", with_weights=False)
    content = (tmp_path / f"m.{ending}").read_bytes()
    (tmp_path / f"cut.{ending}").write_bytes(content[:-cut])
    flipped = bytearray(content)
    flipped[len(content) // 2 + cut] ^= 255
    (tmp_path / f"flipped.{ending}").write_bytes(flipped)
    for name in (f"cut.{ending}", f"flipped.{ending}"):
        with pytest.raises(ModelFileError) as caught:
            unpacked(tmp_path / name)
        told = str(caught.value).removeprefix(f"{tmp_path / name}: ")
        assert told in ("damaged, or not a shared model", CHANGED)


@pytest.mark.parametrize("with_weights", [True, False])
def test_a_shared_classifier_gives_labels(label_bundle, tmp_path, monkeypatch, with_weights):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    share(open_bundle(label_bundle), tmp_path / "m.zip", "float32", with_weights=with_weights)
    share(unpacked(tmp_path / "m.zip"), tmp_path / "n.zip", "float32", with_weights=with_weights)
    for folder in (label_bundle, tmp_path / "m.zip", tmp_path / "n.zip"):
        labeller = load_labeller(find_bundle(str(folder), CLASSIFICATION), EngineOptions())
        (found,) = labeller.label_windows([["the dog was sad"]])
        assert found.labels == ["bad"]


def test_weights_are_the_only_file_that_is_left_out(bundle, tmp_path):
    share(bundle, tmp_path / "all", "float32", with_weights=True)
    share(bundle, tmp_path / "some", "float32", with_weights=False)
    names = [{p.name for p in (tmp_path / d).rglob("*")} for d in ("all", "some")]
    assert names[0] - names[1] == {WEIGHTS}
