"""What the two dialects of translation share: which model, which language, lines and tags."""

import asyncio
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.server import markup
from nmt_cli.server.requests import RequestError
from nmt_cli.server.serving import UNKNOWN_LANGUAGE, ServedModel, ServedModels
from nmt_cli.text.languages import Way

if TYPE_CHECKING:
    from nmt_cli.search.translator import Translation

MOST_ALTERNATIVES = 16
_MOST_LISTED = 20  # ways in an error


@dataclass(frozen=True)
class Detected:
    """Which language a text is in.

    Attributes:
        language: Its code.
        confidence: 0 to 100.
    """

    language: str
    confidence: float


@dataclass(frozen=True)
class Translated:
    """A text of a request.

    Attributes:
        text: Its translation.
        alternatives: Other translations, the better ones first.
        source: The language that it was in, or taken for.
    """

    text: str
    alternatives: list[str]
    source: Detected


@functools.cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 - slow

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


async def detect(texts: Sequence[str], among: Sequence[str] = ()) -> list[Detected]:
    """Return the language of each text: any that is known, or the likeliest of some.

    py3langid: BSD, 139 languages, nothing but NumPy.
    """

    def found() -> list[Detected]:
        return [_best(_identifier().rank(text), among) for text in texts]

    return await asyncio.to_thread(found)


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
    if source is None and (among := _sources(models, target)):
        sources = await detect(texts, among)
    else:
        sources = [Detected(source or "auto", 100.0)] * len(texts)
    served = [model_for(models, found.language, target) for found in sources]
    marked = [markup.parse(text) if is_markup else markup.lines(text) for text in texts]
    search: dict[str, Any] = {"n_best": alternatives + 1} if alternatives else {}
    results: dict[int, Translated] = {}
    for model, way in dict.fromkeys(served):
        indices = [i for i, other in enumerate(served) if other == (model, way)]
        # All at once: the queue takes a request as a whole, and lets others in between its texts.
        inner = [line for i in indices for line in marked[i].texts]
        outer = iter(
            await model.run(inner, model.model.search_options(**search, **model.languages_of(way)))
        )
        for i in indices:
            lines = list(itertools.islice(outer, len(marked[i].texts)))
            results[i] = _joined(model, replace(sources[i], language=way[0]), marked[i], lines)
    return [results[i] for i in range(len(texts))]


def _joined(
    served: ServedModel, source: Detected, marked: markup.Marked, lines: Sequence["Translation"]
) -> Translated:
    """Put the translations of a text's lines in the place of the lines."""
    served.count_tokens(sum(len(line.tokens) for line in lines))
    ranks = range(max((len(line.hypotheses) for line in lines), default=0))
    wholes = [
        marked.filled([line.hypotheses[min(rank, len(line.hypotheses) - 1)].text for line in lines])
        for rank in ranks
    ] or [marked.filled([])]
    return Translated(wholes[0], list(dict.fromkeys(wholes))[1:], source)


def model_for(models: ServedModels, source: str, target: str) -> tuple[ServedModel, Way]:
    """Return the first model that translates that way, and the way as it names it.

    Raises:
        RequestError: There is none.
    """
    if (served := models.for_pair(source, target)) is not None:
        return served
    ways = [f"{a}-{b}" for s in models.of_task(TRANSLATION) for a, b in s.ways]
    pairs = ", ".join(ways[:_MOST_LISTED]) + (", ..." if ways[_MOST_LISTED:] else "")
    message = f"no model translates from {source!r} to {target!r}"
    raise RequestError(400, f"{message} (served: {pairs or 'none'})", param="target")


def _sources(models: ServedModels, target: str) -> list[str]:
    served = models.of_task(TRANSLATION)
    sources = dict.fromkeys(source for s in served for source, _ in s.ways)
    return [source for source in sources if models.for_pair(source, target)]


def _best(ranked: Sequence[tuple[str, float]], among: Sequence[str]) -> Detected:
    wanted = [code.partition("-")[0] for code in among if code != UNKNOWN_LANGUAGE]
    for code, share in ranked:
        if not among or code in wanted:
            language = among[wanted.index(code)] if among else code
            return Detected(language, round(100 * share, 1))
    return Detected(among[0], 0.0)
