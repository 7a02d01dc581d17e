"""The files that were found or named -> the configuration that `nmt init` writes."""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.config.reading import (
    LoadedConfig,
    auto_keys,
    checked,
    load_config,
    to_yaml,
    whole_sections,
    with_values,
)
from nmt_cli.config.recipes import Proposal
from nmt_cli.config.schema import ClassificationConfig, Config
from nmt_cli.config.tasks import TASKS, TaskFacts
from nmt_cli.discovery.folder import Found, discover
from nmt_cli.discovery.pair_files import given_pair
from nmt_cli.discovery.rows import check_held_out, read_train
from nmt_cli.discovery.tables import has_lists
from nmt_cli.encoding import AUTO, UTF8, find_encoding
from nmt_cli.errors import ConfigError, DataError, did_you_mean, number_of
from nmt_cli.resources import DEFAULT_FILE, bundled_configs
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.labels import taken_for_one

_HELD_OUT_SHARE, _MOST_HELD_OUT = 20, 1000  # a twentieth of train each for dev and test, at most
_SIZES = ("tokenizer", "model", "train")  # of a preset for any task
_OF_TASK = ("decode", "chat", "classification")  # of a preset for the same task
_CHAT_DECODE = {"sample": True, "temperature": 0.3, "top_p": 0.9}  # as configs/chat.yaml
_NOISE = {"lower_case": 0.05, "final_punctuation": 0.1, "typos": 0.1}
_SHOWN_LABELS = 8

Tree = dict[str, Any]


@dataclass(frozen=True)
class Draft:
    """A configuration in the making; every choice is told."""

    path: Path  # the file that it is for, whose folder names of files start from
    task: TaskFacts | None  # what it is for; None finds out
    tell: Callable[[str], None]  # called with a line about each choice
    warn: Callable[[str], None]  # called with a line about what may be wrong
    has_noise: bool = False  # whether the model shall learn to read text as people type it

    def of_files(self, files: Mapping[str, tuple[str, str] | None]) -> Tree:
        """Return the keys for files that the user named: two for each split, or one table.

        ConfigError, DataError: a split has another number of files, or one is missing.
        """
        given = {split: [name for name in names if name] for split, names in files.items() if names}
        each = len(given["train"])
        for split, names in given.items():
            if len(names) != each:
                what = "one table, like --train" if each == 1 else "two files, like --train"
                raise ConfigError(f"--{split} {' '.join(names)}: give {what}")
            if missing := [name for name in names if not Path(name).is_file()]:
                raise DataError(f"{', '.join(missing)}: no such file")
        near = {
            split: [os.path.relpath(name, self.path.parent) for name in names]
            for split, names in given.items()
        }
        first, *second = map(Path, given["train"])
        if second:
            pair = given_pair(first, second[0], self.task)
            self._tell_task(pair.task, pair.languages, pair.labels, "as given")
            keys = ("source", "target")
            data = {split: [dict(zip(keys, names, strict=True))] for split, names in near.items()}
            return _tree(self.path.stem, pair.task, pair.languages, data)
        found = discover(first.parent, self.task, first.name)
        self._tell_found(found, first.parent)
        (entry,) = found.corpora["train"]
        data = {split: [entry | {"file": names[0]}] for split, names in near.items()}
        tree = _tree(self.path.stem, found.task, found.languages, data)
        return tree | self._several_labels(found, first.parent)

    def of_folder(self, folder: Path, *, reverse: bool) -> Tree:
        """Return the keys for what lies in a folder.

        ConfigError: what is found cannot be reversed. DataError: nothing is found, or it does not
        tell what belongs together.
        """
        if not folder.is_dir():
            raise DataError(f"--data-dir {folder}: no such folder")
        found = discover(folder, self.task)
        if reverse and not found.task.is_parallel:
            raise ConfigError(f"--reverse is for translation; this is {found.task.name}")
        found = found.reversed() if reverse else found
        self._tell_found(found, folder)
        if found.task.is_parallel:
            options = ["--data-dir", str(folder)] if folder != Path() else []
            options += ["--task", self.task.name] if self.task else []
            options += [] if reverse else ["--reverse"]
            command = shlex.join(["nmt", "init", str(self.path), *options, "--yes"])
            self.tell(f"for the other direction: {command}")
        name = folder.resolve().name if self.path.name == DEFAULT_FILE else self.path.stem
        tree = _tree(name, found.task, found.languages, found.corpora)
        near = str(folder) if folder.is_absolute() else os.path.relpath(folder, self.path.parent)
        tree["data"]["dir"] = near
        return tree | self._several_labels(found, folder)

    def completed(self, tree: Tree, preset: str | None) -> LoadedConfig:
        """Return the configuration, with splits and sizes.

        The sizes are those of `preset`, a bundled configuration; None or "auto" leaves them open.
        ConfigError: there is no such preset, or a value cannot be. DataError: the text cannot be
        read, or is too little.
        """
        # Who names the task knows that the preset is for another one.
        tree, auto = _with_preset(tree, preset, self.tell if self.task else self.warn)
        data = tree["data"]
        train_alone = {"dev": data["train"], "test": []}
        config = checked(tree | {"data": data | train_alone}, "nmt init")
        folder = self.path.parent / config.data.dir
        data |= self._encoding_of(config, folder)
        data |= {"noise": _NOISE} if self.has_noise else {}
        if missing := [split for split in ("dev", "test") if not data.get(split)]:
            config = checked(tree | {"data": data | train_alone}, "nmt init")
            rows = self._rows_to_hold_out(config, folder, missing)
            data |= {split: [{"rows": rows}] for split in missing}
            for split in missing:
                self.tell(f"{split}: {number_of(rows, 'row')} taken out of train by a seeded hash")
        return LoadedConfig(checked(tree, "nmt init"), folder, str(self.path), frozenset(auto))

    def text(self, loaded: LoadedConfig, proposal: Proposal) -> str:
        """Return what to write: the configuration, with what a recipe proposes for it."""
        head = ["Written by nmt init. Each key is explained next to it."]
        first = shlex.join(["nmt", "check", str(self.path)])
        if proposal.commands:
            head += ["In this order:", *(f"  {command}" for command in [first, *proposal.commands])]
        else:
            then = shlex.join(["nmt", "train", str(self.path)])
            head += [f"Check the text with {first}, then train with {then}"]
        # A line end in a file's name would end the comment.
        lines = ("".join(c if c.isprintable() else "\ufffd" for c in line) for line in head)
        config = with_values(loaded.config, proposal.values, str(self.path))
        auto = whole_sections(loaded.auto - proposal.values.keys())
        return (
            "\n".join(f"# {line}" for line in lines) + "\n" + to_yaml(config, auto, proposal.notes)
        )

    def _several_labels(self, found: Found, folder: Path) -> Tree:
        """Return the section for texts with several labels: a list is that, a text may be."""
        if _has_lists(found, folder):
            self.tell("the labels are lists: a text may have several (classification.multi_label)")
            return {"classification": {"multi_label": True}}
        if warning := taken_for_one(found.labels, ClassificationConfig()):
            self.warn(warning)
        return {}

    def _tell_found(self, found: Found, folder: Path) -> None:
        """Tell what was found where, what it is taken for, and what was left alone."""
        for split, corpora in found.corpora.items():
            for corpus in corpora:
                names = [corpus[key] for key in ("source", "target", "file") if key in corpus]
                columns = f", columns {' and '.join(map(str, corpus.get('columns', [])))}"
                self.tell(f"{split}: {', '.join(names)}{columns if 'columns' in corpus else ''}")
        for name in found.unused:
            self.tell(f"left out: {name}")
        entries = [entry for corpora in found.corpora.values() for entry in corpora]
        ways = [f"{e['source_lang']} -> {e['target_lang']}" for e in entries if "source_lang" in e]
        if told := ", ".join(dict.fromkeys(ways)):
            self.tell(f"{found.task.name}: {told}, in one model ({found.reason})")
        else:
            self._tell_task(found.task, found.languages, found.labels, found.reason)
        if found.doubt:
            self.warn(found.doubt)

    def _tell_task(
        self, task: TaskFacts, languages: tuple[str, str], labels: tuple[str, ...], reason: str
    ) -> None:
        source, target = (language or "unknown" for language in languages)
        what = f"{source} -> {target}"
        if task.has_labels:
            shown = ", ".join(labels[:_SHOWN_LABELS]) + (", ..." if labels[_SHOWN_LABELS:] else "")
            what = (
                f"{number_of(len(labels), 'label')} ({shown}) of " if labels else ""
            ) + f"text in {source}"
        self.tell(f"{task.name}: {what} ({reason})")

    def _encoding_of(self, config: Config, folder: Path) -> dict[str, str]:
        """Return `data.encoding` for the files that were found; nothing for UTF-8."""
        encodings = set()
        for file in Corpora(config, folder).files("train"):
            found = find_encoding(file)
            if found is not None and found.is_certain:
                encodings.add(found.encoding)
                if found.encoding != UTF8:
                    self.tell(f"{file}: {found}, and is read as such")
        if encodings <= {UTF8}:
            return {}
        return {"encoding": encodings.pop() if len(encodings) == 1 else AUTO}

    def _rows_to_hold_out(self, config: Config, folder: Path, splits: list[str]) -> int:
        """Return how many rows each split gets, from the number of pairs; reads all of train."""
        train = read_train(config, folder)
        if train.problems:
            more = f" (and {len(train.problems) - 1:,} more)" if train.problems[1:] else ""
            self.warn(f"{train.problems[0]}{more}; nmt check says what is wrong, and where")
        if train.number < 3:
            raise DataError(
                f"{folder}: only {number_of(train.number, 'pair')}, "
                "too few to train, choose and test on"
            )
        rows = max(1, min(_MOST_HELD_OUT, train.number // _HELD_OUT_SHARE))
        wanted = dict.fromkeys(("dev", "test"), 0) | dict.fromkeys(splits, rows)
        check_held_out(train, wanted, config.seed)
        return rows


def _has_lists(found: Found, folder: Path) -> bool:
    """Return whether the labels are lists of JSON."""
    entry = found.corpora["train"][0]
    path = folder / entry.get("file", "")
    return found.task.has_labels and has_lists(path, str(entry.get("columns", [""])[-1]))


def _tree(name: str, task: TaskFacts, languages: tuple[str, str], corpora: Tree) -> Tree:
    kept = "".join(c if c.isprintable() and c not in "/\\" else "-" for c in name)
    source, target = languages
    data = {"source_lang": source, "target_lang": target, **corpora}
    return {"name": kept.strip("._- ")[:100] or "run", "task": task.name, "data": data}


def _with_preset(
    tree: Tree, preset: str | None, tell: Callable[[str], None]
) -> tuple[Tree, set[str]]:
    """Return the configuration with a bundled one's sizes, and the keys that stay open.

    `tell` is called if that one is for another task.
    """
    has_turns = TASKS[tree["task"]].has_turns
    decode = {"decode": _CHAT_DECODE} if has_turns else {}
    if preset in (None, "auto"):
        return tree | decode, {
            f"{name}.{key}" for name, keys in auto_keys().items() for key in keys
        }
    configs = bundled_configs()
    if preset not in configs:
        raise ConfigError(
            f"--preset {preset}: no bundled configuration of that name."
            f"{did_you_mean(preset, configs)}",
            hint=f"known are auto, {', '.join(configs)}",
        )
    loaded = load_config(str(configs[preset]))
    is_same_task = loaded.config.task == tree["task"]
    if not is_same_task:
        tell(
            f"{preset} is for {loaded.config.task}, this is {tree['task']}: only its sizes are "
            f"taken; if it is {loaded.config.task}, say --task {loaded.config.task}"
        )
    sizes = loaded.config.model_dump(include={*_SIZES, *(_OF_TASK if is_same_task else ())})
    if not is_same_task:
        sizes["model"]["turn_embeddings"] = has_turns  # there are turns in no other task
    return tree | decode | sizes, set(loaded.auto)
