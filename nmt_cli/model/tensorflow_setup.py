"""What must be set before TensorFlow is first imported. Called by all that need it."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from nmt_cli.errors import NmtError


def check_installed() -> None:
    """Raise NmtError unless TensorFlow is installed; it is not imported."""
    if importlib.util.find_spec("tensorflow") is None:
        hint = "install it with all else that is missing: pip install nmt-cli"
        raise NmtError("this needs tensorflow, which is not installed", hint=hint)


def quiet_tensorflow(threads: int | None = None, *, use_gpu: bool = True) -> None:
    """Import TensorFlow without its start-up log; `threads` are the cores it may use, None all.

    NmtError: it is not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    # By itself TensorFlow uses oneDNN only where it knows the processor; its matrix products are
    # faster on the others, too: twice as fast on AVX2.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    check_installed()
    with _silent_stderr():
        import tensorflow as tf

        tf.get_logger().setLevel("ERROR")
        with contextlib.suppress(RuntimeError):  # it has begun, in a program of one's own
            if threads is not None:
                tf.config.threading.set_intra_op_parallelism_threads(threads)
                tf.config.threading.set_inter_op_parallelism_threads(threads)
            if not use_gpu:
                tf.config.set_visible_devices([], "GPU")
            # Grappler takes a processor's memory for 256 MB. For more it splits sums of gradients
            # into additions in the order of arrival: a large model would train a bit differently
            # each time. Without Grappler, training and search are as fast.
            if not tf.config.get_visible_devices("GPU"):
                tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


def find_device() -> Literal["cpu", "gpu"]:
    """Return what TensorFlow computes on here."""
    import tensorflow as tf

    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Keep what native libraries write to file descriptor 2 while loading off the terminal."""
    saved = os.dup(2)
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
