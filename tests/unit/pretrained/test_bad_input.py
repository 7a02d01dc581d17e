"""Published models of every family that are damaged: one line, the right error, nothing left."""

import base64
import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sentencepiece import sentencepiece_model_pb2

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained.importing import FAMILIES, import_model
from nmt_cli.pretrained.tensors import SAFE

FOLDER = Path(__file__).parents[2] / "data" / "pretrained"
NAMES = sorted(path.name for path in FOLDER.iterdir())
WIDTH = ("d_model", "hidden_size")


def change(path: Path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def another_width(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    change(folder / "config.json", **{key: 32 for key in WIDTH if key in config})


def not_a_number(folder: Path) -> None:
    tensors = load_file(folder / SAFE)
    name = next(name for name, tensor in tensors.items() if tensor.ndim == 2)
    tensors[name][0, 1] = np.nan
    save_file(tensors, folder / SAFE)


def one_lacking(folder: Path) -> None:
    tensors = load_file(folder / SAFE)
    del tensors[max(tensors)]
    del tensors[next(name for name in tensors if "layer" in name and name.endswith("bias"))]
    save_file(tensors, folder / SAFE)


def without_vocabulary(folder: Path) -> None:
    for pattern in ("vocab*", "*.model", "tokenizer.json"):
        for path in folder.glob(pattern):
            path.unlink()


def vocabulary_too_large(folder: Path) -> None:
    if (folder / "vocab.txt").exists():
        with (folder / "vocab.txt").open("a") as stream:
            stream.writelines(f"more{i}\n" for i in range(99))
    elif (folder / "vocab.json").exists():
        known = json.loads((folder / "vocab.json").read_text())
        change(folder / "vocab.json", **{f"more{i}": len(known) + i for i in range(99)})
    elif (folder / "tokenizer.json").exists():
        known = json.loads((folder / "tokenizer.json").read_text())
        tokens = known["model"]["vocab"]
        tokens |= {f"more{i}": len(tokens) + i for i in range(99)}
        (folder / "tokenizer.json").write_text(json.dumps(known))
    else:
        shutil.copy(FOLDER / "marian" / "source.spm", folder / "sentencepiece.bpe.model")
        tensors = load_file(folder / SAFE)
        table = "embeddings.word_embeddings.weight"
        save_file(tensors | {table: tensors[table][:99]}, folder / SAFE)


BREAKAGES = {
    "no weights": lambda d: (d / SAFE).unlink(),
    "weights cut short": lambda d: (d / SAFE).write_bytes((d / SAFE).read_bytes()[:5000]),
    "another width": another_width,
    "not a number": not_a_number,
    "a weight is lacking": one_lacking,
    "no vocabulary": without_vocabulary,
    "a vocabulary too large": vocabulary_too_large,
    "a configuration that is none": lambda d: (d / "config.json").write_text("[1]"),
    "an unknown activation": lambda d: change(
        d / "config.json", activation_function="mish", hidden_act="mish"
    ),
    "a size that is no number": lambda d: change(d / "config.json", **dict.fromkeys(WIDTH, "many")),
    "another size of the vocabulary": lambda d: change(d / "config.json", vocab_size=9),
    "a family with little else": lambda d: (d / "config.json").write_text(
        json.dumps({"model_type": json.loads((d / "config.json").read_text())["model_type"]})
    ),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("break_it", BREAKAGES.values(), ids=BREAKAGES)
def test_what_is_damaged_is_one_line_and_leaves_nothing(tmp_path, name, break_it):
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    if (folder / "pytorch_model.bin").exists():
        (folder / "pytorch_model.bin").unlink()
    break_it(folder)
    with pytest.raises(ModelFileError) as error:
        import_model(folder, tmp_path / "bundle")
    assert "\n" not in str(error.value)
    assert str(folder) in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["published"]


@pytest.mark.parametrize("name", ["blenderbot-small", "blenderbot", "roberta"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_merges_that_were_cut_short_at_the_end_of_a_line_are_noticed(tmp_path, name, share):
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    lines = (folder / "merges.txt").read_text().splitlines(keepends=True)
    (folder / "merges.txt").write_text("".join(lines[: int(share * len(lines))]))
    with pytest.raises(ModelFileError, match="its merges were cut short"):
        import_model(folder, tmp_path / "bundle")


@pytest.mark.parametrize("name", ["bert", "electra"])
def test_a_list_of_tokens_that_was_cut_short_at_the_end_of_a_line_is_noticed(tmp_path, name):
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    lines = (folder / "vocab.txt").read_text().splitlines(keepends=True)
    (folder / "vocab.txt").write_text("".join(lines[:-20]))
    with pytest.raises(ModelFileError, match="its vocabulary was cut short"):
        import_model(folder, tmp_path / "bundle")


@pytest.mark.parametrize("name", ["marian", "xlm-roberta", "m2m_100"])
@pytest.mark.parametrize("field", ["trainer_spec", "normalizer_spec"])
def test_a_sentencepiece_model_that_was_cut_short_behind_a_field_is_noticed(tmp_path, name, field):
    """A part of such a file may be a whole message."""
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    file = folder / ("target.spm" if name == "marian" else "sentencepiece.bpe.model")
    model = sentencepiece_model_pb2.ModelProto.FromString(file.read_bytes())
    for later in ("normalizer_spec", field):
        model.ClearField(later)
    file.write_bytes(model.SerializeToString())
    with pytest.raises(ModelFileError, match=f"{file.name}: not a SentencePiece model, or cut"):
        import_model(folder, tmp_path / "bundle")


@pytest.mark.parametrize("name", ["marian", "bert"])
def test_a_configuration_with_fewer_layers_than_there_are_is_refused(tmp_path, name):
    """Such a model would compute something, and be wrong."""
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    change(folder / "config.json", encoder_layers=1, num_hidden_layers=1)
    with pytest.raises(ModelFileError, match="more layers of the encoder than"):
        import_model(folder, tmp_path / "bundle")


@pytest.mark.parametrize("size", ["16", None, -4, 0, 16.5, True, 10**8])
def test_a_size_that_is_none_is_named(tmp_path, size):
    folder = Path(shutil.copytree(FOLDER / "marian", tmp_path / "published"))
    change(folder / "config.json", d_model=size)
    with pytest.raises(ModelFileError, match="d_model must be a whole number from 1"):
        import_model(folder, tmp_path / "bundle")


def test_a_damaged_map_of_characters_is_one_line(tmp_path):
    folder = Path(shutil.copytree(FOLDER / "marian", tmp_path / "published"))
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((folder / "source.spm").read_bytes())
    model.normalizer_spec.precompiled_charsmap = b"damaged"
    (folder / "source.spm").write_bytes(model.SerializeToString())
    with pytest.raises(ModelFileError, match="cannot be used: Error while attempting to build"):
        import_model(folder, tmp_path / "bundle")


def broken_map(content: bytes, damage: str) -> bytes:
    """Return a map of characters whose sizes fit each other, and which leads out of itself."""
    end = 4 + int.from_bytes(content[:4], "little")
    if damage == "a step out of the trie":
        (first,) = struct.unpack_from("<I", content, 4)
        return content[:4] + struct.pack("<I", first | 0x7FFFFC00) + content[8:]
    if damage == "no steps":
        return bytes(4) + content[end:]
    texts = {
        "fewer texts": content[end : end + 100],
        "no texts": b"",
        "inside a letter": len(content[end:]) * "\u00e9".encode(),
    }
    return content[:end] + texts[damage]


@pytest.mark.parametrize(
    "damage", ["a step out of the trie", "no steps", "fewer texts", "no texts", "inside a letter"]
)
@pytest.mark.parametrize("name", ["marian", "nllb"])
def test_a_map_of_characters_that_leads_out_of_itself_is_noticed(tmp_path, name, damage):
    """Such a model would end the process at the first text that it cannot normalise."""
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    if name == "marian":
        file = folder / "source.spm"
        model = sentencepiece_model_pb2.ModelProto.FromString(file.read_bytes())
        spec = model.normalizer_spec
        spec.precompiled_charsmap = broken_map(spec.precompiled_charsmap, damage)
        file.write_bytes(model.SerializeToString())
    else:
        file = folder / "tokenizer.json"
        state = json.loads(file.read_text())
        (step,) = (s for s in state["normalizer"]["normalizers"] if s["type"] == "Precompiled")
        content = broken_map(base64.b64decode(step["precompiled_charsmap"]), damage)
        step["precompiled_charsmap"] = base64.b64encode(content).decode()
        file.write_text(json.dumps(state))
    with pytest.raises(ModelFileError, match=f"{file.name}: its map of characters is damaged"):
        import_model(folder, tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    ("name", "file"), [("marian", "source.spm"), ("xlm-roberta", "sentencepiece.bpe.model")]
)
def test_a_score_that_is_no_number_is_noticed(tmp_path, name, file):
    folder = Path(shutil.copytree(FOLDER / name, tmp_path / "published"))
    model = sentencepiece_model_pb2.ModelProto.FromString((folder / file).read_bytes())
    model.pieces[9].score = float("nan")
    (folder / file).write_bytes(model.SerializeToString())
    with pytest.raises(ModelFileError, match="the score of a token is not finite"):
        import_model(folder, tmp_path / "bundle")


def test_every_family_has_a_published_model_or_a_test_of_its_own():
    assert {*NAMES, "marian-npz"} == {*FAMILIES, "nllb"}  # NLLB is an M2M-100 with other tokens


def test_nothing_is_left_of_an_import_that_was_interrupted(tmp_path, monkeypatch):
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmt_cli.bundle.model_card.model_card", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_model(FOLDER / "bert")
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]
