"""Giving memory back: it goes, and nothing happens where it cannot."""

import ctypes
import platform
from pathlib import Path

import pytest

from nmt_cli import memory


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can give back")
def test_freed_memory_goes_back():
    """Small blocks with a live one at the end keep a heap from shrinking by itself."""
    blocks = [bytes(2000) for _ in range(50_000)]
    last = bytes(2000)
    held = resident_pages()
    del blocks
    memory.give_back()
    assert held - resident_pages() > 10_000  # of 25,000; some are shared with live blocks
    assert len(last) == 2000


def test_without_such_a_library_nothing_happens(monkeypatch):
    def no_library(name):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    memory._malloc_trim.cache_clear()
    memory.give_back()
    memory._malloc_trim.cache_clear()
