"""What of a text is to be translated: its lines, or in HTML and XML what stands between tags.

All the rest stays as it is, in its place.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.documents.html import ATTRIBUTES, SPACE, unescaped

_LINE = re.compile(r"\S(?:.*\S)?")
# What is not closed reaches to the end. Some tags are passed over with all that they hold, which is
# not for readers, or not to be changed.
_MARKUP = re.compile(
    rf"""
    <!--.*?(?:-->|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <\?.*?(?:\?>|\Z) | <!.*?(?:>|\Z)
    | (?i:<(?P<name>script|style|code|pre|textarea)(?![a-z]){ATTRIBUTES}(?<!/)>
      .*?(?:</(?P=name)[^>]*+(?:>|\Z)|\Z))
    | </?[A-Za-z]{ATTRIBUTES}>
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


@dataclass(frozen=True)
class Marked:
    """A text in parts."""

    texts: list[str]  # what is to be translated, without character references
    frame: list[str]  # what stands before the first text, between the texts, and after the last one
    has_tags: bool  # whether it is HTML or XML

    def filled(self, texts: Sequence[str]) -> str:
        """Return the whole with other texts in place of its own."""
        if self.has_tags:
            texts = [html.escape(text, quote=False) for text in texts]
        return "".join(a + b for a, b in zip(self.frame, [*texts, ""], strict=True))


def lines(text: str) -> Marked:
    """Return the lines that are not blank, without the space around them."""
    found = [*_LINE.finditer(text)]
    edges = [0, *(edge for line in found for edge in line.span()), len(text)]
    frame = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return Marked([line[0] for line in found], frame, has_tags=False)


def parse(text: str) -> Marked:
    """Return the texts between the tags."""
    texts, frame, pending, begin = [], [], "", 0
    spans = [found.span() for found in _MARKUP.finditer(text)]
    for start, end in [*spans, (len(text), len(text))]:
        stretch = text[begin:start]
        if inner := unescaped(stretch).strip():
            before = stretch[: len(stretch) - len(stretch.lstrip())]
            frame.append(pending + before)
            texts.append(SPACE.sub(" ", inner))
            pending = stretch[len(stretch.rstrip()) :]
        else:
            pending += stretch
        pending += text[start:end]
        begin = end
    return Marked(texts, [*frame, pending], has_tags=True)
