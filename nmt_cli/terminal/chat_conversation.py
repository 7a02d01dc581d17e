"""One conversation as the prompt and the pipe have it: session, settings, log and figures."""

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from nmt_cli.search.chat_session import ChatSession, Reply
    from nmt_cli.search.options import ChatSettings
    from nmt_cli.terminal.chat_log import ConversationLog


@dataclass
class ReplyFigures:
    """Sums over the replies so far, for `/stats`."""

    replies: int = 0
    stopped: int = 0
    first_piece_s: float = 0.0
    seconds: float = 0.0


class Conversation:
    """Replies, keeps the log up to date, and counts.

    Attributes:
        session: The turns.
        settings: What `/set` changes.
        figures: What `/stats` shows.
        model: The model's folder.

    Args:
        session: Replies.
        settings: How.
        model: The model's folder.
        log: Where the conversation is kept, or None.
    """

    def __init__(
        self,
        session: "ChatSession",
        settings: "ChatSettings",
        *,
        model: "Path",
        log: "ConversationLog | None",
    ) -> None:
        self.session = session
        self.settings = settings
        self.figures = ReplyFigures()
        self.model = model
        self._log = log

    def reply(self, text: str) -> tuple["Reply", float]:
        """Return the reply to a text, and the seconds it took."""
        started = time.perf_counter()
        reply = self.session.reply(text)
        seconds = time.perf_counter() - started
        self.figures.replies += 1
        self.figures.first_piece_s += seconds
        self.figures.seconds += seconds
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
        from nmt_cli.errors import DataError
        from nmt_cli.terminal import console

        try:
            if self._log is not None:
                self._log.keep_up(self.session.turns)
        except DataError as error:
            console.warn(f"{error}; it goes on without")
            self._log = None

    def _told(self, pieces: Generator[str, None, None]) -> Generator[str, None, None]:
        """Pass pieces on; note how long they took, and keep what was said, whole or not."""
        figures, started = self.figures, time.perf_counter()
        first_piece_s, is_whole = 0.0, False
        try:
            for piece in pieces:
                first_piece_s = first_piece_s or time.perf_counter() - started
                yield piece
            is_whole = True
        finally:
            pieces.close()  # a session keeps what was said when it is told to stop
            figures.first_piece_s += first_piece_s
            figures.replies += 1
            figures.stopped += not is_whole
            figures.seconds += time.perf_counter() - started
            self.keep_up()
