"""`nmt init`: writes a commented configuration for the user's own files."""

import os
from pathlib import Path
from typing import Annotated

import typer


def init(
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="The file to write.")] = "nmt.yaml",
    train: Annotated[
        tuple[str, str] | None,
        typer.Option("--train", metavar="SRC TGT", help="Training files, source and target."),
    ] = None,
    dev: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--dev", metavar="SRC TGT", help="Development files; else taken out of train."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Write a configuration with every key explained, then print the next command.

    Example: nmt init my.yaml --train train.en train.de --dev dev.en dev.de
    """
    from nmt_cli import console
    from nmt_cli.config import Config
    from nmt_cli.config_io import to_yaml
    from nmt_cli.errors import ConfigError, DataError
    from nmt_cli.files import os_errors_as, write_text

    if train is None:
        raise ConfigError("--train SRC TGT is needed", hint="nmt init my.yaml --train a.en a.de")
    missing = [name for name in (*train, *(dev or ())) if not Path(name).is_file()]
    if missing:
        raise DataError(f"{', '.join(missing)}: no such file")
    path = Path(file)
    if path.exists() and not yes:
        raise ConfigError(f"{path} exists", hint="--yes replaces it")
    development = _pair(dev, path) if dev else {"rows": _held_out_rows(Path(train[0]))}
    config = Config.model_validate(
        {
            "name": _run_name(path),
            "data": {
                "source_lang": _language(train[0]),
                "target_lang": _language(train[1]),
                "train": [_pair(train, path)],
                "dev": [development],
            },
        }
    )
    with os_errors_as(DataError, f"{path}: cannot be written"):
        write_text(path, to_yaml(config, auto={"tokenizer.vocab_size", "model", "train"}))
    console.note(f"wrote {path}")
    console.note(f"next: nmt train {path}")


def _pair(names: tuple[str, str], config_path: Path) -> dict[str, str]:
    """Return a corpus entry with file names relative to the configuration."""
    source, target = (os.path.relpath(name, config_path.parent) for name in names)
    return {"source": source, "target": target}


def _held_out_rows(path: Path) -> int:
    """Return how many rows to keep for development: a tenth, at most 1,000."""
    from nmt_cli.files import read_lines

    return max(1, min(1000, sum(1 for _ in read_lines(path)) // 10))


def _run_name(path: Path) -> str:
    kept = "".join(c if c.isalnum() or c in "._-" else "-" for c in path.stem).strip("._-")
    return kept if kept.isascii() and kept else "run"


def _language(name: str) -> str:
    """Return the language code in a file name such as `train.de.gz`, or nothing."""
    suffix = Path(name.removesuffix(".gz")).suffix.removeprefix(".")
    return suffix if len(suffix) in (2, 3) and suffix.isalpha() and suffix != "txt" else ""
