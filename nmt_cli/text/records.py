"""The rows of a table and the objects of a file of JSON lines, each with its line.

What their fields mean is for `corpus.py` and `dialogues.py` to say.
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from nmt_cli.errors import LineError

_FIELD_LIMIT = 1 << 24

Report = Callable[[LineError], None]  # called with each line that is no record
Reader = Callable[[Path], Iterator[str]]


def keep_bytes(raw: bytes) -> str:
    """Return the text of bytes; those that are not UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def has_broken_bytes(text: str) -> bool:
    """Return whether `keep_bytes` kept some in a text."""
    return not text.isascii() and any("\udc80" <= sign <= "\udcff" for sign in text)


def table_rows(path: Path, report: Report, read: Reader) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a TSV or CSV, each with the line that it begins in; empty ones too."""
    lines = read(path)
    if not path.name.removesuffix(".gz").endswith(".csv"):
        for number, line in enumerate(lines, start=1):
            yield number, line.split("\t") if line else []
        return
    csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.reader((line + "\n" for line in lines), strict=True)
    while True:
        first = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            report(LineError(path, first, f"not valid CSV: {error}"))
            continue
        yield first, [" ".join(field.split("\n")) for field in row]


def json_field(record: dict[str, object], key: str) -> object:
    """Return the value of a key, or of one within another (`translation.en`); None for none."""
    if key in record or "." not in key:
        return record.get(key)
    outer, _, inner = key.partition(".")
    nested = record.get(outer)
    return json_field(nested, inner) if isinstance(nested, dict) else None


def json_records(
    path: Path, report: Report, read: Reader
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file of JSON lines, each with its line."""
    for number, line in enumerate(read(path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if "\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            half = "half of a surrogate pair (\\uD800 to \\uDFFF) is no character"
            report(LineError(path, number, half))
            continue
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", None) or error
            report(LineError(path, number, f"not valid JSON: {reason}"))
            continue
        if not isinstance(record, dict):
            report(LineError(path, number, "a line must be a JSON object"))
            continue
        yield number, record
