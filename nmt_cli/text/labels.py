"""The label names of a classifier: text in a corpus <-> numbers that the model predicts.

In an encoded corpus labels stand where a translation has the tokens of its target, numbered from 1:
0 is padding there, and examples may have more labels or fewer.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import DataError, LineError, did_you_mean, number_of

if TYPE_CHECKING:
    from nmt_cli.config.schema import ClassificationConfig, Config

_MOST = 10_000
_SHOWN = 20
_HINT = "is that the right column? columns: [text, label]"


@dataclass(frozen=True)
class Labels:
    """The label names in the order of the model's outputs, and what separates those of an example.

    `separator` is None when each example has just one.
    """

    names: tuple[str, ...]
    separator: str | None

    @classmethod
    def of(cls, config: "Config") -> "Labels | None":
        """Return the labels of a configuration; None of another task, or while not known."""
        settings = config.classification
        if not config.facts.has_labels or settings.labels is None:
            return None
        return cls(tuple(settings.labels), settings.label_separator)

    def ids(self, text: str) -> list[int]:
        """Return the numbers, from 1, of the labels in a corpus's text, each once, ascending."""
        return sorted({self._numbers[name] for name in split_labels(text, self.separator)})

    def join(self, indices: Iterable[int]) -> str:
        """Return the text of labels, given by their places in `names`."""
        return (self.separator or "").join(self.names[index] for index in indices)

    def problem(self, text: str, file: Path, line: int) -> LineError | None:
        """Return what is wrong with a line that has a label that the model does not know."""
        for name in split_labels(text, self.separator):
            if name not in self._numbers:
                shown = ", ".join(self.names[:_SHOWN]) + (", ..." if self.names[_SHOWN:] else "")
                return LineError(
                    file,
                    line,
                    f"unknown label '{name}'.{did_you_mean(name, self.names)}",
                    hint=f"the labels are: {shown} (classification.labels, or those in train)",
                )
        return None

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names, start=1)}


def split_labels(text: str, separator: str | None) -> list[str]:
    """Return the label names in a text; without a separator all of it is one."""
    if separator is None:
        return [text.strip()]
    return [name for part in text.split(separator) if (name := part.strip())]


def find_labels(texts: Iterable[str], config: "Config") -> list[str]:
    """Return the labels that occur in the label texts of a corpus, sorted.

    DataError: they are fewer than two, or so many that this can be no column of labels.
    """
    separator, found = config.classification.label_separator, set[str]()
    for text in texts:
        found.update(split_labels(text, separator))
        if len(found) > _MOST:
            many = f"train has more than {_MOST:,} different labels, such as '{min(found)}'"
            raise DataError(many, hint=_HINT)
    if len(found) < 2:
        raise DataError(few_labels(len(found)), hint=_HINT)
    return sorted(found)


def few_labels(number: int) -> str:
    """Return what is wrong with text of one label, or of none."""
    return f"train has {number_of(number, 'label')}: there is nothing to distinguish"


def taken_for_one(names: Iterable[str], settings: "ClassificationConfig") -> str | None:
    """Return a warning where a label looks like several, as `a; b` does; None where none does."""
    separator = settings.separator
    joined = next((name for name in names if separator in name), None)
    if joined is None or settings.multi_label:
        return None
    return (
        f"'{joined}' is taken for one label; if it is several, set classification.multi_label: "
        f"true and classification.separator: '{separator}'"
    )


def label_text(value: object, separator: str | None) -> object:
    """Return the label of a JSON record as a text file would have it; other things as they are.

    ValueError: it is a list of several, and an example has just one (`separator` is None).
    """
    names = list(map(label_name, value)) if isinstance(value, list) else []
    if isinstance(value, list) and all(isinstance(name, str) and name.strip() for name in names):
        if separator is None and len(value) > 1:
            raise ValueError("a text with several labels needs classification.multi_label: true")
        return (separator or "").join(map(str, names))
    return label_name(value)


def label_name(value: object) -> object:
    """Return a number, or true, of JSON as a text file has a label; other things as they are."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value
