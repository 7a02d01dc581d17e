"""A page as a parser sees it: checks that it is well-formed and loads nothing, and finds its parts.

HTML elements that are left open, closed twice or nested wrongly are what a browser mends silently.
"""

from html.parser import HTMLParser

_VOID = {"meta", "br", "hr", "img", "input", "link", "option", "wbr"}
_FOCUSABLE = {"a", "button", "select", "summary", "input"}


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        texts: (path of element names, text), in order; blank text is left out.
        elements: (name, attributes) of every element, in order.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[tuple[str, str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"left open: {self._open}"
        assert text.startswith("<!DOCTYPE html>")
        for name, attributes in self.elements:
            for key in ("src", "href", "xlink:href", "action"):
                value = attributes.get(key) or "#"
                assert value.startswith(("#", "data:")), f"{name} loads {value}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert tag not in _VOID
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> closes {self._open}"
        self._open.pop()

    def handle_data(self, data):
        if data.strip():
            self.texts.append((" ".join(self._open), data.strip()))

    def of(self, *names: str) -> list[str]:
        """Return the texts inside nested elements of these names, in this order."""
        found = []
        for path, text in self.texts:
            parts = iter(path.split())
            if all(name in parts for name in names):
                found.append(text)
        return found

    @property
    def ids(self) -> set[str]:
        """All ids."""
        return {a["id"] for _, a in self.elements if a.get("id")}

    @property
    def links(self) -> list[str]:
        """What links within the page point at."""
        return [(a["href"] or "")[1:] for name, a in self.elements if name == "a" and "href" in a]

    @property
    def in_tab_order(self) -> list[str]:
        """The elements that the Tab key reaches, as far as the page's source tells."""
        return [n for n, a in self.elements if n in _FOCUSABLE or a.get("tabindex") == "0"]
