"""Marian models in the layout of `transformers`: other kinds of files, and damaged ones."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from sentencepiece import SentencePieceProcessor
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from nmt_cli.api.model import Model
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.pretrained.importing import import_model
from nmt_cli.pretrained.tensors import PICKLED, SAFE, read_tensors
from nmt_cli.text.special_tokens import CONTROL_TOKENS

PUBLISHED = Path(__file__).parents[2] / "data" / "pretrained" / "marian"


def test_pytorchs_file_holds_the_same_without_pytorch(tmp_path):
    shutil.copy(PUBLISHED / PICKLED, tmp_path)
    found, expected = read_tensors(tmp_path), load_file(PUBLISHED / SAFE)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.fixture
def copied(tmp_path) -> Path:
    return Path(shutil.copytree(PUBLISHED, tmp_path / "published"))


def change(path: Path, **changes) -> None:
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(values))


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_without_a_map_of_characters_only_spaces_around_a_text_are_left_out(copied, tmp_path):
    """A tab is a character, as SentencePiece has it, and no space."""
    model = ModelProto.FromString((copied / "source.spm").read_bytes())
    model.normalizer_spec.precompiled_charsmap = b""
    (copied / "source.spm").write_bytes(model.SerializeToString())
    theirs = SentencePieceProcessor(model_proto=model.SerializeToString())
    ours = import_model(copied, tmp_path / "bundle").load_vocabularies().source
    for text in ("\ta red dog \t", "  a  red dog ", " \u3000 dog\u3000", "\t", "   "):
        known = [piece if ours.ids([piece]) else "<unk>" for piece in theirs.encode_as_pieces(text)]
        assert ours.tokens(ours.encode(text)) == known


BREAKAGES = {
    "no configuration": lambda d: (d / "config.json").unlink(),
    "no vocabulary": lambda d: (d / "vocab.json").unlink(),
    "no tokenizer": lambda d: (d / "target.spm").unlink(),
    "no weights": lambda d: [(d / name).unlink() for name in (SAFE, PICKLED)],
    "weights cut short": lambda d: shorten(d / SAFE),
    "tokenizer cut short": lambda d: shorten(d / "source.spm"),
    "empty tokenizer": lambda d: (d / "source.spm").write_bytes(b""),
    "another family": lambda d: change(d / "config.json", model_type="t5"),
    "another width": lambda d: change(d / "config.json", d_model=32),
    "an odd width": lambda d: change(d / "config.json", d_model=17),
    "the end as a list": lambda d: change(d / "config.json", eos_token_id=[0]),
    "heads that do not fit": lambda d: change(
        d / "config.json", encoder_attention_heads=3, decoder_attention_heads=3
    ),
    "unknown activation": lambda d: change(d / "config.json", activation_function="mish"),
    "another vocabulary": lambda d: change(d / "config.json", vocab_size=99),
    "a size that is no number": lambda d: change(d / "config.json", d_model="many"),
    "more layers than there are": lambda d: change(d / "config.json", decoder_layers=9),
    "a vocabulary with a hole": lambda d: change(d / "vocab.json", extra=10_000),
}


@pytest.mark.parametrize("break_it", BREAKAGES.values(), ids=BREAKAGES.keys())
def test_what_is_damaged_is_one_line_and_leaves_nothing(copied, tmp_path, break_it):
    break_it(copied)
    with pytest.raises(ModelFileError) as error:
        import_model(str(copied), tmp_path / "bundle")
    assert "\n" not in str(error.value)
    assert str(copied) in str(error.value)
    assert not (tmp_path / "bundle").exists()


def test_the_token_of_a_target_language_begins_the_source(copied, tmp_path):
    """As `>>deu<< text` does in the original, but it is no part of the text."""
    ids = json.loads((copied / "vocab.json").read_text())
    taken = {">>deu<<": "\u2581yesterday", ">>fra<<": "\u2581tomorrow"}
    for tag, word in taken.items():
        ids[tag] = ids.pop(word)
    (copied / "vocab.json").write_text(json.dumps(ids))
    bundle = import_model(copied, tmp_path / "bundle")
    words, first = bundle.load_vocabularies(), len(CONTROL_TOKENS)
    assert set(words.languages.target) == {"deu", "fra"}
    direction = words.direction(None, "deu")
    (tag,) = direction.source
    assert words.source.tokens([tag]) == [">>deu<<"]
    assert (tag in range(first, first + 2), direction.output) == (True, ())
    assert not {first, first + 1} & {*words.source.encode(">>deu<< >>fra<< A red dog")}
    table = load_file(copied / "model.safetensors")["model.shared.weight"]
    np.testing.assert_array_equal(bundle.load_weights()["embedding"][tag], table[ids[">>deu<<"]])
    with Model(bundle) as model:
        (best,) = model.translate(["A red dog runs."], to="deu", beam_size=1, max_length=8)
        assert best.hypotheses[0].parts[0].source[0] == tag
        assert not set(best.tokens) & {*taken}
        with pytest.raises(ConfigError, match="say which with --to"):
            model.translate(["A red dog runs."])
