"""A text of a catalogue in parts: its lines, or the messages that an ICU message chooses from.

`{count, plural, one {# dog} other {# dogs}}` has two texts, `# dog` and `# dogs`.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from nmt_cli.documents.inline import Inline

_ARGUMENT = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,(?:\s*offset:\d+)?")
_CHOICE = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_COUNT = re.compile(r"(?<![A-Za-z0-9\"'=/&])#")  # others are in addresses, colours and `&#39;`


class Message:
    """A text in parts."""

    def __init__(self, text: str) -> None:
        chosen = _messages(text) if _ARGUMENT.search(text) else []
        spans = chosen or [found.span() for found in re.finditer(r"^.*$", text, re.MULTILINE)]
        self.texts = [Inline(text[a:b]) for a, b in spans]
        if chosen:
            self.texts = [part.keeping(_COUNT) for part in self.texts]
        edges = [(0, 0), *spans, (len(text), 0)]
        self._around = [text[a:b] for (_, a), (b, _) in pairwise(edges)]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the text with other parts."""
        return "".join(a + b for a, b in zip(self._around, [*texts, ""], strict=True))


def _messages(text: str) -> list[tuple[int, int]]:
    """Return where the messages stand in what chooses between them; nothing if it is wrong."""
    spans = []
    open_: list[str] = []  # "argument" that has choices, "choice", or the "name" of another one
    at = begin = 0
    while at < len(text):
        state = open_[-1] if open_ else "choice"
        argument = _ARGUMENT.match(text, at) if state == "choice" else None
        choice = _CHOICE.match(text, at) if state == "argument" else None
        if argument:
            spans.append((begin, at))
            open_.append("argument")
            at = argument.end()
        elif choice:
            open_.append("choice")
            at = begin = choice.end()
        elif text[at] == "}" and open_:
            spans += [(begin, at)] if state == "choice" else []
            open_.pop()
            at += 1
            begin = at if state == "argument" else begin
        elif state == "argument" and not text[at].isspace():
            return []
        else:
            open_ += ["name"] if text[at] == "{" else []
            at += 1
    return [] if open_ else [*spans, (begin, len(text))]
