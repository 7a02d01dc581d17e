"""What must be set before TensorFlow is first imported. Called by all that need it."""

import contextlib
import os
from typing import Literal


def quiet_tensorflow(threads: int | None = None, *, use_gpu: bool = True) -> None:
    """Import TensorFlow without its start-up log on the terminal.

    Args:
        threads: Processor cores it may use; None is all.
        use_gpu: Whether it may use GPUs.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    # By itself TensorFlow uses oneDNN only where it knows the processor; its matrix products are
    # faster on the others, too: twice as fast on AVX2.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    with _silent_stderr():
        import tensorflow as tf

        tf.get_logger().setLevel("ERROR")
        with contextlib.suppress(RuntimeError):  # it has begun, in a program of one's own
            if threads is not None:
                tf.config.threading.set_intra_op_parallelism_threads(threads)
                tf.config.threading.set_inter_op_parallelism_threads(threads)
            if not use_gpu:
                tf.config.set_visible_devices([], "GPU")


def find_device() -> Literal["cpu", "gpu"]:
    """Return what TensorFlow computes on here."""
    import tensorflow as tf

    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"


class _silent_stderr:
    """Keep what native libraries write to file descriptor 2 while loading off the terminal."""

    def __enter__(self) -> None:
        self._saved = os.dup(2)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._saved, 2)
        os.close(self._saved)
