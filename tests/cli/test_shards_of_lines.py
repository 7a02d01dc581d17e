"""`--shard` and `nmt join` as processes: killed, in any order, with parts that do not belong."""

import gzip
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.errors import ConfigError, DataError
from nmt_cli.parts import Division, Share, input_files, join, share_of
from nmt_cli.resources import WINDOW_LINES, WINDOW_PAIRS
from nmt_cli.search.translator import full_windows

WORDS = ("red", "blue", "two", "dog", "fish", "house")


@pytest.fixture(scope="module")
def lines():
    generator = random.Random(3)
    return [
        "",
        *(" ".join(generator.choices(WORDS, k=generator.randint(1, 6))) for _ in range(400)),
    ]


@pytest.fixture
def folder(lines, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("".join(f"{line}\n" for line in lines[:150]))
    with gzip.open(tmp_path / "in" / "b.txt.gz", "wt") as stream:
        stream.write("\n".join(lines[150:]))
    return tmp_path


def test_parts_in_any_order_are_the_whole(run_nmt, toy_bundle, folder):
    command = ("translate", "-m", str(toy_bundle), "-i", "in/*", "--format", "float32", "-o")
    assert run_nmt(*command, "whole.de", cwd=folder).returncode == 0
    for number in (2, 3, 1):
        done = run_nmt(*command, "out.de", "--shard", f"{number}/3", cwd=folder)
        assert done.returncode == 0, done.stderr
    again = run_nmt(*command, "out.de", "--shard", "2/3", cwd=folder)
    assert (again.returncode, again.stderr) == (0, "out.de.parts/2-of-3 exists already\n")
    done = run_nmt("join", "out.de", "--remove", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "wrote out.de from 3 parts\n")
    assert (folder / "out.de").read_bytes() == (folder / "whole.de").read_bytes()
    assert not (folder / "out.de.parts").exists()


def test_what_was_killed_is_made_again(toy_bundle, folder):
    command = [sys.executable, "-m", "nmt_cli", "translate", "-m", str(toy_bundle), "-i", "in/*",
               "-o", "out.de.gz", "--shard", "1/2"]  # fmt: skip
    process = subprocess.Popen(command, cwd=folder)
    while not (folder / "out.de.gz.parts").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "out.de.gz.parts" / "1-of-2.json").exists()
    subprocess.run(command, cwd=folder, check=True)
    with gzip.open(folder / "out.de.gz.parts" / "1-of-2.gz", "rt") as stream:
        assert len(stream.readlines()) == 200


def test_seven_parts_in_random_order_with_kills_are_the_whole(run_nmt, toy_bundle, folder):
    chance = random.Random(7)
    command = ("translate", "-m", str(toy_bundle), "-i", "in/*", "--format", "float32", "-o")
    assert run_nmt(*command, "whole.de", cwd=folder).returncode == 0
    waiting = chance.sample(range(1, 8), 7)
    killed = 0
    while waiting:
        shard = ("out.de", "--shard", f"{waiting[0]}/7")
        process = subprocess.Popen([sys.executable, "-m", "nmt_cli", *command, *shard], cwd=folder)
        try:
            assert process.wait(timeout=chance.uniform(0.05, 1) if killed < 7 else None) == 0
            waiting.pop(0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
            chance.shuffle(waiting)
    assert killed
    assert run_nmt("join", "out.de", cwd=folder).returncode == 0
    assert (folder / "out.de").read_bytes() == (folder / "whole.de").read_bytes()


def test_a_folder_gets_a_file_for_each_of_the_input(run_nmt, toy_bundle, folder):
    command = ("translate", "-m", str(toy_bundle), "--format", "float32")
    assert run_nmt(*command, "-i", "in/*", "-o", "out/", cwd=folder).returncode == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.txt", "b.txt.gz"]
    for name in ("a.txt", "b.txt.gz"):
        assert run_nmt(*command, "-i", f"in/{name}", "-o", name, cwd=folder).returncode == 0
        with gzip.open(folder / name) if name.endswith("gz") else (folder / name).open("rb") as one:
            expected = one.read()
        other = folder / "out" / name
        with gzip.open(other) if name.endswith("gz") else other.open("rb") as one:
            assert one.read() == expected


def test_two_files_of_one_name_do_not_share_a_folder(run_nmt, toy_bundle, folder):
    (folder / "more").mkdir()
    shutil.copy(folder / "in" / "a.txt", folder / "more" / "a.txt")
    done = run_nmt("translate", "-m", str(toy_bundle), "-i", "*/a.txt", "-o", "out/", cwd=folder)
    assert (done.returncode, "several inputs are called a.txt" in done.stderr) == (2, True)


def test_labels_and_scores_have_shards_too(run_nmt, label_bundle, toy_bundle, folder):
    pairs = ("-i", "in/a.txt", "--reference", "in/a.txt")
    for command in (
        ("classify", "-m", str(label_bundle), "-i", "in/a.txt"),
        ("score", "-m", str(toy_bundle), "--json", *pairs),
    ):
        name = command[0]
        for arguments in (("-o", "whole"), ("-o", name, "--shard", "1/2"),
                          ("-o", name, "--shard", "2/2")):  # fmt: skip
            done = run_nmt(*command, *arguments, cwd=folder)
            assert done.returncode == 0, done.stderr
        assert run_nmt("join", name, cwd=folder).returncode == 0
        assert (folder / name).read_text().count("\n") == 150
        assert _rounded(folder / name) == _rounded(folder / "whole")


def _rounded(path):
    """Return the lines; what is summed in other batches is rounded otherwise."""
    rows = path.read_text().splitlines()
    if rows[0].startswith("{"):
        return [round(json.loads(row)["score"], 3) for row in rows]
    return rows


@pytest.fixture
def made(run_nmt, toy_bundle, folder):
    command = ("translate", "-m", str(toy_bundle), "-i", "in/a.txt", "-o", "out", "--shard")
    for number in (1, 2):
        assert run_nmt(*command, f"{number}/2", cwd=folder).returncode == 0
    return command


def _missing(parts, run):
    (parts / "2-of-2.json").unlink()


def _changed(parts, run):
    (parts / "2-of-2").write_text("x\n")


def _other_options(parts, run):
    run("2/2", "--beam", "1")


def _other_format(parts, run):
    run("1/2", "--format", "int8")
    run("2/2", "--format", "float32")


def _other_input(parts, run):
    with (parts.parent / "in" / "a.txt").open("a") as stream:
        stream.write("dog\n")
    run("2/2")


def _other_number(parts, run):
    run("2/3")


def _no_record(parts, run):
    (parts / "1-of-2.json").write_text("[")


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (_missing, "part 2-of-2 is missing"),
        (_changed, "out.parts/2-of-2: is not as it was written"),
        (_other_options, "part 2-of-2 differs from part 1-of-2 in its options"),
        (_other_format, "part 2-of-2 differs from part 1-of-2 in its engine"),
        (_other_input, "part 2-of-2 differs from part 1-of-2 in its input"),
        (_other_number, "has parts of 2 and of 3"),
        (_no_record, "1-of-2.json: cannot be read"),
    ],
)
def test_what_does_not_belong_is_named(run_nmt, folder, made, break_it, told):
    def run(*arguments):
        assert run_nmt(*made, *arguments, cwd=folder).returncode == 0

    break_it(folder / "out.parts", run)
    done = run_nmt("join", "out", cwd=folder)
    assert done.returncode == 3
    assert told in done.stderr
    assert not (folder / "out").exists()


def _parts_made_of(output, *ways):
    """Leave a part made in each of some ways."""
    for number, way in enumerate(ways, start=1):
        division = Division(output, {"way": way}, lambda: ["a", "b", "c"], len(ways))
        with division.part(Share(number, len(ways))).written() as stream:
            stream.write(f"{number}\n")


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 50_000), st.integers(1, 9) | st.none())
def test_large_parts_are_worked_on_in_the_windows_of_the_whole(total, number):
    lines = [str(place) for place in range(total)]
    division = Division(Path("out"), {}, lambda: lines, number)
    shares = division.with_items(division.missing())
    parts = [part for _, part in shares]
    assert [line for part in parts for line in part] == lines
    if number is None or total >= 4 * WINDOW_PAIRS * number:
        for most in (WINDOW_LINES, WINDOW_PAIRS):
            windows = [window for part in parts for window in full_windows(part, most)]
            assert windows == [*full_windows(lines, most)]


def test_small_parts_are_equally_long():
    division = Division(Path("out"), {}, lambda: ["a"] * 4000, 3)
    assert [len(part.lines) for part in division.missing()] == [1333, 1333, 1334]


def test_the_part_that_is_unlike_the_others_is_named(tmp_path):
    _parts_made_of(tmp_path / "out", "odd", "even", "even")
    told = "part 1-of-3 differs from part 2-of-3 in its way"
    with pytest.raises(DataError, match=told) as caught:
        join(tmp_path / "out")
    assert caught.value.hint == "make it again with --shard 1/3"


def test_what_killed_processes_left_goes_when_parts_are_joined(tmp_path):
    _parts_made_of(tmp_path / "out", "even", "even")
    for name in (".out.writing-x", "out.parts/.1-of-2.writing-x"):
        (tmp_path / name).write_text("half")
    join(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "1\n2\n"
    assert sorted(path.name for path in tmp_path.rglob(".*")) == []


def test_all_outputs_of_a_folder_are_joined(run_nmt, tmp_path):
    for name in ("a.txt", "b.txt.gz"):
        _parts_made_of(tmp_path / "out" / name, "even", "even")
    for place in ("out", "out/", f"file://{tmp_path}/out/"):
        done = run_nmt("join", place, cwd=tmp_path)
        told = [f"wrote {place.rstrip('/')}/{name} from 2 parts" for name in ("a.txt", "b.txt.gz")]
        assert (done.returncode, done.stderr.splitlines()) == (0, told)
    (tmp_path / "none").mkdir()
    done = run_nmt("join", "none/", cwd=tmp_path)
    assert (done.returncode, "error: none/: has no parts" in done.stderr) == (3, True)


def test_no_parts_and_wrong_shares_are_told(run_nmt, toy_bundle, folder):
    done = run_nmt("join", "out", cwd=folder)
    assert (done.returncode, "out.parts: has no parts" in done.stderr) == (3, True)
    shutil.rmtree(folder / "in" / "none", ignore_errors=True)
    for arguments, code, told in (
        (("-i", "in/a.txt", "--shard", "1/2"), 2, "--shard needs --input and --output"),
        (("-i", "in/*", "-o", "out", "--shard", "3/2"), 2, "K must be 1 to N"),
        (("-i", "in/*", "-o", "out", "--shard", "x"), 2, "give K/N, such as 2/8, or auto"),
        (("-i", "in/*", "-o", "out", "--shard", "auto"), 2, "neither a task of a Slurm array"),
        (("-i", "no/*", "-o", "out"), 3, "no/*: no file matches"),
    ):
        done = run_nmt("translate", "-m", str(toy_bundle), *arguments, cwd=folder)
        assert done.returncode == code, done.stderr
        assert told in done.stderr


@pytest.mark.parametrize(
    ("environment", "share"),
    [
        ({"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_STEP": "2",
          "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_PROCID": "0"}, Share(3, 4)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, Share(1, 2)),
        ({"JOB_COMPLETION_INDEX": "7", "JOB_COMPLETIONS": "8"}, Share(8, 8)),
    ],
)  # fmt: skip
def test_auto_is_what_slurm_and_kubernetes_say(monkeypatch, environment, share):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert share_of("auto") == share


def test_auto_needs_the_number_of_completions(monkeypatch):
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "0")
    with pytest.raises(ConfigError, match="K must be 1 to N"):
        share_of("auto")


@pytest.mark.parametrize("total", [0, 1, 7, 8, 1_000_003])
def test_shares_are_all_lines_once_and_even(total):
    ranges = [Share(number, 8).range_of(total) for number in range(1, 9)]
    assert [first for first, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == total
    assert max(end - first for first, end in ranges) - min(e - f for f, e in ranges) <= 1


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path):
    (tmp_path / "a[1].txt").write_text("x")
    assert input_files(str(tmp_path / "a[1].txt")) == [str(tmp_path / "a[1].txt")]
    with pytest.raises(DataError):
        input_files(str(tmp_path / "*.tsv"))
