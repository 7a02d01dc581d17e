"""Files of office programs: zips of parts, of which those with texts are written anew."""

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from nmt_cli.documents.inline import Inline
from nmt_cli.documents.runs import Line, Stretch
from nmt_cli.errors import DataError

_UNPACKED_AT_MOST = 1 << 29  # bytes
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
_OLD = b"\xd0\xcf\x11\xe0"  # begins files with a password, and those of programs before 2007


class Package:
    """A file in parts; those that do not change stay as they are.

    Args:
        path: The file.
        what: What it should be, such as "a Word document (.docx)".

    Attributes:
        parts: The content of each part by its name, in the order of the file.

    Raises:
        DataError: It is no zip, damaged, or unpacks to more than 512 MB.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._what = path, what
        if not zipfile.is_zipfile(path):
            raise self.is_other()
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {one.filename: one for one in archive.infolist()}
                is_large = sum(one.file_size for one in archive.infolist()) > _UNPACKED_AT_MOST
                names = () if is_large else self._members
                self.parts = {name: archive.read(name) for name in names}
        except Exception as error:  # of what a damaged zip says, many kinds
            raise DataError(f"{path}: is damaged: {error}") from error
        if is_large:
            raise DataError(f"{path}: unpacks to more than 512 MB")

    def is_other(self) -> DataError:
        """Return the error that the file is not what it should be."""
        with self._path.open("rb") as file:
            is_old = file.read(len(_OLD)) == _OLD
        hint = "it has a password, or is of an old kind: save it anew" if is_old else None
        return DataError(f"{self._path}: is not {self._what}", hint=hint)

    def root(self, name: str) -> Any:
        """Return the root of a part that is XML.

        Raises:
            DataError: It is none, or it defines entities, which can grow without end.
        """
        if b"<!ENTITY" in self.parts[name]:
            raise DataError(f"{self._path}: defines entities, which are not read")
        try:
            return etree.fromstring(self.parts[name], _PARSER)
        except etree.XMLSyntaxError as error:
            raise DataError(f"{self._path}: is damaged: {name}: {error}") from error

    def packed(self, changed: Mapping[str, Any]) -> bytes:
        """Return the file with the roots of some parts in place of what they were read from."""
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for name, member in self._members.items():
                content = self.parts[name]
                if name in changed:
                    tree = changed[name].getroottree()
                    content = etree.tostring(
                        tree,
                        xml_declaration=True,
                        encoding="UTF-8",
                        standalone=tree.docinfo.standalone,
                    )
                made = zipfile.ZipInfo(name, member.date_time)
                made.compress_type = member.compress_type
                made.external_attr = member.external_attr
                archive.writestr(made, content)
        return written.getvalue()


class Page:
    """A document in a package.

    Args:
        package: The file.
        names: The parts with texts.
        texts_in: Yields what has words below the root of a part.
    """

    def __init__(
        self,
        package: Package,
        names: Iterable[str],
        texts_in: Callable[[Any], Iterator[Stretch | Line]],
    ) -> None:
        self._package = package
        self._roots: dict[str, Any] = {}
        self._found: list[Stretch | Line] = []
        for name in names:
            root = package.root(name)
            if found := [*texts_in(root)]:
                self._roots[name] = root
                self._found += found
        self.texts: list[Inline] = [one.inline() for one in self._found]

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the file with other texts; a private character says which element has them."""
        for one, text in zip(self._found, texts, strict=True):
            one.fill(text)
        for root in self._roots.values():
            self._finish(root)
        return self._package.packed(self._roots)

    def _finish(self, root: Any) -> None:
        """Make what was changed to be filled what it was; nothing, unless a kind needs it."""
