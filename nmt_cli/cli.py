"""The command line: one app, its subcommands, and errors -> exit codes.

Nothing heavy is imported here or at the top of `commands/`: `nmt --help` must answer at once.
"""

import contextlib
import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group
from typer.models import CommandInfo

from nmt_cli import __version__
from nmt_cli.commands import plot
from nmt_cli.commands.augment import augment
from nmt_cli.commands.bench import bench
from nmt_cli.commands.chat import chat
from nmt_cli.commands.check import check
from nmt_cli.commands.classify import classify
from nmt_cli.commands.data import get, list_sets
from nmt_cli.commands.evaluate import evaluate
from nmt_cli.commands.export import export
from nmt_cli.commands.import_ import import_model
from nmt_cli.commands.info import info
from nmt_cli.commands.init import init
from nmt_cli.commands.join import join
from nmt_cli.commands.score import score
from nmt_cli.commands.serve import serve
from nmt_cli.commands.tokenize import tokenize
from nmt_cli.commands.train import train
from nmt_cli.commands.translate import translate
from nmt_cli.errors import DataError, NmtError
from nmt_cli.terminal import completion, console

_BUG = 1
# What the system may have against a name that was typed, or against writing; wherever that is.
_REFUSED = {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EROFS}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_DEBUG = "nmt_cli.debug"
_COMPLETION = ("--install-completion", "--show-completion")
_FIRST = ("--help", "-h", "--version", "-V", "--debug", *_COMPLETION)
_HELP = "nmt_cli.help"
# Options that had another name until 0.2: command, old, new.
_RENAMED = (
    ("init", "--data", "--data-dir"),
    ("get", "--dir", "--data-dir"),
    ("score", "--source", "--input"),
    ("score", "--target", "--reference"),
    ("evaluate", "--source", "--input"),
    ("evaluate", "--target-lang", "--to"),
)
_PAIRS = ("--train", "--dev", "--test")  # of init: two files of sentences, or one table


@contextlib.contextmanager
def _reader_may_leave() -> Iterator[None]:
    """End well when the reader of the output goes away (`| head`): nothing is wrong."""
    try:
        yield
    except BrokenPipeError:
        # Python must not flush to it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


class _Group(TyperGroup):
    """Turns what a command raises into one `error:` and one `hint:` line and an exit code."""

    @_reader_may_leave()
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the options that stand before the subcommand.

        As Typer options, even an unused `--help`, they would cost every `nmt X --help` a tenth of a
        second: Typer checks their values with pydantic, which it imports for the first one.
        """
        while args and args[0] in _FIRST:
            option = args.pop(0)
            if ctx.resilient_parsing:  # Tab carries out nothing
                continue
            if option == "--debug":
                ctx.meta[_DEBUG] = True
                continue
            if option in _COMPLETION:
                completion.set_up(option, args)
            elif option in ("--help", "-h"):
                typer.echo(ctx.get_help())
            else:
                typer.echo(f"nmt {__version__}")
            raise typer.Exit
        if args[:1] == ["help"]:
            if not ctx.resilient_parsing:
                self._help(ctx, args[1:])
            ctx.meta[_HELP] = True
            args = args[1:]
        return list(super().parse_args(ctx, args))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that Tab proposes; behind `help` topics, too, and the options."""
        from nmt_cli.terminal.help_pages import TOPICS

        found = super().shell_complete(ctx, incomplete)
        if ctx.meta.get(_HELP):
            known = {item.value for item in found}
            return [*found, *completion.items(sorted(TOPICS.keys() - known), incomplete)]
        others = _FIRST if incomplete.startswith("-") else ("help",)
        return [*found, *completion.items(others, incomplete)]

    def _help(self, ctx: Any, names: list[str]) -> None:
        """Show what `nmt help` names: a command's options, a topic, or both; alone, what there is.

        Raises:
            typer.Exit: Always.
        """
        from nmt_cli.terminal.help_pages import TOPICS, show_topic, topic_list

        is_command = not names or self.get_command(ctx, names[0]) is not None
        help_of = [*names, "--help"]
        if is_command and (code := self.main(help_of, "nmt", standalone_mode=False)):
            raise typer.Exit(code)
        if not names:
            typer.echo(f"\n{topic_list()}")
        elif not is_command:
            show_topic(names[0])
        elif names[0] in TOPICS:
            typer.echo()
            show_topic(names[0])
        raise typer.Exit

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence, whole."""
        return _first_sentence(self.help)

    @_reader_may_leave()
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NmtError as error:
            if ctx.meta.get(_DEBUG):
                traceback.print_exc()
            console.error(str(error), error.hint)
            raise typer.Exit(error.exit_code) from error
        except (BrokenPipeError, typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except Exception as error:
            if hasattr(error, "exit_code") and hasattr(error, "show"):
                raise  # a usage error, which Typer's own (vendored Click) machinery prints
            if isinstance(error, OSError) and (error.errno in _REFUSED or _is_full(error)):
                _report_refusal(error, show=bool(ctx.meta.get(_DEBUG)))
                raise typer.Exit(DataError.exit_code) from error
            _report_bug(error, show=bool(ctx.meta.get(_DEBUG)))
            raise typer.Exit(_BUG) from error


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split()).split(". ")[0].rstrip(".") + "."


def _names(argument: str, option: str) -> bool:
    return argument.partition("=")[0] == option


def _is_text(argument: str) -> bool:
    """Return whether an argument that looks like an option is a text: "-5 degrees"."""
    return argument[:1] == "-" and (argument[1:2].isdecimal() or " " in argument.split("=")[0])


def _with_second(args: list[str]) -> Iterator[str]:
    """Yield arguments with "" in place of a second file where an option has but one."""
    for number, arg in enumerate(args):
        yield arg
        is_next_option = args[number + 1 : number + 2] == [] or args[number + 1].startswith("-")
        if number and args[number - 1] in _PAIRS and is_next_option:
            yield ""


def _is_full(error: OSError) -> bool:
    """Return whether a disk is; `tempfile` says only that no folder can be written to."""
    return error.errno in _FULL or (error.errno == errno.ENOENT and error.filename is None)


def _report_refusal(error: OSError, *, show: bool) -> None:
    if show:
        traceback.print_exc()
    where = f"{error.filename}: " if error.filename else ""
    hint = "is $TMPDIR full? TMPDIR=FOLDER names another place" if _is_full(error) else None
    console.error(f"{where}{error.strerror}", hint)


def _report_bug(error: Exception, *, show: bool) -> None:
    text = "".join(traceback.format_exception(error))
    if show:
        console.note(text)
    where = ""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(prefix="nmt-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        where = f"; the traceback is in {Path(name)}"
    console.error(
        f"this is a bug in nmt: {type(error).__name__}: {error}{where}",
        "please report it with that file; --debug (before the command) shows it here",
    )


class _PlainValue:
    """Turns what was typed for an option into its kind: text, a number, or a list of texts.

    Typer would do it with pydantic, whose import takes longer than a translation.
    """

    def __init__(self, kind: Any) -> None:
        if kind not in (str, int, float, bool, list[str], tuple[str, str]):
            raise TypeError(f"no option of nmt may have the type {kind}")
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value; raises what Click prints as a usage error."""
        if get_origin(self._kind) is list:
            return list(value) if value else None
        if self._kind not in (int, float) or value is None:
            return value
        try:
            return self._kind(value)
        except ValueError:
            wanted = "a whole number" if self._kind is int else "a number"
            raise typer.BadParameter(f"'{value}' is not {wanted}.", ctx, param) from None


class _Command(TyperCommand):
    """A subcommand whose options are texts, numbers, switches and lists of texts."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence, whole."""
        return _first_sentence(self.help)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take old names of options, with a note."""
        for command, old, new in _RENAMED:
            if command == ctx.info_name and any(_names(arg, old) for arg in args):
                if not ctx.resilient_parsing:
                    console.note(f"{old} is called {new} now")
                args = [arg.replace(old, new, 1) if _names(arg, old) else arg for arg in args]
        if ctx.info_name == "init":
            args = list(_with_second(args))
        if any(map(_is_text, args)):
            args = self._with_texts_last(ctx, args)
        return list(super().parse_args(ctx, args))

    def _with_texts_last(self, ctx: Any, args: list[str]) -> list[str]:
        """Put what is no option behind "--", so that a text may begin with a dash."""
        options = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
        values = {name: o.nargs for o in options if not o.is_flag for name in o.opts}
        flags, texts, rest = list[str](), list[str](), iter(args)
        for arg in rest:
            if arg == "--":
                texts += rest
            elif arg != "-" and arg.startswith("-") and not _is_text(arg):
                flags += [arg, *islice(rest, values.get(arg, 0))]
            else:
                texts.append(arg)
        return [*flags, "--", *texts]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, `--help` too, with our own conversion of their values.

        Help shows an argument as its metavar says: without its Python type, and without more
        brackets around it.
        """
        params: list[Any] = list(super().get_params(ctx))
        for param in params:
            plain = _PlainValue(param.type_descriptor.annotation)
            param.get_runtime_param = lambda plain=plain: plain
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None
                param.get_usage_pieces = lambda ctx, usage=param.metavar: [usage]
            if values := completion.values_of(ctx.info_name, param.name):
                param.shell_complete = completion.completer(values)
        return params


_SETTINGS: dict[str, Any] = {
    "cls": _Group,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "no_args_is_help": True,
    "add_help_option": False,
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}

app = typer.Typer(
    **_SETTINGS,
    help=(
        "Train a Transformer on your own text, then translate, chat or classify with it.\n\n"
        'Begin with: nmt train   and then: nmt translate "The old man reads a book."\n\n'
        "Before the subcommand: --version (-V) prints the version, --debug shows tracebacks,\n"
        "--install-completion [SHELL] lets Tab complete commands, options and names.\n"
        "nmt help COMMAND explains one; nmt help lists topics, such as config, formats and api."
    ),
)


_COMMANDS = (init, check, tokenize, augment, train, translate, chat, classify, evaluate, score)
for _command in (*_COMMANDS, join, serve, export, bench, info):
    app.command(cls=_Command)(_command)
app.command("import", cls=_Command)(import_model)

_data = typer.Typer(**_SETTINGS, help="List and download known public data sets.")
_data.command("list", cls=_Command)(list_sets)
_data.command("get", cls=_Command)(get)
app.add_typer(_data, name="data")

_plot = typer.Typer(
    **_SETTINGS,
    help=(
        "Draw training, data and models: as a .png, .svg or .html with -o, otherwise as text.\n\n"
        'Example: nmt plot attention "The old man reads a book." -o attention.html'
    ),
)
_PICTURES = (plot.attention, plot.confusion, plot.curves, plot.lengths, plot.model)
for _picture in (*_PICTURES, plot.positions, plot.schedule):
    _plot.command(cls=_Command)(_picture)
app.add_typer(_plot, name="plot")


def _asked_for(command: list[str]) -> TyperGroup:
    """Return the app, with the command alone if it is one: to prepare all takes 15 ms."""
    found = [info for info in app.registered_commands if [_name_of(info)] == command]
    if not found or completion.is_asked():
        return get_group(app)
    alone = typer.Typer(**_SETTINGS)
    alone.registered_commands = found
    return get_group(alone)


def _name_of(info: CommandInfo) -> str:
    return str(info.name or getattr(info.callback, "__name__", ""))


def main() -> None:
    """Run `nmt`.

    No process that it starts imports modules of the folder where the user is, as Python would.
    """
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    console.use_utf8()
    if completion.is_asked():
        completion.teach_shells()
    try:
        _asked_for(sys.argv[1:2])(prog_name="nmt")
    except NmtError as error:  # of --help, which is no command
        console.error(str(error), error.hint)
        sys.exit(error.exit_code)
