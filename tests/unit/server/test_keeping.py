"""Tests of nmt_cli/server/keeping.py: files are kept for a while, and not too many."""

import pytest

from nmt_cli.server import keeping
from nmt_cli.server.keeping import KeptFiles
from nmt_cli.server.requests import QueueFullError, RequestError


@pytest.fixture
def files():
    files = KeptFiles()
    yield files
    files.close()


def test_a_file_is_kept_for_a_while(files, monkeypatch):
    name = files.keep("report.de.md", b"text")
    assert len(name) > 24
    files.drop_old()
    path = files.answer(name).path
    assert path.read_bytes() == b"text"
    monkeypatch.setattr(keeping, "_SECONDS", 0.0)
    files.drop_old()
    assert not path.exists()
    with pytest.raises(RequestError, match="not any more") as error:
        files.answer(name)
    assert error.value.status == 404


def test_what_does_not_fit_is_refused(files, monkeypatch):
    monkeypatch.setattr(keeping, "_MOST_BYTES", 10)
    files.keep("a.md", b"123456")
    with pytest.raises(QueueFullError):
        files.keep("b.md", b"123456")


def test_only_some_are_translated_at_a_time(files, monkeypatch):
    with pytest.raises(QueueFullError):
        hold(files, keeping._MOST_AT_A_TIME + 1)


def hold(files, count):
    with files.place():
        if count > 1:
            hold(files, count - 1)
