"""A stopped run with `data.placeholders` ends bit for bit as one at one go; the model in use.

`data.glossary` is on as well.
"""

import hashlib
from dataclasses import replace

import pytest

from nmt_cli.api.model import load
from nmt_cli.config.reading import load_config
from nmt_cli.documents.protected import ProtectedTranslating
from nmt_cli.errors import ConfigError
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.search.glossary import Glossary
from nmt_cli.text.special_tokens import PLACEHOLDERS
from nmt_cli.training.loop import train
from nmt_cli.training.run import prepare

quiet_tensorflow()

SHORT = (
    "data.placeholders=true",
    "data.glossary=true",
    "data.test=[]",
    "model.dropout=0.1",
    "tokenizer.dropout=0.1",
    "train.max_steps=40",  # of more than one epoch
    "train.eval_steps=20",
    "train.checkpoint_steps=5",
    "decode.beam_size=1",
)


def _prepared(toy_corpus, *settings):
    loaded = load_config(str(toy_corpus / "toy.yaml"), [*SHORT, *settings])
    return prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)


def test_a_stopped_run_ends_with_the_same_bytes(toy_corpus, tmp_path, monkeypatch):
    hashes = []
    for stops in ((), (33,)):
        folder = tmp_path / f"stopped-{len(stops)}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        for stop in stops:
            events = []
            for event in train(
                _prepared(toy_corpus), lambda seen=events, at=stop: seen[-1].step == at
            ):
                events.append(event)
        list(train(_prepared(toy_corpus)))
        weights = sorted((folder / "runs" / "toy" / "checkpoints").rglob("*.safetensors"))
        hashes.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in weights])
    assert hashes[0] == hashes[1] != []


@pytest.fixture(scope="module")
def tuned(toy_corpus, toy_bundle, tmp_path_factory):
    """The toy model, which has no placeholders, after some steps with them."""
    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path_factory.mktemp("tuned"))
    more = ("name=tuned", f"train.from={toy_bundle}", "train.max_steps=200", "train.eval_steps=200")
    prepared = _prepared(toy_corpus, *more, "tokenizer.dropout=0")
    list(train(prepared))
    path = prepared.folder.model.resolve()
    patch.undo()
    return path


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
def test_a_trained_model_learns_them(tuned, engine):
    model = load(tuned, engine=engine)
    assert model.vocabularies.target.placeholders
    assert model.translate(["big dog sees cat"])[0].text == "dick hund sieht katze"
    work = ProtectedTranslating(
        model=model, options=model.search_options(), protect=[r"[A-Z]+-\d+"]
    )
    lines = ["big dog sees X-12", "{name} eats bird and ACME-3", "X-1", "red cat"]
    found = list(work.found([lines]))
    assert found[3].text == "rot katze"
    assert found[2].text == "X-1"
    for line, kept in zip(found, (["X-12"], ["{name}", "ACME-3"]), strict=False):
        assert [line.text.count(one) for one in kept] == [1] * len(kept)
    assert set(PLACEHOLDERS) & set(found[0].tokens)  # it is the model that put it there
    with_terms = replace(work, glossary=Glossary(((("dog",), ("vogel",)),)))
    (one,) = with_terms.found([lines[:1]])
    assert sorted(one.text.split()) == ["X-12", "dick", "sieht", "vogel"]
    assert found[0].text == "dick hund sieht X-12"


def test_other_ways_to_hand_it_on(tuned, tmp_path):
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.evaluation.number_formats import export_saved_model
    from nmt_cli.pretrained.exporting import write_huggingface
    from nmt_cli.text.tokenizer import Subwords

    bundle = open_bundle(tuned)
    bundle.verify()
    write_huggingface(bundle, tmp_path / "hf")
    from tokenizers import Tokenizer

    written = Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    own = Subwords.load(tuned / "tokenizer.json")
    assert written.get_vocab() == own.tokenizer.get_vocab()
    text = f"big dog {PLACEHOLDERS[0]}"
    assert written.encode(text, add_special_tokens=False).ids == own.encode(text)
    assert export_saved_model(bundle, [], tmp_path / "saved") is not None


def test_an_imported_vocabulary_takes_none(toy_corpus, tmp_path, monkeypatch):
    from pathlib import Path

    from nmt_cli.pretrained.importing import import_model

    published = Path(__file__).parents[1] / "data" / "pretrained" / "marian"
    import_model(str(published), tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="takes no more tokens"):
        _prepared(toy_corpus, "name=x", f"train.from={tmp_path / 'model'}", "model={}",
                  "tokenizer.dropout=0")  # fmt: skip
