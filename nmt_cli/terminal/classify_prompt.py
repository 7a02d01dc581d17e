"""The interactive prompt of `nmt classify`: texts, and slash commands for what is shown."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.search.labeller import Labeller
    from nmt_cli.terminal.label_lines import LabelLines

_HELP = {
    "/top N": "show the N likeliest labels; without N, the label alone",
    "/proba": "switch probabilities on and off",
    "/labels": "show the labels that the model knows",
    "/help": "show these commands",
    "/exit": "leave (so does Ctrl-D)",
}
_NAMES = [usage.split()[0] for usage in _HELP]


class ClassifyPrompt:
    """Gives labels to what is typed until Ctrl-D.

    Args:
        labeller: Gives them.
        lines: Makes output lines.
    """

    def __init__(self, labeller: "Labeller", lines: "LabelLines") -> None:
        self._labeller = labeller
        self._lines = lines

    def run(self) -> None:
        """Read, classify and print until the user leaves."""
        from nmt_cli.terminal import console
        from nmt_cli.terminal.prompt import line_session, run_prompt

        console.note("Type a text. /help shows the commands, Ctrl-D leaves.")
        run_prompt(line_session("classify", _NAMES), self._take)

    def _take(self, line: str) -> bool:
        from nmt_cli.terminal import console

        if line.startswith("/"):
            return self._command(*line.strip().partition(" ")[::2])
        if line.strip():
            for found in self._labeller.label_windows([[line]], on_warning=console.warn):
                console.result(self._lines.of(found).removesuffix("\n"))
        return True

    def _command(self, name: str, value: str) -> bool:
        from nmt_cli.errors import ConfigError, did_you_mean
        from nmt_cli.terminal import console

        if name == "/help":
            for usage, what in _HELP.items():
                console.note(f"{usage:<9} {what}")
        elif name == "/labels":
            console.note(", ".join(self._labeller.labels.names))
        elif name == "/proba":
            self._lines = replace(self._lines, proba=not self._lines.proba)
        elif name == "/top":
            if value and not (value.strip().isdecimal() and int(value) > 0):
                raise ConfigError(f"/top takes a number from 1 (it is {value.strip()})")
            self._lines = replace(self._lines, top=int(value) if value else None)
        elif name != "/exit":
            raise ConfigError(f"{name}: unknown command.{did_you_mean(name, _NAMES)} See /help.")
        return name != "/exit"
