"""A model's weights as NumPy arrays, without TensorFlow: by name, strict both ways; and fixed ones.

Fixed are the sinusoids and the bias of the output, which are not learned.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import ConfigError, ModelFileError, did_you_mean
from nmt_cli.text.special_tokens import never_written

Arrays = dict[str, npt.NDArray[np.float32]]
_NEVER = -1e4  # a probability of zero, and float16 holds it
_LONGEST_WAVE = 10_000.0


class Model(Protocol):
    """What is needed of a model: its Keras variables."""

    @property
    def weights(self) -> list[Any]:
        """The variables, each with `path`, `shape`, `numpy()` and `assign()`."""


def named_variables(model: Model) -> dict[str, Any]:
    """Return the model's variables by dotted name, such as `encoder.layer1.self_att.output`."""
    return {_dotted(variable.path): variable for variable in model.weights}


def read_weights(model: Model) -> Arrays:
    """Return a copy of every weight by name."""
    return {name: np.array(variable.numpy()) for name, variable in named_variables(model).items()}


def assign_weights(model: Model, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Set every weight; names and shapes must agree exactly.

    Raises:
        ModelFileError: Lists names that are missing or not expected, and shapes that differ.
    """
    variables = named_variables(model)
    problems = [f"missing '{name}'" for name in sorted(variables.keys() - arrays.keys())]
    problems += [
        f"unknown '{name}'.{did_you_mean(name, variables)}"
        for name in sorted(arrays.keys() - variables.keys())
    ]
    problems += [
        f"'{name}' has shape {tuple(arrays[name].shape)}, expected {tuple(variable.shape)}"
        for name, variable in variables.items()
        if name in arrays and tuple(arrays[name].shape) != tuple(variable.shape)
    ]
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise ModelFileError(f"the weights do not fit the model: {'; '.join(problems[:3])}{more}")
    for name, variable in variables.items():
        variable.assign(arrays[name])


def is_hidden_matrix(name: str, weight: Any) -> bool:
    """Return whether a weight, by its dotted name, maps hidden states to hidden states."""
    return len(weight.shape) == 2 and ".layer" in name


def _dotted(path: str) -> str:
    """Return a variable's name without that of the model, in which weights of its own are."""
    return path.removeprefix("transformer/").removeprefix("classifier/").replace("/", ".")


def sinusoids(length: int, d_model: int) -> npt.NDArray[np.float32]:
    """Return PE [length, d_model]: even columns sin(pos / 10000^(2i/d)), odd columns its cosine.

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


def never_written_bias(vocab_size: int, num_tags: int) -> npt.NDArray[np.float32]:
    """Return what is added to the logits, [V]: zero, but for what `never_written` names."""
    bias = np.zeros(vocab_size, np.float32)
    bias[never_written(num_tags)] = _NEVER
    return bias
