"""`nmt init`: finds the user's files and writes a commented configuration for them."""

import contextlib
import shlex
from pathlib import Path

from nmt_cli.config.tasks import TASKS
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.resources import DEFAULT_FILE
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def init(
    file: str = opt.argument(
        "[FILE]", "The configuration to write.", default=DEFAULT_FILE, callback=opt.no_url
    ),
    data: str = opt.option("DIR", "The folder to look for text in.", "--data-dir", default="."),
    train: tuple[str, str] | None = opt.option("SRC TGT", "Training files or a table."),
    dev: tuple[str, str] | None = opt.option(
        "SRC TGT", "Development files; default: rows of train."
    ),
    test: tuple[str, str] | None = opt.option("SRC TGT", "Test files; default: rows of train."),
    task: str | None = opt.option("TASK", "Task: translation, chat or classification."),
    reverse: bool = opt.switch("--reverse", "Swap source and target of the text that is found."),
    preset: str | None = opt.option("NAME", "Use the sizes of a bundled configuration."),
    recipe: str | None = opt.option("NAME", "Plan the training: best or fast."),
    noise: bool = opt.switch(
        "--noise", "Train on some text with typing mistakes, in lower case, ..."
    ),
    yes: bool = opt.switch("--yes -y", "Replace the file if it exists."),
    json_schema: bool = opt.switch("--json-schema", "Print a JSON schema for editors."),
) -> None:
    """Write a configuration with every key explained, then print the next command.

    Finds parallel files (ko.txt en.txt, train.ko.gz train.en.gz), tables, dialogues and text with
    labels by itself, recognises the languages, and takes development and test rows out of train if
    there are no such files.

    --recipe fast writes the sizes that learn most in five minutes on this machine. --recipe best is
    for translation, and plans the training that translates best, even if it takes hours; a small
    text is first enlarged by nmt augment. Both explain each choice, name its source, and say how
    long training takes on this machine.

    Example: nmt init

    Example: nmt init my.yaml --train train.en train.de --dev dev.en dev.de
    """
    from nmt_cli.config.reading import json_schema as schema
    from nmt_cli.config.reading import load_config
    from nmt_cli.config.recipes import RECIPES, Proposal
    from nmt_cli.discovery.first_config import Draft
    from nmt_cli.files import os_errors_as
    from nmt_cli.terminal.check_view import time_told

    if json_schema:
        console.result_json(schema())
        return
    path = Path(file)
    if path.exists() and not yes:
        raise ConfigError(f"{path} exists already", hint="--yes replaces it")
    if task not in (None, *TASKS):
        raise ConfigError(
            f"--task {task}: not one of {', '.join(TASKS)}.{did_you_mean(str(task), TASKS)}"
        )
    if recipe not in (None, *RECIPES):
        raise ConfigError(
            f"--recipe {recipe}: not one of {', '.join(RECIPES)}."
            f"{did_you_mean(str(recipe), RECIPES)}"
        )
    if recipe is not None and preset is not None:
        raise ConfigError("--recipe cannot be combined with --preset")
    if train is None and (dev or test):
        raise ConfigError("--dev and --test need --train SRC TGT")
    if train and reverse:
        raise ConfigError(
            "--reverse is for text that nmt init finds; with --train, swap the two names"
        )
    draft = Draft(path, TASKS[task] if task else None, console.note, console.warn, noise)
    if train:
        tree = draft.of_files({"train": train, "dev": dev, "test": test})
    else:
        tree = draft.of_folder(Path(data), reverse=reverse)
    with os_errors_as(DataError, f"{path}: cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)  # paths in the file are relative to it
    loaded = draft.completed(tree, preset)
    proposal = Proposal({}, {}, [])
    if recipe is not None:
        from nmt_cli.augmentation.recipe import propose

        proposal = propose(recipe, loaded)
    text = draft.text(loaded, proposal)
    with os_errors_as(DataError, f"{path}: cannot be written"):
        _write(path, text)
    console.note(f"wrote {path}")
    if recipe is None:
        with contextlib.suppress(DataError):  # nmt check says what is wrong, and where
            if time := time_told(load_config(str(path))):
                console.note(time)
    console.note(f"next: {shlex.join(['nmt', 'check', str(path)])}")
    for command in proposal.commands:
        console.note(f"then: {command}")


def _write(path: Path, text: str) -> None:
    from nmt_cli.files import write_text

    try:
        write_text(path, text)
    except UnicodeEncodeError as error:
        line = text[: error.start].count("\n")
        named = text.splitlines()[line].partition("  #")[0].encode("utf-8", "replace").decode()
        hint = "rename it; convmv -f cp949 -t utf-8 --notest FILE does, if it is Korean"
        raise DataError(f"the name of a file is not UTF-8: {named}", hint=hint) from None
