"""Flip bits in each file of a model folder: it is refused in one line or gives the same output.

A few flips run as a test; many with: python tests/recovery/test_model_folder_fuzz.py MODEL 300
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from nmt_cli.api.model import Model
from nmt_cli.bundle.folder import open_bundle
from nmt_cli.errors import NmtError
from nmt_cli.search.loading import EngineOptions

REFUSED, OTHER = 4, 3


def output(folder: Path) -> list[str]:
    """Return what a model writes, and its weights' names."""
    model = Model(open_bundle(folder), EngineOptions(threads=1))
    names = sorted(model.bundle.load_weights())
    if model.bundle.manifest.facts.has_labels:
        (given,) = model.classify(["red dog"])
        return [*names, str(given.probabilities)]
    ids = [*model.vocabularies.source.encode("red dog"), 2]
    found = model.engine.search([ids], model.search_options())
    return [*names, model.vocabularies.target.decode(found[0][0].ids)]


def in_child(folder: Path, right: list[str]) -> int:
    """Return the exit code of a child that uses a folder; a negative one is a signal's."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(60)
    try:
        code = 0 if output(folder) == right else OTHER
    except NmtError as error:
        code = error.exit_code
    except BaseException:  # noqa: BLE001 - whatever it is, it is counted
        code = 1
    os._exit(code)


def fuzz(model: Path, flips: int) -> dict[str, Counter[int]]:
    """Return how often each exit code came, by file."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        shutil.copytree(model, folder)
        read, write = os.pipe()
        if not (child := os.fork()):  # so that this process has no threads
            os.write(write, repr(output(folder)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        right = eval(os.read(read, 1 << 16))
        generator, found = random.Random(1), {}
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            content, codes = file.read_bytes(), Counter()
            for _ in range(flips):
                place = generator.randrange(len(content))
                changed = content[place] ^ (1 << generator.randrange(8))
                file.write_bytes(content[:place] + bytes([changed]) + content[place + 1 :])
                codes[in_child(folder, right)] += 1
            file.write_bytes(content)
            found[file.relative_to(folder).as_posix()] = codes
        return found


def test_flipped_bits(toy_bundle):
    command = [sys.executable, __file__, str(toy_bundle), "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    is_fine = True
    for name, codes in fuzz(Path(sys.argv[1]), int(sys.argv[2])).items():
        print(name, dict(codes))
        is_fine &= codes.keys() <= {0, REFUSED} | ({OTHER} if name == "bundle.json" else set())
    sys.exit(not is_fine)
