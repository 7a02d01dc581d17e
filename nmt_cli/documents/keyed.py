"""JSON and YAML: texts that belong to keys, translated where they stand; all else stays.

PyYAML says where a text of YAML stands, and how it is written; one of JSON stands in quotes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nmt_cli.documents.messages import Message
from nmt_cli.errors import DataError
from nmt_cli.files import conversion_hint

ENDINGS = (".json", ".yaml", ".yml")
_JSON_TEXT = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*:)?')  # with the second part it is a key
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # of a text of YAML, in front of it
_HALF = re.compile("[\ud800-\udfff]")  # of a character, which no text has
_LINE_ENDS = re.compile(r"(?<=[^\n])\n+")  # between two lines
_SPECIAL = re.compile(r"[,\[\]{}]")  # between brackets
_TEXT = "tag:yaml.org,2002:str"


@dataclass(frozen=True)
class _Value:
    """A text, and where it stands in the file."""

    text: str
    start: int
    end: int
    style: str  # the sign that begins it in YAML; "" is none
    is_in_brackets: bool = False


class Page:
    """A file of JSON or YAML in parts.

    Raises:
        DataError: It is damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._text = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            problem = f"{path}: not valid UTF-8 (byte {error.start + 1})"
            raise DataError(problem, hint=conversion_hint(path)) from error
        try:
            is_json = path.suffix.lower() == ".json"
            values = [*(_of_json if is_json else _of_yaml)(self._text)]
        except Exception as error:  # of each parser another kind
            reason = " ".join(str(error).split())
            raise DataError(f"{path}: cannot be read as {path.suffix}: {reason}") from error
        self._values = [value for value in values if _is_text(value.text)]
        self._messages = [Message(value.text) for value in self._values]
        self.texts = [text for message in self._messages for text in message.texts]
        self._is_ascii = is_json and self._text.isascii() and r"\u" in self._text

    def filled(self, texts: Sequence[str]) -> bytes:
        """Return the file with other texts in place of its own."""
        waiting = iter(texts)
        parts, begin = [], 0
        for value, message in zip(self._values, self._messages, strict=True):
            text = message.filled([next(waiting) for _ in message.texts])
            parts += [self._text[begin : value.start], self._written(value, text)]
            begin = value.end
        return "".join([*parts, self._text[begin:]]).encode()

    def _written(self, value: _Value, text: str) -> str:
        """Return how a text is written where a value stood."""
        raw = self._text[value.start : value.end]
        if text == value.text:
            return raw
        if value.style in ("|", ">"):
            return _block(raw, value, text) or _in_quotes(raw, text)
        if value.style == "'" and "\n" not in text:
            return "'" + text.replace("'", "''") + "'"
        if value.style == "" and _is_plain(text, value.is_in_brackets):
            return text
        return json.dumps(text, ensure_ascii=self._is_ascii)


def _is_text(value: str) -> bool:
    return any(map(str.isalpha, value)) and not _HALF.search(value)


def _of_json(text: str) -> Iterator[_Value]:
    json.loads(text.removeprefix("\ufeff"))
    for found in _JSON_TEXT.finditer(text):
        if not found[2]:
            yield _Value(json.loads(found[1]), *found.span(1), style='"')


def _of_yaml(text: str) -> Iterator[_Value]:
    """Yield the values of all documents of a file, of which one with several names comes once."""
    loader = yaml.SafeLoader(text.removeprefix("\ufeff"))  # no place counts it
    waiting: list[tuple[Any, bool]] = []
    while loader.check_node():
        waiting.append((loader.get_node(), False))
    seen = set[int]()
    found = []
    shift = int(text.startswith("\ufeff"))
    while waiting:
        node, is_in_brackets = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _TEXT:
                start, end = node.start_mark.index + shift, node.end_mark.index + shift
                start = _PROPERTIES.match(text, start).end()  # type: ignore[union-attr] # matches
                found.append(_Value(node.value, start, end, node.style or "", is_in_brackets))
            continue
        inside = is_in_brackets or bool(node.flow_style)
        is_list = isinstance(node, yaml.SequenceNode)
        waiting += [(one if is_list else one[1], inside) for one in node.value]
    yield from sorted(found, key=lambda value: value.start)


def _is_plain(text: str, is_in_brackets: bool) -> bool:
    """Return whether a text needs no quotes."""
    if "\n" in text or (is_in_brackets and _SPECIAL.search(text)):
        return False
    try:
        return bool(yaml.safe_load(f"- {text}") == [text])
    except yaml.YAMLError:
        return False


def _block(raw: str, value: _Value, text: str) -> str | None:
    """Return a text in lines, as those of a value, which are indented; None if it cannot be.

    Where lines are folded (`>`), those beside indented ones have other line ends.
    """
    head, _, rest = raw.partition("\n")
    body = rest.rstrip()
    indent = _indent(body)[len(_indent(value.text)) :]
    lines = text.rstrip("\n")
    if value.style == ">":
        lines = _LINE_ENDS.sub(r"\g<0>\n", lines)
    rows = [f"{indent}{row}" if row else "" for row in lines.split("\n")]
    end = "\r\n" if head.endswith("\r") else "\n"
    made = f"{head}\n{end.join(rows)}{rest[len(body) :]}"
    try:
        return made if yaml.safe_load(f"a: {made}") == {"a": text} else None
    except yaml.YAMLError:
        return None


def _indent(text: str) -> str:
    """Return the space before the first line of a text that has any other character."""
    return next(row for row in text.split("\n") if row.strip()).partition(text.split()[0])[0]


def _in_quotes(raw: str, text: str) -> str:
    """Return a text in quotes in place of lines, with their comment and their end."""
    head = raw.partition("\n")[0].rstrip()
    comment = head[len(head.split()[0]) :]
    return json.dumps(text, ensure_ascii=False) + comment + raw[len(raw.rstrip()) :]
