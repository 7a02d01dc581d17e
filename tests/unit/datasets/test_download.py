"""Downloads from a server on loopback that breaks connections, lacks ranges, lies and redirects."""

import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import os
import socket
import threading
import time
import zipfile

import pytest
from file_server import Site, serving

from nmt_cli.datasets.download import (
    FetchError,
    NotThere,
    _Redirects,
    fetch,
    fetch_of_set,
    missing_files,
    unpack,
)
from nmt_cli.datasets.known_sets import DATA_SETS, DataSet, RemoteFile
from nmt_cli.errors import DataError

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def site():
    return Site({"/a/file": CONTENT, "/file": CONTENT})


@pytest.fixture
def address(site):
    with serving(site) as address:
        yield address


def get(address, path, sha256=SHA256, **options):
    fetch(f"{address}/file", path, sha256=sha256, pause_s=0.0, **options)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_and_leaves_nothing_else(site, address, tmp_path):
    seen = []
    get(address, tmp_path / "new" / "file", on_progress=lambda *step: seen.append(step))
    assert (tmp_path / "new" / "file").read_bytes() == CONTENT
    assert names(tmp_path / "new") == ["file"]
    assert seen[0] == (0, None)
    assert seen[-1] == (len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("etag", ['"1"', 'W/"1"', ""])
def test_a_broken_connection_is_gone_on_with(site, address, tmp_path, etag):
    site.etag, site.break_after = etag, [3000, 4000]
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in site.requests] == [None, "bytes=3000-", "bytes=7000-"]


def test_a_later_run_goes_on_where_the_first_gave_up(site, address, tmp_path):
    site.break_after = [3000, 0, 0, 0, 0]
    with pytest.raises(FetchError, match="closed after 3,000 of 10,240 bytes") as caught:
        get(address, tmp_path / "file")
    assert "the same command resumes" in caught.value.hint
    assert not (tmp_path / "file").exists()
    site.break_after.clear()
    site.requests.clear()
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in site.requests] == ["bytes=3000-"]


def test_a_new_version_on_the_server_starts_over(site, address, tmp_path):
    site.break_after = [3000, 0, 0, 0, 0]
    with pytest.raises(FetchError):
        get(address, tmp_path / "file", sha256=None)
    site.break_after.clear()
    site.files["/file"], site.etag = CONTENT[::-1], '"2"'
    get(address, tmp_path / "file", sha256=None)
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("etag", ["", 'W/"1"'])
@pytest.mark.parametrize("headers", [{}, {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}])
def test_without_an_exact_version_and_a_hash_nothing_is_gone_on_with(
    site, address, tmp_path, etag, headers
):
    """A weak ETag, or the second of a change, may name two versions: their bytes never join."""
    site.etag, site.headers, site.break_after = etag, headers, [3000, 0, 0, 0, 0]
    with pytest.raises(FetchError):
        get(address, tmp_path / "file", sha256=None)
    site.break_after.clear()
    site.files["/file"] = CONTENT[::-1]
    get(address, tmp_path / "file", sha256=None)
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]
    assert site.requests[-1] == ("/file", None)


def test_the_rest_is_asked_for_if_it_is_of_the_same_version(site, address, tmp_path):
    site.break_after = [3000]
    get(address, tmp_path / "file", sha256=None)
    assert site.conditions == [None, '"1"']


@pytest.mark.parametrize("span", ["bytes 2999-10239/10240", "bytes 0-7239/10240", "", "nonsense"])
def test_a_part_of_another_place_is_not_taken(site, address, tmp_path, span):
    site.break_after = [3000, 0, 0, 0, 0]
    with pytest.raises(FetchError):
        get(address, tmp_path / "file", sha256=None)
    site.break_after.clear()
    site.headers = {"Content-Range": span}
    get(address, tmp_path / "file", sha256=None)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in site.requests[-2:]] == ["bytes=3000-", None]


@pytest.mark.parametrize("length", ["abc", "-1", "1e3", "²"])
def test_a_length_that_is_none_is_not_believed(site, address, tmp_path, length):
    site.headers = {"Content-Length": length.encode().decode("latin-1"), "Connection": "close"}
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_file_for_which_there_is_no_space_is_not_begun(site, address, tmp_path):
    site.headers = {"Content-Length": str(1 << 60)}
    with pytest.raises(DataError, match=r"no space for .*: it has 1152921504\.6 GB"):
        get(address, tmp_path / "file")
    assert len(site.requests) == 1


def test_a_server_that_gives_ten_bytes_a_try_is_given_up(site, address, tmp_path):
    site.break_after = [10] * 1000
    with pytest.raises(FetchError, match="tried 4 times"):
        get(address, tmp_path / "file")
    assert len(site.requests) == 4


def test_a_server_that_trickles_is_given_up(site, address, tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_cli.datasets.download._TIMEOUT_S", 0.2)
    monkeypatch.setattr("nmt_cli.datasets.download._SLOWEST", 100_000)
    site.pause_s, site.files["/file"] = 0.05, bytes(100_000)
    with pytest.raises(FetchError, match="less than 100,000 bytes per second arrive"):
        get(address, tmp_path / "file")


def test_headers_that_trickle_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_cli.datasets.download._ANSWER_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=trickle, args=(server,), daemon=True).start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(
            FetchError, match=r"its headers did not come within .* \(tried 4 times\)"
        ):
            get(address, tmp_path / "file")


def trickle(server: socket.socket) -> None:
    """Answer each request with a header that has no end."""
    kept = []
    with contextlib.suppress(OSError):
        while True:
            kept.append(server.accept()[0])
            kept[-1].sendall(b"HTTP/1.1 200 OK\r\nX: ")
            threading.Thread(target=drip, args=(kept[-1],), daemon=True).start()


def drip(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)


@pytest.mark.parametrize(
    "target",
    ["http://[::1", "ftp://127.0.0.1/x", "file:///etc/hostname", "http://a" + "b" * 80 + ".x/",
     "http://127.0.0.1:port/x", "http://127.0.0.1/a b\t", "//[", "http://\udc80.x/"],
)  # fmt: skip
def test_odd_redirections_are_told(site, address, tmp_path, target):
    site.redirects["/file"] = target.encode("utf-8", "surrogateescape").decode("latin-1")
    with pytest.raises(FetchError) as caught:
        get(address, tmp_path / "file")
    assert names(tmp_path) == []
    assert str(caught.value).startswith(f"{address}/file: redirects to ")


@pytest.mark.parametrize("address", ["http://[::1", "http://a..b", "http://x y", "https://"])
def test_odd_addresses_are_told(tmp_path, address):
    with pytest.raises(FetchError):
        get(address, tmp_path / "file")


def test_a_part_of_something_else_is_found_out_by_the_hash(site, address, tmp_path):
    (tmp_path / ".file.part").write_bytes(b"x" * 500)
    (tmp_path / ".file.part.version").write_text(site.etag)
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_that_is_all_of_it_needs_no_more(site, address, tmp_path):
    (tmp_path / ".file.part").write_bytes(CONTENT)
    (tmp_path / ".file.part.version").write_text(site.etag)
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert site.requests == [("/file", f"bytes={len(CONTENT)}-")]


def test_a_part_that_is_longer_than_the_file_starts_over(site, address, tmp_path):
    (tmp_path / ".file.part").write_bytes(CONTENT + b"more")
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_of_it_again(site, address, tmp_path):
    site.ranges, site.break_after = False, [3000]
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert site.requests[-1] == ("/file", "bytes=3000-")


def test_a_wrong_hash_leaves_no_file(site, address, tmp_path):
    with pytest.raises(FetchError, match=f"its sha256 is {SHA256}, but must be {'0' * 64}"):
        get(address, tmp_path / "file", sha256="0" * 64)
    assert names(tmp_path) == []


def test_a_wrong_hash_leaves_the_file_that_was_there(site, address, tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(FetchError):
        get(address, tmp_path / "file", sha256="0" * 64)
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_gz_file_of_unknown_hash_must_be_whole(site, address, tmp_path):
    site.files["/x.gz"] = gzip.compress(CONTENT)[:-9]
    with pytest.raises(FetchError, match=r"not a whole \.gz file"):
        fetch(f"{address}/x.gz", tmp_path / "x.gz", sha256=None)
    assert names(tmp_path) == []


def test_an_empty_file_is_not_the_right_one(site, address, tmp_path):
    site.files["/nothing"] = b""
    with pytest.raises(FetchError, match="is empty"):
        fetch(f"{address}/nothing", tmp_path / "file", sha256=None)
    assert names(tmp_path) == []


def test_what_is_not_there_is_told_at_once(site, address, tmp_path):
    with pytest.raises(NotThere, match="nothing: the server says 404 Not Found"):
        fetch(f"{address}/nothing", tmp_path / "file", sha256=None)
    assert len(site.requests) == 1
    assert names(tmp_path) == []


def test_a_busy_server_is_asked_again_and_a_forbidding_one_is_not(site, address, tmp_path):
    site.statuses = [503, 429, 500]
    get(address, tmp_path / "file")
    assert len(site.requests) == 4
    site.statuses = [403]
    with pytest.raises(FetchError, match="403 Forbidden"):
        get(address, tmp_path / "other")
    assert len(site.requests) == 5


def test_nobody_listens(tmp_path):
    with serving(Site({})) as address:
        pass
    with pytest.raises(FetchError, match=r"no connection: .*tried 4 times"):
        get(address, tmp_path / "file")


def test_a_redirection_is_followed_range_and_all(site, address, tmp_path):
    site.redirects["/moved"] = f"{address}/file"
    site.break_after = [3000]
    fetch(f"{address}/moved", tmp_path / "file", sha256=SHA256, pause_s=0.0)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert site.requests[-1] == ("/file", "bytes=3000-")


def test_the_address_that_fails_is_named(site, address, tmp_path):
    site.redirects["/file"] = "/gone"
    with pytest.raises(NotThere) as caught:
        get(address, tmp_path / "file")
    told = f"{address}/file: redirects to {address}/gone, the server says 404 Not Found"
    assert str(caught.value) == told


def test_a_file_without_an_end_is_given_up(site, address, tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_cli.datasets.download._MOST_UNTOLD", 5000)
    site.headers = {"Content-Length": "", "Connection": "close"}
    with pytest.raises(FetchError, match="does not end"):
        get(address, tmp_path / "file")
    assert names(tmp_path) == []
    assert len(site.requests) == 1


def test_what_the_server_packs_is_not_taken_for_the_file(site, address, tmp_path):
    site.headers = {"Content-Encoding": "gzip"}
    with pytest.raises(FetchError, match=r"the server packs it \(gzip\)"):
        get(address, tmp_path / "file", sha256=None)
    assert names(tmp_path) == []
    site.files["/x.gz"] = gzip.compress(CONTENT)  # many servers name the file's own packing so
    fetch(f"{address}/x.gz", tmp_path / "x.gz", sha256=None)
    assert names(tmp_path) == ["x.gz"]


def test_only_a_part_that_is_kept_is_said_to_be(site, address, tmp_path):
    site.break_after = [0, 0, 0, 0]
    with pytest.raises(FetchError) as caught:
        get(address, tmp_path / "file")
    assert caught.value.hint is None


def test_redirections_that_never_end(site, address, tmp_path):
    site.redirects["/file"] = f"{address}/file"
    with pytest.raises(FetchError, match="302"):
        get(address, tmp_path / "file")


def test_a_redirection_never_leaves_https():
    import urllib.request

    request = urllib.request.Request("https://a.example/file")
    with pytest.raises(FetchError, match=r"redirects to http://b\.example/file, which is not safe"):
        _Redirects().redirect_request(request, None, 302, "", {}, "http://b.example/file")


def test_the_body_of_a_redirection_is_not_read(site, address, tmp_path):
    site.redirects["/file"] = f"{address}/nothing"
    site.headers["Content-Length"] = "9" * 30
    with pytest.raises(NotThere):
        get(address, tmp_path / "file")


def test_a_full_disk_names_the_file_and_the_reason(site, address, tmp_path, monkeypatch):
    class FullDisk(io.FileIO):
        def write(self, block):
            room = 5000 - self.seek(0, 2)
            if room == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(block[:room])

    monkeypatch.setattr("pathlib.Path.open", lambda path, mode, **_: FullDisk(path, "a+"))
    with pytest.raises(DataError, match=r"\.file\.part: cannot be written: No space left"):
        get(address, tmp_path / "file")
    monkeypatch.undo()
    site.requests.clear()
    get(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert site.requests == [("/file", "bytes=5000-")]


def test_two_processes_do_not_write_the_same_part(address, tmp_path):
    with (tmp_path / ".file.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another process"):
            get(address, tmp_path / "file")


def test_another_process_waits_until_the_file_is_in_its_place(address, tmp_path, monkeypatch):
    refused = []

    def second(file):
        if file.name == ".file.part":
            with pytest.raises(DataError, match="another process"):
                get(address, tmp_path / "file")
            refused.append(file)

    monkeypatch.setattr("nmt_cli.datasets.download.fsync", second)
    get(address, tmp_path / "file", sha256=None)
    assert refused
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_folder_that_cannot_be_made(address, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        get(address, tmp_path / "taken" / "file")


def data_set(address, *files):
    return DataSet("s", "a", "translation", ("en", "de"), 1, 1.0, "l", "c", "h", address, files)


FILE = RemoteFile("a/b/c/file", "mine", SHA256)


@pytest.mark.parametrize("there", ["a/b/c/file", "b/c/file", "file"])
def test_a_mirror_has_the_file_at_the_end_of_its_path(tmp_path, there):
    site = Site({f"/mirror/{there}": CONTENT})
    with serving(site) as address:
        fetch_of_set(
            data_set("https://x.example", FILE), FILE, tmp_path, mirror=f"{address}/mirror/"
        )
    assert (tmp_path / "mine").read_bytes() == CONTENT


@pytest.mark.parametrize("there", ["a/b/c", "b/c", ""])
def test_a_folder_is_a_mirror(tmp_path, there):
    folder = tmp_path / "folder" / there
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(CONTENT)
    fetch_of_set(
        data_set("https://x.example", FILE), FILE, tmp_path / "to", mirror=str(tmp_path / "folder")
    )
    assert names(tmp_path / "to") == ["mine"]


def test_a_folder_without_the_file(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotThere, match="no such file"):
        fetch_of_set(
            data_set("https://x.example", FILE), FILE, tmp_path / "to", mirror=str(tmp_path)
        )
    assert names(tmp_path / "to") == []


def test_only_a_mirror_is_searched(site, address, tmp_path):
    with pytest.raises(NotThere):
        fetch_of_set(data_set(address, FILE), FILE, tmp_path)
    assert site.requests == [("/a/b/c/file", None)]


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return stream.getvalue()


ARCHIVE = RemoteFile("x.zip", "x.zip", members={"T.en": "train.en", "T.ko": "train.ko"})


def test_an_archive_leaves_its_members(tmp_path):
    site = Site({"/x.zip": zipped(**{"T.en": "one\n", "T.ko": "하나\n", "README": ""})})
    with serving(site) as address:
        one = data_set(address, ARCHIVE)
        assert missing_files(one, tmp_path) == [ARCHIVE]
        fetch_of_set(one, ARCHIVE, tmp_path)
    assert missing_files(one, tmp_path) == []
    assert names(tmp_path) == ["train.en", "train.ko"]
    assert (tmp_path / "train.ko").read_text() == "하나\n"


@pytest.mark.parametrize("content", [b"<html>", zipped(**{"T.en": "one\n"}), zipped()])
def test_an_archive_that_is_not_the_right_one(tmp_path, content):
    with serving(Site({"/x.zip": content})) as address, pytest.raises(FetchError, match="archive"):
        fetch_of_set(data_set(address, ARCHIVE), ARCHIVE, tmp_path)
    assert not {"train.en", "train.ko", "x.zip"} & set(names(tmp_path))


def flags_changed(content, method=None, encrypted=False):
    """Return a zip archive of one member with another method, or as one that is encrypted."""
    changed = bytearray(content)
    for begin, skip in ((changed.find(b"PK\x03\x04"), 6), (changed.find(b"PK\x01\x02"), 8)):
        at = begin + skip
        changed[at] |= encrypted
        if method is not None:
            changed[at + 2] = method
    return bytes(changed)


ONE = RemoteFile("x.zip", "x.zip", members={"T.en": "train.en"})
PACKED = zipped(**{"T.en": "one\n" * 1000})
ODD_ARCHIVES = {
    "encrypted": flags_changed(PACKED, encrypted=True),
    "method 99": flags_changed(PACKED, method=99),
    "bz2": flags_changed(PACKED, method=12),
    "lzma": flags_changed(PACKED, method=14),
    "cut": PACKED[:-30],
    "changed": PACKED[:45] + b"\0\0\0" + PACKED[48:],
}


@pytest.mark.parametrize("kind", ODD_ARCHIVES)
def test_odd_archives_are_told(tmp_path, kind):
    (tmp_path / "x.zip").write_bytes(ODD_ARCHIVES[kind])
    with pytest.raises(FetchError, match="not the expected archive"):
        unpack(tmp_path / "x.zip", ONE.members)
    assert names(tmp_path) == []


def test_no_flipped_bit_of_an_archive_is_a_traceback(tmp_path):
    for bit in range(0, 8 * len(PACKED), 5):
        changed = bytearray(PACKED)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "x.zip").write_bytes(changed)
        with contextlib.suppress(FetchError):
            unpack(tmp_path / "x.zip", ONE.members)
            assert (tmp_path / "train.en").read_text() == "one\n" * 1000


@pytest.mark.parametrize("name", ["x.zip", "x.gz"])
def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch, name):
    monkeypatch.setattr("nmt_cli.files._UNPACKED_AT_LEAST", 1 << 16)
    bomb = bytes(10_000_000)
    content = zipped(**{"T.en": bomb}) if name == "x.zip" else gzip.compress(bomb)
    file = RemoteFile(name, name, members=ONE.members if name == "x.zip" else {})
    told = pytest.raises(FetchError, match="far more than it should")
    with serving(Site({f"/{name}": content})) as address, told:
        fetch_of_set(data_set(address, file), file, tmp_path)
    assert names(tmp_path) == []


def test_another_file_of_that_name_is_not_replaced(tmp_path):
    (tmp_path / "mine").write_bytes(b"own")
    with pytest.raises(DataError, match="not the published file") as caught:
        missing_files(data_set("https://x.example", FILE), tmp_path)
    assert "move it away" in caught.value.hint
    (tmp_path / "mine").write_bytes(CONTENT)
    assert missing_files(data_set("https://x.example", FILE), tmp_path) == []


def test_the_known_sets_are_asked_for_by_https_and_say_what_they_are():
    for name, known in DATA_SETS.items():
        assert known.name == name
        assert known.address.startswith("https://")
        assert known.licence
        assert known.citation
        assert len(known.results) >= len(known.files) >= 1
        assert all(len(file.sha256) == 64 for file in known.files if file.sha256)
