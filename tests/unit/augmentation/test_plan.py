"""Tests of nmt_cli/augmentation/plan.py and forecast.py: what will be made, and what it costs."""

import shutil
from dataclasses import replace

import pytest

from nmt_cli.augmentation import forecast
from nmt_cli.augmentation.forecast import foretell
from nmt_cli.augmentation.made_pairs import write_pairs
from nmt_cli.augmentation.plan import Augmentation
from nmt_cli.bundle.manifest import MANIFEST, as_text, read_manifest
from nmt_cli.config.pace import spoken
from nmt_cli.config.reading import load_config
from nmt_cli.errors import ConfigError, DataError

STAGES = "train.stages=[{max_steps: 70, both_directions: true}, {max_steps: 50}]"


@pytest.fixture
def plan_of(toy_corpus, tmp_path, monkeypatch):
    """A function that makes a plan for the toy corpus, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def plan(*settings, method="distil", **options):
        loaded = load_config(str(toy_corpus / "toy.yaml"), list(settings))
        return Augmentation(loaded=loaded, method=method, **options)

    return plan


@pytest.fixture
def several(toy_bundle, tmp_path):
    """A model that says that it translates from en to de and to xx."""
    languages = {"source": {"en": ""}, "target": {"de": "<2de>", "xx": "<2xx>"}, "forced": False}
    manifest = read_manifest(toy_bundle / MANIFEST)
    vocabulary = manifest.vocabulary | {"tags": 2}
    names = {"source_lang": "", "target_lang": "", "languages": languages}
    text = as_text(replace(manifest, vocabulary=vocabulary, **names))
    folder = shutil.copytree(toy_bundle, tmp_path / "several")
    (folder / MANIFEST).write_text(text, "utf-8")
    return [str(folder)]


@pytest.fixture
def mono(tmp_path):
    path = tmp_path / "mono.de"
    path.write_text("고양이\n\n개와 고양이\n", "cp949")
    return path


def test_a_model_of_several_languages_is_told_which(plan_of, several):
    plan_of(models=several, to="DE")
    plan_of(models=several, to="de", from_="en")
    plan_of("data.target_lang=xx", models=several, to="xx")
    plan_of("data.target_lang=deu", models=several, to="de")  # another code for the same
    plan_of("data.source_lang=''", "data.target_lang=''", models=several, to="xx")  # not told


@pytest.mark.parametrize(
    ("options", "problem", "hint"),
    [
        ({}, "this model writes 2 languages: say which with --to", "it writes: de, xx"),
        ({"to": "dee"}, "this model writes no such language. Did you mean 'de'?", "de, xx"),
        ({"to": "de", "from_": "fr"}, "--from fr: this model reads no such language", "reads: en"),
        ({"to": "xx"}, "--method distil needs a model en -> de; .* translates en -> xx", ""),
    ],
)
def test_a_language_that_it_does_not_know_or_that_is_not_of_the_text(
    plan_of, several, options, problem, hint
):
    with pytest.raises(ConfigError, match=problem) as caught:
        plan_of(models=several, **options)
    assert hint in (caught.value.hint or "")


def test_languages_are_those_of_a_given_model(plan_of):
    with pytest.raises(ConfigError, match="--to and --from are for a --model"):
        plan_of(to="de")


def test_monolingual_text_is_in_the_encoding_of_the_text(plan_of, mono):
    plan = plan_of("data.encoding=cp949", method="back-translate", monolingual=mono)
    lines = [*plan.lines(plan.makers[0])]
    assert lines == [("mono.de", 1, "고양이", ""), ("mono.de", 3, "개와 고양이", "")]
    with pytest.raises(DataError, match=r"mono[.]de:1: not valid"):
        plan_of(method="back-translate", monolingual=mono)


def test_a_line_has_its_number_in_its_own_file(plan_of):
    both = ", ".join(["{source: train.en, target: train.de}"] * 2)
    plan = plan_of(f"data.train=[{both}]")
    for path, text in zip(plan.given, ("dog", "cat"), strict=True):
        write_pairs(path, [{"source": text, "target": text.upper()}])
    lines = [*plan.lines(plan.makers[0])]
    assert lines == [("given-1.jsonl", 1, "dog", "DOG"), ("given-2.jsonl", 1, "cat", "CAT")]


def test_pairs_that_were_made_of_other_columns_or_languages_are_not_used(plan_of):
    plan_of().keep()
    plan_of("data.dir=.").check_same()
    swapped = "data.train=[{source: train.de, target: train.en}]"
    with pytest.raises(ConfigError, match=r"other settings: data[.]train, the text$"):
        plan_of(swapped).check_same()


def test_a_forecast_counts_the_lines_to_translate_and_all_stages(plan_of, mono):
    back = {"method": "back-translate", "monolingual": mono}
    first, last = foretell(plan_of("data.encoding=cp949", STAGES, **back))
    assert first.startswith("backward-1: train 70 + 50 + 300 steps, about ")
    assert "; translate 2 lines, about 0s" in first
    assert last.startswith("together about ")
    (first, _) = foretell(plan_of(time_limit="5s"))
    assert first.startswith("forward-1: train up to 300 steps, about 5s; translate 1,500 lines")


def test_a_forecast_is_of_what_is_left_and_of_the_model_that_is_given(
    plan_of, toy_bundle, monkeypatch
):
    plan = plan_of(method="diversify")
    checkpoint = plan.run.path.with_name("toy-backward-1") / "checkpoints" / "step-00000120"
    checkpoint.mkdir(parents=True)
    write_pairs(plan.pairs_of(plan.makers[0]), [])
    first, second, _ = foretell(plan)
    assert first == "forward-1: made before, is reused"
    assert second.startswith("backward-1: train 180 steps")

    widths, search_seconds = [], forecast.search_seconds

    def noted(config, *others, beam_size):
        widths.append((config.model.d_model, beam_size))
        return search_seconds(config, *others, beam_size=beam_size)

    monkeypatch.setattr(forecast, "search_seconds", noted)
    foretell(plan_of("name=other", "model.d_model=64", models=[str(toy_bundle)]))
    assert widths == [(32, 5), (32, 1)]  # a teacher's hypotheses, and the forced score


def test_an_ensemble_takes_as_long_as_its_models(plan_of, toy_bundle, monkeypatch):
    monkeypatch.setattr(forecast, "search_seconds", lambda *_, **__: 0.5)  # and 0.5 for the score
    for number in (1, 2):
        (told, _) = foretell(plan_of(models=[str(toy_bundle)] * number))
        assert told.endswith(f"translate 1,500 lines, about {spoken(1500 * number)}")


def test_what_is_made_keeps_the_languages_and_the_glossary(plan_of, toy_corpus):
    (toy_corpus / "terms.tsv").write_text("dog\tHund\n", "utf-8")
    settings = ["data.source_lang=''", "data.target_lang=''", "data.glossary=terms.tsv"]
    for split in ("train", "dev", "test"):
        files = f"source: {split}.en, target: {split}.de, source_lang: en, target_lang: zh"
        settings.append(f"data.{split}=[{{{files}}}]")
    plan = plan_of(*settings, method="diversify")
    result = plan.result().data
    assert (result.source_lang, result.target_lang) == ("en", "zh")
    assert result.glossary == str((toy_corpus / "terms.tsv").resolve())
    forward, backward = (plan.training(maker).config.data for maker in plan.makers)
    assert (forward.source_lang, forward.target_lang, forward.glossary) == ("en", "zh", False)
    assert (backward.source_lang, backward.target_lang, backward.glossary) == ("zh", "en", False)


def test_a_backward_model_does_not_start_from_a_forward_one(plan_of, toy_bundle):
    settings = [f"train.from={toy_bundle}", "train.freeze=[encoder]", "train.learning_rate=1e-5"]
    plan = plan_of(*settings, method="diversify")
    forward, backward = map(plan.training, plan.makers)
    assert forward.config.train.start == str(toy_bundle)
    assert forward.config.train.freeze == ["encoder"]
    assert backward.config.train.start is None
    assert backward.config.train.freeze == []
    assert "train.learning_rate" in backward.auto - forward.auto


def test_the_way_of_a_model_is_not_guessed(plan_of, toy_bundle):
    unnamed = ["data.source_lang=''", "data.target_lang=''"]
    with pytest.raises(ConfigError, match="do not say which way it translates"):
        plan_of(*unnamed, method="diversify", models=[str(toy_bundle)])
