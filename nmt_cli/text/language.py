"""Which language some text is in.

py3langid (BSD, kept up, 4.6 MB with its model, needs nothing but NumPy) knows 139 languages, works
without a connection, and takes a second of processor time to start. Of 200 lines put together it
names the language even where half of them is markup.
"""

from collections.abc import Iterable

_MOST_CHARACTERS = 20_000
_FEWEST_LETTERS = 20


def language_of(lines: Iterable[str]) -> str:
    """Return the code (ISO 639-1 where there is one) of most of the text; "" for too little."""
    text = " ".join(lines)[:_MOST_CHARACTERS]
    if sum(map(str.isalpha, text)) < _FEWEST_LETTERS:
        return ""
    import py3langid  # noqa: PLC0415  (its model takes a second, and only `nmt init` asks)

    return str(py3langid.classify(text)[0])
