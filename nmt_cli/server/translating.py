"""What the two dialects of translation share: which model, which language, lines and markup."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from nmt_cli.documents import html, plain
from nmt_cli.documents.inline import Filled, Inline
from nmt_cli.documents.opening import KeepingPage, Page, Whole
from nmt_cli.documents.protected import protector
from nmt_cli.server.serving import ServedModels
from nmt_cli.text.language_id import language_code, language_probabilities

MOST_ALTERNATIVES = 16
_WORDS = protector()


async def pages_of(texts: Sequence[str], markup: str | None) -> list[Page[str]]:
    """Return texts in parts: plain ones, "html" or "xml"."""
    if markup not in ("html", "xml"):
        return [plain.Page(text) for text in texts]
    is_xml = markup == "xml"  # in a thread, since much of it takes a while
    pages = (KeepingPage(html.Page(text, is_xml=is_xml), _WORDS) for text in texts)
    return await asyncio.to_thread(list, pages)


@dataclass(frozen=True)
class Detected:
    """Which language a text is in."""

    confidence: float  # 0 to 100
    language: str  # its code


@dataclass(frozen=True)
class Translated(Generic[Whole]):
    """A text of a request."""

    page: Page[Whole]
    rows: list[list[Filled]]  # translations of each of its texts, the better ones first
    source: Detected  # the language that it was in, or taken for

    @property
    def text(self) -> Whole:
        """Its translation."""
        return self._filled(0)

    @property
    def alternatives(self) -> list[Whole]:
        """Other translations, the better ones first."""
        ranks = range(max(map(len, self.rows), default=1))
        return list(dict.fromkeys(map(self._filled, ranks)))[1:]

    def _filled(self, rank: int) -> Whole:
        return self.page.filled([row[min(rank, len(row) - 1)].text for row in self.rows])


async def detect(texts: Sequence[str], among: Sequence[str] = ()) -> list[Detected]:
    """Return the language of each text: any that is known, or the likeliest of some."""
    return await asyncio.to_thread(lambda: [_likeliest(text, among) for text in texts])


def _likeliest(text: str, among: Sequence[str]) -> Detected:
    codes = {language_code(language): language for language in reversed(among)}
    for code, share in language_probabilities(text):
        if not among or code in codes:
            return Detected(round(100 * share, 1), codes.get(code, code))
    return Detected(0.0, among[0])


async def translate(
    models: ServedModels,
    pages: Sequence[Page[Whole]],
    pair: tuple[str | None, str],
    *,
    alternatives: int = 0,
) -> list[Translated[Whole]]:
    """Return a translation of each text.

    Args:
        models: What is served.
        pages: Texts of any length.
        pair: Codes of the languages; None detects the source.
        alternatives: How many other translations are wanted.

    Raises:
        RequestError: No model translates that way.
    """
    source, target = pair
    if source is None and (among := models.sources_of(target)):
        sources = await detect([" ".join(one.text for one in page.texts) for page in pages], among)
    else:
        sources = [Detected(100.0, source or "auto")] * len(pages)
    ways = {found.language: models.for_pair(found.language, target) for found in sources}
    results: dict[int, Translated[Whole]] = {}
    for served, way in dict.fromkeys(ways.values()):
        indices = [i for i, found in enumerate(sources) if ways[found.language] == (served, way)]
        # All at once: the queue takes a request as a whole, and lets others in between its texts.
        asked = [one for i in indices for one in pages[i].texts if _is_for_model(pages[i], one)]
        found = iter(await served.run(asked, served.options(way, alternatives)))
        for i in indices:
            rows = [*_rows(pages[i], found)]
            results[i] = Translated(pages[i], rows, replace(sources[i], language=way[0]))
    return [results[i] for i in range(len(pages))]


def _is_for_model(page: Page[Any], text: Inline) -> bool:
    """Return whether the model is asked: as in a file, for any line, but not all that has tags."""
    return isinstance(page, plain.Page) or text.has_words


def _rows(page: Page[Any], found: Iterator[list[Filled]]) -> Iterator[list[Filled]]:
    for text in page.texts:
        yield next(found) if _is_for_model(page, text) else [text.unchanged()]
