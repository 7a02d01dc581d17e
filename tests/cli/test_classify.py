"""`nmt classify` as a process: lines in, lines out; labels, probabilities, JSON; errors."""

import json
import shutil

import pytest

TEXTS = ["the film was great", "", "the dog was sad", "a book was blue"]
LABELS = ["good", "", "bad", "so so"]


@pytest.fixture
def classify(run_nmt, label_bundle, tmp_path):
    """A function that runs `nmt classify` with the toy model."""

    def run(*arguments: str, **options):
        return run_nmt("classify", "-m", str(label_bundle), *arguments, cwd=tmp_path, **options)

    return run


def test_arguments_get_a_line_each(classify):
    done = classify(*TEXTS)
    assert done.stdout.splitlines() == LABELS, done.stderr


@pytest.mark.parametrize("way", ["stdin", "file", "dash"])
def test_n_lines_in_are_n_lines_out(classify, tmp_path, way):
    text = "".join(f"{line}\n" for line in TEXTS * 50)
    if way == "file":
        (tmp_path / "in.txt").write_text(text)
        done = classify("-i", "in.txt", "-o", "out.txt")
        assert done.stdout == ""
        found = (tmp_path / "out.txt").read_text()
    else:
        found = classify(*(["-i", "-"] if way == "dash" else []), input=text).stdout
    assert found.split("\n") == [*(LABELS * 50), ""]


def test_top_and_proba_are_columns(classify):
    assert classify(TEXTS[0], "--top", "2").stdout.split("\t")[0] == "good"
    fields = classify(TEXTS[0], "", "--top", "3", "--proba").stdout.split("\n")
    assert fields[1:] == ["", ""]
    first = fields[0].split("\t")
    assert first[0] == "good"
    assert set(first[::2]) == {"good", "bad", "so so"}
    assert sum(map(float, first[1::2])) == pytest.approx(1, abs=2e-4)
    assert classify(TEXTS[0], "--proba").stdout == f"good\t{first[1]}\n"


def test_json_has_labels_and_probabilities(classify):
    lines = classify(*TEXTS, "--json").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["source"] for record in records] == TEXTS
    assert [record["labels"] for record in records] == [["good"], [], ["bad"], ["so so"]]
    assert next(iter(records[0]["probabilities"])) == "good"
    assert len(records[0]["probabilities"]) == 3
    assert records[1]["probabilities"] == {}
    (line,) = classify(TEXTS[0], "--json", "--top", "1").stdout.splitlines()
    assert len(json.loads(line)["probabilities"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["x", "--top", "0"], 2, "--top must be at least 1"),
        (["x", "-i", "y"], 2, "either texts or --input"),
        (["x", "--threads", "0"], 2, "--threads must be at least 1"),
        (["x", "--format", "int8"], 4, "nmt export"),
        (["-i", "none.txt"], 3, "none.txt"),
    ],
)
def test_what_goes_wrong_is_told(classify, arguments, code, told):
    done = classify(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "--engine" not in done.stderr


def test_models_of_other_tasks_are_refused(run_nmt, toy_bundle, label_bundle, tmp_path):
    done = run_nmt("classify", "-m", str(toy_bundle), "x", cwd=tmp_path)
    assert done.returncode == 4
    assert "is a translation model, not for classification" in done.stderr
    done = run_nmt("translate", "-m", str(label_bundle), "x", cwd=tmp_path)
    assert done.returncode == 4
    assert "is a classification model, not for translation" in done.stderr


def test_without_a_model_the_command_that_makes_one_is_told(run_nmt, tmp_path):
    done = run_nmt("classify", "x", cwd=tmp_path)
    assert done.returncode == 4
    assert "nmt train sentiment" in done.stderr


def test_the_newest_classifier_below_runs_is_taken(run_nmt, label_bundle, toy_bundle, tmp_path):
    shutil.copytree(label_bundle.parent, tmp_path / "runs" / "labels")
    shutil.copytree(toy_bundle.parent, tmp_path / "runs" / "toy")
    done = run_nmt("classify", "the cat was awful", cwd=tmp_path)
    assert done.stdout == "bad\n", done.stderr


def test_bytes_that_are_no_utf8_are_told_or_mended(classify):
    raw = b"the dog was sad\n\xff\n"
    done = classify(input=raw.decode("latin-1"), encoding="latin-1")
    assert done.returncode == 3
    assert ":2:" in done.stderr
    done = classify("--on-error", "skip-as-blank", input=raw.decode("latin-1"), encoding="latin-1")
    assert done.stdout == "bad\n\n"


def test_info_and_dry_run_know_classifiers(run_nmt, label_bundle, label_corpus, tmp_path):
    shown = run_nmt("info", str(label_bundle), cwd=tmp_path).stdout
    assert "3, one a text: bad, good, so so" in shown
    assert "architecture  1 layers" in shown
    done = run_nmt("train", str(label_corpus / "labels.yaml"), "--dry-run", cwd=tmp_path)
    assert "train: 600 pairs" in done.stderr
    assert "model: " in done.stderr
    assert done.returncode == 0
