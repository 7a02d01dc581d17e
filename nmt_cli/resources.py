"""What the machine and the installation offer: cores, bundled configurations and sample data.

From a wheel they lie inside the package (`nmt_cli/bundled/`); in a checkout, an editable install or
an unpacked sdist they are the top-level `configs/` and `data/` beside it.
"""

import os
import sys
from pathlib import Path

# Batches of similar lengths need so many lines at a time; more would only be more memory. Whoever
# divides a text has to know: what shares a batch decides the last bits of probabilities.
WINDOW_LINES = 512  # that are translated together
WINDOW_PAIRS = 2 * WINDOW_LINES  # that are scored together

RUNS_DIR = Path("runs")  # in the working folder: a folder for each run
DEFAULT_FILE = "nmt.yaml"  # what `nmt init` writes
_CPUINFO = Path("/proc/cpuinfo")


def bundled_root() -> Path:
    """Return the folder that holds the bundled `configs/` and `data/`."""
    package = Path(__file__).resolve().parent
    inside = package / "bundled"
    return inside if inside.is_dir() else package.parent


def bundled_configs() -> dict[str, Path]:
    """Return the bundled configurations by name, as `nmt train NAME` takes them."""
    return {path.stem: path for path in sorted((bundled_root() / "configs").glob("*.yaml"))}


def user_data_dir() -> Path:
    """Return the folder for what nmt remembers of a person: typed lines, conversations.

    `$XDG_DATA_HOME/nmt`; without it `~/.local/share/nmt`, on macOS
    `~/Library/Application Support/nmt`.
    """
    is_mac = sys.platform == "darwin"
    usual = Path.home() / ("Library/Application Support" if is_mac else ".local/share")
    return Path(os.environ.get("XDG_DATA_HOME") or usual) / "nmt"


def user_cache_dir() -> Path:
    """Return the folder for what can be made again, such as unpacked models.

    `$XDG_CACHE_HOME/nmt`; without it `~/.cache/nmt`, on macOS `~/Library/Caches/nmt`.
    """
    usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or usual) / "nmt"


def available_cores() -> int:
    """Return the processor cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def processor_flags() -> set[str]:
    """Return what the processor can do, such as `avx2`, as Linux names it; nothing elsewhere."""
    facts = processor_facts()
    flags = (facts[name] for name in facts if name in ("flags", "Features"))
    return set(next(flags, "").split())


def processor_facts() -> dict[str, str]:
    """Return what Linux knows of the first processor core; nothing elsewhere."""
    if not _CPUINFO.is_file():
        return {}
    facts: dict[str, str] = {}
    for line in _CPUINFO.read_text().splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts
