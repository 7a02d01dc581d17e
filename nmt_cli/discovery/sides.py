"""The two sides of a corpus: their languages, which is the source, and whether one is labels."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.config.tasks import CHAT, TRANSLATION, TaskFacts
from nmt_cli.discovery import names
from nmt_cli.encoding import AUTO
from nmt_cli.files import read_lines
from nmt_cli.text.language_id import language_of

HEAD = 500  # lines that are looked at for columns and for dialogues
NAMED_SHARE = 0.5  # distinct values of a column called `label`, at most, by its rows
UNNAMED_SHARE = 0.2  # likewise when only the values say that they are labels
_MOST_LABELS = 1000
_LONGEST_LABEL, _MOST_WORDS = 40, 4  # characters and words of a label


class Side(NamedTuple):
    """One side of a corpus: what its name says, and some of its text."""

    marker: str
    lines: list[str]


class Corpus(NamedTuple):
    """A corpus that was found."""

    split: str  # "train", "dev" or "test"
    entry: dict[str, Any]  # as `data` of the configuration has it
    sides: tuple[Side, Side]  # source and target; the text and its labels
    reason: str  # why it is taken so
    task: TaskFacts  # what it is for
    labels: tuple[str, ...] = ()  # all that occur in it, sorted, when it is for classification

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return [self.entry[key] for key in ("source", "target", "file") if key in self.entry]

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of source and target, "" where unknown; labels are in no language."""
        if self.task.has_labels:
            source = self.sides[0]
            return (names.language(source.marker) or language_of(source.lines), "")
        return languages_of(self.sides)


def read_leniently(path: Path) -> Iterator[str]:
    """Yield the lines of a file; what is not UTF-8 is for `nmt check` to tell."""
    return read_lines(path, lambda raw: raw.decode("utf-8", "replace"), AUTO)


def languages_of(sides: tuple[Side, Side]) -> tuple[str, str]:
    """Return the languages of two sides: as their names say, unless the text says the opposite."""
    named = (names.language(sides[0].marker), names.language(sides[1].marker))
    read = (language_of(sides[0].lines), language_of(sides[1].lines))
    if named == read[::-1]:
        return read
    return (named[0] or read[0], named[1] or read[1])


def task_of(sides: tuple[Side, Side]) -> TaskFacts:
    """Return chat for two sides of one language or with roles of a talk, else translation."""
    if all(names.is_talk(side.marker) for side in sides):
        return CHAT
    languages = languages_of(sides)
    return CHAT if languages[0] == languages[1] != "" else TRANSLATION


def is_swapped(
    sides: tuple[Side, Side], contexts: Sequence[str], *, is_ordered: bool = False
) -> tuple[bool, str]:
    """Return whether the second side is the source, and why.

    `contexts` are names of files and folders, where something like `ko-en` may stand; the first one
    in which it does decides. `is_ordered`: somebody put the sides in this order, as in a table's
    heading.
    """
    ranks = [names.rank(side.marker) for side in sides]
    if ranks[0] != ranks[1]:
        return ranks[0] > ranks[1], "their names say so"
    markers = [side.marker.lower() for side in sides]
    for context, is_other_way in itertools.product(contexts if all(markers) else (), (False, True)):
        first, second = map(re.escape, markers[:: -1 if is_other_way else 1])
        pattern = rf"(?<![a-z]){first}(-|_|2|to|-to-|)?{second}(?![a-z])"
        if found := re.search(pattern, context.lower()):
            return is_other_way, f"{found[0]!r} in a name says so"
    if is_ordered:
        return False, "in the order of the columns"
    codes = languages_of(sides)
    if "en" in codes and codes[0] != codes[1]:
        return codes[0] == "en", "into English by default"
    return False, "in the order of their names"


def few_short_values(values: Iterable[str], share: float) -> tuple[str, ...]:
    """Return the distinct values, sorted, if they are short and recur as labels do; else ().

    Blank values do not count; `share` is the most of the others that may be distinct.
    """
    counts: Counter[str] = Counter()
    for value in map(str.strip, values):
        if len(value) > _LONGEST_LABEL or len(value.split()) > _MOST_WORDS:
            return ()
        counts[value] += bool(value)
        if len(counts) > _MOST_LABELS:
            return ()
    del counts[""]
    return tuple(sorted(counts)) if len(counts) <= max(1, share * counts.total()) else ()
