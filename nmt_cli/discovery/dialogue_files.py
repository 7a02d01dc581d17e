"""Files of whole conversations: a turn a line with blank lines between, or lists of turns."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt_cli.config.tasks import CHAT
from nmt_cli.discovery import names
from nmt_cli.discovery.sides import HEAD, Corpus, Side, read_leniently

_ROLES = ("user", "bot")
_TALK_SHARE = 0.8  # of the groups of lines that have an answer in them


def text_dialogues(folder: Path, name: str) -> Corpus | None:
    """Return the corpus in a text file with a turn a line; None where there are no dialogues."""
    if not is_dialogue(folder / name):
        return None
    reason = "a turn a line, blank lines between dialogues"
    return dialogue_corpus(name, list(_groups(folder / name)), reason)


def is_dialogue(path: Path) -> bool:
    """Return whether a text file has groups of lines with blank lines between them."""
    if not path.name.removesuffix(".gz").endswith(".txt"):
        return False
    sizes = [len(group) for group in _groups(path)]
    return len(sizes) > 1 and sum(size > 1 for size in sizes) >= _TALK_SHARE * len(sizes)


def dialogue_corpus(name: str, talks: Sequence[Sequence[object]], reason: str) -> Corpus:
    """Return the corpus of conversations in which user and bot take turns."""
    user, bot = (
        Side(role, [str(turn) for talk in talks for turn in talk[number::2]])
        for number, role in enumerate(_ROLES)
    )
    return Corpus(names.split_of(name), {"file": name}, (name,), (user, bot), reason, CHAT)


def _groups(path: Path) -> Iterator[list[str]]:
    head = itertools.islice(read_leniently(path), HEAD)
    for is_blank, lines in itertools.groupby(head, lambda line: not line.strip()):
        if not is_blank:
            yield list(lines)
