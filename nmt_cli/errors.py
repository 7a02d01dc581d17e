"""The errors a user can run into, and the exit code of each kind.

They are raised where the problem is found, with the file, line and key; `cli.py` prints them once,
as an `error:` and a `hint:` line. Anything else that escapes is a bug in nmt (exit code 1).
"""

import difflib
from collections.abc import Iterable
from pathlib import Path


class NmtError(Exception):
    """A problem that the user can solve.

    Args:
        message: One line that names the file, line or key and what is wrong with it.
        hint: One line that says what to do, or None when the message already does.
    """

    exit_code = 5  # the command cannot continue

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(NmtError):
    """A wrong option, key or value on the command line or in a configuration file."""

    exit_code = 2


class DataError(NmtError):
    """A text file that cannot be read, decoded, aligned or written."""

    exit_code = 3


class LineError(DataError):
    """One line of a text file that is wrong.

    Args:
        file: The file.
        line: Its number, from 1.
        problem: What is wrong with it.
        hint: See `NmtError`.
    """

    def __init__(self, file: Path, line: int, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{file}:{line}: {problem}", hint=hint)
        self.file, self.line, self.problem = file, line, problem


class ModelFileError(NmtError):
    """A bundle, tokenizer or checkpoint that is missing, damaged or does not fit."""

    exit_code = 4


class TrainingError(NmtError):
    """Training cannot continue: no disk space, no text, a loss that is not finite, ..."""

    exit_code = 5


class WorkerLost(TrainingError):
    """Another machine of the run is gone, or gave this one up."""


def in_one_line(message: str, hint: str | None) -> str:
    """Return what is wrong and what to do about it, where there is one line for both."""
    return f"{message.rstrip('.')}; {hint}" if hint else message


def number_of(number: int, noun: str) -> str:
    """Return how many there are: "1 row", "2,000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the closest of `choices`, or "" when none is close.

    A choice with the same letters in another order is closest; the first word of a long name also
    counts.
    """
    names = list(choices)
    by_first_word = {name.split("_")[0]: name for name in reversed(names)}
    close = difflib.get_close_matches(word, names) or [
        by_first_word[first] for first in difflib.get_close_matches(word, by_first_word, cutoff=0.7)
    ]
    if not close:
        return ""
    best = next((name for name in close if sorted(name) == sorted(word)), close[0])
    return f" Did you mean '{best}'?"
