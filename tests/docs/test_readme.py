"""README.md tells the truth: its commands run, its tables are those of the code."""

import re
import shlex
from pathlib import Path

import pytest

from nmt_cli.config_io import reference_markdown

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
# What every training of the README gets here, to take seconds instead of minutes.
SHORT = ["train.max_steps=4", "train.eval_steps=4", "train.checkpoint_steps=2", "model.d_model=16",
         "model.d_ff=16", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
         "decode.max_length=8", "decode.beam_size=2"]  # fmt: skip


def test_the_configuration_reference_is_up_to_date():
    marker = "<!-- configuration reference: {} -->"
    written = README.split(marker.format("begin") + "\n")[1].split(marker.format("end"))[0]
    assert written == reference_markdown()


def test_the_set_up_commands_are_the_known_ones():
    """The first is what a new user types; the second is what `.ci/run` calls, word for word."""
    set_up = [command for command in COMMANDS if "venv" in command]
    assert set_up == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/nmt train",
        "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest --cov -n 2",
    ]
    assert set_up[1] in (ROOT / ".ci" / "run").read_text()


def test_every_other_command_runs(run_nmt, tmp_path):
    """In the order of the README, in one folder; trainings are shortened by --set."""
    write_user_files(tmp_path)
    set_up, *rest = COMMANDS
    assert set_up.endswith("nmt train")
    commands = ["nmt train", *(command for command in rest if "venv" not in command)]
    assert len(commands) >= 8
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "nmt", command
        if arguments[0] == "train":
            arguments += [part for setting in SHORT for part in ("--set", setting)]
        options = {"input": "Hello!\n"} if arguments[0] == "chat" else {}
        done = run_nmt(*arguments, cwd=tmp_path, **options)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def write_user_files(folder: Path) -> None:
    """Put the files that the README's commands name into a folder."""
    for name, count in (("train", 400), ("dev", 20), ("test", 5)):
        for language in ("en", "de"):
            lines = (ROOT / "data" / "en-de" / f"{name}.{language}").read_text().splitlines()
            (folder / f"{name}.{language}").write_text("\n".join(lines[:count]) + "\n")
    (folder / "input.en").write_text("The old man reads a book.\n")


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5])
def test_every_exit_code_is_in_the_table(code):
    assert re.search(rf"^\| {code} \|", README, flags=re.MULTILINE)
