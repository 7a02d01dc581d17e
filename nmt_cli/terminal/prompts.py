"""The prompts of `nmt translate`, `nmt classify` and `nmt chat`: each reads until Ctrl-D."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from nmt_cli.terminal import console
from nmt_cli.terminal.chat_commands import HELP, NAMES, ChatCommands, show_table

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

    from nmt_cli.lines.work import Labelling, Translating
    from nmt_cli.terminal.chat_conversation import Conversation

_QUOTES = '"""'
_SHOWN_AGAIN = 4  # turns of a conversation that goes on


def _run(session: "PromptSession[str]", take: Callable[[str], bool]) -> None:
    """Read until `take` returns False for what was typed; no error and no Ctrl-C ends it."""
    from nmt_cli.errors import NmtError

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


def _history(name: str, *, is_kept: bool = True) -> "History":
    """Return what was typed at a prompt; in memory only where it cannot be kept, or shall not."""
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


class _LinePrompt(ABC):
    """Answers line by line; a line that begins with a slash is a command."""

    _NAME: ClassVar[str]
    _GREETING: ClassVar[str]
    _HELP: ClassVar[Mapping[str, str]]

    def run(self) -> None:
        """Read and answer until the user leaves."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.output import create_output

        console.note(f"{self._GREETING} /help shows the commands, Ctrl-D leaves.")
        session: PromptSession[str] = PromptSession(
            "> ",
            history=_history(self._NAME),
            completer=WordCompleter(self._commands(), sentence=True),
            complete_while_typing=False,
            output=create_output(always_prefer_tty=True),  # answers may go to a file
        )
        _run(session, self._take)

    def _commands(self) -> list[str]:
        return [usage.split()[0] for usage in self._HELP]

    def _take(self, line: str) -> bool:
        from nmt_cli.errors import ConfigError, did_you_mean

        name, _, value = line.strip().partition(" ")
        if name == "/exit":
            return False
        if not line.startswith("/"):
            for output in self._outputs(line) if name else ():
                console.result(output.removesuffix("\n"))
        elif name == "/help":
            show_table(self._HELP)
        elif not self._carry_out(name, value):
            hint = did_you_mean(name, self._commands())
            raise ConfigError(f"{name}: unknown command.{hint} See /help.")
        return True

    @abstractmethod
    def _outputs(self, line: str) -> Iterable[str]:
        """Return the answers to a line of text."""

    @abstractmethod
    def _carry_out(self, name: str, value: str) -> bool:
        """Carry out a command; return False if there is no such command."""


class ClassifyPrompt(_LinePrompt):
    """Gives labels to what is typed."""

    _NAME = "classify"
    _GREETING = "Type a text."
    _HELP: ClassVar = {
        "/top N": "show the N most likely labels; without N, only the label",
        "/proba": "turn probabilities on or off",
        "/labels": "show the labels that the model knows",
        "/help": "show these commands",
        "/exit": "leave (so does Ctrl-D)",
    }

    def __init__(self, work: "Labelling") -> None:
        self._work = work

    def _outputs(self, line: str) -> Iterable[str]:
        return map(self._work.line, self._work.found([[line]]))

    def _carry_out(self, name: str, value: str) -> bool:
        from nmt_cli.errors import ConfigError

        match name:
            case "/labels":
                console.note(", ".join(self._work.model.labeller.labels.names))
            case "/proba":
                self._work = replace(self._work, proba=not self._work.proba)
                show_table({"proba": self._work.proba})
            case "/top":
                if value and not (value.strip().isdecimal() and int(value) > 0):
                    raise ConfigError(f"/top takes a number of at least 1 (it is {value.strip()})")
                self._work = replace(self._work, top=int(value) if value else None)
                show_table({"top": self._work.top})
            case _:
                return False
        return True


class TranslatePrompt(_LinePrompt):
    """Translates what is typed, with search options that commands change."""

    _NAME = "translate"
    _GREETING = "Type a sentence."
    _HELP: ClassVar = {
        "/to CODE": "the language to translate to; /from CODE likewise",
        "/beam N": "beam size; 1 is greedy",
        "/n-best N": "show the N best with scores",
        "/length-penalty A": "0 favours short outputs",
        "/max-length N": "longest output in tokens",
        "/prefix TEXT": "begin every output with this text; without TEXT, no longer",
        "/suppress TEXT": "never write this text; without TEXT, allow everything again",
        "/align": "turn word alignments on or off",
        "/set KEY=VALUE": "set any search option, e.g. /set top_k=5",
        "/show": "show the search options",
        "/help": "show these commands",
        "/exit": "leave (so does Ctrl-D)",
    }

    def __init__(self, work: "Translating") -> None:
        self._work = work

    def _outputs(self, line: str) -> Iterable[str]:
        return map(self._work.line, self._work.found([[line]]))

    def _carry_out(self, name: str, value: str) -> bool:
        from nmt_cli.search.translator import suppressed_ids

        target = self._work.model.vocabularies.target
        match name:
            case "/beam" | "/n-best" | "/length-penalty" | "/max-length":
                key = "beam_size" if name == "/beam" else name[1:].replace("-", "_")
                self._set(f"{key}={value}")
            case "/to" | "/from":
                self._set(f"{name[1:]}={value}")
            case "/set":
                self._set(value)
            case "/show":
                show_table(self._settings())
            case "/align":
                self._work = replace(self._work, align=not self._work.align)
                show_table({"align": self._work.align})
            case "/prefix":
                prefix = tuple(target.encode(value) if value else ())
                self._search(prefix=prefix)
                show_table({"prefix": self._settings()["prefix"]})
            case "/suppress":
                rows = suppressed_ids(target, [value]) if value else ()
                self._search(suppressed=rows)
                show_table({"suppress": self._settings()["suppress"]})
            case _:
                return False
        return True

    def _settings(self) -> dict[str, Any]:
        """Return the search options by name, with texts in place of ids."""
        options, decode = self._work.options, self._work.model.vocabularies.target.decode
        never = dict.fromkeys(decode(row).strip() for row in options.suppressed)
        texts = {"prefix": decode(options.prefix), "suppress": ", ".join(never)}
        return options.typed() | {name: text or None for name, text in texts.items()}

    def _set(self, setting: str) -> None:
        """Change one option, and others that go with it; show them."""
        from nmt_cli.search.options import changed_settings, read_settings

        options, bundle = self._work.options, self._work.model.bundle
        given = read_settings([setting], type(options))
        options = options.asked(given, is_ranked=bundle.backward is not None)
        self._work.model.vocabularies.direction(options.from_, options.to)  # or the error
        before = self._settings()
        self._work = replace(self._work, options=options, n_best=options.n_best > 1)
        show_table(changed_settings(before, self._settings(), given))

    def _search(self, **changed: Any) -> None:
        self._work = replace(self._work, options=replace(self._work.options, **changed))


class ChatPrompt:
    """Talks with whoever sits at the terminal.

    Enter sends a line. A message of several lines begins and ends with three quotes, or is pasted.
    With `keep_history` what was typed is kept for the next time.
    """

    def __init__(self, conversation: "Conversation", *, keep_history: bool) -> None:
        self._conversation = conversation
        self._keep_history = keep_history
        self._commands = ChatCommands(conversation, self._say)

    def run(self) -> None:
        """Read and reply until the user leaves."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.output import create_output

        console.note("Say something. /help shows the commands, Ctrl-D leaves.")
        turns = self._conversation.session.turns
        for number, turn in list(enumerate(turns))[-_SHOWN_AGAIN:]:
            console.note(turn if number % 2 else f"> {turn}")
        session: PromptSession[str] = PromptSession(
            "> ",
            multiline=True,
            key_bindings=_keys(),
            history=_history("chat", is_kept=self._keep_history),
            completer=_completer(list(self._conversation.session.settings())),
            complete_while_typing=False,
            output=create_output(always_prefer_tty=True),
        )
        _run(session, self._take)

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


def _keys() -> "KeyBindings":
    """Return what Enter does: send, but for an open block of three quotes."""
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import has_focus
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter", filter=has_focus(DEFAULT_BUFFER))
    def enter(event: KeyPressEvent) -> None:
        text = event.current_buffer.text.strip()
        if text.startswith(_QUOTES) and (text == _QUOTES or not text.endswith(_QUOTES)):
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
            NestedCompleter({name: PathCompleter(expanduser=True) for name in files}),
        ],
        deduplicate=True,
    )
