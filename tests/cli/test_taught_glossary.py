"""`data.glossary`: what `nmt train` says of it, and a model that was taught to read terms."""

import json
import random
import shutil

import pytest

import nmt_cli
from nmt_cli.search.glossary import Glossary
from nmt_cli.text.term_lessons import annotated

# Each word has two translations, which the text has equally often: only a term can tell which.
WORDS = {"dog": ("hund", "vogel"), "cat": ("katze", "rot"), "sees": ("sieht", "isst")}


@pytest.fixture(scope="module")
def text(toy_corpus, tmp_path_factory):
    """A folder with a configuration and pairs of ambiguous words."""
    folder, draw = tmp_path_factory.mktemp("ambiguous"), random.Random(1)
    for split, count in (("train", 1500), ("dev", 12), ("test", 12)):
        lines = [draw.choices(list(WORDS), k=draw.randint(1, 3)) for _ in range(count)]
        made = [[draw.choice(WORDS[word]) for word in line] for line in lines]
        for side, rows in (("en", lines), ("de", made)):
            (folder / f"{split}.{side}").write_text("".join(f"{' '.join(row)}\n" for row in rows))
    shutil.copy(toy_corpus / "toy.yaml", folder)
    (folder / "terms.tsv").write_text("dog\tvogel\ncat\trot\n")
    return folder


@pytest.fixture(scope="module")
def taught(text, train_toy):
    config = (text / "toy.yaml").read_text()
    config = config.replace("  dir: .\n", "  dir: .\n  glossary: true\n")
    config = config.replace("max_length: 24}", "max_length: 48}")
    # Its scores say nothing, as the text is ambiguous: the last model shall be the best.
    config = config.replace("steps: 300", "steps: 700").replace("steps: 150", "steps: 700")
    config = config.replace("average_checkpoints: 3", "average_checkpoints: 1")
    (text / "taught.yaml").write_text(config)
    return train_toy(text / "taught.yaml", text)


def test_the_model_reads_a_term(taught):
    with nmt_cli.load(taught) as model:
        both = model.vocabularies
        for word, forms in WORDS.items():
            for form in forms:
                ids = [*both.source.encode(word), 2]
                told = annotated(both.source, ids, [(0, len(word), form)])
                (found,) = model.engine.search([told], model.search_options())
                assert both.target.decode(found[0].ids) == form


def test_the_command_line(taught, run_nmt, text):
    (text / "in.txt").write_text("dog sees cat\ncat\n\nsees\ndog dog\n")
    arguments = ("-m", str(taught), "-i", "in.txt", "--glossary", "terms.tsv")
    done = run_nmt("translate", *arguments, cwd=text)
    lines = done.stdout.splitlines()
    assert done.stderr == "glossary: 4 used, 0 missed\n"
    assert (lines[0].split()[0], lines[0].split()[2], lines[1:3]) == ("vogel", "rot", ["rot", ""])
    plain = run_nmt("translate", *arguments[:4], cwd=text).stdout.splitlines()
    assert plain[3] == lines[3]


def test_a_term_that_the_model_leaves_out_is_placed(taught, monkeypatch):
    glossary = Glossary(((("dog",), ("vogelhund",)),))
    with nmt_cli.load(taught) as model:
        monkeypatch.setattr(
            "nmt_cli.search.term_search.annotated", lambda side, source, terms: source
        )
        (found,) = model.translate(["dog"], glossary=glossary)
    assert found.text == "vogelhund"


def test_what_is_wrong_is_one_line(run_nmt, text):
    (text / "bad.tsv").write_text("dog\tvogel\ncat\n")
    for value, code, told in (
        ("3", 2, "data.glossary: should be a valid boolean (it is 3)"),
        ("none.tsv", 3, "none.tsv: no such file"),
        ("bad.tsv", 3, "bad.tsv, line 2: not a term and its translation"),
    ):
        done = run_nmt("train", "toy.yaml", "--set", f"data.glossary={value}", cwd=text)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("error: ")
        assert told in done.stderr
    done = run_nmt("train", "chat", "--set", "data.glossary=true", cwd=text)
    assert (done.returncode, "glossary is for task: translation only" in done.stderr) == (2, True)


def test_a_run_remembers_its_glossary(run_nmt, text):
    steps = ("--set", "train.max_steps=2", "--set", "name=kept", "--set", "train.eval_steps=2")
    arguments = ("train", "toy.yaml", *steps, "--set", "data.glossary=terms.tsv")
    assert run_nmt(*arguments, cwd=text).returncode == 0
    (text / "terms.tsv").write_text("dog\thund\n")
    done = run_nmt(*arguments, cwd=text)
    (text / "terms.tsv").write_text("dog\tvogel\ncat\trot\n")
    assert done.returncode == 2
    assert "was started with other settings" in done.stderr
    assert json.loads((text / "runs/kept/model/bundle.json").read_text())["vocabulary"]
