"""What no other dialect has: labels, scores, metrics, and a description of everything."""

import re
from collections.abc import Callable
from typing import Any

from prometheus_client import generate_latest
from starlette.responses import PlainTextResponse

from nmt_cli import __version__
from nmt_cli.config.tasks import CLASSIFICATION, TRANSLATION
from nmt_cli.server import deepl, files, libretranslate, openai
from nmt_cli.server.metrics import REGISTRY
from nmt_cli.server.requests import ListOf, RequestBody, Values, check_texts
from nmt_cli.server.serving import ServedModels


class ClassifyBody(RequestBody):
    """POST /classify."""

    texts: str | ListOf[str] | ListOf[tuple[str, str]]
    model: str = ""


class ExplainBody(RequestBody):
    """POST /explain."""

    q: str
    translation: str
    source: str
    target: str


class ScoreBody(RequestBody):
    """POST /score."""

    pairs: ListOf[tuple[str, str]]
    model: str = ""
    source: str | None = None
    target: str | None = None


async def classify(models: ServedModels, body: ClassifyBody) -> Any:
    """Give labels to `texts`, with the probabilities of all labels."""
    given = [body.texts] if isinstance(body.texts, str) else body.texts
    lines = [" ".join(("\t".join(t) if isinstance(t, tuple) else t).splitlines()) for t in given]
    check_texts(lines, "texts", models.settings.max_characters)
    served = models.named(body.model, CLASSIFICATION)
    found = await served.run(lines)
    rows = [{"labels": row.labels, "probabilities": row.probabilities} for row in found]
    return {"model": served.name, "results": rows}


async def score(models: ServedModels, body: ScoreBody) -> Any:
    """Return the log-probability of the second text of each pair, given the first."""
    texts = [text for pair in body.pairs for text in pair]
    check_texts(texts, "pairs", models.settings.max_characters)
    served = models.named(body.model, TRANSLATION)
    found = await served.aside(
        lambda: served.model.score(body.pairs, to=body.target, from_=body.source)
    )
    rows = [{"score": row.score, "tokens": row.tokens, "log_probs": row.log_probs} for row in found]
    return {"model": served.name, "results": rows}


async def explain(models: ServedModels, body: ExplainBody) -> Any:
    """Return the probability of each word of a translation, and the words it comes from."""
    check_texts([body.q, body.translation], "q", models.settings.max_characters)
    served, way = models.for_pair(body.source, body.target)
    way = way if served.languages_of(way) else ("", "")
    words = await served.aside(lambda: served.model.explain(body.q, body.translation, way))
    rows = [{"text": w.text, "probability": w.probability, "from": w.source} for w in words]
    return {"model": served.name, "words": rows}


async def metrics(_models: ServedModels, _query: Values) -> Any:
    """Return the counters, in the format of Prometheus."""
    text = generate_latest(REGISTRY).decode()
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def list_models(models: ServedModels, _query: Values) -> Any:
    """List the models, for the page."""
    rows = [
        {
            "name": served.name,
            "task": served.facts.name,
            "source": source,
            "target": target,
            "scores": served.model.bundle.manifest.scores.get("test", {}),
            "parameters": served.model.bundle.manifest.parameters,
        }
        for served in models
        for source, target in served.ways
    ]
    return {"models": rows, "version": __version__}


async def openapi(_models: ServedModels, _query: Values) -> Any:
    """Describe all requests (OpenAPI 3.1)."""
    paths: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for path, (answer, body) in POSTS.items():
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        definitions |= schema.pop("$defs", {})
        definitions[f"{answer.__module__.rpartition('.')[2]}.{body.__name__}"] = schema
        kind = "multipart/form-data" if body is files.FileBody else "application/json"
        content = {kind: {"schema": schema}}
        paths[path] = {"post": _described(answer, requestBody={"content": content})}
    text = {"in": "path", "required": True, "schema": {"type": "string"}}
    for path, answer in GETS.items():
        names = re.findall(r"{(\w+)}", path)
        paths[path] = {"get": _described(answer, parameters=[text | {"name": n} for n in names])}
    info = {"title": "nmt serve", "version": __version__}
    description = {"openapi": "3.1.0", "info": info, "paths": paths}
    return description | {"components": {"schemas": definitions}}


def _described(answer: Callable[[ServedModels, Any], Any], **sent: Any) -> dict[str, Any]:
    summary = (answer.__doc__ or "").partition("\n")[0]
    return {"summary": summary, **sent, "responses": {"200": {"description": "The answer."}}}


# What a path is answered by: values of a body for POST, those of path and query string for GET.
# What is no `Response` is sent as JSON.
POSTS: dict[str, tuple[Callable[[ServedModels, Any], Any], type[RequestBody]]] = {
    "/translate": (libretranslate.translate_texts, libretranslate.TranslateBody),
    "/translate_file": (files.translate_file, files.FileBody),
    "/detect": (libretranslate.detect_language, libretranslate.DetectBody),
    "/suggest": (libretranslate.suggest, libretranslate.SuggestBody),
    "/v1/chat/completions": (openai.chat_completions, openai.ChatBody),
    "/v2/translate": (deepl.translate_texts, deepl.TranslateBody),
    "/classify": (classify, ClassifyBody),
    "/score": (score, ScoreBody),
    "/explain": (explain, ExplainBody),
}
GETS: dict[str, Callable[[ServedModels, Values], Any]] = {
    "/languages": libretranslate.languages,
    "/frontend/settings": libretranslate.frontend_settings,
    "/download_file/{name}": files.download_file,
    "/health": libretranslate.health,
    "/v1/models": openai.list_models,
    "/v2/languages": deepl.languages,
    "/v2/usage": deepl.usage,
    "/models": list_models,
    "/metrics": metrics,
    "/openapi.json": openapi,
}
