"""What was found, or named -> the text of a configuration: for `nmt init`."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt_cli.config.reading import checked, load_config, to_yaml
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import TASKS, TaskFacts
from nmt_cli.discovery.folder import Found, discover
from nmt_cli.discovery.pair_files import given_pair
from nmt_cli.discovery.rows import check_held_out, read_train
from nmt_cli.discovery.tables import has_lists
from nmt_cli.encoding import AUTO, UTF8, find_encoding
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.resources import DEFAULT_FILE, bundled_configs
from nmt_cli.text.corpus import Corpora

_HELD_OUT_SHARE, _MOST_HELD_OUT = 20, 1000  # a twentieth of train each for dev and test, at most
_SIZES = ("tokenizer", "model", "train")  # of a preset for any task
_OF_TASK = ("decode", "chat", "classification")  # of a preset for the same task
_CHAT_DECODE = {"sample": True, "temperature": 0.3, "top_p": 0.9}  # as configs/chat.yaml
_SHOWN_LABELS = 8


class Draft:
    """A configuration that is being written.

    Args:
        path: The file that it will be; names of text files are relative to it.
        on_note: Told, in lines, what was found and chosen.
        on_warning: Told, in one line, what is doubtful.
    """

    def __init__(
        self, path: Path, *, on_note: Callable[[str], None], on_warning: Callable[[str], None]
    ) -> None:
        self._path = path
        self._note = on_note
        self._warn = on_warning

    def given(
        self, files: dict[str, tuple[str, str] | None], task: TaskFacts | None
    ) -> dict[str, Any]:
        """Return the beginning of a configuration for files that the user named."""
        _check_given(files, 2)
        source, target = map(Path, files["train"] or ())
        found = given_pair(source, target, task)
        corpora: dict[str, Any] = {
            split: [_pair(names, self._path)] for split, names in files.items() if names
        }
        self._tell_task(found.task, found.languages, found.labels, "as given")
        return _tree(_run_name(self._path.stem), found.task, found.languages, corpora)

    def given_tables(
        self, files: dict[str, tuple[str, str] | None], task: TaskFacts | None
    ) -> dict[str, Any]:
        """Return the beginning of a configuration for tables or dialogues, one file a split."""
        _check_given(files, 1)
        train = Path((files["train"] or ("",))[0])
        found = discover(train.parent, task, train.name)
        self._tell_found(found)
        (entry,) = found.corpora["train"]
        corpora = {
            split: [entry | {"file": os.path.relpath(names[0], self._path.parent)}]
            for split, names in files.items()
            if names
        }
        tree = _tree(_run_name(self._path.stem), found.task, found.languages, corpora)
        if found.task.has_labels:
            tree |= self._several_labels(found, train.parent)
        return tree

    def discovered(self, folder: Path, task: TaskFacts | None, *, reverse: bool) -> dict[str, Any]:
        """Return the beginning of a configuration for what lies in a folder; tell it."""
        if not folder.is_dir():
            raise DataError(f"--data-dir {folder}: no such folder")
        found = discover(folder, task)
        if reverse and not found.task.is_parallel:
            raise ConfigError(f"--reverse is for translation: this is {found.task.name}")
        if reverse:
            found = found.reversed()
        self._tell_found(found)
        if found.task.is_parallel:
            options = ["--data-dir", str(folder)] if folder != Path() else []
            options += ["--task", task.name] if task else []
            options += [] if reverse else ["--reverse"]
            command = shlex.join(["nmt", "init", str(self._path), *options, "--yes"])
            self._note(f"the other way round: {command}")
        name = folder.resolve().name if self._path.name == DEFAULT_FILE else self._path.stem
        tree = _tree(_run_name(name), found.task, found.languages, found.corpora)
        if found.task.has_labels:
            tree |= self._several_labels(found, folder)
        is_fixed = folder.is_absolute()
        tree["data"]["dir"] = (
            str(folder) if is_fixed else os.path.relpath(folder, self._path.parent)
        )
        return tree

    def _several_labels(self, found: Found, folder: Path) -> dict[str, Any]:
        """Return the section for texts with several labels: a list is that, a text may be."""
        entry = found.corpora["train"][0]
        joined = next((label for label in found.labels if ";" in label), None)
        if joined is None:
            return {}
        if has_lists(folder / entry.get("file", ""), str(entry.get("columns", [""])[-1])):
            self._note("the labels are lists: a text may have several (classification.multi_label)")
            return {"classification": {"multi_label": True}}
        self._warn(
            f"'{joined}' is taken for one label; if it is several, "
            "set classification.multi_label: true and classification.separator: ';'"
        )
        return {}

    def _tell_found(self, found: Found) -> None:
        """Tell what was found where, what it is taken for, and what was left alone."""
        for split, corpora in found.corpora.items():
            for corpus in corpora:
                names = [corpus[key] for key in ("source", "target", "file") if key in corpus]
                columns = f", columns {' and '.join(map(str, corpus.get('columns', [])))}"
                self._note(f"{split}: {', '.join(names)}{columns if 'columns' in corpus else ''}")
        for name in found.unused:
            self._note(f"left out: {name}")
        self._tell_task(found.task, found.languages, found.labels, found.reason)
        if found.doubt:
            self._warn(found.doubt)

    def _tell_task(
        self, task: TaskFacts, languages: tuple[str, str], labels: tuple[str, ...], reason: str
    ) -> None:

        source, target = (language or "unknown" for language in languages)
        what = f"{source} -> {target}"
        if task.has_labels:
            shown = ", ".join(labels[:_SHOWN_LABELS]) + (", ..." if labels[_SHOWN_LABELS:] else "")
            what = (f"{len(labels):,} labels ({shown}) of " if labels else "") + f"text in {source}"
        self._note(f"{task.name}: {what} ({reason})")

    def configuration(self, tree: dict[str, Any], preset: str | None) -> str:
        """Return the text of the configuration, with splits and sizes."""
        tree, auto = self._with_preset(tree, preset)
        tree["data"] |= self._encoding_of(tree)
        data = tree["data"]
        missing = [split for split in ("dev", "test") if not data.get(split)]
        if missing:
            rows = self._rows_to_hold_out(tree, missing)
            tree["data"] = data | {split: [{"rows": rows}] for split in missing}
            self._tell_held_out(missing, rows)
        config, path = _checked(tree), self._path
        head = (
            f"# Written by nmt init. What every key means stands beside it.\n"
            f"# Check the text with nmt check {path}, then train with nmt train {path}\n"
        )
        return head + to_yaml(config, auto=auto)

    def _encoding_of(self, tree: dict[str, Any]) -> dict[str, str]:
        """Return `data.encoding` for the files that were found, and tell it; nothing for UTF-8."""
        config = _checked(
            tree | {"data": tree["data"] | {"dev": tree["data"]["train"], "test": []}}
        )
        corpora, encodings = Corpora(config, self._path.parent / config.data.dir), set()
        for file in (f for corpus in config.data.train for f in corpora.files_of(corpus)):
            found = find_encoding(file)
            if found is not None and found.encoding != UTF8 and found.is_certain:
                self._note(f"{file}: {found}, and is read so")
                encodings.add(found.encoding)
        if not encodings:
            return {}
        return {"encoding": encodings.pop() if len(encodings) == 1 else AUTO}

    def _tell_held_out(self, splits: list[str], rows: int) -> None:

        for split in splits:
            self._note(f"{split}: {rows:,} rows taken out of train by a seeded hash")

    def _with_preset(
        self, tree: dict[str, Any], preset: str | None
    ) -> tuple[dict[str, Any], set[str]]:
        """Return the configuration with a bundled one's sizes, and the keys that stay open."""
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

    def _rows_to_hold_out(self, tree: dict[str, Any], splits: list[str]) -> int:
        """Return how many rows each of the splits gets; reads all of train.

        Raises:
            DataError: There are too few, or they cannot be divided.
        """
        config = _checked(
            tree | {"data": tree["data"] | {"dev": tree["data"]["train"], "test": []}}
        )
        folder = self._path.parent / config.data.dir
        train = read_train(config, folder)
        if train.problems:
            more = f" (and {len(train.problems) - 1:,} more)" if train.problems[1:] else ""
            self._warn(f"{train.problems[0]}{more}; nmt check tells what is wrong where")
        if train.number < 3:
            few = f"only {train.number} pairs, too few to train, choose and test on"
            raise DataError(f"{folder}: {few}")
        rows = max(1, min(_MOST_HELD_OUT, train.number // _HELD_OUT_SHARE))
        wanted = dict.fromkeys(("dev", "test"), 0) | dict.fromkeys(splits, rows)
        check_held_out(train, wanted, config.seed)
        return rows


def _check_given(files: dict[str, tuple[str, str] | None], each: int) -> None:
    """Raise an error unless every split has so many files, and all are there."""
    for split, names in files.items():
        given = [name for name in names or () if name]
        if given and len(given) != each:
            what = "one table, like --train" if each == 1 else "two files, like --train"
            raise ConfigError(f"--{split} {' '.join(given)}: give {what}")
        if missing := [name for name in given if not Path(name).is_file()]:
            raise DataError(f"{', '.join(missing)}: no such file")


def _tree(
    name: str, task: TaskFacts, languages: tuple[str, str], corpora: dict[str, Any]
) -> dict[str, Any]:
    source, target = languages
    data = {"source_lang": source, "target_lang": target, **corpora}
    return {"name": name, "task": task.name, "data": data}


def _checked(tree: dict[str, Any]) -> Config:
    """Return the configuration of a tree.

    Raises:
        ConfigError: A value that came from an option is none of those there are.
    """
    return checked(tree, "nmt init")


def _pair(names: tuple[str, str], config_path: Path) -> dict[str, str]:
    """Return a corpus entry with file names relative to the configuration."""
    source, target = (os.path.relpath(name, config_path.parent) for name in names)
    return {"source": source, "target": target}


def _run_name(name: str) -> str:
    kept = "".join(c if c.isprintable() and c not in "/\\" else "-" for c in name)
    return kept.strip("._- ")[:100] or "run"
