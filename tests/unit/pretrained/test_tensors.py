"""Files of weights that somebody else wrote: nothing of them is run."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from nmt_cli.errors import ModelFileError
from nmt_cli.pretrained.tensors import PICKLED, SAFE, read_tensors


class Runs:
    """A pickle that would write a file."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def write_pickle(folder: Path, value: object) -> None:
    with zipfile.ZipFile(folder / PICKLED, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value))


def test_a_pickle_with_code_in_it_is_refused(tmp_path):
    mark = tmp_path / "ran"
    for evil in (Runs(Path.touch, mark), Runs(eval, f"open({str(mark)!r}, 'w')"), Runs(exec, "1")):
        write_pickle(tmp_path, {"weight": evil})
        with pytest.raises(ModelFileError, match="refused: it would run"):
            read_tensors(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize("value", [{"weight": 1}, [1], {"weight": "text"}])
def test_what_is_no_tensor_is_refused(tmp_path, value):
    write_pickle(tmp_path, value)
    with pytest.raises(ModelFileError, match="something other than tensors"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x02}q\x00.", b"x" * 1000])
def test_what_is_no_file_of_pytorch_is_refused(tmp_path, content):
    (tmp_path / PICKLED).write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        read_tensors(tmp_path)


def test_a_tensor_beyond_its_storage_is_refused():
    from nmt_cli.pretrained import tensors

    storage = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(
        tensors._tensor(storage, 0, (2, 3), (1, 2)), [[0, 2, 4], [1, 3, 5]]
    )
    for offset, shape, strides in (
        (0, (7,), (1,)),
        (4, (2, 2), (2, 1)),
        (0, (2,), (-1,)),
        (-1, (1,), (1,)),
    ):
        with pytest.raises(ValueError, match="outside"):
            tensors._tensor(storage, offset, shape, strides)


def test_a_weight_that_is_no_number_is_named(tmp_path):
    save_file({"a.weight": np.array([1.0, np.nan], np.float32)}, tmp_path / SAFE)
    with pytest.raises(ModelFileError, match=r"'a\.weight' holds a number that is not finite"):
        read_tensors(tmp_path)
