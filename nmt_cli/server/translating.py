"""What the two dialects of translation share: which model, which language, lines and tags."""

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.server import markup
from nmt_cli.server.requests import RequestError
from nmt_cli.server.serving import UNKNOWN_LANGUAGE, ServedModel, ServedModels

MOST_ALTERNATIVES = 16


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
        score: Of the translation: the mean log-probability of a token.
        source_lang: The language that it was in, or taken for.
    """

    text: str
    alternatives: list[str]
    score: float
    source_lang: str


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
    **search: Any,
) -> list[Translated]:
    """Return a translation of each text.

    Args:
        models: What is served.
        texts: Of any length, with line ends that stay.
        pair: Codes of the languages; None detects the source.
        is_markup: Whether texts are HTML or XML, whose tags stay.
        alternatives: How many other translations are wanted.
        search: Search options.

    Raises:
        RequestError: No model translates that way.
    """
    source, target = pair
    if source is None:
        found = await detect(texts, _sources(models, target))
        sources = [detected.language for detected in found]
    else:
        sources = [source] * len(texts)
    served = [_model_for(models, language, target) for language in sources]
    whole = asyncio.gather(
        *(
            _translate_text(model, text, is_markup=is_markup, alternatives=alternatives, **search)
            for model, text in zip(served, texts, strict=True)
        )
    )
    return await whole


async def _translate_text(
    served: ServedModel, text: str, *, is_markup: bool, alternatives: int, **search: Any
) -> Translated:
    """Translate each line of a text, or each text between two tags of it."""
    marked = markup.parse(text) if is_markup else _lines(text)
    if alternatives:
        search |= {"n_best": alternatives + 1}
    options = served.model.search_options(**search)
    found = await served.run(marked.texts, options)
    served.count_tokens(sum(len(line.tokens) for line in found))
    ranks = range(max((len(line.hypotheses) for line in found), default=0))
    fill = marked.filled if is_markup else functools.partial(_filled, marked)
    wholes = [
        fill([line.hypotheses[min(rank, len(line.hypotheses) - 1)].text for line in found])
        for rank in ranks
    ] or [text]
    score = sum(line.score for line in found) / max(1, len(found))
    return Translated(wholes[0], list(dict.fromkeys(wholes))[1:], score, served.source_lang)


def _lines(text: str) -> markup.Marked:
    """Return the lines of a text that are not blank, and what stands between them."""
    texts, frame, pending = [], [], ""
    for line in text.splitlines(keepends=True):
        if inner := line.strip():
            before, _, after = line.partition(inner)
            frame.append(pending + before)
            texts.append(inner)
            pending = after
        else:
            pending += line
    return markup.Marked(texts, [*frame, pending])


def _filled(marked: markup.Marked, texts: Sequence[str]) -> str:
    return "".join(a + b for a, b in zip(marked.frame, [*texts, ""], strict=True))


def _model_for(models: ServedModels, source: str, target: str) -> ServedModel:
    if (served := models.for_pair(source, target)) is not None:
        return served
    pairs = ", ".join(f"{s.source_lang}-{s.target_lang}" for s in models.of_task(TRANSLATION))
    message = f"no model translates from {source} to {target}"
    raise RequestError(400, f"{message} (served: {pairs or 'none'})", param="target")


def _sources(models: ServedModels, target: str) -> list[str]:
    served = models.of_task(TRANSLATION)
    return [s.source_lang for s in served if models.for_pair(s.source_lang, target)]


def _best(ranked: Sequence[tuple[str, float]], among: Sequence[str]) -> Detected:
    wanted = [code.partition("-")[0] for code in among if code != UNKNOWN_LANGUAGE]
    for code, share in ranked:
        if not among or code in wanted:
            language = among[wanted.index(code)] if among else code
            return Detected(language, round(100 * share, 1))
    return Detected(among[0], 0.0)
