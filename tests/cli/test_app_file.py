"""Tests of `nmt export --app`, a program in one file, and of `nmt` without TensorFlow."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

import nmt_cli
from nmt_cli.bundle.app_file import MADE_FOR

PUBLISHED = Path(__file__).parents[1] / "data" / "pretrained"
BARE = [sys._base_executable, "-I", "-S"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="module")
def program(toy_bundle, run_nmt, folder):
    (folder / "toy.pyz").touch(mode=0o740)
    told = run_nmt("export", "-m", str(toy_bundle), "--app", "toy.pyz", "--json", cwd=folder)
    assert told.returncode == 0, told.stderr
    assert "python toy.pyz" in told.stderr
    record, size = json.loads(told.stdout), (folder / "toy.pyz").stat().st_size
    assert (record["path"], record["megabytes"]) == ("toy.pyz", size / 1e6)
    assert (folder / "toy.pyz").stat().st_mode & 0o777 == 0o740  # as the older file
    return folder / "toy.pyz"


@pytest.fixture(scope="module")
def run(program, folder):
    """Run the program as somebody who has nothing else: another home, no environment."""

    def run(*arguments, **options):
        command = [*BARE, str(program), *arguments]
        environment = {"HOME": str(folder / "home")}
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, **options
        )

    return run


def test_it_holds_what_using_a_model_needs_and_no_more(program):
    names = zipfile.ZipFile(program).namelist()
    packages = {Path(name).parts[1] for name in names if name.startswith("site-packages/")}
    assert {"ctranslate2", "tokenizers", "numpy", "nmt_cli", "nmt_model"} <= packages
    assert not packages & {"tensorflow", "keras", "matplotlib", "setuptools", "pip", "pytest"}
    assert not any(name.endswith("model.safetensors") for name in names)
    assert program.stat().st_size < 150e6


def test_a_text_and_a_file(run, folder, translate_toy_line):
    found = run("red dog")
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == translate_toy_line("red dog")
    (folder / "in.txt").write_text("red dog\ntwo cats run\n")
    assert run("-i", "in.txt", "-o", "out.txt").returncode == 0
    assert (folder / "out.txt").read_text().splitlines()[0] == translate_toy_line("red dog")


def test_another_command(run):
    assert "translation" in run("info").stdout
    assert run("--version").stdout.startswith("nmt ")
    refused = run("chat", "hello")
    assert refused.returncode == 4
    assert "not for chat" in refused.stderr


def test_serving(program, folder):
    command = [*BARE, str(program), "serve", "--port", "0"]
    environment = {"HOME": str(folder / "home")}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = next(line.split()[2] for line in process.stderr if line.startswith("serving on"))
            assert httpx.get(f"{url}/health", timeout=30).json() == {"status": "ok"}
        finally:
            process.terminate()
            assert process.wait(60) == 143


def test_another_python_is_told(program, run, folder):
    """The packages hold compiled code; another Python would end in a traceback."""
    unpacked = next((folder / "home" / ".shiv").glob("toy.pyz_*/site-packages"))
    made_for = unpacked / MADE_FOR
    kept = made_for.read_text()
    made_for.write_text("Python 3.99, Plan9 on m68k\n")
    refused = run("red dog")
    made_for.write_text(kept)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: this program needs Python 3.99")
    assert len(refused.stderr.splitlines()) == 1


def test_names_and_options_that_do_not_fit(toy_bundle, run_nmt, tmp_path):
    for wrong in (["--app", "toy.zip"], ["--app", "a.pyz", "--share", "a.zip"]):
        told = run_nmt("export", "-m", str(toy_bundle), *wrong, cwd=tmp_path)
        assert told.returncode == 2
        assert told.stderr.startswith("error: ")
    assert not list(tmp_path.iterdir())


def test_training_is_not_part_of_it(run):
    """Only what a model is for is a command; anything else is a text."""
    assert run("train").returncode == 0


@pytest.fixture(scope="module")
def without_tensorflow(tmp_path_factory):
    """The packages that are installed here, but for TensorFlow and Keras."""
    packages = tmp_path_factory.mktemp("packages")
    ours = Path(nmt_cli.__file__).parent
    installed = [Path(folder) for folder in sys.path if Path(folder).name == "site-packages"]
    for entry in [ours, *(entry for folder in installed for entry in folder.iterdir())]:
        is_left_out = entry.name.lower().startswith(("tensorflow", "keras"))
        if not is_left_out and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    return packages


def test_nmt_without_tensorflow(without_tensorflow, toy_bundle, toy_corpus, tmp_path):
    """All but training and the TensorFlow engine works; these say in one line what is missing."""
    shutil.copytree(toy_bundle, tmp_path / "model")

    def run(*arguments):
        code = (
            "import sys; sys.path.insert(0, sys.argv.pop(1)); from nmt_cli.cli import main; main()"
        )
        command = [*BARE, "-c", code, str(without_tensorflow), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    (tmp_path / "in.txt").write_text("red dog\n")
    source, target = toy_corpus / "dev.en", toy_corpus / "dev.de"
    for arguments in (
        ["translate", "-m", "model", "red dog"],
        ["translate", "-m", "model", "-i", "in.txt"],
        ["score", "-m", "model", "red dog", "dog red"],
        ["evaluate", "-m", "model", "-i", str(source), "--reference", str(target)],
        ["info", "model"],
        ["export", "-m", "model", "--share", "shared.zip"],
        ["init", "mine.yaml", "--train", str(source), str(target)],
        ["check", "mine.yaml"],
        ["tokenize", "mine.yaml"],
        ["import", str(PUBLISHED / "marian"), "imported"],
    ):
        found = run(*arguments)
        assert found.returncode == 0, (arguments, found.stderr)
    for arguments in (
        ["train", "mine.yaml"],
        ["translate", "-m", "model", "--engine", "tensorflow", "red dog"],
        ["export", "-m", "model", "--saved-model", "saved"],
    ):
        found = run(*arguments)
        assert found.returncode == 5, (arguments, found.stderr)
        assert "error: this needs tensorflow, which is not installed" in found.stderr
        assert "--engine" not in found.stderr  # not every command has it
        assert "Traceback" not in found.stderr
