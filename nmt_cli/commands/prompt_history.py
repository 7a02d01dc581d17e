"""The lines typed at a prompt, kept for the next time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit.history import History


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
