"""Tests of nmt_cli/augmentation/making.py: what a given model makes, and that nobody else is in."""

import json
import shutil
from dataclasses import replace

import pytest
import yaml

from nmt_cli.api.model import Model, load
from nmt_cli.augmentation.made_pairs import read_pairs
from nmt_cli.augmentation.making import make
from nmt_cli.augmentation.pairing import Pairing
from nmt_cli.augmentation.plan import Augmentation
from nmt_cli.bundle.finding import find_bundle
from nmt_cli.bundle.manifest import MANIFEST, as_text, read_manifest
from nmt_cli.config.reading import load_config, to_yaml
from nmt_cli.errors import ConfigError
from nmt_cli.training.run_folder import RunFolder


@pytest.fixture
def plan_of(toy_corpus, toy_bundle, tmp_path, monkeypatch):
    """A function that makes a plan for a little of the toy corpus, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def plan(**options):
        settings = ["data.train=[{source: test.en, target: test.de}]"]
        loaded = load_config(str(toy_corpus / "toy.yaml"), settings)
        options = {"method": "distil", "models": [str(toy_bundle)], "drop": 0.0} | options
        return Augmentation(loaded=loaded, **options)

    return plan


def test_a_run_is_for_one_process(plan_of):
    plan = plan_of()
    with plan.run.locked(), pytest.raises(ConfigError, match="is using this run folder"):
        make(plan)
    assert not plan.folder.exists()


def test_the_cost_is_told_before_anything_is_made(plan_of):
    plan, told = plan_of(), []
    make(plan, tell=lambda line: told.append((line, plan.folder.exists())))
    assert "translate 12 lines" in told[0][0]
    assert told[1][0].startswith("together about")
    assert not told[1][1]


def test_without_a_reference_the_likeliest_is_taken_and_its_score_is_the_forced_one(
    plan_of, toy_corpus, toy_bundle
):
    lines = (toy_corpus / "dev.en").read_text().splitlines()
    plan = plan_of(monolingual=toy_corpus / "dev.en")
    path = make(plan)
    pairs = [*read_pairs([plan.pairs_of(plan.makers[0])])]
    assert [(pair["file"], pair["line"], pair["source"]) for pair in pairs] == [
        ("dev.en", number, line) for number, line in enumerate(lines, start=1)
    ]
    with load(toy_bundle, number_format="float32") as model:
        scores = model.score([(pair["source"], pair["target"]) for pair in pairs])
    assert [pair["score"] for pair in pairs] == pytest.approx([s.score for s in scores], abs=1e-4)
    trained_on = [corpus.file for corpus in load_config(str(path)).config.data.train]
    assert trained_on == ["given-1.jsonl", "made.jsonl"]


def test_a_model_with_another_number_format_alone_is_used_in_it(plan_of, toy_bundle, tmp_path):
    """A large one is imported so."""
    bundle = shutil.copytree(toy_bundle, tmp_path / "large")
    manifest = read_manifest(bundle / MANIFEST)
    files = {name: of for name, of in manifest.files.items() if "/float32/" not in name}
    known = {"auto": "int8", "formats": {"int8": {}}}
    text = as_text(replace(manifest, files=files, ctranslate2=known))
    (bundle / MANIFEST).write_text(text, "utf-8")
    shutil.rmtree(bundle / "ctranslate2" / "float32")
    plan = plan_of(models=[str(bundle)])
    make(plan)
    assert len([*read_pairs([plan.pairs_of(plan.makers[0])])]) == 12


def test_a_training_that_is_over_is_not_begun_again(plan_of, toy_bundle, monkeypatch):
    monkeypatch.setattr("nmt_cli.augmentation.making.exit_code", pytest.fail)
    plan = plan_of(method="diversify", models=[], time_limit="30m")
    for maker in plan.makers:
        training = plan.training(maker)
        run = RunFolder.of(training.config)
        shutil.copytree(toy_bundle, run.model)
        run.config.write_text(to_yaml(training.config, training.auto), "utf-8")
    make(plan)
    assert all(plan.pairs_of(maker).is_file() for maker in plan.makers)

    changed = plan.training(plan.makers[0]).config.model_copy(update={"seed": 99})
    RunFolder.of(changed).config.write_text(to_yaml(changed), "utf-8")
    plan.pairs_of(plan.makers[0]).unlink()
    with pytest.raises(ConfigError, match="forward-1 was trained with other settings: seed"):
        make(plan)


def test_a_training_that_goes_on_elsewhere_is_not_deleted(plan_of, monkeypatch):
    monkeypatch.setattr("nmt_cli.augmentation.making.time.sleep", lambda _: None)
    plan = plan_of(method="diversify", models=[], is_fresh=True)
    run = RunFolder.of(plan.training(plan.makers[0]).config)
    with run.locked(), pytest.raises(ConfigError, match="is using this run folder"):
        make(plan)
    assert run.path.is_dir()


def test_a_search_is_bounded_and_samples_only_if_told(plan_of, toy_bundle):
    plan, bundle = plan_of(), find_bundle(str(toy_bundle))
    decode = bundle.manifest.decode | {"sample": True}
    model = Model(replace(bundle, manifest=replace(bundle.manifest, decode=decode)))
    options = Pairing.of(plan, plan.makers[0], model).options
    assert (options.sample, options.max_length_ratio) == (False, 3.0)


def test_weights_that_made_pairs_do_not_have_are_told(plan_of):
    plan, told = plan_of(), []
    (corpus,) = plan.loaded.config.data.train
    plain = {"source": corpus.source, "target": corpus.target}
    settings = [f"data.train={json.dumps([plain, plain | {'weight': 0.5}])}"]
    loaded = load_config(plan.loaded.name, settings)
    make(replace(plan, loaded=loaded), tell=told.append)
    assert any("weights of data.train do not apply" in line for line in told)


def test_a_model_to_start_from_decides_what_the_file_leaves_open(plan_of, toy_bundle, toy_corpus):
    tree = yaml.safe_load((toy_corpus / "toy.yaml").read_text())
    tree |= {"train": tree["train"] | {"from": str(toy_bundle)}}
    del tree["model"]
    (toy_corpus / "start.yaml").write_text(yaml.safe_dump(tree))
    plan = plan_of()
    plan = replace(plan, loaded=load_config(str(toy_corpus / "start.yaml")))
    written = toy_corpus / "written.yaml"
    written.write_text(to_yaml(plan.training(plan.makers[0]).config))
    assert "d_model" not in yaml.safe_load(written.read_text())["model"]
    assert load_config(str(written)).config.train.start == str(toy_bundle)
