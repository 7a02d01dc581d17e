"""A glossary: what words of a source shall become, and which of that a translation has.

A line of its file has a term and its translation with a tab between them, and perhaps a note:

    bike|bikes<tab>Fahrrad|Fahrräder|Fahrrädern<tab>never Rad
    # a comment

`|` stands between forms of one word, of which any is right. `*` at the end or the beginning of a
form stands for any letters: such a form is recognised, but never written. A term that has several
lines has several translations: all are right, and the first line's is written.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli.errors import DataError
from nmt_cli.files import read_utf8

# Letters of scripts that put no space between words: a form is found anywhere among them. In
# Korean, particles follow a word without a space.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_BEFORE = rf"(?<![^\W{UNSPACED}])"
_AFTER = rf"(?![^\W{UNSPACED}\uac00-\ud7a3])"
_BEGINNING = re.compile(r"(?:\A|[.!?…:]\s)\W*\Z")

Forms = tuple[str, ...]  # of a word


class Term(NamedTuple):
    """A term that a source has."""

    span: tuple[int, int]  # its place in the source, in characters
    text: str  # as it stands there
    choices: tuple[Forms, ...]  # its translations, the preferred one first

    @property
    def forms(self) -> list[str]:
        """The forms of the preferred translation that can be written."""
        return [form for form in self.choices[0] if "*" not in form]

    def match(self, target: str) -> re.Match[str] | None:
        """Return where a text has a translation of the term first; None where it has none."""
        forms = tuple(form for choice in self.choices for form in choice)
        return next((match for match, _ in _matches(_pattern(forms), forms, target)), None)


@dataclass(frozen=True)
class TermUse:
    """What became of a term of a source."""

    source: str  # the term as it stands there
    target: str | None  # its translation as it stands in the output
    why: str | None = None  # there is none


class Tally:
    """What became of the terms of many lines."""

    def __init__(self) -> None:
        self.used = 0
        self.missed: Counter[TermUse] = Counter()

    def add(self, uses: Iterable[TermUse]) -> None:
        """Count those of a line."""
        for use in uses:
            self.used += use.target is not None
            self.missed.update([use] if use.target is None else [])


@dataclass(frozen=True, eq=False)
class Glossary:
    """Terms and what they shall become: for each line of the file the forms of both."""

    entries: tuple[tuple[Forms, Forms], ...]

    @classmethod
    def of(cls, glossary: "Glossary | str | Path") -> "Glossary":
        """Return a glossary as it is, or read its file."""
        return glossary if isinstance(glossary, Glossary) else cls.read(glossary)

    @classmethod
    def read(cls, path: str | Path) -> "Glossary":
        """Read a file; DataError names its first line that is no term."""
        entries = []
        for number, line in enumerate(read_utf8(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = line.split("\t")
            forms = [tuple(map(str.strip, column.split("|"))) for column in columns[:2]]
            fault = _fault(columns, forms)
            if fault is not None:
                raise DataError(f"{path}, line {number}: {fault}: {line!r:.80}")
            entries.append((forms[0], forms[1]))
        return cls(tuple(entries))

    def normalised(self, source: Callable[[str], str], target: Callable[[str], str]) -> "Glossary":
        """Return the glossary with the forms of each side as a function writes them."""
        return Glossary(
            tuple((tuple(map(source, a)), tuple(map(target, b))) for a, b in self.entries)
        )

    def terms_in(self, source: str) -> list[Term]:
        """Return the terms of a source in order, each once; of two that overlap the longer."""
        choices, pattern = _compiled(self)
        found: dict[tuple[Forms, ...], Term] = {}
        for match, form in _matches(pattern, choices, source):
            found.setdefault(choices[form], Term(match.span(), match[0], choices[form]))
        return list(found.values())

    def shared(self, source: str, target: str) -> list[tuple[int, int, str]]:
        """Return the place of each term of a source whose translation a target has, and its form.

        That is the one to write; the target may have any.
        """
        terms = self.terms_in(source)
        return [(*term.span, term.forms[0]) for term in terms if term.match(target)]


def _fault(columns: list[str], forms: list[Forms]) -> str | None:
    """Return what is wrong with a line of a glossary."""
    if len(columns) not in (2, 3):
        return "not a term and its translation, with a tab between them, and maybe a note"
    if not all(form.strip("*") and "*" not in form.strip("*") for row in forms for form in row):
        return "a form is empty, or has `*` in its middle"
    return "the first form of a translation has `*`" if "*" in forms[1][0] else None


@functools.lru_cache(8)
def _compiled(glossary: Glossary) -> tuple[dict[str, tuple[Forms, ...]], re.Pattern[str]]:
    """Return the translations of each form of a source, and what finds the forms."""
    choices: dict[str, tuple[Forms, ...]] = {}
    for sources, targets in glossary.entries:
        for form in sources:
            choices[form] = (*choices.get(form, ()), targets)
    return choices, _pattern(tuple(choices))


@functools.lru_cache(4096)
def _pattern(forms: Forms) -> re.Pattern[str]:
    """Return what finds forms, also with a capital first letter; the longest at each place.

    Those of a first letter stand together: of thousands, a place is then compared with few.
    """
    rests: dict[str, list[str]] = {}
    for form in sorted(forms, key=len, reverse=True):
        for first in dict.fromkeys((form[0], _capital(form[0]))):
            first = r"\w*" if first == "*" else re.escape(first)
            rests.setdefault(first, []).append(re.escape(form[1:]).replace(r"\*", r"\w*"))
    any_of = "|".join(f"{first}(?:{'|'.join(some)})" for first, some in rests.items())
    return re.compile(f"{_BEFORE}(?:{any_of or '(?!)'}){_AFTER}")


def _matches(
    pattern: re.Pattern[str], forms: Collection[str], text: str
) -> Iterator[tuple[re.Match[str], str]]:
    """Yield where a text has forms, and which; a capital that the form lacks begins a sentence."""
    for match in pattern.finditer(text):
        form = _form_of(match[0], forms)
        if form[0] in (match[0][0], "*") or _BEGINNING.search(text, 0, match.start()):
            yield match, form


def _form_of(text: str, forms: Collection[str]) -> str:
    """Return the form that a pattern of forms has found as a text."""
    for form in (text, text[0].lower() + text[1:]):
        if form in forms:
            return form
    alike = (form for form in forms if "*" in form or form[1:] == text[1:])
    return next(form for form in alike if _pattern((form,)).fullmatch(text))


def _capital(letter: str) -> str:
    """Return the capital of a letter, or the letter where that is no single one."""
    return letter.upper() if len(letter.upper()) == 1 else letter
