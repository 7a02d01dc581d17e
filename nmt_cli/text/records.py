"""Files -> records, each with its line: rows of a table, JSON objects, or whole conversations.

The format follows from the name, see `suffix_of`. What the fields mean is for `corpus.py` to say.
"""

import csv
import itertools
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from nmt_cli.errors import LineError

TABLES = (".tsv", ".csv")
JSON_LINES = ".jsonl"
_FIELD_LIMIT = 1 << 24
_HEAD = 20  # lines of a CSV that tell what separates its columns

Report = Callable[[LineError], None]  # called with each line that is no record
Reader = Callable[[Path], Iterator[str]]


def suffix_of(file: Path | str) -> str:
    """Return what a file's name ends in, as `.csv`, in small letters; `.gz` does not count.

    Many who write JSON lines call them `.json`.
    """
    suffix = Path(Path(file).name.removesuffix(".gz")).suffix.lower()
    return JSON_LINES if suffix == ".json" else suffix


def keep_bytes(raw: bytes) -> str:
    """Return the text of bytes of another encoding; those that are not UTF-8 become surrogates.

    Where they are UTF-8, and their file is not, all that are not ASCII do.
    """
    text = raw.decode("utf-8", "surrogateescape")
    return text if has_broken_bytes(text) else raw.decode("ascii", "surrogateescape")


def has_broken_bytes(text: str) -> bool:
    """Return whether `keep_bytes` kept some in a text."""
    return not text.isascii() and any("\udc80" <= sign <= "\udcff" for sign in text)


def table_rows(path: Path, report: Report, read: Reader) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a TSV or CSV, each with the line that it begins in; empty ones too.

    The columns of a CSV are separated by commas, semicolons or tabs, as its first lines tell.
    """
    lines = read(path)
    if suffix_of(path) != ".csv":
        for number, line in enumerate(lines, start=1):
            yield number, line.split("\t") if line else []
        return
    csv.field_size_limit(_FIELD_LIMIT)
    head = list(itertools.islice(lines, _HEAD))
    lines = (line + "\n" for line in itertools.chain(head, lines))
    reader = csv.reader(lines, delimiter=_delimiter(head), strict=True)
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


def _delimiter(head: list[str]) -> str:
    """Return what separates the columns; Excel writes semicolons where numbers have commas.

    It gives all rows the same number of columns. Where no sign does, the first row decides.
    """
    widths = {sign: _widths(head, sign) for sign in ",;\t"}
    even = [sign for sign, of in widths.items() if len(set(of)) == 1]
    return next((sign for sign in (*even, *widths) if max(widths[sign][:1], default=0) > 1), ",")


def _widths(head: list[str], sign: str) -> list[int]:
    """Return how many columns each row has with a sign between them; 0 ends what is not CSV."""
    reader = csv.reader((line + "\n" for line in head), delimiter=sign, strict=True)
    widths = []
    try:
        for row in reader:
            widths += [len(row)] if row else []
    except csv.Error:  # is told where rows are read
        widths += [0] if reader.line_num < len(head) else []  # the last row may be cut off
    return widths


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
        if number == 1 and line.startswith("["):
            command = f"jq -c '.[]' {shlex.quote(str(path))} > NEW.jsonl"
            report(LineError(path, 1, f"a JSON list, not JSON lines; convert it: {command}"))
            return
        try:
            record = json.loads(line)
            if "\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            half = "half of a surrogate pair (\\uD800 to \\uDFFF) is not a character"
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


_NEEDS_TURNS = (
    'needs {"turns": ["...", "..."]} or {"messages": [{"role": "user", "content": "..."}, ...]}'
)
_TURNS_HINT = (
    "roles are user, assistant and system; "
    "for question/answer records name the keys: columns: [question, answer]"
)
_LEARN_HINT = 'give "last" to learn only the last reply, or leave it out'
# The turns with their lines, and the number of the first bot's turn that is learnt.
Dialogue = tuple[list[tuple[int, str]], int]


def json_dialogues(path: Path, report: Report, read: Reader) -> Iterator[Dialogue]:
    """Read lines of `{"turns": [...]}` or `{"messages": [...]}`.

    With `"learn": "last"` what the bot says before its last turn is read and not learnt.
    """
    for number, record in json_records(path, report, read):
        turns = turns_of(record)
        if turns is None or not all(isinstance(turn, str) for turn in turns):
            report(LineError(path, number, _NEEDS_TURNS, hint=_TURNS_HINT))
            continue
        learnt = record.get("learn", "all")
        if learnt not in ("all", "last"):
            report(LineError(path, number, f'"learn" is {json.dumps(learnt)}', hint=_LEARN_HINT))
            continue
        first_learnt = max(1, len(turns) // 2 * 2 - 1) if learnt == "last" else 1
        yield [(number, str(turn)) for turn in turns], first_learnt


def turns_of(record: Mapping[str, object]) -> list[object] | None:
    """Return the turns in a record of a dialogue, the user's first; None when it is none.

    Messages are `{"role": "user" or "assistant", "content": text}`. Those of one speaker in a row
    are one turn. What the system says, or the assistant before the user, is left out.
    """
    if "messages" not in record:
        turns = record.get("turns")
        return turns if isinstance(turns, list) else None
    messages = record["messages"]
    if not isinstance(messages, list) or not all(map(_is_message, messages)):
        return None
    spoken = itertools.dropwhile(
        lambda message: message["role"] != "user",
        (message for message in messages if message["role"] != "system"),
    )
    by_speaker = itertools.groupby(spoken, lambda message: message["role"])
    return [" ".join(message["content"] for message in said) for _, said in by_speaker]


def _is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in ("user", "assistant", "system")
        and isinstance(value.get("content"), str)
    )


def text_dialogues(path: Path, _: Report, read: Reader) -> Iterator[Dialogue]:
    """Read a turn a line, with blank lines between dialogues."""
    numbered = enumerate(read(path), start=1)
    for is_blank, lines in itertools.groupby(numbered, lambda line: not line[1].strip()):
        if not is_blank:
            yield list(lines), 1


READERS: dict[str, Callable[[Path, Report, Reader], Iterator[Dialogue]]] = {
    JSON_LINES: json_dialogues,
    ".txt": text_dialogues,
}  # by suffix
