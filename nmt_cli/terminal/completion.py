"""What the shell proposes for the values of options when Tab is pressed.

The names of commands and options Typer knows. Called in a process of its own, so nothing here makes
a start of `nmt` slower. Names that a shell would not read as one word are not proposed: bash puts
them on the line as they are, where `runs/$(rm x)` would be run.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from nmt_cli.resources import RUNS_DIR, bundled_configs

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_VARIABLE = "_NMT_COMPLETE"
_PLAIN = frozenset("@%+=:,./_-")  # beside letters and digits of any language


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


def is_asked() -> bool:
    """Return whether a shell started this process to ask what it may propose."""
    return _VARIABLE in os.environ


def teach_shells() -> None:
    """Tell Typer how to read the line of each shell.

    Bash takes `--set key=value` and `--model=x` for four and three words: nothing is proposed for
    the value of a key, and the "=" behind an option is left out.
    """
    from typer._click.shell_completion import add_completion_class
    from typer._completion_classes import BashComplete, completion_init

    class Bash(BashComplete):
        def get_completions(self, args: list[str], incomplete: str) -> list[Any]:
            if incomplete == "=":
                incomplete = ""
            elif args[-1:] == ["="]:
                args = args[:-1]
            else:
                return list(super().get_completions(args, incomplete))
            is_option = bool(args) and args[-1].startswith("-")
            return list(super().get_completions(args, incomplete)) if is_option else []

    completion_init()
    add_completion_class(Bash, "bash")


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
    from nmt_cli.search.chat_session import NOT_OF_CHATS
    from nmt_cli.search.options import ChatOptions, SearchOptions

    names = [*SearchOptions.names(), *ChatOptions.names()]
    return [f"{name}=" for name in names if name not in NOT_OF_CHATS]


def _models() -> list[str]:
    """Return the folders of the runs that have a model."""
    return [str(path.parent) for path in RUNS_DIR.glob("*/model")]


def _data_sets() -> Iterable[str]:
    from nmt_cli.datasets.known_sets import DATA_SETS

    return DATA_SETS


_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "config": lambda: [*bundled_configs(), *map(str, Path().glob("*.y*ml"))],
    "preset": bundled_configs,
    "model": _models,
    "model_option": _models,
    "augment models": _models,
    "train start": _models,
    "evaluate compare": _models,
    "evaluate backward": _models,
    "curves runs": lambda: map(str, RUNS_DIR.glob("*")),
    "get name": _data_sets,
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
    return lambda _, incomplete: items(values(), incomplete)


def items(values: Iterable[str], incomplete: str) -> list[Any]:
    """Return those values that begin with what was typed, as Typer wants them."""
    from typer._click.shell_completion import CompletionItem

    return [CompletionItem(v) for v in values if v.startswith(incomplete) and _is_plain(v)]


def _is_plain(value: str) -> bool:
    return all(letter.isalnum() or letter in _PLAIN for letter in value)
