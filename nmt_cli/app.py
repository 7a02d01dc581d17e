"""A program in one file (`nmt export --app`): the commands, with a model that comes along."""

import os
import sys
from pathlib import Path

from nmt_cli.bundle.app_file import MADE_FOR, MODEL, this_machine
from nmt_cli.bundle.manifest import MANIFEST, read_manifest

_COMMANDS = ("translate", "chat", "classify", "serve", "score", "join", "bench", "info", "help")
_VERSION = ("--version", "-V")
_WRONG_MACHINE = 2


def main() -> None:
    """Run a command on the model beside the packages; without one, what the model is for."""
    packages = Path(__file__).parent.parent
    made_for = (packages / MADE_FOR).read_text(encoding="utf-8").strip()
    if made_for != this_machine():
        sys.stderr.write(
            f"error: this program needs {made_for}; this machine has {this_machine()}\n"
        )
        sys.exit(_WRONG_MACHINE)
    os.environ["NMT_MODEL"] = str(packages / MODEL)
    if sys.argv[1:2] == [] or sys.argv[1] not in _COMMANDS + _VERSION:
        sys.argv.insert(1, read_manifest(packages / MODEL / MANIFEST).facts.command)
    from nmt_cli.cli import main as run  # of the machine that the packages are for

    run()
