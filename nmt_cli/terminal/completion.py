"""What the shell proposes for the values of options when Tab is pressed.

The names of commands and options Typer knows. Called in a process of its own, so nothing here makes
a start of `nmt` slower.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from nmt_cli.resources import RUNS_DIR, bundled_configs

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_VARIABLE = "_NMT_COMPLETE"


def set_up(option: str, args: list[str]) -> None:
    """Carry out `--install-completion [SHELL]` or `--show-completion [SHELL]`."""
    from typer._completion_shared import get_completion_script, install

    shell = args[0] if args else Path(os.environ.get("SHELL", "bash")).name
    if shell not in SHELLS:
        raise typer.BadParameter(f"{option} SHELL: one of {', '.join(SHELLS)}, not {shell}")
    if option == "--show-completion":
        typer.echo(get_completion_script(prog_name="nmt", complete_var=_VARIABLE, shell=shell))
    else:
        _, path = install(shell=shell, prog_name="nmt", complete_var=_VARIABLE)
        typer.echo(f"installed in {path}; open a new shell to use it")


def _keys() -> Iterable[str]:
    """Return every key of a configuration, as `--set` takes it."""
    from nmt_cli.config.schema import Config

    for name, field in Config.model_fields.items():
        within = getattr(field.annotation, "model_fields", None)
        yield from (f"{name}.{key}=" for key in within or ()) if within else [f"{name}="]


def _search_keys() -> list[str]:
    """Return every search option, as `--set` takes it."""
    from nmt_cli.search.options import SearchOptions

    return [f"{name}=" for name in SearchOptions.names()]


def _chat_keys() -> list[str]:
    from nmt_cli.search.options import ChatOptions

    return [*_search_keys(), *(f"{name}=" for name in ChatOptions.names())]


_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "config": lambda: [*bundled_configs(), *map(str, Path().glob("*.y*ml"))],
    "preset": bundled_configs,
    "model": lambda: [str(path.parent) for path in RUNS_DIR.glob("*/model")],
    "model_option": lambda: _VALUES["model"](),
    "overrides": _keys,
    "settings": _search_keys,
    "chat settings": _chat_keys,
    "evaluate settings": _chat_keys,
}


def values_of(command: str, parameter: str) -> Callable[[], Iterable[str]] | None:
    """Return what proposes the values of a command's parameter; None for nothing."""
    return _VALUES.get(f"{command} {parameter}", _VALUES.get(parameter))


def completer(values: Callable[[], Iterable[str]]) -> Callable[[Any, str], list[Any]]:
    """Return what Typer asks for the values of one parameter."""

    def complete(_: Any, incomplete: str) -> list[Any]:
        from typer._click.shell_completion import CompletionItem

        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]

    return complete
