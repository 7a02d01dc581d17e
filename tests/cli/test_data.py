"""data list and data get as processes, against a server on loopback."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from file_server import Site, serving

IWSLT = {
    f"/{split}.{language}": f"{language} {split}\n".encode() * 500
    for split in ("train", "tst2012", "tst2013")
    for language in ("en", "vi")
}
HERE = ["dev.en", "dev.vi", "test.en", "test.vi", "train.en", "train.vi"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_list_tells_languages_size_licence_and_citation(run_nmt, tmp_path):
    done = run_nmt("data", "list", cwd=tmp_path)
    assert done.returncode == 0
    for part in ("multi30k-en-de ", "en-fr", "29,000 pairs", "MB", "licence: MIT", "cite: "):
        assert part in done.stdout
    records = [
        json.loads(line)
        for line in run_nmt("data", "list", "--json", cwd=tmp_path).stdout.splitlines()
    ]
    assert {"multi30k-en-de", "multi30k-en-fr", "chat-ko", "tatoeba-en-ko"} <= {
        r["name"] for r in records
    }


def test_get_shows_the_licence_and_puts_the_files_where_the_next_command_finds_them(
    run_nmt, tmp_path
):
    with serving(Site(IWSLT)) as address:
        done = run_nmt("data", "get", "iwslt15-en-vi", "--from", address, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "licence: CC BY-NC-ND" in done.stderr
    assert "MB/s" in done.stderr
    assert names(tmp_path / "data/iwslt15-en-vi") == HERE
    assert (tmp_path / "data/iwslt15-en-vi/dev.vi").read_bytes() == IWSLT["/tst2012.vi"]
    *_, last = done.stderr.splitlines()
    assert last == "next: nmt init iwslt15-en-vi.yaml --data-dir data/iwslt15-en-vi"
    again = run_nmt("data", "get", "iwslt15-en-vi", cwd=tmp_path)
    assert again.returncode == 0
    assert "licence" not in again.stderr


def test_get_takes_a_folder_with_the_files_by_their_names(run_nmt, tmp_path):
    with zipfile.ZipFile(tmp_path / "en-ko.txt.zip", "w") as archive:
        archive.writestr("Tatoeba.en-ko.en", "Go.\n")
        archive.writestr("Tatoeba.en-ko.ko", "가.\n")
    done = run_nmt(
        "data", "get", "tatoeba-en-ko", "--from", ".", "--data-dir", "here", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert names(tmp_path / "here") == ["train.en", "train.ko"]


def test_bytes_that_are_not_the_published_ones(run_nmt, tmp_path):
    with serving(Site({"/ChatbotData.csv": b"Q,A,label\n"})) as address:
        done = run_nmt("data", "get", "chat-ko", "--from", address, cwd=tmp_path)
    assert done.returncode == 3
    assert "sha256" in done.stderr
    assert names(tmp_path / "data/chat-ko") == []


def test_what_cannot_be_got_says_what_to_do_by_hand(run_nmt, tmp_path):
    with serving(Site({})) as address:
        done = run_nmt("data", "get", "multi30k-en-de", "--from", address, cwd=tmp_path)
    assert done.returncode == 3
    assert "404" in done.stderr
    *_, hint = done.stderr.splitlines()
    assert hint.startswith("hint: by hand: put https://raw.githubusercontent.com/multi30k/dataset/")
    assert hint.endswith("nmt data get multi30k-en-de --from FOLDER")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["multi30k"], "Did you mean 'multi30k-en-"),
        (["chat-ko", "--from", "nowhere"], "neither an http(s) address nor an existing folder"),
    ],
)
def test_a_wrong_name_or_mirror_is_a_usage_error(run_nmt, tmp_path, arguments, told):
    done = run_nmt("data", "get", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


def test_ctrl_c_keeps_what_has_come(run_nmt, tmp_path):
    site = Site({**IWSLT, "/train.en": b"x" * 400_000}, pause_s=0.005)
    part = tmp_path / "data/iwslt15-en-vi/.train.en.part"
    with serving(site) as address:
        command = [
            sys.executable,
            "-m",
            "nmt_cli",
            "data",
            "get",
            "iwslt15-en-vi",
            "--from",
            address,
        ]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            deadline = time.monotonic() + 60
            while not (part.exists() and part.stat().st_size):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "the same command resumes" in told
        assert "Traceback" not in told
        had = part.stat().st_size
        assert 0 < had < 400_000
        site.pause_s = 0.0
        done = run_nmt(*command[3:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("/train.en", f"bytes={had}-") in site.requests
    assert (tmp_path / "data/iwslt15-en-vi/train.en").read_bytes() == b"x" * 400_000


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 2), (b"y\n", 0)])
def test_on_a_terminal_the_licence_is_asked(tmp_path, answer, code):
    with serving(Site(IWSLT)) as address:
        command = [
            sys.executable,
            "-m",
            "nmt_cli",
            "data",
            "get",
            "iwslt15-en-vi",
            "--from",
            address,
        ]
        master, slave = pty.openpty()
        os.write(master, answer)
        done = subprocess.run(
            command, cwd=tmp_path, stdin=slave, stdout=slave, stderr=slave, timeout=120, check=False
        )
        os.close(slave)
    assert done.returncode == code
    shown = os.read(master, 1 << 16).decode()
    os.close(master)
    assert "Use it under this licence?" in shown
    assert (tmp_path / "data/iwslt15-en-vi").exists() is (code == 0)


def test_training_without_the_files_names_the_command_that_gets_them(run_nmt, tmp_path):
    for config in ("multi30k-en-de", "small-transformer"):
        done = run_nmt("train", config, "--dry-run", cwd=tmp_path)
        assert done.returncode == 3
        assert "hint: nmt data get multi30k-en-de, or " in done.stderr
    (tmp_path / "mine.yaml").write_text(
        "name: x\ndata: {train: [{file: a.tsv}], dev: [{rows: 1}]}\n"
    )
    assert "nmt data get" not in run_nmt("train", "mine.yaml", "--dry-run", cwd=tmp_path).stderr
