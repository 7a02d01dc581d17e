"""Lines of text -> translations: split, encode, cut what is too long, search, decode, join.

N lines give N translations. A blank line stays as it is without asking the model; any other gets a
text that is not blank. White space around a line and between its sentences is kept.

Lines are translated in windows, so that similar lengths share a batch. A window is bounded in lines
and in characters, so memory does not grow with the input. The next window may begin before the last
one is done; an empty window says that the next one may take a while, so that what has begun should
be finished first.
"""

import collections
import itertools
import math
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from nmt_cli.resources import WINDOW_PAIRS
from nmt_cli.search.alignment import Matrix, word_attention, word_pairs, words_of
from nmt_cli.search.engine import Engine, Found, Searcher
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.languages import Direction, Way
from nmt_cli.text.letter_case import in_usual_case
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

if TYPE_CHECKING:
    from nmt_cli.search.glossary import TermUse
    from nmt_cli.search.term_search import TermSearcher
    from nmt_cli.text.sentences import Splitter


@dataclass(frozen=True)
class Part:
    """A stretch of a line that was translated on its own, as ids with `</s>`."""

    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class TextHypothesis:
    """One output as text, on one line; a blank line has no tokens and no parts.

    The score is the mean over the parts, each log-probability / length^alpha; tokens are with
    `</s>`.
    """

    text: str
    score: float
    tokens: list[str]
    parts: list[Part]
    terms: "list[TermUse]" = field(default_factory=list)  # of the source, with a glossary


@dataclass(frozen=True)
class Match:
    """What a memory has for a text: `EXACT` is its translation, less that of one like it."""

    source: str
    target: str
    percent: int


class Remembers(Protocol):
    """A translation memory; see `memory.Memory`."""

    def exact(self, text: str) -> str | None:
        """Return the translation of a text, if the memory has it."""

    def near(self, text: str) -> Match | None:
        """Return what is most like a text, if it is alike enough."""


@dataclass(frozen=True)
class Translation:
    """A source line and its translations, best first; a blank line has one, itself.

    What a translation memory has for the line, as it is, is its only translation.
    """

    source: str
    hypotheses: list[TextHypothesis]
    match: Match | None = None  # what the memory has for it, or for a line like it
    kept: tuple[str, ...] = ()  # words that stayed as they are
    # what was put at the best place that its neighbours gave, since no word belonged to it
    guessed: tuple[str, ...] = ()

    @classmethod
    def unasked(cls, source: str, text: str, match: Match | None = None) -> "Translation":
        """Return a translation that no model made."""
        return cls(source, [TextHypothesis(text, 0.0, [], [])], match)

    @property
    def text(self) -> str:
        """The best translation."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float:
        """Its score; see `TextHypothesis`."""
        return self.hypotheses[0].score

    @property
    def tokens(self) -> list[str]:
        """Its subwords, with `</s>`."""
        return self.hypotheses[0].tokens

    @property
    def terms(self) -> "list[TermUse]":
        """What became of the terms of a glossary in it."""
        return self.hypotheses[0].terms


@dataclass(frozen=True)
class _Sentence:
    """Source ids of a sentence, in cuts that the model can read, and the space that follows it."""

    cuts: list[list[int]]
    space_after: str


@dataclass(frozen=True, eq=False)
class Translator:
    """Translates lines with an engine."""

    engine: Searcher
    vocabularies: Vocabularies
    splitter: "Splitter | None" = None  # of long lines into sentences; None leaves them whole
    # told, in one line, of anything unusual about an input line
    on_warning: Callable[[str], None] = lambda _: None
    terms: "TermSearcher | None" = None  # the same engine, with a glossary
    memory: Remembers | None = None

    def translate(self, lines: Iterable[str], options: SearchOptions) -> Iterator[Translation]:
        """Yield one translation a line, in order."""
        yield from self.translate_windows(full_windows(lines), options)

    def translate_windows(
        self, windows: Iterable[list[str]], options: SearchOptions
    ) -> Iterator[Translation]:
        """Yield one translation a line, in order, as soon as the line's window is done.

        The engine searches the next window while the last one is made into text; after an empty
        window nothing is waited for.
        """
        first = 1
        begun: collections.deque[Iterator[Translation]] = collections.deque()
        for window in windows:
            begun += [self._begin(window, first, options)] if window else []
            first += len(window)
            while len(begun) > bool(window):
                yield from begun.popleft()
        while begun:
            yield from begun.popleft()

    def _begin(
        self, window: list[str], first: int, options: SearchOptions
    ) -> Iterator[Translation]:
        """Begin to translate a window; return what waits for its translations."""
        direction = self.vocabularies.direction(options.from_, options.to)
        texts = [self._as_read(line.strip()) for line in window]
        encoded = self.vocabularies.source.encode_batch(texts)
        unasked = [self._unasked(line) for line in window]
        sentences = [
            [] if is_done else self._sentences(text, ids, number, direction, options.from_)
            for number, (text, ids, is_done) in enumerate(
                zip(texts, encoded, unasked, strict=True), start=first
            )
        ]
        cuts = [[cut for s in line for cut in s.cuts] for line in sentences]
        search = self._begin_search(cuts, options, direction, first)

        def finish() -> Iterator[Translation]:
            found = iter(search())
            for line, parts, done in zip(window, sentences, unasked, strict=True):
                results = [list(itertools.islice(found, len(part.cuts))) for part in parts]
                yield done or self._translation(line, parts, results, options)

        return finish()

    def _as_read(self, text: str) -> str:
        """Return a text as the model reads it; the terms of a glossary stay as they are."""
        source = self.vocabularies.source
        if self.terms is None:
            return in_usual_case(text, source)
        return in_usual_case(text, source, self.terms.places)

    def _unasked(self, line: str) -> Translation | None:
        """Return the translation of a line that needs no model: a blank one, or of the memory."""
        text = line.strip()
        if not text:
            return Translation.unasked(line, line)
        target = self.memory.exact(text) if self.memory else None
        if target is None:
            return None
        return Translation.unasked(line, line.replace(text, target), Match(text, target, EXACT))

    def _translation(
        self, line: str, parts: list[_Sentence], results: list[Found], options: SearchOptions
    ) -> Translation:
        found = [self._with_terms(one, options) for one in self._join(line, parts, results)]
        return Translation(line, found, self.memory.near(line) if self.memory else None)

    def _with_terms(self, found: TextHypothesis, options: SearchOptions) -> TextHypothesis:
        """Return an output that knows what became of the terms of its source."""
        if self.terms is None:
            return found
        uses = (self.terms.uses(part.source, part.target, options) for part in found.parts)
        return replace(found, terms=[*itertools.chain.from_iterable(uses)])

    def _begin_search(
        self, lines: list[list[list[int]]], options: SearchOptions, direction: Direction, first: int
    ) -> Callable[[], Found]:
        """Begin to search for all cuts of all lines; a prefix is for the first cut of each line."""
        cuts = [cut for line in lines for cut in line]
        unmade = tuple((i,) for i in self.vocabularies.target.unmade)
        options = replace(options, suppressed=options.suppressed + unmade)
        prefixes = [() if i else options.prefix for line in lines for i in range(len(line))]
        engine, begun = self.terms or self.engine, []
        for prefix in dict.fromkeys(prefixes):
            chosen = [i for i, of_cut in enumerate(prefixes) if of_cut == prefix]
            wanted = replace(options, prefix=direction.output + prefix)
            search = engine.begin([cuts[i] for i in chosen], wanted, first_index=first)
            begun.append((chosen, search))

        def finish() -> Found:
            found = {
                i: h for chosen, search in begun for i, h in zip(chosen, search(), strict=True)
            }
            return [found[i] for i in range(len(cuts))]

        return finish

    def _sentences(
        self, text: str, ids: list[int], number: int, direction: Direction, language: str | None
    ) -> list[_Sentence]:
        """Return a line's sentences; a line of usual length stays whole."""
        if self.splitter is None or not self.splitter.is_long(len(ids) + 1):
            return [_Sentence(self._cut(ids, number, direction), "")]
        split = self.splitter.split(text, language)
        several = [sentence for sentence, _ in split] if len(split) > 1 else []
        encoded = self.vocabularies.source.encode_batch(several) if several else [ids]
        return [
            _Sentence(self._cut(row, number, direction), space)
            for row, (_, space) in zip(encoded, split, strict=True)
        ]

    def _cut(self, ids: list[int], number: int, direction: Direction) -> list[list[int]]:
        """Cut a sentence that is longer than the model reads; each part begins and ends as one."""
        head, room = direction.source, self.engine.max_length - 1 - len(direction.source)
        if len(ids) > room:
            self.on_warning(
                f"line {number} has a sentence of {len(ids)} tokens; it is translated in parts of "
                f"{room} (model.max_length is {self.engine.max_length})"
            )
        return [[*head, *ids[start : start + room], EOS_ID] for start in range(0, len(ids), room)]

    def _join(
        self, line: str, sentences: list[_Sentence], results: list[Found]
    ) -> list[TextHypothesis]:
        ranks = range(max(len(found) for cuts in results for found in cuts))
        candidates = [self._join_rank(line, sentences, results, rank) for rank in ranks]
        solid = [candidate for candidate in candidates if candidate.text.strip()]
        return solid or [replace(candidates[0], text=line)]

    def _join_rank(
        self,
        line: str,
        sentences: list[_Sentence],
        results: list[Found],
        rank: int,
    ) -> TextHypothesis:
        """Return the line made of each part's hypothesis of that rank, or its last one."""
        target = self.vocabularies.target
        before, _, after = line.partition(line.strip())
        texts, parts, scores = [], [], []
        for sentence, cuts in zip(sentences, results, strict=True):
            chosen = [found[min(rank, len(found) - 1)] for found in cuts]
            text = " ".join(one_line(target, hypothesis.ids) for hypothesis in chosen)
            texts.append(text.strip() + sentence.space_after)
            scores += [hypothesis.score for hypothesis in chosen]
            parts += [Part(c, h.ids) for c, h in zip(sentence.cuts, chosen, strict=True)]
        return TextHypothesis(
            text=before + "".join(texts) + after,
            score=sum(scores) / len(scores),
            tokens=[token for part in parts for token in target.tokens(part.target)],
            parts=parts,
        )


@dataclass(frozen=True)
class AlignedPart:
    """How the words and tokens of a part of a line belong together; white space ends a word."""

    source: list[str]  # tokens, with `</s>`
    target: list[str]
    weights: Matrix  # [T, S]: how much each target token looks at each source token
    words: Matrix  # the same between words
    words_before: tuple[int, int]  # of the line, in source and target

    def pairs(self) -> list[tuple[int, int]]:
        """Return (source word, target word) for each target word, counted over the line."""
        before = self.words_before
        return [(s + before[0], t + before[1]) for s, t in word_pairs(self.words)]


def aligned(
    engine: Engine, vocabularies: Vocabularies, found: Sequence[TextHypothesis]
) -> Iterator[list[AlignedPart]]:
    """Yield the parts of each hypothesis with the attention in them, all of one batch."""
    parts = [part for hypothesis in found for part in hypothesis.parts]
    sides = [part.source for part in parts], [part.target for part in parts]
    attention = iter(engine.attention(*sides) if parts else ())
    tags = vocabularies.languages.tokens
    for hypothesis in found:
        row: list[AlignedPart] = []
        before = (0, 0)
        for part in hypothesis.parts:
            source = vocabularies.source.tokens(part.source)
            target = vocabularies.target.tokens(part.target)
            words = words_of(source, tags), words_of(target, tags)
            weights = next(attention)
            of_words = word_attention(weights, *words)
            row.append(AlignedPart(source, target, weights, of_words, before))
            before = before[0] + len(words[0]), before[1] + len(words[1])
        yield row


def one_line(vocabulary: Subwords, ids: Sequence[int]) -> str:
    """Return the text of target ids with line ends, should the model write any, as spaces."""
    return vocabulary.decode(ids).replace("\n", " ").replace("\r", " ")


def suppressed_ids(vocabulary: Subwords, words: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return the rows of ids that write the given words, after a space and after punctuation."""
    solid = [word for word in words if word.strip()]
    after_space = [vocabulary.encode(word) for word in solid]
    bracket = vocabulary.encode("(")
    after_bracket = [vocabulary.encode(f"({word}")[len(bracket) :] for word in solid]
    return tuple(dict.fromkeys(map(tuple, (*after_space, *after_bracket))))


EXACT = 100  # percent: what a memory has for a text is for this very one


@dataclass(frozen=True)
class PairScore:
    """How likely the model finds a target, given a source (forced scoring)."""

    source: str
    score: float  # sum of `log_probs` / length^alpha, as a search would give; see `SearchOptions`
    tokens: list[str]  # the target's tokens, with `</s>`
    log_probs: list[float]  # natural logarithm of each token's probability given those before it


def score_pairs(
    engine: Engine,
    vocabularies: Vocabularies,
    pairs: Iterable[tuple[str, str]],
    *,
    length_penalty: float,
    way: Way = ("", ""),
    on_warning: Callable[[str], None] = lambda _: None,
) -> Iterator[PairScore]:
    """Yield one score a pair of source and target lines, in order.

    `way` is as `Languages.way` takes it. `on_warning` is called with a text for each side that is
    too long for the model.
    """
    numbered = enumerate(pairs, start=1)
    heads = vocabularies.direction(*way)
    room = engine.max_length - 1 - max(map(len, heads))
    while window := list(itertools.islice(numbered, WINDOW_PAIRS)):
        sides = (
            vocabularies.source.encode_batch(
                [in_usual_case(pair[0], vocabularies.source) for _, pair in window]
            ),
            vocabularies.target.encode_batch([pair[1] for _, pair in window]),
        )
        for (number, _), *ids in zip(window, *sides, strict=True):
            if max(map(len, ids)) > room:
                on_warning(f"pair {number} is longer than {room} tokens; only these are scored")
        sources, targets = (
            [[*head, *row[:room], EOS_ID] for row in side]
            for head, side in zip(heads, sides, strict=True)
        )
        found = zip(window, targets, engine.score(sources, targets), strict=True)
        for (_, (source, _)), target, log_probs in found:
            score = float(sum(log_probs) / len(log_probs) ** length_penalty)
            yield PairScore(source, score, vocabularies.target.tokens(target), log_probs)


def confidences(engine: Engine, found: Iterable[TextHypothesis]) -> Iterator[float | None]:
    """Yield the mean probability of each output's tokens, geometric; None where it has none."""
    remaining = iter(found)
    while window := list(itertools.islice(remaining, WINDOW_PAIRS)):
        parts = [part for hypothesis in window for part in hypothesis.parts]
        sides = [part.source for part in parts], [part.target for part in parts]
        rows = iter(engine.score(*sides) if parts else ())
        for hypothesis in window:
            logs = [log for _ in hypothesis.parts for log in next(rows)]
            yield math.exp(sum(logs) / len(logs)) if logs else None


@dataclass(frozen=True)
class ExplainedWord:
    """A word of a translation."""

    text: str  # the word
    probability: float  # of its tokens together, given the source and the words before it
    source: str  # the source word that it attends to most; "" where there is none


def explain_pair(
    engine: Engine, vocabularies: Vocabularies, source: str, target: str, way: Way = ("", "")
) -> list[ExplainedWord]:
    """Return each word of a target line; words beyond what the model reads are left out."""
    before, forced = vocabularies.direction(*way)
    room = engine.max_length - 1 - max(len(before), len(forced))
    ids = vocabularies.source.encode(in_usual_case(source, vocabularies.source))
    read = [*before, *ids[:room], EOS_ID]
    written = [*forced, *vocabularies.target.encode(target)[:room], EOS_ID]
    (log_probs,) = engine.score([read], [written])
    (attention,) = engine.attention([read], [written])
    tags = vocabularies.languages.tokens
    sources = words_of(vocabularies.source.tokens(read), tags)
    targets = words_of(vocabularies.target.tokens(written), tags)
    origins = {t: s for s, t in word_pairs(word_attention(attention, sources, targets))}
    return [
        ExplainedWord(
            vocabularies.target.decode([written[i] for i in word]).strip(),
            math.exp(sum(log_probs[i] for i in word)),
            vocabularies.source.decode([read[i] for i in sources[origins[t]]]).strip()
            if t in origins
            else "",
        )
        for t, word in enumerate(targets)
    ]


_MAX_LINES = 2048
_MAX_CHARACTERS = 1 << 20
_Item = TypeVar("_Item", bound=Sized)


def full_windows(lines: Iterable[_Item], at_most: int | None = None) -> Iterator[list[_Item]]:
    """Yield windows as large as they may be: for input that is all there.

    A few hundred lines `at_most` are enough for batches of similar lengths, and little time is lost
    before the first search and after the last one.
    """
    most = at_most or _MAX_LINES
    window: list[_Item] = []
    size = 0
    for line in lines:
        window.append(line)
        size += len(line)
        if len(window) >= most or size >= _MAX_CHARACTERS:
            yield window
            window, size = [], 0
    if window:
        yield window


def arriving_windows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield at once what has arrived: for input that comes as it is typed or computed.

    A thread reads ahead while the last window is being translated, so a fast pipe still gives full
    windows. A window is empty when nothing has arrived. What `lines` raises is raised here, after
    the lines before it.
    """
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=_MAX_LINES)
    threading.Thread(target=_read_ahead, args=(lines, waiting), daemon=True).start()
    while True:
        window: list[str] = []
        size = 0
        if waiting.empty():
            yield []
        while isinstance(item := waiting.get(), str):
            window.append(item)
            size += len(item)
            if len(window) >= _MAX_LINES or size >= _MAX_CHARACTERS or waiting.empty():
                break
        if window:
            yield window
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return


def _read_ahead(lines: Iterable[str], waiting: "queue.Queue[str | BaseException | None]") -> None:
    try:
        for line in lines:
            waiting.put(line)
    except BaseException as error:  # noqa: BLE001 - handed to the reader, who raises it
        waiting.put(error)
    else:
        waiting.put(None)
