"""Tests of nmt_cli/training/stages.py: what each stage learns, and that stages resume."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from nmt_cli.api.functions import train
from nmt_cli.bundle.folder import open_bundle
from nmt_cli.config.reading import load_config, to_yaml
from nmt_cli.errors import ConfigError
from nmt_cli.events import Finished, Started, StepDone
from nmt_cli.training.fine_tuning import follow_start, open_start
from nmt_cli.training.stages import is_over, stages_left, stages_of, stages_to_do

BOTH = "train.stages=[{max_steps: 4, both_directions: true}]"
SHORT = ["train.max_steps=6", "train.eval_steps=6", "train.checkpoint_steps=2", BOTH]


@pytest.fixture
def config(toy_corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return str(toy_corpus / "toy.yaml")


def test_a_run_without_stages_is_itself(config):
    loaded = load_config(config)
    assert stages_of(loaded) == [loaded]


def test_a_configuration_needs_no_section_for_training(config, tmp_path):
    settings = yaml.safe_load(Path(config).read_text())
    del settings["train"]
    short = tmp_path / "short.yaml"
    short.write_text(yaml.safe_dump(settings))
    loaded = load_config(str(short))
    assert stages_of(loaded) == [loaded]


def test_the_first_stage_has_the_corpora_both_ways_and_the_last_starts_from_it(config):
    first, last = stages_of(load_config(config, SHORT))
    ways = [(corpus.source, corpus.target) for corpus in first.config.data.train]
    assert ways == [("train.en", "train.de"), ("train.de", "train.en")]
    assert (first.config.name, first.config.train.max_steps) == ("toy-stage-1", 4)
    assert (last.config.name, last.config.train.max_steps) == ("toy", 6)
    assert last.config.train.start == "runs/toy-stage-1"
    assert len(last.config.data.train) == 1


def test_a_stopped_run_resumes_in_its_stage_and_ends_with_the_same_weights(config):
    noisy = [*SHORT, "data.noise={typos: 0.5}"]
    events = list(train(config, set=[*noisy, "name=whole"]))
    assert [type(event) for event in events].count(Finished) == 2
    assert sum(isinstance(event, StepDone) for event in events) == 4 + 6

    for stop_after in (3, 5):  # in the first stage, then in the last
        for event in train(config, set=noisy):
            if isinstance(event, StepDone) and event.step == stop_after:
                break
    first, _ = stages_of(load_config(config, noisy))
    assert is_over(first)
    events = list(train(config, set=noisy))
    assert [event.step for event in events if isinstance(event, Started)] == [4]
    whole, stopped = (
        open_bundle(Path("runs", n, "model")).load_weights() for n in ("whole", "toy")
    )
    for name, array in whole.items():
        np.testing.assert_array_equal(array, stopped[name])


def test_a_stage_that_was_begun_again_resumes_and_what_follows_it_begins_again(config):
    list(train(config, set=SHORT))
    stop = iter([0, 1])
    list(train(config, set=SHORT, fresh=True, should_stop=lambda: next(stop, 1)))
    events = list(train(config, set=SHORT))
    assert [e.step for e in events if isinstance(e, Started)] == [1, 0]


def test_a_run_does_not_resume_after_another_model_took_the_place_of_its_start(config):
    list(train(config, set=SHORT))
    changed = [*SHORT, "train.stages.0.max_steps=5"]
    for event in train(config, set=changed, fresh=True):
        if isinstance(event, Finished):  # nobody asks for the run itself
            break
    with pytest.raises(ConfigError, match=r"toy was started .*: the model to start from$"):
        list(train(config, set=changed))


def test_a_stage_that_was_changed_needs_fresh(config):
    list(train(config, set=SHORT))
    weights = Path("runs", "toy", "model", "model.safetensors").read_bytes()
    for change in ("train.stages.0.max_steps=8", "train.label_smoothing=0.2", "seed=9"):
        name = change.replace("stages.0.", "").split("=")[0]
        with pytest.raises(ConfigError, match=f"toy-stage-1 was trained with other .*: {name}$"):
            list(train(config, set=[*SHORT, change]))
    assert Path("runs", "toy", "model", "model.safetensors").read_bytes() == weights
    loaded = load_config(config, [*SHORT, "train.eval_steps=3"])  # one that may change
    assert len(stages_left(loaded, is_fresh=False)) == 1


def test_other_text_needs_fresh_even_in_the_same_files(config, tmp_path):
    folder = shutil.copytree(Path(config).parent, tmp_path / "text")
    options = {"config": str(folder / "toy.yaml"), "set": SHORT}
    list(train(**options))
    text = folder / "train.de"
    text.write_text(text.read_text("utf-8").replace("hund", "Hund"), "utf-8")
    with pytest.raises(ConfigError, match=r"stage-1 was .* other .*: the training text$"):
        list(train(**options))


def test_no_model_is_lost_for_a_stage_that_comes_before_it(config):
    list(train(config, set=[*SHORT, "train.stages=[]"]))
    model = Path("runs", "toy", "model")
    with pytest.raises(ConfigError, match="runs/toy has begun, but not runs/toy-stage-1"):
        list(train(config, set=SHORT))
    assert model.is_dir()
    assert len(stages_left(load_config(config, SHORT), is_fresh=True)) == 2


def test_stages_keep_what_the_file_leaves_to_the_model_to_start_from(config, toy_bundle):
    open_ = Path(config).with_name("open.yaml")
    tree = yaml.safe_load(Path(config).read_text())
    del tree["model"]
    open_.write_text(yaml.safe_dump(tree))
    first, _ = stages_of(load_config(str(open_), [*SHORT, f"train.from={toy_bundle}"]))
    written = Path(config).with_name("written.yaml")
    written.write_text(to_yaml(first.config, first.auto))
    for stage in (first, load_config(str(written))):
        followed, _ = follow_start(stage, open_start(stage.config, Path("runs")), lambda _: None)
        assert followed.config.model.d_model == open_bundle(toy_bundle).manifest.model["d_model"]


def test_each_stage_has_its_share_of_the_time(config, toy_bundle):
    started = time.monotonic() - 10
    loaded = load_config(config, ["train.max_steps=6"])
    (whole,) = stages_to_do(loaded, is_fresh=False, time_limit=60, started=started)
    assert whole.time_limit == 60
    assert whole.ends_at == pytest.approx(started + 60)

    stages = stages_to_do(load_config(config, SHORT), is_fresh=False, time_limit=60)
    first = next(stages)
    assert first.time_limit == pytest.approx(60 * 4 / (4 + 6), abs=0.1)
    assert first.ends_at == pytest.approx(time.monotonic() + 24, abs=1)
    shutil.copytree(toy_bundle, Path("runs", "toy-stage-1", "model"))  # one that is over
    last = next(stages)
    assert (last.loaded.config.name, last.time_limit) == ("toy", pytest.approx(60, abs=1))


def test_a_dry_run_tells_of_the_stages_that_are_left(run_nmt, config):
    settings = [f"--set={setting}" for setting in SHORT]
    settings += ["--set=train.stages.1={max_steps: 5}", "--time=20s"]
    done = run_nmt("train", config, "--dry-run", *settings, cwd=Path())
    assert done.returncode == 0, done.stderr
    assert "stage 1 of 3: toy-stage-1\ntrain: 3,000 pairs" in done.stderr
    assert "then: toy-stage-2, 5 steps\nthen: toy, 6 steps" in done.stderr

    list(train(config, set=[*SHORT, "train.max_steps=1"]))
    shutil.rmtree("runs/toy")
    settings += ["--set=train.max_steps=auto"]
    done = run_nmt("train", config, "--dry-run", *settings, cwd=Path())
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("stage 2 of 3: toy-stage-2\n")
    assert "train: 1,500 pairs" in done.stderr
    assert "then: toy, steps chosen when it begins" in done.stderr


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("tokenizer.joint=false", "needs task: translation and tokenizer.joint: true"),
        ("data.dev=[{rows: 5}]", "needs files for dev and test"),
        ("data.train=[{file: pairs.tsv}]", "needs columns for each file of train"),
        ("train.stages=[{both_directions: true}]", "max_steps"),
    ],
)
def test_both_directions_need_what_they_need(config, setting, problem):
    with pytest.raises(ConfigError, match=problem):
        load_config(config, [BOTH, setting])


def test_the_sides_of_a_table_change_places(config):
    table = "data.train=[{file: pairs.tsv, columns: [a, b], weight: 2.0}]"
    first, _ = stages_of(load_config(config, [BOTH, table]))
    columns = [corpus.columns for corpus in first.config.data.train]
    assert columns == [["a", "b"], ["b", "a"]]
    assert {corpus.weight for corpus in first.config.data.train} == {2.0}
