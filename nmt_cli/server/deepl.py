"""The dialect of DeepL's API, version 2 (developers.deepl.com). Errors are `{"message": text}`."""

from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.server.requests import ListOf, RequestBody, Values, checked
from nmt_cli.server.translating import translate


class TranslateBody(RequestBody):
    """POST /v2/translate."""

    text: ListOf[str] | str
    target_lang: str
    source_lang: str | None = None
    tag_handling: Literal["html", "xml", ""] | None = None


async def translate_texts(request: Request, values: Values) -> Response:
    """Translate each of `text`."""
    state = request.app.state
    body = checked(TranslateBody, values)
    texts = [body.text] if isinstance(body.text, str) else body.text
    state.limits.check_texts(texts, "text")
    found = await translate(
        state.models,
        texts,
        (body.source_lang or None, body.target_lang),
        is_markup=bool(body.tag_handling),
    )
    state.billed += sum(map(len, texts))
    answers: list[dict[str, Any]] = [
        {
            "detected_source_language": result.source.language.upper(),
            "text": result.text,
            "billed_characters": len(text),
        }
        for text, result in zip(texts, found, strict=True)
    ]
    return JSONResponse({"translations": answers})


async def languages(request: Request) -> Response:
    """List the source or target languages."""
    side = request.query_params.get("type", "source")
    served = request.app.state.models.of_task(TRANSLATION)
    codes = [way[1 if side == "target" else 0] for s in served for way in s.ways]
    return JSONResponse(
        [
            {"language": code.upper(), "name": code, "supports_formality": False}
            for code in dict.fromkeys(codes)
        ]
    )


async def usage(request: Request) -> Response:
    """Return how many characters were translated since the server started."""
    return JSONResponse(
        {"character_count": request.app.state.billed, "character_limit": 1_000_000_000_000}
    )
