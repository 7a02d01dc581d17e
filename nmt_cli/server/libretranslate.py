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
from nmt_cli.server.requests import ListOf, RequestBody, RequestError, Values, checked
from nmt_cli.server.translating import MOST_ALTERNATIVES, Detected, detect, translate

_MOST_SUGGESTED = 10_000  # characters


class TranslateBody(RequestBody):
    """POST /translate."""

    q: str | ListOf[str]
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
        answer["detectedLanguage"] = [_as_json(result.source) for result in found]
    if body.alternatives:
        answer["alternatives"] = [result.alternatives for result in found]
    if isinstance(body.q, str):
        answer = {name: values[0] for name, values in answer.items()}
    return JSONResponse(answer)


async def languages(request: Request) -> Response:
    """List each language with the languages it can be translated to."""
    served = request.app.state.models.of_task(TRANSLATION)
    ways = [way for model in served for way in model.ways]
    targets: dict[str, list[str]] = {source: [] for source, _ in ways}
    for source, target in ways:
        targets[source].append(target)
        targets.setdefault(target, [])
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
    """Save a better translation, as a line of JSON that `nmt train` reads."""
    state = request.app.state
    body = checked(SuggestBody, values)
    if state.suggestions is None:
        raise RequestError(
            403, "this server does not save suggestions (nmt serve --suggestions FILE)"
        )
    if len(body.q) + len(body.s) > _MOST_SUGGESTED:
        raise RequestError(413, f"a suggestion has at most {_MOST_SUGGESTED:,} characters")
    row = {"source": body.q, "target": body.s, "pair": f"{body.source}-{body.target}"}
    row["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    async with state.writing:
        await asyncio.to_thread(_append, state.suggestions, row)
    return JSONResponse({"success": True})


async def frontend_settings(request: Request) -> Response:
    """Return the settings that a LibreTranslate page asks for first."""
    state = request.app.state
    served = state.models.of_task(TRANSLATION)
    first = served[0].ways[0] if served else ("", "")
    language = {
        side: {"code": code, "name": code}
        for side, code in zip(("source", "target"), first, strict=True)
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


async def health(request: Request) -> Response:
    """Say that the server answers, and that nothing has ended that should run."""
    if all(served.batcher.is_well for served in request.app.state.models):
        return JSONResponse({"status": "ok"})
    raise RequestError(500, "a thread has ended; the log says why, and a restart mends it")


def _as_json(found: Detected) -> dict[str, Any]:
    return {"confidence": found.confidence, "language": found.language}


def _append(path: Path, row: dict[str, str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
