"""Documents in LibreTranslate's dialect: translated, and kept for a while to be fetched."""

import asyncio
import tempfile
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import InstanceOf, WithJsonSchema

from nmt_cli.documents.apart import DocumentApart, connected
from nmt_cli.documents.opening import output_name, readable_endings
from nmt_cli.errors import DataError
from nmt_cli.server.requests import RequestBody, RequestError, Upload, Values, check_size
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.translating import translate


class FileBody(RequestBody):
    """POST /translate_file."""

    file: Annotated[InstanceOf[Upload], WithJsonSchema({"type": "string", "format": "binary"})]
    source: str = "auto"
    target: str


def endings() -> list[str]:
    """Return how the names of files end that can be translated."""
    return [".txt", *readable_endings()]


async def translate_file(models: ServedModels, body: FileBody) -> Any:
    """Translate a document, and tell where its translation can be fetched."""
    name = PurePosixPath(body.file.name.replace("\\", "/"))
    ending = name.suffix.lower()
    if ending not in endings():
        message = f"a file ending in {ending!r} is not translated, but in {', '.join(endings())}"
        raise RequestError(400, message, param="file")
    with (
        models.files.place() as folder,
        tempfile.NamedTemporaryFile(suffix=ending, dir=folder) as given,
    ):
        path = Path(given.name)
        await asyncio.to_thread(path.write_bytes, body.file.content)
        try:
            content = await _translated(models, body, path)
        except DataError as error:
            told = str(error).removeprefix(f"{path}: ")
            raise RequestError(400, told, param="file") from None
    named = output_name(f"{name.stem}.{body.target}{ending}")
    kept = await asyncio.to_thread(models.files.keep, named, content)
    return {"translatedFileUrl": f"{body.file.server}download_file/{kept}"}


async def _translated(models: ServedModels, body: FileBody, path: Path) -> bytes:
    with connected(path) as connection:
        document = await asyncio.to_thread(DocumentApart, connection)
        size = sum(len(text) + len(text.marks) for text in document.texts)
        check_size(size, "file", models.settings.max_characters)
        pair = (None if body.source == "auto" else body.source, body.target)
        (found,) = await translate(models, [document], pair)
        return await asyncio.to_thread(lambda: found.text)


async def download_file(models: ServedModels, values: Values) -> Any:
    """Send a translation that is kept."""
    return models.files.answer(values["name"])
