"""Properties of reading text: any lines come back, and any bytes give lines or a told problem."""

import gzip
import io
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nmt_cli.encoding import PACKED
from nmt_cli.errors import DataError
from nmt_cli.files import read_lines, write_text

ODD = st.sampled_from(
    ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r", "\0", ""]
)
lines = st.lists(st.lists(ODD | st.text(max_size=3), max_size=5).map("".join), max_size=6)


@pytest.fixture(scope="module", autouse=True)
def no_fsync():
    """Nothing here is about a power cut, and flushing thousands of files takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


def assume_text(raw: bytes) -> None:
    """Leave out what begins as a spreadsheet, and ASCII in UTF-16: half of it are zeros."""
    assume(not raw.startswith(PACKED))
    assume(raw.count(0) < 0.4 * max(1, len(raw)))


@settings(max_examples=100)
@given(lines=lines, end=st.sampled_from(["\n", "\r\n"]), name=st.sampled_from(["x", "x.gz"]))
def test_any_lines_come_back(folder, lines, end, name):
    lines = [line.replace("\n", "").rstrip("\r").removeprefix("\ufeff") for line in lines]
    text = "".join(f"{line}{end}" for line in lines)
    assume_text(text.encode())
    write_text(folder / name, text)
    assert list(read_lines(folder / name)) == lines


@settings(max_examples=150)
@given(content=st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_any_bytes_give_lines_or_a_told_problem(folder, content):
    assume_text(content)
    path = folder / "bytes"
    path.write_bytes(content)
    try:
        content.decode()
    except UnicodeDecodeError:
        with pytest.raises(DataError, match=rf"^{re.escape(str(path))}:\d+: not valid UTF-8"):
            list(read_lines(path))
    else:
        expected = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="\n")
        ends = re.compile(r"\r?\n\Z")  # the mark alone is no line
        assert list(read_lines(path)) == [ends.sub("", line) for line in expected]


@settings(max_examples=100)
@given(position=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.integers(1, 10_000))
def test_a_damaged_gz_file_gives_a_told_problem_or_its_text(folder, position, byte, cut):
    text = "".join(f"line {number}\n" for number in range(40))
    content = bytearray(gzip.compress(text.encode(), mtime=0))
    content[position % len(content)] = byte
    path = folder / "damaged.gz"
    path.write_bytes(content[:cut])
    try:
        found = list(read_lines(path))
    except DataError as error:
        found = str(error)
    assert found in (text.splitlines(), []) or found.startswith(f"{path}:")
