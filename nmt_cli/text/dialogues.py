"""Files of whole conversations -> their turns: JSON lines, or plain text with a turn a line."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from nmt_cli.errors import LineError
from nmt_cli.text.records import Reader, Report, json_records

_NEEDS_TURNS = (
    'needs {"turns": ["...", "..."]} or {"messages": [{"role": "user", "content": "..."}, ...]}'
)
_TURNS_HINT = (
    "roles are user, assistant and system; "
    "for question/answer records name the keys: columns: [question, answer]"
)
_LEARN_HINT = 'give "last" if only the last reply is to be learnt, or leave it out'
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
    ".jsonl": json_dialogues,
    ".txt": text_dialogues,
}  # by suffix
