"""A search whose outputs have the translations that a glossary prescribes.

A source is searched as usual. Where the best output lacks the translation of a term, a model that
has learnt to read terms (`text/term_lessons.py`) gets it in place of the word. Where that does not
help, the attention tells which word of the output the term became; the translation takes the place
of that. A search then writes what follows anew, so that it agrees with the term; and another one
looks for outputs that have the term by themselves. Of all outputs with the term, and with the terms
that were there before, the most probable one is kept. Several terms are placed one after the other,
from left to right in the output; the lines that are given together are searched together.
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from nmt_cli.search.alignment import Matrix
from nmt_cli.search.engine import Engine, Found, Hypothesis, Rows, Searcher
from nmt_cli.search.glossary import UNSPACED, Glossary, Term, TermUse
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID
from nmt_cli.text.term_lessons import annotated, token_places
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_WORD = re.compile(rf"[^\W{UNSPACED}]+(?:[-'\u2019][^\W{UNSPACED}]+)*|[{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")

Span = tuple[int, int]  # from one character of a text to before another


@dataclass(eq=False)
class _Line:
    """A source with its outputs, best first, and its terms."""

    source: Sequence[int]
    text: str
    found: list[Hypothesis]
    present: list[Term]  # their translation is in the best output
    missing: list[Term]  # yet to be placed


@dataclass(eq=False)
class _Attempt:
    """Ways to give the best output of a line a term."""

    line: _Line
    term: Term
    beginnings: list[list[int]]  # of an output, with the term at their end
    outputs: list[list[int]]  # that have it; at first those that replace a word, a beginning each


@dataclass(eq=False)
class TermSearcher(Searcher):
    """An engine that searches with a glossary.

    The scores of outputs in which it placed a term count no penalty of coverage.
    """

    engine: Engine
    vocabularies: Vocabularies
    glossary: Glossary

    def __post_init__(self) -> None:
        self.max_length = self.engine.max_length
        both = self.vocabularies
        self._terms = _normalised(self.glossary, both.source, both.target)

    def search(self, sources: Rows, options: SearchOptions, *, first_index: int = 0) -> Found:
        """See `Searcher.search`."""
        return self.begin(sources, options, first_index=first_index)()

    def begin(
        self, sources: Rows, options: SearchOptions, *, first_index: int = 0
    ) -> Callable[[], Found]:
        """See `Searcher.begin`. Terms are placed when the end is waited for."""
        begun = self.engine.begin(sources, options, first_index=first_index)

        def finish() -> Found:
            found = zip(sources, begun(), strict=True)
            lines = [self._line(source, hypotheses) for source, hypotheses in found]
            if self.vocabularies.source.term_marks:
                self._tell_terms([line for line in lines if line.missing], options)
            while unfinished := [line for line in lines if line.missing]:
                self._place_one_each(unfinished, options)
            return [line.found for line in lines]

        return finish

    def restart(self) -> None:
        """See `Searcher.restart`."""
        self.engine.restart()

    def places(self, source: str) -> list[tuple[int, int]]:
        """Return the spans of characters in which a source has a term."""
        return [term.span for term in self._terms.terms_in(source)]

    def uses(
        self, source: Sequence[int], target: Sequence[int], options: SearchOptions
    ) -> Iterator[TermUse]:
        """Yield what became of the terms of a source in an output, both as ids."""
        vocabulary = self.vocabularies.target
        text = vocabulary.decode(target)
        limit = self._limit(source, options)
        for term in self._terms.terms_in(self.vocabularies.source.decode(source)):
            if match := term.match(text):
                yield TermUse(term.text, match[0])
            elif len(target) + len(vocabulary.encode(term.forms[0])) > limit:
                yield TermUse(term.text, None, f"with it the output has over {limit} tokens")
            else:
                yield TermUse(term.text, None, "no output that the model can write has it")

    def _line(self, source: Sequence[int], found: list[Hypothesis]) -> _Line:
        text = self.vocabularies.source.decode(source)
        line = _Line(source, text, found, [], self._terms.terms_in(text))
        self._sort_out(line)
        return line

    def _sort_out(self, line: _Line) -> None:
        """Note which of the missing terms the best output has."""
        if line.missing:
            best = self.vocabularies.target.decode(line.found[0].ids)
            line.present += [term for term in line.missing if term.match(best)]
            line.missing = [term for term in line.missing if term not in line.present]

    def _tell_terms(self, lines: list[_Line], options: SearchOptions) -> None:
        """Search with what missing terms become in their place; for a model that can read it.

        The outputs with the most terms are those of a line, if these are more than it had.
        """
        sources = {line: self._with_terms(line) for line in lines}
        told = {line: ids for line, ids in sources.items() if len(ids) <= self.max_length}
        options = replace(options, sample=False, n_best=options.beam_size)
        results = self.engine.search([*told.values()], options) if told else []
        for line, found in zip(told, results, strict=True):
            terms = [*line.present, *line.missing]
            texts = [self.vocabularies.target.decode(hypothesis.ids) for hypothesis in found]
            counts = [sum(term.match(text) is not None for term in terms) for text in texts]
            if max(counts) > len(line.present):
                rows = zip(found, counts, strict=True)
                line.found = [h for h, count in rows if count == max(counts)][: options.n_best]
                line.present, line.missing = [], terms
                self._sort_out(line)

    def _with_terms(self, line: _Line) -> list[int]:
        """Return a source in which what they become stands for the terms that are missing."""
        wanted = [(*term.span, term.forms[0]) for term in line.missing]
        return annotated(self.vocabularies.source, list(line.source), wanted)

    def _place_one_each(self, lines: list[_Line], options: SearchOptions) -> None:
        """Give the best output of each line one of the terms that it lacks, where that can be."""
        sides = [line.source for line in lines], [line.found[0].ids for line in lines]
        rows = zip(lines, self.engine.attention(*sides), strict=True)
        attempts = [self._attempt(line, weights, options) for line, weights in rows]
        replaced = self._log_probs(attempts)
        prefixes: list[tuple[_Attempt, Sequence[int]]] = []
        for attempt, found in zip(attempts, replaced, strict=True):
            prefixes.append((attempt, options.prefix))
            if found:
                best = max(range(len(found)), key=found.__getitem__)
                prefixes.append((attempt, attempt.beginnings[best]))
        searched = self.engine.search(
            [attempt.line.source for attempt, _ in prefixes],
            replace(options, sample=False, n_best=options.beam_size),
            prefixes=[ids for _, ids in prefixes],
        )
        for (attempt, _), hypotheses in zip(prefixes, searched, strict=True):
            suitable = (h.ids for h in hypotheses if self._is_suitable(attempt, h.ids))
            attempt.outputs += itertools.islice(suitable, 1)
        for attempt, found in zip(attempts, self._log_probs(attempts), strict=True):
            self._keep_best(attempt, found, options)

    def _attempt(self, line: _Line, weights: Matrix, options: SearchOptions) -> _Attempt:
        """Return an attempt at the missing term that comes first in the best output."""
        places = self._places(line, weights, options)
        term = min(places, key=places.__getitem__)
        start, end = places[term]
        line.missing.remove(term)
        attempt = _Attempt(line, term, [], [])
        vocabulary = self.vocabularies.target
        text, limit = vocabulary.decode(line.found[0].ids), self._limit(line.source, options)
        head = [i for i in options.prefix if i < len(CONTROL_TOKENS) + len(vocabulary.tags)]
        for form in term.forms:
            before = text[:start] + _in_place(form, text, start)
            whole = [*head, *vocabulary.encode(before + text[end:]), EOS_ID]
            if len(whole) <= limit and self._is_suitable(attempt, whole):
                attempt.beginnings.append([*head, *vocabulary.encode(before)])
                attempt.outputs.append(whole)
        return attempt

    def _places(self, line: _Line, weights: Matrix, options: SearchOptions) -> dict[Term, Span]:
        """Return for each missing term the word of the best output that it most likely became.

        That is none of the prefix that was asked for, nor of the terms that are there. Where there
        is no other, the term comes at the end.
        """
        ids, vocabulary = line.found[0].ids, self.vocabularies.target
        text, tokens = vocabulary.decode(ids), token_places(vocabulary, ids)
        taken = [match.span() for term in line.present if (match := term.match(text))]
        taken.append((0, len(vocabulary.decode(options.prefix))))
        words = [w for w in _words(text, tokens) if not any(_overlap(w, span) for span in taken)]
        columns = token_places(self.vocabularies.source, line.source)
        places = {}
        for term in line.missing:
            of_term = [i for i, span in enumerate(columns) if _overlap(span, term.span)]
            looks = [sum(row[i] for i in of_term) for row in weights]
            likeness = functools.partial(_most, looks, tokens)
            places[term] = max(words, key=likeness, default=(len(text), len(text)))
        return places

    def _limit(self, source: Sequence[int], options: SearchOptions) -> int:
        return options.output_limit(len(source), self.max_length)

    def _is_suitable(self, attempt: _Attempt, ids: Sequence[int]) -> bool:
        """Return whether an output has the term and all that were there before."""
        text = self.vocabularies.target.decode(ids)
        return all(term.match(text) for term in (attempt.term, *attempt.line.present))

    def _log_probs(self, attempts: list[_Attempt]) -> list[list[float]]:
        """Return the log-probabilities of the outputs of each attempt."""
        pairs = [(attempt.line.source, ids) for attempt in attempts for ids in attempt.outputs]
        sides = [source for source, _ in pairs], [ids for _, ids in pairs]
        rows = iter(self.engine.score(*sides) if pairs else ())
        return [[math.fsum(next(rows)) for _ in attempt.outputs] for attempt in attempts]

    def _keep_best(self, attempt: _Attempt, log_probs: list[float], options: SearchOptions) -> None:
        """Make the most probable outputs those of the line, if there are any."""
        order = sorted(range(len(log_probs)), key=log_probs.__getitem__, reverse=True)
        found = {
            tuple(ids): log_probs[i] / len(ids) ** options.length_penalty
            for i in order
            if (ids := attempt.outputs[i])
        }
        if found:
            best = itertools.islice(found.items(), options.n_best)
            attempt.line.found = [Hypothesis(list(ids), score) for ids, score in best]
            attempt.line.missing.append(attempt.term)
        self._sort_out(attempt.line)


@functools.lru_cache(8)
def _normalised(glossary: Glossary, source: Subwords, target: Subwords) -> Glossary:
    return glossary.normalised(source.normalise, target.normalise)


def _in_place(form: str, text: str, start: int) -> str:
    """Return a form as it stands at a place of a text: with a capital where the text has one first.

    At the end of a text it has a space before it.
    """
    if start == len(text) > 0:
        return f" {form}"
    is_first = not text[:start].strip() and text[start : start + 1].isupper()
    return form[0].upper() + form[1:] if is_first else form


def _words(text: str, tokens: list[Span]) -> list[Span]:
    """Return the places of words; of tokens, where a script has no spaces."""
    found: list[Span] = []
    for match in _WORD.finditer(text):
        edges = list(match.span())
        if _UNSPACED.match(match[0]):
            edges[1:1] = [start for start, _ in tokens if edges[0] < start < edges[1]]
        found += itertools.pairwise(edges)
    return found


def _most(weights: list[float], tokens: list[Span], word: Span) -> float:
    """Return the largest of the weights of a word's tokens."""
    return max(w for w, token in zip(weights, tokens, strict=True) if _overlap(token, word))


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
