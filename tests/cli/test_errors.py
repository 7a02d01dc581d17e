"""What goes wrong gives an `error:` line with place and mend, its exit code, and no traceback."""

import resource
import shutil
import subprocess
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


@pytest.mark.parametrize("limit", ["soon", "30", "m", "0s", "nanm", "5x"])
def test_a_time_that_is_none(run_nmt, project, limit):
    done = run_nmt("train", "toy.yaml", "--time", limit, cwd=project)
    check_fails(done, 2, f"--time: '{limit}' is no time", "90s, 30m or 2h")


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
    done = run_nmt(
        "train", "toy.yaml", cwd=project,
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
    done = run_nmt(*changed, "--fresh", cwd=project)
    assert done.returncode == 0
    assert "going on" not in done.stderr
