"""What this machine is and how fast: TensorFlow is asked, and imported only for that.

So a problem with the text is told before the slow import.
"""

import functools
from typing import TYPE_CHECKING

from nmt_cli.model import tensorflow_setup
from nmt_cli.model.tensorflow_setup import quiet_tensorflow

if TYPE_CHECKING:
    from nmt_cli.config.auto import Choice, Device
    from nmt_cli.config.pace import Machine
    from nmt_cli.config.schema import Config


def find_device() -> "Device":
    """Return what trains here."""
    quiet_tensorflow()
    return tensorflow_setup.find_device()


def choose_for_machine(config: "Config") -> "dict[str, Choice]":
    """Return the keys that the machine decides, with values for this one."""
    quiet_tensorflow()
    from nmt_cli.training.device import choose_for_machine

    return choose_for_machine(config)


@functools.cache
def measure_machine() -> "Machine":
    """Return how fast this machine is; measured once a process."""
    quiet_tensorflow()
    from nmt_cli.training.device import measure_machine

    return measure_machine()
