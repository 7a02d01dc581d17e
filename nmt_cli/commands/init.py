"""`nmt init`: finds the user's files and writes a commented configuration for them."""

import contextlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.config.tasks import TASKS
from nmt_cli.encoding import AUTO, UTF8, find_encoding
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.resources import DEFAULT_FILE, bundled_configs
from nmt_cli.terminal import console
from nmt_cli.terminal.check_view import tell_time

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config
    from nmt_cli.config.tasks import TaskFacts
    from nmt_cli.discovery.folder import Found

_HELD_OUT_SHARE, _MOST_HELD_OUT = 20, 1000  # a twentieth of train each for dev and test, at most
_SIZES = ("tokenizer", "model", "train")  # of a preset for any task
_OF_TASK = ("decode", "chat", "classification")  # of a preset for the same task
_CHAT_DECODE = {"sample": True, "temperature": 0.3, "top_p": 0.9}  # as configs/chat.yaml
_SHOWN_LABELS = 8


def init(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The file to write.")
    ] = DEFAULT_FILE,
    data: Annotated[
        str, typer.Option("--data-dir", metavar="DIR", help="The folder to look for text in.")
    ] = ".",
    train: Annotated[
        tuple[str, str] | None,
        typer.Option("--train", metavar="SRC TGT", help="Training files, or a table; else found."),
    ] = None,
    dev: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--dev", metavar="SRC TGT", help="Development files; else taken out of train."
        ),
    ] = None,
    test: Annotated[
        tuple[str, str] | None,
        typer.Option("--test", metavar="SRC TGT", help="Test files; else taken out of train."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="TASK", help="translation, chat or classification."),
    ] = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Translate what is found the other way round.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", metavar="NAME", help="Sizes of a bundled configuration; auto if left out."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Replace the file if it exists.")
    ] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print a JSON schema for editors, write nothing.")
    ] = False,
) -> None:
    """Write a configuration with every key explained, then print the next command.

    Finds two text files (ko.txt en.txt, train.ko.gz train.en.gz), tables,
    dialogues and text with labels by itself, tells the languages, and takes
    development and test rows out of train where there are none.

    Example: nmt init

    Example: nmt init my.yaml --train train.en train.de --dev dev.en dev.de
    """
    from nmt_cli.config.reading import load_config
    from nmt_cli.files import os_errors_as, write_text

    if json_schema:
        from nmt_cli.config.reading import json_schema as schema

        console.result_json(schema())
        return
    path = Path(file)
    if path.exists() and not yes:
        raise ConfigError(f"{path} exists", hint="--yes replaces it")
    if task not in (None, *TASKS):
        raise ConfigError(
            f"--task {task}: is none of {', '.join(TASKS)}.{did_you_mean(str(task), TASKS)}"
        )
    if train is None and (dev or test):
        raise ConfigError("--dev and --test need --train SRC TGT")
    if train and reverse:
        raise ConfigError("--reverse is for text that nmt init finds: swap the names after --train")
    facts = TASKS[task] if task else None
    given = {"train": train, "dev": dev, "test": test}
    if train and not train[1]:
        tree = _given_tables(given, path, facts)
    elif train:
        tree = _given(given, path, facts)
    else:
        tree = _discovered(Path(data), path, facts, reverse=reverse)
    with os_errors_as(DataError, f"{path}: cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)  # names of files go by way of it
    text = _configuration(tree, path, preset)
    with os_errors_as(DataError, f"{path}: cannot be written"):
        write_text(path, text)
    console.note(f"wrote {path}")
    with contextlib.suppress(DataError):  # nmt check tells what is wrong where
        tell_time(load_config(str(path)))
    console.note(f"next: {shlex.join(['nmt', 'check', str(path)])}")


def _given(
    files: dict[str, tuple[str, str] | None], path: Path, task: "TaskFacts | None"
) -> dict[str, Any]:
    """Return the beginning of a configuration for files that the user named."""
    from nmt_cli.discovery.pair_files import given_pair

    _check_given(files, 2)
    source, target = map(Path, files["train"] or ())
    found = given_pair(source, target, task)
    corpora: dict[str, Any] = {
        split: [_pair(names, path)] for split, names in files.items() if names
    }
    _tell_task(found.task, found.languages, found.labels, "as given")
    return _tree(_run_name(path.stem), found.task, found.languages, corpora)


def _given_tables(
    files: dict[str, tuple[str, str] | None], path: Path, task: "TaskFacts | None"
) -> dict[str, Any]:
    """Return the beginning of a configuration for tables or dialogues, one file a split."""
    from nmt_cli.discovery.folder import discover

    _check_given(files, 1)
    train = Path((files["train"] or ("",))[0])
    found = discover(train.parent, task, train.name)
    _tell_found(found)
    (entry,) = found.corpora["train"]
    corpora = {
        split: [entry | {"file": os.path.relpath(names[0], path.parent)}]
        for split, names in files.items()
        if names
    }
    tree = _tree(_run_name(path.stem), found.task, found.languages, corpora)
    if found.task.has_labels:
        tree |= _several_labels(found, train.parent)
    return tree


def _check_given(files: dict[str, tuple[str, str] | None], each: int) -> None:
    """Raise an error unless every split has so many files, and all are there."""
    for split, names in files.items():
        given = [name for name in names or () if name]
        if given and len(given) != each:
            what = "one table, like --train" if each == 1 else "two files, like --train"
            raise ConfigError(f"--{split} {' '.join(given)}: give {what}")
        if missing := [name for name in given if not Path(name).is_file()]:
            raise DataError(f"{', '.join(missing)}: no such file")


def _discovered(
    folder: Path, path: Path, task: "TaskFacts | None", *, reverse: bool
) -> dict[str, Any]:
    """Return the beginning of a configuration for what lies in a folder, and tell what that is."""
    from nmt_cli.discovery.folder import discover

    if not folder.is_dir():
        raise DataError(f"--data-dir {folder}: no such folder")
    found = discover(folder, task)
    if reverse and not found.task.is_parallel:
        raise ConfigError(f"--reverse is for translation: this is {found.task.name}")
    if reverse:
        found = found.reversed()
    _tell_found(found)
    if found.task.is_parallel:
        options = ["--data-dir", str(folder)] if folder != Path() else []
        options += ["--task", task.name] if task else []
        options += [] if reverse else ["--reverse"]
        command = shlex.join(["nmt", "init", str(path), *options, "--yes"])
        console.note(f"the other way round: {command}")
    name = folder.resolve().name if path.name == DEFAULT_FILE else path.stem
    tree = _tree(_run_name(name), found.task, found.languages, found.corpora)
    if found.task.has_labels:
        tree |= _several_labels(found, folder)
    is_fixed = folder.is_absolute()
    tree["data"]["dir"] = str(folder) if is_fixed else os.path.relpath(folder, path.parent)
    return tree


def _several_labels(found: "Found", folder: Path) -> dict[str, Any]:
    """Return the section for texts with several labels: a list is that, a text may be."""
    from nmt_cli.discovery.tables import has_lists

    entry = found.corpora["train"][0]
    joined = next((label for label in found.labels if ";" in label), None)
    if joined is None:
        return {}
    if has_lists(folder / entry.get("file", ""), str(entry.get("columns", [""])[-1])):
        console.note("the labels are lists: a text may have several (classification.multi_label)")
        return {"classification": {"multi_label": True}}
    console.warn(
        f"'{joined}' is taken for one label; if it is several, "
        "set classification.multi_label: true and classification.separator: ';'"
    )
    return {}


def _tell_found(found: "Found") -> None:
    """Tell what was found where, what it is taken for, and what was left alone."""
    for split, corpora in found.corpora.items():
        for corpus in corpora:
            names = [corpus[key] for key in ("source", "target", "file") if key in corpus]
            columns = f", columns {' and '.join(map(str, corpus.get('columns', [])))}"
            console.note(f"{split}: {', '.join(names)}{columns if 'columns' in corpus else ''}")
    for name in found.unused:
        console.note(f"left out: {name}")
    _tell_task(found.task, found.languages, found.labels, found.reason)
    if found.doubt:
        console.warn(found.doubt)


def _tell_task(
    task: "TaskFacts", languages: tuple[str, str], labels: tuple[str, ...], reason: str
) -> None:

    source, target = (language or "unknown" for language in languages)
    what = f"{source} -> {target}"
    if task.has_labels:
        shown = ", ".join(labels[:_SHOWN_LABELS]) + (", ..." if labels[_SHOWN_LABELS:] else "")
        what = (f"{len(labels):,} labels ({shown}) of " if labels else "") + f"text in {source}"
    console.note(f"{task.name}: {what} ({reason})")


def _tree(
    name: str, task: "TaskFacts", languages: tuple[str, str], corpora: dict[str, Any]
) -> dict[str, Any]:
    source, target = languages
    data = {"source_lang": source, "target_lang": target, **corpora}
    return {"name": name, "task": task.name, "data": data}


def _configuration(tree: dict[str, Any], path: Path, preset: str | None) -> str:
    """Return the text of the configuration, with splits and sizes."""
    from nmt_cli.config.reading import to_yaml

    tree, auto = _with_preset(tree, preset)
    tree["data"] |= _encoding_of(tree, path)
    data = tree["data"]
    missing = [split for split in ("dev", "test") if not data.get(split)]
    if missing:
        rows = _rows_to_hold_out(tree, path, missing)
        tree["data"] = data | {split: [{"rows": rows}] for split in missing}
        _tell_held_out(missing, rows)
    config = _checked(tree)
    head = (
        f"# Written by nmt init. What every key means stands beside it.\n"
        f"# Check the text with nmt check {path}, then train with nmt train {path}\n"
    )
    return head + to_yaml(config, auto=auto)


def _encoding_of(tree: dict[str, Any], path: Path) -> dict[str, str]:
    """Return `data.encoding` for the files that were found, and tell it; nothing for UTF-8."""
    from nmt_cli.text.corpus import Corpora

    config = _checked(tree | {"data": tree["data"] | {"dev": tree["data"]["train"], "test": []}})
    corpora, encodings = Corpora(config, path.parent / config.data.dir), set()
    for file in (f for corpus in config.data.train for f in corpora.files_of(corpus)):
        found = find_encoding(file)
        if found is not None and found.encoding != UTF8 and found.is_certain:
            console.note(f"{file}: {found}, and is read so")
            encodings.add(found.encoding)
    if not encodings:
        return {}
    return {"encoding": encodings.pop() if len(encodings) == 1 else AUTO}


def _tell_held_out(splits: list[str], rows: int) -> None:

    for split in splits:
        console.note(f"{split}: {rows:,} rows taken out of train by a seeded hash")


def _with_preset(tree: dict[str, Any], preset: str | None) -> tuple[dict[str, Any], set[str]]:
    """Return the configuration with a bundled one's sizes, and the keys that stay open."""
    from nmt_cli.config.reading import load_config

    decode = {"decode": _CHAT_DECODE} if TASKS[tree["task"]].has_turns else {}
    if preset in (None, "auto"):
        return tree | decode, {"tokenizer.vocab_size", "model", "train"}
    configs = bundled_configs()
    if preset not in configs:
        raise ConfigError(
            f"--preset {preset}: no bundled configuration of that name."
            f"{did_you_mean(preset, configs)}",
            hint=f"auto and these are: {', '.join(configs)}",
        )
    loaded = load_config(str(configs[preset]))
    is_same_task = loaded.config.task == tree["task"]
    wanted = {*_SIZES, *(_OF_TASK if is_same_task else ())}
    sizes = loaded.config.model_dump(include=wanted)
    if not is_same_task:
        sizes["model"]["turn_embeddings"] = TASKS[
            tree["task"]
        ].has_turns  # there are turns in no other
    return tree | decode | sizes, set(loaded.auto)


def _rows_to_hold_out(tree: dict[str, Any], path: Path, splits: list[str]) -> int:
    """Return how many rows each of the splits gets, from the number of pairs; reads all of train.

    Raises:
        DataError: There are too few, or they cannot be divided.
    """
    from nmt_cli.discovery.rows import check_held_out, read_train

    config = _checked(tree | {"data": tree["data"] | {"dev": tree["data"]["train"], "test": []}})
    folder = path.parent / config.data.dir
    train = read_train(config, folder)
    if train.problems:
        more = f" (and {len(train.problems) - 1:,} more)" if train.problems[1:] else ""
        console.warn(f"{train.problems[0]}{more}; nmt check tells what is wrong where")
    if train.number < 3:
        few = f"only {train.number} pairs, too few to train, choose and test on"
        raise DataError(f"{folder}: {few}")
    rows = max(1, min(_MOST_HELD_OUT, train.number // _HELD_OUT_SHARE))
    wanted = dict.fromkeys(("dev", "test"), 0) | dict.fromkeys(splits, rows)
    check_held_out(train, wanted, config.seed)
    return rows


def _checked(tree: dict[str, Any]) -> "Config":
    """Return the configuration of a tree.

    Raises:
        ConfigError: A value that came from an option is none of those there are.
    """
    from nmt_cli.config.reading import checked

    return checked(tree, "nmt init")


def _pair(names: tuple[str, str], config_path: Path) -> dict[str, str]:
    """Return a corpus entry with file names relative to the configuration."""
    source, target = (os.path.relpath(name, config_path.parent) for name in names)
    return {"source": source, "target": target}


def _run_name(name: str) -> str:
    kept = "".join(c if c.isprintable() and c not in "/\\" else "-" for c in name)
    return kept.strip("._- ")[:100] or "run"
