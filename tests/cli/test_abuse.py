"""Nasty lines: as many lines out as in, exit 0, no traceback, with both engines.

The lines are made here, not kept in a file: editors and checkouts would change some of them.
"""

import gzip
import itertools
import random
import unicodedata

import pytest

SPACES = [
    " ",
    "\t",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u200b",
    "\ufeff",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1f",
]
CONTROLS = [chr(code) for code in (*range(1, 32), 127, *range(128, 160)) if chr(code) not in "\n\r"]
TOKENS = [
    "<s>",
    "</s>",
    "<pad>",
    "<user>",
    "<bot>",
    "<persona>",
    "<unk>",
    "<0x0A>",
    "<0xFF>",
    "▁",
    "▁▁",
    "\ue000",
    "\ue001",
    "\ue000\ue002",
    "<|endoftext|>",
    "[MASK]",
    "@@",
]
SCRIPTS = [
    "שלום עולם",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "你好\uff0c世界。",
    "こんにちは。",
    "안녕하세요",
    "สวัสดี",
    "Ελληνικά;",
    "Привет!",
    "ქართული",
    "Հայերեն",
    "\u202eabc\u202c",
    "e\u0301",
    "\ufb01",
    "ǅ",
    "İi",
]
EMOJI = ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇰🇷", "👍🏽", "❤️", "\U0010fffd", "\U000e0041"]
LONG = ["a" * 3000, "a b " * 500, "." * 500, "Red dog. " * 200, "😀" * 300, "\u0301" * 200]


def nasty_lines() -> list[str]:
    """Return some 400 lines, all of them legal UTF-8 without a line end."""
    generator = random.Random(1)
    alphabet = [*SPACES, *CONTROLS, *TOKENS, *SCRIPTS, *EMOJI, *"aB1.!?\"'\\/{}%$#&;:,-_`~"]
    lines = ["", *SPACES, *(space * 5 for space in SPACES), *CONTROLS, *TOKENS, *SCRIPTS, *EMOJI]
    lines += [f"red {thing} dog" for thing in itertools.chain(SPACES, CONTROLS, TOKENS, EMOJI)]
    lines += [f"{token}red dog{token}" for token in TOKENS]
    lines += [
        "0",
        "-1",
        "1e999",
        "NaN",
        "null",
        "../../etc",
        "--help",
        "-m",
        "$(ls)",
        "%s%n",
        "{0}",
    ]
    lines += ["".join(generator.choices(alphabet, k=generator.randint(1, 30))) for _ in range(100)]
    lines += [unicodedata.normalize(form, "".join(SCRIPTS)) for form in ("NFC", "NFD", "NFKC")]
    return [*lines, *LONG, "red dog"]


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
def test_nasty_lines(run_nmt, toy_bundle, tmp_path, engine):
    lines = nasty_lines()
    assert len(lines) > 300
    content = "".join(line + "\n" for line in lines).encode()
    (tmp_path / "in.txt").write_bytes(content)
    arguments = ("-i", "in.txt", "-o", "out.txt", "--engine", engine, "--max-length", "8")
    done = run_nmt("translate", "-m", str(toy_bundle), "--beam", "2", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    outputs = (tmp_path / "out.txt").read_bytes().decode().split("\n")
    assert outputs.pop() == ""
    assert len(outputs) == len(lines)
    for source, output in zip(lines, outputs, strict=True):
        assert bool(source.strip()) == bool(output.strip()), (source, output)
    assert outputs[-1] == "rot hund"


def test_a_bot_replies_to_nasty_lines(run_nmt, babbling_chat, tmp_path):
    """Unanswerable, foreign, far too long, or no text at all: a line in, a line out."""
    lines = [line for line in nasty_lines() if not line.startswith("/")]
    short = ("--set", "min_length=2", "--set", "max_length=9", "--seed", "1")
    content = "".join(line + "\n" for line in lines).encode()
    (tmp_path / "in.txt").write_bytes(content)
    with (tmp_path / "in.txt").open() as typed:
        done = run_nmt("chat", "-m", str(babbling_chat), *short, cwd=tmp_path, stdin=typed)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    replies = done.stdout.split("\n")
    assert replies.pop() == ""
    assert len(replies) == len(lines)
    for line, reply in zip(lines, replies, strict=True):
        assert bool(line.strip()) == bool(reply.strip()), (line, reply)
        assert not any(unicodedata.category(char) == "Cc" for char in reply), (line, reply)
        assert not any(token in reply for token in ("<s>", "</s>", "<bot>", "\ufffd")), reply


def test_a_line_of_a_million_characters(run_nmt, toy_bundle, tmp_path):
    (tmp_path / "in.txt").write_text("red dog\n" + "red dog " * 125_000 + "\nred dog\n")
    arguments = ("-i", "in.txt", "-o", "out.txt.gz", "--beam", "1", "--max-length", "4")
    done = run_nmt("translate", "-m", str(toy_bundle), *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: line 2 has a sentence of " in done.stderr
    with gzip.open(tmp_path / "out.txt.gz", "rt") as stream:
        outputs = stream.read().splitlines()
    assert [outputs[0], outputs[2]] == ["rot hund"] * 2
    assert outputs[1]
