"""The slash commands of `nmt chat`, at the prompt and in a pipe. They answer on stderr."""

from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.terminal import console
from nmt_cli.terminal.chat_conversation import Conversation, read_turns, save_turns

HELP = {
    "/help": "show these commands",
    "/reset": "forget the conversation so far",
    "/undo": "take back your last message and its reply",
    "/retry": "get another reply to your last message",
    "/set KEY VALUE": "change an option, e.g. /set temperature 0.8",
    "/show": "show the options",
    "/history": "show the conversation so far",
    "/save FILE": "write the conversation to a file",
    "/load FILE": "continue a saved conversation",
    "/stats": "show how many replies there were, and how fast",
    "/exit": "leave (so does Ctrl-D; Ctrl-C stops a reply)",
}
NAMES = [usage.split()[0] for usage in HELP]


class ChatCommands:
    """Carries out slash commands on a conversation; `say` shows a reply that one asked for."""

    def __init__(
        self, conversation: Conversation, say: Callable[[Generator[str, None, None]], None]
    ) -> None:
        self._conversation = conversation
        self._session = conversation.session
        self._say = say

    def run(self, line: str) -> bool:
        """Carry out a command, or raise NmtError; return False when the conversation shall end."""
        name, _, argument = line.strip().partition(" ")
        argument = argument.strip()
        if name not in NAMES:
            raise ConfigError(
                f"{name}: unknown command.{did_you_mean(name, NAMES)} /help shows them all."
            )
        usage = next(usage for usage in HELP if usage.split()[0] == name)
        if (" " in usage) != bool(argument):
            raise ConfigError(f"{line.strip()}: the command is {usage}")
        if name == "/exit":
            return False
        action = getattr(self, f"_{name[1:]}")
        try:
            action(argument) if argument else action()
        except (OSError, RuntimeError, ValueError) as error:  # ~nobody, a name that cannot be one
            raise DataError(
                f"{line.strip()}: {getattr(error, 'strerror', None) or error}"
            ) from error
        self._conversation.keep_up()
        return True

    def _help(self) -> None:
        show_table(HELP | {'"""': "begin and end a message of several lines"})

    def _reset(self) -> None:
        self._session.reset()
        console.note("(the conversation is forgotten)")

    def _undo(self) -> None:
        if not self._session.undo():
            console.note("(there is nothing to take back)")
        elif self._session.turns:
            console.note(f"(taken back; the last reply is now: {self._session.turns[-1]})")
        else:
            console.note("(taken back; the conversation is empty)")

    def _retry(self) -> None:
        before = self._session.turns
        if not before:
            console.note("(there is nothing to reply to)")
            return
        self._say(self._conversation.retry())
        if self._session.turns == before and not self._session.search.sample:
            console.note(
                "(the same: a search always finds the best reply; /set sample true draws others)"
            )

    def _set(self, setting: str) -> None:
        show_table(self._session.set(setting))

    def _show(self) -> None:
        show_table(self._session.settings())

    def _history(self) -> None:
        for number, turn in enumerate(self._session.turns):
            console.note(f"{'bot' if number % 2 else 'you'}  {turn}")

    def _save(self, file: str) -> None:
        save_turns(_path_of(file), self._session.turns)
        console.note(f"(saved {self._count()} to {file})")

    def _load(self, file: str) -> None:
        self._session.turns = read_turns(_path_of(file))
        console.note(f"(loaded {self._count()} from {file})")

    def _stats(self) -> None:
        told = self._conversation
        replies = max(told.replies, 1)
        show_table(
            {
                "replies": f"{told.replies} ({told.stopped} stopped)",
                "seconds a reply": f"{told.seconds / replies:.3f}",
                "to first token": f"{told.first_piece_s / replies:.3f}",
                "turns": len(self._session.turns),
                "model": told.model,
                "engine": self._session.engine.description,
            }
        )

    def _count(self) -> str:
        count = len(self._session.turns)
        return f"{count} turn{'' if count == 1 else 's'}"


def _path_of(name: str) -> Path:
    if "\0" in name:
        raise DataError(f"{name}: a NUL character cannot be in the name of a file")
    return Path(name).expanduser()


def show_table(rows: Mapping[str, object]) -> None:
    """Show names, each with what it stands for, in two columns."""
    width = max(map(len, rows)) + 2
    for name, what in rows.items():
        console.note(f"{name:<{width}}{shown(what)}")


def shown(value: object) -> str:
    """Return a value as `/set` takes it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
