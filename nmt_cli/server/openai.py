"""The dialect of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat).

Errors are `{"error": {message, type, param, code}}`.
"""

import json
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from nmt_cli.config.tasks import CHAT
from nmt_cli.server.requests import ListOf, RequestBody, RequestError, Values, checked
from nmt_cli.server.serving import ServedModel

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
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
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


@dataclass
class _Said:
    """A reply while it is written.

    Attributes:
        text: What was sent of it.
        reason: Why it ended.
    """

    text: str = ""
    reason: str = "stop"


async def models(request: Request) -> Response:
    """List the chat models."""
    served = request.app.state.models.of_task(CHAT)
    rows = [
        {"id": s.name, "object": "model", "created": s.created, "owned_by": "nmt"} for s in served
    ]
    return JSONResponse({"object": "list", "data": rows})


async def chat_completions(request: Request, values: Values) -> Response:
    """Reply to the last message of a conversation."""
    state = request.app.state
    body = checked(ChatBody, values)
    state.limits.check_texts([message.text for message in body.messages], "messages")
    if len(body.stops) > _MOST_STOPS:
        raise RequestError(400, f"stop has more than {_MOST_STOPS} texts", param="stop")
    served = state.models.named(body.model, CHAT)
    if served is None:
        raise RequestError(404, f"the model {body.model!r} is not served", param="model")
    head = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "created": int(time.time()),
        "model": served.name,
        "system_fingerprint": f"nmt-{served.created}",
    }
    if body.stream:
        events = _events(served, body, head)
        first = await anext(events)  # what cannot be answered is told before the stream begins
        return StreamingResponse(_after(first, events), media_type="text/event-stream")
    return JSONResponse(await _whole(served, body, head))


async def _whole(served: ServedModel, body: ChatBody, head: dict[str, Any]) -> dict[str, Any]:
    replies = []
    with served.place():
        for number in range(body.n or 1):
            said = _Said()
            async for _ in _reply(served, body, number, said):
                pass
            replies.append(said)
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": said.text, "refusal": None},
            "logprobs": None,
            "finish_reason": said.reason,
        }
        for index, said in enumerate(replies)
    ]
    usage = _usage(served, body, replies)
    return head | {"object": "chat.completion", "choices": choices, "usage": usage}


async def _events(
    served: ServedModel, body: ChatBody, head: dict[str, Any]
) -> AsyncGenerator[str, None]:
    """Yield the server-sent events of a reply, or of several one after the other."""
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    head = head | {"object": "chat.completion.chunk"} | ({"usage": None} if with_usage else {})
    replies = []

    def event(index: int, delta: dict[str, str], reason: str | None = None) -> str:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event(head | {"choices": [choice]})

    with served.place():
        for index in range(body.n or 1):
            said = _Said()
            async with aclosing(_reply(served, body, index, said)) as chunks:
                begun = False
                async for chunk in chunks:
                    role = {} if begun else {"role": "assistant"}
                    begun = True
                    yield event(index, role | {"content": chunk})
            yield event(index, {} if begun else {"role": "assistant", "content": ""}, said.reason)
            replies.append(said)
    if with_usage:
        yield _event(head | {"choices": [], "usage": _usage(served, body, replies)})
    yield "data: [DONE]\n\n"


async def _reply(
    served: ServedModel, body: ChatBody, number: int, said: _Said
) -> AsyncGenerator[str, None]:
    """Yield a reply as it is written, up to a text that stops it."""
    turns, persona = _conversation(body.messages)
    seed = None if body.seed is None else (body.seed + number) % (1 << 31)
    session = served.conversation(turns[:-1], seed=seed, **_options(body, persona))
    held = ""
    async with aclosing(served.stream(session, turns[-1])) as chunks:
        async for chunk in chunks:
            ready, held, is_over = _before_stop(held + chunk, body.stops)
            if ready:
                said.text += ready
                yield ready
            if is_over:
                return
    if held:
        said.text += held
        yield held
    if body.most_tokens and served.num_tokens(said.text) >= body.most_tokens:
        said.reason = "length"


def _before_stop(text: str, stops: list[str]) -> tuple[str, str, bool]:
    """Return what can be sent, what may be the beginning of a stop, and whether there is one."""
    if found := [position for stop in stops if (position := text.find(stop)) >= 0]:
        return text[: min(found)], "", True
    kept = max(
        (n for stop in stops for n in range(1, len(stop)) if text.endswith(stop[:n])), default=0
    )
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


def _usage(served: ServedModel, body: ChatBody, replies: list[_Said]) -> dict[str, int]:
    prompt = sum(served.num_tokens(message.text) for message in body.messages)
    written = sum(served.num_tokens(said.text) for said in replies)
    served.count_tokens(written)
    total = prompt + written
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": total}


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


async def _after(first: str, events: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    yield first
    async for event in events:
        yield event
