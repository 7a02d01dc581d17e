"""A wheel, installed into an environment without a checkout, finds its configs and sample data."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_trains_from_an_empty_folder(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True
    )
    lend_dependencies(python)
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [environment / "bin" / "nmt", "train", "--dry-run"],
        cwd=empty, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "train: 14,000 pairs" in done.stderr
    location = "import nmt_cli; print(nmt_cli.__file__)"
    where = subprocess.run(
        [python, "-c", location], cwd=empty, capture_output=True, text=True, check=True
    )
    assert Path(where.stdout.strip()).is_relative_to(environment)
    assert list(empty.iterdir()) == []


def lend_dependencies(python: Path) -> None:
    """Let the new environment see this one's libraries, after its own."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    here = sysconfig.get_paths()["purelib"]
    (Path(own.stdout.strip()) / "lent.pth").write_text(here + "\n")
