"""The output layer's bias, which is no weight: it keeps control tokens out of every output."""

import numpy as np
import numpy.typing as npt

from nmt_cli.text.tokenizer import NEVER_WRITTEN

_NEVER = -1e4  # a probability of zero, and float16 holds it


def output_bias(vocab_size: int) -> npt.NDArray[np.float32]:
    """Return what is added to the logits, [V]: zero, but for control tokens other than `</s>`."""
    bias = np.zeros(vocab_size, np.float32)
    bias[list(NEVER_WRITTEN)] = _NEVER
    return bias
