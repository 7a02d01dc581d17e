"""Imported M2M-100 and NLLB models against what `transformers` made of them."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from nmt_cli.api.model import Model
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.pretrained.importing import import_model
from nmt_cli.search.loading import EngineOptions, load_engine, search_options
from nmt_cli.search.tensorflow_engine import load_engine as load_tensorflow_engine
from nmt_cli.tasks.losses import loss_sums
from nmt_cli.text.special_tokens import BOS_ID, EOS_ID, never_written
from nmt_cli.training.loop import train
from nmt_cli.training.run import prepare

PUBLISHED = Path(__file__).parents[2] / "data" / "pretrained"
WAYS = {"m2m_100": ("en", "de"), "nllb": ("eng_Latn", "deu_Latn")}
TOLERANCE = 1e-4  # of the largest logit; those in the file are rounded to 1e-5


@pytest.fixture(scope="module", params=WAYS)
def case(request, tmp_path_factory):
    """A bundle, its vocabularies and direction, the answers, and our id of each published one."""
    folder = PUBLISHED / request.param
    bundle = import_model(folder, tmp_path_factory.mktemp("imported") / request.param)
    answers = json.loads((folder / "answers.json").read_text())
    words = bundle.load_vocabularies()
    ours = {i: (words.target.ids([name]) or [None])[0] for i, name in enumerate(answers["names"])}
    way = WAYS[request.param]
    return SimpleNamespace(
        bundle=bundle,
        words=words,
        way=way,
        direction=words.direction(*way),
        answers=answers,
        ours={i: our for i, our in ours.items() if our is not None and our > BOS_ID},
    )


def sources(case) -> list[list[int]]:
    encoded = map(case.words.source.encode, case.answers["sources"])
    return [[*case.direction.source, *ids, EOS_ID] for ids in encoded]


def test_text_becomes_the_ids_of_the_published_tokenizer(case):
    for text, ids in zip(case.answers["texts"], case.answers["ids"], strict=True):
        found = [*case.direction.source, *case.words.source.encode(text), EOS_ID]
        assert found == [case.ours[i] for i in ids], text


def test_no_text_makes_a_token_of_a_language(case):
    tags = set(case.words.source.ids(case.words.languages.tokens))
    assert len(tags) == len(case.words.languages.tokens) > 2
    for text in (*case.words.languages.tokens, "</s> <unk> <pad>", "__de__x deu_Latn"):
        assert not {*range(BOS_ID + 2), *tags} & {*case.words.source.encode(text)} - {EOS_ID}


def test_logits_are_those_of_transformers(case):
    model = load_tensorflow_engine(case.bundle, batch_tokens=1024, threads=1).model
    rows = sources(case)
    padded = tf.constant([[*row, *[0] * (max(map(len, rows)) - len(row))] for row in rows])
    expected = np.array(case.answers["logits"])
    targets = [
        [BOS_ID, *(case.ours[i] for i in row[1:] if i != 1), *[0] * row.count(1)]
        for row in case.answers["targets"]
    ]
    is_real = np.array(targets) > 0
    states = model.decode(tf.constant(targets), model.start_cache(model.encode(padded)))
    logits = model.logits(states).numpy()
    never = never_written(len(case.words.target.tags))
    columns = [i for i, our in case.ours.items() if our not in never]
    assert len(columns) > 300
    found = logits[:, [case.ours[i] for i in columns]]
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected[is_real][:, columns], atol=TOLERANCE * largest)
    assert logits[:, never].max() < -9000


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
@pytest.mark.parametrize(("search", "beam_size"), [("greedy", 1), ("beam", 4)])
def test_outputs_are_those_of_transformers(case, engine, search, beam_size):
    running = load_engine(case.bundle, case.words, EngineOptions(engine=engine))
    options = search_options(case.bundle, beam_size=beam_size, max_length=20)
    options = options.override(prefix=case.direction.output, min_length=0, length_penalty=1.0)
    found = running.search(sources(case), options)
    expected = [[case.ours[i] for i in row] for row in case.answers[search]]
    assert [row[0].ids for row in found] == expected
    if search == "beam":  # the forced token counts for the length; its log-probability is 0
        scores = [row[0].score for row in found]
        np.testing.assert_allclose(scores, case.answers["beam_scores"], rtol=1e-3)
        ((first, *_),) = [running.score([sources(case)[0]], [expected[0]])]
        assert first[0] == 0.0
        assert sum(first) / len(first) == pytest.approx(scores[0], rel=1e-3)


def test_text_is_that_of_transformers(case):
    source, target = case.way
    with Model(case.bundle) as model:
        lines = case.answers["sources"]
        greedy = {"beam_size": 1, "max_length": 20, "min_length": 0}
        found = model.translate(lines, to=target, from_=source, split=False, **greedy)
        texts = [" ".join(text.split()) for text in case.answers["greedy_texts"]]
        assert [" ".join(t.text.split()) for t in found] == texts
        with pytest.raises(ConfigError, match="say which with --to"):
            model.translate(lines)
        with pytest.raises(ConfigError, match="say which with --from"):
            model.translate(lines, to=target)


def test_the_forced_token_has_no_part_in_the_loss(case):
    model = load_tensorflow_engine(case.bundle, batch_tokens=1024, threads=1).model
    source = tf.constant(sources(case)[:1])
    target = [*case.direction.output, *case.words.target.encode("two dogs"), EOS_ID]
    sums = loss_sums(model, source, tf.constant([target]), 0.1, None)
    assert float(sums.num_tokens) == len(target) - 1
    assert float(sums.plain) < 50 * len(target)
    assert float(sums.smoothed) < 50 * len(target)


def test_what_does_not_fit_is_one_line(tmp_path):
    for name, file in (("m2m_100", "vocab.json"), ("m2m_100", "sentencepiece.bpe.model"),
                       ("nllb", "tokenizer.json")):  # fmt: skip
        folder = tmp_path / f"{name}-{file}"
        shutil.copytree(PUBLISHED / name, folder)
        content = (folder / file).read_bytes()
        for broken in (content[:300], b"", b"{}"):
            (folder / file).write_bytes(broken)
            with pytest.raises(ModelFileError) as error:
                import_model(folder, tmp_path / "bundle")
            assert "\n" not in str(error.value)
        (folder / file).unlink()
        with pytest.raises(ModelFileError):
            import_model(folder, tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


def test_both_ways_are_learned_and_a_stopped_run_ends_as_one_that_was_not(
    case, toy_corpus, tmp_path, monkeypatch
):
    """Languages, tokens and `data.temperature` are as they were when a run resumes."""
    monkeypatch.chdir(tmp_path)
    (english, german) = case.way
    pair = {"source": "train.en", "target": "train.de"}
    there = pair | {"source_lang": english, "target_lang": german}
    back = {"source": "train.de", "target": "train.en"}
    back |= {"source_lang": german, "target_lang": english, "weight": 0.2}
    text = (toy_corpus / "toy.yaml").read_text().split("tokenizer:")[0]
    (tmp_path / "tune.yaml").write_text(text + "tokenizer: auto\nmodel: auto\ntrain: auto\n")
    settings = [f"data.dir={toy_corpus}", "data.test=[]", f"data.train={[there, back]}"]
    settings += [f"data.source_lang={english}", f"data.target_lang={german}"]
    settings += ["data.temperature=3", "train.max_steps=3", "train.checkpoint_steps=1"]
    settings += ["train.eval_steps=3", "train.learning_rate=1e-3", f"train.from={case.bundle.path}"]
    weights = []
    for name in ("whole", "stopped"):
        loaded = load_config(str(tmp_path / "tune.yaml"), [*settings, f"name={name}"])
        prepared = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)
        if name == "stopped":
            counts = iter(range(9))
            list(train(prepared, lambda counts=counts: next(counts) >= 2))
        list(train(prepared))
        last = prepared.folder.checkpoints / "step-00000003" / "weights.safetensors"
        weights.append(load_file(last))
    name = "encoder.layer1.feed_forward.inner.kernel"
    assert (weights[0][name] != case.bundle.load_weights()[name]).any()
    for name, array in weights[0].items():
        np.testing.assert_array_equal(weights[1][name], array)
