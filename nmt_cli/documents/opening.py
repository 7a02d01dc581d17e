"""Which files are documents, and how each kind is read."""

import codecs
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from nmt_cli.documents import plain
from nmt_cli.documents.inline import Inline
from nmt_cli.documents.tags import keeping
from nmt_cli.errors import ConfigError, DataError, NmtError
from nmt_cli.files import conversion_hint

HTML, MARKDOWN, SUBTITLES, CATALOGUE = "html", "markdown", "subtitles", "catalogue"
WORD, POWERPOINT, EXCEL = "word", "powerpoint", "excel"
LIBREOFFICE, PDF, LINES = "libreoffice", "pdf", "lines"
KINDS = (HTML, MARKDOWN, SUBTITLES, CATALOGUE, WORD, POWERPOINT, EXCEL, LIBREOFFICE, PDF)
_KIND_OF = {
    ".html": HTML, ".htm": HTML, ".xhtml": HTML,
    ".md": MARKDOWN, ".markdown": MARKDOWN,
    ".srt": SUBTITLES, ".vtt": SUBTITLES,
    ".po": CATALOGUE, ".pot": CATALOGUE, ".xlf": CATALOGUE, ".xliff": CATALOGUE, ".ts": CATALOGUE,
    ".properties": CATALOGUE, ".json": CATALOGUE, ".yaml": CATALOGUE, ".yml": CATALOGUE,
    ".xml": CATALOGUE,
    ".docx": WORD, ".docm": WORD, ".dotx": WORD,
    ".pptx": POWERPOINT, ".pptm": POWERPOINT, ".ppsx": POWERPOINT, ".potx": POWERPOINT,
    ".xlsx": EXCEL, ".xlsm": EXCEL, ".xltx": EXCEL,
    ".odt": LIBREOFFICE, ".odp": LIBREOFFICE, ".ods": LIBREOFFICE, ".odg": LIBREOFFICE,
    ".pdf": PDF,
}  # fmt: skip
# Documents that are not read, and what people can save them as.
_OTHERS = {
    ".doc": ".docx", ".rtf": ".docx", ".pages": ".docx", ".ppt": ".pptx", ".key": ".pptx",
    ".xls": ".xlsx", ".numbers": ".xlsx", ".epub": ".html",
}  # fmt: skip
_PACKAGES = {
    MARKDOWN: "markdown_it", CATALOGUE: "translate",
    WORD: "lxml", POWERPOINT: "lxml", EXCEL: "lxml", LIBREOFFICE: "lxml",
    PDF: "pdfminer",
}  # fmt: skip
_ALIKE = (
    {".html", ".htm", ".xhtml"},
    {".md", ".markdown"},
    {".po", ".pot"},
    {".xlf", ".xliff"},
    {".yaml", ".yml"},
)
_MARKS = {  # that begin a file in an encoding
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
_CHARSET = re.compile(
    rb"<meta[^<>]+charset\s*=\s*[\"']?([\w.:-]+)|<\?xml[^<>]+encoding\s*=\s*[\"']([\w.:-]+)", re.I
)
# Encodings of Python that no page is in.
_NO_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
_LARGEST = 1 << 27  # bytes of a file


Whole = TypeVar("Whole", covariant=True)


class Page(Protocol[Whole]):
    """A text or file in parts."""

    @property
    def texts(self) -> Sequence[Inline]:
        """What is to be translated."""

    def filled(self, texts: Sequence[str]) -> Whole:
        """Return the whole with other texts, which are as it has them, in place of its own."""


Document = Page[bytes]


class KeepingPage(Generic[Whole]):
    """A text or file in parts, in which some words stay as they are."""

    def __init__(self, page: Page[Whole], words: re.Pattern[str]) -> None:
        self._page = page
        self.texts = keeping(page.texts, words)

    def filled(self, texts: Sequence[str]) -> Whole:
        """See `Page.filled`."""
        return self._page.filled(texts)


def kind_of(file: str | Path, wanted: str | None = None) -> str:
    """Return the kind of a file: what is wanted, else what its name says; LINES is no document.

    Raises:
        ConfigError: There is no such kind.
    """
    if wanted is not None and wanted not in (*KINDS, LINES):
        raise ConfigError(f"--from-format must be {', '.join((*KINDS, LINES))} (it is {wanted})")
    return wanted or _KIND_OF.get(Path(file).suffix.lower(), LINES)


def readable_endings() -> list[str]:
    """Return how the names of documents end that the installed packages can read."""
    missing = {k for k, package in _PACKAGES.items() if not importlib.util.find_spec(package)}
    return [ending for ending, kind in _KIND_OF.items() if kind not in missing]


def output_name(name: str) -> str:
    """Return how the translation of a file is named in another folder: as it is, unless a PDF."""
    is_pdf = name.lower().endswith(".pdf")
    return f"{name[:-4]}.docx" if is_pdf else name


def check_name(path: Path) -> None:
    """Raise DataError if a file is named like a document that is not read."""
    if wanted := _OTHERS.get(path.suffix.lower()):
        raise DataError(f"{path}: {path.suffix} files are not read", hint=f"save it as {wanted}")


def check_output(path: Path, output: Path) -> None:
    """Raise ConfigError if an output is named like another format than the input, a document."""
    endings = {one.suffix.lower() for one in (path, output) if one.suffix}
    is_known = _KIND_OF.get(path.suffix.lower(), PDF) != PDF  # of a PDF file it is another one
    if is_known and len(endings) > 1 and not any(endings <= alike for alike in _ALIKE):
        raise ConfigError(
            f"{output}: the format does not change; name it *{path.suffix}, as {path} is",
            hint="--from-format KIND if the input's name misleads",
        )


def open_document(
    path: Path,
    kind: str,
    words: re.Pattern[str],
    *,
    with_translated: bool = False,
    output: Path | None = None,
) -> Document:
    """Return a document.

    Args:
        path: The file.
        kind: See `kind_of`.
        words: Finds what stays as it is; see `protected`.
        with_translated: Also take the texts of a catalogue that have a translation.
        output: What it will be written to; None is as `output_name` says.

    Raises:
        ConfigError: A PDF file cannot be written as the output is named.
        DataError: It cannot be read, is damaged, or larger than 128 MB.
        NmtError: A package is missing.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path}: is larger than 128 MB", hint="split it")
        if kind == PDF:
            from nmt_cli.documents import pdf

            ending = (output or Path(output_name(path.name))).suffix.lower()
            return KeepingPage(pdf.Page(path, ending), words)
        return KeepingPage(_open(path, kind, with_translated), words)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ImportError as error:
        hint = "pip install 'nmt-cli[documents]'"
        raise NmtError(f"{path}: needs {error.name}, which is not installed", hint=hint) from error


def _open(path: Path, kind: str, with_translated: bool) -> Document:
    if kind == CATALOGUE:
        return _catalogue(path, with_translated)
    if kind in (WORD, POWERPOINT, EXCEL):
        from nmt_cli.documents import office

        programs = {WORD: office.WORD, POWERPOINT: office.POWERPOINT, EXCEL: office.EXCEL}
        return office.Page(path, programs[kind])
    if kind == LIBREOFFICE:
        from nmt_cli.documents import opendocument

        return opendocument.Page(path)
    return _TextFile(path, kind)


def _catalogue(path: Path, with_translated: bool) -> Document:
    from nmt_cli.documents import catalogue, keyed, xliff

    ending = path.suffix.lower()
    if ending in keyed.ENDINGS:
        return keyed.Page(path)
    content = path.read_bytes()
    if b"<!ENTITY" in content:  # they can name other files, or grow without end
        raise DataError(f"{path}: defines entities, which are not read")
    reader = xliff.Page if ending in xliff.ENDINGS else catalogue.Page
    page: Document = reader(path, with_translated=with_translated)
    return _ReturningPage(page) if _has_returns(content.decode("latin-1")) else page


class _TextFile:
    """A document that is text; its encoding and line ends stay."""

    def __init__(self, path: Path, kind: str) -> None:
        content = path.read_bytes()
        self._mark = next(filter(content.startswith, _MARKS), b"")
        self._encoding = _MARKS.get(self._mark) or (_declared(content) if kind == HTML else "utf-8")
        try:
            text = content[len(self._mark) :].decode(self._encoding)
        except UnicodeDecodeError as error:
            name = self._encoding.upper()
            hint = conversion_hint(path) if self._encoding == "utf-8" else None
            hint = hint or "save it as UTF-8"
            raise DataError(
                f"{path}: not valid {name} (byte {error.start + 1})", hint=hint
            ) from error
        self._has_returns = _has_returns(text)
        self._page = _page(text.replace("\r\n", "\n"), kind)
        self.texts: Sequence[Inline] = self._page.texts

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the file; what a page's encoding does not have is a reference."""
        text = self._page.filled(texts)
        text = text.replace("\n", "\r\n") if self._has_returns else text
        return self._mark + text.encode(self._encoding, "xmlcharrefreplace")


class _ReturningPage:
    """A document whose reader writes line feeds alone; its lines end as those of the file did."""

    def __init__(self, page: Document) -> None:
        self._page = page
        self.texts = page.texts

    def filled(self, texts: Sequence[str]) -> bytes:
        """See `Page.filled`."""
        return re.sub(rb"\r?\n", b"\r\n", self._page.filled(texts))


def _has_returns(text: str) -> bool:
    """Return whether most lines end in a carriage return and a line feed."""
    return 2 * text.count("\r\n") > text.count("\n")


def _declared(page: bytes) -> str:
    """Return the encoding that a page says it has, as browsers take it."""
    found = _CHARSET.search(page[:1024])
    name = (found[1] or found[2]).decode("ascii", "replace") if found else "utf-8"
    try:
        b"a".decode(name)  # fails where it decodes to no text
        name = codecs.lookup(name).name.replace("_", "-")
    except (LookupError, UnicodeError):
        return "utf-8"
    if "utf" in name or name in _NO_CHARSETS:
        return "utf-8"
    return {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)


def _page(text: str, kind: str) -> Page[str]:
    if kind == LINES:
        return plain.Page(text)
    if kind == HTML:
        from nmt_cli.documents import html

        return html.Page(text)
    if kind == MARKDOWN:
        from nmt_cli.documents import markdown

        return markdown.Page(text)
    from nmt_cli.documents import subtitles

    return subtitles.Page(text)
