"""`nmt data`: known public sets, fetched into the folders that the configurations name."""

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmt_cli.errors import ConfigError, did_you_mean
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from nmt_cli.datasets.download import OnProgress
    from nmt_cli.datasets.known_sets import DataSet, RemoteFile


def list_sets(json: opt.Json = False) -> None:
    """List the known public data sets: languages, size, licence, citation.

    Example: nmt data list
    """
    from nmt_cli.datasets.known_sets import DATA_SETS

    for data_set in DATA_SETS.values():
        if json:
            console.result_json(asdict(data_set) | {"folder": str(data_set.folder)})
        else:
            _show(data_set)
    if not json:
        console.note("next: nmt data get NAME")


def get(
    name: str = opt.argument("NAME", "A name from nmt data list.", default=...),
    mirror: str | None = opt.option(
        "URL_OR_DIR", "Take the files from a mirror or a folder.", "--from"
    ),
    folder: str | None = opt.output("DIR", "Folder to write to; default: data/NAME.", "--data-dir"),
    yes: bool = opt.switch("--yes -y", "Accept the licence without being asked."),
) -> None:
    """Download a public data set into data/NAME, after showing its licence.

    If a download breaks off, the same command resumes it.

    Example: nmt data get multi30k-en-de
    """
    from nmt_cli.datasets.download import is_address, missing_files
    from nmt_cli.datasets.known_sets import DATA_SETS

    if name not in DATA_SETS:
        raise ConfigError(
            f"{name}: unknown data set.{did_you_mean(name, DATA_SETS)}",
            hint="nmt data list shows all of them",
        )
    if mirror is not None and not is_address(mirror) and not Path(mirror).is_dir():
        raise ConfigError(f"--from {mirror}: neither an http(s) address nor an existing folder")
    data_set = DATA_SETS[name]
    goal = Path(folder) if folder else data_set.folder
    missing = missing_files(data_set, goal)
    if missing:
        _show_licence(data_set, ask=not yes)
        for file in missing:
            _get_file(data_set, file, goal, mirror)
    console.note(f"{name}: all files are in {goal}")
    console.note(f"next: {_next_command(data_set, goal)}")


def _show(data_set: "DataSet") -> None:
    source, target = data_set.languages
    languages = source if source == target else f"{source}-{target}"
    pairs = f"{data_set.pairs:,} pairs" if data_set.pairs else "number of pairs unknown"
    console.result(
        f"{data_set.name:<22} {data_set.task} {languages}, {pairs}, about {data_set.megabytes:,} MB"
    )
    console.result(f"    {data_set.about}; {data_set.homepage}")
    console.result(f"    licence: {data_set.licence}")
    console.result(f"    cite: {data_set.citation}")


def _show_licence(data_set: "DataSet", *, ask: bool) -> None:
    """Show the terms of a set; on a terminal, continue only after a yes."""
    console.note(f"{data_set.name}: {data_set.about}; about {data_set.megabytes:,} MB")
    console.note(f"licence: {data_set.licence} ({data_set.homepage})")
    console.note(f"cite: {data_set.citation}")
    is_asked = ask and sys.stdin.isatty() and sys.stderr.isatty()
    if is_asked and not typer.confirm("Use it under this licence?", default=True, err=True):
        raise ConfigError("nothing was downloaded: the licence was not accepted")


def _get_file(data_set: "DataSet", file: "RemoteFile", folder: Path, mirror: str | None) -> None:
    """Download one file; if the connection fails, say how to get it by hand."""
    from nmt_cli.datasets.download import FetchError, fetch_of_set

    try:
        with _progress(file.name) as on_progress:
            fetch_of_set(data_set, file, folder, mirror=mirror, on_progress=on_progress)
    except FetchError as error:
        by_hand = (
            f"by hand: put {data_set.address}/{file.path} (and the set's other files) into a "
            f"folder, then: nmt data get {data_set.name} --from FOLDER"
        )
        hint = "; ".join(filter(None, (error.hint, by_hand)))
        raise type(error)(str(error), hint=hint) from error
    except KeyboardInterrupt:
        console.note("stopped; the same command resumes, if the server allows it")
        raise


@contextlib.contextmanager
def _progress(name: str) -> Iterator["OnProgress"]:
    """Show bytes and rate during a download, and one line after it."""
    columns = []
    if console.is_live():
        from rich.progress import DownloadColumn, TransferSpeedColumn

        columns = [DownloadColumn(), TransferSpeedColumn()]
    started = time.monotonic()
    sizes: list[int] = []  # what was there before, and what is now
    with console.live_progress(name, *columns) as update:

        def on_progress(done: int, total: int | None) -> None:
            sizes[1:] = [done]
            update(completed=done, total=total)

        yield on_progress
    rate = (sizes[-1] - sizes[0]) / max(time.monotonic() - started, 1e-3)
    console.note(f"{name}: {sizes[-1] / 1e6:,.2f} MB ({rate / 1e6:,.1f} MB/s)")


def _next_command(data_set: "DataSet", folder: Path) -> str:
    from nmt_cli.resources import bundled_configs

    if data_set.name not in bundled_configs():
        return f"nmt init {data_set.name}.yaml --data-dir {shlex.quote(str(folder))}"
    moved = ["--data-dir", os.path.relpath(folder)] if folder != data_set.folder else []
    return shlex.join(["nmt", "train", data_set.name, *moved])
