"""Lines -> windows of lines that are translated together, so that similar lengths can be batched.

A window is bounded in lines and in characters: memory does not grow with the input. Whoever reads
windows may begin with the next one before the last one is done; an empty window says that the next
one may be a while, so that what is begun should be finished first.
"""

import queue
import threading
from collections.abc import Iterable, Iterator

_MAX_LINES = 2048
_MAX_CHARACTERS = 1 << 20


def full_windows(lines: Iterable[str], at_most: int | None = None) -> Iterator[list[str]]:
    """Yield windows as large as they may be: for input that is all there.

    Args:
        lines: Any number.
        at_most: Lines of a window. A few hundred are enough for batches of similar lengths, and
            little time is lost before the first search and after the last one.
    """
    most = at_most or _MAX_LINES
    window: list[str] = []
    size = 0
    for line in lines:
        window.append(line)
        size += len(line)
        if len(window) >= most or size >= _MAX_CHARACTERS:
            yield window
            window, size = [], 0
    if window:
        yield window


def arriving_windows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield at once what has arrived: for input that comes as it is typed or computed.

    A thread reads ahead while the last window is being translated, so a fast pipe still gives full
    windows. A window is empty when nothing has arrived. What `lines` raises is raised here, after
    the lines before it.
    """
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=_MAX_LINES)
    threading.Thread(target=_read_ahead, args=(lines, waiting), daemon=True).start()
    while True:
        window: list[str] = []
        size = 0
        if waiting.empty():
            yield []
        item = waiting.get()
        while isinstance(item, str):
            window.append(item)
            size += len(item)
            if len(window) >= _MAX_LINES or size >= _MAX_CHARACTERS:
                break
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                break
        if window:
            yield window
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return


def _read_ahead(lines: Iterable[str], waiting: "queue.Queue[str | BaseException | None]") -> None:
    try:
        for line in lines:
            waiting.put(line)
    except BaseException as error:  # noqa: BLE001 - handed to the reader, who raises it
        waiting.put(error)
    else:
        waiting.put(None)
