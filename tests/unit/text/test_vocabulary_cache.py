"""Tests of nmt_cli/text/vocabulary_cache.py: a hash that changes with the text, and is kept."""

import os
import time

import pytest

from nmt_cli.files import sha256_of
from nmt_cli.text import vocabulary_cache as fingerprint
from nmt_cli.text.vocabulary_cache import FileHashes, corpus_fingerprint


class TestCorpusFingerprint:
    @pytest.fixture
    def files(self, tmp_path):
        for name in "ab":
            (tmp_path / name).write_text(name)
        return [tmp_path / "a", tmp_path / "b"]

    def test_is_the_same_while_nothing_changes(self, files):
        before = corpus_fingerprint(files, {"x": 1, "y": [2]})
        for file in files:
            file.write_text(file.read_text())  # another time stamp
        assert corpus_fingerprint(files, {"y": [2], "x": 1}) == before

    def test_changes_with_a_byte_a_file_their_order_or_a_setting(self, files):
        found = [corpus_fingerprint(files, {"x": 1})]
        found += [
            corpus_fingerprint(files[::-1], {"x": 1}),
            corpus_fingerprint(files[:1], {"x": 1}),
        ]
        found += [corpus_fingerprint(files, {"x": 2}), corpus_fingerprint(files, {"y": 1})]
        files[1].write_text("B")
        found.append(corpus_fingerprint(files, {"x": 1}))
        assert len(set(found)) == 6


class TestFileHashes:
    @pytest.fixture
    def old_file(self, tmp_path, monkeypatch):
        """A file that has not changed for long, as far as the clock says."""
        file = tmp_path / "text"
        file.write_text("a")
        monkeypatch.setattr(time, "time_ns", lambda: file.stat().st_ctime_ns + 10**10)
        return file

    @pytest.fixture
    def hashed(self, monkeypatch):
        """The files that were read whole."""
        found = []
        monkeypatch.setattr(fingerprint, "sha256_of", lambda f: found.append(f) or sha256_of(f))
        return found

    def test_an_unchanged_file_is_read_once(self, old_file, hashed, tmp_path):
        for _ in range(3):
            assert FileHashes(tmp_path)(old_file) == sha256_of(old_file)
        assert hashed == [old_file]

    def test_a_file_changed_just_now_is_not_trusted(self, old_file, hashed, tmp_path, monkeypatch):
        monkeypatch.setattr(time, "time_ns", lambda: old_file.stat().st_ctime_ns + 10**9)
        for text in ("a", "b"):
            old_file.write_text(text)
            assert FileHashes(tmp_path)(old_file) == sha256_of(old_file)
        assert len(hashed) == 2

    def test_other_content_of_the_same_size_and_time_is_seen(self, old_file, hashed, tmp_path):
        hashes = FileHashes(tmp_path)
        before, first = old_file.stat(), hashes(old_file)
        time.sleep(0.02)
        old_file.write_text("b")
        os.utime(old_file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert hashes(old_file) == sha256_of(old_file) != first

    def test_another_file_of_that_name_is_seen(self, old_file, hashed, tmp_path):
        hashes = FileHashes(tmp_path)
        first = hashes(old_file)
        (tmp_path / "new").write_text("b")
        (tmp_path / "new").replace(old_file)
        assert hashes(old_file) == sha256_of(old_file) != first

    @pytest.mark.parametrize(
        "damage", ["", "[]", "{", "[" * 9999, '{"%s": 3}', '{"%s": [{}, "x"]}', "\xff"]
    )
    def test_a_damaged_memory_is_none(self, old_file, hashed, tmp_path, damage):
        path = tmp_path / "hashes.json"
        path.write_bytes(damage.replace("%s", str(old_file)).encode("latin-1"))
        assert FileHashes(tmp_path)(old_file) == sha256_of(old_file)
        assert hashed == [old_file]
