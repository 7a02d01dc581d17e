"""HTML: what stands between blocks' tags is translated; tags in a sentence follow its words."""

import html
import re
from collections.abc import Sequence

from nmt_cli.documents.inline import Builder, Inline

SPACE = re.compile(r"[ \t\n\f\r]+")  # what HTML shows as one space
ATTRIBUTES = r"""(?:[^<>"']|"[^"]*"|'[^']*')*+"""
_IN_SENTENCES = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "data", "del", "dfn", "em",
    "font", "i", "img", "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "wbr",
}  # fmt: skip
_BREAK = re.compile(r"<br[\s/>]", re.IGNORECASE)
_ALONE = ("br", "img", "wbr")  # have no end
_KEPT = "code|kbd|samp|var"
# What is not closed reaches to the end. Some tags are passed over with all that they hold, which is
# not for readers, or not to be changed.
_MARKUP = re.compile(
    rf"""
    (?P<whole> <!\[CDATA\[.*?(?:\]\]>|\Z) | <\?.*?(?:\?>|\Z) | <!(?!--).*?(?:>|\Z)
      | (?i:<(?P<name>script|style|pre|textarea)(?![a-z]){ATTRIBUTES}(?<!/)>
        .*?(?:</(?P=name)[^>]*+(?:>|\Z)|\Z)) )
    | (?P<comment> <!--.*?(?:-->|\Z) )
    | (?P<kept> (?i:<(?P<code>{_KEPT})(?![a-z]){ATTRIBUTES}(?<!/)>[^<]*</(?P=code)\s*>) )
    | (?P<tag> <(?P<slash>/?)(?P<of>[A-Za-z][A-Za-z0-9-]*){ATTRIBUTES}> )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class Page:
    """A page in parts.

    Attributes:
        texts: What is to be translated.
    """

    def __init__(self, page: str) -> None:
        self.texts: list[Inline] = []
        # what stands before the first text, between the texts, and after the last one
        self._frame: list[str] = []
        pending, begin = "", 0
        blocks = [found for found in _MARKUP.finditer(page) if not _is_in_sentence(found)]
        for start, end in [*(found.span() for found in blocks), (len(page), len(page))]:
            before, inline, after = _inline(page[begin:start])
            if inline is None:
                pending += page[begin:start]
            else:
                self._frame.append(pending + before)
                self.texts.append(inline)
                pending = after
            pending += page[start:end]
            begin = end
        self._frame.append(pending)

    def filled(self, texts: Sequence[str]) -> str:
        """Return the page with other texts, which are HTML, in place of its own."""
        return "".join(a + b for a, b in zip(self._frame, [*texts, ""], strict=True))


def unescaped(text: str) -> str:
    """Return the text of HTML without tags."""
    try:
        return html.unescape(text)
    except ValueError:  # a reference by a number of thousands of digits is no character
        return text


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _is_in_sentence(found: re.Match[str]) -> bool:
    if found["comment"] or found["kept"]:
        return True
    return found["tag"] is not None and found["of"].lower() in _IN_SENTENCES


def _inline(stretch: str) -> tuple[str, Inline | None, str]:
    """Return a text between blocks, and the space around it; None if it has no word."""
    core = stretch.strip()
    if not unescaped(_MARKUP.sub("", core)).strip():
        return "", None, ""
    head = len(stretch) - len(stretch.lstrip())
    before, after = stretch[:head], stretch[head + len(core) :]
    made = Builder()
    begin = 0
    for found in _MARKUP.finditer(core):
        _add_text(made, core[begin : found.start()])
        _add_markup(made, found)
        begin = found.end()
        if _BREAK.match(found[0]) and begin < len(core):  # ends a word, even without a space
            made.text += " "
            begin += len(core[begin:]) - len(core[begin:].lstrip())
    _add_text(made, core[begin:])
    return before, made.inline(_escape), after


def _add_text(made: Builder, text: str) -> None:
    text = SPACE.sub(" ", unescaped(text))
    made.text += text if made.text else text.removeprefix(" ")


def _add_markup(made: Builder, found: re.Match[str]) -> None:
    tag, name = found[0], (found["of"] or "").lower()
    if found["kept"]:
        inner, end = tag.index(">") + 1, tag.rindex("</")
        made.keep(unescaped(tag[inner:end]), tag)
    elif found["slash"]:
        made.close(name, tag)
    elif found["comment"] or name in _ALONE or tag.endswith("/>"):
        made.point(tag)
    else:
        made.open(name, tag)
