"""The dialect of LibreTranslate (docs.libretranslate.com), whose clients are many.

Errors are `{"error": text}`.
"""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from nmt_cli.server.files import endings
from nmt_cli.server.requests import ListOf, RequestBody, RequestError, Values, check_texts
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.translating import MOST_ALTERNATIVES, detect, pages_of, translate

_MOST_SUGGESTED = 10_000  # characters
_WRITING = threading.Lock()


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


async def translate_texts(models: ServedModels, body: TranslateBody) -> Any:
    """Translate `q`, a text or a list of texts."""
    texts = [body.q] if isinstance(body.q, str) else body.q
    check_texts(texts, "q", models.settings.max_characters)
    pair = (None if body.source == "auto" else body.source, body.target)
    pages = await pages_of(texts, body.format)
    found = await translate(models, pages, pair, alternatives=body.alternatives)
    answer: dict[str, Any] = {"translatedText": [result.text for result in found]}
    if body.source == "auto":
        answer["detectedLanguage"] = [vars(result.source) for result in found]
    if body.alternatives:
        answer["alternatives"] = [result.alternatives for result in found]
    if isinstance(body.q, str):
        answer = {name: values[0] for name, values in answer.items()}
    return answer


async def languages(models: ServedModels, _query: Values) -> Any:
    """List each language with the languages it can be translated to."""
    ways = [way for _, way in models.ways()]
    targets: dict[str, list[str]] = {source: [] for source, _ in ways}
    for source, target in ways:
        targets[source].append(target)
        targets.setdefault(target, [])
    return [{"code": code, "name": code, "targets": found} for code, found in targets.items()]


async def detect_language(models: ServedModels, body: DetectBody) -> Any:
    """Name the language of `q`."""
    check_texts([body.q], "q", models.settings.max_characters)
    return [vars(found) for found in await detect([body.q])]


async def suggest(models: ServedModels, body: SuggestBody) -> Any:
    """Save a better translation, as a line of JSON that `nmt train` reads."""
    if models.settings.suggestions is None:
        message = "this server does not save suggestions (nmt serve --suggestions FILE)"
        raise RequestError(403, message)
    if len(body.q) + len(body.s) > _MOST_SUGGESTED:
        raise RequestError(413, f"a suggestion has at most {_MOST_SUGGESTED:,} characters")
    row = {"source": body.q, "target": body.s, "pair": f"{body.source}-{body.target}"}
    row["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    await asyncio.to_thread(_append, models.settings.suggestions, row)
    return {"success": True}


async def frontend_settings(models: ServedModels, _query: Values) -> Any:
    """Return the settings that a LibreTranslate page asks for first."""
    settings = models.settings
    first = next((way for _, way in models.ways()), ("", ""))
    sides = zip(("source", "target"), first, strict=True)
    return {
        "apiKeys": bool(settings.keys),
        "keyRequired": bool(settings.keys),
        "charLimit": settings.max_characters,
        "frontendTimeout": 500,
        "language": {side: {"code": code, "name": code} for side, code in sides},
        "suggestions": settings.suggestions is not None,
        "filesTranslation": True,
        "supportedFilesFormat": endings(),
    }


async def health(models: ServedModels, _query: Values) -> Any:
    """Say that the server answers, and that nothing has ended that should run."""
    if all(served.batcher.is_well for served in models):
        return {"status": "ok"}
    raise RequestError(500, "a thread has ended; the log says why, and a restart repairs it")


def _append(path: Path, row: dict[str, str]) -> None:
    with _WRITING, path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
