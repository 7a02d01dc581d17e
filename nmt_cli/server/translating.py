"""What the two dialects of translation share: which model, which language, lines and tags."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nmt_cli.server import markup, metrics
from nmt_cli.server.serving import ServedModels
from nmt_cli.text.language_id import language_code, language_probabilities

if TYPE_CHECKING:
    from nmt_cli.search.translator import Translation

MOST_ALTERNATIVES = 16


@dataclass(frozen=True)
class Detected:
    """Which language a text is in."""

    confidence: float  # 0 to 100
    language: str  # its code


@dataclass(frozen=True)
class Translated:
    """A text of a request."""

    text: str  # its translation
    alternatives: list[str]  # other translations, the better ones first
    source: Detected  # the language that it was in, or taken for


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
    texts: Sequence[str],
    pair: tuple[str | None, str],
    *,
    is_markup: bool = False,
    alternatives: int = 0,
) -> list[Translated]:
    """Return a translation of each text.

    Args:
        models: What is served.
        texts: Of any length, with line ends that stay.
        pair: Codes of the languages; None detects the source.
        is_markup: Whether texts are HTML or XML, whose tags stay.
        alternatives: How many other translations are wanted.

    Raises:
        RequestError: No model translates that way.
    """
    source, target = pair
    if source is None and (among := models.sources_of(target)):
        sources = await detect(texts, among)
    else:
        sources = [Detected(100.0, source or "auto")] * len(texts)
    ways = {found.language: models.for_pair(found.language, target) for found in sources}
    marked = [markup.parse(text) if is_markup else markup.lines(text) for text in texts]
    search: dict[str, Any] = {"n_best": alternatives + 1} if alternatives else {}
    results: dict[int, Translated] = {}
    for served, way in dict.fromkeys(ways.values()):
        indices = [i for i, found in enumerate(sources) if ways[found.language] == (served, way)]
        # All at once: the queue takes a request as a whole, and lets others in between its texts.
        inner = [line for i in indices for line in marked[i].texts]
        options = served.model.search_options(**search, **served.languages_of(way))
        outer = iter(await served.run(inner, options))
        for i in indices:
            lines = list(itertools.islice(outer, len(marked[i].texts)))
            results[i] = _joined(lines, marked[i], replace(sources[i], language=way[0]))
            metrics.TOKENS.labels(served.name).inc(sum(len(line.tokens) for line in lines))
    return [results[i] for i in range(len(texts))]


def _joined(lines: Sequence["Translation"], marked: markup.Marked, source: Detected) -> Translated:
    """Put the translations of a text's lines in the place of the lines."""
    ranks = range(max((len(line.hypotheses) for line in lines), default=1))
    wholes = [
        marked.filled([line.hypotheses[min(rank, len(line.hypotheses) - 1)].text for line in lines])
        for rank in ranks
    ]
    return Translated(wholes[0], list(dict.fromkeys(wholes))[1:], source)
