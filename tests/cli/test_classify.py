"""`nmt classify` as a process: lines in, lines out; labels, probabilities, JSON; errors."""

import json
import shutil
import sys

import pexpect
import pytest
from html_page import Page

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
        (["x", "--threads", "0"], 2, "--threads must be 1 to 512"),
        (["x", "--format", "int16"], 4, "nmt export"),
        (["-i", "none.txt"], 3, "none.txt"),
    ],
)
def test_what_goes_wrong_is_told(classify, arguments, code, told):
    done = classify(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "--engine" not in done.stderr


def test_the_text_of_a_table_is_a_named_column(classify, tmp_path):
    rows = ["label,text", "?,the film was great", '?,"the dog was\nsad"', "?,a book was blue"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    done = classify("-i", "t.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--column" in done.stderr
    assert classify("-i", "t.csv", "--column", "text").stdout == "good\nbad\nso so\n"
    done = classify("-i", "t.csv", "--column", "txt")
    assert done.returncode == 3
    assert "its columns are: label, text" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "num_lines", "told"),
    [
        (("-i", "t.jsonl"), 2, 0, "t.jsonl is a table"),
        (("-i", "t.txt"), 0, 3, "t.txt:2 has a tab"),
        (("-i", "-"), 0, 3, "standard input:2 has a tab"),
        (("t.jsonl",), 2, 0, "t.jsonl is a file, not a text"),
    ],
)
def test_a_table_is_not_taken_for_text(classify, tmp_path, arguments, code, num_lines, told):
    (tmp_path / "t.jsonl").write_text('{"a": {"text": "the film was great"}, "label": "?"}\n')
    (tmp_path / "t.txt").write_text("\ntext\tlabel\nthe film was great\tgood\n")
    done = classify(*arguments, input=(tmp_path / "t.txt").read_text())
    assert (done.returncode, done.stdout.count("\n")) == (code, num_lines)
    assert done.stderr.count(told) == 1
    assert classify("-i", "t.jsonl", "--column", "a.text").stdout == "good\n"


def test_a_text_that_is_too_long_is_told(classify):
    done = classify("the film was great " * 200)
    assert done.returncode == 0
    assert done.stderr.startswith("warning: line 1 has ")
    assert "ignores the rest (model.max_length is " in done.stderr


def test_verbose_tells_the_engine(classify):
    done = classify("the film was great", "--verbose")
    assert done.stdout == "good\n"
    assert done.stderr.startswith("engine: CTranslate2 ")


def test_the_prompt_gives_labels_to_what_is_typed(label_bundle, tmp_path):
    child = pexpect.spawn(
        sys.executable, ["-m", "nmt_cli", "classify", "-m", str(label_bundle)],
        cwd=str(tmp_path), encoding="utf-8", timeout=120,
    )  # fmt: skip
    ready = r"\x1b\[\?2004h"  # prompt_toolkit switches bracketed paste on when it waits for a line
    for typed, answer in (
        ("the film was great", r"good\r\n"),
        ("/top 2", None),
        ("the dog was sad", r"bad\t\w"),
        ("/proba", None),
        ("the dog was sad", r"bad\t0\.\d{4}"),
        ("/labels", "bad, good, so so"),
        ("/tpo 3", "Did you mean '/top'"),
        ("/top x", "takes a number of at least 1"),
        ("/exit", pexpect.EOF),
    ):
        child.expect(ready)
        child.send(typed + "\r")
        if answer is not None:
            child.expect(answer)
    child.close()
    assert child.exitstatus == 0


def test_what_is_typed_is_not_written_to_a_file(label_bundle, tmp_path):
    """The prompt is on the terminal, and only answers are in a file."""
    command = f"{sys.executable} -m nmt_cli classify -m {label_bundle}"
    child = pexpect.spawn(
        "bash", ["-c", f"{command} > answers"], cwd=str(tmp_path), encoding="utf-8", timeout=120
    )
    for typed in ("the film was great", "/exit"):
        child.expect(r"\x1b\[\?2004h")
        child.send(typed + "\r")
    child.expect(pexpect.EOF)
    assert (tmp_path / "answers").read_text() == "good\n"
    child = pexpect.spawn("bash", ["-c", f"{command} -o answers"], cwd=str(tmp_path), timeout=120)
    child.expect("--output: no effect at the prompt")
    child.expect(pexpect.EOF)


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
    assert " nats per example\n" in shown
    done = run_nmt("train", str(label_corpus / "labels.yaml"), "--dry-run", cwd=tmp_path)
    assert "train: 600 texts" in done.stderr
    assert "model: " in done.stderr
    assert done.returncode == 0


# --- nmt evaluate and nmt plot confusion ----------------------------------------------------------


@pytest.fixture
def with_data(run_nmt, label_bundle, label_corpus, tmp_path):
    """A function that runs a command on the toy model and its own text."""

    def run(*arguments: str):
        model = ("-m", str(label_bundle), "--data-dir", str(label_corpus))
        return run_nmt(*arguments, *model, cwd=tmp_path)

    return run


def test_evaluate_tells_accuracy_labels_and_confusion(with_data):
    lines = with_data("evaluate").stdout.splitlines()
    assert lines[0].startswith("accuracy 100.00  examples:30|labels:3")
    assert lines[1].startswith("macro_f1 100.00")
    assert lines[3].split() == ["label", "precision", "recall", "f1", "examples"]
    assert [line.split("  ")[0] for line in lines[4:7]] == ["bad", "good", "so so"]
    assert lines[8] == "toy-labels: 30 examples"
    assert lines[9].split() == ["has,", "got", "bad", "good", "so", "so"]
    matrix = [line.split()[-3:] for line in lines[10:13]]
    assert [row[i] != "0" for i, row in enumerate(matrix)] == [True] * 3
    assert sum(int(count) for row in matrix for count in row) == 30


def test_evaluate_reads_files_of_texts_and_labels(run_nmt, label_bundle, tmp_path):
    (tmp_path / "x.txt").write_text("the dog was sad\nthe dog was great\n")
    (tmp_path / "y.txt").write_text("bad\nbad\n")
    files = ("--source=x.txt", "--reference", "y.txt")  # the old name of --input
    done = run_nmt("evaluate", "-m", str(label_bundle), *files, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["accuracy"]["score"] == 50
    assert found["confusion"] == [[1, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert [label["recall"] for label in found["labels"]] == [50, 0, 0]
    (mistake,) = found["mistakes"]
    assert (mistake["reference"], mistake["output"], mistake["example"]) == ("bad", "good", 2)
    (tmp_path / "x.txt").write_text(f"the dog was sad\n{'the dog was great ' * 200}\n")
    done = run_nmt("evaluate", "-m", str(label_bundle), *files, "--json", cwd=tmp_path)
    assert "does not read 1 of 2 texts to the end (model.max_length is " in done.stderr
    (tmp_path / "y.txt").write_text("bad\nbat\n")
    done = run_nmt("evaluate", "-m", str(label_bundle), *files, cwd=tmp_path)
    assert done.returncode == 3
    assert "y.txt:2: unknown label 'bat'. Did you mean 'bad'?" in done.stderr


def test_lines_without_a_text_or_a_label_are_left_out_of_every_file(
    run_nmt, label_bundle, tmp_path
):
    (tmp_path / "x.txt").write_text("the dog was sad\n\nthe dog was fine\nthe dog was great\n")
    (tmp_path / "y.txt").write_text("bad\n\n\ngood\n")
    (tmp_path / "z.txt").write_text("good\n\nso so\ngood\n")
    files = ("--input", "x.txt", "--reference", "y.txt", "--compare", "z.txt", "--json")
    done = run_nmt("evaluate", "-m", str(label_bundle), *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["examples"] == 2
    assert [system["accuracy"]["score"] for system in found["systems"]] == [100, 50]
    (tmp_path / "z.txt").write_text("good\n\nso so\ngoood\n")
    done = run_nmt("evaluate", "-m", str(label_bundle), *files, cwd=tmp_path)
    assert "z.txt:4: unknown label 'goood'" in done.stderr


def test_files_of_labels_are_in_the_encoding_that_is_given(run_nmt, label_bundle, tmp_path):
    for name, text in (("x", "the dog was sad\n"), ("y", "bad\n")):
        (tmp_path / name).write_bytes(text.encode("utf-16"))
    files = ("--input", "x", "--reference", "y", "--compare", "y", "--encoding", "utf-16")
    done = run_nmt("evaluate", "-m", str(label_bundle), *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option", ["--beam=2", "--set=top_k=2"])
def test_options_of_search_are_refused(with_data, option):
    done = with_data("evaluate", option)
    assert done.returncode == 2
    assert "not for classifiers" in done.stderr


def test_evaluate_compares_models_and_files_of_labels(
    with_data, label_bundle, label_corpus, tmp_path
):
    right = [line.split("\t")[1] for line in (label_corpus / "test.tsv").read_text().splitlines()]
    outputs = ["bad"] * 15 + right[15:]
    (tmp_path / "others.txt").write_text("".join(f"{label}\n" for label in outputs))
    others = ("--compare", "others.txt", "--compare", str(label_bundle))
    done = with_data("evaluate", *others, "--report", "page.html", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first, file, _ = found["systems"]
    wrong = sum(label != "bad" for label in right[:15])
    assert first["accuracy"]["score"] == 100
    assert file["accuracy"]["score"] == pytest.approx(100 * (30 - wrong) / 30)
    assert first["p_values"] is None
    assert file["p_values"]["accuracy"] < 0.05
    assert (found["examples"], len(found["samples"])) == (30, 5)
    assert all(len(set(sample["outputs"])) == 2 for sample in found["samples"])
    page = Page((tmp_path / "page.html").read_text())
    assert page.of("section", "td")[:2] == ["accuracy", "100.00"]
    assert "100.00 (the same)" in page.of("section", "td")
    shown = with_data("evaluate", *others).stdout.splitlines()
    assert shown[1].split()[:2] == ["accuracy", "100.00"]
    assert "(the same)" in shown[1]


@pytest.mark.parametrize(
    ("other", "code", "said"),
    [
        ("nowhere", 4, "nowhere: no such folder"),
        ("short.txt", 3, "short.txt has 1 line, the reference has 30"),
        ("wrong.txt", 3, "wrong.txt:30: unknown label 'goood'. Did you mean 'good'?"),
        ("{pairs}", 2, "has other labels than"),
        ("{toy}", 4, "is a translation model, not for classification"),
    ],
)
def test_what_cannot_be_compared_is_told(
    with_data, pair_bundle, toy_bundle, tmp_path, other, code, said
):
    (tmp_path / "short.txt").write_text("good\n")
    (tmp_path / "wrong.txt").write_text("good\n" * 29 + "goood\n")
    done = with_data("evaluate", "--compare", other.format(pairs=pair_bundle, toy=toy_bundle))
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["c.png", "c.svg", "c.html"])
def test_the_confusion_matrix_is_a_picture(with_data, tmp_path, name):
    assert with_data("plot", "confusion", "-o", name, "--split", "dev").returncode == 0
    content = (tmp_path / name).read_bytes()
    assert content.startswith(b"\x89PNG") or b"so so" in content


def test_export_writes_other_number_formats_and_compares_accuracy(
    run_nmt, label_bundle, label_corpus, tmp_path
):
    shutil.copytree(label_bundle, tmp_path / "model")
    data = ("--data-dir", str(label_corpus))
    done = run_nmt("export", "-m", "model", "--format", "bfloat16", *data, "--json", cwd=tmp_path)
    record = json.loads(done.stdout)
    accuracy = {form["number_format"]: form["accuracy"] for form in record["formats"]}
    assert accuracy["float32"] == 100
    assert accuracy["bfloat16"] > 90
    assert "dev accuracy" in run_nmt("info", "model", cwd=tmp_path).stdout
    for number_format in accuracy:
        arguments = ("-m", "model", "--format", number_format, "the cat was awful")
        assert run_nmt("classify", *arguments, cwd=tmp_path).stdout == "bad\n"
    done = run_nmt("export", "-m", "model", "--saved-model", "x", cwd=tmp_path)
    assert done.returncode == 4
    assert "is a classification model" in done.stderr
