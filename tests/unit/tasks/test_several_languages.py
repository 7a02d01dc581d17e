"""One model of several languages, from its text to its answers."""

import asyncio
import json

import pytest

from nmt_cli.api.model import Model
from nmt_cli.bundle.folder import open_bundle
from nmt_cli.documents import plain
from nmt_cli.errors import ConfigError
from nmt_cli.evaluation.evaluator import read_examples
from nmt_cli.search.loading import EngineOptions
from nmt_cli.server.requests import RequestError
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.settings import Settings
from nmt_cli.server.translating import translate

CONFIG = """\
name: several
data:
  dir: {folder}
  train:
  - {{source: train.en, target: train.de, source_lang: en, target_lang: de}}
  - {{source: train.en, target: train.xx, source_lang: en, target_lang: xx}}
  dev:
  - {{source: dev.en, target: dev.de, source_lang: en, target_lang: de}}
  - {{source: dev.en, target: dev.xx, source_lang: en, target_lang: xx}}
  test: [{{source: test.en, target: test.xx, source_lang: en, target_lang: xx}}]
tokenizer: {{vocab_size: 400}}
model: {{d_model: 32, d_ff: 128, num_heads: 2, encoder_layers: 1, decoder_layers: 1,
        dropout: 0.0, max_length: 24}}
train: {{max_steps: 400, tokens_per_batch: 900, learning_rate: 5.0e-3, warmup_steps: 50,
        precision: float32, lanes: 1, eval_steps: 400, checkpoint_steps: 400,
        average_checkpoints: 1}}
decode: {{beam_size: 2, max_length: 24}}
"""


def other(line: str) -> str:
    """Return a line in the language xx: each word backwards."""
    return " ".join(word[::-1] for word in line.split())


@pytest.fixture(scope="module")
def bundle(toy_corpus, tmp_path_factory, train_toy):
    folder = tmp_path_factory.mktemp("several")
    for split in ("train", "dev", "test"):
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text(
                (toy_corpus / f"{split}.{language}").read_text()
            )
        lines = (folder / f"{split}.en").read_text().splitlines()
        (folder / f"{split}.xx").write_text("".join(f"{other(line)}\n" for line in lines))
    (folder / "several.yaml").write_text(CONFIG.format(folder=folder))
    return open_bundle(train_toy(folder / "several.yaml", folder))


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
def test_each_language_is_written_when_asked_for(bundle, engine, translate_toy_line, toy_corpus):
    lines = (toy_corpus / "test.en").read_text().splitlines()
    with Model(bundle, EngineOptions(engine=engine)) as model:
        for language, right in (("de", translate_toy_line), ("xx", other)):
            found = [t.text for t in model.translate(lines, to=language)]
            assert sum(map(str.__eq__, found, map(right, lines))) >= 10, found
            (best,) = model.translate(lines[:1], to=language, min_length=0)
            (forced,) = model.score([(lines[0], best.text)], to=language)
            assert forced.score == pytest.approx(best.score, abs=1e-3)
            (worse,) = model.score([(lines[0], best.text)], to="de" if language == "xx" else "xx")
            assert worse.score < forced.score - 1


def test_scores_are_by_direction_and_the_mean(bundle):
    dev = bundle.manifest.scores["dev"]
    assert list(dev) == ["bleu", "chrf", "bleu en-de", "chrf en-de", "bleu en-xx", "chrf en-xx"]
    mean = (dev["bleu en-de"]["score"] + dev["bleu en-xx"]["score"]) / 2
    assert dev["bleu"] == {"score": pytest.approx(mean), "signature": "mean of en-de, en-xx"}
    assert list(bundle.manifest.scores["test"]) == ["bleu", "chrf"]  # one direction


def test_the_manifest_and_the_card_tell_the_languages(bundle):
    manifest = bundle.manifest
    assert manifest.known_languages.text == "en -> de, xx"
    assert (manifest.source_lang, manifest.target_lang) == ("", "")
    assert manifest.vocabulary["tags"] == 2
    assert '"language": ["en", "de", "xx"]'.replace('"language"', "language") in (
        (bundle.path / "README.md").read_text()
    )


def test_without_a_language_it_says_which_there_are(bundle):
    with Model(bundle) as model:
        for ask in (model.translate, lambda texts: model.score([(texts[0], "x")])):
            with pytest.raises(ConfigError, match="2 languages: say which with --to") as error:
                ask(["the dog"])
            assert error.value.hint == "it writes: de, xx"
        with pytest.raises(ConfigError, match=r"--to dee: .* Did you mean 'de'"):
            model.translate(["the dog"], to="dee")


def test_evaluation_takes_the_directions_of_its_text(bundle):
    both, languages = read_examples(bundle, split="dev")
    assert {example.way for example in both} == {("en", "de"), ("en", "xx")}
    assert languages == "de, xx"
    one, language = read_examples(bundle, split="dev", way=("", "xx"))
    assert ({example.way for example in one}, language) == ({("en", "xx")}, "xx")


def test_commands_take_and_refuse_languages(bundle, run_nmt, tmp_path):
    model = ("-m", str(bundle.path))
    assert run_nmt("translate", *model, "the dog", cwd=tmp_path).returncode == 2
    wrong = run_nmt("translate", *model, "--to", "fr", "the dog", cwd=tmp_path)
    assert (wrong.returncode, "it writes: de, xx" in wrong.stderr) == (2, True)
    right = run_nmt("evaluate", *model, "--split", "dev", "--json", cwd=tmp_path)
    assert {"bleu", "bleu en-de", "chrf++ en-xx"} <= json.loads(right.stdout).keys(), right.stderr
    assert run_nmt("evaluate", *model, "--compare", "beam_size=1", cwd=tmp_path).returncode == 0
    both = run_nmt("evaluate", *model, "--split", "dev", "--compare", "n_best=1", cwd=tmp_path)
    assert (both.returncode, "choose one with --to" in both.stderr) == (2, True)
    speed = ("bench", *model, "--to", "xx", "--seconds", "0.1", "--batch", "1", "--format", "int8")
    assert run_nmt(*speed, cwd=tmp_path).returncode == 0
    assert "en -> de, xx" in run_nmt("info", *model, cwd=tmp_path).stdout


def test_a_server_translates_each_way(bundle):
    settings = Settings(models=[str(bundle.path)], engine=EngineOptions(threads=1))
    served = ServedModels(settings)
    try:
        model, way = served.for_pair("EN", "xx")
        assert (model.ways, way) == ([("en", "de"), ("en", "xx")], ("en", "xx"))
        with pytest.raises(RequestError, match=r"from 'de' to 'xx' \(served: en-de, en-xx\)"):
            served.for_pair("de", "xx")
        found = asyncio.run(translate(served, [plain.Page("dog")], (None, "xx")))
        assert found[0].source.language == "en"
        assert found[0].text == Model(bundle).translate(["dog"], to="xx")[0].text
    finally:
        served.close()
