"""`nmt chat`: line by line through a pipe, and at a pseudo-terminal."""

import json
import subprocess
import sys

import pexpect
import pytest

READY = r"\x1b\[\?2004h"  # prompt_toolkit switches bracketed paste on when it waits for a line


def test_a_pipe_gets_a_line_for_a_line(run_nmt, toy_chat, tmp_path):
    typed = "hi\n/help\n\nhow are you\n/rest\n/reset\nhi\n/exit\nnever read\n"
    done = run_nmt("chat", "-m", str(toy_chat), "--beam", "1", cwd=tmp_path, input=typed)
    assert done.returncode == 0
    lines = done.stdout.split("\n")
    assert len(lines) == 5  # hi, blank, how are you, hi, and the end of the last line
    assert lines[1] == ""
    assert all(lines[i].strip() for i in (0, 2, 3))
    assert lines[0] == lines[3]  # greedy, and /reset forgot what was between
    assert "Did you mean '/reset'?" in done.stderr


def test_both_engines_read_the_turns_alike(run_nmt, toy_chat, tmp_path):
    typed = "hi\nhow are you\nhello\nwhat are you\n"
    command = ["chat", "-m", str(toy_chat), "--beam", "1", "--json", "--engine"]
    replies = []
    for engine in ("ctranslate2", "tensorflow"):
        done = run_nmt(*command, engine, cwd=tmp_path, input=typed)
        assert done.returncode == 0
        replies.append([json.loads(line) for line in done.stdout.splitlines()])
    for fast, native in zip(*replies, strict=True):
        assert fast["reply"] == native["reply"]
        assert fast["score"] == pytest.approx(native["score"], abs=1e-4)
    assert len(replies[0]) == 4
    done = run_nmt("info", str(toy_chat), cwd=tmp_path)
    assert "sinusoidal positions, turn embeddings" in " ".join(done.stdout.split())


def test_a_seed_repeats_a_sampled_conversation(run_nmt, toy_chat, tmp_path):
    command = ["chat", "-m", str(toy_chat), "--temperature", "1.5", "--top-k", "0", "--seed"]
    typed = "hi\nhow are you\n"
    first, again, other = (
        run_nmt(*command, seed, cwd=tmp_path, input=typed).stdout for seed in ("7", "7", "8")
    )
    assert first == again
    assert first != other


def test_json(run_nmt, toy_chat, tmp_path):
    done = run_nmt("chat", "-m", str(toy_chat), "--json", cwd=tmp_path, input="hi\n")
    record = json.loads(done.stdout)
    assert record["text"] == "hi"
    assert record["reply"].strip()


def test_a_long_message_is_no_name_of_a_file(run_nmt, toy_chat, tmp_path):
    done = run_nmt("chat", "-m", str(toy_chat), "how are you " * 40, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("how", [("--top-k", "3"), ("--set", "top_k=3")])
def test_beam_and_sampling_do_not_go_together(run_nmt, toy_chat, tmp_path, how):
    done = run_nmt("chat", "-m", str(toy_chat), "--beam", "2", *how, cwd=tmp_path)
    assert done.returncode == 2
    assert "--beam" in done.stderr


def test_a_pipe_may_be_in_another_encoding(run_nmt, toy_chat, tmp_path):
    command = [sys.executable, "-m", "nmt_cli", "chat", "-m", str(toy_chat), "--encoding", "utf-16"]
    done = subprocess.run(
        command, cwd=tmp_path, input="hello\nhi\n".encode("utf-16"), capture_output=True
    )
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr


@pytest.fixture
def terminal(toy_chat, tmp_path):
    child = pexpect.spawn(
        sys.executable, ["-m", "nmt_cli", "chat", "-m", str(toy_chat), "--beam", "1"],
        cwd=str(tmp_path), encoding="utf-8", timeout=120,
    )  # fmt: skip
    child.expect(READY)
    yield child
    child.close(force=True)


def test_at_a_terminal_ctrl_c_keeps_the_session_and_ctrl_d_leaves(terminal):
    terminal.send("hi\r")
    terminal.expect(READY)
    terminal.send("half a line\x03")
    terminal.expect(READY)
    terminal.send("/help\r")
    terminal.expect("/reset")
    terminal.send("\x04")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
