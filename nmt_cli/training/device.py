"""What the machine at hand is, and what it computes fast."""

import platform
from importlib.metadata import version
from pathlib import Path

import tensorflow as tf

from nmt_cli.bundle import versions
from nmt_cli.presets import Choice, Device
from nmt_cli.resources import available_cores

_CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16_CPU_FLAGS = {"avx512_bf16", "amx_bf16"}
_BFLOAT16_GPU_CAPABILITY = (8, 0)


def find_device() -> Device:
    """Return what TensorFlow trains on here."""
    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"


def describe_environment(replicas: int) -> dict[str, str]:
    """Return what a run depends on beside its settings, for people: versions, device, threads.

    Args:
        replicas: Devices that share the work, on all machines.
    """
    gpus = [
        tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name)
        for gpu in tf.config.list_physical_devices("GPU")
    ]
    threads = tf.config.threading.get_intra_op_parallelism_threads() or available_cores()
    processor = _cpu_facts(_CPUINFO).get("model name") or platform.machine()
    return {
        **versions(),
        "keras": version("keras"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "device": ", ".join(gpus) or f"processor: {processor}",
        "replicas": str(replicas),
        "threads": str(threads),
    }


def choose_precision() -> Choice:
    """Return bfloat16 where processor or GPU multiply matrices in it; elsewhere it is slower."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        fast = details.get("compute_capability", (0, 0)) >= _BFLOAT16_GPU_CAPABILITY
    else:
        fast = bool(_BFLOAT16_CPU_FLAGS & _cpu_flags(_CPUINFO))
    device = "GPU" if gpus else "processor"
    if fast:
        return Choice("bfloat16", f"the {device} multiplies matrices in it")
    return Choice("float32", f"the {device} does not multiply matrices in bfloat16")


def _cpu_flags(cpuinfo: Path) -> set[str]:
    facts = _cpu_facts(cpuinfo)
    flags = (facts[name] for name in facts if name in ("flags", "Features"))
    return set(next(flags, "").split())


def _cpu_facts(cpuinfo: Path) -> dict[str, str]:
    """Return what Linux knows of the first processor core; nothing elsewhere."""
    if not cpuinfo.is_file():
        return {}
    facts: dict[str, str] = {}
    for line in cpuinfo.read_text().splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts
