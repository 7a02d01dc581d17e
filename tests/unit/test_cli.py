"""Errors -> exit codes and messages, and the options before the subcommand, inside this process."""

import errno
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nmt_cli import __version__
from nmt_cli.cli import app
from nmt_cli.errors import ConfigError, DataError, ModelFileError, NmtError, TrainingError

runner = CliRunner()


@pytest.fixture
def failing(monkeypatch):
    """A function that lets `nmt info` raise an error and returns what that looked like."""

    def run(error: BaseException, *options: str):
        def fail(*_args, **_kwargs):
            raise error

        monkeypatch.setattr("nmt_cli.bundle.finding.find_bundle", fail)
        return runner.invoke(app, [*options, "info"])

    return run


@pytest.mark.parametrize(
    ("kind", "code"),
    [(NmtError, 5), (ConfigError, 2), (DataError, 3), (ModelFileError, 4), (TrainingError, 5)],
)
def test_every_kind_of_error_has_its_exit_code_and_two_lines(failing, kind, code):
    done = failing(kind("it broke", hint="mend it"))
    assert done.exit_code == code
    assert done.stderr == "error: it broke\nhint: mend it\n"
    assert done.stdout == ""


def test_several_problems_are_an_error_line_each(failing):
    assert failing(ConfigError("one\ntwo")).stderr == "error: one\nerror: two\n"


def test_debug_shows_where_an_error_comes_from(failing):
    assert "Traceback" in failing(DataError("it broke"), "--debug").stderr


@pytest.mark.parametrize(
    ("number", "name", "told"),
    [
        (errno.ENAMETOOLONG, "yyy", "error: yyy: File name too long\n"),
        (errno.EACCES, "yyy", "error: yyy: Permission denied\n"),
        (errno.ENOSPC, None, "error: No space left on device\nhint: is $TMPDIR full?"),
        (errno.ENOENT, None, "error: No such file or directory\nhint: is $TMPDIR full?"),
    ],
)
def test_what_the_system_refuses_is_no_bug(failing, number, name, told):
    error = OSError(number, os.strerror(number), name)
    assert failing(error).exit_code == DataError.exit_code
    assert failing(error).stderr.startswith(told)
    assert "Traceback" in failing(error, "--debug").stderr


def test_a_bug_says_so_and_keeps_the_traceback_in_a_file(failing, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = failing(ZeroDivisionError("oh"))
    assert done.exit_code == 1
    assert "error: this is a bug in nmt: ZeroDivisionError: oh" in done.stderr
    (file,) = tmp_path.iterdir()
    assert str(file) in done.stderr
    assert "Traceback" in file.read_text()
    assert "Traceback" not in done.stderr


def test_a_bug_with_debug_shows_the_traceback(failing, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert "ZeroDivisionError" in failing(ZeroDivisionError("oh"), "--debug").stderr


def test_ctrl_c_has_exit_code_130(failing):
    assert failing(KeyboardInterrupt()).exit_code == 130


def test_version():
    done = runner.invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"nmt {__version__}\n")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command(option):
    done = runner.invoke(app, [option])
    assert done.exit_code == 0
    for file in Path(__file__).parents[2].glob("nmt_cli/commands/*.py"):
        if f"def {file.stem}(" in file.read_text():
            assert f"\n  {file.stem} " in done.stdout


def test_an_unknown_command_names_the_nearest():
    done = runner.invoke(app, ["trian"])
    assert done.exit_code == 2
    assert "'train'" in done.stderr
