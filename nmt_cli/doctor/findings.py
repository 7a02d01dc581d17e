"""What a check-up finds: the list of checks, and the records that tests hand over."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Check:
    """One kind of test."""

    name: str  # as `--json` and the table in `data/README.md` have it
    severity: Severity  # of a line that it finds
    title: str  # what such lines have in common
    # whether many such lines are a trait of the corpus and told in one line
    may_be_trait: bool = False


CHECKS = (
    Check("format", "error", "lines that are not a row"),
    Check("encoding", "error", "lines that cannot be decoded"),
    Check("empty", "warning", "one side is blank: left out of training"),
    Check("control-characters", "warning", "invisible or control characters"),
    Check("mojibake", "warning", "characters lost or garbled by a wrong encoding"),
    Check("leakage", "warning", "in training and in development or test"),
    Check("duplicate", "warning", "pairs that occur more than once", may_be_trait=True),
    Check("identical", "warning", "both sides are the same", may_be_trait=True),
    Check("length-ratio", "warning", "one side far longer than it should be", may_be_trait=True),
    Check("too-long", "warning", "longer than model.max_length", may_be_trait=True),
    Check("script", "warning", "wrong writing system", may_be_trait=True),
    Check("language", "warning", "wrong language", may_be_trait=True),
    Check("numbers", "warning", "numbers that differ between the sides", may_be_trait=True),
    Check("links", "warning", "addresses that differ between the sides", may_be_trait=True),
    Check("markup", "warning", "markup", may_be_trait=True),
    Check("repetition", "warning", "the same words repeated", may_be_trait=True),
    Check("no-words", "warning", "a side without a letter or digit", may_be_trait=True),
    Check("white-space", "info", "tabs, double spaces, spaces at the ends", may_be_trait=True),
)
BIT = {check.name: bit for bit, check in enumerate(CHECKS)}


class Marks(NamedTuple):
    """What one test found in a chunk of rows."""

    check: str  # its name in `CHECKS`
    side: int  # 0 for the source, 1 for the target; a test of both sides says 0
    rows: npt.NDArray[np.int64]  # [M] the rows it found
    describe: Callable[[int], str]  # row -> what is wrong with it; called for the worst
    # [M] numbers, the worst row the highest; None where all are alike
    ranks: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, check: str, side: int, found: dict[int, str]) -> Self:
        """Return the marks of rows of which a test has said what is wrong."""
        return cls(check, side, np.array(sorted(found), np.int64), found.__getitem__)


class Finding(NamedTuple):
    """One thing that is wrong, or worth knowing."""

    check: str  # the name of the test
    # what it means: "error" stops or falsifies training, "warning" is worth mending
    severity: Severity
    message: str  # what is wrong
    file: Path | None = None  # the file, or None for what concerns the whole
    line: int | None = None  # its line, or None for what concerns the file
    text: str = ""  # the beginning of the line
    rank: float = 0.0  # the worst finding of a check has the highest
    command: str = ""  # with which the message ends, if it does: to be typed as it is
