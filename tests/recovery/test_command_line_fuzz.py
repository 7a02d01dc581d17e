"""Type odd values for the options of every command: it works, or says in one line why it does not.

A few commands run as a test; many with:
python tests/recovery/test_command_line_fuzz.py MODEL 1000 [SEED]
"""

import contextlib
import io
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from nmt_cli.cli import app, main

LIMIT_S = 120
TOLD = {0, 2, 3, 4, 5}
NOT_TRIED = {"serve", "data get", "bench"}  # for ever, over the network, long
ALWAYS = {"train": ["--dry-run"], "augment": ["--dry-run"], "init": ["--yes"]}
OTHERWISE = {name: ["nmt.yaml"] for name in ("train", "augment", "check", "tokenize")}
SLOW = {"--app", "--saved-model", "--workers", "--worker-index", "--engine"}
NUMBERS = ["0", "-1", "1", "3", "1e3", "nan", "inf", "-inf", "1e-300", "2147483648", "9" * 30, "٣"]
TEXTS = ["", " ", "red dog", "-5 degrees", "\x1b[31m", "a\udc80", "x=y", "=", "ä" * 300, "{}", "😀"]
FILES = ["toy.tsv", "no", ".", "/dev/null", "/dev/full", "x/y", "a\nb", "~nobody/x", "y" * 5000]
NAMES = ["model", "int8", "float64", "tensorflow", "gpu", "auto", "nmt.yaml", "attention", "bleu"]
CONFIG = """\
name: toy
data: {train: [{file: toy.tsv}], dev: [{file: toy.tsv}]}
tokenizer: {vocab_size: 300}
model: {d_model: 8, d_ff: 8, num_heads: 2, encoder_layers: 1, decoder_layers: 1}
train: {max_steps: 2}
"""
SETTINGS = ["beam_size", "top_k", "model.d_model", "data.train", "seed", "train.lanes", "nothing"]


def commands() -> dict[str, Any]:
    """Return every command that is tried, by what is typed for it."""
    group = typer.main.get_command(app)
    found = {
        " ".join((*before, name)): command
        for before, commands in (((), group.commands), (("data",), group.commands["data"].commands))
        for name, command in commands.items()
    }
    return {name: command for name, command in found.items() if name not in {"data", *NOT_TRIED}}


def typed(generator: random.Random, name: str, command: Any) -> list[str]:
    """Return a command line with some of a command's options and odd values."""
    words = [*name.split(), *ALWAYS.get(name, [])]
    with typer.Context(command) as context:
        params = command.get_params(context)
    options = [o for o in params if o.param_type_name == "option" and not SLOW & {*o.opts}]
    if generator.random() < 0.7 and any("--model" in option.opts for option in options):
        words += ["-m", "model"]
    for option in generator.sample(options, generator.randrange(min(4, len(options) + 1))):
        words.append(generator.choice(option.opts))
        if not option.is_flag:
            words += [value(generator) for _ in range(option.nargs)]
    others = [value(generator) for _ in range(generator.choice([0, 0, 1, 1, 2]))]
    return words + (others or OTHERWISE.get(name, []))


def value(generator: random.Random) -> str:
    """Return what somebody might type, or a program."""
    if generator.random() < 0.2:
        return f"{generator.choice(SETTINGS)}={generator.choice([*NUMBERS, *TEXTS])}"
    return generator.choice(generator.choice([NUMBERS, TEXTS, FILES, NAMES]))


def exit_code(words: list[str], output: Path) -> int:
    """Return what a command in a child ends with; a negative number is a signal's."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_S)
    with contextlib.suppress(BaseException):
        stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open("toy.tsv", os.O_RDONLY), 0)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        sys.stdin, sys.argv = io.TextIOWrapper(io.FileIO(0)), ["nmt", *words]
        try:
            main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        sys.stdout.flush()
        os._exit(code)
    os._exit(1)


def fuzz(model: Path, count: int, seed: int) -> Iterator[tuple[int, list[str], str]]:
    """Yield the exit code, the command and the output of commands in a folder of their own."""
    generator, known = random.Random(seed), commands()
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        os.environ.update(HOME=temporary, XDG_CACHE_HOME=temporary, XDG_DATA_HOME=temporary)
        for _ in range(count):
            for entry in Path().iterdir():
                entry.unlink() if entry.is_file() else shutil.rmtree(entry)
            shutil.copytree(model, "model")
            Path("toy.tsv").write_text("red dog\trot hund\nold cat\talt katze\n" * 20)
            Path("nmt.yaml").write_text(CONFIG)
            name = generator.choice(list(known))
            words = typed(generator, name, known[name])
            output = Path(temporary, "output")
            yield exit_code(words, output), words, output.read_text(errors="replace")


def test_odd_command_lines(toy_bundle):
    command = [sys.executable, __file__, str(toy_bundle), "30"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    codes = Counter[int]()
    for code, words, output in fuzz(
        Path(sys.argv[1]).resolve(), int(sys.argv[2]), int([*sys.argv, "1"][3])
    ):
        codes[code] += 1
        if code not in TOLD:
            print(code, ascii(shlex.join(words)[:300]), output[-400:], sep="\n", flush=True)
    print(dict(codes))
    sys.exit(not codes.keys() <= TOLD)
