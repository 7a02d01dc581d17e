"""`nmt chat`: a conversation at the terminal, or line by line through a pipe."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_cli.config.tasks import CHAT
from nmt_cli.terminal.options import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    JsonOption,
    MaxLengthOption,
    ModelOption,
    ThreadsOption,
    VerboseOption,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nmt_cli.search.loading import EngineOptions
    from nmt_cli.terminal.chat_conversation import Conversation


TextArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEXT]...", help="Say this and leave; else a prompt, or stdin."),
]
ContinueOption = Annotated[
    bool, typer.Option("--continue", help="Go on with the last conversation.")
]
TemperatureOption = Annotated[
    float | None, typer.Option("--temperature", metavar="T", help="Sample; below 1 is safer.")
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", metavar="K", help="Sample among the K likeliest tokens.")
]
TopPOption = Annotated[
    float | None,
    typer.Option("--top-p", metavar="P", help="Sample among the likeliest P share."),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Repeat a sampled conversation.")
]
ChatSetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="As /set, e.g. rerank=8; may be repeated."),
]
AttentionOption = Annotated[
    str | None,
    typer.Option(
        "--attention", metavar="FILE", help="At the end draw all heads for the last reply."
    ),
]
NoLogOption = Annotated[bool, typer.Option("--no-log", help="Keep nothing of what is said.")]


def chat(
    text: TextArgument = None,
    model: ModelOption = None,
    goes_on: ContinueOption = False,
    beam: BeamOption = None,
    temperature: TemperatureOption = None,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    seed: SeedOption = None,
    max_length: MaxLengthOption = None,
    settings: ChatSetOption = None,
    attention: AttentionOption = None,
    no_log: NoLogOption = False,
    engine: EngineOption = "auto",
    number_format: FormatOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Chat with a model. In a pipe: a line in, a line out.

    --beam searches for the likeliest reply; the sampling options draw a different one each time.
    --set rerank=N finds N replies and says the one that least would fit anything. At the prompt,
    /help shows the commands. Conversations are kept in your data folder (~/.local/share/nmt).

    Example: nmt chat --temperature 0.7 --top-p 0.9
    """
    from nmt_cli.errors import ConfigError
    from nmt_cli.files import read_lines
    from nmt_cli.search.loading import EngineOptions

    if text and Path(text[0]).is_dir():
        raise ConfigError(f"{text[0]} is a folder", hint=f"is it the model? -m {text[0]}")
    if any(value is not None for value in (temperature, top_k, top_p)) and beam is not None:
        raise ConfigError("--beam searches; it does not go with the sampling options")
    if attention is not None:
        from nmt_cli.terminal.pictures import check_output

        check_output(attention)
    conversation = _conversation(
        model,
        goes_on=goes_on,
        is_logged=not no_log and (goes_on or (sys.stdin.isatty() and not text)),
        settings=settings or [],
        flags={
            "beam_size": beam,
            "sample": None if beam is None else False,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
            "max_length": max_length,
        },
        engine=EngineOptions(
            engine=engine, number_format=number_format, threads=threads, device=device
        ),
        is_verbose=verbose,
    )
    if sys.stdin.isatty() and not text:
        from nmt_cli.terminal.chat_prompt import ChatPrompt

        ChatPrompt(conversation, keep_history=not no_log).run()
    else:
        _pipe(conversation, text or read_lines("-"), as_json=json)
    if attention is not None:
        _draw_attention(conversation, attention)


def _conversation(
    model: str | None,
    *,
    goes_on: bool,
    is_logged: bool,
    settings: list[str],
    flags: dict[str, Any],
    engine: "EngineOptions",
    is_verbose: bool,
) -> "Conversation":
    """Return the conversation that the options ask for, with its model loaded."""
    from nmt_cli.search.options import ChatSettings
    from nmt_cli.terminal import console
    from nmt_cli.terminal.chat_conversation import Conversation
    from nmt_cli.terminal.chat_log import ConversationLog, last_conversation
    from nmt_cli.terminal.options import open_model

    log: ConversationLog | None = None
    turns: list[str] = []
    if goes_on:
        path, its_model, turns = last_conversation()
        model = model or str(its_model)
    loaded = open_model(model, CHAT, engine)
    if is_logged:
        where = loaded.bundle.path.resolve()
        log = ConversationLog(path, where, turns) if goes_on else ConversationLog.new(where)
    session = loaded.chat(**flags)
    if is_verbose:
        console.note_engine(loaded.engine_description)
    session.turns = turns
    chat_settings = ChatSettings(session)
    for setting in settings:
        chat_settings.set(setting)
    return Conversation(session, chat_settings, model=loaded.bundle.path, log=log)


def _draw_attention(conversation: "Conversation", output: str) -> None:
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_ids
    from nmt_cli.terminal import console
    from nmt_cli.terminal.pictures import show
    from nmt_cli.text.vocabulary import Vocabularies

    ids = conversation.session.last_ids()
    if ids is None:
        console.warn("there is no reply to draw the attention of")
        return
    bundle, engine = open_bundle(conversation.model), conversation.session.engine
    show(attention_of(attended_ids(bundle, Vocabularies.load(bundle.path), ids, engine)), output)


def _pipe(conversation: "Conversation", lines: "Iterable[str]", *, as_json: bool) -> None:
    """Answer each line with one line; commands answer on stderr."""
    from nmt_cli.errors import ConfigError, DataError
    from nmt_cli.terminal import console
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
