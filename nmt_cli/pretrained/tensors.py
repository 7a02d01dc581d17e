"""The weights of a folder as NumPy arrays: `model.safetensors`, or PyTorch's `pytorch_model.bin`.

PyTorch's file is a zip with a pickle that says how storages become tensors. It is read without
PyTorch, and nothing that the pickle names is ever run: it may name what makes a tensor, an ordered
dictionary and the kinds of storage, and for these functions of this file stand.
"""

import collections
import pickle
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from nmt_cli.errors import ModelFileError
from nmt_cli.files import os_errors_as

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
_STORAGES = {
    "FloatStorage": np.float32,
    "DoubleStorage": np.float64,
    "HalfStorage": np.float16,
    "BFloat16Storage": ml_dtypes.bfloat16,
    "LongStorage": np.int64,
}
Tensors = dict[str, npt.NDArray[np.float32]]
Rules = Sequence[tuple[str, str | Callable[[re.Match[str]], str]]]


def read_tensors(folder: Path) -> Tensors:
    """Return every tensor of a model's folder as float32, by its published name.

    Raises:
        ModelFileError: There is no file of weights, it is damaged, or it holds what is no tensor.
    """
    path = folder / (SAFE if (folder / SAFE).exists() else PICKLED)
    if not path.exists():
        raise ModelFileError(
            f"{folder}: holds neither {SAFE} nor {PICKLED}",
            hint="weights in several files (model-00001-of-00002.safetensors) are not supported",
        )
    with os_errors_as(ModelFileError, f"{path}: cannot be read"):
        path.open("rb").close()  # safetensors would say that there is no such file
    return finite(_read_safe(path) if path.name == SAFE else _read_pickled(path), folder)


def finite(tensors: Tensors, path: Path) -> Tensors:
    """Return tensors; ModelFileError if one of them holds a NaN or an infinity."""
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ModelFileError(f"{path}: '{name}' holds a number that is not finite")
    return tensors


def renamed(tensors: Tensors, rules: Rules) -> Tensors:
    """Return tensors under other names: each rule replaces its pattern in what the last left."""
    found: Tensors = {}
    for name, tensor in tensors.items():
        ours = name
        for pattern, replacement in rules:
            ours = re.sub(pattern, replacement, ours)
        found[ours] = tensor
    return found


def _read_safe(path: Path) -> Tensors:
    try:
        with safe_open(path, "numpy") as file:
            names = list(file.keys())
            return {name: np.asarray(file.get_tensor(name), np.float32) for name in names}
    except (SafetensorError, OSError, TypeError) as error:
        raise ModelFileError(f"{path}: damaged: {error}") from error


def _read_pickled(path: Path) -> Tensors:
    try:
        with zipfile.ZipFile(path) as archive:
            (pickled,) = [n for n in archive.namelist() if n.endswith("/data.pkl")]
            with archive.open(pickled) as stream:
                found = _Reader(stream, archive, pickled.removesuffix("data.pkl")).load()
    except ModelFileError:
        raise
    except Exception as error:  # a pickle fails in any way
        raise ModelFileError(
            f"{path}: damaged, or not a file of PyTorch 1.6 or later: {error}"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(a, np.ndarray) for a in found.values()):
        raise ModelFileError(f"{path}: holds something other than tensors")
    return {str(name): np.asarray(array, np.float32) for name, array in found.items()}


class _Reader(pickle.Unpickler):
    """Makes arrays of PyTorch's pickle, and refuses whatever else it asks for."""

    def __init__(self, stream: Any, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(stream)
        self._archive, self._root = archive, root

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise ModelFileError(f"{self._archive.filename}: refused: it would run {module}.{name}")

    def persistent_load(self, pid: Any) -> npt.NDArray[Any]:
        _, kind, key, _, size = pid
        raw = self._archive.read(f"{self._root}data/{key}")
        return np.frombuffer(raw, kind, size)


def _tensor(
    storage: npt.NDArray[Any], offset: int, shape: Sequence[int], strides: Sequence[int], *_: Any
) -> npt.NDArray[Any]:
    """Return a view of a storage; strides count numbers."""
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if min((*shape, 1)) < 1 or min((*strides, 0)) < 0 or not 0 <= offset <= last < len(storage):
        raise ValueError("a tensor lies outside of its storage")
    width = storage.itemsize
    return np.lib.stride_tricks.as_strided(
        storage[offset:], tuple(shape), [width * stride for stride in strides], writeable=False
    )
