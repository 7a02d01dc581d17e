"""One conversation as the prompt and the pipe have it, and the file that it is kept in.

The files are JSONL, one for each conversation, in one folder of the user's:

    {"model": "/home/me/runs/chat/model", "started": "2026-03-04T05:06:07+00:00"}
    {"user": "Hi!", "bot": "Hello!"}
    {"keep": 0}

`keep` says how many exchanges remain after `/undo`, `/retry` or `/reset`. Lines are only appended,
each flushed to the disk, so that a crash loses the last one at most. What `/save` writes is one
line, `{"turns": [...]}`: a dialogue that `nmt train` reads, too.
"""

import itertools
import json
import operator
import os
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nmt_cli.errors import DataError
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.search.chat_session import ChatSession, Reply


@dataclass
class Conversation:
    """Replies, keeps the log up to date, and counts."""

    session: "ChatSession"  # the turns, and what `/set` changes
    model: Path = field(kw_only=True)  # the model's folder
    log: "ConversationLog | None" = field(kw_only=True)  # where the conversation is kept, or None
    replies: int = field(default=0, init=False)  # how many so far
    stopped: int = field(default=0, init=False)  # of the replies
    first_piece_s: float = field(default=0.0, init=False)  # all took until their first piece
    seconds: float = field(default=0.0, init=False)  # all took

    def reply(self, text: str) -> tuple["Reply", float]:
        """Return the reply to a text, and the seconds it took."""
        started = time.perf_counter()
        reply = self.session.reply(text)
        seconds = time.perf_counter() - started
        self.replies += 1
        self.first_piece_s += seconds
        self.seconds += seconds
        self.keep_up()
        return reply, seconds

    def stream(self, text: str) -> Generator[str, None, None]:
        """Yield the pieces of the reply to a text; see `ChatSession.stream`."""
        return self._told(self.session.stream(text))

    def retry(self) -> Generator[str, None, None]:
        """Yield the pieces of another reply to the last text."""
        return self._told(self.session.retry())

    def keep_up(self) -> None:
        """Write to the log what changed; one that cannot be written is given up, with a warning."""
        try:
            if self.log is not None:
                self.log.keep_up(self.session.turns)
        except DataError as error:
            console.warn(f"{error}; the chat continues without it")
            self.log = None

    def _told(self, pieces: Generator[str, None, None]) -> Generator[str, None, None]:
        """Pass pieces on; note how long they took, and keep what was said, whole or not."""
        started, first_piece_s, is_whole = time.perf_counter(), 0.0, False
        try:
            for piece in pieces:
                first_piece_s = first_piece_s or time.perf_counter() - started
                yield piece
            is_whole = True
        finally:
            pieces.close()  # a session keeps what was said when it is told to stop
            self.first_piece_s += first_piece_s
            self.replies += 1
            self.stopped += not is_whole
            self.seconds += time.perf_counter() - started
            self.keep_up()


class ConversationLog:
    """The file `path` of one conversation, made when there is something to write.

    `turns` is what it holds already.
    """

    def __init__(self, path: Path, model: Path, turns: Sequence[str] = ()) -> None:
        self.path = path
        self._model = model
        self._written = list(turns)
        self._is_mended = False

    @classmethod
    def new(cls, model: Path) -> "ConversationLog":
        """Return the log of a new conversation."""
        return cls(_folder() / f"{_now():%Y%m%d-%H%M%S-%f}.jsonl", model)

    def keep_up(self, turns: Sequence[str]) -> None:
        """Write what changed in the conversation since the last time; DataError when it fails."""
        from nmt_cli.files import os_errors_as

        same = itertools.takewhile(bool, map(operator.eq, self._written, turns))
        equal = len(list(same)) // 2 * 2
        records: list[dict[str, Any]] = []
        if equal < len(self._written):
            records.append({"keep": equal // 2})
        for i in range(equal, len(turns), 2):
            records.append({"user": turns[i], "bot": turns[i + 1]})
        if records:
            with os_errors_as(DataError, f"{self.path}: the conversation cannot be saved"):
                self._append(records)
            self._written = list(turns)

    def _append(self, records: list[dict[str, Any]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self.path, flags, 0o600), "r+b") as stream:
            if not self._is_mended:
                _mend_end(stream)
                self._is_mended = True
            if not stream.seek(0, os.SEEK_END):
                header = {"model": str(self._model), "started": _now().isoformat("T", "seconds")}
                records = [header, *records]
            stream.write("".join(map(_line, records)).encode())
            stream.flush()
            os.fsync(stream.fileno())


def _mend_end(stream: IO[bytes]) -> None:
    """End a file's last line, or take it away where a crash left half of it."""
    content = stream.read()
    start = content.rfind(b"\n") + 1
    if start == len(content):
        return
    try:
        json.loads(content[start:])
        stream.write(b"\n")
    except ValueError:
        stream.truncate(start)


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def last_conversation() -> tuple[Path, Path, list[str]]:
    """Return file, model and turns of the newest conversation; DataError when there is none."""
    files = sorted(_folder().glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    if not files:
        raise DataError(f"{_folder()}: no conversation to continue", hint="nmt chat starts one")
    model = next((record["model"] for record in _records(files[-1]) if "model" in record), "")
    return files[-1], Path(str(model)), read_turns(files[-1])


def read_turns(path: Path) -> list[str]:
    """Return the turns of a conversation, of several the last; DataError names a bad line."""
    if not path.is_file():  # of what is none, such as a terminal, the end might never come
        other = "is a folder" if path.is_dir() else "is not an ordinary file"
        raise DataError(f"{path}: {other if path.exists() else 'no such file'}")
    turns: list[str] = []
    is_conversation = False
    for number, record in enumerate(_records(path), start=1):
        if "turns" in record:
            turns = [*_texts(record["turns"], path, number)]
        elif "user" in record:
            turns += _texts([record["user"], record.get("bot")], path, number)
        elif isinstance(record.get("keep"), int):
            del turns[2 * record["keep"] :]
        elif not record.keys() & {"keep", "model"}:
            raise DataError(f"{path}:{number}: not part of a conversation")
        is_conversation = True
    if not is_conversation:
        raise DataError(f"{path}: contains no conversation")
    return turns[: len(turns) // 2 * 2]


def save_turns(path: Path, turns: Sequence[str]) -> None:
    """Write a conversation as one dialogue; DataError when the file is something else."""
    from nmt_cli.files import os_errors_as, write_text

    if path.is_fifo():
        raise DataError(f"{path}: not a file")  # writing would wait for whoever reads
    if path.is_file():
        try:
            read_turns(path)
        except DataError as error:
            raise DataError(f"{path}: exists already and is not a saved conversation") from error
    with os_errors_as(DataError, f"{path}: cannot be written"):
        write_text(path, _line({"turns": list(turns)}))


def _records(path: Path) -> list[dict[str, Any]]:
    """Return a file's JSON objects; half of a last line is what a crash left, and is left out."""
    from nmt_cli.files import read_lines

    lines = list(read_lines(path.absolute(), lambda raw: raw.decode("utf-8", errors="replace")))
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == len(lines) > 1:
                break
            raise DataError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}:{number}: not a JSON object")
        records.append(record)
    return records


def _texts(values: Any, path: Path, number: int) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(v, str) and v.strip() for v in values):
        raise DataError(f"{path}:{number}: turns must be texts that are not blank")
    return values


def _folder() -> Path:
    from nmt_cli.resources import user_data_dir

    return user_data_dir() / "conversations"


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)
