"""Tests of nmt_cli/files.py: strict reading, and writing that no crash leaves half done."""

import errno
import gzip
import hashlib
import io
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import nmt_cli
from nmt_cli import files
from nmt_cli.encoding import find_encoding
from nmt_cli.errors import ConfigError, DataError, TrainingError
from nmt_cli.files import (
    atomic_dir,
    atomic_text,
    existing_dir,
    os_errors_as,
    read_lines,
    remove_dir,
    remove_leftovers,
    sha256_of,
    temporary_folder,
    write_text,
)

BOM = b"\xef\xbb\xbf"
NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def umask():
    """A function that sets the process's umask; the old one comes back after the test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def run_until_killed(code: str, *arguments: Path) -> None:
    """Run Python code in a process of its own that must end by `kill -9`."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(nmt_cli.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


class TestReadLines:
    @pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
    @pytest.mark.parametrize(
        ("content", "lines"),
        [
            (b"", []),
            (b"\n", [""]),
            (b"a\nb\n", ["a", "b"]),
            (b"a\nb", ["a", "b"]),
            (b"a\r\r\n\r\n", ["a\r", ""]),
            (BOM, []),
            (BOM + b"\n", [""]),
            (b"a\r\nb\r\n", ["a", "b"]),
            (b"a\n\n b \n", ["a", "", " b "]),
            (BOM + b"a\nb\n", ["a", "b"]),
            (b"a\n" + BOM + b"b\n", ["a", "\ufeffb"]),
            ("größer 한국어 😀\n".encode(), ["größer 한국어 😀"]),
        ],
    )
    def test_gives_the_lines_without_their_ends(self, tmp_path, name, content, lines):
        assert list(read_lines(put(tmp_path / name, content))) == lines

    @pytest.mark.parametrize(
        "character", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1e", "\0", "\r"]
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_nothing_else_ends_a_line(self, tmp_path, character, end):
        text = f"a{character}b{end}{character}c{end}d"
        path = put(tmp_path / "text", text.encode())
        assert list(read_lines(path)) == [f"a{character}b", f"{character}c", "d"]

    def test_a_carriage_return_before_the_end_of_the_file_is_a_character(self, tmp_path):
        assert list(read_lines(put(tmp_path / "text", b"a\nb\r"))) == ["a", "b\r"]

    @pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
    def test_invalid_utf8_is_told_with_file_line_and_byte(self, tmp_path, name):
        path = put(tmp_path / name, b"fine\nalso\nna\xefve\nfine\n")
        lines = read_lines(path)
        assert [next(lines), next(lines)] == ["fine", "also"]
        with pytest.raises(DataError) as caught:
            next(lines)
        assert str(caught.value) == f"{path}:3: not valid UTF-8 (byte 3 of the line)"
        assert "iconv" in caught.value.hint

    def test_a_stray_byte_in_utf8_is_no_reason_to_convert_the_file(self, tmp_path):
        path = put(tmp_path / "text", "naïve\n".encode() * 9 + b"na\xefve\n")
        with pytest.raises(DataError, match=":10: not valid UTF-8") as caught:
            list(read_lines(path))
        assert "iconv" not in caught.value.hint
        assert "nmt check --fix" in caught.value.hint

    def test_an_encoded_surrogate_is_not_utf8(self, tmp_path):
        path = put(tmp_path / "text", b"\xed\xa0\x80\n")
        with pytest.raises(DataError, match=":1: not valid UTF-8"):
            list(read_lines(path))

    def test_a_missing_file_is_told(self, tmp_path):
        with pytest.raises(DataError) as caught:
            list(read_lines(tmp_path / "no.txt"))
        assert str(caught.value) == (
            f"{tmp_path / 'no.txt'}: cannot be read: No such file or directory"
        )

    def test_a_folder_is_told(self, tmp_path):
        with pytest.raises(DataError, match=r": cannot be read: Is a directory$"):
            list(read_lines(tmp_path))

    def test_a_gz_file_cut_short_is_told(self, tmp_path):
        path = tmp_path / "text.gz"
        path.write_bytes(gzip.compress(b"line\n" * 1000)[:-12])
        with pytest.raises(DataError, match=r"text\.gz: cannot be read: Compressed file ended"):
            list(read_lines(path))

    def test_a_gz_file_with_a_wrong_byte_is_told(self, tmp_path):
        content = bytearray(gzip.compress(b"line\n" * 1000))
        content[-8] ^= 1  # in the checksum
        path = tmp_path / "text.gz"
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"text\.gz: cannot be read: CRC check failed"):
            list(read_lines(path))

    def test_a_broken_deflate_stream_is_told(self, tmp_path):
        path = tmp_path / "text.gz"
        path.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 100)  # zlib.error, no OSError
        with pytest.raises(DataError, match=r"text\.gz: cannot be read: .*invalid block type"):
            list(read_lines(path))

    def test_plain_text_called_gz_is_told(self, tmp_path):
        path = tmp_path / "text.gz"
        path.write_bytes(b"plain\n")
        with pytest.raises(DataError, match=r"text\.gz: cannot be read: Not a gzipped file"):
            list(read_lines(path))

    def test_a_dash_is_standard_input(self, monkeypatch):
        stdin = io.TextIOWrapper(io.BytesIO(BOM + "a\r\n\u2028b\n".encode()), encoding="ascii")
        monkeypatch.setattr(sys, "stdin", stdin)
        assert list(read_lines("-")) == ["a", "\u2028b"]

    def test_standard_input_is_named_when_it_is_wrong(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff\n")))
        with pytest.raises(DataError, match=r"^standard input:2: not valid UTF-8"):
            list(read_lines("-"))


def test_sha256_of_a_file_longer_than_one_block(tmp_path):
    content = os.urandom((1 << 20) + 17)
    (tmp_path / "x").write_bytes(content)
    assert sha256_of(tmp_path / "x") == hashlib.sha256(content).hexdigest()


class TestAtomicText:
    def test_the_file_appears_when_the_block_ends(self, tmp_path):
        path = tmp_path / "new" / "folder" / "x.txt"
        with atomic_text(path) as stream:
            stream.write("größer\r\n\u2028\n")
            assert not path.exists()
        assert path.read_bytes() == "größer\r\n\u2028\n".encode()

    def test_the_old_content_stays_until_then(self, tmp_path):
        path = tmp_path / "x.txt"
        write_text(path, "old")
        with atomic_text(path) as stream:
            stream.write("new")
            stream.flush()
            assert path.read_text() == "old"
        assert path.read_text() == "new"
        assert names(tmp_path) == ["x.txt"]

    def test_gz_goes_out_and_comes_back_in(self, tmp_path):
        lines = ["größer", "", "한국어 " * 1000]
        write_text(tmp_path / "x.gz", "".join(f"{line}\n" for line in lines))
        assert list(read_lines(tmp_path / "x.gz")) == lines
        assert gzip.decompress((tmp_path / "x.gz").read_bytes()).decode().split("\n")[0] == "größer"

    @pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
    @pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, NO_SPACE])
    def test_an_exception_leaves_the_old_content(self, tmp_path, name, kind):
        path = tmp_path / name
        write_text(path, "old")
        before = path.read_bytes()

        def fail():
            with atomic_text(path) as stream:
                stream.write("new" * 10_000)
                raise kind

        with pytest.raises(kind if isinstance(kind, type) else type(kind)):
            fail()
        assert path.read_bytes() == before
        assert names(tmp_path) == [name]

    @pytest.mark.parametrize("call", ["fsync", "chmod", "replace"])
    def test_no_space_at_any_call_leaves_the_old_content(self, tmp_path, monkeypatch, call):
        path = tmp_path / "x.txt"
        write_text(path, "old")

        def no_space(*_):
            raise NO_SPACE

        monkeypatch.setattr(os if call == "fsync" else Path, call, no_space)
        with pytest.raises(OSError, match="No space left on device"):
            write_text(path, "new")
        assert path.read_text() == "old"
        assert names(tmp_path) == ["x.txt"]

    def test_a_real_size_limit_leaves_the_old_content(self, tmp_path):
        path = tmp_path / "x.txt"
        write_text(path, "old")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                write_text(path, "new" * (1 << 20))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_text() == "old"
        assert names(tmp_path) == ["x.txt"]

    def test_kill_9_in_the_block_leaves_the_old_content(self, tmp_path):
        path = tmp_path / "x.txt"
        write_text(path, "old")
        run_until_killed(
            "import os, sys, pathlib, nmt_cli.files as f\n"
            "with f.atomic_text(pathlib.Path(sys.argv[1])) as stream:\n"
            "    stream.write('new'); stream.flush(); os.kill(os.getpid(), 9)\n",
            path,
        )
        assert path.read_text() == "old"
        assert len(names(tmp_path)) == 2
        remove_leftovers(tmp_path)
        assert names(tmp_path) == ["x.txt"]

    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o027, 0o002])
    def test_the_mode_is_what_the_umask_allows(self, tmp_path, umask, mask):
        umask(mask)
        write_text(tmp_path / "x", "")
        assert mode(tmp_path / "x") == 0o666 & ~mask
        assert umask(mask) == mask  # still the same

    def test_a_link_is_written_through(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        target = tmp_path / "elsewhere" / "x.txt"
        target.write_text("old")
        (tmp_path / "link").symlink_to(target)
        write_text(tmp_path / "link", "new")
        assert (tmp_path / "link").is_symlink()
        assert target.read_text() == "new"
        assert names(tmp_path / "elsewhere") == ["x.txt"]

    def test_a_pipe_is_written_to_and_not_replaced(self):
        reader, writer = os.pipe()
        write_text(Path(f"/dev/fd/{writer}"), "größer\n")
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            assert stream.read() == "größer\n".encode()


FIRST_RENAME, SECOND_RENAME = 0, 1


class TestAtomicDir:
    @pytest.fixture
    def old(self, tmp_path):
        """A folder `model` with the file `old`."""
        with atomic_dir(tmp_path / "model") as folder:
            (folder / "old").write_text("old")
        return tmp_path / "model"

    def write_new(self, path: Path) -> None:
        with atomic_dir(path) as folder:
            (folder / "sub").mkdir()
            (folder / "sub" / "new").write_text("new")

    def test_the_folder_appears_when_the_block_ends(self, tmp_path):
        path = tmp_path / "runs" / "model"
        with atomic_dir(path) as folder:
            (folder / "a").write_text("a")
            assert folder.parent == path.parent  # the same disk: the rename is atomic
            assert not path.exists()
        assert (path / "a").read_text() == "a"
        assert names(path.parent) == ["model"]

    def test_the_old_folder_stays_until_then_and_is_replaced_whole(self, old):
        old.chmod(0o700)
        with atomic_dir(old) as folder:
            (folder / "new").write_text("new")
            assert names(old) == ["old"]
        assert mode(old) == 0o700
        assert names(old) == ["new"]
        assert names(old.parent) == ["model"]

    @pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
    def test_an_exception_leaves_the_old_content(self, old, kind):
        def fail():
            with atomic_dir(old) as folder:
                (folder / "new").write_text("new")
                raise kind

        with pytest.raises(kind):
            fail()
        assert names(old) == ["old"]
        assert names(old.parent) == ["model"]

    @pytest.mark.parametrize(
        ("owner", "name", "good_calls"),
        [
            (os, "fsync", 0),
            (os, "fsync", 1),
            (Path, "chmod", 0),
            (Path, "rename", FIRST_RENAME),
            (Path, "rename", SECOND_RENAME),
        ],
    )
    def test_no_space_at_any_call_leaves_the_old_content(
        self, old, monkeypatch, owner, name, good_calls
    ):
        real, calls = getattr(owner, name), []

        def no_space(*arguments):
            calls.append(arguments)
            if len(calls) == good_calls + 1:
                raise NO_SPACE
            return real(*arguments)

        monkeypatch.setattr(owner, name, no_space)
        with pytest.raises(OSError, match="No space left on device"):
            self.write_new(old)
        assert len(calls) > good_calls
        assert names(old) == ["old"]
        assert names(old.parent) == ["model"]

    def test_a_failing_first_write_leaves_nothing(self, tmp_path, monkeypatch):
        def no_space(*_):
            raise NO_SPACE

        monkeypatch.setattr(Path, "rename", no_space)
        with pytest.raises(OSError, match="No space"):
            self.write_new(tmp_path / "model")
        assert names(tmp_path) == []

    def test_kill_9_in_the_block_leaves_the_old_content(self, old):
        run_until_killed(
            "import os, sys, pathlib, nmt_cli.files as f\n"
            "with f.atomic_dir(pathlib.Path(sys.argv[1])) as folder:\n"
            "    (folder / 'new').write_text('new'); os.kill(os.getpid(), 9)\n",
            old,
        )
        assert existing_dir(old) == old
        assert names(old) == ["old"]
        remove_leftovers(old.parent)
        assert names(old.parent) == ["model"]

    @pytest.mark.parametrize("good_renames", [FIRST_RENAME, SECOND_RENAME])
    def test_kill_9_before_a_rename_leaves_a_whole_folder(self, old, good_renames):
        run_until_killed(
            "import os, sys, pathlib, nmt_cli.files as f\n"
            "real, left = pathlib.Path.rename, [int(sys.argv[2])]\n"
            "def rename(*arguments):\n"
            "    if not left[0]: os.kill(os.getpid(), 9)\n"
            "    left[0] -= 1\n"
            "    return real(*arguments)\n"
            "pathlib.Path.rename = rename\n"
            "with f.atomic_dir(pathlib.Path(sys.argv[1])) as folder:\n"
            "    (folder / 'new').write_text('new')\n",
            old,
            good_renames,
        )
        assert old.exists() == (good_renames == FIRST_RENAME)
        assert names(existing_dir(old)) == ["old"]
        self.write_new(old)  # the same command again
        assert names(existing_dir(old)) == ["sub"]
        remove_leftovers(old.parent)
        assert names(old.parent) == ["model"]

    def test_kill_9_after_the_renames_leaves_the_new_folder(self, old):
        run_until_killed(
            "import os, sys, pathlib, nmt_cli.files as f\n"
            "real = f.shutil.rmtree\n"
            "def rmtree(path, **options):\n"
            "    if path.exists(): os.kill(os.getpid(), 9)\n"
            "f.shutil.rmtree = rmtree\n"
            "with f.atomic_dir(pathlib.Path(sys.argv[1])) as folder:\n"
            "    (folder / 'new').write_text('new')\n",
            old,
        )
        assert existing_dir(old) == old
        assert names(old) == ["new"]
        assert names(old.parent) == [".model.previous", "model"]
        remove_leftovers(old.parent)
        assert names(old.parent) == ["model"]
        self.write_new(old)
        assert names(old) == ["sub"]
        assert names(old.parent) == ["model"]

    def test_everything_is_flushed_before_the_rename(self, old, monkeypatch):
        done, rename = [], Path.rename
        monkeypatch.setattr(files, "fsync", lambda path: done.append(path.name))
        monkeypatch.setattr(
            Path, "rename", lambda path, to: done.append("rename") or rename(path, to)
        )
        self.write_new(old)
        before = done[: done.index("rename")]
        assert {"sub", "new"} <= set(before)
        assert any(name.startswith(".model.writing-") for name in before)
        assert done[-1] == old.parent.name  # the renames themselves

    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
    def test_the_modes_are_what_the_umask_allows(self, tmp_path, umask, mask):
        umask(mask)
        with atomic_dir(tmp_path / "model") as folder:
            (folder / "secretive").touch(mode=0o600)  # as safetensors creates its files
            (folder / "sub").mkdir(mode=0o700)
        assert mode(tmp_path / "model") == 0o777 & ~mask
        assert mode(tmp_path / "model" / "sub") == 0o777 & ~mask
        assert mode(tmp_path / "model" / "secretive") == 0o666 & ~mask

    def test_a_linked_folder_is_replaced_where_it_is(self, tmp_path):
        (tmp_path / "big-disk").mkdir()
        link = tmp_path / "model"
        link.symlink_to(tmp_path / "big-disk" / "model")
        for _ in range(3):
            self.write_new(link)
        assert link.is_symlink()
        assert names(link) == ["sub"]
        assert names(tmp_path / "big-disk") == ["model"]

    def test_a_linked_folder_is_found_after_a_crash(self, tmp_path):
        (tmp_path / "big-disk" / ".model.previous").mkdir(parents=True)
        link = tmp_path / "model"
        link.symlink_to(tmp_path / "big-disk" / "model")
        assert existing_dir(link) == tmp_path / "big-disk" / ".model.previous"


class TestExistingDir:
    def test_is_the_folder_itself_when_there_is_no_other(self, tmp_path):
        assert existing_dir(tmp_path / "model") == tmp_path / "model"

    def test_prefers_the_folder_to_what_was_set_aside(self, tmp_path):
        (tmp_path / "model").mkdir()
        (tmp_path / ".model.previous").mkdir()
        assert existing_dir(tmp_path / "model") == tmp_path / "model"

    def test_is_what_was_set_aside_otherwise(self, tmp_path):
        (tmp_path / ".model.previous").mkdir()
        assert existing_dir(tmp_path / "model") == tmp_path / ".model.previous"


def test_remove_leftovers_takes_only_what_nobody_will_read(tmp_path):
    gone = (".a.writing-123", ".step-1.previous")
    for name in (*gone, ".b.previous", "c.writing-1", "step-1", ".hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
    (tmp_path / ".x.txt.writing-abc").touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".b.previous", ".hidden", "c.writing-1", "step-1"]
    remove_leftovers(tmp_path / "no such folder")


class TestRemoveDir:
    def test_a_folder_is_gone_and_its_neighbours_are_not(self, tmp_path):
        for name in ("a", "ab"):
            (tmp_path / name / "sub").mkdir(parents=True)
        remove_dir(tmp_path / "a")
        remove_dir(tmp_path / "a")  # there may be none
        assert names(tmp_path) == ["ab"]

    def test_a_crash_in_the_middle_leaves_nothing_under_its_name(self, tmp_path, monkeypatch):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "file").write_text("x")

        def crash(path, **_):
            if path.exists():
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(files.shutil, "rmtree", crash)
            with pytest.raises(KeyboardInterrupt):
                remove_dir(tmp_path / "a")
        assert names(tmp_path) == [".a.removing-"]
        remove_leftovers(tmp_path)
        assert names(tmp_path) == []


class TestOsErrorsAs:
    def test_tells_what_was_done_where_and_why(self, tmp_path):
        missing = tmp_path / "no" / "x"
        with (
            pytest.raises(TrainingError) as caught,
            os_errors_as(TrainingError, "the log cannot be written", hint="make room"),
        ):
            missing.write_text("")
        assert str(caught.value) == (
            f"the log cannot be written ({missing}): No such file or directory"
        )
        assert caught.value.hint == "make room"

    def test_tells_an_error_without_file_or_number(self):
        with pytest.raises(DataError) as caught, os_errors_as(DataError, "x"):
            raise OSError("the disk is on fire")
        assert str(caught.value) == "x: the disk is on fire"
        assert caught.value.hint is None

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
    def test_tells_a_full_disk(self):
        with (
            pytest.raises(DataError, match=r"^out: cannot be written.*: No space left on device$"),
            os_errors_as(DataError, "out: cannot be written"),
        ):
            write_text(Path("/dev/full"), "x" * 100_000)

    @pytest.mark.parametrize("kind", [ValueError, ConfigError])
    def test_lets_everything_else_pass(self, kind):
        with pytest.raises(kind, match=r"^y$"), os_errors_as(DataError, "x"):
            raise kind("y")


class TestTemporaryFolder:
    def test_is_gone_afterwards(self):
        with temporary_folder() as folder:
            (folder / "x").write_text("x")
        assert not folder.exists()

    def test_tells_that_there_is_no_place_for_one(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "no"))
        told = pytest.raises(TrainingError, match="temporary files cannot be written")
        with told as caught, temporary_folder():
            pytest.fail("there is none")
        assert "TMPDIR=" in caught.value.hint

    def test_tells_that_it_is_full(self):
        told = pytest.raises(TrainingError, match=r"temporary files .*: No space left")
        with told, temporary_folder():
            raise NO_SPACE


@pytest.mark.parametrize("start", [b"PK\x03\x04\x14\0", b"\xd0\xcf\x11\xe0\xa1\xb1"])
def test_what_is_in_a_spreadsheet_is_no_text_under_any_name(tmp_path, start):
    (tmp_path / "a.csv").write_bytes(start + bytes(range(256)))
    assert find_encoding(tmp_path / "a.csv") is None
    with pytest.raises(DataError, match="holds a spreadsheet") as caught:
        list(read_lines(tmp_path / "a.csv"))
    assert "save it as CSV" in caught.value.hint


@pytest.mark.parametrize("name", ["a.xlsx", "B.XLS", "c.ods"])
def test_a_spreadsheet_is_no_text_whoever_reads_it(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04\x14\0\x06\0")
    with pytest.raises(DataError, match="a spreadsheet is not text") as caught:
        list(read_lines(tmp_path / name))
    assert "save it as CSV" in caught.value.hint
