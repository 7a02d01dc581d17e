"""Tests of nmt_cli/api: the library gives what the commands print."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from small_bundles import own_bundle

import nmt_cli
from nmt_cli.errors import ConfigError, ModelFileError

LINES = ["red dog", "", "two cats\nrun", "blue fish", "  red  "]


@pytest.fixture
def model(toy_bundle):
    with nmt_cli.load(toy_bundle) as loaded:
        yield loaded


def test_translations_are_those_of_the_command(model, toy_bundle, run_nmt, tmp_path):
    found = model.translate(LINES, beam_size=3, n_best=2)
    typed = "".join(f"{' '.join(line.splitlines())}\n" for line in LINES)
    arguments = ["-m", str(toy_bundle), "--beam", "3", "--n-best", "2", "--json"]
    done = run_nmt("translate", *arguments, input=typed, cwd=tmp_path)
    for translation, line in zip(found, done.stdout.splitlines(), strict=True):
        printed = json.loads(line)
        assert translation.source == printed["source"]
        assert [h.text for h in translation.hypotheses] == [
            h["text"] for h in printed["hypotheses"]
        ]
        assert translation.text == printed["hypotheses"][0]["text"]
        assert translation.score == pytest.approx(printed["hypotheses"][0]["score"])
        assert translation.tokens == printed["hypotheses"][0]["tokens"]


def test_a_score_is_that_of_the_search(model):
    (best,) = model.translate(["red dog"], beam_size=2)
    (scored,) = model.score([("red dog", best.text)])
    assert scored.score == pytest.approx(best.score, abs=1e-3)
    (plain,) = model.score([("red dog", best.text)], length_penalty=0)
    assert plain.score == pytest.approx(sum(plain.log_probs))


def test_a_model_of_single_sentences_gets_them_one_by_one(model):
    assert model.bundle.manifest.training["sentences"] == 1
    (together,) = model.translate(["Red. Dog."])
    assert len(together.hypotheses[0].parts) == 2
    (whole,) = model.translate(["Red. Dog."], split=False)
    assert len(whole.hypotheses[0].parts) == 1


def test_more_hypotheses_than_the_beam_widen_it(model):
    own = model.search_options().beam_size
    assert model.search_options(n_best=own + 1).beam_size == own + 1
    with pytest.raises(ConfigError, match="n_best needs a beam"):
        model.search_options(["sample=true"], n_best=2)


@pytest.mark.parametrize("settings", [["top_k=3"], ["top_k=3", "beam_size=4"], ["sample=true"]])
def test_a_setting_that_the_beam_leaves_without_effect_is_refused(model, settings):
    with pytest.raises(ConfigError, match="cannot be combined with sampling"):
        model.search_options(settings, beam_size=4)
    assert model.search_options(["beam_size=4"], beam_size=3).beam_size == 3


@pytest.mark.parametrize(
    "options", [{"beam": 5}, {"beam_size": 0}, {"sample": True, "beam_size": 3}]
)
def test_an_option_that_cannot_be_is_refused(model, options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        model.translate(["red"], **options)


def test_a_model_is_used_for_its_own_task_only(model, label_bundle):
    with pytest.raises(ModelFileError, match="translation model, not for chat"):
        model.chat()
    with pytest.raises(ModelFileError, match="classification model, not for translation"):
        nmt_cli.load(label_bundle).translate(["red"])


def test_how_to_sample_is_said_by_who_wants_to(toy_chat):
    chat = nmt_cli.load(toy_chat)
    assert chat.chat(seed=3, temperature=0.5).search.sample
    session = chat.chat(history_turns=1, persona="I am a cook.")
    assert not session.search.sample
    assert (session.options.history_turns, session.options.persona) == (1, "I am a cook.")
    first, second = (chat.chat(seed=3, temperature=1.0).reply("hi").text for _ in range(2))
    assert first == second
    assert session.reply("hi").text == session.turns[1]


def test_a_stream_is_the_reply(toy_chat):
    chat = nmt_cli.load(toy_chat)
    said = "".join(chat.chat(beam_size=1, sample=False).stream("hi"))
    assert said == chat.chat(beam_size=1, sample=False).reply("hi").text


def test_labels_keep_the_order_of_texts(label_bundle):
    found = nmt_cli.load(label_bundle).classify(["the dog was sad", "", "the film was fine"])
    assert [one.labels for one in found] == [["bad"], [], ["good"]]
    assert sum(found[0].probabilities.values()) == pytest.approx(1)


def test_threads_share_a_model(model):
    lines = [f"{colour} {thing}" for colour in ("red", "blue", "two") for thing in ("dog", "fish")]
    alone = [model.translate([line])[0].text for line in lines]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda line: model.translate([line])[0].text, lines)) == alone


def test_a_pickled_model_is_the_same(model):
    twin = pickle.loads(pickle.dumps(model))
    assert (twin.bundle.path, twin.options) == (model.bundle.path.resolve(), model.options)
    assert twin.translate(["red dog"])[0].text == model.translate(["red dog"])[0].text


def test_an_ensemble_is_loaded_and_pickled_as_its_paths(model):
    both = nmt_cli.load([model.bundle.path, model.bundle.path.parent])
    twin = pickle.loads(pickle.dumps(both))
    assert [one.path for one in twin.bundle.partners] == [model.bundle.path.resolve()]
    assert twin.translate(["red dog"])[0].text == model.translate(["red dog"])[0].text


def test_a_model_with_one_for_the_other_direction_is_pickled_too(model, tmp_path):
    backward = own_bundle(tmp_path, way=("de", "en"))
    both = nmt_cli.load(model.bundle.path, backward=backward.path)
    twin = pickle.loads(pickle.dumps(both))
    assert twin.bundle.backward.path == backward.path.resolve()
    assert twin.bundle.identity == both.bundle.identity != model.bundle.identity
    assert twin.translate(["red dog"]) == both.translate(["red dog"])


def test_an_ensemble_is_evaluated_with_options_of_search(model, toy_corpus):
    seen: list[str] = []
    both = [model.bundle.path, model.bundle.path.parent]
    text = str(toy_corpus)
    found = nmt_cli.evaluate(both, split="dev", data_dir=text, beam_size=1, on_engine=seen.append)
    assert "2 models" in seen[0]
    assert "beam_size 1," in found.results[0].settings["search"]


def test_a_closed_model_loads_again(model):
    before = model.translate(["red dog"])[0].text
    model.close()
    assert "engine" not in vars(model)
    assert model.translate(["red dog"])[0].text == before


def test_without_a_name_it_is_the_newest(toy_bundle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NMT_MODEL", raising=False)
    with pytest.raises(ModelFileError, match="no model below runs/"):
        nmt_cli.load()
    shutil.copytree(toy_bundle, tmp_path / "runs" / "toy" / "model")
    assert repr(nmt_cli.load()).startswith("<translation model toy")


def test_training_prints_nothing_and_ends_in_time(toy_corpus, tmp_path):
    program = (
        "import nmt_cli\n"
        "settings = {'train.precision': 'float32', 'train.lanes': 1, 'train.max_steps': 1000000}\n"
        f"config = {str(toy_corpus / 'toy.yaml')!r}\n"
        "events = list(nmt_cli.train(config, set=settings, time='15s'))\n"
        "assert isinstance(events[-1], nmt_cli.events.Finished)\n"
        "assert 0 < events[-1].step < 1_000_000\n"
    )
    usual = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=usual)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_there_is_no_other_name():
    with pytest.raises(AttributeError, match="nmt_cli"):
        nmt_cli.translate  # noqa: B018


def test_without_tensorflow_what_needs_it_says_so(toy_bundle, toy_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    model = nmt_cli.load(toy_bundle, engine="tensorflow")
    training = nmt_cli.train(toy_corpus / "toy.yaml")
    for use in (lambda: model.translate(["red dog"]), lambda: [*training]):
        with pytest.raises(nmt_cli.NmtError, match="this needs tensorflow, which is not installed"):
            use()
