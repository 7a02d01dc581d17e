"""What no other dialect has: labels, scores, metrics, and a description of everything."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from nmt_cli import __version__
from nmt_cli.config.tasks import CLASSIFICATION, TRANSLATION
from nmt_cli.server import deepl, libretranslate, openai
from nmt_cli.server.requests import ListOf, RequestBody, RequestError, Values, checked
from nmt_cli.server.serving import ServedModel
from nmt_cli.server.translating import model_for


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


async def classify(request: Request, values: Values) -> Response:
    """Give labels to `texts`, with the probabilities of all labels."""
    state = request.app.state
    body = checked(ClassifyBody, values)
    given = [body.texts] if isinstance(body.texts, str) else body.texts
    lines = [" ".join(("\t".join(t) if isinstance(t, tuple) else t).splitlines()) for t in given]
    state.limits.check_texts(lines, "texts")
    served = _named(request, body.model, CLASSIFICATION)
    found = await served.run(lines)
    rows = [{"labels": row.labels, "probabilities": row.probabilities} for row in found]
    return JSONResponse({"model": served.name, "results": rows})


async def score(request: Request, values: Values) -> Response:
    """Return the log-probability of the second text of each pair, given the first."""
    state = request.app.state
    body = checked(ScoreBody, values)
    state.limits.check_texts([text for pair in body.pairs for text in pair], "pairs")
    served = _named(request, body.model, TRANSLATION)
    way = {"to": body.target, "from_": body.source}
    found = await served.aside(lambda: served.model.score(body.pairs, **way))
    rows = [{"score": row.score, "tokens": row.tokens, "log_probs": row.log_probs} for row in found]
    return JSONResponse({"model": served.name, "results": rows})


async def explain(request: Request, values: Values) -> Response:
    """Return the probability of each word of a translation, and the words it comes from."""
    state = request.app.state
    body = checked(ExplainBody, values)
    state.limits.check_texts([body.q, body.translation], "q")
    served, way = model_for(state.models, body.source, body.target)
    way = way if served.languages_of(way) else ("", "")
    words = await served.aside(lambda: served.model.explain(body.q, body.translation, way))
    rows = [{"text": w.text, "probability": w.probability, "from": w.source} for w in words]
    return JSONResponse({"model": served.name, "words": rows})


async def metrics(request: Request) -> Response:
    """Return the counters, in the format of Prometheus."""
    state = request.app.state
    waiting = {served.name: served.batcher.waiting for served in state.models}
    text = state.metrics.text(waiting)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def served(request: Request) -> Response:
    """List the models, for the page."""
    rows = [
        {
            "name": s.name,
            "task": s.facts.name,
            "source": source,
            "target": target,
            "scores": s.model.bundle.manifest.scores.get("test", {}),
            "parameters": s.model.bundle.manifest.parameters,
        }
        for s in request.app.state.models
        for source, target in s.ways
    ]
    return JSONResponse({"models": rows, "version": __version__})


async def openapi(_request: Request) -> Response:
    """Describe all requests (OpenAPI 3.1)."""
    paths: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for path, (answer, body) in POSTS.items():
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        definitions |= schema.pop("$defs", {})
        definitions[f"{answer.__module__.rpartition('.')[2]}.{body.__name__}"] = schema
        paths[path] = {
            "post": {
                "summary": (answer.__doc__ or "").partition("\n")[0],
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {"200": {"description": "The answer."}},
            }
        }
    info = {"title": "nmt serve", "version": __version__}
    description = {"openapi": "3.1.0", "info": info, "paths": paths}
    return JSONResponse(description | {"components": {"schemas": definitions}})


def _named(request: Request, name: str, task: Any) -> ServedModel:
    found: ServedModel | None = request.app.state.models.named(name, task)
    if found is None:
        raise RequestError(404, f"no such {task.name} model is served: {name!r}", param="model")
    return found


POSTS: dict[str, tuple[Callable[[Request, Values], Any], type[RequestBody]]] = {
    "/translate": (libretranslate.translate_texts, libretranslate.TranslateBody),
    "/detect": (libretranslate.detect_language, libretranslate.DetectBody),
    "/suggest": (libretranslate.suggest, libretranslate.SuggestBody),
    "/v1/chat/completions": (openai.chat_completions, openai.ChatBody),
    "/v2/translate": (deepl.translate_texts, deepl.TranslateBody),
    "/classify": (classify, ClassifyBody),
    "/score": (score, ScoreBody),
    "/explain": (explain, ExplainBody),
}
GETS: dict[str, Callable[[Request], Any]] = {
    "/languages": libretranslate.languages,
    "/frontend/settings": libretranslate.frontend_settings,
    "/health": libretranslate.health,
    "/v1/models": openai.models,
    "/v2/languages": deepl.languages,
    "/v2/usage": deepl.usage,
    "/models": served,
    "/metrics": metrics,
    "/openapi.json": openapi,
}
