"""The dialect of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat).

Errors are `{"error": {message, type, param, code}}`.
"""

import json
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.responses import StreamingResponse

from nmt_cli.config.tasks import CHAT
from nmt_cli.server import metrics
from nmt_cli.server.requests import ListOf, RequestBody, RequestError, Values, check_texts
from nmt_cli.server.serving import ServedModel, ServedModels

_MOST_REPLIES = 16
_MOST_STOPS = 4
_LEAST_TEMPERATURE, _LEAST_TOP_P = 0.01, 1e-6  # of the search; a lower temperature draws nothing


class Part(RequestBody):
    """A part of a message; only text is read."""

    type: str = "text"
    text: str = ""


class Message(RequestBody):
    """What somebody said."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | ListOf[Part] | None = None

    @property
    def text(self) -> str:
        """What was said, without pictures and the like."""
        if isinstance(self.content, list):
            return " ".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class StreamOptions(RequestBody):
    """What a stream holds besides the reply."""

    include_usage: bool = False


class ChatBody(RequestBody):
    """POST /v1/chat/completions."""

    model: str = ""
    messages: Annotated[ListOf[Message], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    n: Annotated[int, Field(ge=1, le=_MOST_REPLIES)] | None = None
    max_tokens: Annotated[int, Field(ge=1, lt=1 << 31)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, lt=1 << 31)] | None = None
    stop: str | ListOf[str] | None = None
    seed: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | None = None

    @property
    def stops(self) -> list[str]:
        """What ends a reply before it is written."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return [stop for stop in given if stop]

    @property
    def most_tokens(self) -> int | None:
        """The longest reply, in tokens."""
        return self.max_completion_tokens or self.max_tokens


@dataclass(frozen=True)
class _Piece:
    """A piece of a reply; the last one has no text, but the reason why it ends."""

    index: int  # of the reply
    text: str
    reason: str | None = None


async def list_models(models: ServedModels, _query: Values) -> Any:
    """List the chat models."""
    served = models.of_task(CHAT)
    rows = [
        {"id": s.name, "object": "model", "created": s.written, "owned_by": "nmt"} for s in served
    ]
    return {"object": "list", "data": rows}


async def chat_completions(models: ServedModels, body: ChatBody) -> Any:
    """Reply to the last message of a conversation."""
    texts = [message.text for message in body.messages]
    check_texts(texts, "messages", models.settings.max_characters)
    if len(body.stops) > _MOST_STOPS:
        raise RequestError(400, f"stop has more than {_MOST_STOPS} texts", param="stop")
    served = models.named(body.model, CHAT)
    head = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "created": int(time.time()),
        "model": served.name,
        "system_fingerprint": f"nmt-{served.written}",
    }
    if not body.stream:
        return head | await _whole(served, body)
    events = _events(served, body, head)
    first = await anext(events)  # what cannot be answered is told before the stream begins
    return StreamingResponse(_after(first, events), media_type="text/event-stream")


async def _whole(served: ServedModel, body: ChatBody) -> dict[str, Any]:
    replies = [""] * (body.n or 1)
    reasons = ["stop"] * len(replies)
    async with aclosing(_pieces(served, body)) as pieces:
        async for piece in pieces:
            replies[piece.index] += piece.text
            reasons[piece.index] = piece.reason or "stop"
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": reply, "refusal": None},
            "logprobs": None,
            "finish_reason": reason,
        }
        for index, (reply, reason) in enumerate(zip(replies, reasons, strict=True))
    ]
    usage = _usage(served, body, replies)
    return {"object": "chat.completion", "choices": choices, "usage": usage}


async def _events(
    served: ServedModel, body: ChatBody, head: dict[str, Any]
) -> AsyncGenerator[str, None]:
    """Yield the server-sent events of a reply, or of several one after the other."""
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    head = head | {"object": "chat.completion.chunk"} | ({"usage": None} if with_usage else {})
    replies = [""] * (body.n or 1)
    async with aclosing(_pieces(served, body)) as pieces:
        async for piece in pieces:
            has_begun = replies[piece.index] != ""
            delta = {} if has_begun else {"role": "assistant"}
            if piece.text or not has_begun:
                delta["content"] = piece.text
            replies[piece.index] += piece.text
            choice = {"index": piece.index, "delta": delta, "logprobs": None}
            yield _event(head | {"choices": [choice | {"finish_reason": piece.reason}]})
    if with_usage:
        yield _event(head | {"choices": [], "usage": _usage(served, body, replies)})
    yield "data: [DONE]\n\n"


async def _pieces(served: ServedModel, body: ChatBody) -> AsyncGenerator[_Piece, None]:
    """Yield replies as they are written, one after the other, each up to a text that stops it."""
    turns, persona = _conversation(body.messages)
    options = _options(body, persona)
    with served.place():
        for index in range(body.n or 1):
            session = served.model.chat(seed=0, **options)
            seed = None if body.seed is None else (body.seed + index) % (1 << 31)
            session.search = replace(session.search, seed=seed)  # without one, draws anything
            session.turns = turns[:-1]
            said, held, is_stopped = "", "", False
            async with aclosing(served.stream(session, turns[-1])) as chunks:
                async for chunk in chunks:
                    ready, held, is_stopped = _before_stop(held + chunk, body.stops)
                    if ready:
                        said += ready
                        yield _Piece(index, ready)
                    if is_stopped:
                        break
            if held:
                said += held
                yield _Piece(index, held)
            most = None if is_stopped else body.most_tokens
            is_cut = most is not None and served.num_tokens(said) >= most
            yield _Piece(index, "", "length" if is_cut else "stop")


def _before_stop(text: str, stops: list[str]) -> tuple[str, str, bool]:
    """Return what can be sent, what may be the beginning of a stop, and whether there is one."""
    if found := [position for stop in stops if (position := text.find(stop)) >= 0]:
        return text[: min(found)], "", True
    begun = ((n, stop) for stop in stops for n in range(1, min(len(stop), len(text) + 1)))
    kept = max((n for n, stop in begun if text.endswith(stop[:n])), default=0)
    return text[: len(text) - kept], text[len(text) - kept :], False


def _conversation(messages: list[Message]) -> tuple[list[str], str | None]:
    """Return the turns of user and bot in alternation, the user's last, and the system's text."""
    system = [m.text for m in messages if m.role in ("system", "developer") and m.text.strip()]
    turns: list[str] = []
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        is_users = message.role == "user"
        if (len(turns) % 2 == 0) == is_users:
            turns.append(message.text)
        elif turns:  # two in a row from one side count as one turn
            turns[-1] += " " + message.text
    if len(turns) % 2 == 0:
        raise RequestError(400, "the last message must be the user's", param="messages")
    return turns, " ".join(system) or None


def _options(body: ChatBody, persona: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {"max_length": body.most_tokens}
    if body.temperature is not None and body.temperature < _LEAST_TEMPERATURE:
        options |= {"sample": False, "beam_size": 1}
    elif body.temperature is not None or body.top_p is not None:
        options["temperature"] = body.temperature
        options["top_p"] = None if body.top_p is None else max(body.top_p, _LEAST_TOP_P)
    return options | ({"persona": persona} if persona else {})


def _usage(served: ServedModel, body: ChatBody, replies: list[str]) -> dict[str, int]:
    prompt = sum(served.num_tokens(message.text) for message in body.messages)
    written = sum(map(served.num_tokens, replies))
    metrics.TOKENS.labels(served.name).inc(written)
    total = prompt + written
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": total}


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


async def _after(first: str, events: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    yield first
    async for event in events:
        yield event
