"""`nmt chat`: a conversation at the terminal, or line by line through a pipe."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.commands.loading import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    JsonOption,
    MaxLengthOption,
    ModelOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from nmt_cli.decoding.options import SearchOptions
    from nmt_cli.decoding.session import ChatSession

_COMMANDS = {
    "/help": "show these commands",
    "/reset": "forget the conversation so far",
    "/exit": "leave (so does Ctrl-D; Ctrl-C stops a reply)",
}


def chat(
    model: ModelOption = None,
    beam: BeamOption = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="Sample; below 1 is safer.")
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", metavar="K", help="Sample among the K likeliest pieces."),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", metavar="P", help="Sample among the likeliest P share."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Repeat a sampled conversation.")
    ] = None,
    max_length: MaxLengthOption = None,
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Chat with a model. In a pipe: a line in, a line out.

    --beam searches for the likeliest reply; the sampling options draw a different one each time.

    Example: nmt chat --temperature 0.7 --top-p 0.9
    """
    from nmt_cli.bundle import find_bundle
    from nmt_cli.commands.loading import load_model, search_options
    from nmt_cli.decoding.session import ChatSession
    from nmt_cli.errors import ConfigError

    bundle = find_bundle(model, ("chat",))
    sampling = any(value is not None for value in (temperature, top_k, top_p))
    if sampling and beam is not None:
        raise ConfigError("--beam searches; it does not go with the sampling options")
    options = search_options(
        bundle,
        beam_size=beam,
        sample=True if sampling else (False if beam is not None else None),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=_fresh_seed() if seed is None else seed,
        max_length=max_length,
    )
    session = ChatSession(
        *load_model(
            bundle, engine=engine, number_format=number_format, threads=threads, device=device
        ),
        history_turns=bundle.manifest.chat["history_turns"],
        persona=bundle.manifest.chat["persona"],
    )
    if sys.stdin.isatty():
        _converse(session, options)
    else:
        _pipe(session, options, as_json=json)


def _fresh_seed() -> int:
    import secrets

    return secrets.randbelow(2**31)


def _pipe(session: "ChatSession", options: "SearchOptions", *, as_json: bool) -> None:
    """Answer each line of standard input with one line."""
    from nmt_cli import console
    from nmt_cli.files import read_lines

    for line in read_lines("-"):
        if line.startswith("/"):
            if not _run_command(line, session):
                return
            continue
        reply = session.reply(line, options) if line.strip() else ""
        console.result_json({"text": line, "reply": reply}) if as_json else console.result(reply)


def _converse(session: "ChatSession", options: "SearchOptions") -> None:
    """The prompt on a terminal."""
    from nmt_cli import console

    console.note("Say something. /help shows the commands, Ctrl-D leaves.")
    for line in _typed_lines():
        if line.startswith("/"):
            if not _run_command(line, session):
                return
            continue
        try:
            console.result(session.reply(line, options))
        except KeyboardInterrupt:
            console.note("(stopped)")


def _typed_lines() -> Iterator[str]:
    from prompt_toolkit import PromptSession

    prompt: PromptSession[str] = PromptSession("> ")
    while True:
        try:
            line = prompt.prompt().strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if line:
            yield line


def _run_command(line: str, session: "ChatSession") -> bool:
    """Carry out a slash command; return False when the conversation shall end."""
    from nmt_cli import console
    from nmt_cli.errors import did_you_mean

    name = line.split()[0]
    if name == "/help":
        for command, what in _COMMANDS.items():
            console.note(f"{command:<8} {what}")
    elif name == "/reset":
        session.reset()
        console.note("(the conversation is forgotten)")
    elif name != "/exit":
        console.note(
            f"{name}: unknown command.{did_you_mean(name, _COMMANDS)} /help shows them all."
        )
    return name != "/exit"
