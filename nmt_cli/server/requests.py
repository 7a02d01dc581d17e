"""What clients send -> checked values. Nothing that a client sends may end in a traceback."""

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from nmt_cli.errors import ConfigError

Body = TypeVar("Body", bound="RequestBody")
Values = Mapping[str, Any]
Item = TypeVar("Item")
# Ends at the first wrong item: a record of each of a million would hold the server for seconds.
ListOf = Annotated[list[Item], Field(fail_fast=True)]


class RequestError(Exception):
    """A request that cannot be answered.

    Attributes:
        status: HTTP status.
        message: One line for whoever wrote the client.
        param: Which value is wrong, if one is.
        retry_after: Seconds until another try may work, if it may.
    """

    def __init__(
        self, status: int, message: str, *, param: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.retry_after = retry_after


class RequestBody(BaseModel):
    """The values of a request. Unknown ones are ignored: clients send what other servers read."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, protected_namespaces=())


@dataclass(frozen=True)
class RequestLimits:
    """What one request may hold.

    Attributes:
        body_bytes: Largest body.
        characters: Most characters of all texts together.
        texts: Most texts.
        seconds: Longest time until it is answered.
    """

    body_bytes: int = 2_000_000
    characters: int = 100_000
    texts: int = 2_000
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Raise ConfigError for a limit that nothing could keep."""
        for option, value in (("--max-characters", self.characters), ("--timeout", self.seconds)):
            if not 0 < value < 1 << 40:
                raise ConfigError(f"{option} must be above 0 (it is {value:g})")

    def check_texts(self, texts: Sequence[str], param: str) -> None:
        """Raise RequestError when the texts of a request are too many or too long."""
        if len(texts) > self.texts:
            message = (
                f"{param} has {len(texts):,} texts; at most {self.texts:,} are taken at a time"
            )
            raise RequestError(413, message, param=param)
        if (size := sum(map(len, texts))) > self.characters:
            message = f"{param} has {size:,} characters; at most {self.characters:,} are taken"
            raise RequestError(413, message, param=param)


async def read_values(request: Request, limits: RequestLimits) -> dict[str, Any]:
    """Return the values of a request: of its JSON or form, and of the query string.

    A name that is given several times in a form or query string becomes a list.

    Raises:
        RequestError: The body is too large, or neither JSON nor a form.
    """
    values = _listed(request.query_params.multi_items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await _read_body(request, limits)
    if not body.strip():
        return values
    is_form = kind in ("application/x-www-form-urlencoded", "multipart/form-data")
    if is_form and not body.lstrip().startswith(b"{"):  # `curl -d '{...}'` calls JSON a form
        return values | await _read_form(request)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {_one_line(error)}") from None
    if not isinstance(found, dict):
        raise RequestError(400, "the body must be a JSON object")
    return values | found


def checked(body: type[Body], values: Values) -> Body:
    """Return the values of a request as a record.

    Raises:
        RequestError: A value is missing or of the wrong type; names it.
    """
    try:
        return body.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        message = f"{name}: {first['msg']}" if name else str(first["msg"])
        raise RequestError(400, _one_line(message), param=name or None) from None


def check_key(given: str, keys: Sequence[bytes]) -> None:
    """Raise RequestError unless a key is one of those that may ask; none may be needed."""
    known = [hmac.compare_digest(given.encode("utf-8", "replace"), key) for key in keys]
    if keys and not any(known):
        raise RequestError(403, "an API key is needed" if not given else "the API key is not known")


async def _read_body(request: Request, limits: RequestLimits) -> bytes:
    too_large = RequestError(413, f"the body has more than {limits.body_bytes:,} bytes")
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > limits.body_bytes:
        raise too_large
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limits.body_bytes:
                raise too_large
            chunks.append(chunk)
    except ClientDisconnect:
        raise RequestError(400, "the client went away") from None
    body = b"".join(chunks)
    request._body = body
    return body


async def _read_form(request: Request) -> dict[str, Any]:
    try:
        async with request.form(max_files=0, max_fields=2000) as form:
            return _listed([(k, v) for k, v in form.multi_items() if isinstance(v, str)])
    except (HTTPException, ValueError) as error:
        raise RequestError(400, f"the form cannot be read: {_one_line(error)}") from None


def _listed(items: Sequence[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in items:
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _one_line(message: object) -> str:
    return " ".join(str(message).split())[:300]
