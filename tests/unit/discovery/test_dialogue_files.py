"""Dialogues in text files, and what must not be taken for them."""

import pytest

from nmt_cli.config.tasks import CHAT, TRANSLATION
from nmt_cli.discovery.folder import discover
from nmt_cli.errors import DataError

TURNS = ["Have you been to the market today?", "No, but I want to go there.", "Shall we go now?"]
DIALOGUES = [*TURNS, "", *TURNS[:2], ""] * 9
GERMAN = ["Der alte Mann liest ein Buch.", "Wir sahen das Haus nicht.", "Es regnet heute.", ""] * 9


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("task", [None, CHAT])
def test_a_turn_a_line_with_blank_lines_between(tmp_path, task):
    for name in ("train.txt", "valid.txt"):
        write(tmp_path / name, DIALOGUES)
    found = discover(tmp_path, task)
    assert found.corpora["train"] == [{"file": "train.txt"}]
    assert found.corpora["dev"] == [{"file": "valid.txt"}]
    assert (found.task.name, found.languages, found.doubt) == ("chat", ("en", "en"), "")


def test_dialogues_are_no_translation(tmp_path):
    write(tmp_path / "x.txt", DIALOGUES)
    with pytest.raises(DataError, match=r"no parallel text or table of two texts found in x\.txt"):
        discover(tmp_path, TRANSLATION)


@pytest.mark.parametrize("lines", [TURNS * 9, ["", *TURNS], ["one", ""] * 9])
def test_other_text_is_no_dialogue(tmp_path, lines):
    write(tmp_path / "x.txt", lines)
    with pytest.raises(DataError, match=r"table or dialogues found in x\.txt$"):
        discover(tmp_path)


def test_parallel_text_with_paragraphs_stays_parallel(tmp_path):
    write(tmp_path / "a.txt", [*TURNS, ""] * 9)
    write(tmp_path / "b.txt", GERMAN)
    found = discover(tmp_path)
    assert found.corpora["train"] == [{"source": "b.txt", "target": "a.txt"}]
    assert found.task.name == "translation"
