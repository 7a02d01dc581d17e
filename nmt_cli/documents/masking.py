"""Texts with marks through a model: masked, translated, and filled.

A model that learnt placeholders (`text/placeholders.py`) gets one in place of each word that stays
as it is. Where it lost one or wrote it twice, a hypothesis further down may have them all, or one
of a wider search; otherwise `Inline.filled` finds the place of what is lost, and tells. A model
without placeholders translates the words themselves, which are then put over what it made of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.api.model import Model
from nmt_cli.config.limits import OPTIONS
from nmt_cli.documents.inline import HARD_SPACE, Alignment, Filled, Inline, Mark
from nmt_cli.documents.remembered import remembered
from nmt_cli.search.memory import Memory
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import (
    EXACT,
    AlignedPart,
    Match,
    TextHypothesis,
    Translation,
    Translator,
    aligned,
)
from nmt_cli.text.placeholders import SignedSubwords
from nmt_cli.text.special_tokens import SIGNS
from nmt_cli.text.vocabulary import Vocabularies

if TYPE_CHECKING:
    from nmt_cli.search.glossary import Glossary

_WIDER, _WIDE = 4, 8  # times as wide is the beam that shall find what a search lost; and at least


class Kept(NamedTuple):
    """Words that a sign stands for; letters stand beside them that a space keeps apart."""

    words: str
    joins_before: bool
    joins_after: bool


class Masked(NamedTuple):
    """A text with signs in place of words, and what each of them stands for."""

    inline: Inline
    kept: dict[str, Kept]

    @classmethod
    def of(cls, inline: Inline) -> "Masked":
        """Return a text with signs for as many words as there are signs; one with a sign stays."""
        marks, text = _merged(inline.marks), inline.text
        spans = [(mark.start, mark.end) for mark in marks if mark.is_kept and mark.start < mark.end]
        if not spans or any(sign in text for sign in SIGNS):
            return cls(inline, {})
        kept = {
            sign: Kept(text[a:b], text[:a][-1:].isalnum(), text[b : b + 1].isalnum())
            for sign, (a, b) in zip(SIGNS, spans, strict=False)
        }
        begun = {a: (sign, b) for sign, (a, b) in zip(SIGNS, spans, strict=False)}
        over = {b for _, b in begun.values()}
        made, until = "", 0
        starts, ends = [], []  # where what starts or ends at a place of the text now does
        for place in range(len(text) + 1):
            ends.append(len(made))
            is_joined = place in begun and text[:place][-1:].isalnum()
            if is_joined or (place in over and text[place : place + 1].isalnum()):
                made += " "
            starts.append(len(made))
            if place in begun:
                sign, until = begun[place]
                made += sign
            elif place >= until:
                made += text[place : place + 1]
        moved = [
            replace(mark, start=starts[mark.start], end=max(starts[mark.start], ends[mark.end]))
            for mark in marks
        ]
        return cls(Inline(made, moved, inline.escape), kept)

    def faults(self, output: str) -> int:
        """Return how many signs an output lacks or has twice."""
        return sum(output.count(sign) != 1 for sign in self.kept)

    def plain(self, output: str, alignment: Alignment) -> str:
        """Return an output with all words, but without markup."""
        kept = [
            replace(mark, before="", after="", raw="", depth=0)
            for mark in self.inline.marks
            if mark.is_kept
        ]
        if not kept:
            return output
        return Masked(Inline(self.inline.text, kept), self.kept).filled(output, alignment).text

    def filled(self, output: str, alignment: Alignment) -> Filled:
        """Return an output with all marks and words; see `Inline.filled`."""
        filled = self.inline.filled(output, alignment)
        text, guessed = filled.text, filled.guessed
        if not self.kept:
            return filled
        for sign, (words, joins_before, joins_after) in self.kept.items():
            text = text.replace(f" {sign}", sign) if joins_before else text
            text = text.replace(f"{sign} ", sign) if joins_after else text
            text = text.replace(sign, self.inline.escape(words), 1)
            guessed = [what.replace(sign, words) for what in guessed]
        for sign in SIGNS:  # what the model wrote twice, or without reason
            text = text.replace(f" {sign}", "").replace(sign, "")
        return Filled(text, guessed)


def _merged(marks: Sequence[Mark]) -> list[Mark]:
    """Return marks with one for words that stay side by side, where nothing is between them."""
    made: list[Mark] = []
    edges = {edge for mark in marks if not mark.is_kept for edge in (mark.start, mark.end)}
    for mark in marks:
        last = made[-1] if made else mark
        is_beside = last is not mark and last.is_kept and mark.is_kept and last.end == mark.start
        markup = last.before + last.after + last.raw + mark.before + mark.after + mark.raw
        if is_beside and not markup and mark.start not in edges:
            made[-1] = replace(last, end=mark.end)
        else:
            made.append(mark)
    return made


@dataclass
class MarkedTranslator:
    """Translates texts with marks."""

    model: Model
    options: SearchOptions
    split: bool = True  # long lines into sentences
    glossary: "Glossary | str | Path | None" = None
    memory: Memory | None = None

    def __post_init__(self) -> None:
        self._plain = self.model.translator(split=self.split, glossary=self.glossary)
        known = self._plain.vocabularies
        self._signed: Translator | None = None
        if known.source.placeholders and known.target.placeholders:
            sides = SignedSubwords(known.source), SignedSubwords(known.target)
            signed = Vocabularies(*sides, known.languages)
            terms = self._plain.terms and replace(self._plain.terms, vocabularies=signed)
            self._signed = replace(self._plain, vocabularies=signed, terms=terms)

    def translations(
        self, texts: Sequence[Inline], is_open: Sequence[bool]
    ) -> Iterator[tuple[Translation, list[Filled]]]:
        """Yield the translation of each text without markup, and each hypothesis with all marks.

        What is not open stays as it is, and what the memory has is taken from it.
        """
        both = zip(texts, is_open, strict=True)
        done = [self._remembered(text) if opens else _unchanged(text) for text, opens in both]
        asked = [text for text, one in zip(texts, done, strict=True) if one is None]
        results = iter(self.translate(asked))
        for text, one in zip(texts, done, strict=True):
            yield one or self._translation(text, *next(results))

    def _remembered(self, text: Inline) -> tuple[Translation, list[Filled]] | None:
        found = remembered(self.memory, text) if self.memory else None
        if found is None:
            return None
        plain, filled = found
        match = Match(text.text, plain, EXACT)
        return Translation.unasked(text.text, plain, match), [Filled(filled, [])]

    def _translation(
        self, text: Inline, hypotheses: list[TextHypothesis], filled: list[Filled]
    ) -> tuple[Translation, list[Filled]]:
        near = self.memory.near(text.text) if self.memory else None
        kept = tuple(text.text[mark.start : mark.end] for mark in text.marks if mark.is_kept)
        guessed = tuple(map(_name, filled[0].guessed))
        return Translation(text.text, hypotheses, near, kept, guessed), filled

    def translate(self, texts: Sequence[Inline]) -> list[tuple[list[TextHypothesis], list[Filled]]]:
        """Return the hypotheses for each text, best first, and what each is with all marks.

        A hypothesis has the text without markup.
        """
        masks = [Masked.of(text) if self._signed else Masked(text, {}) for text in texts]
        found = self._found(masks)
        ways = _alignments(self.model, [mask.inline for mask in masks], found)
        results = []
        for mask, hypotheses, row in zip(masks, found, ways, strict=True):
            pairs = [*zip(hypotheses, row, strict=True)]
            plain = [replace(h, text=mask.plain(h.text, how)) for h, how in pairs]
            results.append((plain, [mask.filled(h.text, how) for h, how in pairs]))
        return results

    def _found(self, masks: Sequence[Masked]) -> list[list[TextHypothesis]]:
        """Return the hypotheses for each text; of masked ones first those without a fault."""
        options = self.options
        found = self._search(self._plain, masks, [not mask.kept for mask in masks], options)
        is_open = [bool(mask.kept) for mask in masks]
        if self._signed is None or not any(is_open):
            return found
        if not options.sample:
            options = replace(options, n_best=options.beam_size)
        signed = self._search(self._signed, masks, is_open, options)
        is_open = [
            is_masked and mask.faults(hypotheses[0].text) > 0
            for mask, hypotheses, is_masked in zip(masks, signed, is_open, strict=True)
        ]
        wider = signed
        if any(is_open) and not options.sample:
            wide = min(max(_WIDER * options.beam_size, _WIDE), int(OPTIONS["beam_size"].most))
            options = replace(options, beam_size=wide, n_best=wide)
            wider = self._search(self._signed, masks, is_open, options)
        for i, mask in enumerate(masks):
            if mask.kept:
                tried = (signed[i], wider[i]) if is_open[i] else (signed[i],)
                best = min(tried, key=lambda found: mask.faults(found[0].text))
                found[i] = best[: self.options.n_best]
        return found

    def _search(
        self,
        translator: Translator,
        masks: Sequence[Masked],
        is_wanted: Sequence[bool],
        options: SearchOptions,
    ) -> list[list[TextHypothesis]]:
        """Return the hypotheses for each text that is wanted; the others are blank."""
        wanted = zip(masks, is_wanted, strict=True)
        lines = [mask.inline.text if wants else "" for mask, wants in wanted]
        results = translator.translate_windows([lines], options)
        return [
            sorted(result.hypotheses, key=lambda found: mask.faults(found.text))
            for mask, result in zip(masks, results, strict=True)
        ]


def _unchanged(text: Inline) -> tuple[Translation, list[Filled]]:
    filled = text.unchanged()
    guessed = tuple(map(_name, filled.guessed))
    return replace(Translation.unasked(text.text, text.text), guessed=guessed), [filled]


def _name(mark: str) -> str:
    """Return words or markup as people can read them."""
    name = " ".join(mark.replace(HARD_SPACE, " ").split())
    return name if name and name.isprintable() else "markup"


def _alignments(
    model: Model, texts: Sequence[Inline], found: Sequence[Sequence[TextHypothesis]]
) -> list[list[Alignment]]:
    """Return the alignment of each hypothesis with its text, if that has marks."""
    pairs = [*zip(texts, found, strict=True)]
    marked = [hypothesis for text, row in pairs for hypothesis in row if text.marks]
    made = map(_alignment, aligned(model.engine, model.vocabularies, marked))
    return [[next(made) if text.marks else Alignment() for _ in row] for text, row in pairs]


def _alignment(parts: Sequence[AlignedPart]) -> Alignment:
    """Return which words a line was made of; those of its parts one after the other."""
    nearest = {
        s + part.words_before[0]: column.index(max(column)) + part.words_before[1]
        for part in parts
        for s, column in enumerate(zip(*part.words, strict=True))
    }
    return Alignment([pair for part in parts for pair in part.pairs()], nearest)
