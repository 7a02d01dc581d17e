"""The command line answers at once: nothing heavy is imported before it is needed."""

import json
import subprocess
import sys

import pytest

HEAVY = ["tensorflow", "keras", "numpy", "tokenizers", "rich", "yaml", "pydantic", "safetensors",
         "sacrebleu", "prompt_toolkit", "ctranslate2", "matplotlib"]  # fmt: skip
COMMANDS = [
    "init",
    "tokenize",
    "train",
    "translate",
    "chat",
    "classify",
    "evaluate",
    "score",
    "export",
    "import",
    "bench",
    "info",
    "plot",
    "plot attention",
    "plot confusion",
    "plot curves",
    "plot lengths",
    "plot model",
    "plot positions",
    "plot schedule",
]
REPORT = f"\nimport sys, json\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"


def heavy_after(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_the_library_imports_nothing_of_it_yet():
    code = "import nmt_cli, sys; assert [m for m in sys.modules if 'nmt' in m] == ['nmt_cli']"
    assert heavy_after(code) == []


def test_importing_the_command_line_imports_nothing_heavy():
    assert heavy_after("import nmt_cli.cli") == []


@pytest.mark.parametrize("command", [[], *(c.split() for c in COMMANDS)], ids=["nmt", *COMMANDS])
def test_help_imports_nothing_heavy_and_shows_an_example(command):
    code = (
        "from nmt_cli.cli import app\n"
        f"try: app({[*command, '--help']!r}, prog_name='nmt')\n"
        "except SystemExit as stop: assert not stop.code"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT], capture_output=True, text=True, check=True
    )
    *help_lines, heavy = done.stdout.splitlines()
    assert json.loads(heavy) == []
    text = " ".join(" ".join(help_lines).split())
    assert "Usage: nmt" in text
    assert ("Example: nmt " if command else "nmt train") in text


def test_info_imports_no_tensorflow(toy_bundle):
    code = (
        "from nmt_cli.cli import app\n"
        f"try: app(['info', {str(toy_bundle)!r}], prog_name='nmt')\n"
        "except SystemExit as stop: assert not stop.code"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + "\nimport sys; print('tensorflow' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("command", "typed"), [(["translate", "a dog"], ""), (["translate"], "a dog\n")]
)
def test_translating_imports_nothing_but_the_fast_engine(toy_bundle, command, typed):
    """A person waits for these imports each time; pydantic alone would double them."""
    code = (
        "from nmt_cli.cli import app\n"
        f"try: app([*{command!r}, '-m', {str(toy_bundle)!r}, '--beam', '2'], prog_name='nmt')\n"
        "except SystemExit as stop: assert not stop.code"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT],
        input=typed,
        capture_output=True,
        text=True,
        check=True,
    )
    translation, heavy = done.stdout.splitlines()
    assert translation
    assert set(json.loads(heavy)) == {"ctranslate2", "tokenizers"}


def test_chatting_imports_nothing_but_the_fast_engine(toy_chat):
    code = (
        "from nmt_cli.cli import app\n"
        f"try: app(['chat', '-m', {str(toy_chat)!r}], prog_name='nmt')\n"
        "except SystemExit as stop: assert not stop.code"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT], input="hi\n", capture_output=True, text=True
    )
    assert set(json.loads(done.stdout.splitlines()[-1])) == {"ctranslate2", "tokenizers"}


def test_classifying_imports_the_fast_engine_and_numpy(label_bundle):
    code = (
        "from nmt_cli.cli import app\n"
        f"try: app(['classify', '-m', {str(label_bundle)!r}, 'it was sad'], prog_name='nmt')\n"
        "except SystemExit as stop: assert not stop.code"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT], capture_output=True, text=True, check=True
    )
    label, heavy = done.stdout.splitlines()
    assert label == "bad"
    assert set(json.loads(heavy)) == {"ctranslate2", "tokenizers", "numpy", "safetensors"}
