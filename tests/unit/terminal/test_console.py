"""The only printer: results on stdout, the rest on stderr, colours only at a terminal."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from rich.text import Text

from nmt_cli.terminal import console
from nmt_cli.terminal.lines import Lines, run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch) -> Terminal:
    """Put a terminal in stderr's place; inside the test, since pytest swaps stderr before it."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_results_go_to_stdout_and_the_rest_to_stderr(capsys):
    console.result("r")
    console.result_json({"ü": 1})
    console.note("n")
    console.warn("w")
    console.error("e1\ne2", "h")
    captured = capsys.readouterr()
    first, second = captured.out.splitlines()
    assert first == "r"
    assert json.loads(second) == {"ü": 1}
    assert "ü" in second
    assert captured.err == "n\nwarning: w\nerror: e1\nerror: e2\nhint: h\n"


def test_a_terminal_gets_colours(monkeypatch):
    terminal = use_terminal(monkeypatch)
    console.warn("w")
    assert terminal.getvalue() == "\x1b[33mwarning:\x1b[0m w\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", ""), ("TERM", "dumb")])
def test_no_colours_where_they_are_not_wanted(monkeypatch, name, value):
    terminal = use_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    console.warn("w")
    assert terminal.getvalue() == "warning: w\n"


def test_progress_is_silent_in_a_pipe_and_live_at_a_terminal(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with console.live_progress("working", "{task.completed}", total=2) as update:
        update(completed=1, refresh=True)
    assert "working" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    with console.live_progress("working") as update:
        update(completed=1)
    assert pipe.getvalue() == ""


CONTROLS, SHOWN = "\x1b]0;x\x07\x9b1\u202e", r"\x1b]0;x\x07\x9b1\u202e"


class Echo:
    """Work whose output is its input, and a picture of these characters."""

    model = SimpleNamespace(options=SimpleNamespace(threads=1))

    def found(self, windows):
        return (SimpleNamespace(source=line) for window in windows for line in window)

    def line(self, found):
        return f"{found.source}\n"

    def screen(self, width, *, has_colour):
        return Text.assemble(f"a{CONTROLS}", ("b\n", "bold"))


def test_a_terminal_obeys_no_control_characters_of_texts(monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    source = Lines([f"a{CONTROLS}\tb"], None, "stop", "utf-8", None)
    run("echoing", Echo(), source, None)
    assert terminal.getvalue() == f"a{SHOWN}\tb\n"


def test_a_picture_on_a_terminal_shows_control_characters(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    console.show(Echo(), None)
    shown = SHOWN.replace(r"\x07", "")  # Rich leaves a bell out
    assert terminal.getvalue() == f"a{shown}\x1b[1mb\x1b[0m\n"


def test_a_progress_line_shows_names_as_they_are(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with console.counting() as tell:
        tell(f"[/b]{CONTROLS}", 1, 2)
    assert f"[/b]{SHOWN}" in terminal.getvalue()


def test_streams_become_utf8_whatever_the_locale(monkeypatch):
    out, err = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="ascii"))
    console.use_utf8()
    console.result("ü 한")
    console.note("é 한")
    assert out.getvalue().decode("utf-8") == "ü 한\n"
    assert err.getvalue().decode("utf-8") == "é 한\n"
