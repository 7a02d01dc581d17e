"""What clients send -> checked values. Nothing that a client sends may end in a traceback."""

import codecs
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from nmt_cli.errors import NmtError

Body = TypeVar("Body", bound="RequestBody")
Values = Mapping[str, Any]
Item = TypeVar("Item")
# Ends at the first wrong item: a record of each of a million would hold the server for seconds.
ListOf = Annotated[list[Item], Field(fail_fast=True)]
_MOST_BYTES = 2_000_000  # of a body
_MOST_TEXTS = 2_000  # of a request


class RequestError(NmtError):
    """A request that cannot be answered."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status  # of HTTP
        self.param = param  # which value is wrong, if one is
        self.retry_after = retry_after  # seconds until another try may work, if it may


class QueueFullError(RequestError):
    """Too much is waiting; `retry_after` is how many seconds until it is worth another try."""

    def __init__(self, retry_after: int) -> None:
        message = f"too many requests are waiting; try again in {retry_after} s"
        super().__init__(429, message, retry_after=retry_after)


@dataclass(frozen=True)
class Upload:
    """A file that came with a form."""

    name: str
    content: bytes = field(repr=False)
    server: str  # the address that it came to, with a slash at the end


class RequestBody(BaseModel):
    """The values of a request. Unknown ones are ignored: clients send what other servers read."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, protected_namespaces=())


async def read_values(request: Request) -> dict[str, Any]:
    """Return the values of a request: of its JSON or form, and of the query string.

    A file is an `Upload`. A text that is given several times in a form or query string becomes a
    list.

    Raises:
        RequestError: The body is too large, or neither JSON nor a form.
    """
    values = _listed(request.query_params.multi_items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > _MOST_BYTES:
        raise _too_large()
    request = Request(request.scope, _limited(request.receive))
    try:
        body = await request.body()
    except ClientDisconnect:
        raise RequestError(400, "the client went away") from None
    if not body.strip():
        return values
    is_form = kind in ("application/x-www-form-urlencoded", "multipart/form-data")
    if is_form and not body.lstrip().startswith(b"{"):  # `curl -d '{...}'` calls JSON a form
        is_multipart = kind == "multipart/form-data"
        return values | (await _read_multipart(request) if is_multipart else _read_form(body))
    try:
        # Unlike that of `json`, this one refuses what cannot be written as UTF-8 again.
        found = from_json(body.removeprefix(codecs.BOM_UTF8))
    except ValueError as error:
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
        problem = "must be a file" if first["type"] == "is_instance_of" else first["msg"]
        message = f"{name}: {problem}" if name else str(problem)
        raise RequestError(400, _one_line(message), param=name or None) from None


def check_texts(texts: Sequence[str], param: str, most_characters: int) -> None:
    """Raise RequestError when the texts of a request are too many or too long together."""
    if len(texts) > _MOST_TEXTS:
        message = f"{param} has {len(texts):,} texts; at most {_MOST_TEXTS:,} are taken at a time"
        raise RequestError(413, message, param=param)
    check_size(sum(map(len, texts)), param, most_characters)


def check_size(size: int, param: str, most_characters: int) -> None:
    """Raise RequestError when a request has too many characters."""
    if size > most_characters:
        message = f"{param} has {size:,} characters; at most {most_characters:,} are taken"
        raise RequestError(413, message, param=param)


def check_key(request: Request, values: Values, keys: Sequence[str]) -> None:
    """Raise RequestError unless a client gave one of some keys, in any dialect's way.

    Without keys, everybody may ask.
    """
    given = values.get("api_key", "") or values.get("apiKey", "")
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "deepl-auth-key"):
        given = credentials.strip()
    given = given if isinstance(given, str) else ""
    known = [hmac.compare_digest(given.encode("utf-8", "replace"), key.encode()) for key in keys]
    if keys and not any(known):
        raise RequestError(403, "the API key is not known" if given else "an API key is needed")


def _too_large() -> RequestError:
    return RequestError(413, f"the body has more than {_MOST_BYTES:,} bytes")


def _limited(receive: Receive) -> Receive:
    """Return what receives a body, but not one that is too large."""
    size = 0

    async def received() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > _MOST_BYTES:
            raise _too_large()
        return message

    return received


def _read_form(body: bytes) -> dict[str, Any]:
    """Return the values of a form; `curl -d` sends its UTF-8 as it is, which Starlette garbles."""
    try:
        text = body.decode("utf-8", errors="replace")
        return _listed(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_TEXTS))
    except ValueError as error:
        raise RequestError(400, f"the form cannot be read: {_one_line(error)}") from None


async def _read_multipart(request: Request) -> dict[str, Any]:
    try:
        async with request.form(max_files=1, max_fields=_MOST_TEXTS) as form:
            texts = [(k, v) for k, v in form.multi_items() if isinstance(v, str)]
            files = {
                k: Upload(v.filename or "", await v.read(), str(request.base_url))
                for k, v in form.items()
                if isinstance(v, UploadFile)
            }
            return _listed(texts) | files
    except (HTTPException, ValueError) as error:
        raise RequestError(400, f"the form cannot be read: {_one_line(error)}") from None


def _listed(items: Sequence[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for name, value in items:
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _one_line(message: object) -> str:
    return " ".join(str(message).split())[:300]
