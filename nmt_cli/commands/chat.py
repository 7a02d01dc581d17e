"""`nmt chat`: a conversation at the terminal, or line by line through a pipe."""

import os
import shlex
import sys
from typing import TYPE_CHECKING

from nmt_cli.config.tasks import CHAT
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nmt_cli.terminal.chat_conversation import Conversation


def chat(
    text: list[str] | None = opt.argument("[TEXT]...", "Messages; default: prompt or stdin."),
    model: opt.Model = None,
    goes_on: bool = opt.switch("--continue", "Continue the last conversation."),
    beam: opt.Beam = None,
    temperature: float | None = opt.option("T", "Sample; lower is safer."),
    top_k: int | None = opt.option("K", "Sample from the K most likely tokens."),
    top_p: float | None = opt.option("P", "Sample from the most likely share P."),
    seed: int | None = opt.option("N", "Seed; repeats a conversation."),
    max_length: opt.MaxLength = None,
    settings: opt.ChatSet = None,
    attention: opt.Attention = None,
    no_log: bool = opt.switch("--no-log", "Do not save the conversation."),
    encoding: opt.Encoding = "utf-8",
    engine: opt.Engine = "auto",
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Chat with a model. In a pipe, each line gets a reply of one line.

    --beam searches for the most likely reply; the sampling options draw a different one each time.
    --set rerank=N finds N replies and gives the least generic one. At the prompt, /help shows the
    commands. Conversations are saved in your data folder (~/.local/share/nmt).

    Example: nmt chat --temperature 0.7 --top-p 0.9
    """
    from nmt_cli.files import read_lines
    from nmt_cli.terminal.chat_conversation import Conversation, ConversationLog, last_conversation
    from nmt_cli.terminal.lines import checked_encoding, show_attention
    from nmt_cli.terminal.prompts import ChatPrompt

    if text and os.path.isdir(text[0]):  # noqa: PTH112 - false for a text too long for a name
        hint = f"is it the model? -m {shlex.quote(text[0])}"
        raise ConfigError(f"{text[0]} is a folder", hint=hint)
    console.check_output(attention)
    is_typed = sys.stdin.isatty() and not text
    path, turns = None, list[str]()
    if goes_on:
        path, its_model, turns = last_conversation()
        model = model or str(its_model)
    where = {"number_format": number_format, "threads": threads, "device": device}
    loaded = opt.open_model(model, CHAT, engine=engine, **where)
    session = loaded.chat(seed=seed)
    how = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    session.set(*(settings or []), beam_size=beam, max_length=max_length, **how)
    if verbose:
        console.note_engine(loaded.engine_description)
    folder, log = loaded.bundle.path.resolve(), None
    session.turns = turns
    if not no_log and (path or is_typed):
        log = ConversationLog(path, folder, turns) if path else ConversationLog.new(folder)
    conversation = Conversation(session, model=loaded.bundle.path, log=log)
    if is_typed:
        ChatPrompt(conversation, keep_history=not no_log).run()
    else:
        lines = text or read_lines("-", encoding=checked_encoding(encoding))
        _pipe(conversation, lines, as_json=json)
    if attention is not None:
        if (ids := session.last_ids()) is None:
            console.warn("there is no reply whose attention could be drawn")
        else:
            show_attention(loaded, ids, attention)


def _pipe(conversation: "Conversation", lines: "Iterable[str]", *, as_json: bool) -> None:
    """Answer each line with one line; slash commands answer on stderr."""
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
