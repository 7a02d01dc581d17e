"""Plain text: its lines are translated; blank ones, and the space around the others, stay."""

import re
from collections.abc import Sequence

from nmt_cli.documents.inline import Inline

_LINE = re.compile(r"\S(?:.*\S)?")


class Page:
    """A text in parts."""

    def __init__(self, text: str) -> None:
        found = [*_LINE.finditer(text)]
        edges = [0, *(edge for line in found for edge in line.span()), len(text)]
        self._frame = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
        self.texts = [Inline(line[0]) for line in found]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the text with other lines in place of its own."""
        return "".join(a + b for a, b in zip(self._frame, [*texts, ""], strict=True))
