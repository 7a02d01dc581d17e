"""Whole sessions of `nmt chat` through a pseudo-terminal."""

import json
import re
import sys
import time

import pexpect
import pytest

READY = r"\x1b\[\?2004h"  # prompt_toolkit switches bracketed paste on when it waits for a line
SHORT = ("--set", "min_length=6", "--set", "max_length=9", "--seed", "7")
ENDLESS = "min_length=20000", "max_length=20000"


class Terminal:
    """A person at a terminal."""

    def __init__(self, home, *arguments: str, **environment: str) -> None:
        self.home = home
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "nmt_cli", "chat", *arguments],
            cwd=str(home),
            env=_environment() | {"XDG_DATA_HOME": str(home), "TERM": "xterm"} | environment,
            encoding="utf-8",
            timeout=120,
            dimensions=(30, 100),
        )
        self._child.delaybeforesend = None

    def wait(self, pattern: str = READY) -> str:
        """Return what was shown before the pattern, without escape sequences."""
        self._child.expect(pattern)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self._child.before)

    def say(self, text: str) -> str:
        """Type a line and return what is shown until the next prompt."""
        self._child.send(f"{text}\r")
        self.wait(r"\x1b\[\?2004l")  # the line was taken
        return self.wait().strip("\n ")

    def send(self, text: str) -> None:
        self._child.send(text)

    def resize(self, columns: int) -> None:
        self._child.setwinsize(20, columns)
        self.wait()  # it is drawn anew

    def leave(self) -> int:
        self._child.send("\x04")
        self._child.expect(pexpect.EOF)
        return self._child.wait()

    def log(self) -> list[dict]:
        """Return the records of the conversation last gone on with."""
        files = (self.home / "nmt" / "conversations").glob("*.jsonl")
        newest = max(files, key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for line in newest.read_text().splitlines()]


def _environment() -> dict[str, str]:
    import os

    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return kept | {"PROMPT_TOOLKIT_NO_CPR": "1"}  # nobody answers where the cursor is


@pytest.fixture
def start(tmp_path):
    """A function that sits somebody down at a terminal, with the prompt ready."""
    started = []

    def begin(*arguments: str, **environment: str) -> Terminal:
        started.append(Terminal(tmp_path, *arguments, **environment))
        return started[-1]

    yield begin
    for terminal in started:
        terminal._child.close(force=True)


def test_a_whole_session(start, babbling_chat, tmp_path):
    terminal = start("-m", str(babbling_chat), *SHORT)
    assert "Ctrl-D leaves" in terminal.wait()

    first = terminal.say("안녕 친구 👍🏽")
    assert first
    assert "\ufffd" not in first
    another = terminal.say("/retry")
    assert another != first
    assert terminal.say("/history").splitlines() == ["you  안녕 친구 👍🏽", f"bot  {another}"]
    second = terminal.say("and you?")
    assert terminal.say("/undo") == f"(taken back; the last reply is now: {another})"
    assert "you  and you?" not in terminal.say("/history")

    assert terminal.say("/save talk.jsonl") == "(saved 2 turns to talk.jsonl)"
    terminal.say("/reset")
    assert terminal.say("/load talk.jsonl") == "(loaded 2 turns from talk.jsonl)"
    saved = json.loads((tmp_path / "talk.jsonl").read_text())
    assert saved == {"turns": ["안녕 친구 👍🏽", another]}

    assert terminal.say("/sav x").startswith("error: /sav: unknown command. Did you mean '/save'?")
    assert terminal.say("/set top_p 7").startswith("error: top_p must be 1e-06 to 1")
    assert "3 (0 stopped)" in terminal.say("/stats")
    assert "top_p" in terminal.say("/show")
    assert second
    assert terminal.leave() == 0
    assert [record for record in terminal.log() if "keep" in record]

    again = start("-m", str(babbling_chat), "--continue", *SHORT)
    assert f"> 안녕 친구 👍🏽\n{another}" in again.wait()
    third = again.say("more")
    assert again.leave() == 0
    assert again.log()[-1] == {"user": "more", "bot": third}
    assert len(list((tmp_path / "nmt" / "conversations").iterdir())) == 1


def test_ctrl_c_stops_a_reply_and_keeps_what_was_seen(start, babbling_chat):
    terminal = start("-m", str(babbling_chat), *(f"--set={setting}" for setting in ENDLESS))
    terminal.wait()
    terminal.send("hello\r")
    terminal.wait(r"\x1b\[\?2004l")
    seen = terminal.wait(r"\w+ \w+ ")  # it streams: this reply would take minutes
    terminal.send("\x03")
    terminal.wait(r"\(stopped\)")
    terminal.wait()
    history = terminal.say("/history")
    assert history.startswith("you  hello\nbot  ")
    assert seen.strip() in history.replace("\n", "")
    terminal.say("/set max_length 9")
    terminal.say("/set min_length 2")
    assert terminal.say("are you there?")
    assert "2 (1 stopped)" in terminal.say("/stats")
    terminal.send("half a line\x03")
    terminal.wait()
    assert terminal.leave() == 0
    assert [record["user"] for record in terminal.log() if "user" in record] == [
        "hello",
        "are you there?",
    ]


def test_several_lines_are_one_message(start, babbling_chat):
    """Pasted, in a block of quotes, or with Alt-Enter."""
    terminal = start("-m", str(babbling_chat), *SHORT)
    terminal.wait()
    terminal.send("\x1b[200~one\ntwo\nthree\x1b[201~")
    time.sleep(0.3)  # a terminal's paste ends before a person presses Enter
    assert terminal.say("")
    terminal.send('"""\r/four\r')
    assert terminal.say('five"""')
    terminal.send("six\x1b\r")
    assert terminal.say("seven")
    history = terminal.say("/history").splitlines()
    assert history[::2] == ["you  one two three", "you  /four five", "you  six seven"]
    assert terminal.leave() == 0


def test_a_seed_repeats_what_a_pipe_gets(start, babbling_chat, run_nmt, tmp_path):
    """Streamed or not, it is the same session."""
    command = ("-m", str(babbling_chat), *SHORT)
    done = run_nmt("chat", *command, cwd=tmp_path, input="hello\nhow are you\n")
    terminal = start(*command, "--no-log")
    terminal.wait()
    assert [terminal.say("hello"), terminal.say("how are you")] == done.stdout.splitlines()
    assert terminal.leave() == 0
    assert not (tmp_path / "nmt").exists()


def test_a_narrow_terminal_that_is_resized_and_has_no_colour(start, babbling_chat):
    terminal = start("-m", str(babbling_chat), *SHORT, NO_COLOR="1")
    terminal.wait()
    terminal.resize(20)
    long = "안녕하세요 " * 8
    assert terminal.say(long)
    terminal.send(long)
    terminal.resize(60)
    assert terminal.say("")
    terminal.send("/nonsense\r")
    terminal._child.expect("unknown command")
    assert "\x1b[31m" not in terminal._child.before
    terminal.wait()
    assert terminal.say("/history").count("you") == 2
    assert terminal.leave() == 0


def test_tab_completes_commands_options_and_files(start, babbling_chat, tmp_path):
    (tmp_path / "a-saved-talk.jsonl").write_text('{"turns": ["a", "b"]}\n')
    terminal = start("-m", str(babbling_chat), *SHORT)
    terminal.wait()
    terminal.send("/set temp\t")
    terminal.wait("erature")
    assert terminal.say(" 0.5").startswith("temperature  0.5")
    terminal.send("/load a-sa\t")
    terminal.wait("talk.jsonl")
    assert terminal.say("") == "(loaded 2 turns from a-saved-talk.jsonl)"
    assert terminal.leave() == 0
