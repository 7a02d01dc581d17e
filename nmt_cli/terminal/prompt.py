"""What every prompt does: read a line with editing, history and completion, until Ctrl-D."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History


def line_session(name: str, commands: Sequence[str]) -> "PromptSession[str]":
    """Return a prompt for single lines.

    Args:
        name: Of its history.
        commands: What Tab completes.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter

    return PromptSession(
        "> ",
        history=typed_lines(name),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
    )


def run_prompt(session: "PromptSession[str]", take: Callable[[str], bool]) -> None:
    """Read until the user leaves; no error and no Ctrl-C ends it.

    Args:
        session: Where to read.
        take: Called with what was typed; returns False to leave.
    """
    from nmt_cli.errors import NmtError
    from nmt_cli.terminal import console

    while True:
        try:
            if not take(session.prompt()):
                return
        except NmtError as error:
            console.error(str(error), error.hint)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def typed_lines(name: str, *, is_kept: bool = True) -> "History":
    """Return the history of a prompt; in memory only where it cannot be kept, or shall not.

    Args:
        name: The prompt's.
        is_kept: Whether lines go to a file in the user's data folder.
    """
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    from nmt_cli.resources import user_data_dir

    path = user_data_dir() / f"{name}.history"
    try:
        if is_kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            return FileHistory(str(path))
    except OSError:
        pass
    return InMemoryHistory()
