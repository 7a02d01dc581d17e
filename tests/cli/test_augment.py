"""`nmt augment` from text to a configuration: whole, killed on its way, with wrong options."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmt_cli.files import sha256_of
from nmt_cli.parts import Share, folder_of, part_file
from nmt_cli.training.run_folder import RunFolder

TINY = [
    "tokenizer.vocab_size=330", "model.d_model=16", "model.d_ff=16", "model.num_heads=2",
    "model.encoder_layers=1", "model.decoder_layers=1", "model.max_length=64", "train.max_steps=8",
    "train.eval_steps=8", "train.checkpoint_steps=2", "decode.beam_size=2", "decode.max_length=8",
    "data.dev=[{rows: 20}]", "data.test=[]",
]  # fmt: skip
SEVERAL = (
    "[{source: train.en, target: train.de, source_lang: en, target_lang: de},"
    " {source: train.de, target: train.en, source_lang: de, target_lang: en}]"
)
OPTIONS = [f"--set={setting}" for setting in TINY]
# When to kill it: once a file is there.
KILLS = ("toy-forward-1/checkpoints/step-00000004", "toy/augmented/forward-1.jsonl")
LONG = ["--set=train.max_steps=5000", "--set=train.eval_steps=5000"]


@pytest.fixture
def project(toy_corpus: Path, tmp_path: Path) -> Path:
    for side in ("en", "de"):
        lines = (toy_corpus / f"train.{side}").read_text("utf-8").splitlines()[:120]
        (tmp_path / f"train.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "toy.yaml").write_text(
        "name: toy\ntask: translation\ndata:\n"
        "  train: [{source: train.en, target: train.de}]\n  dev: [{rows: 20}]\n",
        "utf-8",
    )
    return tmp_path


def made_in(project: Path) -> dict[str, bytes]:
    folder = project / "runs" / "toy" / "augmented"
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def test_killed_and_run_again_it_makes_the_same_text(run_nmt, project, tmp_path_factory):
    started = time.monotonic()
    done = run_nmt("augment", "toy.yaml", "--drop=0", *OPTIONS, cwd=project)
    took = time.monotonic() - started
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "next: nmt train toy-augmented.yaml" in done.stderr
    whole = made_in(project)
    pairs = [json.loads(line) for line in whole["made.jsonl"].decode().splitlines()]
    assert {pair["from"] for pair in pairs} <= {"forward-1", "backward-1"}
    given = [json.loads(line) for line in whole["given-1.jsonl"].decode().splitlines()]
    for pair in pairs:
        side = "source" if pair["from"] == "forward-1" else "target"
        assert pair["file"] == "given-1.jsonl"
        assert pair[side] == given[pair["line"] - 1][side]

    at_random = [random.uniform(0.0, 0.5) * took for _ in range(3)]
    for kills in (KILLS, at_random):
        other = tmp_path_factory.mktemp("killed")
        for path in (*project.glob("train.*"), project / "toy.yaml"):
            (other / path.name).write_bytes(path.read_bytes())
        for moment in kills:
            kill(other, moment)
        done = run_nmt("augment", "toy.yaml", "--drop=0", *OPTIONS, cwd=other)
        assert done.returncode == 0, f"killed at {kills}: {done.stderr}"
        assert kills is at_random or "forward-1.jsonl: reused" in done.stderr
        assert made_in(other) == whole, f"killed at {kills}"

    done = run_nmt("train", "toy-augmented.yaml", "--dry-run", cwd=project)
    assert done.returncode == 0, done.stderr
    assert f"train: {len(given) + len(pairs):,} pairs" in done.stderr
    done = run_nmt("augment", "toy.yaml", "--tag=x", *OPTIONS, cwd=project)
    assert done.returncode == 2
    assert "was made with other settings: --tag" in done.stderr
    assert "start over with --fresh" in done.stderr


def kill(project: Path, moment: str | float) -> None:
    """Begin, and kill it: with what it began after some seconds, or alone once a file is there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", "augment", "toy.yaml", "--drop=0", *OPTIONS],
        cwd=project,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wanted = None if isinstance(moment, float) else project / "runs" / moment
    ends = time.monotonic() + (moment if isinstance(moment, float) else 240)
    try:
        while process.poll() is None and time.monotonic() < ends:
            if wanted is not None and wanted.exists():
                break
            time.sleep(0.02)
    finally:
        with contextlib.suppress(ProcessLookupError):  # it was done before that moment
            (os.kill if wanted else os.killpg)(process.pid, signal.SIGKILL)
        process.wait()
    assert wanted is None or wanted.exists()


def test_text_of_one_language_and_a_teacher(run_nmt, project, toy_corpus, toy_bundle):
    lines = (toy_corpus / "dev.en").read_text("utf-8").splitlines()
    (project / "more.de").write_text("\n".join([*lines, "", lines[0], ""]), "utf-8")
    options = ["--method=back-translate", "--monolingual=more.de", "--sample", "--tag=<bt> "]
    model = f"--model={toy_bundle}"
    done = run_nmt("augment", "toy.yaml", model, *options, "--drop=0", *OPTIONS, cwd=project)
    assert done.returncode == 0, done.stderr
    pairs = [json.loads(line) for line in made_in(project)["made.jsonl"].decode().splitlines()]
    assert {pair["target"] for pair in pairs} <= set(lines)
    assert all(pair["source"].startswith("<bt> ") for pair in pairs)

    options = ["--method=distil", "--fresh", "--drop=0", *OPTIONS]
    other = f"--model={toy_bundle.parent}"  # the same: an ensemble that decides as one of it does
    done = run_nmt("augment", "toy.yaml", model, other, *options, cwd=project)
    assert done.returncode == 0, done.stderr
    assert f"model-1: use {toy_bundle} and {toy_bundle.parent}; translate" in done.stderr
    made = made_in(project)
    assert set(made) == {"given-1.jsonl", "dev.jsonl", "model-1.jsonl", "made.jsonl"}
    assert "given-1" not in (project / "toy-augmented.yaml").read_text("utf-8")


def test_given_models_of_both_directions_diversify(run_nmt, project, toy_bundle):
    back = shutil.copytree(toy_bundle, project / "back") / "bundle.json"
    manifest = json.loads(back.read_text("utf-8"))
    manifest |= {"source_lang": manifest["target_lang"], "target_lang": manifest["source_lang"]}
    del manifest["crc32"]
    back.write_text(json.dumps(manifest), "utf-8")
    languages = ["--set=data.source_lang=en", "--set=data.target_lang=de"]
    options = [f"--model={toy_bundle}", "--model=back", "--copies=0", "--drop=0", *languages]
    done = run_nmt("augment", "toy.yaml", *options, *OPTIONS, cwd=project)
    assert done.returncode == 0, done.stderr
    made = made_in(project)
    assert {"model-1.jsonl", "model-2.jsonl"} <= set(made)
    given = [json.loads(line) for line in made["given-1.jsonl"].splitlines()]
    for name, side in (("model-1.jsonl", "source"), ("model-2.jsonl", "target")):
        pairs = [json.loads(line) for line in made[name].splitlines()]
        assert [pair[side] for pair in pairs] == [pair[side] for pair in given]
    assert "given-1" in (project / "toy-augmented.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--method=diversfy"], "not one of diversify, back-translate, distil. Did you mean 'div"),
        (["--method=back-translate"], "--method back-translate needs --monolingual FILE"),
        (["--monolingual=x"], "--monolingual FILE needs --method back-translate, or distil"),
        (["--method=distil", "--sample"], "--sample cannot be combined with --method distil"),
        (["--time=never"], "never"),
        (["--copies=99999999"], "--copies must be at most 100 (it is 99999999)"),
        (["--copies=0"], "--copies must be at least 1 without --model (it is 0)"),
        (["--drop=1"], "--drop must be 0 to 0.9 (it is 1)"),
        (["--set=task=chat"], "nmt augment is for task: translation"),
        (["--set=data.train=" + SEVERAL, "--set=data.dev=" + SEVERAL], "text of one direction"),
    ],
)
def test_options_that_do_not_fit(run_nmt, project, options, problem):
    done = run_nmt("augment", "toy.yaml", *options, cwd=project)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (project / "runs").exists()


def test_a_file_that_is_not_there_and_a_model_of_the_other_direction(run_nmt, project, toy_bundle):
    back = ["--method=back-translate", "--monolingual"]
    done = run_nmt("augment", "toy.yaml", *back, "none.de", *OPTIONS, cwd=project)
    assert (done.returncode, "none.de: no such file" in done.stderr) == (3, True)
    done = run_nmt("augment", "toy.yaml", *back, ".", *OPTIONS, cwd=project)
    assert (done.returncode, ".: is not a file" in done.stderr) == (3, True)
    languages = ["--set=data.source_lang=en", "--set=data.target_lang=de"]
    options = [*back, "train.de", f"--model={toy_bundle}", *languages, *OPTIONS]
    manifest = json.loads((toy_bundle / "bundle.json").read_text("utf-8"))
    assert (manifest["source_lang"], manifest["target_lang"]) == ("en", "de")
    done = run_nmt("augment", "toy.yaml", *options, cwd=project)
    assert (done.returncode, "needs a model de -> en" in done.stderr) == (2, True)


def test_starting_over_leaves_a_given_model_alone(run_nmt, project, toy_bundle):
    model = project / "runs" / "toy-backward-1"
    shutil.copytree(toy_bundle, model / "model")
    options = ["--method=back-translate", "--monolingual=train.de", "--model", str(model)]
    options += ["--set=data.source_lang=de", "--set=data.target_lang=en", "--fresh", "--drop=0"]
    done = run_nmt("augment", "toy.yaml", *options, *OPTIONS, cwd=project)
    assert "no such folder" not in done.stderr
    assert (model / "model" / "bundle.json").is_file()


def _while_it_trains(project):
    """Begin to augment; return the process when its first training has saved something."""
    started = subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", "augment", "toy.yaml", *OPTIONS, *LONG],
        cwd=project,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wanted = project / "runs" / "toy-forward-1" / "checkpoints" / "step-00000002"
    ends = time.monotonic() + 240
    while not wanted.exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return started


def test_a_training_whose_command_is_killed_stops_and_saves(project):
    started = _while_it_trains(project)
    started.kill()
    _, told = started.communicate(timeout=240)  # the end of what the training tells, too
    assert "stopping after this step, then saving" in told
    with RunFolder(project / "runs" / "toy-forward-1").locked():
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_training_that_is_stopped_saves_and_the_command_says_so(project, number, send):
    """Whether the signal is sent to this command alone, or to all that it began, too."""
    started = _while_it_trains(project)
    send(started.pid, number)
    _, told = started.communicate(timeout=120)
    assert started.returncode == 128 + number
    assert "saved at step" in told
    assert "the training of forward-1 was stopped; the same command resumes" in told
    assert "error" not in told


def test_a_command_that_is_stopped_while_a_model_translates_resumes(run_nmt, project, toy_bundle):
    folder = project / "runs" / "toy" / "augmented"
    text = (project / "train.en").read_text("utf-8")
    count = 150 * len(text.splitlines())
    (project / "more.en").write_text(text * 150, "utf-8")
    options = ["--method=distil", "--monolingual=more.en", f"--model={toy_bundle}", *OPTIONS]
    started = subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", "augment", "toy.yaml", *options],
        cwd=project,
        stderr=subprocess.PIPE,
        text=True,
    )
    ends = time.monotonic() + 240
    output, share = folder / "model-1.jsonl", Share(1, 3)
    first, record = part_file(output, share), folder_of(output) / "1-of-3.json"
    while not record.exists() and time.monotonic() < ends:
        time.sleep(0.005)
    started.terminate()
    _, told = started.communicate(timeout=120)
    assert started.returncode == 143
    assert "stopped at once; the same command starts again or resumes" in told
    assert not output.exists()
    assert not [*folder.rglob(".*")]

    first.write_text(first.read_text("utf-8").replace('"from"', '"marked": 1, "from"'), "utf-8")
    known = json.loads(record.read_text("utf-8")) | {"sha256": sha256_of(first)}
    record.write_text(json.dumps(known), "utf-8")
    done = run_nmt("augment", "toy.yaml", *options, cwd=project)
    assert done.returncode == 0, done.stderr
    assert not folder_of(output).exists()
    pairs = [*map(json.loads, output.read_text("utf-8").splitlines())]
    assert [pair["line"] for pair in pairs] == [*range(1, count + 1)]
    assert sum("marked" in pair for pair in pairs) in range(count // 4, count // 2)


def test_a_configuration_of_that_name_and_damaged_pairs_are_told(run_nmt, project, toy_bundle):
    options = ["--method=distil", f"--model={toy_bundle}", "--drop=0", *OPTIONS]
    result = project / "toy-augmented.yaml"
    result.write_text("name: mine\n", "utf-8")
    done = run_nmt("augment", "toy.yaml", *options, cwd=project)
    assert (done.returncode, "toy-augmented.yaml: exists already" in done.stderr) == (2, True)
    assert result.read_text("utf-8") == "name: mine\n"
    result.unlink()
    assert run_nmt("augment", "toy.yaml", *options, cwd=project).returncode == 0
    assert run_nmt("augment", "toy.yaml", *options, cwd=project).returncode == 0  # as it was

    pairs = project / "runs" / "toy" / "augmented" / "model-1.jsonl"
    pairs.write_bytes(pairs.read_bytes()[:-20])
    done = run_nmt("augment", "toy.yaml", *options, cwd=project)
    assert (done.returncode, "model-1.jsonl:100: damaged" in done.stderr) == (3, True)
    (pairs.parent / "plan.json").write_text("{", "utf-8")
    done = run_nmt("augment", "toy.yaml", *options, cwd=project)
    assert (done.returncode, "plan.json: damaged" in done.stderr) == (3, True)


def test_a_dry_run_tells_what_it_costs_and_writes_nothing(run_nmt, project):
    done = run_nmt("augment", "toy.yaml", "--copies=2", "--dry-run", *OPTIONS, cwd=project)
    assert done.returncode == 0, done.stderr
    told = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert told[:4] == ["forward-1", "backward-1", "forward-2", "backward-2"]
    assert "together about" in done.stderr
    assert not (project / "runs").exists()
