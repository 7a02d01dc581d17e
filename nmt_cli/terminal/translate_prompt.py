"""The interactive prompt of `nmt translate`: sentences, and slash commands for the options."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import Translator
    from nmt_cli.terminal.translation_lines import TranslationLines
    from nmt_cli.text.vocabulary import Vocabularies

_OPTIONS = {
    "/beam": "beam_size",
    "/n-best": "n_best",
    "/length-penalty": "length_penalty",
    "/max-length": "max_length",
}
_HELP = {
    "/beam N": "beam size; 1 is greedy",
    "/n-best N": "show the N best with scores",
    "/length-penalty A": "0 favours short outputs",
    "/max-length N": "longest output in tokens",
    "/prefix TEXT": "begin every output with this; without a text, with nothing",
    "/suppress TEXT": "never write this; without a text, all is allowed again",
    "/align": "switch word pairs on and off",
    "/set KEY=VALUE": "set any search option, e.g. /set top_k=5",
    "/show": "show the search options",
    "/help": "show these commands",
    "/exit": "leave (so does Ctrl-D)",
}
_NAMES = [usage.split()[0] for usage in _HELP]


class TranslatePrompt:
    """Translates what is typed until Ctrl-D.

    Args:
        translator: Translates.
        vocabularies: The model's.
        options: The search options to begin with.
        lines: Makes output lines.
    """

    def __init__(
        self,
        translator: "Translator",
        vocabularies: "Vocabularies",
        options: "SearchOptions",
        lines: "TranslationLines",
    ) -> None:
        self._translator = translator
        self._vocabularies = vocabularies
        self._options = options
        self._lines = lines

    def run(self) -> None:
        """Read, translate and print until the user leaves."""
        from nmt_cli.terminal import console
        from nmt_cli.terminal.prompt import line_session, run_prompt

        console.note("Type a sentence. /help shows the commands, Ctrl-D leaves.")
        run_prompt(line_session("translate", _NAMES), self._take)

    def _take(self, line: str) -> bool:
        if line.strip() == "/exit":
            return False
        if line.startswith("/"):
            self._command(*line.strip().partition(" ")[::2])
        elif line.strip():
            self._translate(line)
        return True

    def _translate(self, line: str) -> None:
        from nmt_cli.terminal import console

        for translation in self._translator.translate([line], self._options):
            console.result(self._lines.of(translation).removesuffix("\n"))

    def _command(self, name: str, value: str) -> None:
        from nmt_cli.errors import ConfigError, did_you_mean
        from nmt_cli.search.translator import suppressed_ids
        from nmt_cli.terminal import console

        target = self._vocabularies.target
        if name == "/help":
            for usage, what in _HELP.items():
                console.note(f"{usage:<19} {what}")
        elif name == "/show":
            for key, setting in vars(self._options).items():
                console.note(f"{key:<21} {setting}")
        elif name == "/align":
            self._lines = replace(self._lines, align=not self._lines.align)
        elif name == "/prefix":
            self._options = replace(
                self._options, prefix=tuple(target.encode(value) if value else ())
            )
        elif name == "/suppress":
            rows = suppressed_ids(target, [value]) if value else ()
            self._options = replace(self._options, suppressed=rows)
        elif name == "/set":
            self._set(value.replace(" ", "=", 1) if "=" not in value else value)
        elif name in _OPTIONS:
            self._set(f"{_OPTIONS[name]}={value}")
        else:
            raise ConfigError(f"{name}: unknown command.{did_you_mean(name, _NAMES)} See /help.")

    def _set(self, setting: str) -> None:
        """Change one option; a wider beam comes along where more hypotheses are asked for."""
        key, _, value = setting.partition("=")
        settings = [setting]
        if key == "n_best" and value.isdigit() and int(value) > self._options.beam_size:
            settings.append(f"beam_size={value}")
        self._options = self._options.override(**self._options.parse(settings))
        self._lines = replace(self._lines, n_best=self._options.n_best > 1)
