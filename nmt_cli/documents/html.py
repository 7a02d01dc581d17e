"""HTML: what stands between blocks' tags is translated; tags in a sentence follow its words.

What attributes say to readers, such as `alt`, is translated, too. Code, formulas and elements with
`translate="no"` stay. In XML, where names of tags say nothing, the tags with text beside them are
those in a sentence.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nmt_cli.documents.inline import Builder, Inline

SPACE = re.compile(r"[ \t\n\f\r]+")  # what HTML shows as one space
ATTRIBUTES = r"""(?:[^<>"']|"[^"]*"|'[^']*')*+"""
_KEPT = ("code", "kbd", "math", "samp", "var")
_PASSED_OVER = ("script", "style", "pre", "textarea")
_IN_SENTENCES = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "data", "del", "dfn", "em",
    "font", "i", "img", "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "wbr", *_KEPT,
}  # fmt: skip
BREAK = re.compile(r"<br[\s/>]", re.IGNORECASE)
ALONE = ("br", "img", "wbr")  # have no end
# What is not closed reaches to the end. Some tags are passed over with all that they hold, which is
# not for readers, or not to be changed.
_MARKUP = re.compile(
    rf"""
    (?P<whole> <!\[CDATA\[.*?(?:\]\]>|\Z) | <!(?!--).*?(?:>|\Z)
      | (?i:<(?P<name>{"|".join(_PASSED_OVER)})(?![a-z]){ATTRIBUTES}(?<!/)>
        .*?(?:</(?P=name)[^>]*+(?:>|\Z)|\Z)) )
    | (?P<point> <!--.*?(?:-->|\Z) | <\?.*?(?:\?>|\Z) | <%(?:(?!<%).){{0,300}}?%> )
    | (?P<tag> <(?P<slash>/?)(?P<of>[A-Za-z][A-Za-z0-9-]*){ATTRIBUTES}> )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_REFERENCE = re.compile(r"&[A-Za-z_][\w.-]*;")
_ATTRIBUTE = re.compile(
    r"""(?<=\s)([^\s"'<>/=]++)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?"""
)
_FOR_READERS = ("alt", "title", "placeholder", "aria-label", "aria-description")  # attributes
_BUTTONS = ("submit", "button", "reset")
_OF_THE_PAGE = re.compile(r"(?:\w+:)?(?:description|title)")
_WITHOUT_TAGS = re.compile(r"<(?:title|option)\b[^<>]*>\s*\Z", re.IGNORECASE)  # elements
# Private characters, which stand for values of attributes.
_FIRST, _MOST = 0x100000, 0xFFFE
_SIGN = re.compile("[\U00100000-\U0010fffd]")


@dataclass(frozen=True)
class Markup:
    """A tag, or what is passed over with all that it holds."""

    raw: str
    start: int  # in the page
    name: str = ""  # of a tag
    is_end: bool = False
    is_block: bool = False  # ends a sentence
    words: str | None = None  # of what stays as it is

    @property
    def end(self) -> int:
        """Where it ends in the page."""
        return self.start + len(self.raw)

    @property
    def is_element(self) -> bool:
        """Whether it is a tag, or an element that stays as it is."""
        return bool(self.name) or self.words is not None

    @property
    def is_alone(self) -> bool:
        """Whether it is markup at a place, or a tag without an end."""
        return not self.name or self.name in ALONE or self.raw.endswith("/>")

    @property
    def begins(self) -> bool:
        """Whether it is the tag of an element that has an end."""
        return bool(self.name) and not self.is_end and not self.raw.endswith("/>")


class Page:
    """A page in parts.

    Attributes:
        texts: What is to be translated; that of attributes comes last.
    """

    def __init__(self, page: str, *, is_xml: bool = False) -> None:
        self.texts: list[Inline] = []
        # what stands before the first text, between the texts, and after the last one
        self._frame: list[str] = []
        values: list[str] = []
        if not is_xml and not _SIGN.search(page):
            page, values = _without_values(page)
        mixed = {*_beside_text(page)} if is_xml else None
        pending, begin = "", 0
        inner: list[Markup] = []
        for found in [*_markup(page), Markup("", len(page), is_block=True)]:
            is_known = mixed is None or not found.is_element
            if found.start in (mixed or ()) or (is_known and not found.is_block):
                inner.append(found)
                continue
            before, inline, after = _inline(page, begin, found.start, inner)
            if inline is None:
                pending += page[begin : found.start]
            else:
                self._frame.append(pending + before)
                self.texts.append(inline)
                pending = after
            pending += found.raw
            begin, inner = found.end, []
        self._frame.append(pending)
        self.texts += [Inline(SPACE.sub(" ", unescaped(one)), escape=html.escape) for one in values]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the page with other texts, which are HTML, in place of its own."""
        count = len(self._frame) - 1
        made = [
            text.replace("<br/>", " / ") if _WITHOUT_TAGS.search(before) else text
            for before, text in zip(self._frame, texts[:count], strict=False)
        ]
        page = "".join(a + b for a, b in zip(self._frame, [*made, ""], strict=True))
        # of two languages an attribute has the second
        values = {
            chr(_FIRST + i): text.rpartition("<br/>")[2] for i, text in enumerate(texts[count:])
        }
        return _SIGN.sub(lambda sign: values.get(sign[0], sign[0]), page)


def unescaped(text: str) -> str:
    """Return the text of HTML without tags."""
    try:
        return html.unescape(text)
    except ValueError:  # a reference by a number of thousands of digits is no character
        return text


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _markup(page: str) -> list[Markup]:
    """Return the markup of a page."""
    found = [
        Markup(
            one[0],
            one.start(),
            (one["of"] or "").lower(),
            is_end=bool(one["slash"]),
            is_block=bool(one["whole"] or (one["tag"] and one["of"].lower() not in _IN_SENTENCES)),
        )
        for one in _MARKUP.finditer(page)
    ]
    return with_elements(page, found)


def with_elements(page: str, found: Sequence[Markup]) -> list[Markup]:
    """Return markup in which an element that stays as it is is one with all that it holds."""
    ends = _ends(found)
    made, number = [], 0
    while number < len(found):
        one, end = found[number], ends.get(number)
        if end is not None and (words := _kept_words(page, one, found[end])) is not None:
            one = replace(one, raw=page[one.start : found[end].end], name="", words=words)
            number = end
        made.append(one)
        number += 1
    return made


def _ends(found: Sequence[Markup]) -> dict[int, int]:
    """Return which tag ends an element that another one begins, by their numbers."""
    ends = {}
    open_: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        if one.begins:
            open_.setdefault(one.name, []).append(number)
        elif one.is_end and open_.get(one.name):
            ends[open_[one.name].pop()] = number
    return ends


def _kept_words(page: str, begin: Markup, end: Markup) -> str | None:
    """Return the words of an element that stays as it is; None if it does not."""
    stays = begin.name in (*_KEPT, *_PASSED_OVER) or _has_to_stay(_attributes(begin.raw))
    if not stays and begin.name != "sup":
        return None
    words = SPACE.sub(" ", unescaped(_MARKUP.sub("", page[begin.end : end.start])))
    return words if stays or not any(map(str.isalpha, words)) else None  # the number of a note


def _attributes(tag: str) -> dict[str, str]:
    found = (one.groups("") for one in _ATTRIBUTE.finditer(tag))
    return {key.lower(): "".join(values) for key, *values in found}


def _has_to_stay(attributes: Mapping[str, str]) -> bool:
    is_named = "notranslate" in attributes.get("class", "").split()
    return is_named or attributes.get("translate", "").lower() == "no"


def _without_values(page: str) -> tuple[str, list[str]]:
    """Return a page with a sign for each value of an attribute for readers, and these."""
    parts, values, begin = list[str](), list[str](), 0
    for tag in _markup(page):
        for start, end in _values(tag) if tag.name and not tag.is_end else ():
            if len(values) < _MOST:
                parts += [page[begin:start], chr(_FIRST + len(values))]
                values.append(page[start:end])
                begin = end
    return "".join([*parts, page[begin:]]), values


def _values(tag: Markup) -> Iterator[tuple[int, int]]:
    """Yield where a tag has a text for readers in quotes."""
    attributes = _attributes(tag.raw)
    is_button = tag.name == "input" and attributes.get("type", "").lower() in _BUTTONS
    called = attributes.get("name") or attributes.get("property") or ""
    is_of_the_page = tag.name == "meta" and _OF_THE_PAGE.fullmatch(called.lower())
    wanted = (*_FOR_READERS, *["value"] * is_button, *["content"] * bool(is_of_the_page))
    for found in _ATTRIBUTE.finditer(tag.raw) if not _has_to_stay(attributes) else ():
        group = 2 if found[2] else 3
        if found[1].lower() in wanted and any(map(str.isalpha, found[group] or "")):
            yield tag.start + found.start(group), tag.start + found.end(group)


def _beside_text(page: str) -> Iterator[int]:
    """Yield where the tags begin that stand in an element that also holds text of its own."""
    open_: list[tuple[list[int], list[str]]] = [([], [])]  # tags in each element, and texts
    begin = 0
    for found in _markup(page):
        open_[-1][1].append(page[begin : found.start].strip())
        begin = found.end
        if found.is_end and len(open_) > 1:
            tags, texts = open_.pop()
            yield from tags if any(texts) else ()
        if found.is_element:
            open_[-1][0].append(found.start)
        if found.begins:
            open_.append(([], []))
    open_[-1][1].append(page[begin:].strip())
    for tags, texts in open_:
        yield from tags if any(texts) else ()


def _inline(
    page: str, start: int, end: int, inner: Sequence[Markup]
) -> tuple[str, Inline | None, str]:
    """Return a text between blocks, and the space around it; None if it has no word."""
    stretch = page[start:end]
    core_start = start + len(stretch) - len(stretch.lstrip())
    core_end = start + len(stretch.rstrip())
    made = Builder()
    has_words = False
    begin = core_start
    for found in inner:
        has_words = _add_text(made, page[begin : found.start]) or has_words
        begin = found.end
        add_markup(made, found, found.raw, found.name)
        if BREAK.match(found.raw) and begin < core_end:  # ends a word, even without a space
            made.text += " "
            begin = core_end - len(page[begin:core_end].lstrip())
    has_words = _add_text(made, page[begin:core_end]) or has_words
    inline = made.inline(_escape) if has_words else None
    return page[start:core_start], inline, page[core_end:end]


def _add_text(made: Builder, text: str) -> bool:
    """Add a text; return whether there is more than space in it."""
    begin = 0
    for found in _REFERENCE.finditer(text):
        if html.unescape(found[0]) == found[0]:  # only the file says what it stands for
            made.text += SPACE.sub(" ", unescaped(text[begin : found.start()]))
            made.keep(found[0], found[0])
            begin = found.end()
    made.text += SPACE.sub(" ", unescaped(text[begin:]))
    return bool(text.strip())


def add_markup(made: Builder, found: Markup, raw: str, name: str) -> None:
    """Add markup, what stands for it in the file, and the name by which its end knows it."""
    if found.words is not None:
        made.keep(found.words, raw)
    elif found.is_end:
        made.close(name, raw)
    elif found.is_alone:
        made.point(raw)
    else:
        made.open(name, raw)
