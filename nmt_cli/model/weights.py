"""A model's weights as named NumPy arrays, and back: strict both ways, and without TensorFlow."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import ModelFileError, did_you_mean

Arrays = dict[str, npt.NDArray[np.float32]]


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


def _dotted(path: str) -> str:
    """Return a variable's name without that of the model, in which weights of its own are."""
    return path.removeprefix("transformer/").removeprefix("classifier/").replace("/", ".")
