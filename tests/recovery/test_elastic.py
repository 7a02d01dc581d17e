"""`nmt train --elastic`: the chief of two machines is killed, and the other one ends the run."""

import contextlib
from pathlib import Path

import pytest


@pytest.fixture
def rounds(monkeypatch):
    """The script that does this with three machines, again and again; here with fewer steps."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import elastic_rounds

    steps = {"max_steps": 60, "eval_steps": 20, "checkpoint_steps": 5, "accumulate_steps": 2}
    changes = {f"train.{key}": value for key, value in steps.items()}
    monkeypatch.setattr(elastic_rounds, "SETTINGS", elastic_rounds.SETTINGS | changes)
    return elastic_rounds


def test_the_other_machine_ends_a_run_whose_chief_is_killed(rounds, tmp_path, run_nmt):
    with contextlib.closing(rounds.Machines(tmp_path / "shared", 2)) as machines:
        machines.wait_for_step(10)
        machines.kill(chief := machines.chief())
        rounds.write_texts(alone := tmp_path / "alone")
        done = run_nmt("train", "toy.yaml", *rounds.options(), cwd=alone)
        assert done.returncode == 0, done.stderr
        machines.wait()
        [line] = machines.told()
    assert line.startswith(f"worker {chief} (127.0.0.1:")
    assert ") was lost; continuing from step " in line
    assert line.endswith(" with 1 of 2 workers")
    found, expected = rounds.losses(machines.folder), rounds.losses(alone)
    assert found == pytest.approx(expected, abs=rounds.TOLERANCE)


def test_options_that_do_not_fit_are_told_before_anything_is_done(toy_corpus, tmp_path, run_nmt):
    config, workers = str(toy_corpus / "toy.yaml"), "--workers=127.0.0.1:1,127.0.0.1:2"
    for options, message in (
        ((), "--elastic is for several machines"),
        ((workers, "--worker-index=1", "--fresh"), "--fresh would start over each time"),
    ):
        done = run_nmt("train", config, "--elastic", *options, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    assert not (tmp_path / "runs").exists()
