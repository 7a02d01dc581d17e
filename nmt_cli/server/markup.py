"""HTML and XML whose text is to be translated: every tag stays as it is, in its place."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TAG = re.compile(r"""</?[A-Za-z](?:[^<>"']|"[^"]*"|'[^']*')*+>""")
_NAME = re.compile(r"<([A-Za-z]+)")
_SECTIONS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>", "<!": ">"}
_OPAQUE = {"script", "style", "code", "pre", "textarea"}  # not for readers, or not to be changed


@dataclass(frozen=True)
class Marked:
    """A text with tags.

    Attributes:
        texts: What is to be translated, without character references.
        frame: What stands before the first text, between the texts, and after the last one.
    """

    texts: list[str]
    frame: list[str]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the whole with other texts in place of its own."""
        escaped = [html.escape(text, quote=False) for text in texts]
        return "".join(a + b for a, b in zip(self.frame, [*escaped, ""], strict=True))


def parse(text: str) -> Marked:
    """Return the texts between the tags."""
    texts, frame, pending, begin = [], [], "", 0
    for start, end in [*_markup(text), (len(text), len(text))]:
        stretch = text[begin:start]
        if inner := html.unescape(stretch).strip():
            before = stretch[: len(stretch) - len(stretch.lstrip())]
            frame.append(pending + before)
            texts.append(inner)
            pending = stretch[len(stretch.rstrip()) :]
        else:
            pending += stretch
        pending += text[start:end]
        begin = end
    return Marked(texts, [*frame, pending])


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
