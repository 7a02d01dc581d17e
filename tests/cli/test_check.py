"""`nmt check` as a process: exit codes, JSON, the copy of --fix."""

import json

import pytest


@pytest.fixture
def texts(tmp_path):
    names = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal", "Ida", "Jan"]
    pairs = [
        (f"{a} and {b} saw {c} in the garden.", f"{a} und {b} sahen {c} im Garten.")
        for a in names for b in names for c in names if a < b < c
    ]  # fmt: skip
    pairs[9] = ("The <b>old</b> man.", "Der alte Mann.")
    for side, language in enumerate(("en", "de")):
        (tmp_path / f"train.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    (tmp_path / "my.yaml").write_text(
        "name: my\ndata: {train: [{source: train.en, target: train.de}], dev: [{rows: 10}]}\n"
        "tokenizer: {vocab_size: 400}\nmodel: auto\ntrain: auto\n"
    )
    return tmp_path


def test_json_has_every_finding(run_nmt, texts):
    done = run_nmt("check", "my.yaml", "--json", cwd=texts)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    found = [(f["check"], f["severity"], f["file"], f["line"]) for f in record["findings"]]
    assert ("markup", "warning", "train.en", 10) in found
    assert record["corpora"][0]["rows"] == 120
    assert all(isinstance(f["message"], str) for f in record["findings"])
    assert not (texts / "runs").exists()


def test_what_is_good_to_know_of_a_line_names_it(run_nmt, texts):
    lines = (texts / "train.de").read_text().splitlines()
    lines[4] += "  "
    (texts / "train.de").write_text("\n".join(lines))
    done = run_nmt("check", "my.yaml", cwd=texts)
    assert done.returncode == 0, done.stderr
    assert "train.de:5  needless spaces" in done.stdout


@pytest.mark.parametrize(
    ("started_in", "config", "folder"),
    [("conf", "my.yaml", ".."), (".", "conf/my.yaml", "conf/..")],
)
def test_a_file_that_a_message_names_is_where_it_says(run_nmt, texts, started_in, config, folder):
    """In a command it stands as it is to be typed, elsewhere as the configuration has it."""
    english = (texts / "train.en").read_text().splitlines()
    german = (texts / "train.de").read_text().replace("Garten", "schönen Garten").splitlines()
    english[60], german[60] = english[2], german[2]
    (texts / "train.en").write_text("\n".join(english))
    (texts / "train.de").write_bytes("\n".join(german).encode("cp1252"))
    (texts / "conf").mkdir()
    text = (texts / "my.yaml").read_text().replace("train.", "../train.")
    (texts / "conf" / "my.yaml").write_text(text)
    done = run_nmt("check", config, cwd=texts / started_in)
    assert done.returncode == 3
    assert "  ../train.en:61  as ../train.en:3\n" in done.stdout
    assert f"\n    iconv -f CP1252 -t UTF-8 {folder}/train.de > NEW\n" in done.stdout
    assert "not valid UTF-8" not in done.stdout  # most lines are


def test_without_errors_the_next_command_is_told(run_nmt, texts):
    done = run_nmt("check", "my.yaml", cwd=texts)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "next: nmt train my.yaml"


def test_the_next_command_has_the_settings_that_were_given(run_nmt, texts):
    given = ["--set", "data.dev=[{rows: 9}]", "--data-dir", "."]
    done = run_nmt("check", "my.yaml", *given, cwd=texts)
    settings = "'--set=data.dev=[{rows: 9}]' --set=data.dir="
    assert f"next: nmt train my.yaml {settings}" in done.stderr


def test_what_is_the_same_in_many_lines_is_told_once(run_nmt, texts):
    (texts / "x.jsonl").write_text('{"en": "one"}\n' * 30)
    done = run_nmt("check", "my.yaml", "--set", "data.train=[{file: x.jsonl}]", cwd=texts)
    assert "  x.jsonl:1, 2, 3, 4," in done.stdout
    assert done.stdout.count("needs text in the keys") == 1
    assert "... and 10 more" in done.stdout


def test_errors_exit_with_3_and_the_report_fits_80_columns(run_nmt, texts):
    with (texts / "train.de").open("ab") as stream:
        stream.write(b"\xff\xfe\n")
    with (texts / "train.en").open("ab") as stream:
        stream.write(b"One more.\n")
    done = run_nmt("check", "my.yaml", cwd=texts)
    assert done.returncode == 3
    assert "train.de:121" in done.stdout
    assert "1 error" in done.stdout
    assert done.stderr.splitlines()[-1] == "next: nmt check my.yaml --fix clean"
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_errors_that_a_copy_does_not_mend_are_for_the_hand(run_nmt, texts):
    with (texts / "train.de").open("a") as stream:
        stream.write("Eine mehr.\n")
    done = run_nmt("check", "my.yaml", cwd=texts)
    assert done.returncode == 3
    assert (
        done.stderr.splitlines()[-1] == "fix the errors by hand, then run again: nmt check my.yaml"
    )


def test_lists_of_labels_need_a_setting_rather_than_a_copy(run_nmt, tmp_path):
    lines = (f'{{"text": "word {i}", "label": ["a", "b"]}}\n' for i in range(60))
    (tmp_path / "x.jsonl").write_text("".join(lines))
    (tmp_path / "my.yaml").write_text(
        "name: my\ntask: classification\n"
        "data: {source_lang: en, train: [{file: x.jsonl}], dev: [{rows: 9}]}\n"
    )
    done = run_nmt("check", "my.yaml", cwd=tmp_path)
    assert done.returncode == 3
    told = " ".join(done.stdout.split())
    assert "x.jsonl:1 a text with several labels needs classification.multi_label: true" in told
    assert done.stderr.splitlines()[-1].startswith("fix the errors by hand")


def test_what_only_training_finds_is_an_error_of_the_report(run_nmt, texts):
    (texts / "train.en").write_text("The same.\n" * 120)  # which all goes to dev
    done = run_nmt("check", "my.yaml", cwd=texts)
    assert done.returncode == 3
    assert "error: training\n" in done.stdout
    assert "1 error to fix before training" in done.stdout
    assert "error:" not in done.stderr


def test_a_copy_does_not_go_where_something_is(run_nmt, texts):
    with (texts / "train.de").open("ab") as stream, (texts / "train.en").open("ab") as other:
        stream.write(b"\xff\xfe\n")
        other.write(b"One more.\n")
    (texts / "clean").mkdir()
    done = run_nmt("check", "my.yaml", cwd=texts)
    assert done.stderr.splitlines()[-1] == "next: nmt check my.yaml --fix clean-2"


def test_what_stands_in_for_a_configuration_is_told(run_nmt, texts):
    done = run_nmt("check", "--json", cwd=texts)
    assert "using quickstart, the bundled sample" in done.stderr
    assert "nmt.yaml" not in done.stderr
    (texts / "nmt.yaml").write_text((texts / "my.yaml").read_text())
    done = run_nmt("check", "--json", cwd=texts)
    assert "warning: nmt.yaml is not used; to use it: nmt check nmt.yaml" in done.stderr
    done = run_nmt("check", "nmt.yaml", "--json", cwd=texts)
    assert done.stderr == ""


def test_fix_writes_a_copy_that_trains(run_nmt, texts):
    done = run_nmt("check", "my.yaml", "--fix", "clean", cwd=texts)
    assert done.returncode == 0, done.stderr
    assert "1 row left out" in done.stderr
    assert "train.en\t10\tmarkup\t" in (texts / "clean" / "dropped.tsv").read_text()
    command = done.stderr.splitlines()[-1].removeprefix("next: nmt ").split()
    assert run_nmt("check", command[1], cwd=texts).returncode == 0
    again = run_nmt("check", "my.yaml", "--fix", "clean", cwd=texts)
    assert again.returncode == 2
    assert "not empty" in again.stderr


def test_the_table_of_texts_with_labels_says_so(run_nmt, tmp_path):
    rows = "".join(f"text number {n}\t{'good' if n % 2 else 'bad'}\n" for n in range(60))
    (tmp_path / "x.tsv").write_text(rows)
    (tmp_path / "my.yaml").write_text(
        "name: my\ntask: classification\ntokenizer: {vocab_size: 300}\n"
        "data: {train: [{file: x.tsv}], dev: [{rows: 10}]}\n"
    )
    done = run_nmt("check", "my.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "text   label  flagged" in done.stdout
    assert done.stdout.endswith("no errors\n")  # too few rows are a warning about none of them
