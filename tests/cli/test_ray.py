"""`--ray` as a process, on a cluster of this machine: whole, killed, and with faulty input."""

import functools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.timeout(400)
WORDS = ("red", "blue", "two", "dog", "fish", "house")
# Small parts, so that a few lines are many of them.
PROGRAM = """
import sys
import nmt_cli.parts
nmt_cli.parts.LINES = 40
from nmt_cli.cli import main
sys.exit(main())
"""
QUICK = {"RAY_worker_niceness": "0", "RAY_enable_metrics_collection": "0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    generator = random.Random(3)
    lines = [" ".join(generator.choices(WORDS, k=generator.randint(1, 6))) for _ in range(400)]
    (folder / "in").mkdir()
    (folder / "in" / "a.txt").write_text("\n" + "".join(f"{line}\n" for line in lines[:330]))
    (folder / "in" / "b.txt").write_text("\n".join(lines[330:]))
    return folder


@pytest.fixture(scope="module")
def whole(folder, toy_bundle):
    """The outputs that one machine writes."""
    done = subprocess.run(
        [sys.executable, "-m", "nmt_cli", "translate", *_options(toy_bundle), "-o", "whole/"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (folder / "whole").iterdir()}


def _options(bundle):
    return ["-m", str(bundle), "-i", "in/*.txt", "--format", "float32"]


def _begin(folder, bundle, output, mark="none"):
    command = [sys.executable, "-c", PROGRAM, "translate", *_options(bundle), "-o", output]
    environment = os.environ | QUICK | {"NMT_TEST_MARK": mark}
    return subprocess.Popen(
        [*command, "--ray", "auto", "--ray-workers", "2"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def _workers(mark):
    """Return the processes that work for a command."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
            marked = f"NMT_TEST_MARK={mark}".encode() in (process / "environ").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::_Worker") and marked:
            found.append(int(process.name))
    return found


def _wait_for(what, process):
    until = time.monotonic() + 200
    while not what() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert what(), process.stderr and process.stderr.read()


def _outputs(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_cluster_writes_what_one_machine_writes(folder, toy_bundle, whole):
    process = _begin(folder, toy_bundle, "made/")
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert told == "wrote made/a.txt\nwrote made/b.txt\n"
    assert _outputs(folder / "made") == whole


def test_a_cluster_writes_to_a_store(folder, toy_bundle, whole, tmp_path):
    process = _begin(folder, toy_bundle, f"file://{tmp_path}/made/")
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert told.splitlines() == [f"wrote file://{tmp_path}/made/{name}" for name in sorted(whole)]
    assert _outputs(tmp_path / "made") == whole


def test_a_model_that_travels_leaves_no_copy(folder, toy_bundle, whole, tmp_path):
    far = """
from nmt_cli.lines import on_ray
of = on_ray._Folder.of
def of_elsewhere(path, **_):
    found = of(path, with_files=True)
    return on_ray._Folder("/nowhere", found.manifest, found.files)
on_ray._Folder.of = of_elsewhere
"""
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", far + PROGRAM, "translate", *_options(toy_bundle)]
    done = subprocess.run(
        [*command, "-o", f"{tmp_path}/far/", "--ray", "auto", "--ray-workers", "2"],
        cwd=folder,
        env=os.environ | QUICK | {"TMPDIR": str(tmp_path / "tmp"), "RAY_TMPDIR": "/tmp"},
        check=False,
    )
    assert done.returncode == 0
    assert _outputs(tmp_path / "far") == whole
    assert not list((tmp_path / "tmp").glob("nmt-*"))


def test_killed_processes_and_a_killed_command_cost_no_part(folder, toy_bundle, whole):
    parts = folder / "killed" / "a.txt.parts"
    process = _begin(folder, toy_bundle, "killed/", mark="first")
    _wait_for(lambda: _workers("first"), process)
    os.kill(_workers("first")[0], signal.SIGKILL)
    _wait_for(lambda: len([*parts.glob("*.json")]) >= 2, process)
    process.kill()
    process.communicate()
    made = {path: path.stat().st_mtime_ns for path in parts.glob("*.json")}
    process = _begin(folder, toy_bundle, "killed/", mark="second")
    _wait_for(lambda: _workers("second"), process)
    assert {path: path.stat().st_mtime_ns for path in made} == made
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert _outputs(folder / "killed") == whole


def test_two_commands_at_once_have_a_cluster_each(folder, toy_bundle, whole):
    marks = ("fourth", "fifth")
    processes = []
    for mark in marks:
        processes.append(_begin(folder, toy_bundle, f"{mark}/", mark=mark))
        _wait_for(functools.partial(_workers, mark), processes[-1])
    for mark, process in zip(marks, processes, strict=True):
        _, told = process.communicate()
        assert process.returncode == 0, told
        assert _outputs(folder / mark) == whole


def test_a_command_that_is_told_to_stop_says_nothing(folder, toy_bundle, whole):
    process = _begin(folder, toy_bundle, "stopped/", mark="third")
    _wait_for(lambda: _workers("third"), process)
    process.terminate()
    _, told = process.communicate()
    assert (process.returncode, told) == (-signal.SIGTERM, "")
    while _workers("third"):  # what Ray started ends, too
        time.sleep(0.1)


def test_a_cluster_encodes_what_one_machine_encodes(run_nmt, toy_corpus, tmp_path):
    config = str(toy_corpus / "toy.yaml")
    on_ray = ("--encode", "--ray", "auto", "--ray-workers", "3")
    ways = {"one": [("--encode",)], "many": [on_ray, (), on_ray]}
    stored = {}
    for name, commands in ways.items():
        (folder := tmp_path / name).mkdir()
        done = [
            run_nmt("tokenize", config, *options, cwd=folder, env=os.environ | QUICK)
            for options in commands
        ]
        files = (file for file in folder.glob("runs/toy/shards/*/*") if file.is_file())
        stored[name] = {file.relative_to(folder): file.read_bytes() for file in files}
    assert [one.returncode for one in done] == [2, 0, 0], done[1].stderr
    problem, hint = done[0].stderr.splitlines()[-2:]  # the vocabulary comes first
    assert (problem, hint[:5]) == ("error: runs/toy: has no vocabulary of this text", "hint:")
    assert stored["many"] == stored["one"]


def test_a_cluster_makes_the_pairs_that_one_machine_makes(toy_corpus, toy_bundle, tmp_path):
    made = {}
    for name, on_ray in {"here": (), "there": ("--ray", "auto", "--ray-workers", "2")}.items():
        (folder := tmp_path / name).mkdir()
        command = ["augment", str(toy_corpus / "toy.yaml"), "-m", str(toy_bundle), *on_ray]
        command += ["--method", "distil"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *command],
            cwd=folder,
            env=os.environ | QUICK,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        made_by_model = folder / "runs" / "toy" / "augmented" / "model-1.jsonl"
        pairs = map(json.loads, made_by_model.read_text("utf-8").splitlines())
        made[name] = [(pair.pop("score"), pair) for pair in pairs]
        assert not made_by_model.with_name("model-1.jsonl.parts").exists()
    (scores, pairs), (others, other_pairs) = (zip(*made[name], strict=True) for name in made)
    assert len(pairs) > 40
    assert pairs == other_pairs
    assert scores == pytest.approx(others, abs=1.5e-4)  # rounded; batches are others


def test_scores_and_labels_too(run_nmt, folder, toy_bundle, label_bundle):
    for command in (
        ("classify", "-m", str(label_bundle), "-i", "in/b.txt"),
        ("score", "-m", str(toy_bundle), "-i", "in/b.txt", "--reference", "in/b.txt"),
    ):
        assert run_nmt(*command, "-o", "here", cwd=folder).returncode == 0
        done = run_nmt(*command, "-o", "there", "--ray", "auto", cwd=folder, env=os.environ | QUICK)
        assert (done.returncode, done.stderr) == (0, "wrote there\n")
        assert (folder / "there").read_bytes() == (folder / "here").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--ray", "auto"), 2, "--ray needs --input and --output with files"),
        (("--ray", "auto", "--shard", "1/2"), 2, "give either --ray or --shard"),
        (("--ray", "auto", "-i", "in/a.txt", "-o", "x", "--ray-workers", "0"), 2, "at least 1"),
        (("--ray", "auto", "-i", "in/a.txt", "-o", "x", "--ray-workers", "99"), 2, "has room for"),
        (("-i", "in/a.txt", "-o", "x", "--ray-workers", "2"), 2, "--ray-workers needs --ray"),
        (("--ray", "127.0.0.1:1", "-i", "in/a.txt", "-o", "x"), 5, "no cluster can be reached"),
        (("--ray", "here", "-i", "in/a.txt", "-o", "x"), 2, "--ray here: give auto, HOST:PORT or"),
        (("--ray", "auto", "-i", "in/no", "-o", "x"), 3, "in/no: cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told(run_nmt, folder, toy_bundle, arguments, code, told):
    done = run_nmt("translate", "-m", str(toy_bundle), *arguments, cwd=folder)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert not (folder / "x").exists()


def test_without_ray_the_package_is_named(run_nmt, folder, toy_bundle, tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    options = ("-i", "in/a.txt", "-o", "x", "--ray", "auto")
    done = run_nmt("translate", "-m", str(toy_bundle), *options, cwd=folder, env=environment)
    assert done.returncode == 5
    assert done.stderr == (
        "error: --ray needs Ray, which is not installed\nhint: pip install 'nmt-cli[ray]'\n"
    )
