"""The prompt of `nmt chat` on a terminal: lines with editing, history and completion, and replies.

Enter sends a line. A message of several lines begins and ends with three quotes, or is pasted.
"""

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING

from nmt_cli.terminal import console
from nmt_cli.terminal.chat_commands import HELP, NAMES, ChatCommands
from nmt_cli.terminal.chat_conversation import Conversation
from nmt_cli.terminal.prompts import run_prompt, typed_lines

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

_QUOTES = '"""'
_SHOWN_AGAIN = 4  # turns of a conversation that goes on


class ChatPrompt:
    """Talks with whoever sits at the terminal until Ctrl-D.

    Args:
        conversation: The one to continue.
        keep_history: Whether typed lines are kept for the next time.
    """

    def __init__(self, conversation: Conversation, *, keep_history: bool) -> None:
        self._conversation = conversation
        self._keep_history = keep_history
        self._commands = ChatCommands(conversation, self._say)

    def run(self) -> None:
        """Read and reply until the user leaves."""
        console.note("Say something. /help shows the commands, Ctrl-D leaves.")
        turns = self._conversation.session.turns
        for number, turn in list(enumerate(turns))[-_SHOWN_AGAIN:]:
            console.note(turn if number % 2 else f"> {turn}")
        run_prompt(self._session(), self._take)

    def _take(self, text: str) -> bool:
        """Carry out a command or reply to a message; return False to leave."""
        text = text.strip()
        if text.startswith("/"):
            return self._commands.run(text)
        if text.startswith(_QUOTES):
            text = text.removeprefix(_QUOTES).removesuffix(_QUOTES).strip()
        if text:
            self._say(self._conversation.stream(text))
        return True

    def _say(self, pieces: Generator[str, None, None]) -> None:
        """Print a reply as it is written; Ctrl-C stops it."""
        with contextlib.closing(pieces):
            try:
                for piece in pieces:
                    console.result_part(piece)
                console.result("")
            except KeyboardInterrupt:
                pieces.close()
                console.result("")
                console.note("(stopped)")

    def _session(self) -> "PromptSession[str]":
        from prompt_toolkit import PromptSession
        from prompt_toolkit.output import create_output

        return PromptSession(
            "> ",
            multiline=True,
            key_bindings=_keys(),
            history=typed_lines("chat", is_kept=self._keep_history),
            completer=_completer(self._conversation.settings.names()),
            complete_while_typing=False,
            output=create_output(always_prefer_tty=True),
        )


def _keys() -> "KeyBindings":
    """Return what Enter does: send, but for an open block of three quotes."""
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import has_focus
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter", filter=has_focus(DEFAULT_BUFFER))
    def enter(event: KeyPressEvent) -> None:
        text = event.current_buffer.text.strip()
        is_open = text.startswith(_QUOTES) and (text == _QUOTES or not text.endswith(_QUOTES))
        if is_open:
            event.current_buffer.insert_text("\n")
        else:
            event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=has_focus(DEFAULT_BUFFER))
    def alt_enter(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _completer(options: list[str]) -> "Completer":
    """Return what completes commands, the options of `/set`, and the files of `/save`, `/load`."""
    from prompt_toolkit.completion import (
        NestedCompleter,
        PathCompleter,
        WordCompleter,
        merge_completers,
    )

    lines = [*NAMES, *(f"/set {name}" for name in options)]
    files = [usage.split()[0] for usage in HELP if usage.endswith("FILE")]
    return merge_completers(
        [
            WordCompleter(lines, sentence=True),
            NestedCompleter({f"{name}": PathCompleter(expanduser=True) for name in files}),
        ],
        deduplicate=True,
    )
