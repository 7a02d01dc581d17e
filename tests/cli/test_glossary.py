"""`--glossary` of `nmt translate` and `nmt evaluate`, with a model that knows ten words."""

import json

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "terms.tsv").write_text("# words\ndog|dogs\tvogel\tnever hund\ncat\tkatze|katzen\n")
    (tmp_path / "in.txt").write_text("dog\n\nred cat\nold bird\n")
    (tmp_path / "in.md").write_text("# dog\n\ncat *sees* bird\n")
    return tmp_path


def test_lines(translate):
    done = translate("-i", "in.txt", "--glossary", "terms.tsv")
    assert done.stdout == "vogel\n\nrot katze\nalt vogel\n", done.stderr
    assert done.stderr == "glossary: 2 used, 0 missed\n"


def test_json_tells_of_each_term(translate):
    done = translate("-i", "in.txt", "--glossary", "terms.tsv", "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    terms = [record["hypotheses"][0]["terms"] for record in records]
    assert terms[0] == [{"source": "dog", "target": "vogel", "why": None}]
    assert [len(some) for some in terms] == [1, 0, 1, 0]
    assert "terms" not in translate("dog", "--json").stdout


def test_what_is_missed_is_told_with_the_reason(translate, folder):
    (folder / "long.tsv").write_text(f"dog\t{'vogel' * 9}\n")
    done = translate("dog", "--glossary", "long.tsv", "--max-length", "6")
    assert done.stdout == "hund\n"
    assert "glossary: 0 used, 1 missed\n" in done.stderr
    assert "missed 'dog' (1): with it the output has over 6 tokens" in done.stderr


def test_a_document(translate, folder):
    done = translate("in.md", "-o", "out.md", "--glossary", "terms.tsv")
    assert done.returncode == 0, done.stderr
    assert (folder / "out.md").read_text().startswith("# vogel\n")
    assert done.stderr.endswith("glossary: 2 used, 0 missed\n")


def test_a_share_depends_on_the_glossary(translate, folder):
    arguments = ("-i", "in.txt", "-o", "out.txt", "--shard", "1/1", "--glossary", "terms.tsv")
    assert translate(*arguments).returncode == 0
    assert "exists already" in translate(*arguments).stderr
    (folder / "terms.tsv").write_text("dog\tkatze\n")
    assert "exists already" not in translate(*arguments).stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dog\tvogel\ncat\n", "bad.tsv, line 2: not a term and its translation"),
        ("dog\t\n", "bad.tsv, line 1: a form is empty"),
        (None, "bad.tsv: cannot be read: No such file"),
    ],
)
def test_a_bad_glossary_is_one_line(translate, folder, text, told):
    if text is not None:
        (folder / "bad.tsv").write_text(text)
    done = translate("dog", "--glossary", "bad.tsv")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: ")
    assert told in done.stderr


def test_evaluate_gives_the_share_of_right_terms(run_nmt, toy_bundle, folder):
    (folder / "ref.txt").write_text("vogel\n\nrot katze\nalt vogel\n")
    pairs = ("-i", "in.txt", "--reference", "ref.txt", "--glossary", "terms.tsv", "--json")
    done = run_nmt("evaluate", "-m", str(toy_bundle), *pairs, cwd=folder)
    assert done.returncode == 0, done.stderr
    without, with_it = json.loads(done.stdout)["systems"]
    assert (without["terms"], without["terms_right"]) == (2, 0.5)
    assert (with_it["name"], with_it["terms_right"]) == ("with the glossary", 1.0)
    assert with_it["chrf"]["score"] > without["chrf"]["score"]
    (folder / "out.txt").write_text("vogel\n\nrot katze\nalt vogel\n")
    done = run_nmt("evaluate", "--hypotheses", "out.txt", *pairs, cwd=folder)
    assert json.loads(done.stdout)["terms_right"] == 1.0


def test_no_term_has_no_share_of_right_ones(run_nmt, folder):
    (folder / "in.txt").write_text("bird\n")
    files = ("-i", "in.txt", "--hypotheses", "in.txt", "--reference", "in.txt")
    done = run_nmt("evaluate", *files, "--glossary", "terms.tsv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "terms 0\n" in done.stdout
    assert "terms_right" not in done.stdout


def test_what_has_no_use_for_a_glossary(run_nmt, toy_chat, label_bundle, folder):
    for bundle in (toy_chat, label_bundle):
        pairs = ("-i", "in.txt", "--reference", "in.txt", "--glossary", "terms.tsv")
        done = run_nmt("evaluate", "-m", str(bundle), *pairs, cwd=folder)
        assert done.returncode != 0
    files = ("--hypotheses", "in.txt", "--reference", "in.txt", "--glossary", "terms.tsv")
    done = run_nmt("evaluate", *files, cwd=folder)
    assert (done.returncode, "--glossary needs the source lines" in done.stderr) == (2, True)
