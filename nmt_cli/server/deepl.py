"""The dialect of DeepL's API, version 2 (developers.deepl.com). Errors are `{"message": text}`."""

from typing import Any, Literal

from nmt_cli.server.requests import ListOf, RequestBody, RequestError, Values, check_texts
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.translating import pages_of, translate


class TranslateBody(RequestBody):
    """POST /v2/translate."""

    text: ListOf[str] | str
    target_lang: str
    source_lang: str | None = None
    tag_handling: Literal["html", "xml", ""] | None = None


async def translate_texts(models: ServedModels, body: TranslateBody) -> Any:
    """Translate each of `text`."""
    texts = [body.text] if isinstance(body.text, str) else body.text
    check_texts(texts, "text", models.settings.max_characters)
    size = sum(map(len, texts))
    if models.billed + size > models.settings.quota:
        raise RequestError(456, "quota exceeded")
    pair = (body.source_lang or None, body.target_lang)
    pages = await pages_of(texts, body.tag_handling)
    found = await translate(models, pages, pair)
    models.billed += size
    answers = [
        {
            "detected_source_language": result.source.language.upper(),
            "text": result.text,
            "billed_characters": len(text),
        }
        for text, result in zip(texts, found, strict=True)
    ]
    return {"translations": answers}


async def languages(models: ServedModels, query: Values) -> Any:
    """List the source or target languages."""
    side = 1 if query.get("type") == "target" else 0
    return [
        {"language": code.upper(), "name": code, "supports_formality": False}
        for code in dict.fromkeys(way[side] for _, way in models.ways())
    ]


async def usage(models: ServedModels, _query: Values) -> Any:
    """Return how many characters were translated since the server started, and may be."""
    return {"character_count": models.billed, "character_limit": models.settings.quota}
