"""Two of the rounds of `tests/benchmarks/kill_rounds.py`: at random moments and file operations."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nmt_cli

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "kill_rounds.py"


def test_a_run_that_is_killed_again_and_again_ends_as_one_that_never_was():
    root = str(Path(nmt_cli.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), "2", "3"],
        capture_output=True, text=True, check=False, timeout=1200,
        env={**os.environ, "PYTHONPATH": root, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["equal"] == facts["rounds"] == 2, done.stderr
    assert facts["kills"] >= 2
