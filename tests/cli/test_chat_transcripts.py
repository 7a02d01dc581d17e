"""Exact transcripts of `nmt chat` in a pipe, with an engine whose answers are known."""

import itertools
import json

import pytest
from typer.testing import CliRunner

from nmt_cli.cli import app
from nmt_cli.search.engine import Hypothesis
from nmt_cli.text.special_tokens import BOT_ID, EOS_ID, USER_ID
from nmt_cli.text.vocabulary import Vocabularies


class Parrot:
    """Repeats the user's last turn, and tells how many it sees; samples have a number."""

    description = "a parrot"
    max_length = 90

    def __init__(self, vocabularies: Vocabularies) -> None:
        self._target = vocabularies.target

    def restart(self):
        pass

    def search(self, sources, options, *, first_index=0):
        return [
            [self._answer(source, first_index + i if options.sample else None)]
            for i, source in enumerate(sources)
        ]

    def stream(self, source, options, *, index=0):
        yield from self._answer(source, index if options.sample else None).ids

    def score(self, sources, targets):
        return [[-float(len(target))] for target in targets]

    def _answer(self, source, number):
        newest = source[source.index(USER_ID) + 1 :]
        turn = itertools.takewhile(lambda piece: piece not in (BOT_ID, EOS_ID), newest)
        heard = self._target.decode(list(turn))
        text = f"{heard}! ({source.count(USER_ID)} heard)" + (f" #{number}" if number else "")
        return Hypothesis([*self._target.encode(text), EOS_ID], -0.25)


@pytest.fixture
def chat(babbling_chat, tmp_path, monkeypatch):
    """A function that types lines into a pipe and returns what came out: stdout and stderr."""
    vocabularies = Vocabularies.load(babbling_chat)
    monkeypatch.setattr("nmt_cli.api.model.load_engine", lambda *_, **__: Parrot(vocabularies))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, typed: str) -> tuple[str, str]:
        command = ["chat", "-m", str(babbling_chat), *arguments]
        done = CliRunner().invoke(app, command, input=typed.encode())
        assert done.exit_code == 0, done.output
        return done.stdout, done.stderr

    return run


def test_lines_in_lines_out_and_commands_answer_on_stderr(chat):
    typed = """\
hi
안녕 👍🏽

/history
/undo
/undo
/undo
and you?
/reset
and you?
/retry
/resett
/undo now
/set
/save
/exit
never read
"""
    assert chat("--beam", "1", typed=typed) == (
        """\
hi! (1 heard)
안녕 👍🏽! (2 heard)

and you?! (1 heard)
and you?! (1 heard)
""",
        """\
you  hi
bot  hi! (1 heard)
you  안녕 👍🏽
bot  안녕 👍🏽! (2 heard)
(taken back; the last reply is now: hi! (1 heard))
(taken back; the conversation is empty)
(there is nothing to take back)
(the conversation is forgotten)
and you?! (1 heard)
(the same: a search always finds the best reply; /set sample true draws others)
error: /resett: unknown command. Did you mean '/reset'? /help shows them all.
error: /undo now: the command is /undo
error: /set: the command is /set KEY VALUE
error: /save: the command is /save FILE
""",
    )


def test_settings_are_checked_and_tell_what_changed(chat):
    typed = """\
/set history_turns 0
hi
there
/set history_turns=2
there
/set beam_size 3
/set top_p 0.5
/set persona calm = a parrot
/set persona
/set persona none
/set stream off
/set rerank 3
/set rerank 0.4e1
/set rerank three
/set rerank 65
/set temprature 1
/set min_length -1
/set max_length_ratio 2.5
"""
    keys = (
        "history_turns, persona, rerank, anti_generic_weight, stream, beam_size, "
        "length_penalty, coverage_penalty, max_length, max_length_ratio, min_length, "
        "min_length_ratio, no_repeat_ngram_size, repetition_penalty, sample, temperature, top_k, "
        "top_p, seed"
    )
    assert chat("--beam", "1", typed=typed) == (
        "hi! (1 heard)\nthere! (1 heard)\nthere! (2 heard)\n",
        f"""\
history_turns  0
history_turns  2
beam_size  3
sample  true
top_p   0.5
persona  calm = a parrot
error: persona: needs a value (persona=VALUE)
persona  none
stream  false
rerank  3
rerank  4
error: rerank must be a whole number (it is 'three')
error: rerank must be 1 to 64 (it is 65)
error: temprature: unknown option. Did you mean 'temperature'?
hint: the options are: {keys}
error: min_length must be 0 to 2147483647 (it is -1)
max_length_ratio  2.5
""",
    )


def test_json_has_scores_and_latency(chat):
    out, _ = chat("--json", "--beam", "1", "--set", "history_turns=0", typed="hi\n\n")
    first, blank = map(json.loads, out.splitlines())
    assert first.pop("seconds") >= 0
    assert first == {"text": "hi", "reply": "hi! (1 heard)", "score": -0.25}
    assert blank == {"text": "", "reply": "", "score": None, "seconds": 0.0}


def test_a_conversation_is_saved_as_a_dialogue_and_loaded_again(chat, tmp_path):
    typed = "hi\n안녕\n/save my talk.jsonl\n/reset\n/load my talk.jsonl\n/history\nhm\n"
    out, told = chat("--beam", "1", "--set", "history_turns=9", typed=typed)
    turns = ["hi", "hi! (1 heard)", "안녕", "안녕! (2 heard)"]
    assert json.loads((tmp_path / "my talk.jsonl").read_text()) == {"turns": turns}
    assert out.splitlines() == [*turns[1::2], "hm! (3 heard)"]
    assert told.splitlines() == [
        "(saved 4 turns to my talk.jsonl)",
        "(the conversation is forgotten)",
        "(loaded 4 turns from my talk.jsonl)",
        *(f"{('you', 'bot')[i % 2]}  {turn}" for i, turn in enumerate(turns)),
    ]


def test_files_that_are_no_conversation_are_left_alone(chat, tmp_path):
    (tmp_path / "notes.txt").write_text("buy milk\n")
    (tmp_path / "other.json").write_text('{"a": 1}\n')
    (tmp_path / "empty").write_text("")
    (tmp_path / "bad.jsonl").write_text('{"turns": ["hi", 3]}\n')
    names = ["notes.txt", "other.json", "empty", "bad.jsonl", "none", ".", "/dev/zero", "-", "x\0y"]
    typed = "".join(f"/load {name}\n" for name in names) + "/save notes.txt\n/save no/such/\n"
    _, told = chat(typed=typed)
    assert told.splitlines() == [
        "error: notes.txt:1: not JSON: Expecting value: line 1 column 1 (char 0)",
        "error: other.json:1: not part of a conversation",
        "error: empty: contains no conversation",
        "error: bad.jsonl:1: turns must be texts that are not blank",
        "error: none: no such file",
        "error: .: is a folder",
        "error: /dev/zero: is not an ordinary file",
        "error: -: no such file",
        r"error: x\x00y: a NUL character cannot be in the name of a file",
        "error: notes.txt: exists already and is not a saved conversation",
        "(saved 0 turns to no/such/)",
    ]
    assert (tmp_path / "notes.txt").read_text() == "buy milk\n"


def test_a_pipe_keeps_nothing_unless_it_goes_on(chat, tmp_path):
    chat(typed="hi\n")
    assert not (tmp_path / "home").exists()


def test_each_draw_is_numbered(chat):
    """So a seed repeats a whole session, with replies taken back and tried again."""
    typed = "hi\nhi\n/retry\n/undo\nhi\n/set seed 5\nhi\nhi\n"
    out, told = chat("--set", "history_turns=0", "--seed", "4", typed=typed)
    assert out.splitlines() == [
        "hi! (1 heard)",
        "hi! (1 heard) #1",
        "hi! (1 heard) #3",
        "hi! (1 heard)",
        "hi! (1 heard) #1",
    ]
    assert told.splitlines()[0] == "hi! (1 heard) #2"
