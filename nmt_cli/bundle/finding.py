"""Which model a command means: a folder, a run, a shared file, or the newest one."""

import itertools
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nmt_cli.bundle.folder import Bundle, open_bundle
from nmt_cli.bundle.manifest import MANIFEST, read_manifest
from nmt_cli.config.tasks import TASKS, TRANSLATION, TaskFacts
from nmt_cli.errors import ModelFileError, did_you_mean
from nmt_cli.files import existing_dir
from nmt_cli.resources import RUNS_DIR
from nmt_cli.stores import fetched, is_url


def find_bundle(
    model: str | Path | Sequence[str | Path] | None,
    *tasks: TaskFacts,
    backward: str | Path | None = None,
) -> Bundle:
    """Return the bundle that a command should use, for one of some tasks; none named is any.

    `model` is what the user gave: a bundle, a run folder or a shared file, or a URL of one; or
    several of these, which are an ensemble: the first with the others as its partners. None looks
    at `$NMT_MODEL` and then takes the newest bundle of the right task below `runs/`. `backward` is
    a model of the other direction.

    Raises:
        ModelFileError: There is none, it is damaged, or it is for another task; or the models of an
            ensemble have different vocabularies or directions, or the backward model is not one.
    """
    if backward is not None:
        bundle, other = find_bundle(model, *tasks), find_bundle(backward, TRANSLATION)
        _check_backward(bundle, other)
        return replace(bundle, backward=other)
    tasks = tasks or tuple(TASKS.values())
    if model and not isinstance(model, str | Path):
        first, *others = [find_bundle(name, *tasks) for name in model]
        for other in others:
            _check_same_vocabulary(first, other)
        return replace(first, partners=tuple(others))
    given = str(model or os.environ.get("NMT_MODEL") or "")
    if not given:
        return _newest_bundle(tasks)
    path = fetched(given, ModelFileError, is_model=True) if is_url(given) else Path(given)
    if path.is_file() and path.name != MANIFEST:
        from nmt_cli.bundle.sharing import unpacked

        bundle = replace(unpacked(path), given=given)
    else:
        bundle = replace(open_bundle(_bundle_dir(path)), given=given if is_url(given) else "")
    check_task(bundle, *tasks, named=given)
    return bundle


def check_task(bundle: Bundle, *tasks: TaskFacts, named: str = "") -> None:
    """Raise ModelFileError unless a bundle, as the user named it, is for one of the tasks."""
    facts = bundle.manifest.facts
    if facts not in tasks:
        raise ModelFileError(
            f"{named or bundle.named}: is a {facts.name} model, not for {_named(tasks)}"
        )


def _check_same_vocabulary(first: Bundle, other: Bundle) -> None:
    """Raise ModelFileError unless two models can be of one ensemble."""
    for bundle in (first, other):
        if bundle.manifest.facts.has_labels:
            raise ModelFileError(f"{bundle.named}: a classifier cannot be part of an ensemble")
    of_first, of_other = (
        [
            known["sha256"]
            for name, known in bundle.manifest.files.items()
            if name.startswith("tokenizer.")
        ]
        for bundle in (first, other)
    )
    ways = [(one.manifest.source_lang, one.manifest.target_lang) for one in (first, other)]
    if not first.manifest.languages and all(itertools.chain(*ways)) and ways[0] != ways[1]:
        raise ModelFileError(
            f"{other.named}: translates from {' to '.join(ways[1])}",
            hint=f"the other models of the ensemble translate from {' to '.join(ways[0])}",
        )
    if of_first != of_other or first.manifest.languages != other.manifest.languages:
        raise ModelFileError(
            f"{other.named}: has another vocabulary than {first.named}",
            hint="the models of an ensemble are trained on the same text with the same tokenizer "
            "section, and other seeds: nmt train my.yaml --set name=second --set seed=2",
        )


def _check_backward(bundle: Bundle, other: Bundle) -> None:
    """Raise ModelFileError unless a model translates back, as far as is known."""
    check_task(bundle, TRANSLATION)
    ways = [(one.manifest.source_lang, one.manifest.target_lang) for one in (bundle, other)]
    (source, target), way = ways
    if all((*way, source, target)) and way != (target, source):
        raise ModelFileError(
            f"{other.named}: translates from {way[0]} to {way[1]}",
            hint=f"--backward needs a model from {target} to {source}",
        )


def _named(tasks: tuple[TaskFacts, ...]) -> str:
    return " or ".join(facts.name for facts in tasks)


def _bundle_dir(path: Path) -> Path:
    if path.name == MANIFEST and path.is_file():
        path = path.parent
    for candidate in (existing_dir(path), existing_dir(path / "model")):
        if (candidate / MANIFEST).is_file():
            return candidate
    if not path.exists():
        runs = (model.parent.name for model in RUNS_DIR.glob("*/model"))
        hint = did_you_mean(path.name, runs).replace("'", f"'{RUNS_DIR}/", 1)
        raise ModelFileError(f"{path}: no such folder{f'.{hint}' if hint else ''}")
    if not path.is_dir():
        raise ModelFileError(f"{path}: is a file, not a model folder")
    hint = "name a model folder or a run folder such as runs/quickstart"
    if (path / "config.json").is_file():
        hint = f"if it is a published model, import it first: nmt import {shlex.quote(str(path))}"
    raise ModelFileError(f"{path}: contains no model ({MANIFEST} is missing)", hint=hint)


def _newest_bundle(tasks: tuple[TaskFacts, ...]) -> Bundle:
    folders = [existing_dir(run / "model") for run in RUNS_DIR.glob("*") if run.is_dir()]
    manifests = [folder / MANIFEST for folder in folders if (folder / MANIFEST).is_file()]
    for path in sorted(manifests, key=lambda p: p.stat().st_mtime, reverse=True):
        if read_manifest(path).facts in tasks:
            return open_bundle(path.parent)
    kind = "" if len(tasks) == len(TASKS) else f"{_named(tasks)} "
    raise ModelFileError(
        f"no {kind}model below {RUNS_DIR}/",
        hint=f"train one with: {tasks[0].made_by}   (or name one with --model)",
    )
