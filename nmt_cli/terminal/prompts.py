"""The prompts of `nmt translate` and `nmt classify`, and what every prompt does until Ctrl-D."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError, NmtError, did_you_mean
from nmt_cli.resources import user_data_dir
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History

    from nmt_cli.search.labeller import Labeller
    from nmt_cli.search.options import SearchOptions
    from nmt_cli.search.translator import Translator
    from nmt_cli.terminal.lines import LabelLines, TranslationLines
    from nmt_cli.text.vocabulary import Vocabularies


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

    path = user_data_dir() / f"{name}.history"
    try:
        if is_kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            return FileHistory(str(path))
    except OSError:
        pass
    return InMemoryHistory()


_CLASSIFY_HELP = {
    "/top N": "show the N likeliest labels; without N, the label alone",
    "/proba": "switch probabilities on and off",
    "/labels": "show the labels that the model knows",
    "/help": "show these commands",
    "/exit": "leave (so does Ctrl-D)",
}
_CLASSIFY_NAMES = [usage.split()[0] for usage in _CLASSIFY_HELP]


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
        console.note("Type a text. /help shows the commands, Ctrl-D leaves.")
        run_prompt(line_session("classify", _CLASSIFY_NAMES), self._take)

    def _take(self, line: str) -> bool:

        if line.startswith("/"):
            return self._command(*line.strip().partition(" ")[::2])
        if line.strip():
            for found in self._labeller.label_windows([[line]], on_warning=console.warn):
                console.result(self._lines.of(found).removesuffix("\n"))
        return True

    def _command(self, name: str, value: str) -> bool:

        if name == "/help":
            for usage, what in _CLASSIFY_HELP.items():
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
            raise ConfigError(
                f"{name}: unknown command.{did_you_mean(name, _CLASSIFY_NAMES)} See /help."
            )
        return name != "/exit"


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

        for translation in self._translator.translate([line], self._options):
            console.result(self._lines.of(translation).removesuffix("\n"))

    def _command(self, name: str, value: str) -> None:
        from nmt_cli.search.translator import suppressed_ids

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
