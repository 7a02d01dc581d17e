"""What a model has that is not learned: sinusoids, and the bias of its output. NumPy alone."""

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import ConfigError
from nmt_cli.text.special_tokens import NEVER_WRITTEN

_NEVER = -1e4  # a probability of zero, and float16 holds it

_LONGEST_WAVE = 10_000.0


def sinusoids(length: int, d_model: int) -> npt.NDArray[np.float32]:
    """Return PE [length, d_model]: even columns sin(pos / 10000^(2i/d)), odd columns its cosine.

    Args:
        length: Number of positions.
        d_model: Width; even.

    Raises:
        ConfigError: `d_model` is odd, so the sines and cosines would not pair up.
    """
    if d_model % 2:
        raise ConfigError(
            f"model.d_model: sinusoidal positions need an even number (it is {d_model})"
        )
    rates = _LONGEST_WAVE ** (-np.arange(0, d_model, 2) / d_model)  # [D/2]
    angles = np.arange(length)[:, None] * rates  # [length, D/2]
    table = np.empty((length, d_model))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table.astype(np.float32)


def output_bias(vocab_size: int) -> npt.NDArray[np.float32]:
    """Return what is added to the logits, [V]: zero, but for control tokens other than `</s>`."""
    bias = np.zeros(vocab_size, np.float32)
    bias[list(NEVER_WRITTEN)] = _NEVER
    return bias
