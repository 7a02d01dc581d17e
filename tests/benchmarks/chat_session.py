"""How a chat feels: start to first prompt, first piece of a reply, memory over 2,000 turns.

    python tests/benchmarks/chat_session.py MODEL [TURNS]

Prints JSON: medians in seconds, memory in MB. The start is that of a whole process at a
pseudo-terminal, with a conversation log; the rest is measured in this process, log included.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pexpect

import nmt_cli
from nmt_cli.terminal.chat_conversation import Conversation, ConversationLog

STARTS = 7
READY = r"\x1b\[\?2004h"  # bracketed paste is switched on: a line can be typed
PROMPTS = ("hello", "how are you?", "what do you like to eat?", "and you?", "tell me more")


def seconds_to_prompt(model: str) -> float:
    """Return how long a person waits until a line can be typed."""
    started = time.perf_counter()
    child = pexpect.spawn(sys.executable, ["-m", "nmt_cli", "chat", "-m", model], timeout=60)
    child.expect(READY)
    taken = time.perf_counter() - started
    child.close(force=True)
    return taken


def conversation(model: str) -> Conversation:
    """Return a conversation as `nmt chat` starts it."""
    path, session = Path(model), nmt_cli.load(model).chat(seed=1)
    log = ConversationLog.new(path)
    return Conversation(session, model=path, log=log)


def memory_mb() -> float:
    """Return this process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Measure, in a data folder of its own."""
    model = str(Path(sys.argv[1]).resolve())
    num_turns = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_DATA_HOME"] = home
        seconds_to_prompt(model)  # warms the disk
        starts = [seconds_to_prompt(model) for _ in range(STARTS)]
        chat = conversation(model)
        first_pieces, whole, memory = [], [], {}
        for turn in range(num_turns):
            started = time.perf_counter()
            pieces = chat.stream(PROMPTS[turn % len(PROMPTS)])
            next(pieces)
            first_pieces.append(time.perf_counter() - started)
            for _ in pieces:
                pass
            whole.append(time.perf_counter() - started)
            if turn + 1 in (1, num_turns // 10, num_turns):
                memory[f"memory_mb_after_{turn + 1}"] = round(memory_mb(), 1)
    result = {
        "start_to_prompt": round(statistics.median(starts), 3),
        "first_piece_cold": round(first_pieces[0], 4),
        "first_piece_warm": round(statistics.median(first_pieces[1:]), 4),
        "first_piece_warm_99_percent": round(statistics.quantiles(first_pieces[1:], n=100)[98], 4),
        "reply_warm": round(statistics.median(whole[1:]), 4),
    }
    print(json.dumps(result | memory))


if __name__ == "__main__":
    main()
