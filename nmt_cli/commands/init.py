"""`nmt init`: finds the user's files and writes a commented configuration for them."""

import contextlib
import shlex
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.config.tasks import TASKS
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.resources import DEFAULT_FILE
from nmt_cli.terminal import console


def init(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The configuration to write.")
    ] = DEFAULT_FILE,
    data: Annotated[
        str, typer.Option("--data-dir", metavar="DIR", help="The folder to look for text in.")
    ] = ".",
    train: Annotated[
        tuple[str, str] | None,
        typer.Option("--train", metavar="SRC TGT", help="Training files or a table."),
    ] = None,
    dev: Annotated[
        tuple[str, str] | None,
        typer.Option("--dev", metavar="SRC TGT", help="Development files; default: rows of train."),
    ] = None,
    test: Annotated[
        tuple[str, str] | None,
        typer.Option("--test", metavar="SRC TGT", help="Test files; default: rows of train."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="TASK", help="Task: translation, chat or classification."),
    ] = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Swap source and target of the text that is found.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="NAME", help="Use the sizes of a bundled configuration."),
    ] = None,
    noise: Annotated[
        bool,
        typer.Option("--noise", help="Train on some text with typing mistakes, in capitals, ..."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Replace the file if it exists.")
    ] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print a JSON schema for editors.")
    ] = False,
) -> None:
    """Write a configuration with every key explained, then print the next command.

    Finds parallel files (ko.txt en.txt, train.ko.gz train.en.gz), tables, dialogues and text with
    labels by itself, recognises the languages, and takes development and test rows out of train if
    there are no such files.

    Example: nmt init

    Example: nmt init my.yaml --train train.en train.de --dev dev.en dev.de
    """
    from nmt_cli.config.reading import json_schema as schema
    from nmt_cli.config.reading import load_config
    from nmt_cli.discovery.first_config import Draft
    from nmt_cli.files import os_errors_as, write_text
    from nmt_cli.terminal.check_view import tell_time

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
    text = draft.text(tree, preset)
    with os_errors_as(DataError, f"{path}: cannot be written"):
        write_text(path, text)
    console.note(f"wrote {path}")
    with contextlib.suppress(DataError):  # nmt check says what is wrong, and where
        tell_time(load_config(str(path)))
    console.note(f"next: {shlex.join(['nmt', 'check', str(path)])}")
