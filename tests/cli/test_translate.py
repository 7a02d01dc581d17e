"""`nmt translate` as a process: N lines in, N lines out, in order, whatever the lines are."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pexpect
import pytest
from small_bundles import own_bundle

from nmt_cli.bundle.manifest import MANIFEST, as_text, read_manifest

NASTY = ["a b c", "", "   ", "\t", "x\u2028y", "</s> <pad> ▁ <0x0A>", "😀 ✨", "עברית", "a" * 300,
         "a b"]  # fmt: skip


@pytest.fixture(scope="module")
def translated(run_nmt, toy_bundle, tmp_path_factory):
    folder = tmp_path_factory.mktemp("translate")
    (folder / "in.txt").write_text("".join(line + "\n" for line in NASTY), encoding="utf-8")
    done = run_nmt("translate", "-m", str(toy_bundle), "-i", "in.txt", "-o", "out.txt",
                   "--max-length", "20", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "out.txt").read_text(encoding="utf-8").split("\n"), done


def test_every_line_gives_one_line(translated):
    lines, done = translated
    assert lines.pop() == ""
    assert len(lines) == len(NASTY)
    for source, output in zip(NASTY, lines, strict=True):
        assert bool(source.strip()) == bool(output.strip())
        if not source.strip():
            assert output == source
    assert done.stdout == ""


def test_a_line_too_long_for_the_model_is_warned_about_with_its_number(translated):
    _, done = translated
    assert [line for line in done.stderr.splitlines() if "warning: line 9 has " in line]


def test_arguments_stdin_and_gz_give_the_same(run_nmt, toy_bundle, tmp_path):
    model = ["-m", str(toy_bundle), "--beam", "2"]
    by_argument = run_nmt("translate", *model, "a b c", "a b", cwd=tmp_path).stdout
    by_stdin = run_nmt("translate", *model, cwd=tmp_path, input="a b c\na b\n").stdout
    with gzip.open(tmp_path / "in.gz", "wt") as stream:
        stream.write("a b c\na b\n")
    run_nmt("translate", *model, "-i", "in.gz", "-o", "out.gz", cwd=tmp_path)
    with gzip.open(tmp_path / "out.gz", "rt") as stream:
        by_file = stream.read()
    assert by_argument == by_stdin == by_file
    assert by_argument.count("\n") == 2


def test_json_and_n_best(run_nmt, toy_bundle, tmp_path):
    model = ["translate", "-m", str(toy_bundle), "--n-best", "3", "a b c"]
    record = json.loads(run_nmt(*model, "--json", cwd=tmp_path).stdout)
    assert record["source"] == "a b c"
    scores = [hypothesis["score"] for hypothesis in record["hypotheses"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert record["hypotheses"][0]["tokens"][-1] == "</s>"
    model[3:5] = ["--set", "n_best=3"]
    lines = run_nmt(*model, cwd=tmp_path).stdout.splitlines()
    assert len(lines) == 3
    for rank, (line, hypothesis) in enumerate(zip(lines, record["hypotheses"], strict=True), 1):
        index, score, text = line.split("\t")
        assert (int(index), text) == (rank, hypothesis["text"])
        assert float(score) == pytest.approx(hypothesis["score"], abs=1e-3)  # printed rounded


def test_a_text_may_be_longer_than_the_name_of_a_file(run_nmt, toy_bundle, tmp_path):
    texts = ["red dog " * 40, "a" * 300]
    for text in texts:
        done = run_nmt("translate", "-m", str(toy_bundle), "--max-length", "4", text, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1


def test_a_reader_that_goes_away_ends_it_quietly(toy_bundle, tmp_path):
    command = f"{sys.executable} -m nmt_cli translate -m {toy_bundle} --max-length 5 -i in.txt"
    (tmp_path / "in.txt").write_text("a b\n" * 5000)
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -1"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    assert done.returncode in (0, 120)  # 120: Python could not flush a pipe nobody reads


def test_bytes_that_are_no_text_are_refused(toy_bundle, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "nmt_cli", "translate", "-m", str(toy_bundle), b"caf\xe9"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "not valid UTF-8" in done.stderr


def test_a_column_of_a_table(run_nmt, toy_bundle, tmp_path):
    (tmp_path / "t.tsv").write_text("id\tde\ten\n1\trot\tred\n2\t\tred dog\n")
    model = ("translate", "-m", str(toy_bundle), "--beam", "1")
    done = run_nmt(*model, "-i", "t.tsv", "--column", "en", cwd=tmp_path)
    assert done.stdout == "rot\nrot hund\n"
    for wrong in (["-i", "t.txt", "--column", "en"], ["red", "--column", "1"]):
        done = run_nmt(*model, *wrong, cwd=tmp_path)
        assert done.returncode == 2
        assert "--column needs --input with a .tsv or .csv" in done.stderr
    for wrong, told in ((["-i", "t.tsv"], "--column NAME"), (["t.tsv"], "-i t.tsv")):
        done = run_nmt(*model, *wrong, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
    done = run_nmt(*model, "-i", "t.tsv", "--from-format", "lines", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (0, 3)


def test_the_prompt_translates_what_is_typed(toy_bundle, tmp_path):
    child = pexpect.spawn(
        sys.executable, ["-m", "nmt_cli", "translate", "-m", str(toy_bundle), "--beam", "1"],
        cwd=str(tmp_path), encoding="utf-8", timeout=120,
    )  # fmt: skip
    ready = r"\x1b\[\?2004h"  # prompt_toolkit switches bracketed paste on when it waits for a line
    child.expect(ready)
    child.send("red dog\r")
    child.expect("rot hund")
    for typed, answer in (
        ("/set beem 3", "beem: unknown option"),
        ("/set length_penalty 2", "length_penalty: no effect"),
        ("/set top_k 5", r"sample +true\r\ntop_k +5\r\n"),
        ("/beam 1", r"beam_size +1\r\nsample +false\r\n"),
        ("/align", r"align +true\r\n"),
        ("/align", r"align +false\r\n"),
        ("/prefix rot", r"prefix +rot\r\n"),
        ("/show", r"beam_size +1\r\n(?s:.*)sample +false\r\n(?s:.*)to +none\r\n"
                  r"from +none\r\nprefix +rot\r\nsuppress +none"),
        ("/n-best 2", r"beam_size +2\r\nn_best +2\r\n"),
        ("dog", r"1\t-?[0-9.]+\trot(?s:.*)2\t"),
    ):  # fmt: skip
        child.expect(ready)
        child.send(f"{typed}\r")
        child.expect(answer)
    child.expect(ready)
    child.send("\x04")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_results_come_while_input_is_still_coming(toy_bundle, tmp_path):
    """A pipe that trickles: each line is answered before the next is sent."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", "translate", "-m", str(toy_bundle), "--beam", "1"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for source, target in (("red dog", "rot hund"), ("dog", "hund"), ("red", "rot")):
        process.stdin.write(source + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == target + "\n"
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


@pytest.mark.parametrize(
    ("what", "expected"), [("replace", "rot\nx\nhund\n"), ("skip-as-blank", "rot\n\nhund\n")]
)
def test_a_line_that_is_not_utf8(run_nmt, toy_bundle, tmp_path, what, expected):
    (tmp_path / "in.txt").write_bytes(b"red\ncaf\xe9\ndog\n")
    model = ("translate", "-m", str(toy_bundle), "-i", "in.txt")
    done = run_nmt(*model, "--on-error", what, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert (lines[0], lines[2], lines[3]) == ("rot", "hund", "")
    assert bool(lines[1]) == bool(expected.split("\n")[1])
    stopped = run_nmt(*model, "-o", "out.txt", cwd=tmp_path)
    assert stopped.returncode == 3
    assert "in.txt:2: not valid UTF-8" in stopped.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt"]


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
def test_alignment_token_scores_prefix_and_suppression(run_nmt, toy_bundle, tmp_path, engine):
    model = ("translate", "-m", str(toy_bundle), "--engine", engine)
    done = run_nmt(*model, "--align", "--token-scores", "--json", "red dog", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["hypotheses"][0]
    assert [target for _, target in found["alignment"]] == [0, 1]
    assert len(found["token_scores"]) == len(found["tokens"])
    (part,) = found["attention"]
    assert len(part["weights"]) == len(part["target"]) == len(found["tokens"])
    assert all(abs(sum(row) - 1) < 1e-4 for row in part["weights"])
    plain = run_nmt(*model, "--align", "red dog", cwd=tmp_path).stdout
    pairs = " ".join(f"{s}-{t}" for s, t in found["alignment"])
    assert plain == f"{found['text']}\t{pairs}\n"
    begun = run_nmt(*model, "--prefix", "hund", "red dog", cwd=tmp_path).stdout
    assert begun.startswith("hund")
    without = run_nmt(*model, "--suppress", "rot", "red dog", cwd=tmp_path).stdout
    assert "rot" not in without.split()


def test_both_engines_give_the_same_and_options_decide(run_nmt, toy_bundle, tmp_path):
    lines = "red dog\nbird\n\ncat sees dog\n"
    outputs = {
        run_nmt("translate", "-m", str(toy_bundle), *options, cwd=tmp_path, input=lines).stdout
        for options in (
            ("--engine", "ctranslate2"),
            ("--engine", "tensorflow"),
            ("--batch-tokens", "3"),
            ("--threads", "1"),
            ("--format", "float32", "--set", "no_repeat_ngram_size=3"),
        )
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "beam=3", "a"), "beam: unknown option. Did you mean 'beam_size'?"),
        (("--n-best", "600", "a"), "n_best must be 1 to 512 (it is 600)"),
        (("--on-error", "replce", "a"), "Did you mean 'replace'?"),
        (("--engine", "tf", "a"), "--engine must be auto, ctranslate2, tensorflow (it is tf)"),
        (("--token-scores", "a"), "--token-scores needs --json"),
        (("--engine", "tensorflow", "--format", "int8", "a"), "needs --engine ctranslate2"),
        (("--batch-tokens", "0", "a"), "--batch-tokens must be 1 to 16,777,216"),
        (("--device", "cuda", "a"), "--device must be auto, cpu, gpu (it is cuda)"),
        (("--set", "coverage_penalty=1", "--beam", "1", "a"), "needs a beam of at least 2"),
    ],
)
def test_a_wrong_option_is_told(run_nmt, toy_bundle, tmp_path, arguments, message):
    done = run_nmt("translate", "-m", str(toy_bundle), *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), r"engine: CTranslate2 \w+, \d+ workers? of one thread on \w+, the (fastest|model's)"),
        (
            ("--format", "float32", "--threads", "1"),
            "float32, 1 worker of one thread on .* as requested",
        ),
        (
            ("--engine", "tensorflow", "--device", "cpu"),
            r"engine: TensorFlow float32, .* as requested",
        ),
    ],
)
def test_verbose_tells_the_engine_and_why(run_nmt, toy_bundle, tmp_path, arguments, message):
    command = ("translate", "-m", str(toy_bundle), "--verbose", *arguments, "red dog")
    done = run_nmt(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "rot hund\n")
    assert re.search(message, done.stderr)


@pytest.mark.parametrize(("closed", "output"), [("<&-", ""), (">&-", ""), ("2>&-", "rot hund\n")])
def test_a_closed_stream_is_nowhere(toy_bundle, tmp_path, closed, output):
    command = (
        f"echo red dog | {{ {sys.executable} -m nmt_cli translate -m {toy_bundle} {closed}; }}"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


def test_several_models_are_an_ensemble(run_nmt, toy_bundle, tmp_path):
    command = ("translate", "-m", str(toy_bundle), "-m", str(toy_bundle.parent), "--verbose")
    done = run_nmt(*command, "red dog", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "rot hund\n")
    assert "TensorFlow float32, 2 models" in done.stderr


def test_a_model_of_the_other_direction_chooses(run_nmt, toy_bundle, tmp_path):
    backward = str(own_bundle(tmp_path, way=("de", "en")).path)
    command = ("translate", "-m", str(toy_bundle), "--backward", backward, "--verbose")
    done = run_nmt(*command, "red dog", "--n-best", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert "hypotheses chosen with another model" in done.stderr


def test_what_does_not_translate_back_is_told(run_nmt, toy_bundle, label_bundle, tmp_path):
    for backward, message in (
        (str(toy_bundle), "translates from en to de"),
        (str(label_bundle), "is a classification model, not for translation"),
        ("nowhere", "nowhere: no such folder"),
    ):
        command = ("translate", "-m", str(toy_bundle), "--backward", backward)
        done = run_nmt(*command, "red dog", cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert message in done.stderr


def test_what_cannot_be_an_ensemble_is_told(run_nmt, toy_bundle, label_bundle, tmp_path):
    first = own_bundle(tmp_path).path
    back = shutil.copytree(toy_bundle, tmp_path / "back")
    manifest = read_manifest(back / MANIFEST)
    manifest = replace(manifest, source_lang="de", target_lang="en")
    (back / MANIFEST).write_text(as_text(manifest), "utf-8")
    for arguments, code, message in (
        (("-m", str(toy_bundle), "-m", str(first)), 4, "has another vocabulary than"),
        (("-m", str(toy_bundle), "-m", str(label_bundle)), 4, "is a classification model"),
        (("-m", str(first), "-m", str(first), "--format", "int8"), 2, "combined with an ensemble"),
        (("-m", str(toy_bundle), "-m", str(back)), 4, "back: translates from de to en"),
        (("-m", str(first), "-m", str(first), "--attention", "a.png"), 2, "give one --model"),
    ):
        done = run_nmt("translate", *arguments, "red dog", cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert message in done.stderr
