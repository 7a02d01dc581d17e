"""What of a text is to be translated: its lines, or in HTML and XML what stands between tags.

All the rest stays as it is, in its place.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TAG = re.compile(r"""</?[A-Za-z](?:[^<>"']|"[^"]*"|'[^']*')*+>""")
_LINE = re.compile(r"\S(?:.*\S)?")
_SPACE = re.compile(r"[ \t\n\f\r]+")  # what HTML shows as one space
_NAME = re.compile(r"<([A-Za-z]+)")
_SECTIONS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>", "<!": ">"}
_OPAQUE = {"script", "style", "code", "pre", "textarea"}  # not for readers, or not to be changed


@dataclass(frozen=True)
class Marked:
    """A text in parts.

    Attributes:
        texts: What is to be translated, without character references.
        frame: What stands before the first text, between the texts, and after the last one.
        has_tags: Whether it is HTML or XML.
    """

    texts: list[str]
    frame: list[str]
    has_tags: bool

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
    for start, end in [*_markup(text), (len(text), len(text))]:
        stretch = text[begin:start]
        if inner := html.unescape(stretch).strip():
            before = stretch[: len(stretch) - len(stretch.lstrip())]
            frame.append(pending + before)
            texts.append(_SPACE.sub(" ", inner))
            pending = stretch[len(stretch.rstrip()) :]
        else:
            pending += stretch
        pending += text[start:end]
        begin = end
    return Marked(texts, [*frame, pending], has_tags=True)


def _markup(text: str) -> Iterator[tuple[int, int]]:
    """Yield where markup begins and ends. One pass: what is not closed reaches to the end."""
    position = text.find("<")
    while position >= 0:
        end = _end(text, position)
        if end > position:
            yield position, end
        position = text.find("<", max(end, position + 1))


def _end(text: str, start: int) -> int:
    """Return where the markup that begins here ends; where it begins if it is none."""
    for opening, closing in _SECTIONS.items():
        if text.startswith(opening, start):
            found = text.find(closing, start + len(opening))
            return len(text) if found < 0 else found + len(closing)
    if (tag := _TAG.match(text, start)) is None:
        return start
    name = _NAME.match(text, start)
    if name is None or name[1].lower() not in _OPAQUE or tag[0].endswith("/>"):
        return tag.end()
    close = re.compile(f"</{name[1]}[^>]*>", re.IGNORECASE).search(text, tag.end())
    return close.end() if close else len(text)
