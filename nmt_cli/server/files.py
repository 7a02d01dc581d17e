"""Documents in LibreTranslate's dialect: translated, and kept for a while to be fetched."""

import asyncio
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import InstanceOf, WithJsonSchema

from nmt_cli.documents.apart import DocumentApart, connected
from nmt_cli.documents.opening import readable_endings
from nmt_cli.errors import DataError
from nmt_cli.server.requests import RequestBody, RequestError, Upload, Values, check_size
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.translating import Lines, Page, Translated, Whole, translate

_PLAIN = ".txt"


class FileBody(RequestBody):
    """POST /translate_file."""

    file: Annotated[InstanceOf[Upload], WithJsonSchema({"type": "string", "format": "binary"})]
    source: str = "auto"
    target: str


def endings() -> list[str]:
    """Return how the names of files end that can be translated."""
    return [_PLAIN, *readable_endings()]


async def translate_file(models: ServedModels, body: FileBody) -> Any:
    """Translate a document, and tell where its translation can be fetched."""
    name = PurePosixPath(body.file.name.replace("\\", "/"))
    ending = name.suffix.lower()
    if ending not in endings():
        message = f"a file ending in {ending!r} is not translated, but in {', '.join(endings())}"
        raise RequestError(400, message, param="file")
    with models.files.place(ending) as path:
        content = await _translated(models, body, path)
    shown = f"{name.stem}.{body.target}{ending}"
    kept = await asyncio.to_thread(models.files.keep, shown, content)
    return {"translatedFileUrl": f"{body.file.server}download_file/{kept}"}


async def download_file(models: ServedModels, values: Values) -> Any:
    """Send a translation that is kept."""
    return models.files.answer(values["name"])


async def _translated(models: ServedModels, body: FileBody, path: Path) -> bytes:
    if path.suffix == _PLAIN:
        try:
            text = body.file.content.decode()
        except UnicodeDecodeError as error:
            raise RequestError(400, f"not valid UTF-8 (byte {error.start + 1})") from None
        return (await _through(models, body, Lines(text))).text.encode()
    await asyncio.to_thread(path.write_bytes, body.file.content)
    try:
        with connected(path) as connection:
            document = await asyncio.to_thread(DocumentApart, connection)
            found = await _through(models, body, document)
            return await asyncio.to_thread(lambda: found.text)
    except DataError as error:
        raise RequestError(400, str(error).removeprefix(f"{path}: "), param="file") from None


async def _through(models: ServedModels, body: FileBody, page: Page[Whole]) -> Translated[Whole]:
    size = sum(len(text) + len(text.marks) for text in page.texts)
    check_size(size, "file", models.settings.max_characters)
    pair = (None if body.source == "auto" else body.source, body.target)
    (found,) = await translate(models, [page], pair)
    return found
