"""`nmt check`: the data doctor."""

import shlex
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmt_cli.errors import ConfigError, DataError, NmtError, in_one_line, number_of
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.doctor.result import Report


def check(
    config: opt.Config = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    fix: str | None = opt.output("OUT_DIR", "Write a cleaned copy to this folder."),
    json: opt.Json = False,
) -> None:
    """Check the text of a configuration: what is wrong, where, and how often.

    The exit code is 3 if there are errors. --fix leaves faulty rows out of the training text,
    repairs garbled characters, and writes a configuration for the copy.

    Example: nmt check my.yaml --fix clean
    """
    from nmt_cli.api.functions import check as check_up
    from nmt_cli.config.reading import load_config
    from nmt_cli.doctor.cleaning import can_be_cleaned
    from nmt_cli.doctor.findings import Finding
    from nmt_cli.terminal.check_view import as_json, summary, time_told

    opt.note_stand_in(config, "check")
    settings = opt.with_data_dir(overrides, data_dir)
    loaded = load_config(config, settings)
    with console.counting("pairs") as progress:
        report = check_up(loaded, on_progress=progress, on_note=console.note)
    time = None
    if not json and not report.has_errors:
        try:
            time = time_told(loaded)
        except NmtError as error:  # is in the way of training, and no test has found it
            told = in_one_line(str(error), error.hint)
            report.findings.insert(0, Finding("training", "error", told))
    if json:
        console.result_json(as_json(loaded, report))
    else:
        for line in summary(loaded, report):
            console.result(line)
    if fix is not None:
        _fix(loaded, report, Path(fix))
        return
    given = [*([config] if config else []), *(f"--set={setting}" for setting in settings)]
    named = "".join(f" {shlex.quote(argument)}" for argument in given)
    if not json and not report.has_errors:
        if time is not None:
            console.note(time)
        console.note(f"next: nmt train{named}")
    elif not json and can_be_cleaned(report):
        names = chain(["clean"], (f"clean-{number}" for number in count(2)))
        free = next(name for name in names if not Path(name).exists())
        console.note(f"next: nmt check{named} --fix {free}")
    elif not json:
        console.note(f"fix the errors by hand, then run again: nmt check{named}")
    if report.has_errors:
        raise typer.Exit(DataError.exit_code)


def _fix(loaded: "LoadedConfig", report: "Report", folder: Path) -> None:
    from nmt_cli.config.reading import to_yaml, whole_sections
    from nmt_cli.doctor.cleaning import DROPPED, clean
    from nmt_cli.files import os_errors_as, write_text

    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty", hint="--fix writes into a new folder")
    path = folder / f"{loaded.config.name}.yaml"
    with os_errors_as(DataError, f"{folder}: cannot be written"):
        config, dropped, mended = clean(loaded.config, report, loaded.data_dir, folder)
        write_text(path, to_yaml(config, whole_sections(loaded.auto)))
    console.note(f"{number_of(dropped, 'row')} left out ({folder / DROPPED}), {mended:,} repaired")
    console.note(f"wrote {path}")
    console.note(f"next: nmt train {shlex.quote(str(path))}")
