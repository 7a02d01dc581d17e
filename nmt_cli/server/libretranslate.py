"""The dialect of LibreTranslate (docs.libretranslate.com), whose clients are many.

Errors are `{"error": text}`.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.server.requests import RequestBody, RequestError, Values, checked
from nmt_cli.server.translating import MOST_ALTERNATIVES, Detected, Translated, detect, translate

_MOST_SUGGESTED = 10_000  # characters


class TranslateBody(RequestBody):
    """POST /translate."""

    q: str | list[str]
    source: str = "auto"
    target: str
    format: Literal["text", "html"] = "text"
    alternatives: Annotated[int, Field(ge=0, le=MOST_ALTERNATIVES)] = 0


class DetectBody(RequestBody):
    """POST /detect."""

    q: str


class SuggestBody(RequestBody):
    """POST /suggest."""

    q: str
    s: str
    source: str
    target: str


async def translate_texts(request: Request, values: Values) -> Response:
    """Translate `q`, a text or a list of texts."""
    state = request.app.state
    body = checked(TranslateBody, values)
    texts = [body.q] if isinstance(body.q, str) else body.q
    state.limits.check_texts(texts, "q")
    is_auto = body.source == "auto"
    found = await translate(
        state.models,
        texts,
        (None if is_auto else body.source, body.target),
        is_markup=body.format == "html",
        alternatives=body.alternatives,
    )
    answer: dict[str, Any] = {"translatedText": [result.text for result in found]}
    if is_auto:
        answer["detectedLanguage"] = await _detected(texts, found)
    if body.alternatives:
        answer["alternatives"] = [result.alternatives for result in found]
    if isinstance(body.q, str):
        answer = {name: values[0] for name, values in answer.items()}
    return JSONResponse(answer)


async def languages(request: Request) -> Response:
    """List each language with those that it goes to; clients look here for the target, too."""
    served = request.app.state.models.of_task(TRANSLATION)
    targets: dict[str, list[str]] = {s.source_lang: [] for s in served}
    for model in served:
        targets[model.source_lang].append(model.target_lang)
        targets.setdefault(model.target_lang, [])
    return JSONResponse(
        [{"code": code, "name": code, "targets": found} for code, found in targets.items()]
    )


async def detect_language(request: Request, values: Values) -> Response:
    """Name the language of `q`."""
    state = request.app.state
    body = checked(DetectBody, values)
    state.limits.check_texts([body.q], "q")
    return JSONResponse([_as_json(found) for found in await detect([body.q])])


async def suggest(request: Request, values: Values) -> Response:
    """Keep a better translation, as a line of JSON that `nmt train` reads."""
    state = request.app.state
    body = checked(SuggestBody, values)
    if state.suggestions is None:
        raise RequestError(403, "suggestions are not kept here (nmt serve --suggestions FILE)")
    if len(body.q) + len(body.s) > _MOST_SUGGESTED:
        raise RequestError(413, f"a suggestion has at most {_MOST_SUGGESTED:,} characters")
    row = {"source": body.q, "target": body.s, "pair": f"{body.source}-{body.target}"}
    row["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    async with state.writing:
        await asyncio.to_thread(_append, state.suggestions, row)
    return JSONResponse({"success": True})


async def frontend_settings(request: Request) -> Response:
    """What a page that speaks to LibreTranslate asks first."""
    state = request.app.state
    served = state.models.of_task(TRANSLATION)
    first = served[0] if served else None
    language = {
        side: {"code": code, "name": code}
        for side, code in (
            ("source", first.source_lang if first else ""),
            ("target", first.target_lang if first else ""),
        )
    }
    return JSONResponse(
        {
            "apiKeys": bool(state.keys),
            "keyRequired": bool(state.keys),
            "charLimit": state.limits.characters,
            "frontendTimeout": 500,
            "language": language,
            "suggestions": state.suggestions is not None,
            "filesTranslation": False,
            "supportedFilesFormat": [],
        }
    )


async def health(_request: Request) -> Response:
    """Say that the server answers."""
    return JSONResponse({"status": "ok"})


async def _detected(texts: list[str], found: list[Translated]) -> list[dict[str, Any]]:
    """Return what each text was taken for, and how sure that is."""
    languages = list(dict.fromkeys(result.source_lang for result in found))
    return [_as_json(detected) for detected in await detect(texts, languages)]


def _as_json(found: Detected) -> dict[str, Any]:
    return {"confidence": found.confidence, "language": found.language}


def _append(path: Path, row: dict[str, str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
