"""Memory that the C library keeps for later, given back to the system."""

import ctypes
import functools
from collections.abc import Callable


def give_back() -> None:
    """Return what was freed to the system, where the C library can (glibc).

    Its heaps fill with holes when batches of all sizes come and go on several threads: without
    this, a long file's translation holds about a quarter more memory between its windows.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # no glibc; no such library; Windows
        return None
