"""`nmt chat`: a conversation at the terminal, or line by line through a pipe."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.config.tasks import CHAT
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.terminal import console, pictures
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nmt_cli.terminal.chat_conversation import Conversation


def chat(
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Say this and leave; else a prompt, or stdin."),
    ] = None,
    model: opt.Model = None,
    goes_on: Annotated[
        bool, typer.Option("--continue", help="Go on with the last conversation.")
    ] = False,
    beam: opt.Beam = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="Sample; below 1 is safer.")
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", metavar="K", help="Sample among the K likeliest tokens."),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", metavar="P", help="Sample among the likeliest P share."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Repeat a sampled conversation.")
    ] = None,
    max_length: opt.MaxLength = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="As /set, e.g. rerank=8; may be repeated."),
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(
            "--attention", metavar="FILE", help="At the end draw all heads for the last reply."
        ),
    ] = None,
    no_log: Annotated[bool, typer.Option("--no-log", help="Keep nothing of what is said.")] = False,
    engine: opt.Engine = "auto",
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Chat with a model. In a pipe: a line in, a line out.

    --beam searches for the likeliest reply; the sampling options draw a different one each time.
    --set rerank=N finds N replies and says the one that least would fit anything. At the prompt,
    /help shows the commands. Conversations are kept in your data folder (~/.local/share/nmt).

    Example: nmt chat --temperature 0.7 --top-p 0.9
    """
    from nmt_cli.files import read_lines
    from nmt_cli.search.options import ChatSettings
    from nmt_cli.terminal.chat_conversation import Conversation, ConversationLog, last_conversation
    from nmt_cli.terminal.prompts import ChatPrompt

    if text and Path(text[0]).is_dir():
        raise ConfigError(f"{text[0]} is a folder", hint=f"is it the model? -m {text[0]}")
    if any(value is not None for value in (temperature, top_k, top_p)) and beam is not None:
        raise ConfigError("--beam searches; it does not go with the sampling options")
    pictures.check_output(attention)
    is_typed = sys.stdin.isatty() and not text
    path, turns = None, list[str]()
    if goes_on:
        path, its_model, turns = last_conversation()
        model = model or str(its_model)
    where = {"number_format": number_format, "threads": threads, "device": device}
    loaded = opt.open_model(model, CHAT, engine=engine, **where)
    session = loaded.chat(
        seed=seed,
        beam_size=beam,
        sample=None if beam is None else False,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        max_length=max_length,
    )
    if verbose:
        console.note_engine(loaded.engine_description)
    folder, log = loaded.bundle.path.resolve(), None
    session.turns = turns
    if not no_log and (path or is_typed):
        log = ConversationLog(path, folder, turns) if path else ConversationLog.new(folder)
    chat_settings = ChatSettings(session)
    for setting in settings or []:
        chat_settings.set(setting)
    conversation = Conversation(session, chat_settings, model=loaded.bundle.path, log=log)
    if is_typed:
        ChatPrompt(conversation, keep_history=not no_log).run()
    else:
        _pipe(conversation, text or read_lines("-"), as_json=json)
    if attention is not None:
        if (ids := session.last_ids()) is None:
            console.warn("there is no reply to draw the attention of")
        else:
            pictures.show_attention(loaded, ids, attention)


def _pipe(conversation: "Conversation", lines: "Iterable[str]", *, as_json: bool) -> None:
    """Answer each line with one line; commands answer on stderr."""
    from nmt_cli.terminal.chat_commands import ChatCommands

    commands = ChatCommands(conversation, lambda pieces: console.note("".join(pieces)))
    for line in lines:
        if line.startswith("/"):
            try:
                if not commands.run(line):
                    return
            except (ConfigError, DataError) as error:
                console.error(str(error), error.hint)
            continue
        text, score, seconds = "", None, 0.0
        if line.strip():
            reply, seconds = conversation.reply(line)
            text, score = reply.text, reply.score
        if as_json:
            record = {"text": line, "reply": text, "score": score, "seconds": round(seconds, 4)}
            console.result_json(record)
        else:
            console.result(text)
