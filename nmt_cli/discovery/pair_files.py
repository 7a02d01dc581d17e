"""Two text files that belong together: line N of one is the translation, answer or label of N."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt_cli.config.tasks import CLASSIFICATION, TaskFacts
from nmt_cli.discovery import names
from nmt_cli.discovery.sides import (
    HEAD,
    NAMED_SHARE,
    UNNAMED_SHARE,
    Corpus,
    Side,
    few_short_values,
    is_swapped,
    read_leniently,
    task_of,
)
from nmt_cli.discovery.tables import is_dialogue
from nmt_cli.errors import DataError

_SAMPLE = 200  # lines that are looked at for the language


def named_pairs(folder: Path, files: list[str], task: TaskFacts | None) -> Iterator[Corpus]:
    """Pair text files whose names differ in the language or role alone.

    DataError: the names do not tell which files belong together.
    """
    pairs = [
        ((one, other), markers)
        for one, other in itertools.combinations(files, 2)
        if (markers := _difference(one, other)) is not None
    ]
    partners = [name for pair, _ in pairs for name in pair]
    if several := sorted({name for name in partners if partners.count(name) > 1}):
        raise DataError(
            f"{folder}: {', '.join(several)}: more than two files belong together",
            hint="name two: nmt init --train SOURCE TARGET --dev SOURCE TARGET",
        )
    train: Corpus | None = None
    # A few labels of dev tell less than those of train, which they are taken as.
    for pair, markers in sorted(pairs, key=lambda pair: names.split_of(pair[0][0]) != "train"):
        if train is not None and train.labels and set(markers) == {s.marker for s in train.sides}:
            text, label = (pair[markers.index(side.marker)] for side in train.sides)
            entry = {"source": text, "target": label}
            yield train._replace(split=names.split_of(text), entry=entry)
        elif (corpus := _pair(folder, pair, markers, task, others=partners)) is not None:
            train = train or corpus
            yield corpus


def only_pair(folder: Path, files: list[str], task: TaskFacts | None) -> Corpus | None:
    """Return the corpus of the only two files of a folder, whatever they are called."""
    if len(files) != 2 or names.split_of(files[0]) != names.split_of(files[1]):
        return None
    paths = [folder / name for name in files]
    if any(map(is_dialogue, paths)) and _blank_lines(paths[0]) != _blank_lines(paths[1]):
        return None
    return _pair(folder, (files[0], files[1]), ("", ""), task)


def given_pair(source: Path, target: Path, task: TaskFacts | None) -> Corpus:
    """Return the corpus of two files that the user named, in this order."""
    sides = (side_of(source), side_of(target))
    entry = {"source": str(source), "target": str(target)}
    if task is None or task.has_labels:
        tokens = names.tokens(target.name)
        role = next((t for t in tokens if names.is_labels(t) or names.is_side(t)), "")
        labels = _labels(target, role, task)
        if labels or task:
            return Corpus("train", entry, sides, "as given", CLASSIFICATION, labels)
    return Corpus("train", entry, sides, "as given", task or task_of(sides))


def side_of(path: Path) -> Side:
    """Return a side that is a file of its own, named as its language as in `train.de.gz`."""
    markers = [token for token in names.tokens(path.name) if names.language(token)]
    return Side(markers[-1] if markers else "", _sample(path))


def _pair(
    folder: Path,
    files: tuple[str, str],
    markers: tuple[str, str],
    task: TaskFacts | None,
    others: Sequence[str] = (),
) -> Corpus | None:
    """Return the corpus of two files; names of `others` tell the direction if their own do not."""
    one, other = (Side(m, _sample(folder / f)) for m, f in zip(markers, files, strict=True))
    sides, split = (one, other), names.split_of(files[0])
    if task is None or task.has_labels:
        for text, label in ((0, 1), (1, 0)):
            if labels := _labels(folder / files[label], markers[label], task):
                entry = {"source": files[text], "target": files[label]}
                reason = f"{files[label]} has few and short values"
                ordered = (sides[text], sides[label])
                return Corpus(split, entry, ordered, reason, CLASSIFICATION, labels)
        if task:
            return None
    swapped, reason = is_swapped(sides, [files[0], folder.resolve().name, *others])
    if swapped:
        sides, files = sides[::-1], files[::-1]
    entry = {"source": files[0], "target": files[1]}
    return Corpus(split, entry, sides, reason, task or task_of(sides))


def _labels(path: Path, marker: str, task: TaskFacts | None) -> tuple[str, ...]:
    """Return the labels in a file, () when it is something else."""
    is_label = names.is_labels(marker) and not names.is_side(marker)
    is_named = is_label or (task is not None and task.has_labels)
    if marker and not is_named:
        return ()
    share = NAMED_SHARE if is_named else UNNAMED_SHARE
    labels = few_short_values(read_leniently(path), share)
    return labels if len(labels) > 1 else ()


def _difference(one: str, other: str) -> tuple[str, str] | None:
    """Return the languages or roles in which alone two names differ, or None."""
    tokens = (names.tokens(one), names.tokens(other))
    if len(tokens[0]) != len(tokens[1]):
        return None
    differing = [i for i, pair in enumerate(zip(*tokens, strict=True)) if pair[0] != pair[1]]
    if len(differing) != 1:
        return None
    first, other_first = (of[differing[0]] for of in tokens)
    # In train.en-de.en and train.en-fr.en the last language is that of the file.
    if names.language(first) and any(map(names.language, tokens[0][differing[0] + 1 :])):
        return None
    is_pair = _are_sides(first, other_first) or _are_sides(other_first, first)
    return (first, other_first) if is_pair else None


def _are_sides(one: str, other: str) -> bool:
    if names.is_labelled_text(one) and names.is_labels(other):
        return True
    return names.is_side(one) and names.is_side(other)


def _sample(path: Path) -> list[str]:
    """Return lines from the first thousand, but not all of them: beginnings are special."""
    return list(itertools.islice(read_leniently(path), 0, 5 * _SAMPLE, 5))


def _blank_lines(path: Path) -> list[int]:
    head = itertools.islice(read_leniently(path), HEAD)
    return [number for number, line in enumerate(head) if not line.strip()]
