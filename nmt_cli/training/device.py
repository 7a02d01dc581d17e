"""What the machine at hand computes fast."""

from pathlib import Path

import tensorflow as tf

from nmt_cli.presets import Device

_BFLOAT16_CPU_FLAGS = {"avx512_bf16", "amx_bf16"}
_BFLOAT16_GPU_CAPABILITY = (8, 0)


def find_device() -> Device:
    """Return what TensorFlow trains on here."""
    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"


def resolve_precision(precision: str) -> str:
    """Return "float32" or "bfloat16" for a configuration's `precision`.

    `auto` takes bfloat16 where processor or GPU multiply matrices in it; elsewhere it is slower.
    """
    if precision != "auto":
        return precision
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        fast = details.get("compute_capability", (0, 0)) >= _BFLOAT16_GPU_CAPABILITY
    else:
        fast = bool(_BFLOAT16_CPU_FLAGS & _cpu_flags(Path("/proc/cpuinfo")))
    return "bfloat16" if fast else "float32"


def _cpu_flags(cpuinfo: Path) -> set[str]:
    if not cpuinfo.is_file():
        return set()
    lines = cpuinfo.read_text().splitlines()
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return set(flags.split())
