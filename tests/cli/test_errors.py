"""What goes wrong gives an `error:` line with place and mend, its exit code, and no traceback."""

import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = """\
name: toy
data:
  train: [{source: train.src, target: train.tgt}]
  dev: [{source: train.src, target: train.tgt}]
tokenizer: {vocab_size: 300}
model: {d_model: 8, d_ff: 8, num_heads: 2, encoder_layers: 1, decoder_layers: 1}
train: {max_steps: 2, eval_steps: 2, checkpoint_steps: 1, tokens_per_batch: 64}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    lines = "".join(f"a b c {i}\n" for i in range(20))
    (tmp_path / "train.src").write_text(lines)
    (tmp_path / "train.tgt").write_text(lines)
    (tmp_path / "toy.yaml").write_text(CONFIG)
    return tmp_path


def check_fails(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert "error: " in done.stderr
    for part in parts:
        assert part in done.stderr


def test_wrong_keys_and_types_are_told_all_at_once_with_their_lines(run_nmt, project):
    (project / "toy.yaml").write_text(
        CONFIG + "decode: {beam_size: five}\n" + "chat:\n  histroy_turns: 2\n"
    )
    check_fails(
        run_nmt("train", "toy.yaml", "--set", "train.max_stepz=3", cwd=project),
        2,
        "toy.yaml:8: decode.beam_size: ",
        "toy.yaml:10: chat.histroy_turns: unknown key. Did you mean 'history_turns'?",
        "--set train.max_stepz=3: train.max_stepz: unknown key. Did you mean 'max_steps'?",
    )


def test_a_missing_configuration_names_the_nearest(run_nmt, project):
    check_fails(run_nmt("train", "quikstart", cwd=project), 2, "Did you mean 'quickstart'?")


def test_a_usage_error_has_exit_code_2(run_nmt, project):
    done = run_nmt("train", "--dryrun", cwd=project)
    assert done.returncode == 2
    assert "--dry-run" in done.stderr


@pytest.mark.parametrize("limit", ["soon", "30", "m", "0s", "nanm", "5x", "1h30", "1..2h"])
def test_a_time_that_is_none(run_nmt, project, limit):
    done = run_nmt("train", "toy.yaml", "--time", limit, cwd=project)
    check_fails(done, 2, f"--time: '{limit}' is not a time", "90s, 30m or 1h30m")


def test_a_missing_data_file(run_nmt, project):
    (project / "train.tgt").unlink()
    check_fails(run_nmt("train", "toy.yaml", cwd=project), 3, "train.tgt: no such file", "hint: ")
    assert not (project / "runs").exists()


def test_invalid_utf8_names_file_and_line(run_nmt, project):
    lines = (project / "train.src").read_bytes().split(b"\n")
    lines[6] = b"caf\xe9"
    (project / "train.src").write_bytes(b"\n".join(lines))
    check_fails(run_nmt("train", "toy.yaml", cwd=project), 3, "train.src:7: not valid UTF-8")


def test_files_of_different_length(run_nmt, project):
    with (project / "train.tgt").open("a") as stream:
        stream.write("one more\n")
    check_fails(run_nmt("train", "toy.yaml", cwd=project), 3, "20 lines", "21")


def test_an_empty_corpus(run_nmt, project):
    (project / "train.src").write_text("\n\n")
    (project / "train.tgt").write_text("\n\n")
    check_fails(run_nmt("train", "toy.yaml", cwd=project), 5, "train.src")


@pytest.mark.parametrize("command", ["train", "translate x -m", "init --yes --data-dir"])
def test_a_name_that_is_too_long_is_no_bug(run_nmt, tmp_path, command):
    name = "y" * 300
    done = run_nmt(*command.split(), name, cwd=tmp_path)
    check_fails(done, 3, f"error: {name}", "File name too long")


def test_no_model_at_all_says_how_to_make_one(run_nmt, tmp_path):
    check_fails(run_nmt("translate", "hello", cwd=tmp_path), 4, "nmt train")


def test_a_model_folder_that_is_not_there(run_nmt, tmp_path):
    check_fails(run_nmt("translate", "-m", "nowhere", "hello", cwd=tmp_path), 4, "nowhere")


def test_a_truncated_weights_file(run_nmt, toy_bundle, tmp_path):
    damaged = tmp_path / "model"
    shutil.copytree(toy_bundle, damaged)
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    command = ("translate", "-m", str(damaged), "--engine", "tensorflow", "a")
    check_fails(run_nmt(*command, cwd=tmp_path), 4, "model.safetensors")


@pytest.mark.parametrize("place", [0, 8, 200], ids=["version", "name", "first-weight"])
def test_a_ctranslate2_file_with_changed_bytes(run_nmt, toy_bundle, tmp_path, place):
    damaged = tmp_path / "model"
    shutil.copytree(toy_bundle, damaged)
    for weights in damaged.glob("ctranslate2/*/model.bin"):  # which is used, its speed decided
        content = bytearray(weights.read_bytes())
        content[place : place + 40] = b"\xff" * 40
        weights.write_bytes(content)
    check_fails(run_nmt("translate", "-m", str(damaged), "a", cwd=tmp_path), 4, "ctranslate2")


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_manifest_of_another_number_of_layers(run_nmt, toy_bundle, tmp_path, side):
    damaged = tmp_path / "model"
    shutil.copytree(toy_bundle, damaged)
    manifest = json.loads((damaged / "bundle.json").read_text())
    manifest["model"][f"{side}_layers"] += 1
    del manifest["crc32"]
    (damaged / "bundle.json").write_text(json.dumps(manifest))
    done = run_nmt("translate", "-m", str(damaged), "a", cwd=tmp_path)
    check_fails(done, 4, f"layers in the {side}, not")


def test_a_weights_file_with_changed_header(run_nmt, toy_bundle, tmp_path):
    damaged = tmp_path / "model"
    shutil.copytree(toy_bundle, damaged)
    weights = damaged / "model.safetensors"
    weights.write_bytes(b"\xff" * 16 + weights.read_bytes()[16:])
    command = ("translate", "-m", str(damaged), "--engine", "tensorflow", "a")
    check_fails(run_nmt(*command, cwd=tmp_path), 4, "model.safetensors")


def test_info_verify_finds_a_changed_byte(run_nmt, toy_bundle, tmp_path):
    damaged = tmp_path / "model"
    shutil.copytree(toy_bundle, damaged)
    tokenizer = damaged / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes().replace(b"a", b"b", 1))
    check_fails(run_nmt("info", "--verify", str(damaged), cwd=tmp_path), 4, "tokenizer.json")


def test_a_chat_needs_a_chat_model(run_nmt, toy_bundle, tmp_path):
    check_fails(run_nmt("chat", "-m", str(toy_bundle), cwd=tmp_path), 4, "translation model")


def test_options_out_of_range(run_nmt, toy_bundle, tmp_path):
    done = run_nmt("translate", "-m", str(toy_bundle), "--beam", "0", "a", cwd=tmp_path)
    check_fails(done, 2, "beam_size must be 1 to 512")


def test_a_full_disk_keeps_the_last_checkpoint_whole(run_nmt, project):
    """The size limit lets the first files through and stops the optimizer's state."""
    assert run_nmt("train", "toy.yaml", "--set", "train.max_steps=1", cwd=project).returncode == 0
    whole = sorted((project / "runs/toy/checkpoints").rglob("*"))
    limit = max(path.stat().st_size for path in whole if path.is_file()) - 1
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    done = run_nmt(
        "train", "toy.yaml", cwd=project, env=unmeasured,  # coverage has a file of its own
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    check_fails(done, 5, "cannot be written")
    assert sorted((project / "runs/toy/checkpoints").rglob("*")) == whole
    assert run_nmt("train", "toy.yaml", cwd=project).returncode == 0


def test_an_output_file_that_cannot_be_written(run_nmt, toy_bundle, tmp_path):
    done = run_nmt("translate", "-m", str(toy_bundle), "-o", "/proc/none/x", "a", cwd=tmp_path)
    check_fails(done, 3, "/proc/none/x: cannot be written")


def test_changed_settings_are_named_and_fresh_starts_over(run_nmt, project):
    assert run_nmt("train", "toy.yaml", cwd=project).returncode == 0
    changed = ["train", "toy.yaml", "--set", "model.dropout=0.3"]
    check_fails(run_nmt(*changed, cwd=project), 2, "model.dropout", "--fresh")
    made = [project / "runs/toy" / name for name in ("checkpoints", "model", "events.jsonl")]
    missing = run_nmt(*changed, "--fresh", "--set", "data.dir=nope", cwd=project)
    check_fails(missing, 3, "no such file")
    assert all(path.exists() for path in made)
    report = project / "runs/toy/report.html"
    assert "the last run of this name" not in report.read_text()
    done = run_nmt(*changed, "--fresh", cwd=project)
    assert done.returncode == 0
    assert "going on" not in done.stderr
    assert "the last run of this name" in report.read_text()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["data", "list"], ["check"], ["train", "--help"], ["help", "train"]]
)
def test_a_full_standard_output_is_no_bug(arguments, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "nmt_cli", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 3
    assert "error: standard output cannot be written: No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("d_model=3", "d_model: unknown key. Did you mean 'model.d_model'?"),
        ("name=a/b", "should be the name of a folder, without a slash"),
        ("name=", "name: "),
        ("data.encoding=klingon", "'klingon' is not a text encoding"),
    ],
)
def test_a_setting_that_is_none_is_told_in_plain_words(run_nmt, project, setting, told):
    done = run_nmt("check", "toy.yaml", "--set", setting, cwd=project)
    check_fails(done, 2, told)
    assert "^[" not in done.stderr  # no regular expression


def test_what_a_configuration_is_called_may_be_said_in_several_ways(run_nmt, project):
    (project / "내 모델.yaml").write_text(CONFIG.replace("name: toy", "name: 내 모델"))
    (project / "folder.yaml").mkdir()
    for name in ("toy", "내 모델"):
        settings = ("--set", "train.max_steps=1e3", "--set", "name=내 모델")
        options = ("--time", "1h30m", "--fresh")
        done = run_nmt("train", name, "--dry-run", *settings, *options, cwd=project)
        assert done.returncode == 0, done.stderr
        command = done.stderr.splitlines()[-1].partition("train with: ")[2]
        assert shlex.split(command) == ["nmt", "train", name, *settings, *options]
    check_fails(run_nmt("train", "folder.yaml", cwd=project), 2, "folder.yaml: is a folder")


def test_text_in_another_encoding_is_named_with_the_command_that_converts_it(run_nmt, project):
    lines = "안녕하세요 반갑습니다\n" * 20
    for name in ("train.src", "train.tgt"):
        (project / name).write_bytes(lines.encode("cp949"))
    hint = "it is CP949 (Korean): use --encoding cp949 (in training: --set data.encoding=cp949)"
    command = "iconv -f CP949 -t UTF-8 "
    check_fails(run_nmt("train", "toy.yaml", cwd=project), 3, "train.src:1: ", hint, command)
    done = run_nmt("check", "toy.yaml", cwd=project)
    assert "it is CP949 (Korean), not UTF-8: set data.encoding: cp949, or iconv -f CP949" in (
        " ".join(done.stdout.split())
    )
    for encoding in ("cp949", "auto"):
        settings = ("--dry-run", "--set", f"data.encoding={encoding}")
        assert run_nmt("train", "toy.yaml", *settings, cwd=project).returncode == 0
    (project / "my.xlsx").write_bytes(b"PK\x03\x04")
    corpus = "data.train=[{file: my.xlsx}]"
    done = run_nmt("train", "toy.yaml", "--set", corpus, cwd=project)
    check_fails(done, 3, "my.xlsx: a spreadsheet is not text", "save it as CSV")


BLOCKED = """
import sys
sys.modules["tensorflow"] = sys.modules["keras"] = None
from nmt_cli.cli import main
sys.argv = ["nmt", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(("engine", "code"), [("ctranslate2", 0), ("tensorflow", 5)])
def test_without_tensorflow(toy_bundle, engine, code):
    command = ("translate", "-m", str(toy_bundle), "--engine", engine, "red dog")
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert ("which is not installed" in done.stderr) == bool(code)
    assert "bug" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["train"], ["info"], ["translate", "x", "-m"], ["init", "--train"]]
)
def test_a_name_that_no_file_can_have_is_no_bug(run_nmt, tmp_path, arguments):
    done = run_nmt(*arguments, "x" * 5000, cwd=tmp_path)
    check_fails(done, 3, "xxx: File name too long")


@pytest.mark.parametrize("command", ["help", "help config", "--help", "train --help", "--version"])
def test_a_reader_who_has_left_is_no_error(command, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        done = subprocess.run(
            [sys.executable, "-m", "nmt_cli", *command.split()],
            cwd=tmp_path, stdout=closed, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("redirected", ["2>&1 >/dev/null | true", "2>&1 | true"])
def test_what_is_told_to_nobody_keeps_nothing_from_being_done(tmp_path, redirected):
    """Ctrl-C ends `nmt train 2>&1 | tee log` on both sides, and what was trained must be saved."""
    code = (
        "import time; from pathlib import Path; from nmt_cli.terminal import console\n"
        "console.use_utf8(); time.sleep(1); console.note('stopping'); console.warn('stopping')\n"
        "Path('saved').touch()"
    )
    command = shlex.join([sys.executable, "-c", code])
    subprocess.run(["bash", "-c", f"{command} {redirected}"], cwd=tmp_path, check=True)
    assert (tmp_path / "saved").exists()


def test_no_module_of_the_folder_is_run(tmp_path):
    """Python would look there first for the modules of the processes that a command starts."""
    (tmp_path / "tokenize.py").write_text("raise SystemExit(9)")
    code = (
        "import contextlib, subprocess, sys; from nmt_cli import cli\n"
        "sys.argv[1:] = ['--version']\n"
        "with contextlib.suppress(SystemExit): cli.main()\n"
        "subprocess.run([sys.executable, '-c', 'import tokenize'], check=True)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("translate x --from-format html", "--from-format html: name the file with --input"),
        ("translate x --from-format nonsense", "--from-format must be html, "),
        ("translate x --encoding cp949", "--encoding: no effect on texts that are arguments"),
        ("translate -i a -o p.html --html ./p.html", "would be written over what has this name"),
        ("export --share s.zip --data-dir d", "--share and --data-dir cannot be combined"),
        ("evaluate -i a --reference a --data-dir d", "--data-dir: no effect with --input"),
    ],
)
def test_options_that_would_do_nothing(run_nmt, toy_bundle, tmp_path, arguments, told):
    (tmp_path / "a").write_text("red dog\n")
    done = run_nmt(*arguments.split(), "-m", str(toy_bundle), cwd=tmp_path)
    check_fails(done, 2, told)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
