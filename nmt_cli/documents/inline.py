"""A stretch of text with what must come out of a translation as it went in, and putting it back.

Marks are spans of a source text: markup around words, markup at a place, or words that stay as they
are, such as an address or `{name}`. The text is translated without them. Each mark then goes to the
words of the output that the model made of its words, as its attention says.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from nmt_cli.text.special_tokens import SIGNS

_WORD = re.compile(r"\S+")
_NO_EDGE = r"\w<>{}%$@#/\\"  # characters that are no punctuation around a word
_HEAD, _TAIL = re.compile(rf"[^{_NO_EDGE}]*"), re.compile(rf"[^{_NO_EDGE}]*\Z")
_GAP = 1  # words of an output that may stand between others of a mark
# Stands for a space in markup, where no line may end, until the lines of a text are made. It is no
# character, so no text has it; it is none of SIGNS either.
HARD_SPACE = "\ufdef"
_DEEPEST = 50  # marks in one another; what is deeper is markup at a place


@dataclass(frozen=True)
class Alignment:
    """Which words of an output the model made of which words of a source; white space ends one."""

    pairs: Sequence[tuple[int, int]] = ()  # (source word, the output word that was made of it)
    # source word -> the output word that looks at it most, which may be made of another one
    nearest: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """What belongs to the characters `start` to `end` of a text; `start` == `end` is a place."""

    start: int
    end: int
    before: str = ""  # written in front of them
    after: str = ""  # written behind them
    is_kept: bool = False  # the characters stay as they are
    raw: str = ""  # what stands in the file for characters that stay; "" is themselves, escaped
    depth: int = 0  # how many marks it is in
    needs_words: bool = False  # is nothing where no word is left for it, such as `**`


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class Inline:
    """A text to translate, and its marks in the order in which they begin in the file."""

    text: str
    marks: Sequence[Mark] = ()
    escape: Callable[[str], str] = _as_it_is  # makes of a text what stands in the file

    def __len__(self) -> int:
        """Return the characters of the text."""
        return len(self.text)

    @property
    def has_words(self) -> bool:
        """Whether there is a letter outside of what stays as it is."""
        begin = 0
        for mark in self.marks:
            if mark.is_kept:
                if any(map(str.isalpha, self.text[begin : mark.start])):
                    return True
                begin = mark.end
        return any(map(str.isalpha, self.text[begin:]))

    def keeping(self, words: re.Pattern[str]) -> "Inline":
        """Return the text with some words marked as those that stay; not what a mark would cut."""
        marks = list(self.marks)
        for start, end in (match.span() for match in words.finditer(self.text)):
            cuts = (start < edge < end for mark in self.marks for edge in (mark.start, mark.end))
            around = [mark for mark in self.marks if mark.start <= start < end <= mark.end]
            if start < end and not any(cuts) and not any(mark.is_kept for mark in around):
                at = sum(mark.start <= start for mark in marks)
                marks.insert(at, Mark(start, end, is_kept=True, depth=len(around)))
        return replace(self, marks=marks)

    def filled(self, output: str, alignment: Alignment) -> "Filled":
        """Return an output with all marks, placed as its words say, as the file has it."""
        if not self.marks:
            return Filled(self.escape(output), [])
        return _Filling(self, output, alignment).result()

    def unchanged(self) -> "Filled":
        """Return the text itself with all marks."""
        words = range(len(self.text.split()))
        return self.filled(self.text, Alignment([(word, word) for word in words]))


@dataclass(frozen=True)
class Filled:
    """An output with its marks."""

    text: str
    # what no word of the output belonged to; it stands at the best place that its neighbours give
    guessed: list[str]


class Builder:
    """Collects a text and its marks while a file is read."""

    def __init__(self) -> None:
        self.text = ""
        self._marks: list[Mark] = []
        self._open: list[tuple[str, int]] = []  # (name, number of the mark)

    def point(self, markup: str) -> None:
        """Add markup at a place."""
        at = len(self.text)
        self._marks.append(Mark(at, at, markup, depth=len(self._open)))

    def open(self, name: str, markup: str, *, needs_words: bool = False) -> None:
        """Add the beginning of markup around words."""
        self.point(markup)
        self._marks[-1] = replace(self._marks[-1], needs_words=needs_words)
        if len(self._open) < _DEEPEST:
            self._open.append((name, len(self._marks) - 1))

    def close(self, name: str, markup: str) -> None:
        """Add the end of what was opened; of anything else it is markup at a place."""
        if all(opened != name for opened, _ in self._open):
            self.point(markup)
            return
        unclosed: list[int] = []
        while self._open[-1][0] != name:
            unclosed.insert(0, self._open.pop()[1])
        self._give_up(unclosed)
        _, number = self._open.pop()
        self._marks[number] = replace(self._marks[number], end=len(self.text), after=markup)

    def _give_up(self, unclosed: Sequence[int]) -> None:
        """Make marks that nothing ends markup at a place, and take what is in them out."""
        for i in range(min(unclosed, default=len(self._marks)), len(self._marks)):
            depth = self._marks[i].depth - bisect_left(unclosed, i)
            self._marks[i] = replace(self._marks[i], depth=depth)

    def keep(self, text: str, raw: str = "") -> None:
        """Add words that stay as they are, and what stands for them in the file."""
        if not text:
            self.point(raw)
            return
        start = len(self.text)
        self.text += text
        depth = len(self._open)
        self._marks.append(Mark(start, len(self.text), is_kept=True, raw=raw, depth=depth))

    def inline(self, escape: Callable[[str], str] = _as_it_is) -> Inline:
        """Return what was collected."""
        self._give_up([number for _, number in self._open])
        self._open = []
        return Inline(self.text, self._marks, escape)


@dataclass
class Node:
    """A mark, those in it, and the characters of the output that it gets."""

    mark: Mark
    inner: "list[Node]" = field(default_factory=list)
    span: tuple[int, int] = (0, 0)


class _Filling:
    """Finds the place of each mark of a text in its translation."""

    def __init__(self, source: Inline, output: str, alignment: Alignment) -> None:
        self._source = source
        self._output = output
        words = [found.span() for found in _WORD.finditer(source.text)]
        self._starts, self._ends = [a for a, _ in words], [b for _, b in words]
        self._output_words = [found.span() for found in _WORD.finditer(output)]
        count = len(self._output_words)
        self._made: dict[int, list[int]] = {}  # of a source word: output words, all in order
        for s, t in sorted(alignment.pairs):
            if s < len(words) and t < count:
                self._made.setdefault(s, []).append(t)
        # the last output word that was made of a source word or of those before it; -1 is none
        last = (self._made.get(s, [-1])[-1] for s in range(len(words)))
        self._last = list(accumulate(last, max))
        self._nearest = {s: t for s, t in alignment.nearest.items() if t < count}
        self._taken: list[tuple[int, int]] = []  # spans of the output that kept words have
        self._places: dict[str, list[int]] = {}  # of kept words: where the output has them, free
        self._guessed: list[str] = []

    def result(self) -> Filled:
        """Return the output with all marks."""
        roots = tree(self._source.marks)
        nodes = _inner_first(roots)
        missing = [node for node in nodes if not (node.mark.is_kept and self._finds(node))]
        for node in missing:
            node.span = self._around(node)
            if node.mark.is_kept:  # over the words made of it, but a lost sign has none
                is_sign = self._source.text[node.mark.start : node.mark.end] in SIGNS
                if is_sign or not self._is_free(*node.span):
                    node.span = node.span[1], node.span[1]
                self._take(node.span)
        _apart(roots)
        return Filled(self._written(roots, 0, len(self._output)), self._guessed)

    def _finds(self, node: Node) -> bool:
        """Return whether words that stay are in the output as they were; take their place then.

        Of several places it is the one nearest to where they belong.
        """
        mark = node.mark
        text = self._source.text[mark.start : mark.end]
        if text not in self._places:
            self._places[text] = [f.start() for f in re.finditer(re.escape(text), self._output)]
        places = self._places[text]
        wanted = self._place(mark.start)
        right = bisect_left(places, wanted)
        left = right - 1
        while left >= 0 or right < len(places):
            is_right = left < 0 or (
                right < len(places) and places[right] - wanted < wanted - places[left]
            )
            number = right if is_right else left
            span = places[number], places[number] + len(text)
            if self._is_free(*span) and (text in SIGNS or self._fits(span, mark)):
                node.span = span
                self._take(span)
                del places[number]
                return True
            left, right = (left, right + 1) if is_right else (left - 1, right)
        return False

    def _fits(self, span: tuple[int, int], mark: Mark) -> bool:
        """Return whether words that stay are no part of a word of the output, unless they were."""
        text = self._source.text
        before, after = self._output[span[0] - 1 : span[0]], self._output[span[1] : span[1] + 1]
        return (not _joins(before) or text[mark.start - 1 : mark.start].isalnum()) and (
            not _joins(after) or text[mark.end : mark.end + 1].isalnum()
        )

    def _take(self, span: tuple[int, int]) -> None:
        if span[0] < span[1]:
            insort(self._taken, span)

    def _is_free(self, start: int, end: int) -> bool:
        before = bisect_left(self._taken, (end,))
        return not before or self._taken[before - 1][1] <= start

    def _around(self, node: Node) -> tuple[int, int]:
        """Return the characters of the output that belong to a mark, with those of inner marks."""
        mark = node.mark
        own = range(bisect_right(self._ends, mark.start), bisect_left(self._starts, mark.end))
        found = sorted(t for s in own for t in self._made.get(s, ()))
        if not found and not mark.is_kept:
            found = sorted(self._nearest[s] for s in own if s in self._nearest)
        if mark.start == mark.end or not own or not found:
            if not found and (mark.is_kept or own):
                self._guessed.append(self._source.text[mark.start : mark.end] or mark.before)
            place = self._place(mark.start)
            span = (place, place)
        else:
            span = self._trimmed(_longest_run(found), own, mark)
        inner = [child.span for child in node.inner]
        if inner and span[0] == span[1]:
            return min(a for a, _ in inner), max(b for _, b in inner)
        return min([span[0], *(a for a, _ in inner)]), max([span[1], *(b for _, b in inner)])

    def _trimmed(self, run: list[int], own: range, mark: Mark) -> tuple[int, int]:
        """Return the characters of words, without the punctuation that the mark does not have."""
        start, end = self._output_words[run[0]][0], self._output_words[run[-1]][1]
        first, last = self._starts[own[0]], self._ends[own[-1]]
        if self._output[start:end] == self._source.text[first:last]:
            return start + max(0, mark.start - first), start + min(mark.end, last) - first
        outside = mark.start - first, last - mark.end
        others = self._source.text[first : mark.start] + self._source.text[mark.end : last]
        if mark.is_kept and any(map(str.isalnum, others)):  # what these became stays, too
            place = end if outside[0] > 0 else start
            return place, place
        if len(own) == 1 and max(outside) > 0:
            span = self._inside(start, end, mark, is_behind=outside[0] > 0)
            if span is not None:
                return span
        word = self._output[start:end]
        if outside[0] > 0:
            start += min(outside[0], _length(_HEAD.match(word)))
        if outside[1] > 0:
            tail = self._source.text[mark.end : mark.end + outside[1]]
            most = min(outside[1], _length(_TAIL.search(word)))
            end -= outside[1] if word.endswith(tail) else most
        return start, max(start, end)

    def _inside(
        self, start: int, end: int, mark: Mark, *, is_behind: bool
    ) -> tuple[int, int] | None:
        """Return the characters of an output word for a mark of some of a word's, such as `m<2>`.

        None is the whole word: nothing in it is like them.
        """
        part = self._source.text[mark.start : mark.end].strip()
        word = self._output[start:end]
        at = word.rfind(part) if is_behind else word.find(part)
        if at >= 0:
            return start + at, start + at + len(part)
        place = end if is_behind else start
        return None if any(map(str.isalpha, part)) else (place, place)

    def _place(self, position: int) -> int:
        """Return the place in the output that fits a place in the source: beside the same word."""
        if not self._starts or position <= self._starts[0]:
            return 0
        if position >= self._ends[-1]:
            return len(self._output if position > self._ends[-1] else self._output.rstrip())
        number = bisect_right(self._starts, position) - 1
        start, end = self._starts[number], self._ends[number]
        found = self._made.get(number, [])
        if not found:
            last = self._last[number]
            return self._output_words[last][1] if last >= 0 else 0
        if position == start:
            return self._output_words[found[0]][0]
        after = self._output_words[found[-1]][1]
        if position > end:
            return min(after + 1, len(self._output))
        word = self._output[self._output_words[found[-1]][0] : after]
        head, tail = self._source.text[start:position], self._source.text[position:end]
        if tail and word.startswith(head):
            return after - len(word) + len(head)
        return after - len(tail) if word.endswith(tail) else after

    def _written(self, nodes: list[Node], start: int, end: int) -> str:
        """Return the output between two characters, with the marks there."""
        parts = []
        for node in nodes:
            a, b = node.span
            mark = node.mark
            parts.append(self._source.escape(self._output[start:a]))
            if mark.is_kept:
                text = mark.raw or self._source.escape(self._source.text[mark.start : mark.end])
                parts.append(self._spaced(a, b, mark.before + text + mark.after))
            else:
                inner = self._written(node.inner, a, b)
                if mark.start == mark.end and not inner:
                    parts.append(self._apart(a, mark))
                elif inner.strip() or not mark.needs_words:
                    parts += [mark.before, inner, mark.after]
                else:
                    parts.append(inner)
                    self._guessed.append(self._source.text[mark.start : mark.end])
            start = b
        return "".join([*parts, self._source.escape(self._output[start:end])])

    def _apart(self, place: int, mark: Mark) -> str:
        """Return markup at a place with a space on either side, if it had one on both."""
        text = self._source.text
        around = text[mark.start - 1 : mark.start] + text[mark.end : mark.end + 1]
        markup = mark.before + mark.after
        if not mark.start or len(around) < 2 or around.strip():
            return markup
        before, after = self._output[:place][-1:], self._output[place : place + 1]
        return " " * before.isalnum() + markup + " " * after.isalnum()

    def _spaced(self, start: int, end: int, text: str) -> str:
        """Return kept words with a space to their neighbours, where they were put in between."""
        if start < end:
            return text
        before = " " if start and not self._output[start - 1].isspace() else ""
        beside = self._output[end : end + 1]
        after = " " if beside.isalnum() or (beside and beside in SIGNS) else ""
        return before + text + after


def _length(found: re.Match[str] | None) -> int:
    return len(found[0]) if found else 0


def tree(marks: Sequence[Mark]) -> list[Node]:
    """Return the outermost marks, each with those in it."""
    roots: list[Node] = []
    open_: list[Node] = []
    for mark in marks:
        del open_[mark.depth :]
        node = Node(mark)
        (open_[-1].inner if open_ else roots).append(node)
        open_.append(node)
    return roots


def _joins(char: str) -> bool:
    """Return whether a character is a letter or digit of a script with spaces between words."""
    return char.isalnum() and (char < "\u0e00" or "\u1e00" <= char < "\u2000")


def _inner_first(nodes: list[Node]) -> list[Node]:
    return [one for node in nodes for one in (*_inner_first(node.inner), node)]


def _apart(nodes: list[Node]) -> None:
    """Put marks that stand beside each other in the order of the output, and cut what overlaps."""
    nodes.sort(key=lambda node: node.span)
    for left, right in pairwise(nodes):
        if right.span[0] < left.span[1]:
            start = left.span[1]
            right.span = start, max(start, right.span[1])
    for node in nodes:
        a, b = node.span
        for inner in node.inner:
            inner.span = min(max(inner.span[0], a), b), min(max(inner.span[1], a), b)
        _apart(node.inner)


def _longest_run(words: list[int]) -> list[int]:
    """Return the longest row of words that stand together, of some that are in order."""
    runs = [[words[0]]]
    for word in words[1:]:
        if word - runs[-1][-1] > _GAP + 1:
            runs.append([])
        runs[-1].append(word)
    return max(runs, key=len)
