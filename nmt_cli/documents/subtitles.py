"""Subtitles (SRT, WebVTT): sentences that run over several are translated as one, times stay."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nmt_cli.documents.inline import HARD_SPACE, Builder, Inline

_TIMES = re.compile(r"^.*-->.*$", re.MULTILINE)
# What ends a subtitle: a blank line, the number of the next one, or the end.
_BLANK = re.compile(r"\n[ \t]*(?:\n|\Z)|(?:\n\d+[ \t]*)?\n?\Z")
_DASHES = "-\u2013\u2014"
_TAG = re.compile(
    rf"</?(?P<name>[A-Za-z]+)[^<>]*>|<[\d:.]+>|\{{\\[^{{}}]*\}}|^[{_DASHES}] ?", re.MULTILINE
)
_TURN = re.compile(rf"^[{_DASHES}] ?", re.MULTILINE)
# with the marks of East Asian text, what closes a quotation, and the bracket around a sound
_SENTENCE_END = re.compile(
    "[.!?\u2026\u3002\uff01\uff1f\u266a\\])][\"'\u00bb\u201d\u2019)\\]]*\\s*\\Z"
)
_MOST = 4  # subtitles that are taken as one sentence
_WIDTH = 42  # characters of a line, where the original has shorter ones


class Page:
    """A file of subtitles in parts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [*_spans(text)]
        self._groups = [*_grouped([text[a:b] for a, b in self._spans])]
        self.texts = [
            _inline([text[a:b] for a, b in (self._spans[number] for number in group)])
            for group in self._groups
        ]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the file with other texts in place of its own, or below those they begin with."""
        parts, begin = [], 0
        for group, text in zip(self._groups, texts, strict=True):
            spans = [self._spans[number] for number in group]
            originals = [self._text[a:b] for a, b in spans]
            own, _, other = text.rpartition("\n")
            shares = _shared(other, [len(one) for one in originals])
            for (start, end), original, share in zip(spans, originals, shares, strict=True):
                above = f"{original}\n" if own else ""
                below = _laid_out(share, original).replace(HARD_SPACE, " ")
                parts += [self._text[begin:start], above, below]
                begin = end
        return "".join([*parts, self._text[begin:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words of each subtitle stand: behind its times, before a blank line."""
    found = [times.span() for times in _TIMES.finditer(text)]
    for (_, behind), (next_times, _) in pairwise([*found, (len(text), 0)]):
        start = behind + 1
        end = _BLANK.search(text, behind, next_times).start()  # type: ignore[union-attr] # the end matches
        for begin, stop in _speeches(text, start, end):
            if text[begin:stop].strip():
                yield begin, stop


def _speeches(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return a subtitle whole, or the line of each speaker where dashes tell them apart."""
    turns = [found.start() for found in _TURN.finditer(text, start, end)]
    if len(turns) < 2:
        return [(start, end)]
    return [(a, b - 1 if b < end else b) for a, b in pairwise([*turns, end])]


def _grouped(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the numbers of subtitles that hold a sentence together."""
    group: list[int] = []
    for number, text in enumerate(texts):
        is_speech = _TURN.match(text)
        if group and is_speech:
            yield group
            group = []
        group.append(number)
        plain = _TAG.sub("", text)
        if _SENTENCE_END.search(plain) or len(group) == _MOST or is_speech:
            yield group
            group = []
    if group:
        yield group


def _inline(texts: Sequence[str]) -> Inline:
    """Return subtitles as one text, their tags as marks."""
    made = Builder()
    raw = " ".join(" ".join(one.split("\n")) for one in texts)
    begin = 0
    for tag in _TAG.finditer(raw):
        made.text += raw[begin : tag.start()]
        begin = tag.end()
        name, markup = tag["name"], tag[0].replace(" ", HARD_SPACE)
        if name is None:
            made.point(markup)
        elif markup.startswith("</"):
            made.close(name, markup)
        else:
            made.open(name, markup)
    made.text += raw[begin:]
    return made.inline()


def _shared(text: str, lengths: Sequence[int]) -> list[str]:
    """Cut a text between words into parts that are about as long as the originals were."""
    words, total = text.split(" "), sum(lengths)
    shares: list[str] = []
    for number, length in enumerate(lengths):
        later = len(lengths) - number - 1
        room = len(" ".join(words)) * length / max(1, total)
        taken: list[str] = []
        while words and (
            not later or len(" ".join([*taken, words[0]])) <= room + len(words[0]) / 2
        ):
            if taken and len(words) <= later:
                break
            taken.append(words.pop(0))
        shares.append(" ".join(taken or words[:1]))
        words = words if taken else words[1:]
        total -= length
    return shares


def _laid_out(text: str, original: str) -> str:
    """Return a text in as many lines as the original has, if its length asks for it."""
    longest = max(map(len, original.split("\n")))
    rows = original.count("\n") + 1
    if rows == 1 and len(text) <= max(longest, _WIDTH):
        return text
    width = max(longest, _WIDTH if rows == 1 else -(-len(text) // rows) + 4)
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))
