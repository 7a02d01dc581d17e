"""Tests of nmt_cli/bundle/folder.py: a bundle comes back, is found, and what is wrong is named."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy_transformer import Architecture, random_weights
from safetensors.numpy import save_file

import nmt_cli
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.folder import (
    WEIGHTS,
    add_ctranslate2,
    changing,
    describe_file,
    open_bundle,
    rewrite_manifest,
    save_bundle,
)
from nmt_cli.bundle.manifest import FORMAT_VERSION, MANIFEST, Manifest
from nmt_cli.config.reading import load_config
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import CHAT, CLASSIFICATION, TRANSLATION, TaskFacts
from nmt_cli.errors import ModelFileError, TrainingError
from nmt_cli.files import sha256_of
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

SCORES = {"dev": {"bleu": {"score": 31.25, "signature": "nrefs:1|case:mixed"}}}
TRAINING = {"step": 12, "pairs": 34567, "fingerprint": "abc"}
FILES = [
    "README.md",
    MANIFEST,
    "config.yaml",
    "ctranslate2/float32/config.json",
    "ctranslate2/float32/model.bin",
    "ctranslate2/float32/shared_vocabulary.json",
    WEIGHTS,
    "tokenizer.json",
]
SMALL = {
    "d_model": 8,
    "d_ff": 16,
    "num_heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "max_length": 16,
}


@pytest.fixture(scope="module", autouse=True)
def no_fsync():
    """Nothing here is about a power cut, and flushing thousands of files takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


def make_config(task: str = "translation", **changes) -> Config:
    data = {"train": [{"file": "a.tsv"}], "dev": [{"rows": 3}], "source_lang": "en"}
    tree = {"name": "toy", "task": task, "data": {**data, "target_lang": "de"}, "model": SMALL}
    return Config.model_validate({**tree, **changes})


def make_weights(vocabularies: Vocabularies, d_ff: int = 16) -> dict[str, np.ndarray]:
    """Return weights of `SMALL`, some of which do not lie in memory row by row."""
    sizes = (vocabularies.source.vocab_size, vocabularies.target.vocab_size)
    tied = "all" if vocabularies.joint else "output"
    architecture = Architecture(8, d_ff, 2, encoder_layers=1, decoder_layers=1)
    weights = random_weights(architecture, *sizes, tied, 1, 16)
    transposed = "encoder.layer1.self_att.output"
    strided = "decoder.norm.scale"
    weights[transposed] = np.ascontiguousarray(weights[transposed].T).T
    weights[strided] = np.repeat(weights[strided], 2)[::2]
    return weights


def files_below(folder: Path) -> list[str]:
    """Return the names of all files, in order."""
    return sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())


@pytest.fixture(scope="module")
def vocabularies():
    config = make_config(tokenizer={"vocab_size": 300}).tokenizer
    subwords = Subwords.train(["guten Morgen, liebe Sonne"] * 3, config)
    return Vocabularies(subwords, subwords)


@pytest.fixture
def weights(vocabularies):
    return make_weights(vocabularies)


@pytest.fixture
def save(tmp_path, vocabularies, weights):
    """A function that saves a bundle, below the temporary folder."""

    def save(name: str = "model", task: str = "translation", **changes):
        arguments = {
            "config": make_config(task),
            "vocabularies": vocabularies,
            "weights": weights,
            "scores": SCORES,
            "training": TRAINING,
        }
        return save_bundle(tmp_path / name, **{**arguments, **changes})

    return save


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The temporary folder as working folder, and no `$NMT_MODEL`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NMT_MODEL", raising=False)
    return tmp_path


MISSING = object()  # a key that is taken out


def change_manifest(path: Path, **changes) -> None:
    values = json.loads((path / MANIFEST).read_text())
    values.pop("crc32", None)  # as who changes it by hand is told to
    (path / MANIFEST).write_text(json.dumps({**values, **changes}))


class TestSave:
    def test_the_manifest_comes_back(self, save, weights):
        config = make_config()
        saved = save()
        opened = open_bundle(saved.path)
        assert opened == saved
        manifest = opened.manifest
        assert (manifest.name, manifest.task) == ("toy", "translation")
        assert (manifest.source_lang, manifest.target_lang) == ("en", "de")
        assert manifest.parameters == sum(array.size for array in weights.values())
        assert manifest.model == config.model.model_dump()
        assert manifest.decode == config.decode.model_dump()
        assert manifest.chat == config.chat.model_dump()
        assert manifest.vocabulary["joint"] is True
        assert (manifest.scores, manifest.training) == (SCORES, TRAINING)
        assert manifest.versions["nmt"] == nmt_cli.__version__
        assert {"tensorflow", "tokenizers"} <= manifest.versions.keys()
        assert manifest.format_version == FORMAT_VERSION == 1

    def test_every_file_is_listed_with_size_and_hash(self, save):
        bundle = save()
        assert files_below(bundle.path) == sorted(FILES)
        assert bundle.manifest.files == {
            name: {
                "bytes": (bundle.path / name).stat().st_size,
                "sha256": sha256_of(bundle.path / name),
                "crc32": zlib.crc32((bundle.path / name).read_bytes()),
            }
            for name in FILES
            if name != MANIFEST
        }

    def test_the_weights_come_back_however_they_lie_in_memory(self, save, weights):
        loaded = save().load_weights()
        assert loaded.keys() == weights.keys()
        for name, array in weights.items():
            assert loaded[name].dtype == np.float32
            np.testing.assert_array_equal(loaded[name], array)

    def test_configuration_and_vocabulary_come_back(self, save, vocabularies):
        bundle = save()
        assert load_config(str(bundle.path / "config.yaml")).config == make_config()
        loaded = Vocabularies.load(bundle.path)
        assert loaded.joint
        assert loaded.source.to_json() == vocabularies.source.to_json()

    def test_separate_vocabularies(self, save, vocabularies):
        other = Subwords.train(["bonjour"], make_config(tokenizer={"vocab_size": 300}).tokenizer)
        separate = Vocabularies(vocabularies.source, other)
        bundle = save(vocabularies=separate, weights=make_weights(separate))
        assert bundle.manifest.vocabulary == {
            "source": vocabularies.source.vocab_size,
            "target": other.vocab_size,
            "joint": False,
        }
        assert {"tokenizer.source.json", "tokenizer.target.json"} <= bundle.manifest.files.keys()
        assert Vocabularies.load(bundle.path).target.to_json() == other.to_json()

    def test_anyone_may_read_it_whom_the_umask_lets(self, save):
        before = os.umask(0o022)
        try:
            bundle = save()
        finally:
            os.umask(before)
        entries = bundle.path.rglob("*")
        assert {(e.is_dir(), e.stat().st_mode & 0o777) for e in entries} == {
            (False, 0o644),
            (True, 0o755),
        }

    def test_an_older_one_is_replaced_whole(self, save):
        path = save().path
        (path / "stray.txt").touch()
        bundle = save(training={"step": 99})
        assert bundle.manifest.training == {"step": 99}
        assert files_below(path) == sorted(FILES)
        assert [entry.name for entry in path.parent.iterdir()] == ["model"]

    def test_a_full_disk_leaves_the_older_one(self, save, vocabularies):
        bundle = save()
        big = make_weights(vocabularies, d_ff=1 << 15)
        config = make_config(model={**SMALL, "d_ff": 1 << 15})
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                save(weights=big, config=config)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert open_bundle(bundle.path) == bundle
        bundle.verify()
        assert [entry.name for entry in bundle.path.parent.iterdir()] == ["model"]


class TestOpen:
    def test_no_heavy_library_is_imported(self, save):
        code = (
            "import sys, nmt_cli.bundle.finding as b\n"
            "b.find_bundle(sys.argv[1]).verify()\n"
            "heavy = {'tensorflow', 'keras', 'numpy', 'pydantic', 'yaml', 'tokenizers',"
            " 'safetensors', 'rich'}\n"
            "print(sorted(heavy & sys.modules.keys()))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(save().path)],
            env={**os.environ, "PYTHONPATH": str(Path(nmt_cli.__file__).parents[1])},
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("[]\n", "")

    def problem(self, path: Path) -> ModelFileError:
        with pytest.raises(ModelFileError) as caught:
            open_bundle(path).ctranslate2_folder()
        assert caught.value.exit_code == 4
        assert "\n" not in str(caught.value)
        return caught.value

    def test_a_newer_format(self, save):
        path = save().path
        change_manifest(path, format_version=2)
        error = self.problem(path)
        assert str(error) == f"{path / MANIFEST}: format version 2; this nmt reads up to 1"
        assert error.hint == "update nmt: pip install --upgrade nmt-cli"

    def test_a_newer_format_with_other_keys(self, save):
        path = save().path
        (path / MANIFEST).write_text(json.dumps({"format_version": 7, "all": "new"}))
        assert "format version 7; this nmt reads up to 1" in str(self.problem(path))

    @pytest.mark.parametrize("text", ["{}", "[]", "3", '{"format_version": "1"}', "null"])
    def test_no_manifest(self, save, text):
        path = save().path
        (path / MANIFEST).write_text(text)
        assert str(self.problem(path)) == (
            f"{path / MANIFEST}: not a model's manifest (no format_version)"
        )

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
    def test_a_manifest_that_is_no_json(self, save, content):
        path = save().path
        (path / MANIFEST).write_bytes(content)
        assert "not readable as a model's manifest" in str(self.problem(path))

    def test_a_missing_manifest(self, tmp_path):
        assert "not readable as a model's manifest" in str(self.problem(tmp_path))

    @pytest.mark.parametrize("name", [field.name for field in fields(Manifest)])
    @pytest.mark.parametrize("value", [None, [1], "missing"])
    def test_a_manifest_with_a_wrong_or_missing_value(self, save, name, value):
        path = save().path
        values = json.loads((path / MANIFEST).read_text())
        del values["crc32"]
        if value == "missing":
            del values[name]
        else:
            values[name] = value
        (path / MANIFEST).write_text(json.dumps(values))
        may_miss = ("files", "ctranslate2", "parts", "licence", "classification", "languages")
        if value == "missing" and name in may_miss:
            assert not getattr(open_bundle(path).manifest, name)  # older ones lack them
        else:
            assert str(self.problem(path)).startswith(f"{path / MANIFEST}: ")

    def test_a_manifest_with_an_unknown_value(self, save):
        path = save().path
        change_manifest(path, colour="red")
        assert str(self.problem(path)) == f"{path / MANIFEST}: damaged: colour is an unknown key"

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b'{\n"a":', ":2: not readable as a model's manifest: not JSON"),
            (b"\xff", ": not readable as a model's manifest: not UTF-8"),
            (b"[" * 100_000, ": not readable as a model's manifest: a number is too long, or "),
            (b"1" * 5000, ": not readable as a model's manifest: a number is too long, or "),
            (None, ": not readable as a model's manifest: No such file or directory"),
            (b'{"format_version": 1}', ": damaged: name is missing"),
        ],
    )
    def test_what_is_wrong_is_told_in_plain_words(self, save, content, told):
        path = save().path
        (path / MANIFEST).unlink()
        if content is not None:
            (path / MANIFEST).write_bytes(content)
        assert str(self.problem(path)).startswith(f"{path / MANIFEST}{told}")

    @pytest.mark.parametrize("known", [None, {}, {"bytes": 3}, 7])
    def test_a_manifest_that_says_too_little_of_a_file(self, save, known):
        path = save().path
        change_manifest(path, files={WEIGHTS: known})
        assert str(self.problem(path)) == (
            f"{path / MANIFEST}: damaged: 'files' does not list {WEIGHTS}"
        )

    @pytest.mark.parametrize(
        ("section", "changes"),
        [
            ("model", {"num_heads": "2"}),
            ("model", {"d_model": True}),
            ("model", {"tie_embeddings": "$(touch x)"}),
            ("model", {"norm": []}),
            ("decode", {"beam_size": "5"}),
            ("decode", {"length_penalty": float("inf")}),
            ("vocabulary", {"source": None}),
            ("decode", {"beam_size": MISSING}),
            ("model", {"norm": MISSING}),
            ("model", {"decoder_layers": MISSING}),
            ("versions", {"nmt": MISSING}),
            ("scores", {"dev": {"bleu": 3}}),
            ("scores", {"dev": {"bleu": {"score": 3.0}}}),
            ("scores", {"dev": {"bleu": {"score": 3.0, "signature": [1]}}}),
            ("scores", {"dev": {"bleu": {"score": -(10**400), "signature": "s"}}}),
            ("ctranslate2", {"formats": {"float32": {"megabytes": None}}}),
            ("ctranslate2", {"formats": {"float32": {"bleu": 3.0}}}),
            ("training", {"dev_loss": "low"}),
            ("chat", {"format": "x"}),
            ("ctranslate2", {"auto": "../../other"}),
            ("ctranslate2", {"formats": {"../x": {}}, "auto": "../x"}),
            ("files", {"/dev/zero": {"bytes": 0, "sha256": ""}}),
            ("files", {"../a": {"bytes": 0, "sha256": ""}}),
            ("files", {WEIGHTS: {"bytes": "9", "sha256": ""}}),
        ],
    )
    def test_odd_values_of_a_manifest(self, save, section, changes):
        path = save().path
        values = json.loads((path / MANIFEST).read_text())[section] | changes
        change_manifest(path, **{section: {k: v for k, v in values.items() if v is not MISSING}})
        assert str(self.problem(path)).startswith(f"{path / MANIFEST}: damaged: ")

    @pytest.mark.parametrize("name", ["tokenizer.json", "ctranslate2/float32/model.bin"])
    def test_what_would_never_end_when_it_is_read(self, save, name):
        path = save().path
        change_manifest(path, files={})
        (path / name).unlink()
        os.mkfifo(path / name)
        with pytest.raises(ModelFileError, match="not an ordinary file"):
            open_bundle(path)

    def test_a_link_out_of_the_folder(self, save, tmp_path):
        path = save().path
        (path / "config.yaml").rename(tmp_path / "elsewhere")
        (path / "config.yaml").symlink_to(tmp_path / "elsewhere")
        assert "links to a file outside the model folder" in str(self.problem(path))

    def test_a_link_out_of_a_folder_in_it(self, save, tmp_path):
        path = save().path
        (tmp_path / "secret").write_text("x")
        (path / "more").mkdir()
        (path / "more" / "x").symlink_to(tmp_path / "secret")
        files = json.loads((path / MANIFEST).read_text())["files"]
        change_manifest(path, files=files | {"more/x": describe_file(tmp_path / "secret")})
        assert "links to a file outside the model folder" in str(self.problem(path))

    def test_what_a_link_out_of_the_folder_points_to_is_left_alone(self, save, tmp_path):
        """To write a number format there would have replaced it."""
        bundle, elsewhere = save(), tmp_path / "elsewhere"
        elsewhere.mkdir()
        (bundle.path / "ctranslate2" / "int8").symlink_to(elsewhere)
        assert "int8: links to a file outside the model folder" in str(self.problem(bundle.path))

    def test_a_manifest_with_a_value_that_could_be_but_is_not(self, save):
        """One flipped bit of a number: another output, and nothing to see it by."""
        path = save().path
        text = (path / MANIFEST).read_text()
        changed = text.replace('"beam_size": 5', '"beam_size": 4')
        assert changed != text
        (path / MANIFEST).write_text(changed)
        error = self.problem(path)
        assert str(error) == f"{path / MANIFEST}: damaged: its checksum is wrong"
        assert 'remove the line "crc32"' in error.hint
        (path / MANIFEST).write_text(re.sub(r',\n  "crc32": \d+', "", changed))
        assert open_bundle(path).manifest.decode["beam_size"] == 4

    def test_a_pipe_for_a_manifest_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / MANIFEST)
        assert "not a regular file" in str(self.problem(tmp_path))

    @pytest.mark.parametrize("name", sorted(set(FILES) - {MANIFEST}))
    def test_a_file_cut_short(self, save, name):
        path = save().path
        size = (path / name).stat().st_size
        os.truncate(path / name, size - 1)
        error = self.problem(path)
        assert str(error) == f"{path / name}: damaged: it has {size - 1} bytes, not {size}"
        is_fast = name.startswith("ctranslate2/")
        assert ("nmt export" if is_fast else "copy the model folder again") in error.hint
        if is_fast:  # the TensorFlow engine and nmt export do without
            open_bundle(path)

    @pytest.mark.parametrize("name", sorted(set(FILES) - {MANIFEST}))
    def test_a_missing_file(self, save, name):
        path = save().path
        (path / name).unlink()
        assert str(self.problem(path)) == f"{path / name}: missing from the model folder"

    def test_after_a_crash_between_two_renames(self, save):
        bundle = save()
        bundle.path.rename(bundle.path.with_name(".model.previous"))
        assert open_bundle(bundle.path).manifest == bundle.manifest


class TestVerify:
    def test_a_whole_bundle(self, save):
        save().verify()

    @pytest.mark.parametrize("name", sorted(set(FILES) - {MANIFEST}))
    def test_a_changed_byte_is_found_by_its_hash_alone(self, save, name):
        path = save().path
        content = bytearray((path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (path / name).write_bytes(content)
        files = json.loads((path / MANIFEST).read_text())["files"]
        for known in files.values():
            del known["crc32"]  # as in older bundles
        change_manifest(path, files=files)
        bundle = open_bundle(path)
        with pytest.raises(ModelFileError) as caught:
            bundle.verify()
        assert str(caught.value) == f"{path / name}: its content changed (wrong sha256)"

    def test_a_file_that_went_away(self, save):
        bundle = save()
        (bundle.path / WEIGHTS).unlink()
        with pytest.raises(ModelFileError, match=r"model\.safetensors: cannot be read"):
            bundle.verify()


@pytest.mark.parametrize("name", sorted(set(FILES) - {MANIFEST, "README.md"}))
def test_a_changed_byte_is_found_when_the_file_is_read(save, name):
    path = save().path
    content = bytearray((path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (path / name).write_bytes(content)
    with pytest.raises(ModelFileError, match=r"damaged: its content changed \(wrong checksum"):
        use_whole(path)


def use_whole(path: Path) -> None:
    """Read all that a command could read of a bundle."""
    bundle = open_bundle(path)
    bundle.ctranslate2_folder()
    bundle.load_weights()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"/num_heads\0\0\2\2\0\0\0\2", b"/num_heads\0\0\2\2\0\0\0\0", "is 0, not 2"),
        (b"alignment_layer\0\0\2\2\0\0\0\xff", b"alignment_layer\0\0\2\2\0\0\0\x32", "not -1"),
        (b"activation\0\0\1\1\0\0\0\0", b"activation\0\0\1\1\0\0\0\x63", "is 99, not 0"),
        (b"alibi\0\0\1\1\0\0\0\0", b"alibi\0\0\1\1\0\0\0\1", "is 1, not 0"),
        (b"gamma\0\1\x08", b"gamma\0\1\x18", "does not have the size of its shape"),
        (b"TransformerSpec", b"TransformerSpeg", "not a model that nmt wrote"),
        (b"\6\0\0\0", b"\7\0\0\0", "version 7"),
        (b"/beta\0\1\x08\0\0\0", b"/bexa\0\1\x08\0\0\0", "expected"),
        (b"encodings\0\2\x10\0\0\0\x08", b"encodings\0\2\x08\0\0\0\x10", "has shape"),
    ],
)
def test_a_header_that_does_not_fit_never_reaches_ctranslate2(save, old, new, problem):
    path = save().path
    name = "ctranslate2/float32/model.bin"
    content = (path / name).read_bytes()
    assert old in content
    (path / name).write_bytes(content.replace(old, new, 1))
    files = json.loads((path / MANIFEST).read_text())["files"]
    del files[name]["crc32"]  # as in older bundles
    change_manifest(path, files=files)
    with pytest.raises(ModelFileError, match=problem):
        use_whole(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_not_saved(save, weights, value):
    weights["decoder.norm.scale"][3] = value
    with pytest.raises(TrainingError, match=r"'decoder\.norm\.scale' are not finite"):
        save()


@pytest.mark.parametrize("content", [b"\xff" * 8, b"", b"\x05\0\0\0\0\0\0\0{{{{{"])
def test_damaged_weights_are_told(save, content):
    bundle = save()
    (bundle.path / WEIGHTS).write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.safetensors: damaged: "):
        bundle.load_weights()


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: weights.pop("decoder.norm.scale"),
        lambda weights: weights.update(other=weights.pop("decoder.norm.scale")),
        lambda weights: weights.update({"decoder.other": weights.pop("decoder.norm.scale")}),
        lambda weights: weights.clear(),
    ],
)
def test_weights_of_another_model_are_told(save, weights, change):
    path = save().path
    change(weights)
    contiguous = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    forge(path, lambda file: save_file(contiguous, file))
    with pytest.raises(ModelFileError, match="these are not the weights of the model"):
        add_ctranslate2(open_bundle(path), "int8")


@pytest.mark.parametrize(
    "changes",
    [
        {"add_source_bos": 0},
        {"decoder_start_token": "</s>"},
        {"decoder_start_token": MISSING},
        {"eos_token": MISSING},
        {"layer_norm_epsilon": "1e-6"},
        {"layer_norm_epsilon": float("inf")},
        {"quantization_type": "x"},
    ],
)
def test_a_configuration_for_ctranslate2_that_nmt_does_not_write(save, changes):
    path, name = save().path, "ctranslate2/float32/config.json"
    values = json.loads((path / name).read_text()) | changes
    values = {key: value for key, value in values.items() if value is not MISSING}
    forge(path, lambda file: file.write_text(json.dumps(values)), name)
    with pytest.raises(
        ModelFileError, match=r"config\.json: damaged: not a configuration that nmt"
    ):
        open_bundle(path).ctranslate2_folder()


def test_a_vocabulary_for_ctranslate2_without_the_control_tokens(save):
    path, name = save().path, "ctranslate2/float32/shared_vocabulary.json"
    text = (path / name).read_text().replace('"<s>"', '"<S>"')
    forge(path, lambda file: file.write_text(text), name)
    with pytest.raises(ModelFileError, match="its first tokens are not <pad> <s> </s>"):
        open_bundle(path).ctranslate2_folder()


@pytest.mark.parametrize(("kind", "shape"), [("F8_E4M3", [4]), ("F32", [0, 1 << 62])])
def test_weights_that_numpy_cannot_have_are_told(save, kind, shape):
    path = save().path
    header = {"a": {"dtype": kind, "shape": shape, "data_offsets": [0, shape[0]]}}
    head = json.dumps(header).encode()
    content = len(head).to_bytes(8, "little") + head + bytes(shape[0])
    forge(path, lambda file: file.write_bytes(content))
    with pytest.raises(ModelFileError, match="damaged, or not weights that nmt wrote"):
        open_bundle(path).load_weights()


def forge(path: Path, write: Callable[[Path], object], name: str = WEIGHTS) -> None:
    """Write other weights, or another file, with the right checksums."""
    write(path / name)
    files = json.loads((path / MANIFEST).read_text())["files"]
    change_manifest(path, files=files | {name: describe_file(path / name)})


def test_missing_weights_are_told(save):
    bundle = save()
    (bundle.path / WEIGHTS).unlink()
    with pytest.raises(ModelFileError, match=r"model\.safetensors: cannot be read: No such file"):
        bundle.load_weights()


class TestChange:
    def test_two_at_once_lose_nothing_of_each_other(self, save):
        one = save()
        other = open_bundle(one.path)
        add_ctranslate2(one, "int8")
        add_ctranslate2(other, "int16")
        known = open_bundle(one.path)
        assert set(known.manifest.ctranslate2["formats"]) == {"float32", "int8", "int16"}
        known.verify()

    def test_each_waits_for_the_other(self, save):
        bundle = save()
        script = (
            "import sys, pathlib\n"
            "from nmt_cli.bundle.folder import changing, open_bundle, rewrite_manifest\n"
            "with changing(open_bundle(pathlib.Path(sys.argv[1]))) as now:\n"
            "    rewrite_manifest(now, licence=now.manifest.licence + 'b')\n"
        )
        with changing(bundle) as now:
            other = subprocess.Popen([sys.executable, "-c", script, str(bundle.path)])
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(timeout=1)
            rewrite_manifest(now, licence="a")
        assert other.wait(timeout=60) == 0
        assert open_bundle(bundle.path).manifest.licence == "ab"

    def test_leftovers_of_a_killed_export_go(self, save):
        bundle = save()
        half = bundle.path / "ctranslate2" / ".int8.writing-x"
        half.mkdir()
        (half / "model.bin").write_bytes(b"half")
        (bundle.path / ".bundle.json.writing-x").write_text("{")
        add_ctranslate2(bundle, "int8")
        assert not [name for name in files_below(bundle.path) if "writing" in name]

    def test_another_model_is_left_alone(self, save, weights):
        old = save()
        save(weights={name: array + 1 for name, array in weights.items()})
        with pytest.raises(ModelFileError, match="another model there meanwhile"), changing(old):
            pytest.fail("changed")


class TestFind:
    @pytest.fixture
    def runs(self, here, save):
        """Three runs below runs/: "old" and "new" translate, "talk" chats and is the newest."""
        for age, (name, task) in enumerate(
            [("talk", "chat"), ("new", "translation"), ("old", "translation")]
        ):
            save(f"runs/{name}/model", task, training={"pairs": age})
            os.utime(here / "runs" / name / "model" / MANIFEST, (1e9 - age, 1e9 - age))
        (here / "runs" / "unfinished").mkdir()
        (here / "runs" / "a-file").touch()
        return here / "runs"

    def found(self, model: str | None, *tasks: TaskFacts) -> str:
        return str(find_bundle(model, *tasks).path)

    def problem(self, model: str | None, *tasks: TaskFacts) -> ModelFileError:
        with pytest.raises(ModelFileError) as caught:
            find_bundle(model, *tasks)
        assert caught.value.exit_code == 4
        return caught.value

    def test_a_bundle_or_a_run_folder_may_be_named(self, runs):
        assert self.found("runs/old/model", TRANSLATION) == "runs/old/model"
        assert self.found("runs/old", TRANSLATION) == "runs/old/model"
        assert self.found(str(runs / "talk"), TRANSLATION, CHAT) == str(runs / "talk/model")

    def test_the_newest_of_the_right_task_is_the_default(self, runs):
        assert self.found(None, TRANSLATION) == "runs/new/model"
        assert self.found(None, CHAT) == "runs/talk/model"
        assert self.found(None, TRANSLATION, CHAT) == "runs/talk/model"

    def test_the_environment_comes_before_the_newest(self, runs, monkeypatch):
        monkeypatch.setenv("NMT_MODEL", "runs/old")
        assert self.found(None, TRANSLATION) == "runs/old/model"

    def test_the_argument_comes_before_the_environment(self, runs, monkeypatch):
        monkeypatch.setenv("NMT_MODEL", "runs/old")
        assert self.found("runs/new", TRANSLATION) == "runs/new/model"

    def test_an_empty_environment_variable_says_nothing(self, runs, monkeypatch):
        monkeypatch.setenv("NMT_MODEL", "")
        assert self.found(None, TRANSLATION) == "runs/new/model"

    def test_a_run_that_is_named_like_its_model_folder(self, here, save):
        save("model/model")
        assert self.found("model", TRANSLATION) == "model/model"

    @pytest.mark.parametrize("model", ["runs/new", "runs/new/model", None])
    def test_after_a_crash_between_two_renames(self, runs, model):
        (runs / "new" / "model").rename(runs / "new" / ".model.previous")
        assert self.found(model, TRANSLATION) == str(Path("runs/new/.model.previous").resolve())

    def test_a_model_for_another_task(self, runs):
        assert str(self.problem("runs/talk", TRANSLATION)) == (
            "runs/talk: is a chat model, not for translation"
        )
        assert str(self.problem("runs/talk", TRANSLATION, CLASSIFICATION)) == (
            "runs/talk: is a chat model, not for translation or classification"
        )

    def test_a_folder_that_is_not_there(self, runs):
        assert str(self.problem("runs/no", TRANSLATION)) == "runs/no: no such folder"

    @pytest.mark.parametrize("typed", ["runs/tlak", "talk"])
    def test_a_run_that_is_probably_meant(self, runs, typed):
        assert str(self.problem(typed, CHAT)) == (
            f"{typed}: no such folder. Did you mean 'runs/talk'?"
        )

    def test_a_folder_without_a_model(self, runs):
        error = self.problem("runs/unfinished", TRANSLATION)
        assert str(error) == "runs/unfinished: contains no model (bundle.json is missing)"
        assert error.hint == "name a model folder or a run folder such as runs/quickstart"

    def test_the_environments_folder_is_named_when_it_is_wrong(self, runs, monkeypatch):
        monkeypatch.setenv("NMT_MODEL", "runs/no")
        assert str(self.problem(None, TRANSLATION)) == "runs/no: no such folder"

    def test_no_model_at_all_says_how_to_make_one(self, here):
        error = self.problem(None, TRANSLATION)
        assert str(error) == "no translation model below runs/"
        assert error.hint == "train one with: nmt train   (or name one with --model)"
        assert self.problem(None, CHAT).hint.startswith("train one with: nmt train chat ")
        assert str(self.problem(None, TRANSLATION, CHAT)) == (
            "no translation or chat model below runs/"
        )

    def test_models_of_other_tasks_are_none(self, runs):
        shutil.rmtree(runs / "talk")
        assert str(self.problem(None, CHAT)) == "no chat model below runs/"

    def test_a_damaged_one_is_told(self, runs):
        (runs / "new" / "model" / WEIGHTS).unlink()
        assert "missing from the model folder" in str(self.problem(None, TRANSLATION))
